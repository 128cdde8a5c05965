#include <trifold/cost.hpp>
#include <trifold/generate.hpp>

#include "generator/tridiagonal/variant.hpp"
#include "generator/tridiagonal/wisdom.hpp"
#include "tests/support/test.hpp"
#include "tests/support/thinning.hpp"

using namespace trifold;

namespace {

std::string message(const Spec& spec, const char* target, const Tuning& tuning) {
    try {
        choose(spec, parse_target(target), tuning);
    } catch (const SpecError& error) {
        return error.what();
    }
    return "";
}

/// A line of chosen.txt: a problem, and what auto chooses for it.
struct Line {
    Spec spec;
    Target target;
    int workers = 1;
    std::string schedule, variant;
};

Line parse_line(const std::string& line) {
    Line choice;
    std::string target, precision, operations;
    std::istringstream words(line);
    words >> target >> choice.spec.block >> choice.spec.horizon >> choice.spec.batch >> choice.spec.rhs >> precision >> choice.workers >>
        operations >> choice.schedule >> choice.variant;
    REQUIRE_MESSAGE(words, line);
    choice.target = parse_target(target);
    choice.spec.precision = parse_precision(precision);
    if (operations != "usual") choice.spec.operations = parse_operations(operations);
    return choice;
}

constexpr double max_regret = 1.03, max_mean_regret = 1.01;

/// Choice of auto: for a device by its shipped wisdom, without one by the model.
Choice chosen_for(const Spec& spec, const std::string& device) {
    const auto target = parse_target("cuda:sm_90");
    return device.empty() ? choose(spec, target, Tuning{}) : choose(spec, target, resolve(spec, target, {}, device, shipped_wisdom()));
}

/// How many times longer than the fastest pair of a line takes what auto takes; infinity where the line has no time of it.
double regret_of(const std::string& line, const std::string& device) {
    std::string precision, schedule, variant;
    Spec spec;
    std::istringstream words(line);
    words >> precision >> spec.block >> spec.horizon;
    if (words.peek() == 'x') words.ignore() >> spec.batch;
    REQUIRE_MESSAGE(words, line);
    spec.precision = parse_precision(precision);
    const auto chosen = chosen_for(spec, device);
    auto taken = std::numeric_limits<double>::infinity(), least = taken;
    for (double microseconds = 0; words >> schedule >> variant >> microseconds;) {
        least = std::min(least, microseconds);
        if (schedule == chosen.schedule.name && variant == chosen.variant) taken = microseconds;
    }
    INFO(line, "\nauto takes ", chosen.schedule.name, " ", chosen.variant, "; where the line has no time of it, measure it");
    CHECK(taken <= max_regret * least);
    return taken / least;
}

}  // namespace

TEST_CASE("a pinned variant gets a schedule that it can take") {
    SUBCASE("dataflow has multi-stage alone, on every GPU") {
        for (const auto* target : {"cuda:sm_90", "cuda:sm_75", "hip:gfx942", "hip:gfx1100"})
            for (const std::int64_t horizon : {1, 2, 16, 500}) {
                const auto choice = choose({.block = 8, .horizon = horizon}, parse_target(target), {.variant = "dataflow"});
                CHECK(choice.schedule.levels == multi_stage(horizon).levels);
                CHECK(choice.variant == "dataflow");
            }
    }
    SUBCASE("team takes blocks above 16 without fill only") {
        const auto choice = choose({.block = 20, .horizon = 100}, parse_target("cuda:sm_90"), {.variant = "team"});
        CHECK(!has_fill(choice.schedule));
    }
    SUBCASE("it is the variant's own model that chooses") {
        const Target h200 = parse_target("cuda:sm_90");
        Spec spec{.block = 32, .horizon = 512};
        for (const auto* variant : variants_of(Backend::cuda)) {
            CAPTURE(variant->name);
            if (variant->name == "team" || variant->name == "getrf" || variant->name == "getrf-lanes") continue;  // for smaller blocks
            spec.matrix = variant->abilities.general ? MatrixKind::general : MatrixKind::positive_definite;
            const auto choice = choose(spec, h200, {.variant = std::string(variant->name)});
            const auto& device = device_of(h200);
            const auto chosen = variant->seconds({spec, h200, choice.schedule, 1}, device);
            for (const auto* text : {"sequential", "twisted:8", "partitioned:50", "multi-stage", "recursive:2:2", "recursive:1:1"}) {
                const Problem other{spec, h200, parse_schedule(text, spec.horizon), 1};
                if (refusal(*variant, other).empty()) CHECK(chosen <= variant->seconds(other, device));
            }
        }
    }
}

TEST_CASE("a pinned schedule leaves the variant free") {
    const Target h200 = parse_target("cuda:sm_90");
    CHECK(choose({.block = 32, .horizon = 64}, h200, {.schedule = "multi-stage"}).variant == "dataflow");
    CHECK(choose({.block = 32, .horizon = 64}, h200, {.schedule = "sequential"}).variant == "chains");
    CHECK(choose({.block = 128, .horizon = 64}, h200, {.schedule = "sequential"}).variant == "tile-dataflow");
    CHECK(choose({.block = 8, .horizon = 64, .batch = 64}, h200, {.schedule = "sequential"}).variant == "team");
}

TEST_CASE("a choice says what made it") {
    const Target h200 = parse_target("cuda:sm_90");
    const Spec spec{.block = 32, .horizon = 64};
    CHECK(choose(spec, h200, {.schedule = "sequential", .variant = "fused"}).reason ==
          "schedule: pinned by the caller; variant: pinned by the caller");
    const auto half = choose(spec, h200, {.schedule = "multi-stage"}).reason;
    CHECK(half.starts_with("schedule: pinned by the caller; variant: model, "));
    CHECK(says(half, " us, next best multi-stage with "));
    CHECK(choose({.block = 32, .horizon = 64, .operations = all_operations()}, h200, {.schedule = "multi-stage"}).reason ==
          "schedule: pinned by the caller; variant: row 3 of variant for cuda:sm_90, history.md#2026-11-22-gpu-dataflow");
    const auto free = choose(spec, parse_target("cuda:sm_80"));
    CHECK(free.reason.starts_with("schedule: model, "));
    CHECK(says(free.reason, " us, next best "));
    CHECK(free.reason.ends_with("; variant: the same"));
    CHECK(choose(spec, parse_target("cpu:x86-64-v3")).reason == "schedule: the only one to take; variant: row 14 of variant for cpu:any");
}

TEST_CASE("the modelled time is that of what was taken") {
    const Target h200 = parse_target("cuda:sm_90");
    const Spec spec{.block = 12, .horizon = 20, .batch = 64};
    for (const auto* variant : {"auto", "fused", "tile-dataflow"}) {
        CAPTURE(variant);
        const auto choice = choose(spec, h200, {.variant = variant});
        const auto said = choice.reason.substr(0, choice.reason.find(" us"));
        CHECK(said == fmt::format("schedule: model, {:.1f}", modelled_seconds(choice) * 1e6));
    }
    CHECK(modelled_seconds(choose(spec, h200, {.variant = "fused"})) > modelled_seconds(choose(spec, h200)));
}

TEST_CASE("refusals say what a variant is for") {
    CHECK(message({.block = 97, .horizon = 4}, "cuda:sm_90", {.variant = "dataflow"}) ==
          "variant 'dataflow' is for blocks up to 96, not for n = 97; give auto");
    CHECK(message({.block = 8, .horizon = 4}, "cuda:sm_90", {.schedule = "sequential", .variant = "dataflow"}) ==
          "variant 'dataflow' is for the schedule multi-stage, not for sequential; give auto");
    CHECK(message({.block = 19, .horizon = 9}, "cuda:sm_90", {.schedule = "multi-stage", .variant = "team"}) ==
          "variant 'team' is for blocks up to 18 with schedule multi-stage, not for n = 19; give auto");
    CHECK(message({.block = 20, .horizon = 9}, "cuda:sm_90", {.schedule = "twisted:3", .variant = "chains"}) ==
          "variant 'chains' is for the schedules sequential and twisted:2, not for twisted:3; give auto");
    CHECK(message({.block = 20, .horizon = 9}, "hip:gfx942", {.schedule = "sequential", .variant = "chains"}) ==
          "variant 'chains' needs tensor instructions of double precision that are eight deep, which hip:gfx942 has not; give auto");
    CHECK(message({.block = 200, .horizon = 9}, "hip:gfx942", {.variant = "fused"}).starts_with("variant 'fused' needs "));
    CHECK(message({.block = 33, .horizon = 9}, "cpu:x86-64-v3", {.variant = "lanes"}) ==
          "variant 'lanes' is for blocks up to 32, not for n = 33; give auto");
    CHECK(message({.block = 3, .horizon = 9}, "cpu:x86-64-v3", {.variant = "fused"}) ==
          "unknown variant 'fused' for cpu:x86-64-v3; give one of auto, getrf, intervals, lanes, tile");
    const auto general = MatrixKind::general;
    CHECK(message({.block = 3, .horizon = 9, .matrix = general}, "cpu:x86-64-v3", {.variant = "tile"}) ==
          "variant 'tile' takes symmetric matrices alone; give auto");
    CHECK(message({.block = 3, .horizon = 9}, "cpu:x86-64-v3", {.variant = "getrf"}) ==
          "variant 'getrf' takes general matrices alone; give auto");
    CHECK(message({.block = 17, .horizon = 9, .matrix = general}, "cuda:sm_90", {.variant = "getrf"}) ==
          "variant 'getrf' is for blocks up to 16, not for n = 17; give auto");
    CHECK(message({.block = 12, .horizon = 9, .matrix = general}, "cuda:sm_90", {.schedule = "multi-stage", .variant = "getrf"}) ==
          "variant 'getrf' is for blocks up to 8 with schedule multi-stage, not for n = 12; give auto");
    CHECK(message({.block = 3, .horizon = 9}, "cuda:sm_90", {.variant = "getrf-fused"}) ==
          "variant 'getrf-fused' takes general matrices alone; give auto");
    CHECK(message({.block = 73, .horizon = 9, .matrix = general}, "cuda:sm_90", {.schedule = "multi-stage", .variant = "getrf-fused"})
              .starts_with("variant 'getrf-fused' needs "));
    CHECK(message({.block = 9, .horizon = 9, .matrix = general}, "cuda:sm_90", {.variant = "getrf-fused:fused_warps=1"}) ==
          "variant 'getrf-fused' needs more than one warp for n = 9; give fused_warps of at least 2");
    CHECK(message({.block = 73, .horizon = 9, .matrix = general}, "cuda:sm_90", {.schedule = "multi-stage"}) ==
          "no variant for cuda:sm_90 takes general matrices with blocks of n = 73 in schedule multi-stage: a front does not fit in 232448 "
          "bytes of shared memory; solve them on a CPU");
    CHECK(message({.block = 89, .horizon = 9, .matrix = general}, "cuda:sm_90", {}) ==
          "no variant for cuda:sm_90 takes general matrices with blocks of n = 89 in schedule sequential: a front does not fit in 232448 "
          "bytes of shared memory; solve them on a CPU");
    CHECK(message({.block = 49, .horizon = 9, .matrix = general}, "hip:gfx942", {}) ==
          "no variant for hip:gfx942 takes general matrices with blocks of n = 49 in schedule sequential: a front does not fit in 65536 "
          "bytes of shared memory; solve them on a CPU");
}

TEST_CASE("auto takes general matrices on GPUs as far as shared memory reaches") {
    const auto chosen = [](std::int64_t n, Precision precision, const char* target, const std::string& schedule = "auto") {
        return choose({.block = n, .horizon = 90, .precision = precision, .matrix = MatrixKind::general}, parse_target(target),
                      {.schedule = schedule});
    };
    CHECK(chosen(8, Precision::f64, "cuda:sm_90", "multi-stage").variant == "getrf");
    CHECK(chosen(9, Precision::f64, "cuda:sm_90", "multi-stage").variant == "getrf-fused");
    CHECK(chosen(16, Precision::f64, "cuda:sm_90", "sequential").variant == "getrf");
    for (const std::int64_t n : {17, 72}) CHECK(chosen(n, Precision::f64, "cuda:sm_90", "multi-stage").variant == "getrf-fused");
    CHECK(chosen(104, Precision::f32, "cuda:sm_90", "multi-stage").variant == "getrf-fused");
    CHECK(chosen(88, Precision::f64, "cuda:sm_90").schedule.name == "twisted:2");
    CHECK(chosen(128, Precision::f32, "cuda:sm_90").schedule.name == "twisted:2");
    CHECK(chosen(32, Precision::f64, "hip:gfx942", "multi-stage").variant == "getrf-fused");
    CHECK(chosen(48, Precision::f64, "hip:gfx942").schedule.name == "twisted:2");
    CHECK(chosen(12, Precision::f64, "hip:gfx942", "sequential").variant == "getrf");
}

TEST_CASE("auto chooses the schedules and variants that chosen.txt lists") {
    std::ifstream file(CHOSEN_FILE);
    int choices = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        if (++choices % test::thinning != 0) continue;
        const auto choice = parse_line(line);
        const auto chosen = choose(choice.spec, choice.target, {.workers = choice.workers});
        CHECK_MESSAGE(chosen.schedule.name == choice.schedule, line);
        CHECK_MESSAGE(chosen.variant == choice.variant, line);
    }
    CHECK(choices >= 120);
}

TEST_CASE("auto takes what was measured to be within 3 % of the fastest of fastest.txt") {
    std::ifstream file(FASTEST_FILE);
    int problems = 0;
    double logarithms = 0;
    std::string device;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        if (line.starts_with("device ")) {
            device = line.substr(line.find(' ') + 1);
            continue;
        }
        if (++problems % test::thinning == 0) logarithms += std::log(regret_of(line, device));
    }
    CHECK(problems >= 60);
    if (test::thinning == 1) CHECK(std::exp(logarithms / problems) <= max_mean_regret);
}

TEST_CASE("auto takes the schedules of general matrices that were measured to be faster") {
    const auto schedule = [](std::int64_t block, std::int64_t batch, bool ring = false) {
        const Spec spec{.block = block, .horizon = 256, .matrix = MatrixKind::general, .batch = batch, .ring = ring};
        return choose(spec, parse_target("cuda:sm_90"), Tuning{}).schedule.name;
    };
    for (const std::int64_t block : {4, 7, 8}) CHECK(schedule(block, 4096) == "twisted:2");
    for (const std::int64_t block : {1, 2}) CHECK(schedule(block, 4096) == "sequential");  // by getrf-lanes
    CHECK(schedule(1, 64) != "sequential");
    CHECK(schedule(8, 1) != "sequential");  // one chain leaves the device empty
    CHECK(schedule(8, 4096, true) != "twisted:2");
}
