#include <doctest/doctest.h>

#include <trifold/grid.hpp>
#include <trifold/solver.hpp>

#include "tests/runtime/grid/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

std::vector<double> solution(GridSpec spec, int workers, const std::vector<double>& stencil, const std::vector<double>& b) {
    GridSolver solver{GridPlan(spec, Device::cpu(), {.workers = workers})};
    std::vector<double> x(b.size());
    solver.factor_solve(stencil, b, x);
    solver.check();
    return x;
}

}  // namespace

TEST_CASE("the same bits with any number of threads, and wherever in a batch an image stands") {
    for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric}) {
        auto spec = spec_of(150, 139);
        spec.matrix = matrix;
        const auto image = problem("anisotropic", 150, 139, 3);
        const auto b = noise(image.pixels(), 1);
        const auto x = solution(spec, 1, image.stencil, b);
        for (const int workers : {2, 5}) CHECK(solution(spec, workers, image.stencil, b) == x);
        spec.batch = 17;  // so many boxes that no front is shared
        std::vector<double> stencils, all;
        for (std::int64_t member = 0; member < spec.batch; ++member) {
            stencils.insert(stencils.end(), image.stencil.begin(), image.stencil.end());
            all.insert(all.end(), b.begin(), b.end());
        }
        const auto many = solution(spec, 2, stencils, all);
        for (std::int64_t member = 0; member < spec.batch; ++member)
            CHECK(std::equal(x.begin(), x.end(), many.begin() + member * image.pixels()));
    }
}

TEST_CASE("a second factorization leaves nothing of the first, and X may be B") {
    const auto spec = spec_of(70, 45);
    const auto first = problem("random", 70, 45, 3), second = problem("dominant", 70, 45, 4);
    const auto b = noise(second.pixels(), 1);
    const auto expected = solution(spec, 1, second.stencil, b);
    GridSolver solver{GridPlan(spec, Device::cpu())};
    auto x = b;
    solver.factor_solve(first.stencil, b, x);
    solver.factor(second.stencil);
    x = b;
    solver.solve(x, x);
    CHECK(x == expected);
}

TEST_CASE("new data on a fixed boundary need no new factorization") {
    auto spec = spec_of(26, 31);
    spec.boundary = GridBoundary::fixed;
    const auto image = problem("anisotropic", 26, 31, 3);
    GridSolver solver{GridPlan(spec, Device::cpu())};
    solver.factor(image.stencil);
    for (const unsigned seed : {1U, 2U}) {
        const auto b = noise(image.pixels(), seed);
        std::vector<double> x(b.size());
        solver.solve(b, x);
        CHECK(backward_error(matrix_of(image, spec), column(x, 0, image.pixels(), 1, 0), column(b, 0, image.pixels(), 1, 0)) <= 1e-14);
        for (std::int64_t k = 0; k < image.pixels(); ++k)
            if (image.is_ring(k % 26, k / 26)) CHECK(x[static_cast<std::size_t>(k)] == b[static_cast<std::size_t>(k)]);
    }
}

TEST_CASE("one large image") {
    auto spec = spec_of(513, 513);
    spec.operations = {GridOperation::factor_solve};
    const auto image = problem("convection", 513, 513, 3);
    const auto b = noise(image.pixels(), 1);
    const auto x = solution(spec, 2, image.stencil, b);
    CHECK(backward_error(matrix_of(image, spec), column(x, 0, image.pixels(), 1, 0), column(b, 0, image.pixels(), 1, 0)) <= 1e-14);
}
