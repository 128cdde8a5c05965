#include <trifold/grid.hpp>

#include "tests/runtime/grid/problems.hpp"
#include "tests/support/guarded.hpp"

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
        spec.batch = 17;  // enough boxes that no front is shared
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

TEST_CASE("among many right-hand sides a column depends on no other, nor on their number") {
    auto spec = spec_of(37, 52);
    spec.rhs = 9;
    const auto image = problem("random", 37, 52, 3);
    GridSolver solver{GridPlan(spec, Device::cpu(), {.workers = 2})};
    solver.factor(image.stencil);
    constexpr std::int64_t all = 20;
    const auto b = noise(image.pixels() * all, 1);
    for (const bool transposed : {false, true}) {
        const auto solve = [&](const std::vector<double>& from, std::int64_t columns) {
            std::vector<double> x(from.size());
            GridOptions options;
            options.columns = columns;
            if (transposed)
                solver.solve_transposed(from, x, options);
            else
                solver.solve(from, x, options);
            return x;
        };
        const auto whole = solve(b, all);
        for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 2}, {5, 8}, {2, 13}, {19, 1}}) {
            std::vector<double> part;
            for (std::int64_t pixel = 0; pixel < image.pixels(); ++pixel)
                for (std::int64_t c = 0; c < count; ++c) part.push_back(b[static_cast<std::size_t>(pixel * all + first + c)]);
            const auto x = solve(part, count);
            for (std::int64_t c = 0; c < count; ++c) {
                const Eigen::VectorXd mine = column(x, 0, image.pixels(), count, c),
                                      same = column(whole, 0, image.pixels(), all, first + c);
                if (count >= 2)
                    CHECK(mine == same);
                else  // one alone has kernels of its own
                    CHECK((mine - same).cwiseAbs().maxCoeff() <= 1e-10 * same.cwiseAbs().maxCoeff());
            }
        }
    }
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

TEST_CASE("the factor of an image is a value: it may be copied, and its memory used by others") {
    const auto spec = spec_of(13, 9);
    const auto image = problem("anisotropic", 13, 9, 3);
    const auto b = noise(image.pixels(), 1);
    std::vector<double> expected(b.size());
    GridSolver alone{GridPlan(spec, Device::cpu())};
    alone.factor_solve(image.stencil, b, expected);
    GridFactors factors(GridPlan(spec, Device::cpu(), {.workers = 2}));
    Guarded<char> value(factors.bytes()), copy(factors.bytes()), third(factors.bytes());
    factors.fresh(value.data())->factor(image.stencil.data());
    std::ranges::copy(value.values(), copy.data());
    std::ranges::fill(value.values(), '\x55');
    std::vector<double> x(b.size());
    factors.filled(copy.data())->solve(b.data(), x.data());
    CHECK(x == expected);
    std::ranges::fill(x, 0.0);
    auto borrowed = factors.copied(copy.data(), third.data());
    borrowed->solve(b.data(), x.data());
    CHECK(x == expected);
    CHECK(borrowed->log_determinant() == alone.log_determinant());
    CHECK(borrowed->ok());
}

TEST_CASE("values of images: what does not fit is an error, and those of equal problems share their kernels") {
    const auto spec = spec_of(13, 9);
    const auto factors = GridFactors::shared(spec, Device::cpu());
    CHECK(factors == GridFactors::shared(spec, Device::cpu()));
    CHECK(factors != GridFactors::shared(spec, Device::cpu(), {.workers = 2}));
    CHECK(factors != GridFactors::shared(spec_of(13, 10), Device::cpu()));
    Guarded<char> value(factors->bytes());
    CHECK_REFUSED("the factor is a null pointer", factors->fresh(nullptr));
    CHECK_REFUSED("members = 2 is out of range", factors->filled(value.data(), {}, 2));
    CHECK_THROWS_WITH_AS(factors->filled(value.data() + 8), "the workspace is not aligned to 64 bytes", SpecError);
    CHECK_REFUSED("overlap", factors->copied(value.data(), value.data()));
    CHECK_REFUSED("the workspace is a null pointer", GridSolver(GridPlan(spec, Device::cpu()), nullptr, std::int64_t{1} << 30));
}
