// Solutions of rough images: what is called ok is within the bound of the backward error.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <trifold/grid.hpp>

#include "tests/runtime/grid/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// The processor, or what TRIFOLD_TEST_DEVICE says.
Device tested_device() {
    const char* name = std::getenv("TRIFOLD_TEST_DEVICE");
    return Device::parse(name == nullptr ? "cpu" : name);
}

template <class Real>
constexpr double promised = sizeof(Real) == 8 ? 1e-12 : 2e-5;

/// Options of `pairs`.
struct Noise {
    double size, diagonal;
    bool dominoes = false;
};

/// Images of pairs, as their precision has them.
template <class Real>
struct Pairs {
    GridSpec spec;
    std::vector<Real> stencils;
    std::vector<Sparse> matrices;

    Pairs(GridSpec given, const Noise& noise, unsigned seed) : spec(std::move(given)) {
        spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
        for (std::int64_t k = 0; k < spec.batch; ++k) {
            auto image = pairs(spec.width, spec.height, noise.size, noise.diagonal, seed + static_cast<unsigned>(k), noise.dominoes);
            const auto own = rounded<Real>(image.stencil);
            stencils.insert(stencils.end(), own.begin(), own.end());
            std::ranges::copy(own, image.stencil.begin());
            matrices.push_back(matrix_of(image, spec));
        }
    }
    std::int64_t pixels() const { return spec.width * spec.height; }

    /// The greatest backward error of an image that is ok; others must be NaN. Counts those that are ok.
    double worst(const std::vector<GridOutcome>& outcomes, const std::vector<Real>& x, const std::vector<Real>& b, bool transposed,
                 int& ok) const {
        const auto columns = static_cast<std::int64_t>(b.size()) / (spec.batch * pixels());
        double most = 0;
        for (std::int64_t k = 0; k < spec.batch; ++k) {
            const auto of = [&](const std::vector<Real>& values, std::int64_t c) {
                return column(values, k * pixels(), pixels(), columns, c);
            };
            const auto& outcome = outcomes[static_cast<std::size_t>(k)];
            ok += outcome.ok() ? 1 : 0;
            if (!outcome.ok()) CHECK(of(x, 0).array().isNaN().all());
            const auto& a = matrices[static_cast<std::size_t>(k)];
            const Sparse taken = transposed ? Sparse(a.transpose()) : a;
            for (std::int64_t c = 0; outcome.ok() && c < columns; ++c) most = std::max(most, backward_error(taken, of(x, c), of(b, c)));
        }
        return most;
    }
};

/// Every way to a solution of a batch of pairs. How many images were ok.
template <class Real>
int check_all_ways(const GridSpec& spec, const Noise& beside, std::int64_t columns, unsigned seed) {
    CAPTURE(spec.width);
    CAPTURE(spec.height);
    CAPTURE(beside.size);
    CAPTURE(beside.diagonal);
    CAPTURE(seed);
    const Pairs<Real> images(spec, beside, seed);
    const auto b = rounded<Real>(noise(spec.batch * images.pixels() * columns, seed));
    const GridOptions options{.columns = columns};
    GridSolver solver{GridPlan(images.spec, tested_device())};
    int ok = 0;
    auto x = b, again = b, by_stencil = images.stencils;
    const auto check = [&](const std::vector<Real>& found, bool transposed) {
        CHECK(images.worst(solver.status(), found, b, transposed, ok) <= promised<Real>);
    };
    solver.factor_solve(images.stencils, b, x, options);
    check(x, false);
    solver.factor_solve(images.stencils, again, again, options);
    check(again, false);
    solver.factor(images.stencils);
    const int first = std::exchange(ok, 0) / 2;
    again = b;
    solver.solve(again, again, options);
    check(again, false);
    solver.solve_transposed(b, again, options);
    check(again, true);
    solver.gradients(x, b, again, by_stencil, options);
    check(again, true);
    CHECK(std::abs(ok - 3 * first) <= 3);  // a solution may be given up where another was not
    return first;
}

}  // namespace

TEST_CASE("rough images: three thousand of pairs beside noise, in every way to a solution") {
    constexpr std::int64_t each = 15;
    std::mt19937 generator(1);
    std::uniform_int_distribution<std::int64_t> side(3, 14), large(15, 33), panel(1, 3);
    int images = 0, ok = 0;
    for (unsigned turn = 0; turn < 200; ++turn) {
        auto spec = turn % 10 == 0 ? spec_of(large(generator), large(generator)) : spec_of(side(generator), side(generator));
        spec.batch = each;
        spec.rhs = panel(generator);
        if (turn % 4 == 3) spec.boundary = GridBoundary::fixed;
        if (turn % 5 == 4) spec.pivoting = GridPivoting::none;
        const std::int64_t columns = turn % 3 == 0 ? 2 * spec.rhs - 1 : spec.rhs;
        const Noise beside{turn % 3 == 1 ? 1e-4 : 0.03, turn % 7 == 1 ? 1e-3 : 1e-6, turn % 2 == 1};
        const auto check = turn / 4 % 2 == 0 ? check_all_ways<double> : check_all_ways<float>;
        images += static_cast<int>(each);
        ok += check(spec, beside, columns, 100 * turn);
    }
    CHECK(images == 3000);
    CHECK(ok >= 1000);
}

TEST_CASE("rough images: dominoes whose condition numbers are near 3, but not those of what is eliminated first") {
    auto spec = spec_of(8, 7);
    spec.batch = 20;
    CHECK(check_all_ways<double>(spec, {0.03, 1e-6, true}, 1, 5) == 20);
}

TEST_CASE("rough images: what is not refined is unstable and NaN, and accepted it is what comes out") {
    auto spec = spec_of(8, 7);
    spec.batch = 200;
    const Pairs<float> images(spec, {1e-4, 1e-4}, 1);
    const auto b = rounded<float>(noise(spec.batch * images.pixels(), 2));
    auto x = b;
    GridSolver solver{GridPlan(images.spec, tested_device())};
    solver.factor(images.stencils, {.accept_nearly_singular = true});
    solver.solve(b, x, {.accept_nearly_singular = true});
    solver.check();
    for (const auto value : x) REQUIRE(std::isfinite(value));
}
