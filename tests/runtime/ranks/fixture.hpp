#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <trifold/trifold.hpp>
#include <vector>

#include "tests/runtime/ranks/on_ranks.hpp"
#include "tests/runtime/tridiagonal/fixture.hpp"

namespace trifold::test {

/// A rank's part of an array [members][blocks][each]; `count` blocks from `first` on.
template <class Real>
std::vector<Real> part(const std::vector<Real>& all, std::int64_t members, std::int64_t blocks, std::int64_t each, std::int64_t first,
                       std::int64_t count) {
    std::vector<Real> result;
    for (std::int64_t m = 0; m < members; ++m) {
        const auto begin = all.begin() + (m * blocks + first) * each;
        result.insert(result.end(), begin, begin + count * each);
    }
    return result;
}

template <class Real>
void put(std::vector<Real>& all, const std::vector<Real>& mine, std::int64_t members, std::int64_t blocks, std::int64_t each,
         std::int64_t first, std::int64_t count) {
    for (std::int64_t m = 0; m < members; ++m)
        std::copy_n(mine.begin() + m * count * each, count * each, all.begin() + (m * blocks + first) * each);
}

/// A rank's own arrays of a problem.
template <class Real>
struct Shard {
    Shard(const RankSpec& rank, const Problem<Real>& problem)
        : batch(rank.spec.batch),
          blocks(rank.spec.horizon),
          n(rank.spec.block),
          columns(problem.columns),
          first(rank.first_block()),
          count(rank.blocks()),
          couplings(std::min(count, blocks - 1 - first)),
          d(part(problem.input.d, batch, blocks, n * n, first, count)),
          e(part(problem.input.e, batch, blocks - 1, n * n, first, couplings)),
          b(part(problem.input.b, batch, blocks, n * columns, first, count)),
          x(b.size()) {}
    void put_x(std::vector<Real>& all) const { put(all, x, batch, blocks, n * columns, first, count); }
    std::int64_t batch, blocks, n, columns, first, count, couplings;
    std::vector<Real> d, e, b, x;
};

/// Ranks of one device, each a thread.
struct Ranks {
    std::int64_t count() const { return shards.empty() ? ranks : static_cast<std::int64_t>(shards.size()); }
    RankSolver solver(const Spec& spec, const std::shared_ptr<Transport>& transport) const {
        return RankSolver(RankPlan(spec, transport, device, tuning, shards));
    }
    int ranks = 0;
    std::vector<std::int64_t> shards = {};
    Tuning tuning = {};
    Device device = Device::cpu();
};

/// Solves with X in the place of B, by pointers.
template <class Real>
void solve_in_place(RankSolver& solver, std::vector<Real>& x, const RankOptions& options) {
    solver.solve(x.data(), x.data(), options);
}

/// All operations on all ranks, against Eigen. Returns X of the first one.
template <class Real, class InPlace = decltype(&solve_in_place<Real>)>
std::vector<Real> check_operations(const Spec& spec, const Ranks& ranks, double tolerance, std::int64_t columns = 0,
                                   const InPlace& in_place = &solve_in_place<Real>) {
    INFO(spec.block, " ", spec.horizon, " ", ranks.count(), " ", ranks.tuning.schedule);
    if (columns == 0) columns = spec.rhs;
    const Problem<Real> problem(spec, columns, 11);
    std::vector<std::vector<Real>> solutions(5, std::vector<Real>(problem.input.b.size()));
    std::vector<double> determinants, quadratics;
    std::mutex mutex;
    on_ranks(static_cast<int>(ranks.count()), [&](const std::shared_ptr<Transport>& transport) {
        auto solver = ranks.solver(spec, transport);
        const auto& rank = solver.plan().spec();
        Shard<Real> shard(rank, problem);
        std::size_t which = 0;
        const auto keep = [&] {
            const std::scoped_lock lock(mutex);
            shard.put_x(solutions[which++]);
            std::ranges::fill(shard.x, Real(0));
        };
        RankOptions options;
        options.columns = columns;
        solver.factor_solve(shard.d, shard.e, shard.b, shard.x, options);
        keep();
        solver.factor(shard.d, shard.e);
        solver.solve(shard.b, shard.x, options);
        keep();
        solver.factor_forward(shard.d, shard.e, shard.b, shard.x, options);
        solver.backward(shard.x, shard.x, options);
        keep();
        solver.forward(shard.b, shard.x, options);
        solver.backward(shard.x, shard.x, options);
        keep();
        shard.x = shard.b;
        in_place(solver, shard.x, options);
        keep();
        solver.check();
        const auto logs = solver.log_determinant();
        const auto squares = columns <= spec.rhs ? solver.quadratic() : std::vector<double>{};
        if (rank.rank != rank.ranks() - 1) return;
        determinants = logs;
        quadratics = squares;
    });
    for (std::size_t k = 0; k < 5; ++k) {
        CAPTURE(k);
        auto solved = problem;
        solved.x = solutions[k];
        CHECK(solved.residual() < tolerance);
        if (k == 4 || ranks.device.backend() != Backend::cpu) CHECK(solutions[k] == solutions[1]);
    }
    REQUIRE(determinants.size() == static_cast<std::size_t>(spec.batch));
    for (std::size_t m = 0; m < determinants.size(); ++m) {
        const Matrix dense = problem.systems[m].dense();
        CHECK(determinants[m] == doctest::Approx(2 * dense.llt().matrixLLT().diagonal().array().log().sum()).epsilon(tolerance));
        const Matrix& b = problem.systems[m].b;
        const Matrix squares = b.transpose() * dense.llt().solve(b);
        for (std::int64_t c = 0; c < columns && !quadratics.empty(); ++c)
            CHECK(quadratics[m * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c)] ==
                  doctest::Approx(squares(c, c)).epsilon(100 * tolerance));
    }
    return solutions[0];
}

/// The inverse's blocks on all ranks, against Eigen.
template <class Real>
void check_inverse(Spec spec, const Ranks& ranks, double tolerance) {
    INFO(spec.block, " ", spec.horizon, " ", ranks.count(), " ", ranks.tuning.schedule);
    spec.operations = {Operation::factor, Operation::inverse};
    const Problem<Real> problem(spec, 1, 11);
    std::mutex mutex;
    on_ranks(static_cast<int>(ranks.count()), [&](const std::shared_ptr<Transport>& transport) {
        auto solver = ranks.solver(spec, transport);
        const Shard<Real> shard(solver.plan().spec(), problem);
        solver.factor(shard.d, shard.e);
        auto diagonal = shard.d, coupling = shard.e;
        solver.selected_inverse(diagonal, coupling);
        solver.check();
        const std::scoped_lock lock(mutex);
        const auto n = shard.n;
        for (std::int64_t m = 0; m < spec.batch; ++m) {
            const Matrix inverse = problem.systems[static_cast<std::size_t>(m)].dense().inverse();
            for (std::int64_t k = 0; k < shard.count; ++k) {
                const auto i = (shard.first + k) * n;
                const auto error = [&](const std::vector<Real>& values, std::int64_t index, const Matrix& expected) {
                    using Block = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
                    return (Block(values.data() + index * n * n, n, n).template cast<double>() - expected).norm();
                };
                CHECK(error(diagonal, m * shard.count + k, inverse.block(i, i, n, n)) < tolerance);
                if (k < shard.couplings) CHECK(error(coupling, m * shard.couplings + k, inverse.block(i + n, i, n, n)) < tolerance);
            }
        }
    });
}

/// A block of the middle one of three members fails: it is named by all ranks, and that member alone is NaN.
inline void check_failure(Spec spec, const Ranks& ranks, std::int64_t block) {
    INFO(ranks.count(), " ", block);
    spec.batch = 3;
    Problem<double> problem(spec, 1, 7);
    problem.input.d[static_cast<std::size_t>((spec.horizon + block) * 36 + 2 * 7)] = -1;
    on_ranks(static_cast<int>(ranks.count()), [&](const std::shared_ptr<Transport>& transport) {
        auto solver = ranks.solver(spec, transport);
        Shard<double> shard(solver.plan().spec(), problem);
        solver.factor_solve(shard.d, shard.e, shard.b, shard.x);
        const auto& status = solver.status();
        CHECK((status[0].ok() && status[2].ok() && status[1].block == block && status[1].row == 2));
        CHECK_THROWS_AS(solver.check(), NotPositiveDefinite);
        const auto each = shard.x.size() / 3;
        for (std::size_t k = 0; k < shard.x.size(); ++k) CHECK(std::isnan(shard.x[k]) == (k / each == 1));
    });
}

/// A diagonal, shifts and a mask, against a dense matrix that has them.
inline void check_fused(Spec spec, const Ranks& ranks) {
    spec.batch = 3;
    const Problem<double> problem(spec, 1, 5);
    const auto rows = static_cast<std::size_t>(spec.horizon * 6);
    std::vector<double> diagonal(3 * rows), shift{0.5, 1, 2}, x(problem.input.b.size());
    for (std::size_t k = 0; k < diagonal.size(); ++k) diagonal[k] = static_cast<double>(k % 7);
    const std::vector<int> active{1, 0, 1};
    std::mutex mutex;
    on_ranks(static_cast<int>(ranks.count()), [&](const std::shared_ptr<Transport>& transport) {
        auto on_rank = ranks.solver(spec, transport);
        Shard<double> shard(on_rank.plan().spec(), problem);
        std::ranges::fill(shard.x, 4);
        const auto mine = part(diagonal, 3, spec.horizon, 6, shard.first, shard.count);
        on_rank.factor_solve(shard.d, shard.e, shard.b, shard.x, RankOptions{.diagonal = mine, .shift = shift, .active = active.data()});
        CHECK(on_rank.status()[1].floors == -1);
        const std::scoped_lock lock(mutex);
        shard.put_x(x);
    });
    CHECK((gather(spec, x, 1, 1).array() == 4).all());  // the masked member's
    for (const std::size_t m : {0U, 2U}) {
        auto a = problem.systems[m].dense();
        for (std::size_t k = 0; k < rows; ++k) a.diagonal()[static_cast<Eigen::Index>(k)] += diagonal[m * rows + k] + shift[m];
        CHECK(relative_residual(a, gather(spec, x, static_cast<std::int64_t>(m), 1), problem.systems[m].b) < 1e-14);
    }
}

}  // namespace trifold::test
