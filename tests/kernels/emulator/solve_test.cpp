#include <cmath>

#include "generator/tridiagonal/variant.hpp"
#include "tests/kernels/emulator/emulated.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

/// What a test changes in a unit before it is compiled.
struct Replacement {
    std::string from, to;
};

/// Members that are run: few of a capacity that is there to make levels wide.
std::int64_t members_of(const Spec& spec) { return spec.batch > 100 ? 3 : spec.batch; }

void check_solves(Spec spec, const std::string& schedule, const std::string& variant, const std::string& target,
                  const std::vector<Replacement>& replacements = {}) {
    spec.operations = all_operations();
    for (const auto precision : {Precision::f64, Precision::f32}) {
        spec.precision = precision;
        const auto running = next_running();
        INFO(fmt::format("n {} N {} m {} {} {} {} {} order {} seed {} alive {}", spec.block, spec.horizon, spec.rhs, schedule, variant,
                         target, to_string(precision), static_cast<int>(running.order), running.seed, running.alive));
        const auto choice = choose(spec, parse_target(target), {.schedule = schedule, .variant = variant});
        auto program = generate(choice, Packing::together);
        auto& source = program.units.front().source;
        for (const auto& [from, to] : replacements) {
            const auto at = source.find(from);
            REQUIRE(at != std::string::npos);
            source.replace(at, from.size(), to);
        }
        const EmulatedUnit unit(choice, std::move(program));
        KernelRunner<EmulatedUnit, Running> runner(unit, {running});
        // X stands apart from B. In its place an entry of b is read before its y is sent in a message, and x is written where that y has
        // come. The value itself orders the two, which the detector does not model: messages order no other memory.
        check_errors(errors_of(runner, {.members = members_of(spec), .in_place = false, .every_way = false}));
        check_findings(unit);
    }
}

/// The first and the last candidate of each knob that is asked for here and whose name begins so, unless the variant refuses it.
void check_knobs(const Spec& spec, const std::string& schedule, const std::string& variant, const std::string& prefix = "") {
    const auto target = parse_target("cuda:sm_90");
    const auto asked = knobs_of(choose(spec, target, {.schedule = schedule, .variant = variant}));
    for (const auto& knob : variant_named(target, variant).knobs) {
        if (!knob.name.starts_with(prefix) || std::ranges::find(asked, knob.name, &KnobDecision::list) == asked.end()) continue;
        for (const auto value : {*knob.candidates.begin(), *(knob.candidates.end() - 1)}) {
            const auto pinned = fmt::format("{}:{}={}", variant, knob.name, value);
            const auto is_refused = [&](Precision precision) {
                Problem problem{spec, target, parse_schedule(schedule, spec.horizon), 1, {parse_variant(pinned).pinned}};
                problem.spec.precision = precision, problem.spec.operations = all_operations();
                return !refusal(variant_named(target, pinned), problem).empty();
            };
            if (!is_refused(Precision::f64) && !is_refused(Precision::f32)) check_solves(spec, schedule, pinned, "cuda:sm_90");
        }
    }
}

}  // namespace

TEST_CASE("every schedule solves on the emulated GPU") {
    for (const std::string schedule :
         {"sequential", "single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2"})
        check_solves({.block = 5, .horizon = 13, .rhs = 3, .batch = 2}, schedule, "fused", "cuda:sm_90");
}

TEST_CASE("every block size solves on the emulated GPU") {
    const std::string schedules[] = {"twisted:2", "partitioned:3", "multi-stage"};
    int k = 0;
    for (const std::int64_t n : {1, 4, 7, 8, 12, 31, 33, 64})
        check_solves({.block = n, .horizon = 6, .rhs = k % 3 == 2 ? 8 : 1}, schedules[k++ % 3], "fused", "cuda:sm_90");
}

TEST_CASE("symmetric matrices solve on the emulated GPU") {
    const auto check = [](const std::string& variant, const std::string& target, std::int64_t n, std::int64_t horizon,
                          const std::string& schedule, std::int64_t columns, std::int64_t members) {
        const Spec spec{.block = n, .horizon = horizon, .matrix = MatrixKind::symmetric, .rhs = columns, .batch = members};
        check_solves(spec, schedule, variant, target);
    };
    check("fused", "cuda:sm_90", 1, 13, "recursive:2:3", 3, 2);
    check("fused", "cuda:sm_90", 3, 7, "partitioned:3", 1, 2);
    check("fused", "cuda:sm_90", 8, 2, "twisted:2", 3, 1);
    check("fused", "cuda:sm_90", 17, 3, "multi-stage", 1, 2);
    check("fused", "cuda:sm_75", 32, 1, "sequential", 3, 1);
    check("fused", "hip:gfx942", 33, 3, "twisted:2", 1, 1);
    check("fused", "cuda:sm_90", 48, 7, "multi-stage", 1, 1);
    check("tiled", "cuda:sm_90", 1, 7, "multi-stage", 3, 1);
    check("tiled", "cuda:sm_75", 17, 3, "sequential", 1, 2);
    check("tiled", "hip:gfx942", 33, 7, "partitioned:3", 1, 1);
    check("tiled", "cuda:sm_90", 48, 2, "twisted:2", 3, 1);
    check("tiled", "cuda:sm_90", 66, 6, "recursive:2:3", 1, 1);  // the selected inverse is shared out
}

TEST_CASE("symmetric matrices solve where fronts flow on the emulated GPU") {
    const auto check = [](std::int64_t n, std::int64_t horizon, std::int64_t columns, std::int64_t members,
                          const std::string& target = "cuda:sm_90", const std::string& variant = "dataflow") {
        check_solves({.block = n, .horizon = horizon, .matrix = MatrixKind::symmetric, .rhs = columns, .batch = members}, "multi-stage",
                     variant, target);
    };
    check(1, 13, 3, 2);
    check(8, 6, 1, 1);
    check(17, 6, 2, 1);
    check(20, 11, 1, 1, "cuda:sm_90", "dataflow:bake=1");
    check(12, 7, 8, 1, "cuda:sm_90", "dataflow:rides=0");
    check(33, 6, 9, 1);
    check(48, 6, 1, 2);
    check(75, 5, 1, 1);  // without room for the blocks that are pulled
    check(93, 5, 6, 1);  // inverses stand in the places of the tiles
    check(12, 5, 1, 1, "cuda:sm_75");
    check(5, 7, 3, 2, "hip:gfx1100");
    check(31, 4, 9, 1, "hip:gfx942");
    check(12, 5, 20, 1);   // shared sweeps
    check(9, 7, 1, 512);   // wide levels
    check(24, 6, 1, 512);  // ... of two bands
    check(33, 7, 1, 300);  // ... of several warps
}

TEST_CASE("symmetric matrices solve by tiles on the emulated GPU") {
    const auto check = [](std::int64_t n, std::int64_t horizon, const std::string& schedule, std::int64_t columns, std::int64_t members,
                          const std::string& target = "cuda:sm_90", const std::string& variant = "tile-dataflow") {
        check_solves({.block = n, .horizon = horizon, .matrix = MatrixKind::symmetric, .rhs = columns, .batch = members}, schedule, variant,
                     target);
    };
    for (const std::string schedule : {"sequential", "single-stage", "multi-stage", "partitioned:3", "twisted:4", "recursive:2:3"})
        check(5, 6, schedule, schedule == "sequential" ? 5 : 1, 1);
    check(65, 2, "multi-stage", 1, 2);
    check(97, 3, "twisted:2", 3, 1, "cuda:sm_120");
    check(130, 2, "sequential", 1, 1);
    check(70, 3, "multi-stage", 1, 1, "cuda:sm_80");  // without copies of ranges
    check(37, 3, "multi-stage", 1, 1, "cuda:sm_75");  // smaller tiles, in double precision
    check(33, 5, "multi-stage", 5, 2, "hip:gfx942");
    check(70, 2, "sequential", 1, 1, "hip:gfx1100");
    check(70, 5, "multi-stage", 3, 1, "cuda:sm_90", "tile-dataflow:bake=0,stage_columns=32,stages=3");
    check(70, 5, "multi-stage", 1, 1, "cuda:sm_90", "tile-dataflow:rank_levels=2");
}

TEST_CASE("symmetric matrices solve in chains on the emulated GPU") {
    const auto check = [](std::int64_t n, std::int64_t horizon, const std::string& schedule, std::int64_t columns, std::int64_t members,
                          const std::string& variant = "chains") {
        check_solves({.block = n, .horizon = horizon, .matrix = MatrixKind::symmetric, .rhs = columns, .batch = members}, schedule, variant,
                     "cuda:sm_90");
    };
    check(17, 6, "twisted:2", 1, 2);
    check(20, 1, "sequential", 2, 1);
    check(33, 5, "sequential", 5, 1);
    check(48, 6, "twisted:2", 2, 2);
    check(80, 3, "sequential", 1, 1);
    check(33, 4, "twisted:2", 1, 2, "chains:chain_teams=1,chain_helper=1");
    check(50, 3, "sequential", 1, 1, "chains:chain_teams=1,chain_helper=0,chain_rereads=0");
    check(20, 5, "twisted:2", 2, 600);  // without helpers
    check(28, 5, "twisted:2", 2, 2, "chains:chain_teams=1,chain_bands=2,chain_copier=1");
}

TEST_CASE("knobs of dataflow solve on the emulated GPU") { check_knobs({.block = 12, .horizon = 9}, "multi-stage", "dataflow"); }

TEST_CASE("knobs of dataflow's wide levels solve on the emulated GPU") {
    check_knobs({.block = 9, .horizon = 5, .batch = 512}, "multi-stage", "dataflow", "wide");
}

TEST_CASE("knobs of launches by level solve on the emulated GPU") {
    check_knobs({.block = 9, .horizon = 5}, "partitioned:2", "fused");
    check_knobs({.block = 33, .horizon = 3}, "sequential", "tiled");
    check_knobs({.block = 6, .horizon = 5, .rhs = 5, .batch = 3}, "twisted:2", "team");
}

TEST_CASE("knobs of chains solve on the emulated GPU") {
    check_knobs({.block = 20, .horizon = 5, .rhs = 2, .batch = 2}, "twisted:2", "chains");
    check_solves({.block = 33, .horizon = 3, .batch = 2}, "twisted:2", "chains:chain_teams=1,chain_helper=1", "cuda:sm_90");
    check_solves({.block = 50, .horizon = 3}, "sequential", "chains:chain_teams=1,chain_helper=0,chain_rereads=0", "cuda:sm_90");
    check_solves({.block = 64, .horizon = 5}, "sequential", "chains:chain_copier=0", "cuda:sm_90");
}

TEST_CASE("knobs of tile dataflow solve on the emulated GPU") { check_knobs({.block = 33, .horizon = 3}, "twisted:2", "tile-dataflow"); }

TEST_CASE("short horizons solve on the emulated GPU") {
    for (const std::int64_t horizon : {1, 2, 3, 8})
        for (const std::string schedule : {"twisted:3", "multi-stage"})
            check_solves({.block = 3, .horizon = horizon}, schedule, "fused", "cuda:sm_90");
}

TEST_CASE("tiled kernels solve on the emulated GPU") {
    for (const std::string schedule : {"sequential", "multi-stage", "partitioned:3", "twisted:3"})
        check_solves({.block = 33, .horizon = 6, .rhs = schedule == "sequential" ? 3 : 1}, schedule, "tiled", "cuda:sm_90");
    check_solves({.block = 5, .horizon = 9, .rhs = 8, .batch = 2}, "twisted:4", "tiled", "cuda:sm_90");
}

TEST_CASE("blocks of several tiles solve on the emulated GPU") {
    check_solves({.block = 130, .horizon = 2}, "sequential", "tiled", "cuda:sm_90");
}

// By tensor instructions, by matrix instructions of waves of 64, by neither; whole tiles and parts of them; chains long and short.
TEST_CASE("the selected inverse of large blocks is shared out on emulated GPUs") {
    check_solves({.block = 65, .horizon = 8}, "partitioned:2", "tiled", "cuda:sm_90");
    check_solves({.block = 66, .horizon = 6, .batch = 2}, "flanked:2,1", "tile-dataflow", "cuda:sm_90");
    check_solves({.block = 72, .horizon = 5}, "multi-stage", "dataflow", "cuda:sm_90");
    check_solves({.block = 128, .horizon = 3}, "twisted:2", "tiled", "cuda:sm_75");
    check_solves({.block = 65, .horizon = 7}, "segments:3,2", "tiled", "hip:gfx942");
    check_solves({.block = 65, .horizon = 1}, "sequential", "tiled", "hip:gfx1100");
}

// Waves of 32; of 64; of 64 with matrix instructions. Their units keep the platform header that the devices get.
TEST_CASE("fused kernels solve on emulated GPUs of AMD's") {
    for (const std::string target : {"hip:gfx1100", "hip:gfx906", "hip:gfx942"}) {
        check_solves({.block = 5, .horizon = 7, .rhs = 3, .batch = 2}, "twisted:3", "fused", target);
        check_solves({.block = 31, .horizon = 4}, "multi-stage", "fused", target);
    }
}

TEST_CASE("tiled kernels solve on emulated GPUs of AMD's") {
    for (const std::string target : {"hip:gfx1100", "hip:gfx906", "hip:gfx942"})
        check_solves({.block = 33, .horizon = 4}, "partitioned:2", "tiled", target);
}

TEST_CASE("teams solve batches on the emulated GPU") {
    for (const std::int64_t n : {1, 2, 3, 7, 8, 12, 16, 17, 24})
        check_solves({.block = n, .horizon = 5, .rhs = n % 3 == 1 ? 9 : 2, .batch = n < 8 ? 19 : 3}, "sequential", "team", "cuda:sm_90");
    for (const std::int64_t horizon : {1, 2, 3, 8})
        check_solves({.block = 6, .horizon = horizon, .batch = 5}, "sequential", "team", "cuda:sm_75");
}

TEST_CASE("teams have chains of every schedule on the emulated GPU") {
    for (const std::string schedule :
         {"single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2", "recursive:8"})
        check_solves({.block = 3, .horizon = 13, .rhs = 5, .batch = 2}, schedule, "team", "cuda:sm_90");
    int k = 0;
    for (const std::int64_t n : {1, 2, 4, 7, 8, 12, 16, 18})
        check_solves({.block = n, .horizon = 11, .rhs = 1 + k % 2}, k++ % 2 == 0 ? "recursive:2" : "twisted:3", "team", "cuda:sm_90");
    for (const std::int64_t horizon : {1, 2, 3, 31, 32, 33})
        check_solves({.block = 4, .horizon = horizon}, "recursive:3", "team", "cuda:sm_75");
    check_solves({.block = 4, .horizon = 9, .batch = 19}, "recursive:2", "team",
                 "cuda:sm_90");  // several chains and members in a thread block
}

TEST_CASE("symmetric matrices solve in teams on the emulated GPU") {
    const auto check = [](std::int64_t n, std::int64_t horizon, const std::string& schedule, std::int64_t columns, std::int64_t members,
                          const std::string& target = "cuda:sm_90") {
        const Spec spec{.block = n, .horizon = horizon, .matrix = MatrixKind::symmetric, .rhs = columns, .batch = members};
        check_solves(spec, schedule, "team", target);
    };
    check(1, 13, "sequential", 1, 33);
    check(1, 7, "recursive:2:3", 3, 5, "hip:gfx1100");
    check(2, 3, "twisted:2", 3, 1);
    check(2, 13, "multi-stage", 1, 5);
    check(3, 7, "sequential", 3, 5, "hip:gfx906");
    check(3, 13, "partitioned:3", 1, 1);
    check(4, 1, "sequential", 3, 33, "cuda:sm_75");
    check(4, 7, "multi-stage", 1, 33);
    check(7, 2, "twisted:2", 1, 5);
    check(7, 13, "segments:3,2", 3, 1, "hip:gfx1100");
    check(8, 3, "multi-stage", 1, 1);
    check(8, 13, "recursive:2", 3, 5);
    check(12, 2, "sequential", 3, 5);
    check(12, 7, "twisted:3", 1, 1);
    check(16, 7, "sequential", 1, 5);
    check(16, 13, "recursive:2:3", 3, 1);
}

TEST_CASE("teams have chains on emulated GPUs of AMD's") {
    for (const std::string target : {"hip:gfx1100", "hip:gfx906"}) {
        check_solves({.block = 5, .horizon = 9, .rhs = 3, .batch = 3}, "recursive:2", "team", target);
        check_solves({.block = 8, .horizon = 7}, "twisted:3", "team", target);
    }
}

TEST_CASE("teams solve batches on emulated GPUs of AMD's") {
    for (const std::string target : {"hip:gfx1100", "hip:gfx906"}) {
        check_solves({.block = 5, .horizon = 4, .rhs = 3, .batch = 10}, "sequential", "team", target);
        check_solves({.block = 20, .horizon = 3, .batch = 3}, "sequential", "team", target);
    }
}

TEST_CASE("chains of every block size solve on the emulated GPU") {
    int k = 0;
    for (const std::int64_t n : {17, 24, 28, 31, 32, 33, 48, 64, 75, 96}) {
        const bool sequential = k % 2 == 0;
        check_solves({.block = n, .horizon = n > 64 ? 3 : 6, .rhs = k % 3 == 2 ? 5 : 1, .batch = 1 + k % 2},
                     sequential ? "sequential" : "twisted:2", "chains", "cuda:sm_90");
        ++k;
    }
}

TEST_CASE("chains of every horizon solve on the emulated GPU") {
    for (const std::int64_t horizon : {1, 2, 3, 4, 9})
        for (const std::string schedule : {"sequential", "twisted:2"})
            check_solves({.block = 18, .horizon = horizon, .rhs = 2, .batch = 2}, schedule, "chains", "cuda:sm_90");
    check_solves({.block = 20, .horizon = 3, .batch = 600}, "twisted:2", "chains", "cuda:sm_90");     // without helpers
    check_solves({.block = 20, .horizon = 3, .batch = 70000}, "sequential", "chains", "cuda:sm_90");  // several systems a thread block
}

TEST_CASE("dataflow kernels solve on emulated GPUs of AMD's") {
    for (const std::string target : {"hip:gfx1100", "hip:gfx906", "hip:gfx942"}) {
        check_solves({.block = 5, .horizon = 7, .rhs = 3, .batch = 2}, "multi-stage", "dataflow", target);
        check_solves({.block = 31, .horizon = 4, .rhs = 9}, "multi-stage", "dataflow", target);
    }
}

TEST_CASE("dataflow kernels of every block size solve on the emulated GPU") {
    int k = 0;
    for (const std::int64_t n : {1, 7, 8, 12, 24, 31, 33, 64, 72})
        check_solves({.block = n, .horizon = 6, .rhs = k++ % 3 == 2 ? 9 : 1}, "multi-stage", "dataflow", "cuda:sm_90");
    check_solves({.block = 12, .horizon = 5}, "multi-stage", "dataflow", "cuda:sm_75");
    check_solves({.block = 75, .horizon = 5}, "multi-stage", "dataflow",
                 "cuda:sm_90");  // no room in double precision for what a front pulls
    check_solves({.block = 93, .horizon = 5, .rhs = 6}, "multi-stage", "dataflow", "cuda:sm_90");
}

TEST_CASE("thread blocks of a sweep share a front's right-hand sides on the emulated GPU") {
    check_solves({.block = 9, .horizon = 6, .rhs = 20}, "multi-stage", "dataflow", "cuda:sm_90");
    check_solves({.block = 12, .horizon = 7, .rhs = 8}, "multi-stage", "dataflow", "cuda:sm_90");
    for (const auto* columns : {"1", "2", "4", "8"})
        check_solves({.block = 12, .horizon = 5, .rhs = 7}, "multi-stage", fmt::format("dataflow:sweep_columns={}", columns), "cuda:sm_90");
    check_solves({.block = 5, .horizon = 4, .rhs = 17, .batch = 3}, "multi-stage", "dataflow:bake=0", "cuda:sm_90");
    check_solves({.block = 20, .horizon = 3, .rhs = 33}, "multi-stage", "dataflow", "hip:gfx942");
    check_solves({.block = 3, .horizon = 2, .rhs = 20, .batch = 1024}, "multi-stage", "dataflow",
                 "cuda:sm_90");  // two have two panels each
}

TEST_CASE("dataflow kernels of every horizon solve on the emulated GPU") {
    for (const std::int64_t horizon : {1, 2, 3, 4, 7, 8, 9, 17})
        check_solves({.block = 5, .horizon = horizon, .rhs = 3, .batch = 2}, "multi-stage", "dataflow", "cuda:sm_90");
}

TEST_CASE("dataflow kernels of long horizons, which send messages from a later level on, solve on the emulated GPU") {
    for (const auto& [block, level] : {std::pair{9, 1}, std::pair{3, 2}})
        check_solves({.block = block, .horizon = 11, .rhs = 2, .batch = 2}, "multi-stage", "dataflow:bake=1", "cuda:sm_90",
                     {{"#define TRIFOLD_MESSAGE_LEVEL 0\n", fmt::format("#define TRIFOLD_MESSAGE_LEVEL {}\n", level)},
                      {"#define TRIFOLD_MESSAGE_FRONTS 11\n", fmt::format("#define TRIFOLD_MESSAGE_FRONTS {}\n", 11 >> level)}});
}

TEST_CASE("dataflow kernels with a launch of their own for wide levels solve on the emulated GPU") {
    for (const std::int64_t n : {1, 12, 24, 32, 37, 64})
        check_solves({.block = n, .horizon = n == 12 ? 19 : 7, .rhs = n == 24 ? 9 : 1, .batch = n <= 32 ? 512 : 300}, "multi-stage",
                     "dataflow", "cuda:sm_90");
}

TEST_CASE("tile dataflow solves by every schedule on the emulated GPU") {
    for (const std::string schedule : {"sequential", "multi-stage", "partitioned:3", "twisted:3", "recursive:2:2"})
        check_solves({.block = 5, .horizon = 6, .rhs = schedule == "sequential" ? 5 : 1}, schedule, "tile-dataflow", "cuda:sm_90");
    check_solves({.block = 5, .horizon = 23, .batch = 2}, "flanked:4,2", "tile-dataflow",
                 "cuda:sm_90");  // longer chains and single fronts, at two levels
}

TEST_CASE("tile dataflow solves blocks of several tiles on the emulated GPU") {
    check_solves({.block = 65, .horizon = 2, .batch = 2}, "multi-stage", "tile-dataflow", "cuda:sm_90");
    check_solves({.block = 97, .horizon = 3, .rhs = 3}, "twisted:2", "tile-dataflow", "cuda:sm_120");
    check_solves({.block = 130, .horizon = 1}, "sequential", "tile-dataflow", "cuda:sm_90");
    check_solves({.block = 70, .horizon = 3}, "multi-stage", "tile-dataflow", "cuda:sm_80");  // without copies of ranges
    check_solves({.block = 37, .horizon = 3}, "multi-stage", "tile-dataflow", "cuda:sm_75");  // smaller tiles, in double precision
}

TEST_CASE("tile dataflow solves with sizes that come with each call on the emulated GPU") {
    check_solves({.block = 5, .horizon = 23, .batch = 2}, "flanked:4,2", "tile-dataflow:bake=0", "cuda:sm_90");
    check_solves({.block = 70, .horizon = 5, .rhs = 3}, "multi-stage", "tile-dataflow:bake=0", "cuda:sm_90");
    check_solves({.block = 37, .horizon = 3}, "twisted:2", "tile-dataflow:bake=0", "cuda:sm_75");
    check_solves({.block = 37, .horizon = 3}, "multi-stage", "tile-dataflow:bake=0", "hip:gfx942");
}

TEST_CASE("tile dataflow in halves takes rows of very different size: powers of two change no digit of the solution") {
    const Spec spec{.block = 70, .horizon = 3, .precision = Precision::f32};
    Emulated<float> call(spec, "multi-stage", 5, parse_target("cuda:sm_90"), "tile-dataflow");
    call.run(Operation::factor_solve);
    const auto expected = call.x;
    const auto scale = [&](std::int64_t block, std::int64_t r) { return std::ldexp(1.0, static_cast<int>((block * 7 + r * 5) % 21) - 10); };
    auto& system = call.systems[0];
    for (std::int64_t i = 0; i < spec.horizon; ++i)
        for (std::int64_t r = 0; r < spec.block; ++r) {
            const auto k = static_cast<std::size_t>(i);
            system.d[k].row(r) *= scale(i, r), system.d[k].col(r) *= scale(i, r);
            if (i + 1 < spec.horizon) system.e[k].col(r) *= scale(i, r);
            if (i > 0) system.e[k - 1].row(r) *= scale(i, r);
            system.b.row(i * spec.block + r) *= scale(i, r);
        }
    const auto user = arrays<float>(spec, call.systems);
    call.args.d = user.d.data(), call.args.e = user.e.data(), call.args.b = user.b.data();
    call.run(Operation::factor_solve);
    for (std::int64_t i = 0; i < spec.horizon * spec.block; ++i) {
        const auto k = static_cast<std::size_t>(i);
        CHECK(call.x[k] * static_cast<float>(scale(i / spec.block, i % spec.block)) == expected[k]);
    }
    check_findings(call.unit);
}

TEST_CASE("tile dataflow solves where a level's fronts go side by side in several groups") {
    for (const int lines : {1, 2, 3})
        check_solves({.block = 37, .horizon = 11}, lines == 2 ? "flanked:2" : "multi-stage", "tile-dataflow", "cuda:sm_75",
                     {{"together = chains_together;", fmt::format("together = {};", lines)}});
}

TEST_CASE("tile dataflow solves on emulated GPUs of AMD's") {
    for (const std::string target : {"hip:gfx1100", "hip:gfx906", "hip:gfx942"}) {
        check_solves({.block = 33, .horizon = 5, .rhs = 5, .batch = 2}, "multi-stage", "tile-dataflow", target);
        check_solves({.block = 70, .horizon = 2}, "sequential", "tile-dataflow", target);
    }
}
