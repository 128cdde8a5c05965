#pragma once
#include <trifold/trifold.hpp>

#include "tests/runtime/ranks/on_ranks.hpp"
#include "tests/runtime/sparse/problems.hpp"
#include "tests/support/test.hpp"

/// Iterations that ranks share.
namespace trifold::test {

/// A solver on the processor that has a matrix's values.
inline SparseSolver updated(const SparseSpec& spec, const BlockMatrix& a, const SparsePartition& partition = {},
                            const SparseTuning& tuning = {}) {
    SparseSolver solver(SparsePlan(spec, a.pattern(), Device::cpu(), partition, tuning));
    solver.update(a.values);
    return solver;
}

/// Results that a solver has computed.
template <class Real>
struct SharedResult {
    std::vector<Real> x;
    std::vector<SparseOutcome> outcomes;
    std::vector<double> history;
    std::vector<SparseValues> values;
    bool operator==(const SharedResult&) const = default;
};

template <class Real>
SharedResult<Real> solve_shared(SparseSolver solver, const BlockMatrix& a, const SparseOptions& options) {
    const auto narrow = [](const std::vector<double>& all) { return std::vector<Real>(all.begin(), all.end()); };
    const auto columns = solver.plan().spec().rhs;
    SharedResult<Real> result{narrow(random_vector(a.size() * columns, 5)), {}, {}, {}};
    solver.update(narrow(a.values));
    solver.solve(narrow(random_vector(a.size() * columns, 2)), result.x, options);
    result.outcomes = solver.outcomes();
    result.history = solver.history(0, columns - 1);
    result.values = solver.values();
    return result;
}

/// Checks that 1 to 4 ranks have the iterations and bits of one device. `plan_of` makes its plan of a null transport.
template <class Real, class PlanOf>
void check_shared(const BlockMatrix& a, SparseOptions options, const PlanOf& plan_of) {
    options.rtol = AnyArray::precision_of<Real> == Precision::f32 ? 1e-4 : 1e-10;
    const auto one = solve_shared<Real>(SparseSolver(plan_of(nullptr)), a, options);
    REQUIRE(one.outcomes.front().ok());
    REQUIRE(one.outcomes.front().iterations > 3);
    for (const int ranks : {1, 2, 3, 4}) {
        CAPTURE(ranks);
        std::array<SharedResult<Real>, 4> all;
        on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
            all.at(static_cast<std::size_t>(transport->rank())) = solve_shared<Real>(SparseSolver(plan_of(transport)), a, options);
        });
        for (int rank = 0; rank < ranks; ++rank) CHECK(all.at(static_cast<std::size_t>(rank)) == one);
    }
}

}  // namespace trifold::test
