// Kernels for images as host code, in both dialects, with every access watched.
#include "tests/runtime/grid/problems.hpp"
#include "tests/support/emulator/grid_unit.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

struct Case {
    std::string problem;
    std::int64_t width, height;
    GridSpec spec{};
    GridTuning tuning{};
    Target target{Backend::cuda, "sm_90"};
    Running running{};
    double bound = 0;  ///< of the backward error; 0: that of well conditioned problems
};

template <class Real>
double bound_of(const Case& test) {
    return test.bound != 0 ? test.bound : sizeof(Real) == 8 ? 1e-14 : 1e-6;
}

/// Factor and solve, solve, A', refinement and gradients of all images against A itself; nothing may be found.
template <class Real>
void check(Case test) {
    auto& spec = test.spec;
    spec.width = test.width;
    spec.height = test.height;
    const Images<Real> images(spec, [&](unsigned k) { return problem(test.problem, test.width, test.height, k + 1); });
    INFO(fmt::format("{} {}x{} {} {} {} {}", test.problem, spec.width, spec.height, to_string(images.spec.precision),
                     to_string(spec.matrix), to_string(spec.boundary), to_string(test.target)));
    EmulatedGrid grid(images.spec, test.target, test.tuning);
    const auto &A = images.stencils, &b = images.b;
    std::vector<Real> x(b.size()), again(b.size()), x_transposed(b.size()), gradient(A.size());
    trifold_grid_args args{};
    args.stencil = A.data();
    args.b = b.data();
    args.x = x.data();
    args.columns = args.used_columns = spec.rhs;
    args.members = spec.batch;
    grid.run("factor_solve", args, test.running);
    args.x = again.data();
    grid.run("factor", args, test.running);
    grid.run("solve", args, test.running);
    CHECK(again == x);
    args.x = x_transposed.data();
    grid.run("solve_transposed", args, test.running);
    args.gradient = gradient.data();
    auto by = args;
    by.b = x_transposed.data();
    by.x = x.data();
    grid.run("gradient", by, test.running);
    for (std::int64_t k = 0; k < spec.batch; ++k) {
        CHECK(grid.status(k).record.problem == trifold_grid_sound);
        CHECK(images.error(k, x) <= bound_of<Real>(test));
        CHECK(images.error(k, x_transposed, true) <= bound_of<Real>(test));
    }
    if (spec.rhs == 1 && spec.matrix == GridMatrix::general && spec.boundary == GridBoundary::natural)
        for (std::int64_t p = 0; p < images.pixels(); ++p)
            CHECK(gradient[static_cast<std::size_t>(9 * p + 4)] ==
                  -x_transposed[static_cast<std::size_t>(p)] * x[static_cast<std::size_t>(p)]);
    for (const auto& finding : grid.findings()) FAIL_CHECK(finding);
}

const std::vector<Target> dialects{{Backend::cuda, "sm_90"}, {Backend::hip, "gfx942"}, {Backend::hip, "gfx1100"}};

/// Images of pairs, the second a sound one: how many of their solutions miss the bound unless they are refined. None of the refined ones
/// may.
template <class Real>
int missed_by_pairs(GridSpec spec, double noise_size, const Target& target = dialects.front()) {
    const Images<Real> images(spec, [&](unsigned k) {
        return k == 1 ? problem("dominant", spec.width, spec.height, k) : pairs(spec.width, spec.height, noise_size, noise_size, k + 1);
    });
    EmulatedGrid grid(images.spec, target);
    const auto& b = images.b;
    trifold_grid_args args{};
    args.stencil = images.stencils.data();
    args.columns = args.used_columns = spec.rhs;
    args.members = spec.batch;
    args.begins = 1;
    const double bound = sizeof(Real) == 8 ? 1e-12 : 2e-5;
    int missed = 0;
    for (const auto* operation : {"factor_solve", "solve", "solve_transposed"}) {
        const bool transposed = std::string(operation) == "solve_transposed";
        auto x = b, raw = b, in_place = b;
        auto own = args;
        own.b = b.data();
        own.x = raw.data();
        own.step = 1;
        grid.run("factor_solve", own);
        grid.run(operation, own);
        own.step = 0;
        own.x = x.data();
        grid.run(operation, own);
        own.b = own.x = in_place.data();
        own.in_place = 1;
        grid.run("keep", own);
        grid.run(operation, own);
        const auto each = images.pixels() * spec.rhs;
        for (std::int64_t k = 0; k < spec.batch; ++k) {
            if (grid.status(k).record.problem != trifold_grid_sound) continue;
            CAPTURE(k);
            CHECK(grid.status(k).left == trifold_grid_all);
            CHECK(images.error(k, x, transposed) <= bound);
            missed += images.error(k, raw, transposed) > bound ? 1 : 0;
            const auto first = k * each;
            CHECK(std::equal(x.begin() + first, x.begin() + first + each, in_place.begin() + first));
            if (k == 1) CHECK(std::equal(x.begin() + first, x.begin() + first + each, raw.begin() + first));
        }
    }
    for (const auto& finding : grid.findings()) FAIL_CHECK(finding);
    return missed;
}

}  // namespace

TEST_CASE("emulated images: fronts on chip, of every kind of matrix, in all dialects") {
    for (const auto& target : dialects) {
        check<double>({"random", 13, 11, {}, {}, target, {Order::random, 3}, 1e-12});
        check<float>({"dominant", 9, 17, {.matrix = GridMatrix::general, .rhs = 3, .batch = 2}, {}, target});
        check<double>(
            {"anisotropic", 17, 6, {.matrix = GridMatrix::symmetric, .boundary = GridBoundary::fixed}, {}, target, {Order::reverse, 1, 4}});
    }
    check<double>({"convection", 2, 2});
    check<float>({"convection", 7, 2, {.pivoting = GridPivoting::none}});
}

TEST_CASE("emulated images: awkward sizes, all kinds of matrices, both boundaries, several right-hand sides") {
    const auto partial = GridPivoting::partial, none = GridPivoting::none;
    for (const auto& [width, height] : {std::pair{2, 2}, {5, 3}, {9, 9}, {7, 33}, {33, 6}})
        for (const auto boundary : {GridBoundary::natural, GridBoundary::fixed}) {
            if (boundary == GridBoundary::fixed && (width == 2 || height == 2)) continue;
            check<double>({"convection", width, height, {.pivoting = partial, .boundary = boundary, .rhs = 2}});
            check<float>({"dominant", width, height, {.pivoting = none, .boundary = boundary, .rhs = 3, .batch = 2}});
            check<double>({"anisotropic", width, height, {.matrix = GridMatrix::symmetric, .boundary = boundary, .rhs = 2}});
        }
    // Leaf tiles that eliminate more pixels than a team has lanes: 20 where they have one neighbour, 25 where they have none.
    for (const auto& target : dialects) {
        check<float>({"dominant", 5, 12, {.pivoting = GridPivoting::none, .rhs = 3, .batch = 2}, {}, target, {Order::random, 3, 2}});
        check<double>({"dominant", 7, 7, {.boundary = GridBoundary::fixed, .rhs = 5}, {}, target, {Order::reverse}});
    }
}

TEST_CASE("emulated images: shared fronts, whose panels are as wide as can be, or narrower") {
    for (const auto& target : dialects)
        check<double>({"random", 37, 35, {.boundary = GridBoundary::fixed}, {}, target, {Order::random, 5, 3}, 1e-11});
    check<float>({"jumps", 36, 35, {.matrix = GridMatrix::symmetric}});
    check<double>({"anisotropic", 35, 37, {.matrix = GridMatrix::symmetric}, {.variant = "fronts:panel_columns=16"}});
    check<double>({"dominant", 35, 37, {.pivoting = GridPivoting::none}});
    for (const std::int64_t columns : {16, 8, 4, 2})
        check<double>({"random", 34, 35, {}, {.variant = fmt::format("fronts:panel_columns={}", columns)}, dialects.front(), {}, 1e-11});
}

TEST_CASE("emulated images: panels and products of shared fronts") {
    for (const auto& target : {dialects.front(), dialects[1]}) check<double>({"dominant", 67, 37, {}, {}, target, {Order::reverse}});
    check<double>({"jumps", 37, 67, {.matrix = GridMatrix::symmetric}});
}

TEST_CASE("emulated images: pivot blocks by small thread blocks") {
    for (const auto& target : {dialects.front(), dialects[1]})
        check<double>({"random", 37, 35, {}, {.variant = "fronts:step_rows=128"}, target, {}, 1e-11});
    check<float>({"jumps", 36, 37, {.matrix = GridMatrix::symmetric}, {.variant = "fronts:step_rows=128"}});
}

TEST_CASE("emulated images: products in wide tiles") {
    check<double>({"dominant", 67, 71, {}, {.variant = "fronts:product_side=128"}});
    check<float>({"jumps", 71, 67, {.matrix = GridMatrix::symmetric}, {.variant = "fronts:product_side=128"}});
}

TEST_CASE("emulated images: sweeps over triangles of several tiles") {
    check<double>({"dominant", 101, 131, {.rhs = 2}});
    check<float>({"jumps", 101, 131, {.matrix = GridMatrix::symmetric}, {}, dialects[1]});
    check<double>({"anisotropic", 131, 99, {.matrix = GridMatrix::symmetric}});
}

TEST_CASE("emulated images: what fails is named by its front, and solves to NaN") {
    GridSpec spec = spec_of(21, 10);
    EmulatedGrid grid(spec, dialects.front());
    auto image = problem("convection", 21, 10, 1);
    image.at(13, 4, 0, 0) = std::numeric_limits<double>::infinity();
    const auto b = noise(image.pixels(), 2);
    std::vector<double> x(b.size());
    trifold_grid_args args{};
    args.stencil = image.stencil.data();
    args.b = b.data();
    args.x = x.data();
    args.columns = args.used_columns = args.members = 1;
    grid.run("factor_solve", args);
    CHECK(grid.status(0).record.problem == trifold_grid_no_number);
    CHECK(grid.status(0).record.pixel == 4 * 21 + 13);
    CHECK(grid.status(0).level == 0);
    for (const auto value : x) CHECK(std::isnan(value));
    CHECK(grid.findings().empty());
}

TEST_CASE("emulated images: a launch with the constants of another kind of kernel is stopped") {
    for (const auto& target : {dialects.front(), dialects[1]}) {
        auto spec = spec_of(9, 8);
        spec.boundary = GridBoundary::fixed;
        EmulatedGrid grid(spec, target);
        auto& launch = grid.last_launch("gradient");
        trifold_grid_launch constants;
        std::memcpy(&constants, launch.constants.data(), sizeof constants);
        REQUIRE(constants.kind == trifold_grid_pixelwise);
        constants.kind = trifold_grid_shared;
        std::memcpy(launch.constants.data(), &constants, sizeof constants);
        const auto image = problem("convection", 9, 8, 1);
        const auto b = noise(image.pixels(), 2);
        std::vector<double> x(b.size()), gradient(image.stencil.size());
        trifold_grid_args args{};
        args.stencil = image.stencil.data();
        args.b = b.data();
        args.x = x.data();
        args.columns = args.used_columns = args.members = 1;
        args.gradient = gradient.data();
        grid.run("factor_solve", args);
        CHECK_THROWS_WITH_AS(grid.run("gradient", args), doctest::Contains("the kernel expects c.launch.kind == trifold_grid_pixelwise"),
                             std::runtime_error);
    }
}

TEST_CASE("emulated images: rows times powers of two change no bit of x, nor of A' x = b but for these") {
    for (const auto& target : {dialects.front(), dialects[1]})
        for (const auto& [width, height] : {std::pair{13, 11}, {37, 35}}) {
            const auto spec = spec_of(width, height);
            EmulatedGrid grid(spec, target);
            auto image = problem("random", width, height, 3);
            auto b = noise(image.pixels(), 1), x = b, x_transposed = b, scaled_x = b, scaled_transposed = b;
            const auto transposed_b = b;
            trifold_grid_args args{};
            args.stencil = image.stencil.data();
            args.columns = args.used_columns = args.members = args.begins = 1;
            const auto solve = [&](std::vector<double>& of, std::vector<double>& of_transposed) {
                args.b = b.data();
                args.x = of.data();
                grid.run("factor_solve", args);
                args.b = transposed_b.data();
                args.x = of_transposed.data();
                grid.run("solve_transposed", args);
            };
            solve(x, x_transposed);
            const auto expected = grid.status(0).record;
            std::mt19937 generator(5);
            std::uniform_int_distribution<int> whole(-40, 40);
            std::vector<double> rows;
            double logs = 0;
            for (std::int64_t p = 0; p < image.pixels(); ++p) {
                const int power = whole(generator);
                logs += power * std::log(2);
                rows.push_back(std::ldexp(1.0, power));
                for (std::int64_t k = 0; k < 9; ++k) image.stencil[static_cast<std::size_t>(9 * p + k)] *= rows.back();
                b[static_cast<std::size_t>(p)] *= rows.back();
            }
            solve(scaled_x, scaled_transposed);
            CHECK(scaled_x == x);
            for (std::size_t p = 0; p < rows.size(); ++p) CHECK(scaled_transposed[p] * rows[p] == x_transposed[p]);
            CHECK(grid.status(0).record.least == expected.least);
            CHECK(grid.status(0).record.largest == expected.largest);
            CHECK(grid.status(0).record.log_determinant == doctest::Approx(expected.log_determinant + logs).epsilon(1e-12));
            for (const auto& finding : grid.findings()) FAIL_CHECK(finding);
        }
}

TEST_CASE("emulated images: solutions that miss the bound are refined, also in the place of B") {
    auto small = spec_of(7, 6), ringed = spec_of(9, 11), shared = spec_of(35, 34);
    small.rhs = 2;
    small.batch = 4;
    ringed.batch = 8;
    shared.batch = 3;
    ringed.boundary = GridBoundary::fixed;
    CHECK(missed_by_pairs<double>(small, 1e-5) >= 3);
    CHECK(missed_by_pairs<float>(small, 1e-3, dialects[1]) >= 3);
    CHECK(missed_by_pairs<double>(ringed, 1e-5, dialects[2]) >= 1);
    CHECK(missed_by_pairs<double>(shared, 1e-2) >= 1);
}

TEST_CASE("emulated images: singular ones solve to NaN, and what a solution comes to is watched") {
    for (const auto& target : {dialects.front(), dialects[1]})
        for (const auto& [width, height] : {std::pair{3, 2}, {13, 11}, {35, 34}})
            for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric}) {
                auto spec = spec_of(width, height);
                spec.matrix = matrix;
                INFO(width, " ", to_string(target));
                EmulatedGrid grid(spec, target);
                const bool upwind = matrix == GridMatrix::general;
                const auto singular = flow(width, height, upwind, 0, 1), sound = flow(width, height, upwind, 0.01, 1);
                auto b = noise(singular.pixels(), 2), x = b;
                trifold_grid_args args{};
                args.stencil = singular.stencil.data();
                args.b = b.data();
                args.x = x.data();
                args.columns = args.used_columns = args.members = args.begins = 1;
                grid.run("factor_solve", args);
                CHECK(grid.status(0).record.problem == trifold_grid_nearly);
                for (const auto value : x) CHECK(std::isnan(value));
                args.stencil = sound.stencil.data();
                grid.run("factor_solve", args);
                CHECK(grid.status(0).record.problem == trifold_grid_sound);
                CHECK(grid.status(0).left == 0);
                b[b.size() / 2] = std::nan("");
                grid.run("solve", args);
                CHECK(grid.status(0).left == 1);
                b[b.size() / 2] = 1;
                grid.run("solve_transposed", args);
                CHECK(grid.status(0).left == 0);
                for (const double size : {1e-320, 0.0}) {
                    std::ranges::fill(b, size);
                    grid.run("solve", args);
                    CHECK(grid.status(0).left == (size > 0 ? trifold_grid_beyond_range : trifold_grid_all));
                }
                for (const auto& finding : grid.findings()) FAIL_CHECK(finding);
            }
}
