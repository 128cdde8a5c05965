#include <doctest/doctest.h>

#include <trifold/trifold.hpp>

#include "tests/runtime/sparse/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

SparsePattern rows(std::vector<std::int64_t> starts, std::vector<std::int64_t> columns) { return {std::span(starts), std::span(columns)}; }

}  // namespace

TEST_CASE("sparse: a pattern says which row and column is wrong") {
    CHECK_THROWS_WITH_AS(rows({0, 2, 3}, {0, 1, 0}),
                         "row 1 has no entry at column 1; a factorization needs the diagonal, if only as a zero", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 1, 1}, {0}), "row 1 is empty; every row needs its diagonal, so the matrix is singular", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 2, 3}, {1, 0, 1}), "row 0 has the column 0 behind 1; sort the columns of each row", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 2, 3}, {0, 0, 1}), "row 0 has the column 0 twice; add up what stands there", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 2, 3}, {0, 5, 1}), "row 0 has the column 5, but there are 2 rows; the matrix must be square", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 1, 2}, {-1, 1}), "row 0 has the column -1; columns count from 0", SpecError);
    CHECK_THROWS_WITH_AS(rows({1, 2, 3}, {0, 1, 1}), "a pattern's starts begin with 1, not 0", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 1, 3}, {0, 1}), "a pattern's starts end with 3, but there are 2 columns", SpecError);
    CHECK_THROWS_WITH_AS(rows({0, 3, 2}, {0, 1}), "row 0 ends at 3, before it begins at 0", SpecError);
    CHECK_THROWS_AS(rows({0}, {}), SpecError);
    CHECK_THROWS_WITH_AS(SparsePattern(SparseMesh{4, 4, 2, 5}), "a mesh of depth 2 with 5 points a row; give 7, 19 or 27", SpecError);
    CHECK_THROWS_AS(SparsePattern(SparseMesh{4, 4, 4, 8}), SpecError);
    CHECK_THROWS_AS(SparsePattern(SparseMesh{0, 4, 4, 7}), SpecError);
    CHECK_THROWS_AS(SparsePattern(SparseMesh{1 << 20, 1 << 20, 1, 5}), SpecError);
}

TEST_CASE("sparse: a Spec, a partition and options that cannot be served") {
    const auto pattern = rows({0, 1, 2, 3}, {0, 1, 2});
    const auto plan = [&](const SparseSpec& spec, const SparsePartition& partition = {}) {
        return SparsePlan(spec, pattern, Device::cpu(), partition);
    };
    CHECK_THROWS_WITH_AS(plan({.block = 9}), "block = 9 is out of range; give 1 to 8", SpecError);
    CHECK_THROWS_WITH_AS(plan({.rhs = 9}), "rhs = 9 is out of range; give 1 to 8", SpecError);
    CHECK_THROWS_WITH_AS(plan({.restart = 33}), "restart = 33 is out of range; give 1 to 32", SpecError);
    CHECK_THROWS_AS(plan({.preconditioner = SparsePreconditioner::ic0}), SpecError);
    CHECK_THROWS_AS(plan({.operations = {}}), SpecError);
    CHECK_THROWS_WITH_AS(plan({}, {.by = SparsePartitioning::given, .parts = {0, 0}}), "the partition has 2 numbers; the matrix has 3 rows",
                         SpecError);
    CHECK_THROWS_WITH_AS(plan({}, {.by = SparsePartitioning::given, .parts = {0, 2, 2}}),
                         "subdomain 1 has no rows; number subdomains from 0 without gaps", SpecError);
    CHECK_THROWS_WITH_AS(plan({}, {.by = SparsePartitioning::given, .parts = {0, -1, 2}}), "row 1 is in subdomain -1; give 0 to 2",
                         SpecError);
    CHECK_THROWS_AS(plan({}, {.by = SparsePartitioning::box}), SpecError);
    CHECK_THROWS_AS(plan({}, {.rows = -1}), SpecError);
    SparseSolver solver(plan({.operations = {SparseOperation::apply}}));
    std::vector<double> three(3, 1.0), two(2, 1.0);
    CHECK_THROWS_WITH_AS(solver.apply(three, three), "apply for 1 sets of values, but 0 have been given; call update first", SpecError);
    CHECK_THROWS_AS(solver.values(), SpecError);
    CHECK_THROWS_WITH_AS(solver.update(two), "the values has 2 elements; 3 blocks with 1 each need 3", SpecError);
    CHECK_THROWS_WITH_AS(solver.update(std::vector<float>(3)), "the values is f32 and the SparsePlan is specialized for arrays in f64",
                         SpecError);
    solver.update(three);
    CHECK_THROWS_WITH_AS(solver.apply(three, two), "X has 2 elements; 3 blocks with 1 each need 3", SpecError);
    CHECK_THROWS_WITH_AS(solver.multiply(three, three), "this SparsePlan was made without multiply; add it to the SparseSpec's operations",
                         SpecError);
    CHECK_THROWS_AS(solver.apply(three, three, {.relative = -1}), SpecError);
    CHECK_THROWS_AS(solver.outcomes(), SpecError);
    CHECK_THROWS_AS(parse_sparse_preconditioner("ilut"), SpecError);
    CHECK_THROWS_AS(parse_sparse_method("minres"), SpecError);
    CHECK(parse_sparse_preconditioner("ildu1") == SparsePreconditioner::ildu1);
}

TEST_CASE("sparse: partitions cover all rows in subdomains of about the size that was asked for") {
    const SparsePattern mesh(SparseMesh{30, 30, 5, 7});
    const auto a = random_on(mesh, 1, 1);
    for (const auto by : {SparsePartitioning::automatic, SparsePartitioning::greedy, SparsePartitioning::metis, SparsePartitioning::box}) {
        CAPTURE(to_string(by));
        const auto& pattern = by == SparsePartitioning::box ? mesh : a.pattern();
        const auto summary = SparsePlan({}, pattern, Device::cpu(), {.by = by, .rows = 200}).summary();
        CAPTURE(summary.partition);
        CHECK(summary.tiles >= 23);
        CHECK(summary.tiles <= 46);
        CHECK(summary.largest_tile <= 210);
        CHECK(summary.dropped < summary.entries / 3);
    }
}
