// Sparse systems on a real GPU through the public interface, against A itself in double, and against the processor's answers.
#include <trifold/trifold.hpp>

#include "tests/device/device.hpp"
#include "tests/runtime/sparse/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

double distance(const std::vector<double>& a, const std::vector<double>& b) {
    return (as_vector(a) - as_vector(b)).norm() / (as_vector(a).norm() + as_vector(b).norm());
}

/// All operations, against those of the processor with the same subdomains.
void check_sparse(const Device& device, const BlockMatrix& a, SparseSpec spec, const SparsePartition& partition, double bound = 1e-12) {
    const auto label = fmt::format("{} rows of {} {} {} {}", a.rows(), a.block, to_string(spec.precision), to_string(spec.preconditioner),
                                   to_string(spec.method));
    CAPTURE(label);
    spec.block = a.block;
    SparseSolver gpu{SparsePlan{spec, a.pattern(), device, partition}}, processor{SparsePlan{spec, a.pattern(), Device::cpu(), partition}};
    gpu.update(a.values);
    processor.update(a.values);
    CHECK(gpu.values() == processor.values());
    const auto b = random_vector(a.size(), 3);
    std::vector<double> x(b.size()), y(b.size()), again(b.size());
    for (const auto operation :
         {SparseOperation::apply, SparseOperation::apply_transposed, SparseOperation::multiply, SparseOperation::multiply_transposed}) {
        CAPTURE(to_string(operation));
        gpu.run(operation, {b, x}, {}, {});
        processor.run(operation, {b, y}, {}, {});
        CHECK(distance(x, y) <= bound);
    }
    const SparseOptions options{.rtol = 1e-9};
    gpu.solve(b, x, options);
    gpu.check();
    CHECK((as_vector(b) - a.eigen() * as_vector(x)).norm() <= 1.01e-9 * as_vector(b).norm());
    const auto outcome = gpu.outcomes();
    CHECK(gpu.history().size() == static_cast<std::size_t>(outcome.front().iterations) + 1);
    for (int turn = 0; turn < 3; ++turn) {
        gpu.solve(b, again, options);
        CHECK(again == x);
        CHECK(gpu.outcomes() == outcome);
    }
    gpu.solve_transposed(b, y, options);
    gpu.check();
    CHECK((as_vector(b) - a.eigen().transpose() * as_vector(y)).norm() <= 1.01e-9 * as_vector(b).norm());
    std::vector<double> by_values(a.values.size()), expected(a.values.size());
    gpu.gradient(x, y, by_values);
    processor.gradient(x, y, expected);
    CHECK(distance(by_values, expected) <= 1e-14);
}

}  // namespace

TEST_CASE("sparse systems on a GPU: blocks of 1 to 8, patterns with triangles") {
    const auto gpu = device();
    if (!gpu) return;
    for (std::int64_t block = 1; block <= 8; ++block) check_sparse(*gpu, scattered(3000, 4, block, 5), {}, {.rows = 500});
}

TEST_CASE("sparse systems on a GPU: meshes, preconditioners and methods") {
    const auto gpu = device();
    if (!gpu) return;
    for (const auto& mesh : {SparseMesh{7, 1, 13, 7}, SparseMesh{31, 37, 5, 7}, SparseMesh{20, 20, 20, 27}, SparseMesh{101, 103, 1, 9}}) {
        const auto a = random_on(SparsePattern(mesh), 3, 1);
        for (const auto preconditioner : {SparsePreconditioner::ildu0, SparsePreconditioner::ildu1, SparsePreconditioner::dilu,
                                          SparsePreconditioner::jacobi, SparsePreconditioner::none})
            check_sparse(*gpu, a, {.preconditioner = preconditioner}, {.rows = 700});
        check_sparse(*gpu, a, {.method = SparseMethod::gmres, .restart = 7}, {.rows = 700});
        check_sparse(*gpu, a, {.precision = Precision::mixed}, {.rows = 700}, 1e-6);
        check_sparse(*gpu, random_on(SparsePattern(mesh), 2, 2, 1.2, true), {.method = SparseMethod::cg}, {.rows = 700});
    }
    check_sparse(*gpu, random_on(SparsePattern(SparseMesh{9, 9, 9, 7}), 3, 1), {}, {.rows = 1});
}

TEST_CASE("sparse systems on a GPU: batches, right-hand sides, and ends other than convergence") {
    const auto gpu = device();
    if (!gpu) return;
    const auto a = random_on(SparsePattern(SparseMesh{17, 19, 23, 7}), 2, 4);
    auto values = a.values;
    for (const auto value : a.values) values.push_back(1.25 * value);
    SparseSolver solver{SparsePlan{{.block = 2, .rhs = 3, .batch = 2}, a.pattern(), *gpu, {.rows = 400}}};
    solver.update(values);
    const auto b = random_vector(2 * a.size() * 5, 6);
    std::vector<double> x(b.size());
    solver.solve(b, x, {.columns = 5, .rtol = 1e-10});
    solver.check();
    const auto matrix = a.eigen();
    for (std::int64_t member = 0; member < 2; ++member)
        for (std::int64_t column = 0; column < 5; ++column) {
            Eigen::VectorXd one(a.size()), right(a.size());
            for (std::int64_t k = 0; k < a.size(); ++k) {
                one[k] = x[static_cast<std::size_t>((member * a.size() + k) * 5 + column)];
                right[k] = b[static_cast<std::size_t>((member * a.size() + k) * 5 + column)];
            }
            CHECK((right - (member == 0 ? 1 : 1.25) * (matrix * one)).norm() <= 1.01e-10 * right.norm());
        }
    solver.solve(b, x, {.columns = 5, .rtol = 1e-10, .maxiter = 2});
    CHECK(solver.outcomes().front().end == SparseEnd::limit);
    values[4] = std::nan("");
    solver.update(values);
    CHECK(solver.values().front().not_finite == 1);
    CHECK_THROWS_AS(solver.check(), SparseFailed);
}
