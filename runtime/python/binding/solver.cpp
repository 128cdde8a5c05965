#include "runtime/python/binding/solver.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <vector>

#include "runtime/python/binding/unlocked.hpp"

namespace trifold::python {
/// The arrays of one call.
struct BoundSolver::Inputs {
    explicit Inputs(const Members& of) : members(of) {}
    Array d, e, b, x, shift, diagonal, active;
    nb::object result;  // x as Python has it
    Members members;
    std::int64_t columns = 0;

    template <class Real>
    FactorOptions<Real> factor_options(double pivot_floor) const {
        FactorOptions<Real> options;
        options.diagonal = static_cast<const Real*>(diagonal.data());
        options.shift = static_cast<const Real*>(shift.data());
        options.active = static_cast<const int*>(active.data());
        options.pivot_floor = pivot_floor;
        options.members = members.count;
        options.columns = columns;
        return options;
    }
    SweepOptions sweep_options() const { return {columns, static_cast<const int*>(active.data()), members.count}; }
};

std::vector<std::int64_t> Members::shape(std::initializer_list<std::int64_t> of_one) const {
    std::vector<std::int64_t> result;
    if (batched) result.push_back(count);
    result.insert(result.end(), of_one);
    return result;
}

BoundSolver::BoundSolver(std::shared_ptr<Factors> factors, nb::handle value, Members members)
    : factors_(std::move(factors)), forks_(forks()), members_(members) {
    const auto& device = factors_->plan().device();
    place_.ordinal = device.backend() == Backend::cpu ? -1 : device.ordinal();
    if (members.count < 1 || members.count > spec().batch)
        throw SpecError(fmt::format("members = {} is out of range; give 1 to {}", members.count, spec().batch));
    if (!members.batched && members.count != 1)
        throw SpecError(fmt::format("batched = False is for one system, and these are {}; give batched=True, or members=1", members.count));
    if (!value.is_none()) {
        value_.read(value, "value", true);
        library_ = value_.library();
        take_place(value_);
        value_.make_contiguous();
        const auto shape = value_.shape();
        const auto size = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
        if (value_.element() != Element::u8 || size < factors_->bytes())
            throw SpecError(fmt::format("value is {}; give ({},) uint8", value_.describe(), factors_->bytes()));
        if (reinterpret_cast<std::uintptr_t>(value_.data()) % workspace_base_alignment != 0)
            throw SpecError(
                fmt::format("value is not aligned to {} bytes; give plan.copy_value(value), a copy that is", workspace_base_alignment));
        return;
    }
    const Unlocked unlocked;
    own_ = std::make_unique<Solver>(factors_->plan());
}

BoundSolver::~BoundSolver() {
    if (forks_ != forks()) static_cast<void>(own_.release());
}

void BoundSolver::take_place(const Array& array) {
    if (array.place() != place_)
        throw SpecError(fmt::format("{} is on {} and the Plan is for {}; move the array, or make a Plan for its device", array.name(),
                                    to_string(array.place()), to_string(place_)));
    if (place_.ordinal >= 0 && array.library() != library_)
        throw SpecError(fmt::format("{} is of {} and another array of {}, which have streams of their own; give arrays of one library",
                                    array.name(), library_name(array.library()), library_name(library_)));
}

void BoundSolver::expect_real(const Array& array) const {
    const auto expected = spec().precision == Precision::f32 ? Element::f32 : Element::f64;
    if (array.element() != expected)
        throw SpecError(fmt::format("{} is {}; this Plan takes {}: convert the array, or make a Plan of its dtype (float32 or float64)",
                                    array.name(), array.describe(), element_name(expected)));
}

void BoundSolver::expect_shape(const Array& array, std::span<const std::int64_t> shape) const {
    if (!std::ranges::equal(array.shape(), shape))
        throw SpecError(fmt::format("{} has shape {}; give {}", array.name(), show(array.shape()), show(shape)));
}

void BoundSolver::read_system(Inputs& in, nb::handle d, nb::handle e, const Options& options) {
    const auto n = spec().block, horizon = spec().horizon;
    in.d.read(d, "D");
    library_ = in.d.library();
    take_place(in.d);
    expect_real(in.d);
    const auto dims = in.d.shape().size();
    if (dims != 3 && dims != 4)
        throw SpecError(
            fmt::format("D has shape {}; give ({}, {}, {}), or (batch, {}, {}, {})", show(in.d.shape()), horizon, n, n, horizon, n, n));
    const auto members = dims == 4 ? in.d.shape()[0] : 1;
    if (members < 1 || members > spec().batch)
        throw SpecError(fmt::format("D has {} members; this Plan takes 1 to {}. Give a larger batch to the Plan", members, spec().batch));
    in.members = {members, dims == 4};
    expect_shape(in.d, in.members.shape({horizon, n, n}));
    in.d.make_contiguous();
    if (horizon > 1 || !e.is_none()) {
        if (e.is_none()) throw SpecError(fmt::format("E is missing; give {}", show(in.members.shape({horizon - 1, n, n}))));
        in.e.read(e, "E");
        take_place(in.e);
        expect_real(in.e);
        if (in.e.shape().size() != dims)
            throw SpecError(fmt::format("E has shape {} and D {}: one has a batch axis and the other has not; give E as {}",
                                        show(in.e.shape()), show(in.d.shape()), show(in.members.shape({horizon - 1, n, n}))));
        expect_shape(in.e, in.members.shape({horizon - 1, n, n}));
        in.e.make_contiguous();
    }
    const auto read_added = [&](Array& array, nb::handle given, const char* name, const std::vector<std::int64_t>& shape) {
        if (given.is_none()) return;
        if (PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr()))
            array.read(helper("full")(library_name(library_), tuple_of(shape), element_name(in.d.element()), place_.ordinal, given), name);
        else
            array.read(given, name);
        take_place(array);
        expect_real(array);
        expect_shape(array, shape);
        array.make_contiguous();
    };
    read_added(in.shift, options.shift, "shift", in.members.shape({}));
    read_added(in.diagonal, options.diagonal, "diagonal", in.members.shape({horizon, n}));
    read_active(in, options.active);
}

void BoundSolver::read_active(Inputs& in, nb::handle active) {
    if (active.is_none()) return;
    in.active.read(active, "active");
    if (in.active.element() != Element::i32) in.active.read(helper("mask")(in.active.object()), "active");
    take_place(in.active);
    if (in.active.element() != Element::i32) throw SpecError("active is " + in.active.describe() + "; give bool or int32");
    expect_shape(in.active, in.members.shape({}));
    in.active.make_contiguous();
}

nb::object BoundSolver::read_or_make(Array& array, nb::handle given, const char* name, std::span<const std::int64_t> shape,
                                     Element element) {
    auto object = given.is_none() ? make_array(library_, place_, shape, element) : nb::borrow(given);
    array.read(object, name, true);
    take_place(array);
    expect_shape(array, shape);
    if (array.element() != element) throw SpecError(fmt::format("{} is {}; give {}", name, array.describe(), element_name(element)));
    array.make_contiguous();
    return object;
}

void BoundSolver::read_rhs(Inputs& in, nb::handle b, nb::handle out) {
    const auto n = spec().block, horizon = spec().horizon;
    in.b.read(b, "b");
    if (!in.d || place_.ordinal < 0) library_ = in.b.library();
    take_place(in.b);
    expect_real(in.b);
    const auto dims = in.b.shape().size(), least = std::size_t{in.members.batched ? 3U : 2U};
    auto shape = in.members.shape({horizon, n});
    in.columns = 1;
    if (dims == least + 1) {
        in.columns = in.b.shape()[dims - 1];
        shape.push_back(in.columns);
    }
    if (in.columns < 1 || !std::ranges::equal(in.b.shape(), shape)) {
        auto with_columns = fmt::format("{}", fmt::join(in.members.shape({horizon, n}), ", "));
        throw SpecError(fmt::format("b has shape {}; give ({}), or ({}, m) for m right-hand sides, as D has {} batch axis",
                                    show(in.b.shape()), with_columns, with_columns, in.members.batched ? "a" : "no"));
    }
    in.b.make_contiguous();
    in.result = read_or_make(in.x, out, "out", shape, in.b.element());
}

nb::object BoundSolver::finish(const Inputs& in) const {
    return in.b.foreign() ? helper("give_back")(in.b.original(), in.result) : in.result;
}

bool BoundSolver::checks(std::optional<bool> asked) const { return asked.value_or(place_.ordinal < 0); }

template <class Body>
void BoundSolver::run(Members members, bool factors, bool masked, bool checked, Body body) {
    const auto stream = current_stream(library_, place_);
    if (forks_ != forks() && place_.ordinal >= 0)
        throw DeviceError("this process was forked, and a GPU cannot be used on both sides of a fork; start processes by 'spawn'");
    const auto call = [&](Solver& solver) {
        if (spec().precision == Precision::f32)
            body(solver, float{}, stream);
        else
            body(solver, double{}, stream);
        if (checked) solver.check();
    };
    const Unlocked unlocked;
    if (own_) return call(*own_);
    auto borrowed = factors ? factors_->fresh(value_.data(), stream, masked) : factors_->filled(value_.data(), stream, members.count);
    call(*borrowed);
}

/// Later calls go by these members, unless this one was refused before it began.
template <class Body>
void BoundSolver::run_factor(const Inputs& in, std::optional<bool> check, Body body) {
    const auto before = std::exchange(members_, in.members);
    try {
        run(in.members, true, bool(in.active), checks(check), body);
    } catch (const SpecError&) {
        members_ = before;
        throw;
    }
}

void BoundSolver::factor(nb::handle d, nb::handle e, const Options& options) {
    Inputs in(members_);
    read_system(in, d, e, options);
    run_factor(in, options.check, [&]<class Real>(Solver& solver, Real, Stream stream) {
        solver.factor(static_cast<const Real*>(in.d.data()), static_cast<const Real*>(in.e.data()), stream,
                      in.factor_options<Real>(options.pivot_floor));
    });
}

nb::object BoundSolver::factor_along(Operation operation, nb::handle d, nb::handle e, nb::handle b, nb::handle out,
                                     const Options& options) {
    Inputs in(members_);
    read_system(in, d, e, options);
    read_rhs(in, b, out);
    run_factor(in, options.check, [&]<class Real>(Solver& solver, Real, Stream stream) {
        using Function = void (Solver::*)(const Real*, const Real*, const Real*, Real*, Stream, const FactorOptions<Real>&);
        Function function = &Solver::factor_solve<Real>;
        if (operation == Operation::factor_forward) function = &Solver::factor_forward<Real>;
        (solver.*function)(static_cast<const Real*>(in.d.data()), static_cast<const Real*>(in.e.data()),
                           static_cast<const Real*>(in.b.data()), static_cast<Real*>(in.x.data()), stream,
                           in.factor_options<Real>(options.pivot_floor));
    });
    return finish(in);
}

nb::object BoundSolver::sweep(Operation operation, nb::handle b, nb::handle out, nb::handle active, std::optional<bool> check) {
    Inputs in(members_);
    read_rhs(in, b, out);
    read_active(in, active);
    run(in.members, false, bool(in.active), checks(check), [&]<class Real>(Solver& solver, Real, Stream stream) {
        using Function = void (Solver::*)(const Real*, Real*, Stream, const SweepOptions&);
        Function function = &Solver::solve<Real>;
        if (operation == Operation::forward) function = &Solver::forward<Real>;
        if (operation == Operation::backward) function = &Solver::backward<Real>;
        (solver.*function)(static_cast<const Real*>(in.b.data()), static_cast<Real*>(in.x.data()), stream, in.sweep_options());
    });
    return finish(in);
}

nb::object BoundSolver::selected_inverse(nb::handle out, nb::handle active, std::optional<bool> check) {
    const auto n = spec().block, horizon = spec().horizon;
    const auto element = spec().precision == Precision::f32 ? Element::f32 : Element::f64;
    Inputs in(members_);
    read_active(in, active);
    Array lower;
    nb::object first = nb::none(), second = nb::none();
    if (!out.is_none()) {
        if (PyTuple_Check(out.ptr()) == 0 || nb::len(out) != 2) throw SpecError("out of selected_inverse is a pair: (diagonal, lower)");
        first = out[0];
        second = out[1];
    }
    in.result = read_or_make(in.x, first, "out[0]", in.members.shape({horizon, n, n}), element);
    const auto coupling = read_or_make(lower, second, "out[1]", in.members.shape({horizon - 1, n, n}), element);
    run(in.members, false, bool(in.active), checks(check), [&]<class Real>(Solver& solver, Real, Stream stream) {
        solver.selected_inverse(static_cast<Real*>(in.x.data()), static_cast<Real*>(lower.data()), stream,
                                {0, static_cast<const int*>(in.active.data()), in.members.count});
    });
    return nb::make_tuple(in.result, coupling);
}

nb::object BoundSolver::forward_quadratic(nb::handle b, nb::handle out, nb::handle quadratic) {
    Inputs in(members_);
    read_rhs(in, b, out);
    if (in.columns != spec().rhs)
        throw SpecError(fmt::format("b has {} right-hand sides and the Plan {}; quadratic needs as many in both", in.columns, spec().rhs));
    auto shape = in.members.shape({});
    if (in.b.shape().size() == (in.members.batched ? 4U : 3U)) shape.push_back(in.columns);
    Array values;
    const auto result = read_or_make(values, quadratic, "quadratic", shape, Element::f64);
    run(in.members, false, false, false, [&]<class Real>(Solver& solver, Real, Stream stream) {
        solver.forward(static_cast<const Real*>(in.b.data()), static_cast<Real*>(in.x.data()), stream, in.sweep_options());
        solver.copy_quadratic(static_cast<double*>(values.data()), in.members.count, stream);
    });
    return nb::make_tuple(finish(in), result);
}

nb::object BoundSolver::log_determinant(nb::handle out) {
    const auto members = members_;
    Array values;
    const auto result = read_or_make(values, out, "out", members.shape({}), Element::f64);
    run(members, false, false, false, [&](Solver& solver, auto, Stream stream) {
        solver.copy_log_determinant(static_cast<double*>(values.data()), members.count, stream);
    });
    return result;
}

nb::object BoundSolver::status() {
    const auto members = members_;
    nb::list rows;
    std::vector<Outcome> outcomes;
    run(members, false, false, false, [&](Solver& solver, auto, Stream) { outcomes = solver.status(); });
    outcomes.resize(std::min(outcomes.size(), static_cast<std::size_t>(members.count)));
    for (const auto& o : outcomes) rows.append(nb::make_tuple(o.block, o.row, o.floors, o.solution, o.inverse, o.quadratic));
    return helper("status")(rows, members.batched);
}

nb::object BoundSolver::refinement() {
    const auto members = members_;
    nb::list rows;
    std::vector<Refinement> all;
    run(members, false, false, false, [&](Solver& solver, auto, Stream) { all = solver.refinement(); });
    if (all.empty())
        throw SpecError(own_ ? "refinement needs a solution; call solve or factor_solve first"
                             : "a value keeps no refinement; ask a Solver that has memory of its own, as plan.solver() gives");
    for (const auto& r : all) rows.append(nb::make_tuple(r.iterations, r.converged, r.backward_error));
    return helper("refinement")(rows, members.batched);
}

double BoundSolver::seconds_of_solve(nb::handle b, nb::handle out, int repeats) {
    Inputs in(members_);
    read_rhs(in, b, out);
    double seconds = 0;
    run(in.members, false, false, false, [&]<class Real>(Solver& solver, Real, Stream stream) {
        const auto start = std::chrono::steady_clock::now();
        for (int k = 0; k < repeats; ++k)
            solver.solve(static_cast<const Real*>(in.b.data()), static_cast<Real*>(in.x.data()), stream, in.sweep_options());
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    });
    return seconds / repeats;
}

void BoundSolver::check() {
    run(members_, false, false, true, [](Solver&, auto, Stream) {});
}

void BoundSolver::synchronize() {
    run(members_, false, false, false, [](Solver& solver, auto, Stream) { solver.synchronize(); });
}

}  // namespace trifold::python
