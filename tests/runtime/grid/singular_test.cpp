// Images that are singular, or nearly so, and images that only look like it.
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

constexpr std::int64_t sides[][2] = {{3, 2}, {2, 5}, {7, 5}, {6, 11}, {17, 9}, {33, 33}};

/// D A D, where D has random powers of ten, and rows times further ones.
void scale(Image& image, int both, double rows, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_int_distribution<int> whole(-both, both);
    std::uniform_real_distribution<double> uniform(-rows, rows);
    std::vector<double> d(static_cast<std::size_t>(image.pixels()));
    for (auto& value : d) value = std::pow(10, whole(generator));
    for (std::int64_t p = 0; p < image.pixels(); ++p) {
        const double row = std::pow(10, uniform(generator));
        for (std::int64_t k = 0; k < 9; ++k) {
            const auto x = p % image.width + k % 3 - 1, y = p / image.width + k / 3 - 1;
            if (!image.holds(x, y)) continue;
            auto& entry = image.at(p % image.width, p / image.width, k % 3 - 1, k / 3 - 1);
            entry *= d[static_cast<std::size_t>(p)] * row * d[static_cast<std::size_t>(y * image.width + x)];
        }
    }
}

struct Solved {
    GridOutcome outcome;
    double error;  ///< row by row: the residual over the size of the row times that of x, and of b
    bool is_nan, is_log_nan;
};

/// Max over rows of |b - A x| / (sum |A| max |x| + |b|).
double error_by_rows(const Sparse& a, const Eigen::VectorXd& x, const Eigen::VectorXd& b) {
    const Eigen::VectorXd left = b - a * x;
    double worst = 0;
    for (int row = 0; row < a.rows(); ++row) {
        double sum = 0;
        for (Sparse::InnerIterator entry(a, row); entry; ++entry) sum += std::abs(entry.value());
        const double size = sum * x.lpNorm<Eigen::Infinity>() + std::abs(b[row]), error = size > 0 ? std::abs(left[row]) / size : 0;
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

template <class Real>
Solved solve(Image image, GridSpec spec = {}, bool accept = false, std::vector<double> b = {}) {
    spec.width = image.width;
    spec.height = image.height;
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    const auto stencil = rounded<Real>(image.stencil);
    for (std::size_t k = 0; k < stencil.size(); ++k) image.stencil[k] = static_cast<double>(stencil[k]);
    if (b.empty()) b = noise(image.pixels(), 4);
    const auto right = rounded<Real>(b);
    std::vector<Real> x(right.size());
    GridSolver solver{GridPlan(spec, tested_device())};
    solver.factor_solve(stencil, right, x, {.accept_nearly_singular = accept});
    const auto found = column(x, 0, image.pixels(), 1, 0);
    return {solver.status()[0], error_by_rows(matrix_of(image, spec), found, column(right, 0, image.pixels(), 1, 0)),
            found.array().isNaN().all(), std::isnan(solver.log_determinant()[0].log)};
}

bool is_singular(const Solved& solved) {
    return solved.outcome.problem == GridProblem::nearly_singular && solved.is_nan && solved.is_log_nan;
}

template <class Real>
bool is_sound(const Solved& solved, double bound) {
    return solved.outcome.ok() && solved.error <= bound;
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
struct Pairs : Images<Real> {
    Pairs(const GridSpec& spec, const Noise& noise, unsigned seed, std::int64_t columns = 0)
        : Images<Real>(
              spec, [&](unsigned k) { return pairs(spec.width, spec.height, noise.size, noise.diagonal, seed + k, noise.dominoes); },
              columns) {}
    /// The greatest backward error of an image that is ok; others must be NaN. Counts those that are ok.
    double worst(const std::vector<GridOutcome>& outcomes, const std::vector<Real>& x, bool transposed, int& ok) const {
        double most = 0;
        for (std::int64_t k = 0; k < this->spec.batch; ++k) {
            const bool is_ok = outcomes[static_cast<std::size_t>(k)].ok();
            ok += is_ok ? 1 : 0;
            if (is_ok)
                most = std::max(most, this->error(k, x, transposed));
            else
                CHECK(this->of(x, k, 0).array().isNaN().all());
        }
        return most;
    }
};

/// Every way to a solution of a batch of pairs. How many images were ok.
template <class Real>
int check_all_ways(const GridSpec& spec, const Noise& beside, std::int64_t columns, unsigned seed) {
    INFO(spec.width, " ", spec.height, " ", beside.size, " ", beside.diagonal, " ", seed);
    const Pairs<Real> images(spec, beside, seed, columns);
    const auto& b = images.b;
    const GridOptions options{.columns = columns};
    GridSolver solver{GridPlan(images.spec, tested_device())};
    int ok = 0;
    auto x = b, again = b, by_stencil = images.stencils;
    const auto check = [&](const std::vector<Real>& found, bool transposed) {
        CHECK(images.worst(solver.status(), found, transposed, ok) <= promised<Real>);
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

TEST_CASE("singular images: upwind convection, no flux, both scaled, and with sinks they are sound") {
    for (const auto& [width, height] : sides)
        for (const bool upwind : {false, true})
            for (const int both : {0, 2, 4})
                for (const double rows : {0.0, 9.0})
                    for (unsigned seed = 1; seed <= (width < 10 ? 6U : 2U); ++seed) {
                        INFO(width, " ", height, " ", upwind, " ", both, " ", rows, " ", seed);
                        auto singular = flow(width, height, upwind, 0, seed), sound = flow(width, height, upwind, 1e-2, seed);
                        scale(singular, both, rows, seed);
                        scale(sound, both, rows, seed);
                        const auto found = solve<double>(singular);
                        CAPTURE(found.outcome.least_pivot);
                        CHECK(is_singular(found));
                        const auto accepted = solve<double>(singular, {}, true);
                        if (found.outcome.least_pivot > 0) CHECK((accepted.outcome.problem == GridProblem::none && !accepted.is_nan));
                        const auto other = solve<double>(sound);
                        INFO(other.outcome.least_pivot, " ", other.outcome.growth, " ", other.error);
                        CHECK(is_sound<double>(other, 1e-13));
                        if (upwind || rows > 0) continue;
                        const GridSpec symmetric{.matrix = GridMatrix::symmetric};
                        const auto half = solve<double>(singular, symmetric);
                        CHECK(half.is_nan);
                        CHECK(half.outcome.problem == GridProblem::nearly_singular);
                        CHECK(is_sound<double>(solve<double>(sound, symmetric), 1e-13));
                    }
}

TEST_CASE("singular images: the 3 by 2 of convection whose columns sum to zero") {
    constexpr double a[6][6] = {{1.2, -1.2, 0, -.5, 0, 0}, {-.7, 2.5, -1.3, 0, -.5, 0}, {0, -.8, 1.9, 0, 0, -.6},
                                {-.5, 0, 0, .6, -.6, 0},   {0, -.5, 0, -.1, 1.9, -1.3}, {0, 0, -.6, 0, -.8, 1.9}};
    Image image(3, 2);
    for (std::int64_t row = 0; row < 6; ++row)
        for (std::int64_t to = 0; to < 6; ++to) {
            const auto dx = to % 3 - row % 3, dy = to / 3 - row / 3;
            if (std::abs(dx) <= 1) image.at(row % 3, row / 3, dx, dy) = a[row][to];
        }
    const auto found = solve<double>(image, {}, false, {1, 0, 0, 0, 0, 0});
    CHECK(is_singular(found));
    CHECK(found.outcome.pixel_x == -1);  // no pixel is to blame
    CHECK(is_singular(solve<float>(image, {}, false, {1, 0, 0, 0, 0, 0})));
    for (std::int64_t p = 0; p < 6; ++p) image.at(p % 3, p / 3, 0, 0) += 0.01;
    CHECK(is_sound<double>(solve<double>(image), 1e-14));
    CHECK(is_sound<float>(solve<float>(image), 1e-6));
}

TEST_CASE("sound images with rows of different sizes") {
    Image image(2, 2);  // x = 300 at one pixel, and Laplace's rows over the square of a small step
    image.at(0, 0, 0, 0) = 1;
    for (const auto& [x, y] : {std::pair{1, 0}, {0, 1}, {1, 1}})
        for (const auto& [dx, dy] : {std::pair{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}})
            if (image.holds(x + dx, y + dy)) image.at(x, y, dx, dy) = dx == 0 && dy == 0 ? 2e7 : -1e7;
    CHECK(is_sound<float>(solve<float>(image, {}, false, {300, 0, 0, 0}), 1e-6));
    for (double size = 1; size <= 1e18; size *= 1e3)
        for (const auto& [width, height] : {std::pair{7, 5}, {20, 33}}) {
            CAPTURE(size);
            auto ringed = problem("poisson", width, height, 1);
            for (std::int64_t p = 0; p < ringed.pixels(); ++p)
                for (std::int64_t k = 0; k < 9; ++k) {
                    auto& entry = ringed.stencil[static_cast<std::size_t>(9 * p + k)];
                    entry = !ringed.is_ring(p % width, p / width) ? size * entry : k == 4 ? 1 : 0;
                }
            CHECK(is_sound<double>(solve<double>(ringed), 1e-14));
            CHECK(is_sound<float>(solve<float>(ringed), 1e-6));
        }
}

TEST_CASE("rows times powers of two change no bit of the factors, and none of A' x = b") {
    auto spec = spec_of(19, 23);
    auto image = problem("random", 19, 23, 3);
    const auto b = noise(image.pixels(), 1);
    GridSolver solver{GridPlan(spec, tested_device())};
    std::vector<double> x(b.size()), x_transposed(b.size()), scaled_x(b.size()), scaled_transposed(b.size());
    solver.factor_solve(image.stencil, b, x);
    solver.solve_transposed(b, x_transposed);
    const auto outcome = solver.status()[0];
    const auto determinant = solver.log_determinant()[0];
    std::mt19937 generator(5);
    std::uniform_int_distribution<int> whole(-40, 40);
    auto scaled_b = b;
    double logs = 0;
    std::vector<double> rows;
    for (std::int64_t p = 0; p < image.pixels(); ++p) {
        const int power = whole(generator);
        rows.push_back(std::ldexp(1.0, power));
        logs += power * std::log(2);
        for (std::int64_t k = 0; k < 9; ++k) image.stencil[static_cast<std::size_t>(9 * p + k)] *= rows.back();
        scaled_b[static_cast<std::size_t>(p)] *= rows.back();
    }
    solver.factor_solve(image.stencil, scaled_b, scaled_x);
    solver.solve_transposed(b, scaled_transposed);
    CHECK(scaled_x == x);
    CHECK(solver.status()[0] == outcome);
    CHECK(solver.log_determinant()[0].log == doctest::Approx(determinant.log + logs).epsilon(1e-13));
    CHECK(solver.log_determinant()[0].sign == determinant.sign);
    for (std::size_t p = 0; p < rows.size(); ++p) CHECK(scaled_transposed[p] * rows[p] == x_transposed[p]);
    solver.check();
}

TEST_CASE("pairs of pixels in rows beside noise: right to the bound, or unstable") {
    const auto in_rows = [](double noise_size, unsigned seed) {
        Image image(6, 3);
        std::mt19937 generator(seed);
        std::normal_distribution<double> normal;
        for (std::int64_t p = 0; p < image.pixels(); ++p)
            for (std::int64_t k = 0; k < 9; ++k) {
                const auto x = p % 6, y = p / 6, dx = k % 3 - 1, dy = k / 3 - 1;
                if (image.holds(x + dx, y + dy))
                    image.at(x, y, dx, dy) = dy == 0 && dx == (x % 2 == 0 ? 1 : -1) ? 1 : noise_size * normal(generator);
            }
        return image;
    };
    int unstable = 0;
    const auto check = [&](const Solved& solved, double bound) {
        INFO(solved.outcome.growth, " ", solved.outcome.least_pivot, " ", solved.error);
        unstable += solved.outcome.problem == GridProblem::unstable ? 1 : 0;
        CHECK((solved.outcome.ok() ? solved.error <= bound : solved.is_nan));
    };
    for (unsigned seed = 1; seed <= 400; ++seed) {
        CAPTURE(seed);
        for (const double size : {1e-6, 1e-9, 1e-13}) check(solve<double>(in_rows(size, seed)), 1e-12);
        for (const double size : {1e-2, 1e-4, 1e-6}) check(solve<float>(in_rows(size, seed)), 2e-5);
    }
    CHECK(unstable >= 400);
}

TEST_CASE("singular images in f32: a step of refinement decides in doubt") {
    for (const auto& [width, height] : sides)
        for (const bool upwind : {false, true})
            for (const int both : {0, 1})
                for (unsigned seed = 1; seed <= (width < 10 ? 60U : 20U); ++seed) {
                    INFO(width, " ", height, " ", upwind, " ", both, " ", seed);
                    auto singular = flow(width, height, upwind, 0, seed), sound = flow(width, height, upwind, 1e-2, seed);
                    scale(singular, both, 9, seed);
                    scale(sound, both, 9, seed);
                    const auto found = solve<float>(singular);
                    CAPTURE(found.outcome.least_pivot);
                    CHECK(is_singular(found));
                    CHECK(is_sound<float>(solve<float>(sound), 1e-5));
                    if (upwind) continue;
                    const GridSpec symmetric{.matrix = GridMatrix::symmetric};
                    auto half = flow(width, height, false, 0, seed), whole = flow(width, height, false, 1e-2, seed);
                    scale(half, 2, 0, seed);
                    scale(whole, 2, 0, seed);
                    CHECK(is_singular(solve<float>(half, symmetric)));
                    CHECK(is_sound<float>(solve<float>(whole, symmetric), 1e-5));
                }
}

TEST_CASE("the reciprocal condition of images") {
    auto spec = spec_of(7, 5);
    spec.batch = 2;
    for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric})
        for (const auto boundary : {GridBoundary::natural, GridBoundary::fixed}) {
            spec.matrix = matrix;
            spec.boundary = boundary;
            INFO(to_string(matrix), " ", to_string(boundary));
            std::vector<double> stencils, expected;
            for (unsigned seed = 1; seed <= 2; ++seed) {
                auto image = flow(7, 5, matrix == GridMatrix::general, 1e-3, seed);
                scale(image, 3, matrix == GridMatrix::general ? 5 : 0, seed);
                stencils.insert(stencils.end(), image.stencil.begin(), image.stencil.end());
                Eigen::MatrixXd a = matrix_of(image, spec);
                for (std::int64_t p = 0; boundary == GridBoundary::fixed && p < image.pixels(); ++p)
                    if (image.is_ring(p % 7, p / 7)) a.col(p).setZero(), a.row(p).setZero(), a(p, p) = 1e-300;  // not of the unknowns
                const Eigen::VectorXd sizes = matrix == GridMatrix::general ? Eigen::VectorXd(a.cwiseAbs().rowwise().maxCoeff())
                                                                            : Eigen::VectorXd(a.diagonal().cwiseSqrt());
                Eigen::MatrixXd scaled = a, unknown(0, 0);
                for (Eigen::Index k = 0; k < a.rows(); ++k) {
                    scaled.row(k) *= std::ldexp(1.0, -std::ilogb(sizes[k]) - 1);
                    if (matrix == GridMatrix::symmetric) scaled.col(k) *= std::ldexp(1.0, -std::ilogb(sizes[k]) - 1);
                }
                std::vector<Eigen::Index> keep;
                for (std::int64_t p = 0; p < image.pixels(); ++p)
                    if (boundary == GridBoundary::natural || !image.is_ring(p % 7, p / 7)) keep.push_back(p);
                unknown = scaled(keep, keep);
                const auto norm = [](const Eigen::MatrixXd& m) { return m.cwiseAbs().rowwise().sum().maxCoeff(); };
                expected.push_back(1 / (norm(unknown) * norm(unknown.inverse())));
            }
            GridSolver solver{GridPlan(spec, tested_device())};
            solver.factor(stencils);
            const auto found = solver.reciprocal_condition(stencils);
            for (std::size_t k = 0; k < 2; ++k) {
                CHECK(found[k] >= expected[k] * (1 - 1e-6));
                CHECK(found[k] <= expected[k] * 4);
            }
        }
}

TEST_CASE("infinities and NaN in a solution, by B or by overflow, are out of range until the next one") {
    auto spec = spec_of(9, 7);
    spec.batch = 3;
    spec.rhs = 2;
    const auto image = problem("dominant", 9, 7, 1);
    std::vector<double> stencils;
    for (int member = 0; member < 3; ++member) stencils.insert(stencils.end(), image.stencil.begin(), image.stencil.end());
    for (const auto boundary : {GridBoundary::natural, GridBoundary::fixed})
        for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1.7e308})
            for (const std::int64_t columns : {2, 5}) {
                CAPTURE(bad);
                spec.boundary = boundary;
                GridSolver solver{GridPlan(spec, tested_device())};
                const auto good = noise(3 * 63 * columns, 2);
                auto b = good;
                b[static_cast<std::size_t>((63 + 31) * columns)] = bad;  // of the first panel, and the second image
                if (std::isfinite(bad))
                    for (auto& value : stencils) value *= 1e-3;
                std::vector<double> x(b.size());
                const auto is_left = [&] {
                    const auto& all = solver.status();
                    return all[0].solution && !all[1].solution && all[2].solution;
                };
                solver.factor_solve(stencils, b, x, {.columns = columns});
                CHECK(is_left());
                CHECK(solver.status()[1].problem == GridProblem::none);
                CHECK(!solver.ok());
                CHECK_THROWS_WITH_AS(solver.check(), doctest::Contains("in 1 of 3 images, the first of them 1: B holds infinities or NaN"),
                                     OutOfRange);
                solver.solve(good, x, {.columns = columns});
                CHECK(solver.ok());
                solver.solve_transposed(b, x, {.columns = columns});
                CHECK(is_left());
                solver.solve(good, x, {.columns = columns});
                solver.refine(stencils, b, x, false, {.columns = columns});
                CHECK(is_left());
                if (std::isfinite(bad))
                    for (auto& value : stencils) value *= 1e3;
            }
}

TEST_CASE("a solution all of which is below the normal range is out of range, unless B is zero") {
    const auto check = [](auto real, double size, double least) {
        using Real = decltype(real);
        auto spec = spec_of(9, 7);
        spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
        spec.batch = 2;
        spec.rhs = 2;
        auto image = problem("poisson", 9, 7, 1);
        for (auto& value : image.stencil) value *= size;
        auto stencils = rounded<Real>(image.stencil);
        stencils.insert(stencils.end(), stencils.begin(), stencils.begin() + 9 * 63);
        for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric}) {
            spec.matrix = matrix;
            GridSolver solver{GridPlan(spec, tested_device())};
            solver.factor(stencils);
            const auto is_in_range = [&](double first, double second, bool in_place) {
                std::vector<Real> b(4 * 63), x(b.size());
                for (std::size_t k = 0; k < b.size(); ++k) b[k] = static_cast<Real>(k < 2 * 63 ? (k % 2 == 0 ? first : second) : 1);
                in_place ? solver.solve_transposed(b, b) : solver.solve(b, x);
                CHECK(solver.status()[1].solution);
                return solver.status()[0].solution;
            };
            for (const bool in_place : {false, true}) {
                CHECK(!is_in_range(size * least / 1e5, 1, in_place));
                CHECK(!is_in_range(1, std::numeric_limits<Real>::denorm_min(), in_place));
                CHECK(is_in_range(0, 1, in_place));
                CHECK(is_in_range(0, 0, in_place));
                CHECK(is_in_range(size * least * 1000, 1, in_place));
            }
        }
    };
    check(double(), 1e200, 2.3e-308);
    check(float(), 1e20, 1.2e-38);
}

TEST_CASE("an image that is nearly singular is NaN in all that is asked of it, and another of its batch is not") {
    auto spec = spec_of(7, 5);
    spec.batch = 2;
    const auto singular = flow(7, 5, true, 0, 3), sound = flow(7, 5, true, 0.01, 3);
    auto stencils = singular.stencil;
    stencils.insert(stencils.end(), sound.stencil.begin(), sound.stencil.end());
    GridSolver solver{GridPlan(spec, tested_device())};
    const auto b = noise(70, 1);
    std::vector<double> x(70), by_b(70), by_stencil(630);
    const auto halves = [](const std::vector<double>& values) {
        const auto size = values.size() / 2;
        bool first = true, second = true;
        for (std::size_t k = 0; k < size; ++k) first = first && std::isnan(values[k]), second = second && !std::isnan(values[size + k]);
        return first && second;
    };
    solver.factor_solve(stencils, b, x);
    CHECK(halves(x));
    solver.solve_transposed(b, x);
    CHECK(halves(x));
    solver.refine(stencils, b, x);
    CHECK(halves(x));
    solver.gradients(x, b, by_b, by_stencil);
    CHECK(halves(by_b));
    CHECK(std::isnan(solver.log_determinant()[0].log));
    CHECK(!std::isnan(solver.log_determinant()[1].log));
    CHECK_THROWS_WITH_AS(solver.check(), doctest::Contains("image 0: A is singular to this precision"), GridFailed);
    const auto condition = solver.reciprocal_condition(stencils);
    CHECK(condition[0] < std::numeric_limits<double>::epsilon());
    CHECK(condition[1] > 1e-5);
    solver.factor(stencils, {.accept_nearly_singular = true});
    solver.solve(b, x);
    for (const auto value : x) CHECK(std::isfinite(value));
    solver.check();
}

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
    auto x = images.b;
    GridSolver solver{GridPlan(images.spec, tested_device())};
    solver.factor(images.stencils, {.accept_nearly_singular = true});
    solver.solve(images.b, x, {.accept_nearly_singular = true});
    solver.check();
    for (const auto value : x) REQUIRE(std::isfinite(value));
}
