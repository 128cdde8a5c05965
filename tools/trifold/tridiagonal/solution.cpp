#include "tools/trifold/tridiagonal/solution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "tools/trifold/solve.hpp"

namespace trifold::command {
namespace {

using formats::System;
constexpr std::int64_t max_columns = 16;  // of one pass; a wider B goes in panels

template <class Real>
std::vector<Real> converted(const std::vector<double>& values) {
    return {values.begin(), values.end()};
}
template <class Real>
std::vector<double> widened(const std::vector<Real>& values) {
    return {values.begin(), values.end()};
}

/// Factors with pivots of both signs, or with rows interchanged within blocks alone, may have lost digits.
bool refines(const SolveRequest& request) {
    return request.matrix != MatrixKind::positive_definite && request.ranks == 1 && request.precision != Precision::mixed;
}

/// Only what solve_in() calls, as everything else would be compiled in vain.
Spec spec_of(const System& system, const SolveRequest& request) {
    auto spec = to_spec(system, request.precision);
    spec.rhs = std::min(system.rhs, max_columns);
    spec.operations = {Operation::factor, Operation::solve};
    spec.matrix = request.matrix;
    if (refines(request)) spec.operations.insert(Operation::refine);
    if (request.inverse) spec.operations.insert(Operation::inverse);
    return spec;
}

std::vector<NotPositiveDefinite::Failure> failures(const std::vector<trifold::Outcome>& status) {
    std::vector<NotPositiveDefinite::Failure> failed;
    for (std::size_t k = 0; k < status.size(); ++k) {
        if (status[k].block >= 0) failed.push_back({static_cast<std::int64_t>(k), status[k].block, status[k].row});
    }
    return failed;
}

std::vector<OutOfRange::Failure> out_of_range(const std::vector<trifold::Outcome>& status) {
    std::vector<OutOfRange::Failure> left;
    for (std::size_t k = 0; k < status.size(); ++k) {
        const auto& member = status[k];
        if (member.block < 0 && (!member.solution || !member.inverse))
            left.push_back({static_cast<std::int64_t>(k), !member.solution, !member.inverse});
    }
    return left;
}

/// The least pivot of sound systems may be small by chance, and that of singular ones large, so a condition number that is there decides.
/// Mixed precision is judged by its factors: what f32 cannot tell from a singular matrix may be refined, but is not known to be sound.
void judge_singular(const std::vector<trifold::Outcome>& status, const SolveRequest& request, Solution& solution) {
    const auto factors = request.precision == Precision::mixed ? Precision::f32 : request.precision;
    const bool has_signs = request.matrix != MatrixKind::positive_definite;
    for (std::size_t k = 0; k < status.size(); ++k) {
        solution.least_pivot.push_back(status[k].least_pivot);
        const bool singular = !solution.reciprocal_condition.empty() ? solution.reciprocal_condition[k] < min_condition(factors)
                              : has_signs                            ? status[k].nearly_singular
                                                                     : status[k].least_pivot < nearly_singular_bound(factors);
        if (has_signs) solution.negative.push_back(status[k].block < 0 ? status[k].negative : -1);
        if (has_signs) solution.growth.push_back(status[k].growth);
        if (status[k].block < 0 && singular) solution.nearly_singular.push_back({static_cast<std::int64_t>(k), status[k].least_pivot});
    }
}

/// b' x, which is b' A^-1 b, where the solver has none: in mixed precision, of general matrices, and of more columns than one pass has.
std::vector<double> products(const System& system, const std::vector<double>& x) {
    std::vector<double> sums(static_cast<std::size_t>(system.batch * system.rhs));
    const auto size = (system.chain_rows() + system.border) * system.rhs;
    for (std::int64_t k = 0; k < system.batch * size; ++k)
        sums[static_cast<std::size_t>(k / size * system.rhs + k % system.rhs)] +=
            system.b[static_cast<std::size_t>(k)] * x[static_cast<std::size_t>(k)];
    return sums;
}

/// Members fall back to f64 that have not converged, or that f32 cannot tell from singular ones.
void take_refinement(const std::vector<Refinement>& members, Solution& solution) {
    for (std::size_t k = 0; k < members.size(); ++k) {
        const auto member = static_cast<std::int64_t>(k);
        solution.iterations.push_back(members[k].iterations);
        const bool singular =
            std::ranges::find(solution.nearly_singular, member, &NearlySingular::Failure::member) != solution.nearly_singular.end();
        if (!members[k].converged || singular) solution.fell_back.push_back(member);
    }
}

template <class Real>
Solution solve_in(const System& system, const SolveRequest& request) {
    const Plan plan(spec_of(system, request), request.device, request.tuning);
    Solver solver(plan);
    Solution solution;
    solution.schedule = plan.choice().schedule.name;
    solution.variant = plan.choice().variant;
    solution.rung = to_string(plan.choice().rung);
    solution.row = plan.choice().row;
    solution.target = to_string(plan.choice().target);
    solution.report = plan.report();
    const bool has_border = system.border > 0;
    const auto [b, tips] = formats::parted(system, system.b);
    const auto d = converted<Real>(system.d), e = converted<Real>(system.e), f = converted<Real>(system.f), c = converted<Real>(system.c),
               u = converted<Real>(system.u);
    auto x = converted<Real>(b), tip = converted<Real>(tips);
    FactorOptions<Real> factoring;
    SweepOptions solving{.columns = system.rhs};
    if (system.general) factoring.u = u.data();
    if (has_border) factoring.f = f.data(), factoring.c = c.data(), solving.tip_b = solving.tip_x = tip;
    solution.factor_seconds = seconds_of([&] {
        solver.factor(d, e, factoring);
        solution.failed = failures(solver.status());
    });
    solution.solve_seconds = seconds_of([&] { solver.solve(x, x, solving); });
    solution.log_determinant = solver.log_determinant();
    solution.x = formats::joined(system.batch, widened(x), widened(tip));
    const bool counted = request.precision != Precision::mixed && system.rhs <= max_columns && !system.general;
    if (counted) solution.quadratic = solver.quadratic();
    if (refines(request)) {
        factoring.columns = system.rhs;
        solver.refine(d, e, converted<Real>(b), x, factoring);
        solution.x = widened(x);
    }
    if (!counted) solution.quadratic = products(system, solution.x);
    if (request.inverse) {
        std::vector<Real> diagonal(d.size()), coupling(e.size()), arrow(f.size()), corner(c.size());
        SweepOptions options;
        if (has_border) options.f = arrow, options.c = corner;
        solver.selected_inverse(diagonal, coupling, options);
        solution.inverse_diagonal = widened(diagonal);
        solution.inverse_coupling = widened(coupling);
        solution.inverse_arrow = widened(arrow);
        solution.inverse_corner = widened(corner);
    }
    const auto status = solver.status();  // this and the refinement before the condition, whose solutions have their own
    const auto refinement = request.precision == Precision::mixed ? solver.refinement() : std::vector<Refinement>();
    solution.out_of_range = out_of_range(status);
    if (request.condition) solution.reciprocal_condition = solver.reciprocal_condition(d, e, factoring);
    judge_singular(status, request, solution);
    take_refinement(refinement, solution);
    return solution;
}

/// A rank's part of an array [batch][stages][each], from a stage on; and where the part's results go.
template <class Real>
std::vector<Real> part_of(const std::vector<double>& all, std::int64_t batch, std::int64_t first, std::int64_t count, std::int64_t each) {
    const auto size = static_cast<std::int64_t>(all.size()) / batch;
    std::vector<Real> part;
    for (std::int64_t m = 0; m < batch; ++m)
        part.insert(part.end(), all.begin() + m * size + first * each, all.begin() + m * size + (first + count) * each);
    return part;
}
template <class Real>
void put_part(const std::vector<Real>& part, std::vector<double>& all, std::int64_t batch, std::int64_t first, std::int64_t each) {
    const auto size = static_cast<std::int64_t>(all.size()) / batch, own = static_cast<std::int64_t>(part.size()) / batch;
    for (std::int64_t m = 0; m < batch; ++m) std::copy_n(part.begin() + m * own, own, all.begin() + m * size + first * each);
}

/// Solves a rank's part of the chain into the Solution of all. The first rank says what is the same on all.
template <class Real>
void solve_rank(const System& system, const SolveRequest& request, std::shared_ptr<Transport> transport, Solution& solution) {
    RankSolver solver(RankPlan(spec_of(system, request), std::move(transport), request.device, request.tuning));
    const auto& spec = solver.plan().spec();
    const bool is_last = spec.rank + 1 == spec.ranks(), reports = spec.rank == 0;
    const auto first = spec.first_block(), blocks = spec.blocks(), couplings = is_last ? blocks - 1 : blocks, n = system.block;
    const auto part = [&](const std::vector<double>& all, std::int64_t count, std::int64_t each) {
        return part_of<Real>(all, system.batch, first, count, each);
    };
    auto d = part(system.d, blocks, n * n), e = part(system.e, couplings, n * n);
    const auto b = part(system.b, blocks, n * system.rhs);
    auto x = b;
    std::vector<trifold::Outcome> status;
    const auto factor_seconds = seconds_of([&] {
        solver.factor(d, e);
        status = solver.status();
    });
    const auto failed = failures(status);
    const auto solve_seconds = seconds_of([&] { solver.solve(b, x, {.columns = system.rhs}); });
    put_part(x, solution.x, system.batch, first, n * system.rhs);
    const auto logs = solver.log_determinant();
    if (request.inverse) {
        solver.selected_inverse(d, e);
        put_part(d, solution.inverse_diagonal, system.batch, first, n * n);
        put_part(e, solution.inverse_coupling, system.batch, first, n * n);
    }
    status = solver.status();
    if (!reports) return;
    const auto& choice = solver.plan().choice();
    solution.factor_seconds = factor_seconds;
    solution.solve_seconds = solve_seconds;
    solution.failed = failed;
    solution.log_determinant = logs;
    solution.schedule = fmt::format("{} on {} ranks", choice.tuning.schedule, request.ranks);
    solution.variant = choice.variant;
    solution.rung = to_string(choice.rung);
    solution.target = to_string(choice.target);
    solution.report = solver.plan().report();
    solution.out_of_range = out_of_range(status);
    judge_singular(status, request, solution);
}

/// A thread of this process for each rank.
template <class Real>
Solution solve_on_ranks(const System& system, const SolveRequest& request) {
    Solution solution;
    solution.x.resize(system.b.size());
    if (request.inverse) solution.inverse_diagonal.resize(system.d.size());
    if (request.inverse) solution.inverse_coupling.resize(system.e.size());
    on_ranks(request.ranks,
             [&](std::shared_ptr<Transport> transport) { solve_rank<Real>(system, request, std::move(transport), solution); });
    solution.quadratic = products(system, solution.x);
    return solution;
}

/// Failures of members that were solved alone, by their numbers among all.
template <class Failure>
std::vector<Failure> numbered(std::vector<Failure> failures, const std::vector<std::int64_t>& members) {
    for (auto& failure : failures) failure.member = members[static_cast<std::size_t>(failure.member)];
    return failures;
}

/// Members that mixed precision gave no solution are solved again in f64. No other has failed: what has converged is finite.
void fall_back(const System& system, SolveRequest request, Solution& solution) {
    request.precision = Precision::f64;
    request.tuning.variant = "auto";  // one of f32 may not fit
    const auto again = solve_in<double>(members_of(system, solution.fell_back), request);
    solution.factor_seconds += again.factor_seconds;
    solution.solve_seconds += again.solve_seconds;
    solution.failed = numbered(again.failed, solution.fell_back);
    solution.nearly_singular = numbered(again.nearly_singular, solution.fell_back);
    solution.out_of_range = numbered(again.out_of_range, solution.fell_back);
    const auto size = static_cast<std::ptrdiff_t>(solution.x.size()) / system.batch;
    for (std::size_t k = 0; k < solution.fell_back.size(); ++k) {
        const auto member = solution.fell_back[k];
        std::copy_n(again.x.begin() + static_cast<std::ptrdiff_t>(k) * size, size, solution.x.begin() + member * size);
        solution.log_determinant[static_cast<std::size_t>(member)] = again.log_determinant[k];
        solution.least_pivot[static_cast<std::size_t>(member)] = again.least_pivot[k];
        if (request.condition) solution.reciprocal_condition[static_cast<std::size_t>(member)] = again.reciprocal_condition[k];
        std::copy_n(again.quadratic.begin() + static_cast<std::ptrdiff_t>(k) * system.rhs, system.rhs,
                    solution.quadratic.begin() + member * system.rhs);
    }
}

}  // namespace

Spec to_spec(const System& system, Precision precision) {
    Spec spec{.block = system.block, .horizon = system.horizon, .precision = precision, .rhs = system.rhs, .batch = system.batch};
    spec.ring = system.ring;
    spec.border = system.border;
    if (system.general) spec.matrix = MatrixKind::general;
    return spec;
}

double min_condition(Precision precision) {
    return precision == Precision::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

Solution solve(const System& system, const SolveRequest& request) {
    if (request.ranks > 1)
        return request.precision == Precision::f32 ? solve_on_ranks<float>(system, request) : solve_on_ranks<double>(system, request);
    if (request.precision == Precision::f32) return solve_in<float>(system, request);
    auto solution = solve_in<double>(system, request);
    if (!solution.fell_back.empty()) fall_back(system, request, solution);
    return solution;
}

void locate_sequentially(const System& system, const SolveRequest& request, std::vector<NotPositiveDefinite::Failure>& failed) {
    auto again = request;
    again.tuning.schedule = "sequential", again.tuning.variant = "auto";
    again.inverse = again.condition = false;
    again.ranks = 1;
    std::vector<std::int64_t> members;
    for (const auto& failure : failed) members.push_back(failure.member);
    for (const auto& found : solve(members_of(system, members), again).failed) {
        auto& failure = failed[static_cast<std::size_t>(found.member)];
        failure.block = found.block;
        failure.row = found.row;
    }
}

}  // namespace trifold::command
