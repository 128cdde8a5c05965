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

}  // namespace

BoundSolver::BoundSolver(std::shared_ptr<Factors> factors, nb::handle value, Members members, bool widens)
    : BoundChain(of_plan), held_(std::make_shared<Held>()) {
    members_ = members;
    auto& [own_factors, own_value] = *held_;
    own_factors = std::move(factors);
    widened_for_ = widens ? spec().rhs : std::numeric_limits<std::int64_t>::max();
    element_ = spec().precision == Precision::f32 ? Element::f32 : Element::f64;
    const auto& device = own_factors->plan().device();
    place_.ordinal = device.backend() == Backend::cpu ? -1 : device.ordinal();
    check_range("members", members.count, 1, spec().batch);
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
void BoundSolver::lend(Members members, bool factors, bool masked, bool checked, Body body) {
    const auto stream = this->stream();
    const auto call = [&](Solver& solver) {
        body(solver, stream);
        if (checked) solver.check();
    };
    const auto held = held_;
    const GilRelease unlocked;
    if (own_) return call(*own_);
    auto* const value = held->value.data();
    auto borrowed = factors ? held->factors->fresh(value, stream, masked) : held->factors->filled(value, stream, members.count);
    call(*borrowed);
}

void BoundSolver::run(Operation operation, const Inputs& in, std::initializer_list<AnyArray> arrays, const Options& options) {
    const bool factors = bool(in.d);
    lend(in.members, factors, bool(in.active), checks(options.check),
         [&](Solver& solver, Stream stream) { solver.run(operation, arrays, options_of(in, options, stream)); });
}

void BoundSolver::load(nb::handle d, nb::handle e, std::int64_t first) {
    if (!own_)
        throw SpecError("a value holds a factor, and no loaded blocks; ask a Solver that has memory of its own, as plan.solver() gives");
    Inputs in(members_);
    Array given;
    given.read(d, "D");
    const auto& shape = given.shape();
    const auto count = shape.size() < 3 ? blocks() : shape[shape.size() - 3];
    if (shape.size() == 4 && count != blocks())
        throw SpecError(fmt::format("D has {} of {} blocks; a batch is loaded as a whole, (batch, {}, n, n)", count, blocks(), blocks()));
    if (first < 0 || count < 1 || count > blocks() - first)
        throw SpecError(fmt::format("D has {} blocks from block {} on; the chain has {}, counted from 0", count, first, blocks()));
    read_diagonal(in, d, count);
    read_coupling(in, in.e, e, "E", in.members.shape({std::min(count, couplings() - first), block(), block()}));
    with_members(in, [&] {
        lend(in.members, true, false, false, [&](Solver& solver, Stream stream) {
            solver.run(Operation::load, {any(in.d), any(in.e)},
                       {.members = in.members.count, .stream = stream, .first_block = first, .blocks = count});
        });
    });
}

/// Nothing is lost where it cannot be done: the sweep then takes longer.
void BoundSolver::widen(std::int64_t columns) {
    if (columns <= widened_for_ || is_capturing()) return;
    widened_for_ = columns;
    const auto from = held_;
    const auto& plan = from->factors->plan();
    const auto [spec, tuning] = widened(plan.choice(), columns);
    if (spec.rhs == plan.choice().spec.rhs) return;
    try {
        move_to(spec, tuning);
    } catch (const CompileError& error) {
        log_once(LogLevel::warning,
                 fmt::format("right-hand sides go one by one, since there is no code for {}: {}", columns, error.what()));
    }
}

void BoundSolver::move_to(const Spec& spec, const Tuning& tuning) {
    const auto from = held_;
    const auto stream = this->stream();
    const auto wide = std::make_shared<Held>();
    {
        const GilRelease unlocked;
        wide->factors = Factors::shared(spec, from->factors->plan().device(), tuning);
    }
    const auto bytes = wide->factors->bytes();
    wide->value.read(on_host() ? allocate_bytes(bytes) : make_array(library_, place_, std::array{bytes}, Element::u8), "value", true);
    {
        const GilRelease unlocked;
        auto given = from->factors->filled(from->value.data(), stream, members_.count);
        auto taking = wide->factors->fresh(wide->value.data(), stream, true);
        taking->take_factor(*given);
    }
    held_ = wide;
}

nb::object BoundSolver::refine(nb::handle d, nb::handle e, nb::handle b, nb::handle x, const Options& options) {
    if (x.is_none()) throw SpecError("x is None; give the solution that is to be corrected");
    Inputs in(members_);
    read_system(in, d, e, options);
    expect_shape(in.d, members_.shape({spec().horizon, spec().block, spec().block}));
    read_right_side(in, b);
    read_or_make(in.x, x, "x", in.b.shape(), in.b.element());
    if (!own_ && !spec().operations.contains(Operation::refine)) {
        if (is_capturing()) throw SpecError("a factor moves to a Plan that refines, which a graph cannot record; call refine once before");
        const auto plan = held_->factors->plan();
        auto [wanted, tuning] = widened(plan.choice(), spec().rhs);
        wanted.operations.insert(Operation::refine);
        move_to(wanted, tuning);
    }
    Array errors;
    const auto result = read_or_make(errors, nb::none(), "out", in.members.shape({}), Element::f64);
    lend(in.members, false, bool(in.active), false, [&](Solver& solver, Stream stream) {
        solver.run(Operation::refine, {any(in.d), any(in.e), any(in.b), any(in.x)}, options_of(in, options, stream));
        solver.copy_backward_error(errors.as<double>(), in.members.count, stream);
    });
    return finish(in.b, result);
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
    if (border() > 0) throw SpecError("marginals has no border; call factor, then solve and selected_inverse");
    Inputs in(members_);
    read_system(in, d, e, options);
    read_rhs(in, b, nb::none());
    Array determinants, quadratics, diagonals, lowers;
    const auto make = [&](Array& array, const std::vector<std::int64_t>& shape, Element element) {
        return read_or_make(array, nb::none(), "out", shape, element);
    };
    const auto determinant = make(determinants, in.members.shape({}), Element::f64);
    const auto quadratic = make(quadratics, shape_of_quadratic(in), Element::f64);
    const auto diagonal = make(diagonals, diagonal_of_inverse(in.members), element_);
    const auto lower = make(lowers, lower_of_inverse(in.members), element_);
    const auto marginals = [&](Solver& solver, Stream stream) {
        const auto x = any(in.x);
        const auto count = in.members.count;
        const auto swept = sweep_options(in, stream);
        solver.run(Operation::factor_forward, {any(in.d), any(in.e), any(in.b), x}, options_of(in, options, stream));
        solver.copy_quadratic(quadratics.as<double>(), count, stream, in.columns);
        solver.run(Operation::backward, {x, x}, swept);
        solver.copy_log_determinant(determinants.as<double>(), count, stream);
        solver.run(Operation::inverse, {any(diagonals), any(lowers)}, swept);
    };
    with_members(in, [&] { lend(in.members, true, bool(in.active), checks(options.check), marginals); });
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
    lend(in.members, false, false, false, [&](Solver& solver, Stream stream) {
        solver.run(Operation::forward, {any(in.b), any(in.x)}, sweep_options(in, stream));
        solver.copy_quadratic(values.as<double>(), in.members.count, stream, in.columns);
    });
    return nb::make_tuple(finished(in), result);
}

nb::object BoundSolver::log_determinant(nb::handle out) {
    const auto members = members_;
    Array values;
    const auto result = read_or_make(values, out, "out", members.shape({}), Element::f64);
    lend(members, false, false, false,
         [&](Solver& solver, Stream stream) { solver.copy_log_determinant(values.as<double>(), members.count, stream); });
    return result;
}

nb::object BoundSolver::status() {
    const auto members = members_;
    std::vector<Outcome> outcomes;
    lend(members, false, false, false, [&](Solver& solver, Stream) { outcomes = solver.status(); });
    outcomes.resize(std::min(outcomes.size(), static_cast<std::size_t>(members.count)));
    return status_of(outcomes, members.batched);
}

nb::object BoundSolver::copy_status() {
    const auto members = members_;
    const bool has_signs = spec().matrix != MatrixKind::positive_definite;
    Array statuses, inertias;
    const auto make = [&](Array& array, std::size_t bytes) {
        return read_or_make(array, nb::none(), "out", std::array{members.count, static_cast<std::int64_t>(bytes / 8)}, Element::f64);
    };
    const auto words = make(statuses, sizeof(MemberStatus)), more = has_signs ? make(inertias, sizeof(MemberInertia)) : nb::none();
    lend(members, false, false, false, [&](Solver& solver, Stream stream) {
        solver.copy_status(statuses.as<MemberStatus>(), members.count, stream);
        if (has_signs) solver.copy_inertia(inertias.as<MemberInertia>(), members.count, stream);
    });
    return helper("copied_status")(words, more, members.batched);
}

nb::object BoundSolver::refinement() {
    const auto members = members_;
    std::vector<Refinement> all;
    lend(members, false, false, false, [&](Solver& solver, Stream) { all = solver.refinement(); });
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
    for (auto* array : {&in.d, &in.e, &in.u, &in.shift, &in.diagonal, &in.active, &in.f, &in.c, &in.lengths, &in.sizes})
        if (*array && !on_host()) array->read(helper("on_host")(array->object()), array->name());
    std::vector<double> values;
    lend(members, false, bool(in.active), false, [&](Solver& solver, Stream) {
        with_real([&]<class Real>(Real) {
            const FactorOptions<Real> added{.diagonal = in.diagonal.as<const Real>(),
                                            .shift = in.shift.as<const Real>(),
                                            .active = in.active.as<const int>(),
                                            .members = in.members.count,
                                            .f = in.f.as<const Real>(),
                                            .c = in.c.as<const Real>(),
                                            .lengths = in.lengths.as<const int>(),
                                            .sizes = in.sizes.as<const int>(),
                                            .u = in.u.as<const Real>()};
            values = solver.reciprocal_condition<Real>(in.d.all<const Real>(), in.e.all<const Real>(), added);
        });
    });
    return helper("by_member")(listed(values, [](double value) { return value; }), members.batched);
}

template <class Call>
double BoundSolver::seconds_of(int repeats, Call call) {
    const auto stream = this->stream();
    const GilRelease unlocked;
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < repeats; ++k) call(stream);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
}

double BoundSolver::seconds_of_solve(nb::handle b, nb::handle out, int repeats) {
    Inputs in(members_);
    read_rhs(in, b, out);
    return seconds_of(repeats, [&](Stream stream) { own_->run(Operation::solve, {any(in.b), any(in.x)}, sweep_options(in, stream)); });
}

double BoundSolver::seconds_of_factor_solve(nb::handle d, nb::handle e, nb::handle b, nb::handle out, int repeats) {
    Inputs in(members_);
    read_system(in, d, e, {});
    read_rhs(in, b, out);
    return seconds_of(repeats, [&](Stream stream) {
        const auto solver = held_->factors->fresh(held_->value.data(), stream, false);
        solver->run(Operation::factor_solve, {any(in.d), any(in.e), any(in.b), any(in.x)}, sweep_options(in, stream));
    });
}

void BoundSolver::check() {
    lend(members_, false, false, true, [](Solver&, Stream) {});
}

void BoundSolver::synchronize() {
    lend([](Solver& solver, Stream) { solver.synchronize(); });
}

}  // namespace trifold::python
