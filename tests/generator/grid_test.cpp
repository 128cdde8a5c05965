#include <fmt/ranges.h>

#include "generator/grid/cpu/cpu.hpp"
#include "generator/grid/knobs.hpp"
#include "generator/grid/levels.hpp"
#include "tests/support/test.hpp"

using namespace trifold;

namespace {

const Target avx2{Backend::cpu, "x86-64-v3"};

GridSpec image(std::int64_t width, std::int64_t height, GridBoundary boundary = GridBoundary::natural) {
    GridSpec spec;
    spec.width = width;
    spec.height = height;
    spec.boundary = boundary;
    return spec;
}

/// Numbers of the factors of 513 by 513 pixels if every box were one inside an image: 3 by 3 of 16 in leaf tiles, then lines of 3, 7, 7,
/// 15, 15 and so on.
double uniform_factors(std::int64_t side) {
    const auto boxes_of = [&](double cells) { return std::pow(static_cast<double>(side - 1) / cells, 2); };
    const auto elements = [](double s, double r) { return s * s + 2 * s * r; };
    double sum = boxes_of(4) * elements(9, 16);
    for (double cells = 4; cells < static_cast<double>(side - 1); cells *= 2)
        sum += boxes_of(cells) / 2 * elements(cells - 1, 6 * cells) + boxes_of(cells) / 4 * elements(2 * cells - 1, 8 * cells);
    return sum;
}

}  // namespace

TEST_CASE("every unknown is eliminated once") {
    for (const auto boundary : {GridBoundary::natural, GridBoundary::fixed})
        for (const auto& [width, height] : std::vector<std::pair<std::int64_t, std::int64_t>>{
                 {3, 3}, {4, 5}, {9, 9}, {10, 7}, {17, 64}, {101, 67}, {3, 50}, {77, 4}, {300, 3}, {65, 65}})
            for (const std::int64_t leaf : {4, 5, 16}) {
                INFO(width, " ", height);
                const auto spec = image(width, height, boundary);
                const auto levels = grid::levels_of(spec, leaf);
                const auto columns = grid::unknown_width(spec), rows = grid::unknown_height(spec);
                std::vector<int> times(static_cast<std::size_t>(columns * rows));
                for (std::size_t k = 0; k < levels.size(); ++k)
                    for (std::int64_t j = 0; j < std::int64_t{1} << levels[k].y_halvings; ++j)
                        for (std::int64_t i = 0; i < std::int64_t{1} << levels[k].x_halvings; ++i) {
                            const auto [x0, x1, y0, y1] = grid::eliminated_pixels(spec, levels, k, i, j);
                            CHECK((x1 - x0 + 1) * (y1 - y0 + 1) <= levels[k].eliminated);
                            for (auto y = y0; y <= y1; ++y)
                                for (auto x = x0; x <= x1; ++x) ++times[static_cast<std::size_t>(y * columns + x)];
                        }
                CHECK(std::ranges::all_of(times, [](int count) { return count == 1; }));
                CHECK(levels.back().kept == 0);
                CHECK(levels.front().width_cells <= leaf);
                CHECK(levels.front().height_cells <= leaf);
            }
}

TEST_CASE("shapes of 513 by 513 pixels: lines are halved, and boxes stay square") {
    const auto levels = grid::levels_of(image(513, 513), 4);
    REQUIRE(levels.size() == 15);
    CHECK(levels.back().eliminated == 513);
    CHECK(levels[13].eliminated == 256);
    CHECK(levels[13].kept == 513);
    CHECK(levels[6].width_cells == 32);
    CHECK(levels[6].height_cells == 32);
    CHECK(levels[6].kept == 128);
    double flops = 0, symmetric_flops = 0;
    for (const auto& level : levels) flops += level.flops;
    auto spec = image(513, 513);
    spec.matrix = GridMatrix::symmetric;
    for (const auto& level : grid::levels_of(spec, 4)) symmetric_flops += level.flops;
    CHECK(flops == doctest::Approx(5.2e9).epsilon(0.01));  // 12e9 if the pixels at the image's edge were kept to the end
    CHECK(symmetric_flops == doctest::Approx(flops / 2));
}

TEST_CASE("a workspace has at most 1.4 times the factors, and A for images that are refined") {
    for (const std::int64_t side : {513, 1025, 2049}) {
        CAPTURE(side);
        const auto stencil = static_cast<double>(9 * side * side);
        CHECK(static_cast<double>(generate(image(side, side), avx2).workspace_bytes) <= 8 * (1.4 * uniform_factors(side) + stencil));
    }
}

TEST_CASE("one unit serves images of every size, batch and boundary") {
    auto other = image(300, 513, GridBoundary::fixed);
    other.batch = 4;
    other.rhs = 3;
    const auto a = generate(image(9, 5), avx2), b = generate(other, avx2, {.workers = 3});
    REQUIRE(a.units.size() == 1);
    CHECK(a.units[0].source == b.units[0].source);
    CHECK(a.units[0].kernels.size() <= 16);
    CHECK(a.id != b.id);
    CHECK(to_json(a) == to_json(generate(image(9, 5), avx2)));
    other.matrix = GridMatrix::symmetric;
    CHECK(generate(other, avx2).units[0].source != b.units[0].source);
}

TEST_CASE("a few units serve images of every size, batch, boundary and number of right-hand sides on a GPU, and one on a CPU") {
    // Leaf tiles, two for other small fronts, three for panels that a step factors, other kernels of shared fronts, sweeps, triangles,
    // triangles of A' unless A is symmetric, pixels. Larger images need further steps, and wide products.
    constexpr std::size_t max_units = 11, max_of_symmetric = 10;
    const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{2, 2},    {3, 3},     {5, 3},     {9, 9},     {33, 17},  {64, 64},
                                                                   {129, 65}, {257, 257}, {300, 300}, {513, 513}, {600, 400}};
    for (const auto& target : {Target{Backend::cuda, "sm_90"}, Target{Backend::hip, "gfx942"}, avx2})
        for (const auto precision : {Precision::f64, Precision::f32})
            for (const auto kind : {0, 1, 2}) {
                std::map<std::string, std::vector<Kernel>> texts;
                std::set<std::string> ids;
                std::int64_t count = 0;
                for (const auto& [width, height] : sizes)
                    for (const std::int64_t batch : {1, 3, 64}) {
                        const bool fixed = count % 2 == 1 && width > 2;
                        auto spec = image(width, height, fixed ? GridBoundary::fixed : GridBoundary::natural);
                        spec.precision = precision;
                        spec.matrix = kind == 0 ? GridMatrix::symmetric : GridMatrix::general;
                        spec.pivoting = kind == 1 ? GridPivoting::none : GridPivoting::partial;
                        spec.batch = batch;
                        spec.rhs = 1 + count++ % 8;
                        for (const auto& unit : generate(spec, target).units) {
                            auto kernels = unit.kernels;
                            for (auto& kernel : kernels) kernel.shared_bytes = 0;
                            const auto known = texts.try_emplace(unit.source, kernels).first->second;
                            CHECK(known == kernels);
                            ids.insert(unit.id);
                        }
                    }
                const auto label = fmt::format("{} {} {}", to_string(target), to_string(precision), kind);
                CAPTURE(label);
                CHECK(ids.size() == texts.size());
                CHECK(texts.size() == (target.backend == Backend::cpu ? 1 : kind == 0 ? max_of_symmetric : max_units));
            }
}

TEST_CASE("a Program asks for the knobs of the kernels that it launches, and of no others in their units") {
    const Target sm_90{Backend::cuda, "sm_90"};
    const auto asked = [&](std::int64_t side, std::string_view knob) {
        const auto all = grid::decided(choose(image(side, side), sm_90));
        return std::ranges::any_of(all, [&](const KnobDecision& decision) { return decision.list == knob; });
    };
    CHECK(asked(9, "tiny_blocks"));
    CHECK(!asked(5, "tiny_blocks"));
    CHECK(!asked(9, "forward_kept_blocks"));
}

TEST_CASE("register tiles fit the registers of each processor") {
    for (const char* arch : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "znver4", "armv8-a"})
        for (const auto precision : {Precision::f32, Precision::f64}) {
            CAPTURE(arch);
            auto spec = image(9, 9);
            spec.precision = precision;
            const Target target{Backend::cpu, arch};
            const auto tile = grid::cpu::tile_of(spec, target);
            const auto registers = std::max<std::int64_t>(1, tile.lanes * element_bytes(precision) / vector_bytes(target));
            CHECK(registers * (tile.strips * (tile.columns + 1) + 1) <= vector_registers(target));
            CHECK(tile.lanes % tile.columns == 0);
            CHECK(generate(spec, target).units[0].target == target);
        }
}

TEST_CASE("units of every processor are C without warnings") {
    for (const char* arch : {"x86-64", "x86-64-v3", "x86-64-v4"})
        for (const auto precision : {Precision::f32, Precision::f64})
            for (const auto matrix : {GridMatrix::general, GridMatrix::symmetric}) {
                auto spec = image(9, 9);
                spec.precision = precision;
                spec.matrix = matrix;
                const auto unit = generate(spec, {Backend::cpu, arch}).units[0];
                INFO(arch, " ", unit.id);
                const auto command =
                    fmt::format("{} {} -Wall -Wextra -Werror -x c -fsyntax-only - > /dev/null", TEST_CC, fmt::join(unit.options, " "));
                auto* compiler = popen(command.c_str(), "w");
                REQUIRE(compiler != nullptr);
                std::fwrite(unit.source.data(), 1, unit.source.size(), compiler);
                CHECK(pclose(compiler) == 0);
            }
}

TEST_CASE("what is needed is there, and no more") {
    auto spec = image(40, 30);
    spec.operations = {GridOperation::factor_solve};
    CHECK(generate(spec, avx2).operations.size() == 2);  // b in place of x is kept first, for a refinement
    CHECK_NOTHROW(buffer(generate(spec, avx2), "residual"));
    spec.matrix = GridMatrix::symmetric;  // is never refined by itself
    const auto few = generate(spec, avx2);
    CHECK(few.operations.size() == 2);
    CHECK_THROWS_AS(buffer(few, "residual"), SpecError);
    const auto all = generate(image(40, 30), avx2);
    for (const char* name : {"factor", "solve", "solve_transposed", "factor_solve", "gradient", "residual", "correct"})
        CHECK(all.operations.contains(name));
    for (const auto& [name, launches] : all.operations)
        for (std::size_t k = 1; k < launches.size(); ++k) CHECK(launches[k].after == std::vector{k - 1});
}

TEST_CASE("what cannot be generated says why") {
    CHECK_THROWS_AS(generate(image(1, 9), avx2), SpecError);
    CHECK_REFUSED("give one of 4, 5, 6, 8, 16", generate(image(9, 9), avx2, {.variant = "fronts:leaf_cells=3"}));
    CHECK_REFUSED("give auto, fronts, or fronts with knobs", generate(image(9, 9), avx2, {.variant = "tile"}));
    CHECK_REFUSED("workers = 0", generate(image(9, 9), avx2, {.workers = 0}));
    CHECK_THROWS_AS(generate(image(9, 9), {Backend::cpu, "native"}), SpecError);
    auto none = image(9, 9);
    none.operations = {GridOperation::solve};
    CHECK_REFUSED("none of the operations factors", generate(none, avx2));
    const Target h200{Backend::cuda, "sm_90"};
    CHECK_REFUSED("give one of 64, 128", generate(image(9, 9), h200, {.variant = "fronts:product_side=96"}));
    CHECK_REFUSED("give one of 128, 512", generate(image(9, 9), h200, {.variant = "fronts:step_rows=256"}));
    CHECK_REFUSED("give one of 2, 4, 8, 16, 32", generate(image(9, 9), h200, {.variant = "fronts:panel_columns=24"}));
    CHECK_REFUSED("at most 500000 pixels a row", generate(image(1 << 20, 200), h200));
    CHECK_REFUSED("a line of 8195 pixels", generate(image(8195, 8195), h200));
    CHECK_NOTHROW(generate(image(8191, 8191), h200));
    CHECK_REFUSED("bytes of shared memory", generate(image(8191, 8191), {Backend::hip, "gfx942"}));
}
