// Kernels by the system's C compiler, which is another one than Clang in process: all operations against Eigen.
#include "runtime/compile/compiler.hpp"

#include <Eigen/LU>
#include <type_traits>

#include "tests/runtime/cache/unit.hpp"
#include "tests/runtime/sparse/shared.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
void check_kind(const BlockMatrix& a, SparseSpec spec, const std::string& compiler) {
    spec.block = a.block;
    INFO(spec.block, " ", to_string(spec.precision), " ", to_string(spec.method));
    std::vector<std::int32_t> parts;
    for (std::int64_t row = 0; row < a.rows(); ++row) parts.push_back(static_cast<std::int32_t>(row / 17));
    const SparsePlan plan(spec, a.pattern(), Device::cpu(), {.by = SparsePartitioning::given, .parts = parts});
    REQUIRE(plan.report().compiler == compiler);
    SparseSolver solver(plan);
    const std::vector<Real> values(a.values.begin(), a.values.end());
    const auto random = random_vector(a.size(), 5);
    const std::vector<Real> b(random.begin(), random.end());
    const std::vector<double> wide(b.begin(), b.end());
    solver.update(values);
    REQUIRE(solver.values().front().ok());
    const Eigen::MatrixXd m = DenseIldu(a, parts).matrix();
    const SparseRows matrix = a.eigen();
    const auto check = [&](SparseOperation operation, const Eigen::VectorXd& expected, double bound) {
        CAPTURE(to_string(operation));
        std::vector<Real> x(b.size());
        solver.run(operation, {b, x}, {}, {.rtol = std::is_same_v<Real, float> ? 1e-5 : 1e-10});
        const std::vector<double> found(x.begin(), x.end());
        CHECK((as_vector(found) - expected).norm() <= bound * expected.norm());
    };
    const double single = 1e-5, exact = std::is_same_v<Real, float> ? 1e-6 : 1e-14;
    const double factors = spec.precision == Precision::f64 ? 1e-12 : single;
    check(SparseOperation::apply, m.partialPivLu().solve(as_vector(wide)), factors);
    check(SparseOperation::apply_transposed, m.transpose().partialPivLu().solve(as_vector(wide)), factors);
    check(SparseOperation::multiply, matrix * as_vector(wide), exact);
    check(SparseOperation::multiply_transposed, matrix.transpose() * as_vector(wide), exact);
    const Eigen::MatrixXd dense(matrix);
    check(SparseOperation::solve, dense.partialPivLu().solve(as_vector(wide)), std::is_same_v<Real, float> ? 1e-4 : 1e-9);
    solver.check();
    check(SparseOperation::solve_transposed, dense.transpose().partialPivLu().solve(as_vector(wide)),
          std::is_same_v<Real, float> ? 1e-4 : 1e-9);
    solver.check();
}

template <class Real>
void check_ranks(SparseSpec spec, const BlockMatrix& a, const SparsePartition& partition, const SparseOptions& options = {}) {
    INFO(to_string(spec.method), " ", to_string(spec.preconditioner), " ", spec.block);
    spec.operations = {SparseOperation::solve};
    spec.precision = AnyArray::precision_of<Real>;
    check_shared<Real>(a, options, [&](const std::shared_ptr<Transport>& transport) {
        return transport ? SparsePlan(spec, a.pattern(), transport, partition) : SparsePlan(spec, a.pattern(), Device::cpu(), partition);
    });
}

}  // namespace

TEST_CASE("sparse: kernels by the system's C compiler, for all blocks and precisions") {
    ToolReport report;
    const auto cc = find_cc(report);
    if (!cc) {
        MESSAGE("skipped: no C compiler; " << report.advice);
        return;
    }
    const WithEnvironment by_cc{{"TRIFOLD_DISABLE", "cache"}, {"TRIFOLD_CC", report.path.c_str()}};
    for (std::int64_t block = 1; block <= 8; ++block) {
        const auto a = scattered(41, 4, block, static_cast<unsigned>(block)), symmetric = scattered(41, 4, block, 3, true);
        check_kind<double>(a, {}, cc->identity());
        check_kind<float>(a, {.precision = Precision::f32, .method = SparseMethod::gmres}, cc->identity());
        check_kind<double>(symmetric, {.precision = Precision::mixed, .method = SparseMethod::cg}, cc->identity());
    }
}

TEST_CASE("sparse: ranks share an iteration, with its bits") {
    for (const std::int64_t block : {1, 3}) {
        const SparseMesh mesh{40, 36, 9, 7};
        const auto general = random_on(SparsePattern(mesh), block, 3, 1.02),
                   symmetric = random_on(SparsePattern(mesh), block, 3, 1.02, true);
        for (const auto preconditioner : {SparsePreconditioner::ildu0, SparsePreconditioner::jacobi, SparsePreconditioner::none}) {
            check_ranks<double>({.block = block, .preconditioner = preconditioner}, general, {.rows = 700});
            check_ranks<double>({.block = block, .preconditioner = preconditioner, .method = SparseMethod::cg}, symmetric, {.rows = 700});
        }
        check_ranks<float>({.block = block, .rhs = 2}, general, {.rows = 90});
        check_ranks<float>({.block = block, .method = SparseMethod::cg, .rhs = 2}, symmetric, {.rows = 90}, {.guess = true});
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
            CHECK_REFUSED(words, SparsePlan(spec, a.pattern(), transport, partition));
        });
    };
    const SparseOperations solve{SparseOperation::solve};
    refused({.operations = solve}, {.by = SparsePartitioning::whole},
            "2 ranks need a subdomain each, and the partition has 1; give subdomains of about 50 rows");
    refused({.batch = 2, .operations = solve}, {.rows = 20}, "the batch is 2");
    refused({.method = SparseMethod::gmres, .operations = solve}, {.rows = 20}, "bicgstab and cg");
    refused({}, {.rows = 20}, "leave solve alone");
    on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
        const SparsePartition partition{.rows = transport->rank() == 1 ? 10 : 20};
        CHECK_THROWS_WITH_AS(SparsePlan({.operations = solve}, a.pattern(), transport, partition), doctest::Contains("rank 1 has"),
                             RankError);
    });
    CHECK_REFUSED("no transport", SparsePlan({.operations = solve}, a.pattern(), std::shared_ptr<Transport>()));
}
