// What kernels assume of their launches holds for every problem; a launch that breaks it is refused.

#define TRIFOLD_SIZE constexpr
#include "generator/grid/gpu/gpu.hpp"
#include "generator/grid/knobs.hpp"
#include "generator/program/require.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/variant.hpp"
#include "tests/generator/designs.hpp"
#include "tests/support/test.hpp"
#include "tests/support/thinning.hpp"

using namespace trifold;
using grid::gpu::kernel_names;

namespace {

const std::vector<Target> gpus{{Backend::cuda, "sm_90"}, {Backend::hip, "gfx942"}, {Backend::cuda, "sm_75"}, {Backend::hip, "gfx1100"}};

/// A launch of an image's Program, taken apart, to be changed.
struct GridLaunch {
    grid::gpu::Kernel kernel;
    grid::gpu::Needs needs;
    trifold_grid_launch constants;
    std::int64_t groups;
    grid::Level level;
};

grid::gpu::Kernel kernel_named(std::string_view name) {
    // "grid_step_1_general_f64": its kind and precision stand behind it.
    std::size_t found = 0;
    for (std::size_t k = 0; k < kernel_names.size(); ++k)
        if (name.substr(5).starts_with(fmt::format("{}_", kernel_names[k])) && kernel_names[k].size() >= kernel_names[found].size())
            found = k;
    return static_cast<grid::gpu::Kernel>(found);
}

std::vector<GridLaunch> launches_of(const GridSpec& spec, const Target& target) {
    const auto program = generate(spec, target);
    const auto levels = grid::levels_of(spec, 4);
    std::vector<GridLaunch> result;
    for (const auto& [operation, launches] : program.operations)
        for (const auto& launch : launches) {
            const auto& kernel = kernel_of(program, launch);
            GridLaunch one{kernel_named(kernel.name), {kernel.threads, kernel.shared_bytes}, {}, launch.grid.groups, {}};
            std::memcpy(&one.constants, launch.constants.data(), sizeof one.constants);
            one.level = levels.at(static_cast<std::size_t>(one.constants.number));
            result.push_back(one);
        }
    return result;
}

/// What is wrong with a launch; empty: nothing.
std::string fault_of(const GridSpec& spec, const Target& target, const GridLaunch& launch) {
    try {
        grid::gpu::require_sound(spec, target, {launch.kernel, launch.needs, launch.constants, launch.groups, launch.level});
    } catch (const std::logic_error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("what must hold says so where it does not") {
    CHECK_NOTHROW(require(true, "{} lanes", 16));
    CHECK_THROWS_WITH_AS(require(false, "{} lanes", 16), "internal error: 16 lanes; this is a mistake in Trifold, please report it",
                         std::logic_error);
}

TEST_CASE("launches of images of all sizes are as their kernels assume") {
    const std::vector<std::int64_t> sides{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 16, 17, 18, 23, 31, 32, 33, 34, 37, 40};
    std::mt19937 random(7);  // options of each image
    const auto check = [&](std::int64_t width, std::int64_t height, GridBoundary boundary) {
        const auto next = [&](std::size_t count) { return random() % count; };
        GridSpec spec{.width = width, .height = height, .boundary = boundary};
        spec.precision = next(2) == 0 ? Precision::f64 : Precision::f32;
        spec.matrix = next(3) == 0 ? GridMatrix::symmetric : GridMatrix::general;
        spec.pivoting = next(2) == 0 ? GridPivoting::partial : GridPivoting::none;
        spec.rhs = std::array{1, 2, 5}.at(next(3));
        spec.batch = std::array{1, 2, 300}.at(next(3));
        GridTuning tuning;
        VariantName variant{"fronts", {}};
        for (const auto& knob : grid::knobs_for(gpus.front()))
            if (next(2) == 0) variant.pinned.emplace(knob.name, *(knob.candidates.begin() + next(knob.candidates.size())));
        tuning.variant = to_string(variant);
        const auto& target = gpus.at(next(gpus.size()));
        const auto label = fmt::format("{}x{} {} {} {}", width, height, to_string(boundary), to_string(spec.precision), to_string(target));
        CAPTURE(label);
        try {
            generate(spec, target, tuning);
        } catch (const SpecError&) {  // too large for the device's shared memory
            CHECK(std::max(width, height) > 2000);
        } catch (const std::logic_error& error) {
            FAIL_CHECK(error.what());
        }
    };
    const auto check_both = [&](std::int64_t width, std::int64_t height) {
        check(width, height, GridBoundary::natural);
        if (width > 2 && height > 2) check(width, height, GridBoundary::fixed);
    };
    for (const auto width : sides)
        for (const auto height : sides)
            if ((width + height) % test::thinning == 0) check_both(width, height);
    for (const auto& [width, height] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {67, 131}, {129, 5}, {5, 4097}, {257, 255}, {513, 515}, {1031, 1030}, {2049, 33}, {2047, 2049}, {4099, 4097}, {8191, 8191}})
        for (int k = 0; k < 6; ++k) check_both(width, height);
}

TEST_CASE("a wrong launch of an image is refused") {
    for (const auto& target : gpus)
        for (const auto& spec :
             {GridSpec{.width = 7, .height = 33, .boundary = GridBoundary::fixed},
              GridSpec{.width = 140, .height = 131, .matrix = GridMatrix::symmetric}, GridSpec{.width = 140, .height = 131}}) {
            std::int64_t teams = 0;
            for (const auto& launch : launches_of(spec, target)) {
                const auto label = fmt::format("{} of level {}, {}", kernel_names.at(static_cast<std::size_t>(launch.kernel)),
                                               launch.constants.number, to_string(target));
                CAPTURE(label);
                CHECK(fault_of(spec, target, launch) == "");
                const auto refused = [&](auto change) {
                    auto wrong = launch;
                    change(wrong);
                    return fault_of(spec, target, wrong).starts_with("internal error: the launch of kernel");
                };
                CHECK(refused([](GridLaunch& wrong) { wrong.needs.threads /= 2; }));
                CHECK(refused([](GridLaunch& wrong) { wrong.groups -= 1; }));
                CHECK(refused([](GridLaunch& wrong) { wrong.groups = std::int64_t{1} << 31; }));
                CHECK(refused([](GridLaunch& wrong) { wrong.constants.levels = 0; }));
                CHECK(refused([](GridLaunch& wrong) { wrong.constants.kind += 1; }));
                if (launch.needs.shared_bytes > 0) CHECK(refused([](GridLaunch& wrong) { wrong.needs.shared_bytes = 0; }));
                if (launch.kernel != grid::gpu::Kernel::pixels) CHECK(refused([](GridLaunch& wrong) { wrong.level.eliminated += 40; }));
                if (launch.kernel >= grid::gpu::Kernel::step_few && launch.kernel <= grid::gpu::Kernel::step_16) {
                    CHECK(refused([](GridLaunch& wrong) { wrong.constants.step.parts -= 1; }));
                    CHECK(refused([](GridLaunch& wrong) { wrong.constants.step.factored += 1; }));
                    CHECK(refused([](GridLaunch& wrong) { wrong.constants.step.inverse_end += 100; }));
                }
                // The mistake that made sweeps hang: teams of fewer lanes than their fronts eliminate pixels.
                if (launch.kernel != grid::gpu::Kernel::forward && launch.kernel != grid::gpu::Kernel::backward) continue;
                if (launch.level.eliminated <= grid::gpu::grid_team_lanes) continue;
                CHECK(refused([](GridLaunch& wrong) {
                    const bool forward = wrong.kernel == grid::gpu::Kernel::forward;
                    wrong.kernel = forward ? grid::gpu::Kernel::forward_small : grid::gpu::Kernel::backward_small;
                    wrong.needs.shared_bytes *= 8;
                }));
                ++teams;
            }
            CHECK(teams > 0);
        }
}

TEST_CASE("launches of block tridiagonal systems of all sizes are as their kernels assume") {
    std::size_t count = 0, generated = 0;
    for (const auto& target : {gpus[0], gpus[1], gpus[2], gpus[3], Target{Backend::cpu, "x86-64-v3"}})
        for (const auto* variant : variants_of(target.backend))
            for (const std::int64_t block : {1, 3, 5, 8, 16, 17, 24, 32, 33, 48, 64, 65, 96, 97, 130})
                for (const auto& [horizon, batch] : {std::pair{1, 1}, {2, 3}, {7, 1}, {33, 200}, {1000, 2}, {100000, 1}}) {
                    const auto precision = std::array{Precision::f64, Precision::f32, Precision::mixed}.at(count++ % 3);
                    if (count % test::thinning != 0) continue;
                    const Spec spec{.block = block,
                                    .horizon = horizon,
                                    .precision = precision,
                                    .rhs = std::array{1, 2, 5, 9}.at(count % 4),
                                    .batch = batch,
                                    .operations = precision == Precision::mixed ? usual_operations() : all_operations()};
                    INFO(variant->name, " ", block, " ", horizon);
                    try {
                        generate(spec, target, {.variant = std::string(variant->name)}, Packing::together);
                        ++generated;
                    } catch (const SpecError&) {  // not for such blocks
                    } catch (const std::logic_error& error) {
                        FAIL_CHECK(error.what());
                    }
                }
    CHECK(generated > 1000 / test::thinning);
}

TEST_CASE("small tiles, which have too few columns for sweeps in f32, are for f64 alone") {
    const Tuning deep{.variant = "tile-dataflow:stages=4"};  // more than large tiles leave room for
    CHECK_NOTHROW(generate(Spec{.block = 96, .horizon = 9}, gpus[1], deep));
    CHECK_REFUSED("bytes of shared memory", generate(Spec{.block = 96, .horizon = 9, .precision = Precision::f32}, gpus[1], deep));
}

TEST_CASE("a wrong launch of a block tridiagonal system is refused") {
    Spec spec{.block = 12, .horizon = 33, .batch = 3, .operations = all_operations()};
    for (const auto& target : gpus)
        for (const auto* variant : {"chains", "dataflow", "fused", "team", "tile-dataflow", "tiled"}) {
            const bool is_chains = std::string_view(variant) == "chains";
            if (is_chains && to_string(target) != to_string(gpus.front())) continue;  // for devices with deep tensor instructions
            CAPTURE(variant);
            spec.block = is_chains ? 20 : 12;
            const auto design = test::design_of(spec, target, {.schedule = is_chains ? "twisted:2" : "multi-stage", .variant = variant});
            for (const auto& [operation, steps] : design.operations)
                for (const auto& step : steps) {
                    CHECK_NOTHROW(require_sound(design, step));
                    const auto refused = [&](auto change) {
                        auto wrong = design;
                        auto wrong_step = step;
                        change(wrong_step, wrong.kernels.at(step.kernel).shape);
                        try {
                            require_sound(wrong, wrong_step);
                        } catch (const std::logic_error&) {
                            return true;
                        }
                        return false;
                    };
                    CHECK(refused([](Step& wrong, Shape&) { wrong.level.chains += 1; }));
                    CHECK(refused([](Step&, Shape& wrong) { wrong.threads -= 1; }));
                    CHECK(refused([](Step&, Shape& wrong) { wrong.threads = 2048; }));
                    CHECK(refused([](Step&, Shape& wrong) { wrong.shared_bytes = 1 << 20; }));
                    CHECK(refused([](Step&, Shape& wrong) { wrong.members_per_task = 0; }));
                }
        }
}
