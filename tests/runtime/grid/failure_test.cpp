#include <trifold/grid.hpp>

#include "tests/runtime/grid/problems.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// What check() says of one image.
std::string complaint(const Image& image, GridSpec spec, GridOutcome* outcome = nullptr) {
    spec.width = image.width;
    spec.height = image.height;
    GridSolver solver{GridPlan(spec, Device::cpu())};
    auto b = noise(image.pixels(), 1);
    solver.factor_solve(image.stencil, b, b);
    if (outcome != nullptr) *outcome = solver.status()[0];
    try {
        solver.check();
    } catch (const GridFailed& failed) {
        CHECK(!solver.ok());
        return failed.what();
    }
    CHECK(solver.ok());
    return "";
}

}  // namespace

TEST_CASE("a stencil that reaches beyond the image is named") {
    for (const auto& [x, y, dx, dy] : {std::array{0, 4, -1, 0}, {12, 3, 1, 1}, {5, 0, 0, -1}, {7, 8, 1, 1}}) {
        auto image = problem("dominant", 13, 9, 2);
        image.at(x, y, dx, dy) = 0.5;
        GridOutcome outcome;
        CHECK(says(complaint(image, {}, &outcome), "reaches beyond the image"));
        CHECK(outcome.problem == GridProblem::beyond_image);
        CHECK(outcome.pixel_x == x);
        CHECK(outcome.pixel_y == y);
        if (x != 7) continue;
        GridSpec fixed;  // the ring's own stencils are not read
        fixed.boundary = GridBoundary::fixed;
        CHECK(complaint(image, fixed).empty());
    }
}

TEST_CASE("infinities and NaN are named, and other images of the batch are solved") {
    for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        auto spec = spec_of(18, 11);
        spec.batch = 3;
        const auto good = problem("dominant", 18, 11, 2);
        auto stencils = good.stencil;
        auto broken = good;
        broken.at(8, 5, 1, 0) = bad;
        stencils.insert(stencils.end(), broken.stencil.begin(), broken.stencil.end());
        stencils.insert(stencils.end(), good.stencil.begin(), good.stencil.end());
        GridSolver solver{GridPlan(spec, Device::cpu())};
        const auto b = noise(3 * 18 * 11, 1);
        std::vector<double> x(b.size());
        solver.factor_solve(stencils, b, x);
        const auto& status = solver.status();
        CHECK(status[0].ok());
        CHECK(status[2].ok());
        CHECK(status[1].problem == GridProblem::not_finite);
        CHECK(status[1].pixel_x == 8);
        CHECK(status[1].pixel_y == 5);
        CHECK(std::isnan(solver.log_determinant()[1].log));
        const auto pixels = good.pixels();
        for (std::int64_t k = 0; k < pixels; ++k) CHECK(std::isnan(x[static_cast<std::size_t>(pixels + k)]));
        const auto a = matrix_of(good, spec);
        for (const std::int64_t member : {0, 2})
            CHECK(backward_error(a, column(x, member * pixels, pixels, 1, 0), column(b, member * pixels, pixels, 1, 0)) <= 1e-14);
        CHECK_THROWS_WITH_AS(solver.check(), doctest::Contains("1 of 3 images cannot be solved: image 1: the stencil of pixel (8, 5)"),
                             GridFailed);
    }
}

TEST_CASE("constants that solve A x = 0 are found, with the remedy") {
    for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric})
        for (const auto precision : {Precision::f64})
            for (const auto& [width, height] : {std::array{2, 2}, {9, 5}, {40, 33}}) {
                auto image = problem("poisson", width, height, 1);
                for (std::int64_t k = 0; k < image.pixels(); ++k) image.at(k % width, k / width, 0, 0) -= 0.01;
                GridSpec spec;
                spec.matrix = matrix;
                spec.precision = precision;
                CHECK(says(complaint(image, spec), "add a little to the diagonal"));
                if (width < 3) continue;
                spec.boundary = GridBoundary::fixed;
                CHECK(complaint(image, spec).empty());
            }
}

TEST_CASE("zero pivots: with exchanges none, without them an error") {
    const auto pairs = [](std::int64_t width) {  // of pixels, each of which knows only the other
        Image image(width, 5);
        for (std::int64_t k = 0; k < image.pixels(); ++k) image.at(k % width, k / width, k % 2 == 0 ? 1 : -1, 0) = 1;
        return image;
    };
    auto image = pairs(4);
    GridSpec spec;
    CHECK(complaint(image, spec).empty());
    spec.pivoting = GridPivoting::none;
    GridOutcome outcome;
    CHECK(says(complaint(image, spec, &outcome), "take the pivoting 'partial'"));
    CHECK(outcome.level == 0);
    image.at(2, 2, 1, 0) = 0;  // a row of zeros
    CHECK(says(complaint(image, {}), "singular"));
    Image above(5, 4);  // pairs above one another, of which some have their rows in different vectors of the front
    for (std::int64_t k = 0; k < above.pixels(); ++k) above.at(k % 5, k / 5, 0, k / 5 % 2 == 0 ? 1 : -1) = 1;
    CHECK(complaint(above, {}).empty());
    // A line of the tree separates the pixels of a pair, so that a front has no row to exchange with.
    CHECK(says(complaint(pairs(6), {}), "exchanges of rows beyond a front"));
}

TEST_CASE("a symmetric matrix that is not positive definite") {
    auto image = problem("poisson", 21, 14, 1);
    image.at(10, 7, 0, 0) = -5;
    GridSpec spec;
    spec.matrix = GridMatrix::symmetric;
    GridOutcome outcome;
    CHECK(says(complaint(image, spec, &outcome), "not positive definite"));
    CHECK(outcome.problem == GridProblem::pivot);
    CHECK(outcome.front.x0 <= outcome.pixel_x);
    CHECK(outcome.front.x1 >= outcome.pixel_x);
    CHECK(outcome.front.y0 <= outcome.pixel_y);
    CHECK(outcome.front.y1 >= outcome.pixel_y);
}

TEST_CASE("sizes and arguments that do not fit are errors that say what to do") {
    const auto plan = [](std::int64_t width, std::int64_t height, GridBoundary boundary = GridBoundary::natural) {
        auto spec = spec_of(width, height);
        spec.boundary = boundary;
        return GridPlan(spec, Device::cpu());
    };
    CHECK_REFUSED("blocks of 1 by 1", plan(1, 9));
    CHECK_REFUSED("height = 0 is out of range; give 2", plan(9, 0));
    CHECK_REFUSED("give 3", plan(9, 2, GridBoundary::fixed));
    CHECK_THROWS_AS(plan(9, 1 << 21), SpecError);
    auto large = spec_of(1 << 18, 1 << 18);
    CHECK_THROWS_WITH_AS(GridSolver(GridPlan(large, Device::cpu())), doctest::Contains("give a smaller image"), DeviceError);
    auto huge = spec_of(1 << 20, 1 << 20);
    huge.batch = std::int64_t{1} << 40;
    CHECK_THROWS_AS(GridPlan(huge, Device::cpu()), SpecError);
    auto mixed = spec_of(9, 9);
    mixed.precision = Precision::mixed;
    CHECK_REFUSED("refine", GridPlan(mixed, Device::cpu()));
    CHECK_REFUSED("knob leaf_cells of variant 'fronts' cannot be 8; give one of 4",
                  generate(spec_of(9, 9), {Backend::cuda, "sm_90"}, {.variant = "fronts:leaf_cells=8"}));

    GridSolver solver{plan(7, 6)};
    std::vector<double> stencil(42 * 9), b(42), x(42);
    CHECK_REFUSED("call factor", solver.solve(b, x));
    CHECK_REFUSED("no factorization yet", solver.status());
    CHECK_REFUSED("X (336 bytes) overlaps B (336 bytes); only X may be B itself",
                  solver.factor_solve(stencil.data(), b.data(), b.data() + 1));
    auto few = spec_of(7, 6);
    few.operations = {GridOperation::factor_solve};
    GridSolver other{GridPlan(few, Device::cpu())};
    CHECK_REFUSED("add it to the GridSpec's operations", other.solve(b, x));
    auto moved = std::move(other);
    CHECK_REFUSED("moved from", other.plan());
    auto first = plan(5, 5);
    const auto second = std::move(first);
    CHECK_REFUSED("moved from", first.spec());
    CHECK_REFUSED("moved from", GridSolver{first});
}

TEST_CASE("an executor of the caller's runs the tasks") {
    auto spec = spec_of(150, 120);
    const auto image = problem("dominant", 150, 120, 2);
    GridSolver solver{GridPlan(spec, Device::cpu(), {.workers = 2})};
    std::int64_t tasks = 0;
    solver.set_executor([&](std::int64_t count, const std::function<void(std::int64_t, int)>& run) {
        for (std::int64_t task = count - 1; task >= 0; --task, ++tasks) run(task, static_cast<int>(task % 2));
    });
    const auto b = noise(image.pixels(), 1);
    std::vector<double> x(b.size());
    solver.factor_solve(image.stencil, b, x);
    solver.check();
    CHECK(tasks > 0);
    CHECK(backward_error(matrix_of(image, spec), column(x, 0, image.pixels(), 1, 0), column(b, 0, image.pixels(), 1, 0)) <= 1e-14);
    CHECK_REFUSED("executor is empty", solver.set_executor({}));
}
