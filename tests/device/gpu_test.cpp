// The whole path on a real GPU through the public interface, against dense algebra in double.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <trifold/trifold.hpp>

#include "tests/device/device.hpp"
#include "tests/device/on_device.hpp"
#include "tests/support/capture_file.hpp"
#include "tests/support/cpu/units.hpp"
#include "tests/support/cpu/checks.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
constexpr double tolerance = sizeof(Real) == 8 ? 1e-14 : 1e-6;
template <class Real>
constexpr Precision precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;

std::vector<System> random_systems(const Spec& spec, std::int64_t columns, unsigned seed) {
    std::vector<System> systems;
    for (std::int64_t m = 0; m < spec.batch; ++m)
        systems.push_back(random_system(spec.block, spec.horizon, columns, seed + static_cast<unsigned>(m)));
    return systems;
}

template <class Real>
double block_error(const std::vector<Real>& values, std::int64_t index, std::int64_t n, const Matrix& expected) {
    using Block = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
    return (Block(values.data() + index * n * n, n, n).template cast<double>() - expected).cwiseAbs().maxCoeff();
}

template <class Real>
void check_inverse(Solver& solver, const Spec& spec, const std::vector<System>& systems) {
    const auto n = spec.block;
    std::vector<Real> diagonal(static_cast<std::size_t>(spec.batch * spec.horizon * n * n));
    std::vector<Real> coupling(static_cast<std::size_t>(spec.batch * (spec.horizon - 1) * n * n));
    solver.selected_inverse<Real>(std::span<Real>(diagonal), std::span<Real>(coupling));
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const Matrix inverse = systems[static_cast<std::size_t>(m)].dense().inverse();
        const auto bound = 100 * tolerance<Real> * inverse.cwiseAbs().maxCoeff();
        for (std::int64_t i = 0; i < spec.horizon; ++i) {
            CHECK(block_error(diagonal, m * spec.horizon + i, n, inverse.block(i * n, i * n, n, n)) <= bound);
            if (i + 1 < spec.horizon)
                CHECK(block_error(coupling, m * (spec.horizon - 1) + i, n, inverse.block((i + 1) * n, i * n, n, n)) <= bound);
        }
    }
}

template <class Real>
void check_everything(const Device& device, Spec spec, const std::string& schedule, const std::string& variant = "auto",
                      bool inverse = true) {
    spec.precision = precision<Real>;
    if (inverse) spec.operations = all_operations();
    const auto label = fmt::format("n {} N {} m {} batch {} {} {} {}", spec.block, spec.horizon, spec.rhs, spec.batch, schedule, variant,
                                   to_string(spec.precision));
    CAPTURE(label);
    const Plan plan(spec, device, {.schedule = schedule, .variant = device.backend() == Backend::cuda ? variant : "auto"});
    DeviceTools tools(device);
    Solver solver(plan);
    const auto systems = random_systems(spec, spec.rhs, 7);
    const auto user = arrays<Real>(spec, systems);
    const OnDevice<Real> d(tools, user.d), e(tools, user.e), b(tools, user.b), x(tools, user.b), y(tools, user.b);
    const Stream stream{tools.stream()};
    const auto check_x = [&](const std::vector<Real>& result) {
        for (std::int64_t m = 0; m < spec.batch; ++m) {
            const auto& system = systems[static_cast<std::size_t>(m)];
            CHECK(relative_residual(system.dense(), gather(spec, result, m, spec.rhs), system.b) <= tolerance<Real>);
        }
    };
    solver.factor_solve(d.get(), e.get(), b.get(), x.get(), stream);
    check_x(x.host());
    solver.factor(d.get(), e.get(), stream);
    solver.solve(b.get(), x.get(), stream);
    check_x(x.host());
    solver.forward(b.get(), y.get(), stream);
    const auto forward = y.host();
    solver.backward(y.get(), y.get(), stream);
    const auto solved = x.host(), again = y.host();
    CHECK(std::memcmp(solved.data(), again.data(), solved.size() * sizeof(Real)) == 0);
    CHECK_NOTHROW(solver.check());
    const auto determinants = solver.log_determinant();
    const auto quadratic = solver.quadratic();
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const auto& system = systems[static_cast<std::size_t>(m)];
        const auto expected = forward_oracle(system, plan.choice().schedule);
        CHECK((gather(spec, forward, m, spec.rhs) - expected).cwiseAbs().maxCoeff() <=
              100 * tolerance<Real> * expected.cwiseAbs().maxCoeff());
        const double determinant = 2 * system.dense().llt().matrixLLT().diagonal().array().log().sum();
        CHECK(determinants[static_cast<std::size_t>(m)] == doctest::Approx(determinant).epsilon(tolerance<Real>));
        for (std::int64_t c = 0; c < spec.rhs; ++c)
            CHECK(quadratic[static_cast<std::size_t>(m * spec.rhs + c)] ==
                  doctest::Approx(expected.col(c).squaredNorm()).epsilon(10 * tolerance<Real>));
    }
    std::vector<Real> host(user.b.size());
    solver.factor_solve<Real>(std::span<const Real>(user.d), std::span<const Real>(user.e), std::span<const Real>(user.b),
                              std::span<Real>(host));
    check_x(host);
    if (inverse) check_inverse<Real>(solver, spec, systems);
}

void check_both(const Device& device, const Spec& spec, const std::string& schedule, const std::string& variant = "auto",
                bool inverse = true) {
    check_everything<double>(device, spec, schedule, variant, inverse);
    check_everything<float>(device, spec, schedule, variant, inverse);
}

/// A batch whose members are in different units, over the whole range of exponents, against dense algebra at scale 1.
template <class Real>
void check_range(const Device& device, Spec spec, const std::string& schedule, const std::string& variant) {
    const auto units = promised<Real>(4);
    spec.precision = precision<Real>, spec.batch = static_cast<std::int64_t>(units.size());
    CAPTURE(spec.block);
    CAPTURE(variant);
    CAPTURE(sizeof(Real));
    const auto at_one = random_systems(spec, spec.rhs, 3);
    auto systems = at_one;
    for (std::size_t m = 0; m < units.size(); ++m) systems[m] = scaled(at_one[m], units[m], spec);
    const auto user = arrays<Real>(spec, systems);
    Solver solver(Plan(spec, device, {.schedule = schedule, .variant = device.backend() == Backend::cuda ? variant : "auto"}));
    std::vector<Real> x(user.b.size()), again(user.b.size());
    solver.factor_solve<Real>(std::span<const Real>(user.d), std::span<const Real>(user.e), std::span<const Real>(user.b),
                              std::span<Real>(x));
    solver.solve<Real>(std::span<const Real>(user.b), std::span<Real>(again));
    CHECK_NOTHROW(solver.check());
    const auto quadratic = solver.quadratic();
    for (std::size_t m = 0; m < units.size(); ++m) {
        const auto& u = units[m];
        CAPTURE(u.matrix);
        CAPTURE(u.rhs);
        CAPTURE(u.stage);
        const Matrix a = at_one[m].dense();
        for (const auto* result : {&x, &again})
            CHECK(relative_residual(a, at_scale_one(gather(spec, *result, static_cast<std::int64_t>(m), spec.rhs), u, spec), at_one[m].b) <=
                  tolerance<Real>);
        const double expected = at_one[m].b.col(0).dot(a.llt().solve(at_one[m].b.col(0)));
        const double computed = quadratic[m * static_cast<std::size_t>(spec.rhs)];
        if (std::isnormal(std::ldexp(expected, 2 * u.rhs - u.matrix)))
            CHECK(std::ldexp(computed, u.matrix - 2 * u.rhs) == doctest::Approx(expected).epsilon(20 * tolerance<Real>));
        else
            CHECK(std::isnan(computed));
    }
}

}  // namespace

TEST_CASE("gpu: the whole range of exponents") {
    const auto gpu = device();
    if (!gpu) return;
    struct Case {
        std::int64_t block;
        const char *schedule, *variant;
    };
    for (const auto& [block, schedule, variant] : {Case{12, "multi-stage", "fused"},
                                                   {40, "twisted:2", "tiled"},
                                                   {7, "sequential", "team"},
                                                   {12, "recursive:2", "team"},
                                                   {20, "twisted:2", "chains"},
                                                   {50, "sequential", "chains"},
                                                   {12, "multi-stage", "dataflow"},
                                                   {40, "multi-stage", "dataflow"},
                                                   {70, "multi-stage", "tile-dataflow"}}) {
        check_range<double>(*gpu, {.block = block, .horizon = 7, .rhs = 2}, schedule, variant);
        check_range<float>(*gpu, {.block = block, .horizon = 7, .rhs = 2}, schedule, variant);
    }
}

TEST_CASE("gpu: every schedule") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::string schedule :
         {"sequential", "single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2"})
        check_both(*gpu, {.block = 12, .horizon = 31, .rhs = 3, .batch = 2}, schedule);
}

TEST_CASE("gpu: every block size") {
    const auto gpu = device();
    if (!gpu) return;
    const std::string schedules[] = {"twisted:2", "partitioned:3", "multi-stage"};
    int k = 0;
    for (const std::int64_t n : {1, 4, 7, 8, 16, 24, 31, 32, 33, 48, 64, 96, 100, 128})
        check_both(*gpu, {.block = n, .horizon = 7, .rhs = k % 4 == 3 ? 8 : 1}, schedules[k++ % 3]);
}

TEST_CASE("gpu: large blocks") {
    const auto gpu = device();
    if (!gpu) return;
    check_both(*gpu, {.block = 200, .horizon = 5, .rhs = 3}, "partitioned:2");
    check_both(*gpu, {.block = 65, .horizon = 9, .rhs = 5, .batch = 2}, "twisted:4");
    check_both(*gpu, {.block = 512, .horizon = 3}, "multi-stage", "auto", false);
    check_both(*gpu, {.block = 1024, .horizon = 2}, "sequential", "auto", false);
}

TEST_CASE("gpu: tiled kernels on small blocks") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::int64_t n : {7, 32, 33, 64}) check_both(*gpu, {.block = n, .horizon = 9, .rhs = 3}, "twisted:4", "tiled");
}

TEST_CASE("gpu: batches by teams") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::int64_t n : {1, 7, 12, 24})
        check_both(*gpu, {.block = n, .horizon = 9, .rhs = n == 7 ? 9 : 3, .batch = 37}, "sequential", "team", false);
    for (const std::int64_t n : {1, 3, 4, 8, 16})
        check_both(*gpu, {.block = n, .horizon = 101, .rhs = n == 4 ? 9 : 1, .batch = n == 3 ? 5 : 1}, n == 8 ? "twisted:7" : "recursive:3",
                   "team");
}

TEST_CASE("gpu: horizons, long and short") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::int64_t horizon : {1, 2, 3, 4, 5, 8, 64, 127})
        check_both(*gpu, {.block = 5, .horizon = horizon}, horizon % 2 == 0 ? "multi-stage" : "recursive:2:2");
}

TEST_CASE("gpu: a failed member is named and the others are solved") {
    const auto gpu = device();
    if (!gpu) return;
    for (const auto& [schedule, block] : {std::pair("twisted:2", 6), {"multi-stage", 6}, {"twisted:2", 70}, {"multi-stage", 70}}) {
        const Spec spec{.block = block, .horizon = 9, .batch = 3};
        const auto systems = random_systems(spec, 1, 3);
        auto user = arrays<double>(spec, systems);
        const auto n = spec.block;
        user.d[static_cast<std::size_t>(((1 * spec.horizon + 4) * n + 2) * n + 2)] = -1e6;
        Solver solver(Plan(spec, *gpu, {.schedule = schedule}));
        std::vector<double> x(user.b.size());
        solver.factor_solve<double>(std::span<const double>(user.d), std::span<const double>(user.e), std::span<const double>(user.b),
                                    std::span<double>(x));
        const auto status = solver.status();
        CHECK(status[1].block == 4);
        CHECK(status[1].row == 2);
        CHECK_THROWS_AS(solver.check(), NotPositiveDefinite);
        CHECK(std::isnan(solver.log_determinant()[1]));
        for (const std::int64_t m : {0, 2}) {
            CHECK(status[static_cast<std::size_t>(m)].block == -1);
            CHECK(relative_residual(systems[static_cast<std::size_t>(m)].dense(), gather(spec, x, m, 1),
                                    systems[static_cast<std::size_t>(m)].b) <= 1e-14);
        }
        const auto failed = gather(spec, x, 1, 1);
        for (Eigen::Index k = 0; k < failed.size(); ++k) CHECK(std::isnan(failed(k)));
    }
}

TEST_CASE("gpu: a member's bits depend on nothing else") {
    const auto gpu = device();
    if (!gpu) return;
    const Spec spec{.block = 20, .horizon = 17, .batch = 3};
    auto systems = random_systems(spec, 1, 5);
    systems[2] = systems[0];
    const auto user = arrays<double>(spec, systems);
    Solver solver(Plan(spec, *gpu, {.schedule = "twisted:4"}));
    std::vector<double> x(user.b.size()), again(user.b.size());
    for (auto* to : {&x, &again})
        solver.factor_solve<double>(std::span<const double>(user.d), std::span<const double>(user.e), std::span<const double>(user.b),
                                    std::span<double>(*to));
    CHECK(x == again);
    CHECK(gather(spec, x, 0, 1) == gather(spec, x, 2, 1));
}

TEST_CASE("gpu: masks, shifts, diagonals and floors") {
    const auto gpu = device();
    if (!gpu) return;
    const Spec spec{.block = 9, .horizon = 8, .batch = 3};
    auto systems = random_systems(spec, 1, 9);
    const auto user = arrays<double>(spec, systems);
    DeviceTools tools(*gpu);
    Solver solver(Plan(spec, *gpu, {.schedule = "partitioned:2"}));
    const OnDevice<double> d(tools, user.d), e(tools, user.e), b(tools, user.b), x(tools, std::vector<double>(user.b.size(), 7.0));
    std::vector<double> diagonal(static_cast<std::size_t>(spec.batch * spec.horizon * spec.block));
    for (std::size_t k = 0; k < diagonal.size(); ++k) diagonal[k] = 0.25 * static_cast<double>(k % 5);
    const OnDevice<double> added(tools, diagonal), shift(tools, {0.5, 1.0, 2.0});
    const OnDevice<int> active(tools, {1, 0, 1});
    FactorOptions<double> options;
    options.diagonal = added.get(), options.shift = shift.get(), options.active = active.get();
    solver.factor_solve(d.get(), e.get(), b.get(), x.get(), {tools.stream()}, options);
    const auto result = x.host();
    for (const std::int64_t m : {0, 2}) {
        auto& system = systems[static_cast<std::size_t>(m)];
        for (std::int64_t i = 0; i < spec.horizon; ++i)
            for (std::int64_t r = 0; r < spec.block; ++r)
                system.d[static_cast<std::size_t>(i)](r, r) +=
                    diagonal[static_cast<std::size_t>((m * spec.horizon + i) * spec.block + r)] + (m == 0 ? 0.5 : 2.0);
        CHECK(relative_residual(system.dense(), gather(spec, result, m, 1), system.b) <= 1e-14);
    }
    const auto untouched = gather(spec, result, 1, 1);
    CHECK(untouched == Matrix::Constant(untouched.rows(), 1, 7.0));

    // A pivot of a zero matrix is raised to the floor: one block of ones has one good pivot and eight raised.
    const Spec single{.block = 9, .horizon = 1};
    Solver floored(Plan(single, *gpu, {}));
    const OnDevice<double> ones(tools, std::vector<double>(81, 1.0));
    FactorOptions<double> floor;
    floor.pivot_floor = 1e-3;
    floored.factor(ones.get(), static_cast<const double*>(nullptr), {tools.stream()}, floor);
    CHECK(floored.status()[0].block == -1);
    CHECK(floored.status()[0].floors == 8);
}

TEST_CASE("gpu: layouts") {
    const auto gpu = device();
    if (!gpu) return;
    for (const auto order : {Order::row_major, Order::column_major})
        for (const auto coupling : {Coupling::lower, Coupling::upper})
            check_both(*gpu,
                       {.block = 10,
                        .horizon = 6,
                        .rhs = 2,
                        .batch = 2,
                        .order = order,
                        .coupling = coupling,
                        .rhs_layout = RhsLayout::stacked,
                        .d = {.leading = 11, .stage = 123},
                        .e = {.leading = 13}},
                       "twisted:2");
}

TEST_CASE("gpu: a call may be captured in the caller's graph") {
    const auto gpu = device();
    if (!gpu) return;
    const Spec spec{.block = 16, .horizon = 20};
    const auto systems = random_systems(spec, 1, 4);
    const auto user = arrays<double>(spec, systems);
    DeviceTools tools(*gpu);
    Solver solver(Plan(spec, *gpu, {.schedule = "multi-stage"}));
    const OnDevice<double> d(tools, user.d), e(tools, user.e), b(tools, user.b), x(tools, user.b);
    solver.factor_solve(d.get(), e.get(), b.get(), x.get(), {tools.stream()});
    const auto expected = x.host();
    const auto replay = tools.capture([&] { solver.factor_solve(d.get(), e.get(), b.get(), x.get(), {tools.stream()}); });
    const std::vector<double> rubbish(user.b.size(), 3.0);
    tools.upload(x.get(), rubbish.data(), static_cast<std::int64_t>(rubbish.size() * sizeof(double)));
    for (int k = 0; k < 3; ++k) replay();
    CHECK(x.host() == expected);
}

TEST_CASE("gpu: a captured Solver has its calls timed by the device, and no bit changes") {
    const auto gpu = device();
    if (!gpu) return;
    const Spec spec{.block = 16, .horizon = 20};
    const auto user = arrays<double>(spec, random_systems(spec, 1, 4));
    DeviceTools tools(*gpu);
    const OnDevice<double> d(tools, user.d), e(tools, user.e), b(tools, user.b), x(tools, user.b);
    const Plan plan(spec, *gpu, {.schedule = "multi-stage"});
    const auto solve = [&](Solver& solver) { solver.factor_solve(d.get(), e.get(), b.get(), x.get(), {tools.stream()}); };
    Solver plain(plan);
    solve(plain);
    const auto expected = x.host();
    const CaptureFile file;
    {
        Solver solver(plan);
        for (int k = 0; k < 9; ++k) {
            solve(solver);
            CHECK(x.host() == expected);
        }
        const auto replay = tools.capture([&] { solve(solver); });
        for (int k = 0; k < 3; ++k) replay();
        CHECK(x.host() == expected);
    }
    const auto operation = file.only().at("operations").at("factor_solve");
    const bool on_cpu = gpu->backend() == Backend::cpu;  // where nothing is recorded
    CHECK(operation.at("calls") == (on_cpu ? 12 : 9));
    CHECK(operation.at("recorded") == (on_cpu ? 0 : 1));
    CHECK(operation.at("timed") == 4);
    CHECK(operation.at("seconds") > 1e-6);
    CHECK(operation.at("seconds") < 1e-2);
}

namespace {

template <class Real>
void check_walks_of(const Device& device, Spec spec, const std::string& schedule, const std::string& variant) {
    spec.precision = precision<Real>;
    CAPTURE(variant);
    CAPTURE(spec.block);
    Solver solver(Plan(spec, device, {.schedule = schedule, .variant = variant}));
    check_walks(spec, [&](const std::vector<System>& systems, bool accept) {
        const auto user = arrays<Real>(spec, systems);
        solver.factor(user.d, user.e, {.accept_nearly_singular = accept});
        std::vector<trifold_status> result;
        for (const auto& outcome : solver.status())
            result.push_back({outcome.block, outcome.row, outcome.floors, outcome.least_pivot, outcome.nearly_singular});
        return result;
    });
}

}  // namespace

TEST_CASE("gpu: random walks without an anchor are nearly singular or not positive definite, and with a weak one sound") {
    const auto gpu = device();
    if (!gpu) return;
    for (const std::int64_t horizon : {7, 50})
        for (const std::string variant : {"team", "fused", "tiled", "dataflow", "tile-dataflow"}) {
            const auto* schedule = variant == "dataflow" ? "multi-stage" : "twisted:3";
            const Spec spec{.block = horizon == 7 ? 3 : 6, .horizon = horizon, .batch = 12};
            check_walks_of<double>(*gpu, spec, schedule, variant);
            check_walks_of<float>(*gpu, spec, schedule, variant);
        }
    check_walks_of<double>(*gpu, {.block = 1, .horizon = 50, .batch = 64}, "sequential", "team");
    check_walks_of<double>(*gpu, {.block = 40, .horizon = 50, .batch = 4}, "multi-stage", "dataflow");
}
