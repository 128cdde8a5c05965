// Kernels by the system's C compiler, which is another one than Clang in process: all operations against Eigen.
#include "runtime/compile/compiler.hpp"

#include <doctest/doctest.h>

#include <Eigen/LU>
#include <trifold/trifold.hpp>
#include <type_traits>

#include "tests/runtime/cache/unit.hpp"
#include "tests/runtime/sparse/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
void check_kind(const BlockMatrix& a, SparseSpec spec, const std::string& compiler) {
    spec.block = a.block;
    CAPTURE(spec.block);
    CAPTURE(to_string(spec.precision));
    CAPTURE(to_string(spec.method));
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
        solver.run(operation, {b, x}, {}, {.relative = std::is_same_v<Real, float> ? 1e-5 : 1e-10});
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
