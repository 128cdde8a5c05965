#include "generator/program/knob.hpp"

#include <trifold/generate.hpp>

#include "generator/grid/knobs.hpp"
#include "generator/sparse/arrangement.hpp"
#include "generator/sparse/knobs.hpp"
#include "generator/tridiagonal/variant.hpp"
#include "tests/support/test.hpp"

using namespace trifold;

namespace {

const Target avx512 = parse_target("cpu:x86-64-v4"), sm_90 = parse_target("cuda:sm_90"), gfx942 = parse_target("hip:gfx942");

std::int64_t taken(const Choice& choice, std::string_view knob) {
    const auto all = knobs_of(choice);
    const auto found = std::ranges::find(all, knob, &KnobDecision::list);
    REQUIRE(found != all.end());
    return found->value;
}

}  // namespace

TEST_CASE("a variant's name may have knobs, in any order") {
    const auto variant = parse_variant("tile-dataflow:stages=3,stage_columns=32");
    CHECK(variant.name == "tile-dataflow");
    CHECK(variant.pinned.at("stages") == 3);
    CHECK(to_string(variant) == "tile-dataflow:stage_columns=32,stages=3");
    CHECK(to_string(parse_variant(to_string(variant))) == to_string(variant));
    CHECK(to_string(parse_variant("tile")) == "tile");
}

TEST_CASE("what is no knob is refused with what to write") {
    CHECK_THROWS_WITH_AS(parse_variant("tile:"),
                         "variant 'tile:': '' is no knob with a value; write a name, or a name with knobs: tile:halves=1", SpecError);
    for (const auto* text :
         {"tile:halves", "tile:=1", "tile:halves=", "tile:halves=x", "tile:halves=1,", "tile:,halves=1", "tile:halves=1.5",
          "tile:halves= 1", "tile:halves=1;2", "tile:halves=1,halves=1", "tile:halves=99999999999999999999"})
        CHECK_THROWS_AS(parse_variant(text), SpecError);
    const Spec spec{.block = 8, .horizon = 5};
    CHECK_THROWS_WITH_AS(choose(spec, avx512, {.variant = "tile:stages=3"}),
                         "variant 'tile' has no knob 'stages'; give one of bake, halves, few_strips, fetches_from", SpecError);
    CHECK_THROWS_WITH_AS(choose(spec, avx512, {.variant = "tile:halves=2"}), "knob halves of variant 'tile' cannot be 2; give one of 0, 1",
                         SpecError);
    CHECK_THROWS_WITH_AS(choose(spec, avx512, {.variant = "auto:halves=1"}), "variant 'auto' has no knobs", SpecError);
    CHECK_THROWS_AS(choose(spec, avx512, {.variant = "halves=1"}), SpecError);
    CHECK_THROWS_WITH_AS(choose({.block = 128, .horizon = 5}, sm_90, {.variant = "tile-dataflow:stages=1"}),
                         "variant 'tile-dataflow' needs stages times stage_columns of at least 64 here, not 1 times 16", SpecError);
}

TEST_CASE("knobs that no kernel could follow are refused") {
    // Eight copies of 32 columns leave room for small tiles only, whose inverse does not fill a copy.
    CHECK_THROWS_WITH_AS(choose({.block = 96, .horizon = 16}, sm_90, {.variant = "tile-dataflow:stage_columns=32,stages=8"}),
                         "variant 'tile-dataflow' has tiles of 32 here, which takes stage_columns of at most 16", SpecError);
    CHECK_NOTHROW(choose({.block = 96, .horizon = 16}, sm_90, {.variant = "tile-dataflow:stage_columns=32,stages=3"}));
    // A warp of 32 lanes has the rows of the right-hand sides that ride, one a lane.
    CHECK_THROWS_AS(choose({.block = 40, .horizon = 50}, sm_90, {.variant = "dataflow:rides=1"}), SpecError);
    CHECK_NOTHROW(choose({.block = 32, .horizon = 50}, sm_90, {.variant = "dataflow:rides=1"}));
}

TEST_CASE("a pinned knob is taken, said, and part of the name of the kernels") {
    const Spec spec{.block = 32, .horizon = 5};
    const auto usual = choose(spec, avx512, {.variant = "tile"}), pinned = choose(spec, avx512, {.variant = "tile:halves=1"});
    CHECK(taken(usual, "halves") == 0);
    CHECK(taken(pinned, "halves") == 1);
    CHECK(pinned.variant == "tile:halves=1");
    CHECK(generate(usual).id != generate(pinned).id);
    CHECK(generate(usual).units.front().source != generate(pinned).units.front().source);
    const auto rows = knobs_of(usual);
    CHECK(std::ranges::all_of(rows,
                              [](const KnobDecision& decision) { return decision.row != nullptr && decision.row->list == decision.list; }));
    // In another order they are the same kernels.
    const auto one = choose(spec, sm_90, {.variant = "dataflow:rides=0,crowds=0"}),
               other = choose(spec, sm_90, {.variant = "dataflow:crowds=0,rides=0"});
    CHECK(generate(one).id == generate(other).id);
    // Mixed precision passes them on to what it wraps.
    CHECK(taken(choose({.block = 32, .horizon = 5, .precision = Precision::mixed}, avx512, {.variant = "tile:halves=1"}), "halves") == 1);
}

TEST_CASE("knobs are lists of rows, and rows take candidates") {
    for (const auto& target : {avx512, parse_target("cpu:znver4"), sm_90, gfx942, parse_target("cuda:sm_75")})
        for (const auto* variant : variants_of(target.backend))
            for (const auto& knob : variant->knobs) {
                INFO(variant->name, " ", knob.name);
                CHECK(std::ranges::is_sorted(knob.candidates));
                CHECK(knob.candidates.size() > 1);
                for (const auto& row : device_of(target).rows_of(knob.name))
                    CHECK(std::ranges::find(knob.candidates, static_cast<std::int64_t>(row.number)) != knob.candidates.end());
            }
}

TEST_CASE("every candidate of every knob makes a Program or is refused") {
    const Spec specs[] = {{.block = 2, .horizon = 7},
                          {.block = 5, .horizon = 9, .rhs = 3},
                          {.block = 24, .horizon = 40, .precision = Precision::f32},
                          {.block = 16, .horizon = 33, .batch = 256},
                          {.block = 130, .horizon = 4}};
    for (const auto& target : {avx512, sm_90, gfx942})
        for (const auto* variant : variants_of(target.backend)) {
            const auto needs_deep_tensor = variant->name == "chains";
            const auto schedule = needs_deep_tensor ? "twisted:2" : variant->schedules != nullptr ? "auto" : "multi-stage";
            if (needs_deep_tensor && !device_of(target).has("deep_tensor")) continue;
            std::size_t made = 0;
            for (const auto& knob : variant->knobs)
                for (const auto value : knob.candidates)
                    for (auto spec : specs) {
                        if (!variant->abilities.definite) spec.matrix = MatrixKind::general;
                        const auto name = fmt::format("{}:{}={}", variant->name, knob.name, value);
                        CAPTURE(name);
                        try {
                            const auto program = generate(choose(spec, target, {.schedule = schedule, .variant = name}));
                            CHECK(program.workspace_bytes > 0);
                            ++made;
                        } catch (const SpecError& refused) {
                            CHECK(says(std::string(refused.what()), "variant"));
                        }
                    }
            CHECK(made >= variant->knobs.size());
        }
}

TEST_CASE("knobs of grids: rows decide what is not pinned, and every row takes one of the candidates") {
    const GridSpec image{.width = 513, .height = 513};
    const auto decided = [&](const Target& target, const std::string& variant = "auto", std::int64_t batch = 1) {
        auto spec = image;
        spec.batch = batch;
        return grid::decided(choose(spec, target, GridTuning{.variant = variant}));
    };
    const auto values = [](const std::vector<KnobDecision>& all, std::string_view knob) {
        std::vector<std::int64_t> result;
        for (const auto& one : all)
            if (one.list == knob) result.push_back(one.value);
        std::ranges::sort(result);
        return result;
    };
    using Numbers = std::vector<std::int64_t>;
    CHECK(values(decided(avx512), "leaf_cells") == Numbers{4});
    CHECK(values(decided(sm_90), "tiny_blocks") == Numbers{20});
    CHECK(values(decided(sm_90, "auto", 64), "step_rows") == Numbers{128, 512});  // many boxes below, few on top
    CHECK(values(decided(sm_90, "fronts:step_rows=512,product_side=64", 64), "step_rows") == Numbers{512});
    CHECK(values(decided(sm_90, "fronts:step_rows=512,product_side=64", 64), "product_side") == Numbers{64});
    for (const auto& target : {avx512, sm_90, gfx942}) {
        const auto asked = decided(target);
        for (const auto& one : asked) CHECK(one.row != nullptr);
        for (const auto& knob : grid::knobs_for(target))
            for (const auto& row : device_of(target).rows_of(knob.name))
                CHECK_MESSAGE(std::ranges::find(knob.candidates, std::llround(row.number)) != knob.candidates.end(), to_string(row));
    }
    CHECK_REFUSED("knob leaf_cells of variant 'fronts' cannot be 8; give one of 4", decided(sm_90, "fronts:leaf_cells=8"));
    CHECK_REFUSED("variant 'auto' has no knobs", decided(sm_90, "auto:step_rows=128"));
}

TEST_CASE("knobs of sparse systems: rows decide what is not pinned, and every row takes one of the candidates") {
    const auto usual = [](const Target& target, const std::string& variant, std::int64_t block = 3) {
        std::vector<KnobDecision> asked;
        auto knobs = sparse::pinned_by({.variant = variant}, target);
        knobs.asked = &asked;
        const auto rows = sparse::usual_rows({.block = block}, target, 1 << 24, knobs);
        REQUIRE(asked.size() == 1);
        CHECK((asked.front().row == nullptr) == (variant != "auto"));
        return rows;
    };
    CHECK(usual(avx512, "auto") == 16384 / 3);
    CHECK(usual(sm_90, "auto") == 2048);
    CHECK(usual(sm_90, "sweeps:tile_scalars=768") == 256);
    CHECK(usual(sm_90, "sweeps:tile_scalars=768", 8) == 96);
    for (const auto& target : {avx512, sm_90, gfx942})
        for (const auto& knob : sparse::knobs_for(target))
            for (const auto& row : device_of(target).rows_of(knob.name))
                CHECK_MESSAGE(std::ranges::find(knob.candidates, std::llround(row.number)) != knob.candidates.end(), to_string(row));
    CHECK_REFUSED("variant 'sweeps' has no knob 'slice_scalars'", usual(sm_90, "sweeps:slice_scalars=8192"));
    CHECK_REFUSED("unknown variant 'fronts' of a sparse system", usual(sm_90, "fronts"));
    CHECK_REFUSED("variant 'auto' has no knobs", usual(sm_90, "auto:tile_scalars=768"));
}
