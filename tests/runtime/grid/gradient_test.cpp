#include <doctest/doctest.h>

#include <trifold/grid.hpp>

#include "tests/runtime/grid/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// E = sum of w x over all right-hand sides, in terms of A and b, by a dense LU.
double value(const Image& image, const GridSpec& spec, const std::vector<double>& b, const std::vector<double>& w) {
    const Eigen::PartialPivLU<Eigen::MatrixXd> lu{Eigen::MatrixXd(matrix_of(image, spec))};
    double sum = 0;
    for (std::int64_t c = 0; c < spec.rhs; ++c)
        sum += column(w, 0, image.pixels(), spec.rhs, c).dot(lu.solve(column(b, 0, image.pixels(), spec.rhs, c)));
    return sum;
}

}  // namespace

TEST_CASE("gradients agree with finite differences") {
    for (const auto boundary : {GridBoundary::natural, GridBoundary::fixed})
        for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric}) {
            auto spec = spec_of(8, 6);
            spec.boundary = boundary;
            spec.matrix = matrix;
            spec.rhs = 2;
            const auto image = problem(matrix == GridMatrix::general ? "dominant" : "anisotropic", 8, 6, 3);
            const auto b = noise(2 * image.pixels(), 1), w = noise(2 * image.pixels(), 2);
            std::vector<double> x(b.size()), by_b(b.size()), by_stencil(image.stencil.size(), 7);
            GridSolver solver{GridPlan(spec, Device::cpu())};
            solver.factor_solve(image.stencil, b, x);
            solver.check();
            solver.gradients(x, w, by_b, by_stencil);
            constexpr double step = 1e-6;
            for (std::size_t k = 0; k < b.size(); ++k) {
                auto up = b, down = b;
                up[k] += step;
                down[k] -= step;
                const auto expected = (value(image, spec, up, w) - value(image, spec, down, w)) / (2 * step);
                CHECK(std::abs(by_b[k] - expected) <= 1e-6 * (1 + std::abs(expected)));
            }
            for (std::size_t k = 0; k < by_stencil.size(); ++k) {
                const auto pixel = static_cast<std::int64_t>(k / 9), entry = static_cast<std::int64_t>(k % 9);
                if (!image.holds(pixel % 8 + entry % 3 - 1, pixel / 8 + entry / 3 - 1)) {
                    CHECK(by_stencil[k] == 0);
                    continue;
                }
                auto up = image, down = image;
                up.stencil[k] += step;
                down.stencil[k] -= step;
                const auto expected = (value(up, spec, b, w) - value(down, spec, b, w)) / (2 * step);
                CHECK(std::abs(by_stencil[k] - expected) <= 1e-6 * (1 + std::abs(expected)));
            }
        }
}

TEST_CASE("more right-hand sides than the Spec's go in panels, and add up in the gradient") {
    auto narrow = spec_of(14, 9), wide = spec_of(14, 9);
    narrow.rhs = 2;
    wide.rhs = 5;
    const auto image = problem("random", 14, 9, 3);
    const auto b = noise(5 * image.pixels(), 1), w = noise(5 * image.pixels(), 2);
    GridSolver in_panels{GridPlan(narrow, Device::cpu())}, at_once{GridPlan(wide, Device::cpu())};
    std::vector<double> x(b.size()), y(b.size()), by_b(b.size()), by_stencil(image.stencil.size()), other_b(b.size()),
        other_stencil(image.stencil.size());
    in_panels.factor_solve(image.stencil, b, x, {.columns = 5});
    at_once.factor_solve(image.stencil, b, y);
    CHECK(x == y);
    in_panels.gradients(x, w, by_b, by_stencil, {.columns = 5});
    at_once.gradients(y, w, other_b, other_stencil);
    CHECK(by_b == other_b);
    for (std::size_t k = 0; k < by_stencil.size(); ++k) CHECK(by_stencil[k] == doctest::Approx(other_stencil[k]).epsilon(1e-12));
    in_panels.refine(image.stencil, b, x, false, {.columns = 5});
    at_once.refine(image.stencil, b, y);
    CHECK(x == y);
}
