#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/objects.hpp"
#include "runtime/python/binding/parts.hpp"
#include "runtime/python/binding/plan.hpp"
#include "runtime/python/binding/solver.hpp"

namespace trifold::python {
namespace {

using namespace nb::literals;

constexpr std::int64_t max_columns = 64;  // right-hand sides that a Plan solves at once
constexpr std::size_t max_known = 256;

/// How an operator is called: `_Operator.ways` of trifold/torch/__init__.py has them in this order.
enum Way { dispatched, transformed, with_gradient, plain };

/// Names that are looked up once. Never freed, for modules outlive their interpreter's last call.
struct NamesOfTorch {
    nb::module_ module = nb::module_::import_("torch");
    nb::object internal = module.attr("_C");
    nb::object tensor = module.attr("Tensor"), parameter = module.attr("nn").attr("Parameter");
    nb::object transforms_active = internal.attr("_are_functorch_transforms_active");
    nb::object modes = internal.attr("_len_torch_dispatch_stack"), traces = internal.attr("_is_tracing");
    nb::object grad_mode = module.attr("is_grad_enabled");
    nb::object forward_ad = nb::module_::import_("torch.autograd.forward_ad");
    nb::object empty_like = module.attr("empty_like"), contiguous = module.attr("contiguous_format");
    nb::object sample = nb::module_::import_("trifold.torch").attr("_sample");
    nb::object empty_like_names = nb::make_tuple(nb::str("memory_format"));
    PyObject* requires_grad = PyUnicode_InternFromString("requires_grad");
    PyObject* forward_level = PyUnicode_InternFromString("_current_level");

    bool is_tensor(nb::handle type) const { return type.is(tensor) || type.is(parameter); }
    nb::object like(nb::handle array) const {
        const std::array<PyObject*, 2> arguments{array.ptr(), contiguous.ptr()};
        return steal(PyObject_Vectorcall(empty_like.ptr(), arguments.data(), 1, empty_like_names.ptr()));
    }
};
const NamesOfTorch& names_of_torch() { return looked_up<NamesOfTorch>(); }

/// Whether derivatives in forward mode may be asked for: of that there is nothing, and autograd.Function says so.
bool forward_mode() { return integer(get(names_of_torch().forward_ad, names_of_torch().forward_level)) >= 0; }

/// Whoever listens to the dispatcher, and what is no plain tensor, gets what it would give them.
Way way_of(const nb::args& arguments) {
    const auto& known = names_of_torch();
    if (is_true(known.transforms_active())) return transformed;
    if (integer(nb::object(known.modes())) != 0 || is_true(known.traces())) return dispatched;
    bool gradient = false;
    for (const auto argument : arguments) {
        if (PyLong_Check(argument.ptr())) continue;
        if (!known.is_tensor(argument.type()) || !has_memory(argument)) return dispatched;
        gradient = gradient || is_true(get(argument, known.requires_grad));
    }
    return (gradient && is_true(known.grad_mode())) || forward_mode() ? with_gradient : plain;
}

/// A Plan, and what its values look like.
struct Known {
    Element element = Element::other;
    Place place;
    std::vector<std::int64_t> shape;  // that of D
    bool ring = false, signs = false;
    std::int64_t columns = 1;
    std::shared_ptr<Factors> factors;
    nb::object sample;  // a tensor of a value's shape, without its memory
    std::vector<std::int64_t> value_shape;

    bool is_for(const Array& d, bool has_ring, bool has_signs, std::int64_t given) const {
        return columns == given && ring == has_ring && signs == has_signs && element == d.element() && place == d.place() &&
               std::ranges::equal(shape, d.shape());
    }
    BoundSolver solver(nb::handle value) const { return {factors, value, {shape.size() == 4 ? shape[0] : 1, shape.size() == 4}}; }
};

std::vector<std::int64_t> copy_of(std::span<const std::int64_t> shape) { return {shape.begin(), shape.end()}; }

/// Whether E has as many blocks as D, so that the last one couples the last block to the first.
bool is_ring(const Array& d, nb::handle e) {
    const Array of_e(e, "E");
    const auto axes = d.shape().size();
    return axes > 2 && of_e.shape().size() == axes && of_e.shape()[axes - 3] == d.shape()[axes - 3];
}

std::shared_ptr<const Known> make_known(const Array& d, bool ring, bool signs, std::int64_t columns) {
    const nb::object made = names_of_torch().sample(d.object(), columns, ring, signs);
    const nb::object sample = made[1];
    return std::make_shared<Known>(Known{d.element(), d.place(), copy_of(d.shape()), ring, signs, columns,
                                         nb::cast<const BoundPlan&>(made[0]).factors, sample, copy_of(Array(sample, "value").shape())});
}

std::shared_ptr<const Known> known_for(const Array& d, nb::handle e, std::int64_t columns, bool signs) {
    static auto& all = *new std::list<std::shared_ptr<const Known>>;  // the most recently used ones first
    const bool ring = is_ring(d, e);
    const auto found = std::ranges::find_if(all, [&](const auto& one) { return one->is_for(d, ring, signs, columns); });
    if (found != all.end()) {
        all.splice(all.begin(), all, found);
        return all.front();
    }
    const auto made = make_known(d, ring, signs, columns);
    all.push_front(made);
    if (all.size() > max_known) all.pop_back();
    return made;
}

std::int64_t columns_of(const Array& d, nb::handle b) {
    const Array of_b(b, "b");
    const auto shape = of_b.shape();
    return shape.size() == d.shape().size() ? std::clamp<std::int64_t>(shape.back(), 1, max_columns) : 1;
}

nb::object factor(nb::handle d, nb::handle e, std::int64_t columns, bool check, bool signs) {
    const auto known = known_for(Array(d, "D"), e, std::max<std::int64_t>(columns, 1), signs);
    auto value = names_of_torch().like(known->sample);
    known->solver(value).factor(d, e, {.check = check});
    return value;
}

nb::tuple factor_solve(nb::handle d, nb::handle e, nb::handle b, bool check, bool signs) {
    const Array of_d(d, "D");
    const auto known = known_for(of_d, e, columns_of(of_d, b), signs);
    const auto value = names_of_torch().like(known->sample), x = names_of_torch().like(b);
    known->solver(value).factor_along(Operation::factor_solve, d, e, b, x, {.check = check});
    return nb::make_tuple(x, value);
}

/// (x, log det A, diagonal, lower, value).
nb::tuple marginals(nb::handle d, nb::handle e, nb::handle b, bool check, bool signs) {
    const Array of_d(d, "D");
    const auto known = known_for(of_d, e, columns_of(of_d, b), signs);
    const auto value = names_of_torch().like(known->sample), x = names_of_torch().like(b);
    auto solver = known->solver(value);
    solver.factor_along(Operation::factor_solve, d, e, b, x, {.check = check});
    const auto inverse = solver.selected_inverse(nb::none(), {.check = check});
    return nb::make_tuple(x, solver.log_determinant(nb::none()), inverse[0], inverse[1], value);
}

/// A Solver that goes on from a value of D.
template <class Call>
nb::object with_value(nb::handle d, nb::handle e, nb::handle value, Call call) {
    Array filled(value, "value");
    const auto shape = filled.shape();
    const Array of_d(d, "D");
    const bool signs = shape.size() == of_d.shape().size();  // such values have an axis more
    const auto known = known_for(of_d, e, shape.size() < 2 ? 1 : shape[shape.size() - (signs ? 2 : 1)], signs);
    if (!std::ranges::equal(shape, known->value_shape))
        throw SpecError("these factors were made apart and cannot be used as one; factor the matrices together, as one batch");
    filled.make_contiguous();
    auto solver = known->solver(filled.object());
    return call(solver);
}

template <Operation operation>
nb::object sweep(nb::handle d, nb::handle e, nb::handle value, nb::handle b) {
    const auto x = names_of_torch().like(b);
    return with_value(d, e, value, [&](BoundSolver& solver) { return solver.sweep(operation, b, x, {.check = false}); });
}

nb::object log_determinant(nb::handle d, nb::handle e, nb::handle value) {
    return with_value(d, e, value, [](BoundSolver& solver) { return solver.log_determinant(nb::none()); });
}

nb::object selected_inverse(nb::handle d, nb::handle e, nb::handle value) {
    return with_value(d, e, value, [](BoundSolver& solver) { return solver.selected_inverse(nb::none(), {.check = false}); });
}

}  // namespace

void bind_torch(nb::module_& module) {
    const nb::call_guard<InCall> guarded;
    module.def(
        "torch_way", [](const nb::args& arguments) { return static_cast<int>(way_of(arguments)); },
        nb::sig("def torch_way(*arguments: Any) -> int"));
    module.def("torch_factor", &factor, "D"_a, "E"_a, "columns"_a, "check"_a, "signs"_a,
               nb::sig("def torch_factor(D: Any, E: Any, columns: int, check: bool, signs: bool) -> Any"), guarded);
    module.def("torch_factor_solve", &factor_solve, "D"_a, "E"_a, "b"_a, "check"_a, "signs"_a,
               nb::sig("def torch_factor_solve(D: Any, E: Any, b: Any, check: bool, signs: bool) -> tuple[Any, Any]"), guarded);
    module.def("torch_marginals", &marginals, "D"_a, "E"_a, "b"_a, "check"_a, "signs"_a,
               nb::sig("def torch_marginals(D: Any, E: Any, b: Any, check: bool, signs: bool) -> tuple[Any, ...]"), guarded);
    module.def("torch_solve", &sweep<Operation::solve>, "D"_a, "E"_a, "value"_a, "b"_a,
               nb::sig("def torch_solve(D: Any, E: Any, value: Any, b: Any) -> Any"), guarded);
    module.def("torch_forward", &sweep<Operation::forward>, "D"_a, "E"_a, "value"_a, "b"_a,
               nb::sig("def torch_forward(D: Any, E: Any, value: Any, b: Any) -> Any"), guarded);
    module.def("torch_backward", &sweep<Operation::backward>, "D"_a, "E"_a, "value"_a, "b"_a,
               nb::sig("def torch_backward(D: Any, E: Any, value: Any, b: Any) -> Any"), guarded);
    module.def("torch_log_determinant", &log_determinant, "D"_a, "E"_a, "value"_a,
               nb::sig("def torch_log_determinant(D: Any, E: Any, value: Any) -> Any"), guarded);
    module.def("torch_selected_inverse", &selected_inverse, "D"_a, "E"_a, "value"_a,
               nb::sig("def torch_selected_inverse(D: Any, E: Any, value: Any) -> tuple[Any, Any]"), guarded);
}

}  // namespace trifold::python
