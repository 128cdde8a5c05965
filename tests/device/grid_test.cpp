// Images on a real GPU through the public interface, against A itself in double, and against the processor's answers.
#include <trifold/trifold.hpp>

#include "tests/device/device.hpp"
#include "tests/runtime/grid/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

double difference(double a, double b) { return std::abs(a - b) / (1 + std::abs(b)); }

/// All operations of one Spec. `bound`: of the backward error.
template <class Real>
void check_grid(const Device& device, GridSpec spec, const std::string& name, double bound) {
    const Images<Real> images(spec, [&](unsigned k) { return problem(name, spec.width, spec.height, k + 1); });
    spec = images.spec;
    INFO(fmt::format("{} {}x{} {} {} {} {}", name, spec.width, spec.height, to_string(spec.precision), to_string(spec.matrix),
                     to_string(spec.pivoting), to_string(spec.boundary)));
    const auto &A = images.stencils, &b = images.b;
    std::vector<Real> x(b.size()), again(b.size()), x_transposed(b.size()), by_b(b.size()), by_stencil(A.size());
    GridSolver solver{GridPlan{spec, device}};
    solver.factor_solve(A, b, x);
    solver.factor(A);
    solver.solve(b, again);
    CHECK(again == x);
    solver.solve_transposed(b, x_transposed);
    solver.gradients(x, x_transposed, by_b, by_stencil);
    auto refined = x;
    solver.refine(A, b, refined);
    solver.check();
    for (std::int64_t k = 0; k < spec.batch; ++k) {
        CHECK(images.error(k, x) <= bound);
        CHECK(images.error(k, x_transposed, true) <= bound);
        CHECK(images.error(k, by_b, true, x_transposed) <= bound);
        CHECK(images.error(k, refined) <= bound);
    }
    GridSolver processor{GridPlan{spec, Device::cpu()}};
    processor.factor(A);
    const auto determinants = solver.log_determinant(), expected = processor.log_determinant();
    for (std::size_t k = 0; k < determinants.size(); ++k) {
        CHECK(determinants[k].sign == expected[k].sign);
        CHECK(difference(determinants[k].log, expected[k].log) <= std::sqrt(bound));
    }
    std::vector<Real> other_b(by_b.size()), other_stencil(by_stencil.size());
    processor.gradients(x, x_transposed, other_b, other_stencil);
    double most = 0, error = 0;
    for (std::size_t k = 0; k < by_stencil.size(); ++k) {
        most = std::max(most, std::abs(static_cast<double>(other_stencil[k])));
        error = std::max(error, std::abs(static_cast<double>(by_stencil[k]) - static_cast<double>(other_stencil[k])));
    }
    CHECK(error <= std::sqrt(bound) * most);
}

/// All kinds of matrices, both boundaries, both precisions.
void check_size(std::int64_t width, std::int64_t height) {
    const auto gpu = device();
    if (!gpu) return;
    for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric}) {
        check_grid<double>(*gpu, {.width = width, .height = height, .matrix = matrix}, "anisotropic", 1e-14);
        check_grid<float>(*gpu, {.width = width, .height = height, .matrix = matrix}, "anisotropic", 1e-6);
    }
    check_grid<float>(*gpu, {.width = width, .height = height}, "dominant", 1e-6);
    for (const auto pivoting : {GridPivoting::partial, GridPivoting::none})
        check_grid<double>(*gpu, {.width = width, .height = height, .pivoting = pivoting, .rhs = 3, .batch = 2}, "dominant", 1e-14);
    check_grid<float>(*gpu, {.width = width, .height = height, .pivoting = GridPivoting::none}, "dominant", 1e-6);
    check_grid<double>(*gpu, {.width = width, .height = height, .matrix = GridMatrix::symmetric, .rhs = 3, .batch = 2}, "anisotropic",
                       1e-14);
    if (width > 2 && height > 2) {
        check_grid<double>(*gpu, {.width = width, .height = height, .boundary = GridBoundary::fixed, .rhs = 2}, "convection", 1e-14);
        check_grid<double>(*gpu,
                           {.width = width, .height = height, .matrix = GridMatrix::symmetric, .boundary = GridBoundary::fixed, .rhs = 2},
                           "anisotropic", 1e-14);
    }
    if (width < 200) check_grid<double>(*gpu, {.width = width, .height = height, .batch = 2}, "random", 1e-10);
}

}  // namespace

TEST_CASE("images on a GPU: awkward sizes, 2 x 2 to 9 x 9") {
    for (const auto& [width, height] : {std::pair{2, 2}, {5, 3}, {9, 9}}) check_size(width, height);
}
// Of these, leaf tiles eliminate more pixels than a team of a sweep has lanes.
TEST_CASE("images on a GPU: awkward sizes, 5 x 12 and 7 x 7") {
    for (const auto& [width, height] : {std::pair{5, 12}, {7, 7}}) check_size(width, height);
}
TEST_CASE("images on a GPU: awkward sizes, 7 x 33") { check_size(7, 33); }
TEST_CASE("images on a GPU: awkward sizes, 65 x 31") { check_size(65, 31); }
TEST_CASE("images on a GPU: awkward sizes, 129 x 67") { check_size(129, 67); }
TEST_CASE("images on a GPU: awkward sizes, 257 x 255") { check_size(257, 255); }

TEST_CASE("images on a GPU: pivot blocks of more rows than threads") {
    const auto gpu = device();
    if (!gpu) return;
    for (const auto& [width, height] : {std::pair{513, 517}, {1031, 1030}}) {
        check_grid<double>(*gpu, {.width = width, .height = height}, "dominant", 1e-14);
        check_grid<double>(*gpu, {.width = width, .height = height, .pivoting = GridPivoting::none}, "dominant", 1e-14);
        for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric})
            check_grid<double>(*gpu, {.width = width, .height = height, .matrix = matrix}, "anisotropic", 1e-14);
    }
}

TEST_CASE("images on a GPU: what fails is named as on a processor") {
    const auto gpu = device();
    if (!gpu) return;
    auto image = problem("convection", 40, 30, 1);
    image.at(21, 17, 0, 0) = std::nan("");
    const auto b = noise(image.pixels(), 1);
    std::vector<double> x(b.size());
    GridSolver solver{GridPlan{{.width = 40, .height = 30}, *gpu}}, processor{GridPlan{{.width = 40, .height = 30}, Device::cpu()}};
    solver.factor_solve(image.stencil, b, x);
    processor.factor(image.stencil);
    CHECK_THROWS_WITH_AS(solver.check(), doctest::Contains("pixel (21, 17)"), GridFailed);
    CHECK(solver.status()[0].problem == processor.status()[0].problem);
    CHECK(solver.status()[0].front == processor.status()[0].front);
    for (const auto value : x) CHECK(std::isnan(value));
}
