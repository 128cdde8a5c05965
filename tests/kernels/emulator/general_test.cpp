// General matrices on emulated GPUs, against dense algebra.
#include "tests/kernels/emulator/emulated.hpp"
#include "tests/support/cpu/hard.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const std::vector both{Precision::f64, Precision::f32};

void check_on_gpu(Spec spec, const std::string& schedule, const std::string& target = "cuda:sm_90", const std::string& variant = "getrf",
                  const std::vector<Precision>& precisions = both) {
    static unsigned seed = 100;
    spec.matrix = MatrixKind::general;
    if (spec.horizon % 2 == 1) spec.operations.insert(Operation::refine);
    for (const auto precision : precisions) {
        spec.precision = precision;
        INFO(fmt::format("n {} N {} m {} batch {} {} {} {} {}", spec.block, spec.horizon, spec.rhs, spec.batch, to_string(precision),
                         schedule, target, variant));
        const EmulatedUnit unit(choose(spec, parse_target(target), {.schedule = schedule, .variant = variant}));
        if (precision == Precision::f64)
            check_general<double>(unit, ++seed, next_running());
        else
            check_general<float>(unit, ++seed, next_running());
        check_findings(unit);
    }
}

}  // namespace

TEST_CASE("general matrices solve on the emulated GPU") {
    check_on_gpu({.block = 1, .horizon = 7, .rhs = 2, .batch = 5}, "sequential");
    check_on_gpu({.block = 2, .horizon = 5, .batch = 3}, "sequential", "cuda:sm_75");
    check_on_gpu({.block = 5, .horizon = 4, .rhs = 3, .batch = 3}, "sequential", "hip:gfx942");
    check_on_gpu({.block = 8, .horizon = 3, .order = trifold::Order::column_major}, "sequential");
    check_on_gpu({.block = 11, .horizon = 3, .batch = 2}, "sequential");
    check_on_gpu({.block = 16, .horizon = 3, .rhs = 5, .batch = 2}, "sequential");
}

TEST_CASE("general matrices solve on the emulated GPU in every schedule") {
    for (const std::string schedule :
         {"single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2"})
        check_on_gpu({.block = schedule == "multi-stage" ? 8 : 3, .horizon = 13, .rhs = 2, .batch = 2}, schedule,
                     schedule == "twisted:4" ? "hip:gfx1100" : "cuda:sm_90");
}

TEST_CASE("general matrices of few blocks and rings solve on the emulated GPU") {
    for (const std::int64_t horizon : {1, 2, 3, 6}) {
        check_on_gpu({.block = 4, .horizon = horizon, .batch = 2}, "multi-stage");
        check_on_gpu({.block = 3, .horizon = horizon, .rhs = 2, .rhs_layout = RhsLayout::stacked, .ring = true},
                     horizon == 3 ? "sequential" : "multi-stage");
    }
}

TEST_CASE("general matrices of larger blocks solve on the emulated GPU") {
    const std::string fused = "getrf-fused";
    check_on_gpu({.block = 3, .horizon = 5, .rhs = 2, .batch = 2}, "sequential", "cuda:sm_90", fused);
    check_on_gpu({.block = 17, .horizon = 3, .batch = 2}, "partitioned:2", "cuda:sm_75", fused);
    check_on_gpu({.block = 24, .horizon = 3, .rhs = 9, .order = trifold::Order::column_major}, "sequential", "cuda:sm_90", fused);
    check_on_gpu({.block = 29, .horizon = 3, .rhs = 2}, "partitioned:2", "hip:gfx942", fused);
    check_on_gpu({.block = 33, .horizon = 2, .batch = 2}, "sequential", "hip:gfx1100", fused);
    check_on_gpu({.block = 48, .horizon = 3}, "partitioned:2", "cuda:sm_90", fused);
    check_on_gpu({.block = 72, .horizon = 3}, "partitioned:2", "cuda:sm_90", fused, {Precision::f64});
    check_on_gpu({.block = 104, .horizon = 3}, "partitioned:2", "cuda:sm_90", fused, {Precision::f32});
}

TEST_CASE("general matrices of larger blocks solve on the emulated GPU in every schedule") {
    for (const std::string schedule :
         {"single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2"})
        check_on_gpu({.block = schedule == "multi-stage" ? 17 : 10, .horizon = 13, .rhs = 2, .batch = 2}, schedule,
                     schedule == "twisted:4" ? "hip:gfx1100" : "cuda:sm_90", "getrf-fused");
    for (const std::int64_t horizon : {1, 2, 3, 6}) {
        check_on_gpu({.block = 18, .horizon = horizon, .batch = 2}, "multi-stage", "cuda:sm_90", "getrf-fused");
        check_on_gpu({.block = 9, .horizon = horizon, .rhs = 2, .rhs_layout = RhsLayout::stacked, .ring = true},
                     horizon == 3 ? "sequential" : "multi-stage", "cuda:sm_90", "getrf-fused");
    }
}

TEST_CASE("general matrices of very small blocks, a lane each, solve on the emulated GPU") {
    for (const std::int64_t n : {1, 2})
        for (const std::int64_t horizon : {1, 2, 17, 40})
            check_on_gpu({.block = n, .horizon = horizon, .rhs = horizon == 2 ? 3 : 1, .batch = n == 1 ? 70 : 5}, "sequential",
                         horizon == 17 ? "hip:gfx942" : "cuda:sm_90", horizon == 40 ? "getrf-lanes:bake=0" : "getrf-lanes");
    check_on_gpu({.block = 2,
                  .horizon = 21,
                  .batch = 33,
                  .order = trifold::Order::column_major,
                  .rhs_layout = RhsLayout::stacked,
                  .d = {.leading = 3},
                  .e = {.leading = 5}},
                 "sequential", "cuda:sm_75", "getrf-lanes");
}

TEST_CASE("both variants of general matrices give the same verdict on the emulated GPU") {
    for (const std::string schedule : {"sequential", "partitioned:2", "multi-stage"})
        for (const bool ring : {false, true}) {
            INFO(fmt::format("{} ring {}", schedule, ring));
            const Spec spec{.block = 7, .horizon = 6, .matrix = MatrixKind::general, .batch = 4, .ring = ring};
            const auto unit_of = [&](const char* variant) {
                return EmulatedUnit(choose(spec, parse_target("cuda:sm_90"), {.schedule = schedule, .variant = variant}));
            };
            const EmulatedUnit small = unit_of("getrf"), large = unit_of("getrf-fused");
            GeneralSystems<double> systems(spec, 7);
            for (std::int64_t j = 0; j < 3; ++j)  // a row of zeros; one that is nearly another; one that is large
                for (std::int64_t c = 0; c < 7; ++c) {
                    if (j < 2) systems.set(1, 3, 2 + j, 4, c, 0);
                    if (j == 2) systems.set(1, 3, 4, 4, c, 0);
                    systems.set(2, 2, 2, 5, c, c == 6 ? 1 + 1e-15 : 1), systems.set(2, 2, 2, 6, c, 1);
                    systems.set(2, 2, 1, 5, c, 0), systems.set(2, 2, 1, 6, c, 0), systems.set(2, 2, 3, 5, c, 0),
                        systems.set(2, 2, 3, 6, c, 0);
                    systems.set(3, 1, 1, 3, c, 1e5 * systems.draw());
                }
            GeneralCall<double, EmulatedUnit> calls[]{{small, systems}, {large, systems}};
            for (auto& call : calls) {
                call.args.x = call.x.data();
                call.run(Operation::factor_solve, systems.b(), next_running());
            }
            for (std::int64_t m = 0; m < 4; ++m) {
                CAPTURE(m);
                const auto one = calls[0].status(m), other = calls[1].status(m);
                CHECK(one.block == other.block);
                CHECK(one.row == other.row);
                CHECK((one.block == -1) == (m != 1));
                CHECK(one.nearly_singular == other.nearly_singular);
                CHECK(one.nearly_singular == (m == 2 ? 1 : 0));
                CHECK(std::isfinite(systems.backward_error(m, calls[1].x, systems.b())) == (m != 1));
                if (m == 1) continue;
                CHECK(calls[0].inertia(m).negative % 2 == calls[1].inertia(m).negative % 2);
                if (m == 2) continue;  // its last digits decide
                CHECK(one.least_pivot == doctest::Approx(other.least_pivot).epsilon(1e-5));
                CHECK(calls[0].inertia(m).growth == doctest::Approx(calls[1].inertia(m).growth).epsilon(1e-5));
                CHECK(calls[0].log_determinant(m) == doctest::Approx(calls[1].log_determinant(m)));
            }
            check_findings(small), check_findings(large);
        }
}

TEST_CASE("general matrices take masks, diagonals, shifts and fewer columns on the emulated GPU") {
    for (const std::string variant : {"getrf", "getrf-fused", "getrf-lanes"})
        for (const std::string schedule : {"twisted:2", "partitioned:2", "sequential"}) {
            if ((variant == "getrf-lanes") != (schedule == "sequential")) continue;
            INFO(fmt::format("{} {}", variant, schedule));
            const std::int64_t n = variant == "getrf-lanes" ? 2 : 6;
            const auto rows = static_cast<std::size_t>(5 * n);
            const Spec spec{.block = n, .horizon = 5, .matrix = MatrixKind::general, .rhs = 3, .batch = 3};
            const EmulatedUnit unit(choose(spec, parse_target("cuda:sm_90"), {.schedule = schedule, .variant = variant}));
            GeneralSystems<double> systems(spec, 11);
            GeneralCall<double, EmulatedUnit> call(unit, systems);
            call.args.x = call.x.data();
            const std::vector<int> active{1, 0, 1};
            std::vector<double> diagonal(3 * rows), shift(3);
            for (auto& value : diagonal) value = 40 * systems.draw();
            for (auto& value : shift) value = 40 * systems.draw();
            for (std::size_t m = 0; m < 3; ++m)
                for (std::size_t k = 0; k < rows; ++k)
                    systems.dense(static_cast<std::int64_t>(m))(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(k)) +=
                        diagonal[m * rows + k] + shift[m];
            call.args.diagonal = diagonal.data(), call.args.shift = shift.data(), call.args.active = active.data();
            std::ranges::fill(call.x, 7.0);
            call.run(Operation::factor_solve, systems.b(), next_running());
            CHECK(systems.backward_error(0, call.x, systems.b()) <= 2e-14);
            CHECK(systems.backward_error(2, call.x, systems.b()) <= 2e-14);
            CHECK(systems.columns(1, call.x).isConstant(7.0));
            const auto all = call.x;
            std::ranges::fill(call.x, 7.0);
            call.args.columns = 2;
            call.run(Operation::solve, systems.b(), next_running());
            CHECK(systems.columns(2, call.x).leftCols(2) == systems.columns(2, all).leftCols(2));
            CHECK(systems.columns(2, call.x).col(2).isConstant(7.0));
            check_findings(unit);
        }
}

TEST_CASE("hard general matrices are solved backward stably on the emulated GPU, or not ok") {
    std::mt19937 random(1);
    std::int64_t sound = 0;
    for (const auto& [n, horizon, schedule] :
         {std::tuple{1, 9, "sequential"}, std::tuple{2, 7, "sequential"}, std::tuple{5, 3, "sequential"}, std::tuple{9, 5, "recursive:2"},
          std::tuple{17, 2, "sequential"}, std::tuple{26, 3, "multi-stage"}}) {
        const Spec spec{.block = n, .horizon = horizon, .matrix = MatrixKind::general, .batch = 3 * std::ssize(hard_kinds)};
        const EmulatedUnit unit(
            choose(spec, parse_target("cuda:sm_90"), {.schedule = schedule, .variant = n <= 2 ? "getrf-lanes" : "getrf-fused"}));
        GeneralSystems<double> systems(spec, static_cast<unsigned>(n));
        for (std::int64_t m = 0; m < spec.batch; ++m)
            make_hard(systems, spec, m, static_cast<std::size_t>(m) % std::size(hard_kinds), random);
        GeneralCall<double, EmulatedUnit> call(unit, systems);
        call.args.x = call.x.data();
        call.run(Operation::factor_solve, systems.b(), next_running());
        const auto x = call.x;
        auto residual = systems.b();
        for (std::int64_t m = 0; m < spec.batch; ++m) {
            const Eigen::MatrixXd left = systems.columns(m, systems.b()) - systems.dense(m) * systems.columns(m, x);
            std::copy_n(left.data(), n * horizon, residual.begin() + m * n * horizon);
        }
        call.run(Operation::solve, residual, next_running());
        for (std::int64_t m = 0; m < spec.batch; ++m) {
            INFO(fmt::format("{}, n = {}, N = {}, member {}", hard_kinds[static_cast<std::size_t>(m) % std::size(hard_kinds)], n, horizon,
                             m));
            if (call.status(m).block >= 0 || call.status(m).nearly_singular != 0) continue;
            ++sound;
            const auto& a = systems.dense(m);
            const Eigen::MatrixXd one = systems.columns(m, x) + systems.columns(m, call.x), b = systems.columns(m, systems.b());
            const double scale = a.cwiseAbs().rowwise().sum().maxCoeff() * one.cwiseAbs().maxCoeff() + b.cwiseAbs().maxCoeff();
            CHECK((a * one - b).cwiseAbs().maxCoeff() / scale <= 1e-12);
            CHECK((call.inertia(m).negative % 2 == 0 ? 1 : -1) == sign_of_determinant(a));
        }
        check_findings(unit);
    }
    CHECK(sound >= 40);
}
