#include "runtime/python/binding/solver.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "runtime/base/log.hpp"
#include "runtime/python/binding/gil.hpp"
#include "runtime/python/binding/parts.hpp"

namespace trifold::python {
namespace {

constexpr Fits fits_plan{.place = "the Plan is for",
                         .move = "move the array, or make a Plan for its device",
                         .element = "; this Plan takes",
                         .convert = ": convert the array, or make a Plan of its dtype (float32 or float64)",
                         .library = "another array of"};

}  // namespace

/// The arrays of one call.
struct BoundSolver::Inputs {
    explicit Inputs(const Members& of) : members(of) {}
    Array d, e, b, x, shift, diagonal, active;
    nb::object result;  // x as Python has it
    Members members;
    std::int64_t columns = 0;

    template <class Real>
    FactorOptions<Real> factor_options(const Options& given) const {
        FactorOptions<Real> options;
        options.diagonal = diagonal.as<const Real>();
        options.shift = shift.as<const Real>();
        options.active = active.as<const int>();
        options.pivot_floor = given.pivot_floor;
        options.accept_nearly_singular = given.accept_nearly_singular;
        options.members = members.count;
        options.columns = columns;
        return options;
    }
    /// Whatever is on a GPU as a copy on the host.
    void copy_to_host() {
        for (auto* array : {&d, &e, &shift, &diagonal, &active})
            if (*array && array->place().ordinal >= 0) array->read(helper("on_host")(array->object()), array->name());
    }
    SweepOptions sweep_options() const { return {columns, active.as<const int>(), members.count}; }
};

std::vector<std::int64_t> Members::shape(std::initializer_list<std::int64_t> of_one) const {
    std::vector<std::int64_t> result;
    if (batched) result.push_back(count);
    result.insert(result.end(), of_one);
    return result;
}

BoundSolver::BoundSolver(std::shared_ptr<Factors> factors, nb::handle value, Members members, bool widens)
    : Bound(fits_plan), held_(std::make_shared<Held>()), members_(members) {
    auto& [own_factors, own_value] = *held_;
    own_factors = std::move(factors);
    widened_for_ = widens ? spec().rhs : std::numeric_limits<std::int64_t>::max();
    element_ = spec().precision == Precision::f32 ? Element::f32 : Element::f64;
    const auto& device = own_factors->plan().device();
    place_.ordinal = device.backend() == Backend::cpu ? -1 : device.ordinal();
    if (members.count < 1 || members.count > spec().batch)
        throw SpecError(fmt::format("members = {} is out of range; give 1 to {}", members.count, spec().batch));
    if (!members.batched && members.count != 1)
        throw SpecError(fmt::format("batched = False is for one system, and these are {}; give batched=True, or members=1", members.count));
    if (!value.is_none()) {
        own_value.read(value, "value", true);
        library_ = own_value.library();
        take_place(own_value);
        own_value.make_contiguous();
        if (own_value.element() != Element::u8 || own_value.size() < own_factors->bytes())
            throw SpecError(fmt::format("value is {}; give ({},) uint8", own_value.describe(), own_factors->bytes()));
        if (reinterpret_cast<std::uintptr_t>(own_value.data()) % workspace_base_alignment != 0)
            throw SpecError(
                fmt::format("value is not aligned to {} bytes; give plan.copy_value(value), a copy that is", workspace_base_alignment));
        return;
    }
    const GilRelease unlocked;
    own_ = std::make_unique<Solver>(own_factors->plan());
}

BoundSolver::~BoundSolver() {
    if (was_forked()) static_cast<void>(own_.release());
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
        read_real(in.e, e, "E");
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

template <class Body>
void BoundSolver::run(Members members, bool factors, bool masked, bool checked, Body body) {
    const auto stream = this->stream();
    const auto call = [&](Solver& solver) {
        with_real([&](auto real) { body(solver, real, stream); });
        if (checked) solver.check();
    };
    const auto held = held_;
    const GilRelease unlocked;
    if (own_) return call(*own_);
    auto* const value = held->value.data();
    auto borrowed = factors ? held->factors->fresh(value, stream, masked) : held->factors->filled(value, stream, members.count);
    call(*borrowed);
}

/// Nothing is lost where it cannot be done: the sweep then takes longer.
void BoundSolver::widen(std::int64_t columns) {
    if (columns <= widened_for_ || is_capturing()) return;
    widened_for_ = columns;
    const auto from = held_;
    const auto& plan = from->factors->plan();
    const auto [spec, tuning] = widened(plan.choice(), columns);
    if (spec.rhs == plan.choice().spec.rhs) return;
    const auto stream = this->stream();
    const auto wide = std::make_shared<Held>();
    try {
        {
            const GilRelease unlocked;
            wide->factors = Factors::shared(spec, plan.device(), tuning);
        }
        const auto bytes = wide->factors->bytes();
        wide->value.read(on_host() ? allocate_bytes(bytes) : make_array(library_, place_, std::array{bytes}, Element::u8), "value", true);
        const GilRelease unlocked;
        auto given = from->factors->filled(from->value.data(), stream, members_.count);
        auto taking = wide->factors->fresh(wide->value.data(), stream, true);
        taking->take_factor(*given);
    } catch (const CompileError& error) {
        log_once(LogLevel::warning,
                 fmt::format("right-hand sides go one by one, since there is no code for {}: {}", columns, error.what()));
        return;
    }
    held_ = wide;
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
        solver.factor(in.d.as<const Real>(), in.e.as<const Real>(), stream, in.factor_options<Real>(options));
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
        (solver.*function)(in.d.as<const Real>(), in.e.as<const Real>(), in.b.as<const Real>(), in.x.as<Real>(), stream,
                           in.factor_options<Real>(options));
    });
    return finish(in.b, in.result);
}

nb::object BoundSolver::sweep(Operation operation, nb::handle b, nb::handle out, nb::handle active, std::optional<bool> check) {
    Inputs in(members_);
    read_rhs(in, b, out);
    read_active(in, active);
    widen(in.columns);
    run(in.members, false, bool(in.active), checks(check), [&]<class Real>(Solver& solver, Real, Stream stream) {
        using Function = void (Solver::*)(const Real*, Real*, Stream, const SweepOptions&);
        Function function = &Solver::solve<Real>;
        if (operation == Operation::forward) function = &Solver::forward<Real>;
        if (operation == Operation::backward) function = &Solver::backward<Real>;
        (solver.*function)(in.b.as<const Real>(), in.x.as<Real>(), stream, in.sweep_options());
    });
    return finish(in.b, in.result);
}

nb::object BoundSolver::selected_inverse(nb::handle out, nb::handle active, std::optional<bool> check) {
    const auto n = spec().block, horizon = spec().horizon;
    Inputs in(members_);
    read_active(in, active);
    Array lower;
    nb::object first = nb::none(), second = nb::none();
    if (!out.is_none()) {
        if (PyTuple_Check(out.ptr()) == 0 || nb::len(out) != 2) throw SpecError("out of selected_inverse is a pair: (diagonal, lower)");
        first = out[0];
        second = out[1];
    }
    in.result = read_or_make(in.x, first, "out[0]", in.members.shape({horizon, n, n}), element_);
    const auto coupling = read_or_make(lower, second, "out[1]", in.members.shape({horizon - 1, n, n}), element_);
    run(in.members, false, bool(in.active), checks(check), [&]<class Real>(Solver& solver, Real, Stream stream) {
        solver.selected_inverse(in.x.as<Real>(), lower.as<Real>(), stream, {0, in.active.as<const int>(), in.members.count});
    });
    return nb::make_tuple(in.result, coupling);
}

std::vector<std::int64_t> BoundSolver::shape_of_quadratic(const Inputs& in) const {
    if (in.columns > spec().rhs)
        throw SpecError(fmt::format("b has {} right-hand sides, and the Plan keeps {} of their quadratics; give it rhs={}", in.columns,
                                    spec().rhs, in.columns));
    auto shape = in.members.shape({});
    if (in.b.shape().size() == (in.members.batched ? 4U : 3U)) shape.push_back(in.columns);
    return shape;
}

nb::object BoundSolver::marginals(nb::handle d, nb::handle e, nb::handle b, const Options& options) {
    const auto n = spec().block, horizon = spec().horizon;
    Inputs in(members_);
    read_system(in, d, e, options);
    read_rhs(in, b, nb::none());
    Array determinants, quadratics, diagonals, lowers;
    const auto make = [&](Array& array, const std::vector<std::int64_t>& shape, Element element) {
        return read_or_make(array, nb::none(), "out", shape, element);
    };
    const auto determinant = make(determinants, in.members.shape({}), Element::f64);
    const auto quadratic = make(quadratics, shape_of_quadratic(in), Element::f64);
    const auto diagonal = make(diagonals, in.members.shape({horizon, n, n}), element_);
    const auto lower = make(lowers, in.members.shape({horizon - 1, n, n}), element_);
    run_factor(in, options.check, [&]<class Real>(Solver& solver, Real, Stream stream) {
        auto* const x = in.x.as<Real>();
        const auto count = in.members.count;
        solver.factor_forward(in.d.as<const Real>(), in.e.as<const Real>(), in.b.as<const Real>(), x, stream,
                              in.factor_options<Real>(options));
        solver.copy_quadratic(quadratics.as<double>(), count, stream, in.columns);
        solver.backward(static_cast<const Real*>(x), x, stream, in.sweep_options());
        solver.copy_log_determinant(determinants.as<double>(), count, stream);
        solver.selected_inverse(diagonals.as<Real>(), lowers.as<Real>(), stream, {0, in.active.as<const int>(), count});
    });
    const auto back = [&](const nb::object& result) { return finish(in.b, result); };
    return helper("marginals")(back(in.result), back(determinant), back(quadratic), back(diagonal), back(lower));
}

nb::object BoundSolver::forward_quadratic(nb::handle b, nb::handle out, nb::handle quadratic) {
    Inputs in(members_);
    read_rhs(in, b, out);
    widen(in.columns);
    const auto shape = shape_of_quadratic(in);
    Array values;
    const auto result = read_or_make(values, quadratic, "quadratic", shape, Element::f64);
    run(in.members, false, false, false, [&]<class Real>(Solver& solver, Real, Stream stream) {
        solver.forward(in.b.as<const Real>(), in.x.as<Real>(), stream, in.sweep_options());
        solver.copy_quadratic(values.as<double>(), in.members.count, stream, in.columns);
    });
    return nb::make_tuple(finish(in.b, in.result), result);
}

nb::object BoundSolver::log_determinant(nb::handle out) {
    const auto members = members_;
    Array values;
    const auto result = read_or_make(values, out, "out", members.shape({}), Element::f64);
    run(members, false, false, false,
        [&](Solver& solver, auto, Stream stream) { solver.copy_log_determinant(values.as<double>(), members.count, stream); });
    return result;
}

nb::object BoundSolver::status() {
    const auto members = members_;
    std::vector<Outcome> outcomes;
    run(members, false, false, false, [&](Solver& solver, auto, Stream) { outcomes = solver.status(); });
    outcomes.resize(std::min(outcomes.size(), static_cast<std::size_t>(members.count)));
    const auto row = [](const Outcome& o) {
        return nb::make_tuple(o.block, o.row, o.floors, o.solution, o.inverse, o.quadratic, o.least_pivot, o.nearly_singular);
    };
    return helper("status")(listed(outcomes, row), members.batched);
}

nb::object BoundSolver::refinement() {
    const auto members = members_;
    std::vector<Refinement> all;
    run(members, false, false, false, [&](Solver& solver, auto, Stream) { all = solver.refinement(); });
    if (all.empty())
        throw SpecError(own_ ? "refinement needs a solution; call solve or factor_solve first"
                             : "a value keeps no refinement; ask a Solver that has memory of its own, as plan.solver() gives");
    const auto row = [](const Refinement& r) { return nb::make_tuple(r.iterations, r.converged, r.backward_error); };
    return helper("refinement")(listed(all, row), members.batched);
}

nb::object BoundSolver::reciprocal_condition(nb::handle d, nb::handle e, const Options& options) {
    const auto n = spec().block, horizon = spec().horizon;
    const auto members = members_;
    Inputs in(members);
    read_system(in, d, e, options);
    expect_shape(in.d, members.shape({horizon, n, n}));
    in.copy_to_host();
    std::vector<double> values;
    run(members, false, bool(in.active), false, [&]<class Real>(Solver& solver, Real, Stream) {
        values = solver.reciprocal_condition<Real>(in.d.all<const Real>(), in.e.all<const Real>(), in.factor_options<Real>(options));
    });
    return helper("by_member")(listed(values, [](double value) { return value; }), members.batched);
}

template <class Call>
double BoundSolver::seconds_of(int repeats, Call call) {
    const auto stream = this->stream();
    const GilRelease unlocked;
    const auto start = std::chrono::steady_clock::now();
    with_real([&](auto real) {
        for (int k = 0; k < repeats; ++k) call(real, stream);
    });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
}

double BoundSolver::seconds_of_solve(nb::handle b, nb::handle out, int repeats) {
    Inputs in(members_);
    read_rhs(in, b, out);
    return seconds_of(
        repeats, [&]<class Real>(Real, Stream stream) { own_->solve(in.b.as<const Real>(), in.x.as<Real>(), stream, in.sweep_options()); });
}

double BoundSolver::seconds_of_factor_solve(nb::handle d, nb::handle e, nb::handle b, nb::handle out, int repeats) {
    Inputs in(members_);
    read_system(in, d, e, {});
    read_rhs(in, b, out);
    return seconds_of(repeats, [&]<class Real>(Real, Stream stream) {
        const auto solver = held_->factors->fresh(held_->value.data(), stream, false);
        solver->factor_solve(in.d.as<const Real>(), in.e.as<const Real>(), in.b.as<const Real>(), in.x.as<Real>(), stream,
                             in.factor_options<Real>({}));
    });
}

void BoundSolver::check() {
    run(members_, false, false, true, [](Solver&, auto, Stream) {});
}

void BoundSolver::synchronize() {
    run(members_, false, false, false, [](Solver& solver, auto, Stream) { solver.synchronize(); });
}

}  // namespace trifold::python
