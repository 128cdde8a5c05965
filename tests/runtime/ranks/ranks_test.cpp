#include <doctest/doctest.h>

#include "tests/runtime/ranks/fixture.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

double log_determinant_of(const Matrix& a) {
    const Eigen::LLT<Matrix> factor(a);
    return 2 * factor.matrixL().toDenseMatrix().diagonal().array().log().sum();
}

Spec spec_of(std::int64_t block, std::int64_t horizon, Precision precision = Precision::f64, std::int64_t rhs = 1, std::int64_t batch = 1) {
    Spec spec;
    spec.block = block;
    spec.horizon = horizon;
    spec.precision = precision;
    spec.rhs = rhs;
    spec.batch = batch;
    return spec;
}

/// All operations on all ranks, against Eigen. Returns X of the first one.
template <class Real>
std::vector<Real> check_operations(const Spec& spec, int ranks, double tolerance, const Tuning& given = {},
                                   const std::vector<std::int64_t>& shards = {}, std::int64_t columns = 0) {
    CAPTURE(spec.block);
    CAPTURE(spec.horizon);
    CAPTURE(ranks);
    CAPTURE(given.schedule);
    if (columns == 0) columns = spec.rhs;
    const Problem<Real> problem(spec, columns, 11);
    std::vector<std::vector<Real>> solutions(7, std::vector<Real>(problem.input.b.size()));
    std::vector<double> determinants, quadratics;
    std::mutex mutex;
    on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
        RankSolver solver(RankPlan(spec, transport, Device::cpu(), given, shards));
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
        solver.solve(shard.x.data(), shard.x.data(), options);
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
        if (k == 4) CHECK(solutions[k] == solutions[1]);
    }
    REQUIRE(determinants.size() == static_cast<std::size_t>(spec.batch));
    for (std::size_t m = 0; m < determinants.size(); ++m) {
        const Matrix dense = problem.systems[m].dense();
        CHECK(determinants[m] == doctest::Approx(log_determinant_of(dense)).epsilon(tolerance));
        const Matrix& b = problem.systems[m].b;
        const Matrix squares = b.transpose() * dense.llt().solve(b);
        for (std::int64_t c = 0; c < columns && !quadratics.empty(); ++c)
            CHECK(quadratics[m * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c)] ==
                  doctest::Approx(squares(c, c)).epsilon(100 * tolerance));
    }
    return solutions[0];
}

template <class Real>
Matrix block_at(const std::vector<Real>& values, std::int64_t index, std::int64_t n) {
    Matrix found(n, n);
    for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t c = 0; c < n; ++c) found(r, c) = static_cast<double>(values[static_cast<std::size_t>((index * n + r) * n + c)]);
    return found;
}

template <class Real>
void check_inverse(Spec spec, int ranks, double tolerance, const std::vector<std::int64_t>& shards = {}) {
    CAPTURE(ranks);
    CAPTURE(spec.horizon);
    spec.operations = {Operation::factor, Operation::inverse};
    const Problem<Real> problem(spec, 1, 11);
    std::mutex mutex;
    on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
        RankSolver solver(RankPlan(spec, transport, Device::cpu(), {}, shards));
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
                CHECK((block_at(diagonal, m * shard.count + k, n) - inverse.block(i, i, n, n)).norm() < tolerance);
                if (k < shard.couplings)
                    CHECK((block_at(coupling, m * shard.couplings + k, n) - inverse.block(i + n, i, n, n)).norm() < tolerance);
            }
        }
    });
}

/// A chain that is solved badly by f32 alone, or with pivots that a shift has made wrong, and refined to the rounding of f64.
template <class Inner>
void check_refinement(int ranks, std::int64_t columns) {
    CAPTURE(ranks);
    const auto spec = spec_of(5, 17, Precision::f64, columns, 3);
    const Problem<double> problem(spec, columns, 11);
    auto factored = spec;
    factored.precision = AnyArray::precision_of<Inner>;
    std::vector<double> x(problem.input.b.size()), errors;
    std::mutex mutex;
    on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
        RankSolver solver(RankPlan(factored, transport));
        Shard<double> shard(solver.plan().spec(), problem);
        const auto narrow = [](const std::vector<double>& values) { return std::vector<Inner>(values.begin(), values.end()); };
        auto inner = narrow(shard.b);
        solver.factor_solve(narrow(shard.d), narrow(shard.e), narrow(shard.b), inner);
        shard.x.assign(inner.begin(), inner.end());
        shard.x[0] += transport->rank() == ranks - 1 ? 1e-3 : 0;  // a member's error on one rank alone is seen on all
        const std::vector<int> active{1, 1, 0};
        auto results = solver.refine(shard.d, shard.e, shard.b, shard.x, RankOptions{.active = active.data()});
        CHECK(results[0].converged);
        CHECK(results[0].iterations > 0);
        CHECK(results[1].converged);
        CHECK(results[2].iterations == -1);
        results = solver.refine(shard.d, shard.e, shard.b, shard.x);
        const std::scoped_lock lock(mutex);
        shard.put_x(x);
        for (const auto& result : results) errors.push_back(result.backward_error);
    });
    for (const double error : errors) CHECK(error < 1.5e-15);
    for (std::size_t k = 0; k < errors.size(); ++k) CHECK(errors[k] == errors[k % 3]);
    auto solved = problem;
    solved.x = x;
    CHECK(solved.residual() < 1e-15);
}

template <class Real>
std::vector<Real> on_one_device(const Spec& spec, const std::string& schedule, const std::string& variant) {
    const Problem<Real> problem(spec, spec.rhs, 11);
    Tuning given = tuning(schedule);
    given.variant = variant;
    given.any_size = true;
    Solver solver(Plan(spec, Device::cpu(), given));
    auto x = problem.x;
    solver.factor_solve(problem.input.d, problem.input.e, problem.input.b, x);
    return x;
}

}  // namespace

TEST_CASE("ranks: all operations with few and many blocks on 1 to 7 ranks") {
    for (const int ranks : {1, 2, 3, 4, 7})
        for (const std::int64_t horizon : {std::int64_t{ranks}, std::int64_t{ranks} + 1, std::int64_t{13}, std::int64_t{37}})
            check_operations<double>(spec_of(6, horizon), ranks, 1e-13);
}

TEST_CASE("ranks: single precision, batches, right-hand sides and blocks of odd sizes") {
    for (const int ranks : {2, 3, 4, 7}) {
        check_operations<float>(spec_of(5, 19, Precision::f32, 3), ranks, 1e-5);
        check_operations<float>(spec_of(4, 16, Precision::f32, 1, 33), ranks, 1e-5);
        check_operations<double>(spec_of(7, 17, Precision::f64, 2, 5), ranks, 1e-13);
        check_operations<double>(spec_of(8, 9, Precision::f64, 4), ranks, 1e-13, {}, {}, 11);
    }
}

TEST_CASE("ranks: shards of different sizes") {
    check_operations<double>(spec_of(6, 20), 3, 1e-13, {}, {1, 18, 1});
    check_operations<double>(spec_of(6, 20), 4, 1e-13, {}, {9, 1, 1, 9});
    check_operations<double>(spec_of(6, 20), 4, 1e-13, {}, {1, 5, 13, 1});
    check_operations<double>(spec_of(6, 20), 7, 1e-13, {}, {2, 1, 3, 1, 5, 1, 7});
}

TEST_CASE("ranks: levels within a rank's own blocks") {
    for (const int ranks : {1, 2, 3, 4})
        for (const auto* schedule : {"multi-stage", "segments:3", "segments:1,3"})
            for (const std::int64_t horizon : {24, 31, 64}) check_operations<double>(spec_of(4, horizon), ranks, 1e-13, tuning(schedule));
}

TEST_CASE("ranks: the bits of one device with the same schedule") {
    for (const auto* variant : {"tile", "lanes"}) {
        auto given = tuning("auto");
        given.variant = variant;
        const auto batch = std::string_view(variant) == "lanes" ? 9 : 2;
        const auto two = spec_of(6, 21, Precision::f64, 2, batch);
        CHECK(check_operations<double>(two, 2, 1e-13, given, {10, 11}) == on_one_device<double>(two, "twisted:2", variant));
        // Inner ranks of two blocks make the levels of a flanked schedule.
        const auto three = spec_of(6, 14, Precision::f64, 2, batch);
        CHECK(check_operations<double>(three, 4, 1e-13, given, {5, 2, 2, 5}) == on_one_device<double>(three, "flanked:5", variant));
        const auto many = spec_of(6, 21, Precision::f32, 1, batch);
        CHECK(check_operations<float>(many, 7, 1e-5, given, {5, 2, 2, 2, 2, 2, 6}) == on_one_device<float>(many, "flanked:5", variant));
    }
}

TEST_CASE("ranks: refinement, and mixed precision by it") {
    for (const int ranks : {1, 2, 3, 4, 7})
        for (const std::int64_t columns : {1, 3}) {
            check_refinement<float>(ranks, columns);
            check_refinement<double>(ranks, columns);
        }
}

TEST_CASE("ranks: refinement of a wrong matrix is given up") {
    const auto spec = spec_of(4, 9);
    const Problem<double> problem(spec, 1, 3);
    on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
        RankSolver solver(RankPlan(spec, transport));
        Shard<double> shard(solver.plan().spec(), problem);
        auto other = shard.d;
        for (auto& value : other) value *= 8;
        CHECK_THROWS_WITH_AS(solver.refine(shard.d, shard.e, shard.b, shard.x), doctest::Contains("needs a factorization"), SpecError);
        solver.factor(other, shard.e);
        CHECK_FALSE(solver.refine(shard.d, shard.e, shard.b, shard.x)[0].converged);
        std::vector<float> narrow(shard.b.begin(), shard.b.end());
        CHECK_THROWS_WITH_AS(solver.refine(shard.d, shard.e, shard.b, narrow), doctest::Contains("in one precision"), SpecError);
    });
}

TEST_CASE("ranks: the selected inverse") {
    for (const int ranks : {1, 2, 3, 4, 7}) {
        check_inverse<double>(spec_of(6, 23), ranks, 1e-13);
        check_inverse<double>(spec_of(5, 14, Precision::f64, 1, 3), ranks, 1e-13);
        check_inverse<float>(spec_of(4, 14, Precision::f32, 1, 20), ranks, 1e-5);
    }
    check_inverse<double>(spec_of(6, 20), 4, 1e-13, {1, 16, 2, 1});
    check_inverse<double>(spec_of(6, 7), 7, 1e-13);
    check_inverse<double>(spec_of(4, 7, Precision::f64, 1, 9), 7, 1e-13);
}
