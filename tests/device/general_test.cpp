// General matrices on a device, against their residuals, and what they cost.
#include "tests/support/cpu/general.hpp"

#include <trifold/solver.hpp>

#include "tests/device/device.hpp"
#include "tests/device/on_device.hpp"
#include "tests/support/test.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

template <class Real>
void check_on_device(const Device& where, Spec spec, unsigned seed, const Tuning& tuning = {}) {
    constexpr double most = sizeof(Real) == 8 ? 5e-14 : 2e-5;
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    INFO(fmt::format("n {} N {} m {} batch {} {} ring {}", spec.block, spec.horizon, spec.rhs, spec.batch, to_string(spec.precision),
                     spec.ring));
    GeneralSystems<Real> systems(spec, seed);
    Solver solver{Plan(spec, where, tuning)};
    const auto& b = systems.b();
    std::vector<Real> x(b.size());
    const auto check = [&](const char* what, bool turned) {
        INFO(what);
        for (std::int64_t m = 0; m < spec.batch; ++m) CHECK(systems.backward_error(m, x, b, turned) <= most);
    };
    solver.factor_solve(systems.d(), systems.e(), b, x, {.u = systems.u().data()});
    CHECK(solver.ok());
    check("factor_solve", false);
    const auto together = x;
    solver.factor(systems.d(), systems.e(), {.u = systems.u().data()});
    solver.solve(b, x);
    check("solve", false);
    solver.solve_transposed(b, x);
    check("solve_transposed", true);
    solver.factor_solve(systems.d(), systems.e(), b, x, {.u = systems.u().data()});
    CHECK(x == together);
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const auto sign = systems.dense(m).determinant();
        if (std::isfinite(sign) && sign != 0) CHECK((solver.status()[static_cast<std::size_t>(m)].negative % 2 == 1) == (sign < 0));
    }
}

/// Milliseconds of calls on random systems, the medians of 20: factor, solve, A' and factor_solve.
struct Times {
    double factor, solve, transposed, both;
};
Times times_of(DeviceTools& tools, const Device& where, const Spec& spec, const Tuning& tuning) {
    std::mt19937 random(7);
    const auto draw = [&](std::int64_t count) {
        std::vector<double> result(static_cast<std::size_t>(count));
        for (auto& value : result) value = static_cast<double>(random()) * 0x1p-31 - 1;
        return result;
    };
    auto d = draw(diagonal_extent(spec, spec.batch));
    const auto n = spec.block;
    for (std::int64_t k = 0; k < spec.batch * spec.horizon; ++k)
        for (std::int64_t r = 0; r < n; ++r) d[static_cast<std::size_t>((k * n + r) * n + (r + 1) % n)] += static_cast<double>(3 + n);
    const OnDevice<double> dd(tools, d), de(tools, draw(coupling_extent(spec, spec.batch))),
        du(tools, draw(coupling_extent(spec, spec.batch))), db(tools, draw(rhs_extent(spec, spec.batch, 1))),
        dx(tools, draw(rhs_extent(spec, spec.batch, 1)));
    Solver solver{Plan(spec, where, tuning)};
    solver.prepare();
    const double *pd = dd.get(), *pe = de.get(), *pb = db.get();
    const FactorOptions<double> options{.u = du.get()};
    const auto median = [&](const auto& call) {
        const auto once = tools.capture_timed(call);
        std::vector<double> times;
        for (int k = 0; k < 20; ++k) times.push_back(once());
        std::ranges::sort(times);
        return times[times.size() / 2];
    };
    Times result{};
    result.both = median([&] { solver.factor_solve(pd, pe, pb, dx.get(), {tools.stream()}, options); });
    result.factor = median([&] { solver.factor(pd, pe, {tools.stream()}, options); });
    result.solve = median([&] { solver.solve(pb, dx.get(), {tools.stream()}); });
    result.transposed = median([&] { solver.solve_transposed(pb, dx.get(), {tools.stream()}); });
    CHECK(solver.ok());
    return result;
}

}  // namespace

TEST_CASE("device: general matrices agree with their residuals") {
    const auto where = device();
    if (!where) return;
    unsigned k = 0;
    const std::int64_t horizons[]{1, 2, 7, 33, 65};
    for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16}) {
        Spec spec{
            .block = n, .horizon = horizons[++k % 5], .matrix = MatrixKind::general, .rhs = k % 3 == 0 ? 5 : 1, .batch = 1 + k % 5 * 7};
        spec.ring = k % 4 == 1 && n <= 8;
        if (k % 3 == 0)
            check_on_device<float>(*where, spec, k);
        else
            check_on_device<double>(*where, spec, k);
    }
    for (const std::int64_t n : {1, 2}) {
        const Spec spec{.block = n, .horizon = 37, .matrix = MatrixKind::general, .rhs = n, .batch = 100};
        check_on_device<double>(*where, spec, ++k, {.schedule = "sequential", .variant = "getrf-lanes"});
        check_on_device<float>(*where, spec, ++k, {.schedule = "sequential", .variant = "getrf-lanes"});
    }
    for (const std::string schedule : {"multi-stage", "partitioned:3", "twisted:2", "recursive:2:3"})
        for (const std::int64_t n : {6, 21})
            check_on_device<double>(*where, {.block = n, .horizon = 40, .matrix = MatrixKind::general, .batch = 3}, ++k,
                                    {.schedule = schedule});
}

TEST_CASE("device: general matrices of larger blocks agree with their residuals") {
    const auto where = device();
    if (!where) return;
    unsigned k = 0;
    const std::int64_t horizons[]{1, 2, 7, 9, 12};
    for (const std::int64_t n : {17, 20, 24, 25, 31, 32, 33, 40, 47, 48, 57, 64, 65, 72}) {
        Spec spec{.block = n, .horizon = horizons[++k % 5], .matrix = MatrixKind::general, .rhs = k % 3 == 0 ? 10 : 1, .batch = 1 + k % 4};
        spec.ring = k % 4 == 1;
        check_on_device<double>(*where, spec, k);
        check_on_device<float>(*where, spec, k, {.variant = "getrf-fused"});
    }
    check_on_device<float>(*where, {.block = 104, .horizon = 9, .matrix = MatrixKind::general}, ++k, {.schedule = "partitioned:3"});
    check_on_device<double>(*where, {.block = 88, .horizon = 9, .matrix = MatrixKind::general, .rhs = 2}, ++k);
    for (const std::string warps : {"2", "4", "8"})
        check_on_device<double>(*where, {.block = 30, .horizon = 9, .matrix = MatrixKind::general, .batch = 200}, ++k,
                                {.schedule = "twisted:4", .variant = "getrf-fused:fused_warps=" + warps});
}

// Run it by test_gpu -tc="*what general matrices cost*" --no-skip. Floors: bytes over 4.8 TB/s, of 6 n^2 words a block for a factorization,
// and 3 n^2 + 4 n for a solve.
TEST_CASE("device: what general matrices cost" * doctest::skip()) {
    const auto where = device();
    if (!where) return;
    DeviceTools tools(*where);
    const auto measure = [&](std::int64_t n, std::int64_t horizon, std::int64_t batch, const std::string& schedule,
                             const std::string& variant = "auto") {
        const Spec spec{.block = n, .horizon = horizon, .matrix = MatrixKind::general, .batch = batch};
        const auto words = static_cast<double>(8 * spec.horizon * spec.batch) / 4.8e12 * 1e3, size = static_cast<double>(n);
        const auto t = times_of(tools, *where, spec, {.schedule = schedule, .variant = variant});
        const auto factor = words * 6 * size * size, solve = words * (3 * size * size + 4 * size),
                   both = factor + words * (2 * size * size + 4 * size);
        MESSAGE(
            fmt::format("general {} x {} x {}, {} {}: factor {:.3f} ms ({:.2f} floors), solve {:.3f} ({:.2f}), A' {:.3f} ({:.2f}), "
                        "factor_solve {:.3f} ({:.2f})",
                        spec.horizon, n, spec.batch, schedule, variant, t.factor, t.factor / factor, t.solve, t.solve / solve, t.transposed,
                        t.transposed / solve, t.both, t.both / both));
    };
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 11, 16})
        for (const std::string schedule : {"sequential", "twisted:2"})
            if (n <= 8 || schedule == "sequential") measure(n, 128, 4096, schedule, "getrf");
    for (const std::int64_t n : {1, 2})
        for (const std::int64_t horizon : {128, 1024}) measure(n, horizon, 4096, "sequential", "getrf-lanes");
    measure(1, 1024, 64, "sequential", "getrf-lanes");
    measure(1, 1024, 64, "multi-stage", "getrf");
    for (const std::int64_t n : {24, 32, 48, 64, 72})
        for (const std::int64_t batch : {64, 1024}) {
            measure(n, 50, batch, "sequential");
            if (batch == 64) measure(n, 50, batch, "auto");
        }
}
