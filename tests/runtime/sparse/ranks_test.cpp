// Iterations that ranks share: the same iterations and bits, whatever their number.
#include <doctest/doctest.h>

#include <array>
#include <trifold/trifold.hpp>

#include "tests/runtime/ranks/on_ranks.hpp"
#include "tests/runtime/sparse/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// Results that a solver has computed.
template <class Real>
struct Result {
    std::vector<Real> x;
    std::vector<SparseOutcome> outcomes;
    std::vector<double> history;
    std::vector<SparseValues> values;
    bool operator==(const Result&) const = default;
};

template <class Real>
Result<Real> solve(SparseSolver solver, const BlockMatrix& a, const SparseOptions& options) {
    const auto narrow = [](const std::vector<double>& all) { return std::vector<Real>(all.begin(), all.end()); };
    const auto columns = solver.plan().spec().rhs;
    Result<Real> result{narrow(random_vector(a.size() * columns, 5)), {}, {}, {}};
    solver.update(narrow(a.values));
    solver.solve(narrow(random_vector(a.size() * columns, 2)), result.x, options);
    result.outcomes = solver.outcomes();
    result.history = solver.history(0, columns - 1);
    result.values = solver.values();
    return result;
}

template <class Real>
void check_ranks(SparseSpec spec, const BlockMatrix& a, const SparsePartition& partition, SparseOptions options = {}) {
    CAPTURE(to_string(spec.method));
    CAPTURE(to_string(spec.preconditioner));
    CAPTURE(spec.block);
    spec.operations = {SparseOperation::solve};
    spec.precision = AnyArray::precision_of<Real>;
    options.relative = spec.precision == Precision::f32 ? 1e-4 : 1e-10;
    const auto one = solve<Real>(SparseSolver(SparsePlan(spec, a.pattern(), Device::cpu(), partition)), a, options);
    REQUIRE(one.outcomes.front().ok());
    REQUIRE(one.outcomes.front().iterations > 3);
    for (const int ranks : {1, 2, 3, 4}) {
        CAPTURE(ranks);
        std::array<Result<Real>, 4> all;
        on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
            SparseSolver solver(SparsePlan(spec, a.pattern(), transport, partition));
            all.at(static_cast<std::size_t>(transport->rank())) = solve<Real>(std::move(solver), a, options);
        });
        for (int rank = 0; rank < ranks; ++rank) CHECK(all.at(static_cast<std::size_t>(rank)) == one);
    }
}

}  // namespace

TEST_CASE("sparse: ranks share an iteration, with its bits") {
    for (const std::int64_t block : {1, 3}) {
        const SparseMesh mesh{40, 36, 9, 7};
        const auto general = random_on(SparsePattern(mesh), block, 3, 1.02),
                   symmetric = random_on(SparsePattern(mesh), block, 3, 1.02, true);
        for (const auto preconditioner : {SparsePreconditioner::ildu0, SparsePreconditioner::jacobi, SparsePreconditioner::none}) {
            check_ranks<double>({.block = block, .preconditioner = preconditioner}, general, {.rows = 700});
            check_ranks<double>({.block = block, .preconditioner = preconditioner, .method = SparseMethod::cg}, symmetric, {.rows = 700});
        }
        check_ranks<float>({.block = block, .rhs = 2}, general, {.rows = 900});
        check_ranks<float>({.block = block, .method = SparseMethod::cg, .rhs = 2}, symmetric, {.rows = 900}, {.guess = true});
        check_ranks<double>({.block = block}, general, {.by = SparsePartitioning::greedy, .rows = 333}, {.renew = 2, .guess = true});
    }
}

TEST_CASE("sparse: ranks find the same bad values") {
    auto a = random_on(SparsePattern(SparseMesh{30, 30, 5, 7}), 2, 3);
    const auto singular = a.starts[3000] * 4;
    for (auto k = a.starts[3000]; k < a.starts[3001]; ++k)
        if (a.columns[static_cast<std::size_t>(k)] == 3000)
            for (int i = 0; i < 4; ++i) a.values[static_cast<std::size_t>(k * 4 + i)] = 0;
    a.values[static_cast<std::size_t>(singular)] = 0;
    const SparseSpec spec{.block = 2, .preconditioner = SparsePreconditioner::jacobi, .operations = {SparseOperation::solve}};
    on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
        SparseSolver solver(SparsePlan(spec, a.pattern(), transport, {.rows = 300}));
        solver.update(a.values);
        CHECK(solver.values().front().zero_pivots == 1);
        CHECK(solver.values().front().zero_row == 3000);
        CHECK_THROWS_AS(solver.check(), SparseFailed);
    });
}

TEST_CASE("sparse: ranks refuse what they have not got, on all of them") {
    const auto a = random_on(SparsePattern(SparseMesh{10, 10, 1, 5}), 1, 3);
    const auto refused = [&](const SparseSpec& spec, const SparsePartition& partition, const char* words) {
        on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
            CHECK_THROWS_WITH_AS(SparsePlan(spec, a.pattern(), transport, partition), doctest::Contains(words), SpecError);
        });
    };
    const SparseOperations solve{SparseOperation::solve};
    refused({.operations = solve}, {.by = SparsePartitioning::whole}, "too few for 2 ranks");
    refused({.batch = 2, .operations = solve}, {.rows = 20}, "the batch is 2");
    refused({.method = SparseMethod::gmres, .operations = solve}, {.rows = 20}, "bicgstab and cg");
    refused({}, {.rows = 20}, "leave solve alone");
    on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
        const SparsePartition partition{.rows = transport->rank() == 1 ? 10 : 20};
        CHECK_THROWS_WITH_AS(SparsePlan({.operations = solve}, a.pattern(), transport, partition), doctest::Contains("rank 1 has"),
                             RankError);
    });
    CHECK_THROWS_WITH_AS(SparsePlan({.operations = solve}, a.pattern(), std::shared_ptr<Transport>()), doctest::Contains("no transport"),
                         SpecError);
}
