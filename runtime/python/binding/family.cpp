// trifold._core.AnySolver: a solver of any family, by the names in its tables. trifold/families.py is written with it.
#include "runtime/session/family.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <trifold/trifold.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <trifold/error.hpp>

#include "runtime/python/binding/bound.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/parts.hpp"
#include "runtime/python/binding/plan.hpp"

namespace trifold::python {
namespace {

using namespace nb::literals;

constexpr Fits fits_plan{.place = "the Solver on",
                         .move = "make it with another device, or copy the array",
                         .element = " and the Solver is of",
                         .convert = "; convert it",
                         .library = "the last call was of"};

std::int64_t whole(const nlohmann::json& fields, const char* name, std::int64_t otherwise) {
    return fields.contains(name) ? field_values::whole_number(fields.at(name), name) : otherwise;
}

class BoundAny : Bound {
  public:
    BoundAny(const std::string& family, const std::string& problem, nb::handle device, const std::string& tuning)
        : Bound(fits_plan), family_(family_named(family)) {
        const auto where = device_of(device);
        const GilRelease unlocked;
        plan_ = family_.make(nlohmann::json::parse(problem), where, nlohmann::json::parse(tuning));
        solver_ = plan_->solver(nullptr, 0);
        const auto spec = plan_->spec();
        element_ = spec.at("precision") == "f32" ? Element::f32 : Element::f64;
        batch_ = spec.at("batch");
        place_ = {where.backend() == Backend::cpu ? -1 : where.ordinal()};
    }

    /// `given`: an array for each of the operation's; None makes a result. Returns the results.
    nb::object run(const std::string& name, const nb::list& given, const std::string& options) {
        const auto operation = family_.operation(name);
        const auto rows = family_.operations[operation].arrays;
        if (nb::len(given) != rows.size()) throw SpecError(fmt::format("{} has {} arrays, not {}", name, rows.size(), nb::len(given)));
        auto fields = nlohmann::json::parse(options);
        std::array<Array, max_arrays> arrays;
        for (std::size_t k = 0; k < rows.size(); ++k)
            if (!given[k].is_none()) read(arrays[k], given[k], rows[k]);
        if (!fields.contains("columns")) {
            std::vector<std::int64_t> elements;
            for (std::size_t k = 0; k < rows.size(); ++k) elements.push_back(arrays[k] ? arrays[k].size() : -1);
            fields["columns"] = columns_of(family_.operations[operation], extents(), whole(fields, "members", batch_), elements);
        }
        nb::list results;
        std::vector<AnyArray> all;
        for (std::size_t k = 0; k < rows.size(); ++k) {
            if (given[k].is_none()) make(arrays, k, rows, fields);
            if (rows[k].access != Access::read) results.append(arrays[k].object());
            auto& array = all.emplace_back(arrays[k].data(), on_host(), element_ == Element::f32 ? Precision::f32 : Precision::f64);
            array.size = arrays[k].size();
        }
        locked([&](AnySolver& solver, Stream stream) { solver.run(operation, all, stream, fields); });
        return nb::len(results) == 1 ? nb::object(results[0]) : nb::object(nb::tuple(results));
    }
    std::string outcomes() {
        std::string text;
        locked([&](AnySolver& solver, Stream) { text = solver.outcomes().dump(); });
        return text;
    }
    void check() {
        locked([](AnySolver& solver, Stream) { solver.check(); });
    }
    std::int64_t size_of(const std::string& name, std::size_t k) const {
        const auto rows = family_.operations[family_.operation(name)].arrays;
        if (k >= rows.size()) throw SpecError(fmt::format("{} has {} arrays", name, rows.size()));
        return trifold::size_of(rows[k], extents(), {batch_, 1});
    }
    std::string spec() const { return plan_->spec().dump(); }

  private:
    template <class Body>
    void locked(Body body) {
        const auto at = stream();
        const GilRelease unlocked;
        const std::scoped_lock lock(*in_call_);
        body(*solver_, at);
    }
    void read(Array& array, nb::handle given, const ArrayRow& row) {
        array.read(given, row.name, row.access != Access::read);
        if (on_host() || array.library() != Library::numpy) library_ = array.library();
        take_place(array);
        expect_real(array);
        array.make_contiguous();
    }
    /// A result, in the shape of the first array with the same axes.
    void make(std::span<Array> arrays, std::size_t k, std::span<const ArrayRow> rows, const nlohmann::json& fields) {
        if (rows[k].access == Access::read) throw SpecError(fmt::format("{} is None; give an array", rows[k].name));
        auto shape = shape_of(rows[k], extents(), {whole(fields, "members", batch_), whole(fields, "columns", 1)});
        if (batch_ == 1) shape.erase(shape.begin());  // arrays of one member have no axis of members
        for (std::size_t other = 0; other < rows.size(); ++other)
            if (arrays[other] && rows[other].extents == rows[k].extents)
                shape.assign(arrays[other].shape().begin(), arrays[other].shape().end());
        const auto made = make_array(library_, place_, shape, element_);
        arrays[k].read(made, rows[k].name, true);
    }
    Extent extents() const {
        return [this](std::string_view name) { return plan_->extent(name); };
    }

    const Family& family_;
    std::int64_t batch_ = 1;
    PerProcess<std::mutex> in_call_;
    std::unique_ptr<AnyPlan> plan_;
    std::unique_ptr<AnySolver> solver_;
};

}  // namespace

void bind_families(nb::module_& module) {
    const nb::call_guard<InCall> guarded;
    nb::class_<BoundAny>(module, "AnySolver", "A solver of any family: what trifold.families.Solver is written with.")
        .def(nb::init<const std::string&, const std::string&, nb::handle, const std::string&>(), "family"_a, "problem"_a, "device"_a,
             "tuning"_a, nb::sig("def __init__(self, family: str, problem: str, device: Any, tuning: str) -> None"), guarded)
        .def("run", &BoundAny::run, "operation"_a, "arrays"_a, "options"_a,
             nb::sig("def run(self, operation: str, arrays: list[Any], options: str) -> Any"), guarded)
        .def("size_of", &BoundAny::size_of, "operation"_a, "k"_a, nb::sig("def size_of(self, operation: str, k: int) -> int"), guarded)
        .def("outcomes", &BoundAny::outcomes, nb::sig("def outcomes(self) -> str"), guarded)
        .def("check", &BoundAny::check, nb::sig("def check(self) -> None"), guarded)
        .def_prop_ro("spec", &BoundAny::spec, nb::sig("def spec(self, /) -> str"));
    module.def("families", [] { return std::string(trifold_families()); }, nb::sig("def families() -> str"));
}

}  // namespace trifold::python
