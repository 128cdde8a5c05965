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

constexpr ChainWords of_plan{.fits = {.place = "the Plan is for",
                                      .move = "move the array, or make a Plan for its device",
                                      .element = "; this Plan takes",
                                      .convert = ": convert the array, or make a Plan of its dtype (float32 or float64)",
                                      .library = "another array of"},
                             .takes = "this Plan takes",
                             .owner = "the Plan"};

template <class Real>
FactorOptions<Real> factor_options(const auto& in, const Options& given) {
    FactorOptions<Real> options;
    options.diagonal = in.diagonal.template as<const Real>();
    options.shift = in.shift.template as<const Real>();
    options.active = in.active.template as<const int>();
    options.pivot_floor = given.pivot_floor;
    options.accept_nearly_singular = given.accept_nearly_singular;
    options.members = in.members.count;
    options.columns = in.columns;
    return options;
}
SweepOptions sweep_options(const auto& in) { return {in.columns, in.active.template as<const int>(), in.members.count}; }

}  // namespace

BoundSolver::BoundSolver(std::shared_ptr<Factors> factors, nb::handle value, Members members, bool widens)
    : BoundChain(of_plan), held_(std::make_shared<Held>()), members_(members) {
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
        solver.factor(in.d.as<const Real>(), in.e.as<const Real>(), stream, factor_options<Real>(in, options));
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
                           factor_options<Real>(in, options));
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
        (solver.*function)(in.b.as<const Real>(), in.x.as<Real>(), stream, sweep_options(in));
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
    if (in.has_columns) shape.push_back(in.columns);
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
                              factor_options<Real>(in, options));
        solver.copy_quadratic(quadratics.as<double>(), count, stream, in.columns);
        solver.backward(static_cast<const Real*>(x), x, stream, sweep_options(in));
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
        solver.forward(in.b.as<const Real>(), in.x.as<Real>(), stream, sweep_options(in));
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
    return status_of(outcomes, members.batched);
}

nb::object BoundSolver::refinement() {
    const auto members = members_;
    std::vector<Refinement> all;
    run(members, false, false, false, [&](Solver& solver, auto, Stream) { all = solver.refinement(); });
    if (all.empty())
        throw SpecError(own_ ? "refinement needs a solution; call solve or factor_solve first"
                             : "a value keeps no refinement; ask a Solver that has memory of its own, as plan.solver() gives");
    return refinement_of(all, members.batched);
}

nb::object BoundSolver::reciprocal_condition(nb::handle d, nb::handle e, const Options& options) {
    const auto n = spec().block, horizon = spec().horizon;
    const auto members = members_;
    Inputs in(members);
    read_system(in, d, e, options);
    expect_shape(in.d, members.shape({horizon, n, n}));
    for (auto* array : {&in.d, &in.e, &in.shift, &in.diagonal, &in.active})
        if (*array && !on_host()) array->read(helper("on_host")(array->object()), array->name());
    std::vector<double> values;
    run(members, false, bool(in.active), false, [&]<class Real>(Solver& solver, Real, Stream) {
        values = solver.reciprocal_condition<Real>(in.d.all<const Real>(), in.e.all<const Real>(), factor_options<Real>(in, options));
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
        repeats, [&]<class Real>(Real, Stream stream) { own_->solve(in.b.as<const Real>(), in.x.as<Real>(), stream, sweep_options(in)); });
}

double BoundSolver::seconds_of_factor_solve(nb::handle d, nb::handle e, nb::handle b, nb::handle out, int repeats) {
    Inputs in(members_);
    read_system(in, d, e, {});
    read_rhs(in, b, out);
    return seconds_of(repeats, [&]<class Real>(Real, Stream stream) {
        const auto solver = held_->factors->fresh(held_->value.data(), stream, false);
        solver->factor_solve(in.d.as<const Real>(), in.e.as<const Real>(), in.b.as<const Real>(), in.x.as<Real>(), stream,
                             factor_options<Real>(in, Options{}));
    });
}

void BoundSolver::check() {
    run(members_, false, false, true, [](Solver&, auto, Stream) {});
}

void BoundSolver::synchronize() {
    run(members_, false, false, false, [](Solver& solver, auto, Stream) { solver.synchronize(); });
}

}  // namespace trifold::python
