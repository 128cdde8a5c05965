#include <doctest/doctest.h>

#include "tests/runtime/ranks/fixture.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

Spec spec_of(std::int64_t block, std::int64_t horizon, Precision precision = Precision::f64, std::int64_t rhs = 1, std::int64_t batch = 1) {
    return {.block = block, .horizon = horizon, .precision = precision, .rhs = rhs, .batch = batch};
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
            check_operations<double>(spec_of(6, horizon), {ranks}, 1e-13);
}

TEST_CASE("ranks: single precision, batches, right-hand sides and blocks of odd sizes") {
    for (const int ranks : {2, 3, 4, 7}) {
        check_operations<float>(spec_of(5, 19, Precision::f32, 3), {ranks}, 1e-5);
        check_operations<float>(spec_of(4, 16, Precision::f32, 1, 33), {ranks}, 1e-5);
        check_operations<double>(spec_of(7, 17, Precision::f64, 2, 5), {ranks}, 1e-13);
        check_operations<double>(spec_of(8, 9, Precision::f64, 4), {ranks}, 1e-13, 11);
    }
}

TEST_CASE("ranks: shards of different sizes") {
    check_operations<double>(spec_of(6, 20), {3, {1, 18, 1}}, 1e-13);
    check_operations<double>(spec_of(6, 20), {4, {9, 1, 1, 9}}, 1e-13);
    check_operations<double>(spec_of(6, 20), {4, {1, 5, 13, 1}}, 1e-13);
    check_operations<double>(spec_of(6, 20), {7, {2, 1, 3, 1, 5, 1, 7}}, 1e-13);
}

TEST_CASE("ranks: levels within a rank's own blocks") {
    for (const int ranks : {1, 2, 3, 4})
        for (const auto* schedule : {"multi-stage", "segments:3", "segments:1,3"})
            for (const std::int64_t horizon : {24, 31, 64})
                check_operations<double>(spec_of(4, horizon), {ranks, {}, tuning(schedule)}, 1e-13);
}

TEST_CASE("ranks: the bits of one device with the same schedule") {
    for (const auto* variant : {"tile", "lanes"}) {
        auto given = tuning("auto");
        given.variant = variant;
        const auto batch = std::string_view(variant) == "lanes" ? 9 : 2;
        const auto two = spec_of(6, 21, Precision::f64, 2, batch);
        CHECK(check_operations<double>(two, {2, {10, 11}, given}, 1e-13) == on_one_device<double>(two, "twisted:2", variant));
        // Inner ranks of two blocks make the levels of a flanked schedule.
        const auto three = spec_of(6, 14, Precision::f64, 2, batch);
        CHECK(check_operations<double>(three, {4, {5, 2, 2, 5}, given}, 1e-13) == on_one_device<double>(three, "flanked:5", variant));
        const auto many = spec_of(6, 21, Precision::f32, 1, batch);
        CHECK(check_operations<float>(many, {7, {5, 2, 2, 2, 2, 2, 6}, given}, 1e-5) == on_one_device<float>(many, "flanked:5", variant));
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
        CHECK_REFUSED("needs a factorization", solver.refine(shard.d, shard.e, shard.b, shard.x));
        solver.factor(other, shard.e);
        CHECK_FALSE(solver.refine(shard.d, shard.e, shard.b, shard.x)[0].converged);
        std::vector<float> narrow(shard.b.begin(), shard.b.end());
        CHECK_REFUSED("in one precision", solver.refine(shard.d, shard.e, shard.b, narrow));
    });
}

TEST_CASE("ranks: the selected inverse") {
    for (const int ranks : {1, 2, 3, 4, 7}) {
        check_inverse<double>(spec_of(6, 23), {ranks}, 1e-13);
        check_inverse<double>(spec_of(5, 14, Precision::f64, 1, 3), {ranks}, 1e-13);
        check_inverse<float>(spec_of(4, 14, Precision::f32, 1, 20), {ranks}, 1e-5);
    }
    check_inverse<double>(spec_of(6, 20), {4, {1, 16, 2, 1}}, 1e-13);
    check_inverse<double>(spec_of(6, 7), {7}, 1e-13);
    check_inverse<double>(spec_of(4, 7, Precision::f64, 1, 9), {7}, 1e-13);
}
