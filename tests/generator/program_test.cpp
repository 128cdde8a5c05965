#include "generator/program/device.hpp"
#include "generator/sparse/fields.hpp"
#include "generator/sparse/generate.hpp"
#include "generator/tridiagonal/emit.hpp"
#include "generator/tridiagonal/operands.hpp"
#include "tests/generator/designs.hpp"
#include "tests/generator/schedules.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

const Target cpu{Backend::cpu, "x86-64-v3"}, cuda{Backend::cuda, "sm_90"}, hip{Backend::hip, "gfx942"};

std::vector<Design> programs() {
    std::vector<Design> result;
    for (const auto& target : {cpu, cuda, hip}) {
        for (const auto* schedule : {"sequential", "twisted:2", "recursive:2:3", "multi-stage"}) {
            result.push_back(
                design_of({.block = 5, .horizon = 13, .precision = Precision::f32, .rhs = 2, .batch = 2, .operations = all_operations()},
                          target, {.schedule = schedule}));
            result.push_back(
                design_of({.block = 8, .horizon = 1, .operations = all_operations()}, target, {.schedule = schedule, .workers = 3}));
        }
    }
    return result;
}

Program program_of(const Design& design) {
    return generate(design.spec, design.target, {.schedule = design.schedule.name, .variant = design.variant, .workers = design.workers});
}

std::uint64_t fingerprint(const Design& design) {
    const auto program = program_of(design);
    auto text = to_json(program);
    for (const auto& unit : program.units) text += unit.source;
    return std::hash<std::string>{}(text);
}

std::uint64_t fingerprint_of_all() {
    std::string all;
    for (const auto& program : programs()) all += std::to_string(fingerprint(program));
    return std::hash<std::string>{}(all);
}

}  // namespace

TEST_CASE("buffers are aligned, apart and within the workspace") {
    for (const auto& program : programs()) {
        std::int64_t end = 0;
        std::set<std::string> names;
        for (const auto& item : program.buffers) {
            CHECK(item.offset % workspace_alignment == 0);
            CHECK(item.offset >= end);
            CHECK(item.bytes >= 0);
            CHECK(names.insert(item.name).second);
            end = item.offset + item.bytes;
        }
        CHECK(end <= program.workspace_bytes - program.lowered.scratch_bytes * program.workers);
        CHECK(&buffer(program, "factor") == &*std::ranges::find(program.buffers, std::string("factor"), &Buffer::name));
        CHECK_THROWS_AS(buffer(program, "fctor"), SpecError);
    }
}

TEST_CASE("each kernel stands at its phase's index under a name of its own, which the source defines") {
    for (const auto& program : programs()) {
        REQUIRE(program.kernels.size() == 7);  // no wide levels, no large blocks: the first phases
        std::set<std::string> names;
        for (const auto phase : std::span(phases).first(program.kernels.size())) {
            const auto& kernel = program.kernels[static_cast<std::size_t>(phase)];
            CHECK(kernel.phase == phase);
            CHECK(names.insert(kernel.name).second);
            CHECK(says(source_of(program), kernel.name));
            CHECK(kernel.name.ends_with(program.label));
        }
    }
}

TEST_CASE("operations visit every level in order, each launch after the one it needs") {
    for (const auto& program : programs()) {
        const auto levels = program.schedule.levels.size();
        const auto count = [&](Operation operation, Phase phase) {
            const auto& launches = program.operations.at(operation);
            return static_cast<std::size_t>(std::ranges::count(launches, static_cast<std::size_t>(phase), &Step::kernel));
        };
        CHECK(program.operations.size() == all_operations().size());
        const auto passes = [&](Phase phase) { return program.lowered.shapes.at(phase).all_levels ? 1 : levels; };
        CHECK(count(Operation::factor, Phase::factor) == passes(Phase::factor));
        CHECK(count(Operation::factor, Phase::finish_factor) == 1);
        CHECK(count(Operation::solve, Phase::forward) == passes(Phase::forward));
        CHECK(count(Operation::solve, Phase::backward) == passes(Phase::backward));
        CHECK(count(Operation::factor_solve, Phase::factor_forward) == passes(Phase::factor_forward));
        CHECK(count(Operation::factor_solve, Phase::backward) == passes(Phase::backward));
        CHECK(count(Operation::inverse, Phase::inverse) == passes(Phase::inverse));
        for (const auto& [operation, launches] : program.operations) {
            std::size_t waits = 0;
            for (std::size_t k = 0; k < launches.size(); ++k) {
                waits += launches[k].after.empty() ? 0 : 1;
                for (const auto before : launches[k].after) CHECK(before < k);
            }
            CHECK(waits == launches.size() - 1);
        }
        const auto& solve = program.operations.at(Operation::solve);
        std::vector<trifold_int> climbed, descended;
        for (const auto& launch : solve) {
            if (launch.kernel == static_cast<std::size_t>(Phase::forward)) climbed.push_back(launch.level.index);
            if (launch.kernel == static_cast<std::size_t>(Phase::backward)) descended.push_back(launch.level.index);
        }
        CHECK(std::ranges::is_sorted(climbed));
        CHECK(std::ranges::is_sorted(descended, std::ranges::greater{}));
    }
}

TEST_CASE("on a CPU many right-hand sides go in panels, which workers share, and do not ride with the factorization") {
    const auto made = [](std::int64_t rhs, int workers, const char* variant = "tile") {
        return design_of({.block = 5, .horizon = 13, .rhs = rhs, .batch = 2, .operations = {Operation::factor_solve}}, cpu,
                         {.schedule = "twisted:2", .variant = variant, .workers = workers});
    };
    struct Expected {
        std::int64_t rhs;
        int workers;
        std::int64_t at_once, panels;
    };
    for (const auto& [rhs, workers, at_once, panels] :
         {Expected{1, 4, 1, 1}, {2, 4, 2, 1}, {3, 4, 4, 1}, {9, 4, 16, 1}, {64, 4, 64, 1}, {65, 1, 64, 1}, {1000, 4, 256, 4}}) {
        CAPTURE(rhs);
        const auto program = made(rhs, workers);
        CHECK(program.spec.rhs == at_once);
        CHECK(program.caller.rhs == rhs);
        CHECK(buffer(program, "quadratic").bytes == 2 * rhs * 8);
        CHECK(has_kernel(program, Phase::factor_forward) == (rhs <= 2));
        CHECK(program.operations.contains(Operation::solve) == (rhs > at_once));  // for the columns that the first call leaves
        for (const auto& step : program.operations.at(Operation::factor_solve))
            if (program.kernels[step.kernel].phase == Phase::backward) CHECK(groups_of(program, step) == step.level.chains * panels);
        CHECK(made(rhs, workers, "lanes").spec.rhs == std::min<std::int64_t>(at_once, 64));
    }
}

TEST_CASE("kernels that take long to compile have units of their own on CUDA, and everything is one unit elsewhere") {
    const Spec spec{.block = 12, .horizon = 9, .operations = all_operations()};
    const Tuning tuning{.schedule = "multi-stage", .variant = "dataflow"};
    const auto program = generate(spec, {Backend::cuda, "sm_90"}, tuning);
    const auto whole = generate(spec, {Backend::cuda, "sm_90"}, tuning, Packing::together);
    REQUIRE(program.units.size() == 6);
    REQUIRE(whole.units.size() == 1);
    std::vector<std::string> names;
    std::set<std::string> ids;
    for (const auto& unit : program.units) {
        CHECK(ids.insert(unit.id).second);
        CHECK(unit.options == whole.units[0].options);
        for (const auto& kernel : unit.kernels) names.push_back(kernel.name);
    }
    CHECK(program.units.back().kernels.size() == 2);  // those that finish
    CHECK(program.units.back().id == program.name);
    for (std::size_t k = 0; k + 1 < program.units.size(); ++k) CHECK(program.units[k].id == program.units[k].kernels.at(0).name);
    // Each unit names its own kernels, and no others.
    REQUIRE(names.size() == whole.units[0].kernels.size());
    for (const auto& unit : program.units)
        for (const auto& name : names)
            CHECK((unit.source.find(name) != std::string::npos) == (std::ranges::count(unit.kernels, name, &Kernel::name) == 1));
    for (const auto& name : names) CHECK(says(whole.units[0].source, name));
    // Launches find their kernels whichever way they are packed.
    for (const auto& [operation, launches] : program.operations)
        for (std::size_t k = 0; k < launches.size(); ++k)
            CHECK(kernel_of(program, launches[k]).name == kernel_of(whole, whole.operations.at(operation)[k]).name);
    for (const auto& target : {Target{Backend::cpu, "x86-64-v3"}, Target{Backend::hip, "gfx942"}})
        CHECK(generate(spec, target).units.size() == 1);
}

TEST_CASE("a launch of all levels has a task for every front, and starts from tickets and flags of zero") {
    const auto program =
        design_of({.block = 12, .horizon = 9, .batch = 2}, {Backend::cuda, "sm_90"}, {.schedule = "multi-stage", .variant = "dataflow"});
    const auto& factor = program.operations.at(Operation::factor);
    REQUIRE(factor.size() == 2);
    CHECK(factor[0].level.chains == 9);
    CHECK(buffer(program, "ticket").zeroed);
    CHECK(buffer(program, "ticket").bytes == 3 * 2 * 8);
    CHECK(buffer(program, "flag").zeroed);
    CHECK(buffer(program, "flag").bytes == 2 * 9 * 8);
    CHECK(buffer(program, "update_words").zeroed);
    CHECK(buffer(program, "update_words").bytes == 2 * 2 * 9 * 16 * 16);
    CHECK(buffer(program, "solution_words").zeroed);
    CHECK(buffer(program, "solution_words").bytes == 2 * 9 * 16 * 16);
    CHECK(!buffer(program, "factor").zeroed);
    const auto fused = design_of({.block = 12, .horizon = 9}, {Backend::cuda, "sm_90"}, {.schedule = "multi-stage", .variant = "fused"});
    CHECK(std::ranges::count(fused.buffers, std::string("flag"), &Buffer::name) == 0);
}

TEST_CASE("variant dataflow: fronts send messages from the level on where 512 remain, of blocks up to 32 on CUDA") {
    const auto macros_of = [](const Spec& spec, const Target& target) {
        const auto program = design_of(spec, target, {.schedule = "multi-stage", .variant = "dataflow"});
        const auto value = [&](const std::string& name) {
            const auto define = "#define TRIFOLD_MESSAGE_" + name + " ";
            const auto at = source_of(program).find(define);
            REQUIRE(at != std::string::npos);
            return std::stoll(source_of(program).substr(at + define.size()));
        };
        const long long fronts = open_sizes_of(program).at(*place_of_open_size("MESSAGE_FRONTS"));
        const std::int64_t padded = (spec.block + 7) / 8 * 8, bytes = spec.precision == Precision::f64 ? 8 : 4;
        CHECK(buffer(program, "message").bytes == spec.batch * fronts * 2 * padded * (padded + program.spec.rhs) * bytes);
        CHECK(buffer(program, "message").zeroed);
        return std::pair{value("LEVEL"), fronts};
    };
    CHECK(macros_of({.block = 32, .horizon = 512}, cuda) == std::pair{0LL, 512LL});
    CHECK(macros_of({.block = 32, .horizon = 515, .precision = Precision::f32, .rhs = 3}, cuda) == std::pair{1LL, 257LL});
    CHECK(macros_of({.block = 5, .horizon = 2047}, cuda) == std::pair{2LL, 511LL});
    CHECK(macros_of({.block = 5, .horizon = 9, .batch = 120}, cuda) == std::pair{1LL, 4LL});
    CHECK(macros_of({.block = 5, .horizon = 9, .batch = 228}, cuda) == std::pair{2LL, 2LL});  // the first level is wide
    CHECK(macros_of({.block = 5, .horizon = 2, .batch = 2048}, cuda) == std::pair{0LL, 0LL});
    CHECK(macros_of({.block = 5, .horizon = 1}, cuda) == std::pair{0LL, 0LL});
    CHECK(macros_of({.block = 33, .horizon = 64}, cuda) == std::pair{0LL, 0LL});
    CHECK(macros_of({.block = 16, .horizon = 64}, {Backend::hip, "gfx942"}) == std::pair{0LL, 0LL});
    CHECK(macros_of({.block = 16, .horizon = 64}, {Backend::cuda, "sm_100"}) == std::pair{0LL, 64LL});
    for (const std::string arch : {"sm_80", "sm_120"})  // matrix instructions of double precision are shallow, or slow
        CHECK(macros_of({.block = 16, .horizon = 64, .precision = Precision::f32}, {Backend::cuda, arch}) == std::pair{0LL, 0LL});
}

TEST_CASE("teams: auto takes them for batches of small systems, several to a thread block, and they need no kernels that finish") {
    const Spec spec{.block = 12, .horizon = 32, .batch = 16384};
    const auto program = design_of(spec, cuda);
    CHECK(program.variant == "team");
    CHECK(program.schedule == sequential(32));
    CHECK(says(source_of(program), "#define TRIFOLD_TEAM 16\n"));
    CHECK(says(source_of(design_of({.block = 4, .horizon = 32, .batch = 16384}, cuda)), "#define TRIFOLD_TEAM 4\n"));
    const auto& factor_solve = program.operations.at(Operation::factor_solve);
    REQUIRE(factor_solve.size() == 2);
    for (const auto& launch : factor_solve) {
        CHECK(launch.level.chains == 1);
        CHECK(program.kernels[launch.kernel].shape.members_per_task == 4);
    }
    CHECK(design_of({.block = 12, .horizon = 32, .batch = 1 << 20}, cuda).kernels[0].shape.members_per_task > 4);
    CHECK(design_of({.block = 12, .horizon = 32}, cuda).variant != "team");
    CHECK(design_of({.block = 17, .horizon = 32, .batch = 16384}, cuda).variant == "team");
    CHECK(design_of({.block = 25, .horizon = 32, .batch = 16384}, cuda).variant != "team");
    auto inverse = spec;
    inverse.operations = all_operations();
    CHECK(design_of(inverse, cuda).variant != "team");
    // In single precision a lane's rows take half the registers.
    CHECK(
        design_of({.block = 19, .horizon = 9, .precision = Precision::f32}, cuda, {.schedule = "multi-stage", .variant = "team"}).variant ==
        "team");
    CHECK_REFUSED("18", design_of({.block = 19, .horizon = 9}, cuda, {.schedule = "multi-stage", .variant = "team"}));
    CHECK_REFUSED("24", design_of({.block = 25, .horizon = 4}, cuda, {.schedule = "sequential", .variant = "team"}));
}

TEST_CASE("teams: auto takes them for long horizons of small blocks, with many chains") {
    for (const std::int64_t n : {1, 4, 8, 12}) {
        const auto program = design_of({.block = n, .horizon = 262144}, cuda);
        CHECK(program.variant == "team");
        CHECK(program.schedule.levels[0].chains() > 10000);
        const auto& shape = program.kernels[0].shape;
        CHECK(shape.chains_per_task > 1);
        CHECK(shape.members_per_task == 1);
    }
    CHECK(design_of({.block = 4, .horizon = 512}, cuda).variant == "dataflow");
    // Measured on an H100: docs/measurements/history.md#2026-11-26-chains.
    CHECK(design_of({.block = 17, .horizon = 262144}, cuda).variant == "team");
    CHECK(design_of({.block = 17, .horizon = 16384}, cuda).variant == "dataflow");
    // Measured on an H200, where the first levels are wide: docs/measurements/history.md#2026-11-22-gpu-dataflow.
    for (const std::int64_t horizon : {16384, 32768, 65536})
        CHECK(design_of({.block = 16, .horizon = horizon}, cuda).variant == "dataflow");
    for (const std::int64_t n : {8, 12}) CHECK(design_of({.block = n, .horizon = 16384}, cuda).variant == "dataflow");
    for (const std::int64_t n : {8, 12}) CHECK(design_of({.block = n, .horizon = 65536}, cuda).variant == "team");
    CHECK(design_of({.block = 4, .horizon = 262144}, hip).variant != "team");
}

TEST_CASE("a launch of tiles has a task for each, which no more thread blocks share") {
    const Spec spec{.block = 130, .horizon = 5, .batch = 2};
    const auto program = design_of(spec, cuda, {.schedule = "multi-stage", .variant = "tile-dataflow"});
    // Three tiles along an edge; levels of 3, 1 and 1 fronts with 2, 1 and 0 panels of nine tiles each, and the six tiles of the pivot
    // block.
    CHECK(says(source_of(program), fmt::format("#define TRIFOLD_TASKS {}\n", 2 * (3 * (6 + 18) + (6 + 9) + 6))));
    CHECK(says(source_of(program), fmt::format("#define TRIFOLD_SWEEP_TASKS {}\n", 2 * 5 * 3)));
    CHECK(program.operations.at(Operation::factor)[0].level.chains == 186);
    CHECK(program.operations.at(Operation::forward)[0].level.chains == 30);
    CHECK(buffer(program, "flag").bytes == (3 * 3 + 2) * 2 * 5 * 8);
    const auto large = design_of({.block = 1024, .horizon = 64}, cuda, {.schedule = "multi-stage", .variant = "tile-dataflow"});
    CHECK(large.operations.at(Operation::factor)[0].level.chains == 1024);
}

TEST_CASE("panels are also kept as halves in single precision where tiles are multiplied by tensor instructions") {
    const auto bytes = [](Precision precision, const Target& target, const std::string& schedule) {
        const auto program =
            design_of({.block = 130, .horizon = 5, .precision = precision}, target, {.schedule = schedule, .variant = "tile-dataflow"});
        return buffer(program, "halves").bytes;
    };
    CHECK(bytes(Precision::f32, cuda, "multi-stage") == 5 * 3 * 192 * 192 * 4);
    CHECK(bytes(Precision::f32, cuda, "sequential") == 5 * 2 * 192 * 192 * 4);
    CHECK(bytes(Precision::f64, cuda, "multi-stage") == 0);
    CHECK(bytes(Precision::f32, {Backend::cuda, "sm_120"}, "multi-stage") == 0);
}

TEST_CASE("auto takes variant tile-dataflow for large blocks on CUDA") {
    const auto variant_of = [](std::int64_t block, Precision precision, const Target& target, const char* variant) {
        return design_of({.block = block, .horizon = 9, .precision = precision}, target, {.schedule = "twisted:3", .variant = variant})
            .variant;
    };
    CHECK(variant_of(89, Precision::f64, cuda, "auto") == "tile-dataflow");
    CHECK(variant_of(97, Precision::f32, cuda, "auto") == "tile-dataflow");
    CHECK(variant_of(88, Precision::f64, {Backend::cuda, "sm_120"}, "auto") == "tile-dataflow");  // a whole front does not fit
    CHECK(variant_of(128, Precision::f64, {Backend::cuda, "sm_75"}, "auto") == "tile-dataflow");  // smaller tiles fit
    CHECK(variant_of(128, Precision::f32, {Backend::cuda, "sm_75"}, "auto") == "tile-dataflow");
    CHECK(variant_of(128, Precision::f64, hip, "auto") == "tiled");
    CHECK(variant_of(128, Precision::f64, {Backend::cuda, "sm_75"}, "tile-dataflow") == "tile-dataflow");
}

TEST_CASE("tiles are as large as shared memory allows, with a warp for every 16 of their rows") {
    struct Case {
        const char* target;
        Precision precision;
        int edge, threads;
    };
    for (const auto& item : {Case{"cuda:sm_90", Precision::f64, 64, 128}, Case{"cuda:sm_75", Precision::f64, 32, 64},
                             Case{"cuda:sm_75", Precision::f32, 64, 128}, Case{"hip:gfx942", Precision::f64, 32, 128},
                             Case{"hip:gfx942", Precision::f32, 64, 256}, Case{"hip:gfx1100", Precision::f64, 32, 64},
                             Case{"hip:gfx1100", Precision::f32, 64, 128}}) {
        CAPTURE(item.target);
        const auto target = parse_target(item.target);
        const auto limit = target == Target{Backend::cuda, "sm_90"} ? 227 * 1024 : 64 * 1024;
        for (const std::int64_t block : {1, 33, 1024, 4096}) {
            const Spec spec{.block = block, .horizon = 4096, .precision = item.precision, .rhs = 8, .operations = all_operations()};
            const auto program = design_of(spec, target, {.schedule = "multi-stage", .variant = "tile-dataflow"});
            CHECK(says(source_of(program), fmt::format("#define TRIFOLD_TILE {}\n", item.edge)));
            for (const auto& kernel : program.kernels) {
                CHECK(kernel.shape.shared_bytes <= limit);
                if (kernel.phase == Phase::factor) CHECK(kernel.shape.threads == item.threads);
            }
        }
    }
}

TEST_CASE("fronts that flow give room up where they do not fit, or more of them do and the horizon is long") {
    const auto has_room = [](std::int64_t block, std::int64_t horizon, Precision precision, const Target& target) {
        const auto program = design_of({.block = block, .horizon = horizon, .precision = precision}, target,
                                       {.schedule = "multi-stage", .variant = "dataflow"});
        return source_of(program).find("#define TRIFOLD_FRONT_ROOM 1\n") != std::string::npos;
    };
    CHECK(has_room(64, 512, Precision::f64, cuda));
    CHECK(has_room(64, 4096, Precision::f64, cuda));  // for the levels that are not wide
    CHECK_FALSE(has_room(64, 4096, Precision::f64, {Backend::cuda, "sm_80"}));
    CHECK(has_room(64, 4096, Precision::f32, cuda));
    CHECK(has_room(32, 8192, Precision::f64, cuda));
    CHECK_FALSE(has_room(80, 512, Precision::f64, cuda));
    CHECK(has_room(32, 4096, Precision::f64, hip));
}

TEST_CASE("fronts that flow keep R and G in registers where there is room and tensor instructions of double precision are deep") {
    const auto keeps = [](std::int64_t block, Precision precision, const Target& target) {
        const auto program =
            design_of({.block = block, .horizon = 512, .precision = precision}, target, {.schedule = "multi-stage", .variant = "dataflow"});
        return source_of(program).find("#define TRIFOLD_STACK_IN_REGISTERS 1\n") != std::string::npos;
    };
    for (const std::int64_t block : {8, 32, 33, 64, 72}) CHECK(keeps(block, Precision::f64, cuda));
    CHECK_FALSE(keeps(73, Precision::f64, cuda));  // no room for what a front pulls
    for (const std::int64_t block : {8, 33, 96}) CHECK(keeps(block, Precision::f32, cuda));
    CHECK_FALSE(keeps(32, Precision::f64, {Backend::cuda, "sm_80"}));
}

TEST_CASE("right-hand sides ride with fronts that flow where these are few and small") {
    const auto rides = [](const Spec& spec, const Target& target = cuda) {
        const auto program = design_of(spec, target, {.schedule = "multi-stage", .variant = "dataflow"});
        const auto launches = program.operations.at(Operation::factor_solve).size();
        const bool together = std::ranges::count(program.kernels, Phase::factor_forward, &PhaseKernel::phase) == 1;
        CHECK(launches == (together ? 4 : 5));  // with the two that finish
        return together;
    };
    const Target without_deep{Backend::cuda, "sm_80"};
    CHECK(rides({.block = 64, .horizon = 1023}, without_deep));
    CHECK_FALSE(rides({.block = 65, .horizon = 1023}, without_deep));
    CHECK(rides({.block = 32, .horizon = 1023}));
    CHECK_FALSE(rides({.block = 33, .horizon = 1023}));
    CHECK_FALSE(rides({.block = 8, .horizon = 1024}));
    CHECK_FALSE(rides({.block = 8, .horizon = 32, .batch = 32}));
    CHECK(rides({.block = 16, .horizon = 512, .precision = Precision::f32}));
    CHECK(rides({.block = 32, .horizon = 512, .precision = Precision::f32}));
    CHECK_FALSE(rides({.block = 33, .horizon = 512, .precision = Precision::f32}));
    CHECK(rides({.block = 16, .horizon = 512, .rhs = 2}));
    CHECK_FALSE(rides({.block = 16, .horizon = 512, .rhs = 8}));  // thread blocks share them
}

TEST_CASE("variant dataflow: wide levels have a launch of their own before that of all others") {
    const auto chains = [](const Spec& spec, const char* target = "cuda:sm_90") {
        const auto program = design_of(spec, parse_target(target), {.schedule = "multi-stage", .variant = "dataflow"});
        std::vector<std::int64_t> result;
        for (const auto& launch : program.operations.at(Operation::factor)) {
            const auto phase = program.kernels[launch.kernel].phase;
            if (phase != Phase::finish_factor) result.push_back(launch.level.chains);
        }
        CHECK(has_kernel(program, Phase::factor_wide) == (result.size() > 1));
        return result;
    };
    using Chains = std::vector<std::int64_t>;
    CHECK(chains({.block = 32, .horizon = 8192, .precision = Precision::f32}) == Chains{7168, 1024});
    CHECK(chains({.block = 16, .horizon = 8191}) == Chains{7168, 1023});
    CHECK(chains({.block = 32, .horizon = 8192}) == Chains{7168, 1024});
    CHECK(chains({.block = 33, .horizon = 2048, .precision = Precision::f32}) == Chains{1920, 128});
    CHECK(chains({.block = 16, .horizon = 2047}) == Chains{2047});
    CHECK(chains({.block = 8, .horizon = 4, .batch = 4096}) == Chains{3, 1});
    CHECK(chains({.block = 8, .horizon = 1, .batch = 4096}) == Chains{1});
    CHECK(chains({.block = 65, .horizon = 8192}) == Chains{8192});
    CHECK(chains({.block = 16, .horizon = 8192}, "cuda:sm_80") == Chains{8192});
    CHECK(chains({.block = 16, .horizon = 8192}, "hip:gfx90a") == Chains{8192});
    const auto mixed = design_of({.block = 32, .horizon = 8192, .precision = Precision::mixed}, parse_target("cuda:sm_90"));
    CHECK(has_kernel(mixed, Phase::factor_wide));
}

TEST_CASE("variant dataflow: the levels above the wide ones begin while those are at work, and whatever follows waits for both") {
    const auto program = design_of({.block = 64, .horizon = 4096, .precision = Precision::f32}, parse_target("cuda:sm_90"));
    const auto& launches = program.operations.at(Operation::factor);
    REQUIRE(launches.size() == 3);
    CHECK_FALSE(launches[0].early);
    CHECK(launches[1].early);
    CHECK(launches[1].after == std::vector<std::size_t>{0});
    CHECK_FALSE(launches[2].early);
    CHECK(launches[2].after == std::vector<std::size_t>{0, 1});
    // 128 fronts are left: two of them find no room in one multiprocessor's 228 KiB, of which each thread block takes one for itself.
    CHECK(2 * (program.kernels[launches[1].kernel].shape.shared_bytes + 1024) > 228 * 1024);
}

TEST_CASE("a multiprocessor has three fronts of short horizons, in single precision too") {
    for (const auto precision : {Precision::f64, Precision::f32}) {
        const auto program = design_of({.block = 32, .horizon = 512, .precision = precision}, parse_target("cuda:sm_90"));
        for (const auto& kernel : program.kernels) {
            if (kernel.phase != Phase::factor && kernel.phase != Phase::factor_forward) continue;
            CHECK(3 * (kernel.shape.shared_bytes + 1024) <= 228 * 1024);
            CHECK(4 * (kernel.shape.shared_bytes + 1024) > 228 * 1024);
        }
    }
}

TEST_CASE("variant dataflow refuses what it cannot do") {
    const auto variant_of = [](std::int64_t block, Precision precision, const Target& target, const char* schedule, const char* variant) {
        return design_of({.block = block, .horizon = 9, .precision = precision}, target, {.schedule = schedule, .variant = variant})
            .variant;
    };
    const Target h200{Backend::cuda, "sm_90"};
    CHECK(variant_of(96, Precision::f64, h200, "multi-stage", "auto") == "dataflow");
    CHECK(variant_of(96, Precision::f32, h200, "multi-stage", "auto") == "dataflow");
    CHECK(variant_of(64, Precision::f64, h200, "twisted:2", "auto") != "dataflow");
    CHECK_THROWS_AS(variant_of(97, Precision::f64, h200, "multi-stage", "dataflow"), SpecError);
    CHECK_THROWS_AS(variant_of(8, Precision::f64, h200, "twisted:2", "dataflow"), SpecError);
    // AMD's devices have it on request, as far as their shared memory goes.
    for (const auto* arch : {"gfx942", "gfx1100"}) {
        CHECK(variant_of(32, Precision::f64, {Backend::hip, arch}, "multi-stage", "dataflow") == "dataflow");
        CHECK(variant_of(32, Precision::f64, {Backend::hip, arch}, "multi-stage", "auto") == "fused");
        CHECK_THROWS_AS(variant_of(48, Precision::f64, {Backend::hip, arch}, "multi-stage", "dataflow"), SpecError);
    }
}

TEST_CASE("a Program has the kernels that its operations need, and no others") {
    const auto phases_of = [](const Operations& operations, const Target& target, const std::string& variant = "auto") {
        const auto program = design_of({.block = 4, .horizon = 9, .batch = 8, .operations = operations}, target,
                                       {.schedule = "multi-stage", .variant = variant});
        std::vector<Phase> result;
        for (const auto& kernel : program.kernels) result.push_back(kernel.phase);
        for (const auto& [operation, launches] : program.operations) {
            CHECK(operations.contains(operation));
            for (const auto& launch : launches) CHECK(launch.kernel < program.kernels.size());
        }
        CHECK(program.operations.size() == operations.size());
        for (const auto phase : phases) {
            const auto name = std::string("btd_") + std::string(to_string(phase)) + "_n4";
            CHECK((source_of(program).find(name) != std::string::npos) == has_kernel(program, phase));
        }
        return result;
    };
    const auto check = [&](const Target& target, const std::string& variant) {
        CHECK(phases_of({Operation::factor}, target, variant) == std::vector{Phase::factor, Phase::finish_factor});
        CHECK(phases_of({Operation::factor, Operation::solve}, target, variant) ==
              std::vector{Phase::factor, Phase::forward, Phase::backward, Phase::finish_factor, Phase::finish_forward});
        CHECK(phases_of({Operation::factor_solve, Operation::inverse}, target, variant) ==
              std::vector{Phase::factor_forward, Phase::backward, Phase::inverse, Phase::finish_factor, Phase::finish_forward});
        CHECK(phases_of(all_operations(), target, variant).size() == 7);
        CHECK(phases_of(usual_operations(), target, variant).size() == 6);
    };
    check(cpu, "tile");
    check(cpu, "lanes");
    check(cuda, "fused");
    check(cuda, "tiled");
    // Without the inverse its buffers are not needed either.
    const Spec most{.block = 9, .horizon = 20}, all{.block = 9, .horizon = 20, .operations = all_operations()};
    for (const auto& target : {cpu, cuda})
        CHECK(design_of(most, target, {.schedule = "recursive:2"}).workspace_bytes <
              design_of(all, target, {.schedule = "recursive:2"}).workspace_bytes);
}

TEST_CASE("everything that changes the code changes the name") {
    const Spec spec{.block = 4, .horizon = 9};
    std::set<std::string> ids;
    const auto add = [&](const Spec& s, const Target& target, const Tuning& tuning) {
        CHECK(ids.insert(design_of(s, target, tuning).id).second);
    };
    add(spec, cpu, {.schedule = "sequential"});
    add(spec, cpu, {.schedule = "multi-stage"});
    add(spec, cpu, {.schedule = "sequential", .workers = 2});
    add(spec, {Backend::cpu, "x86-64-v4"}, {.schedule = "sequential"});
    add(spec, cuda, {.schedule = "sequential"});
    add({.block = 4, .horizon = 9, .precision = Precision::f32}, cpu, {.schedule = "sequential"});
    add({.block = 4, .horizon = 9, .rhs = 2}, cpu, {.schedule = "sequential"});
    add({.block = 4, .horizon = 9, .batch = 2}, cpu, {.schedule = "sequential"});
    add({.block = 4, .horizon = 9, .order = Order::column_major}, cpu, {.schedule = "sequential"});
    add({.block = 4, .horizon = 9, .coupling = Coupling::upper}, cpu, {.schedule = "sequential"});
    add({.block = 4, .horizon = 9, .rhs_layout = RhsLayout::stacked}, cpu, {.schedule = "sequential"});
    add({.block = 4, .horizon = 9, .d = {.leading = 8}}, cpu, {.schedule = "sequential"});
    add({.block = 4, .horizon = 9, .e = {.stage = 0}}, cpu, {.schedule = "sequential"});
    add({.block = 4, .horizon = 9, .operations = {Operation::factor_solve}}, cpu, {.schedule = "sequential"});
    add({.block = 4, .horizon = 9, .operations = all_operations()}, cpu, {.schedule = "sequential"});
    CHECK(design_of(spec, cpu, {.schedule = "partitioned:1"}).id == design_of(spec, cpu, {.schedule = "sequential"}).id);
}

TEST_CASE("the same input gives the same bytes, twice and in another process") {
    CHECK(fingerprint_of_all() == fingerprint_of_all());
    const auto command =
        std::string(TEST_GENERATOR_PROGRAM) + " --no-skip --test-case=fingerprint --no-version --no-path-filenames=true 2>&1";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> other(popen(command.c_str(), "r"), pclose);
    REQUIRE(other);
    std::string output;
    for (char piece[256]; std::fgets(piece, sizeof piece, other.get()) != nullptr;) output += piece;
    CHECK_MESSAGE(output.find(fmt::format("fingerprint={};", fingerprint_of_all())) != std::string::npos, output);
}

// Not a test of its own: what the other process of the test above prints.
TEST_CASE("fingerprint" * doctest::skip()) { MESSAGE(fmt::format("fingerprint={};", fingerprint_of_all())); }

TEST_CASE("sources hold no date, host or path") {
    for (const auto& program : programs()) {
        for (const auto* word : {"/home", "/tmp", "/usr", "__DATE__", "__TIME__", "__FILE__"}) CHECK(!says(source_of(program), word));
    }
}

TEST_CASE("JSON carries the whole Program but its sources") {
    for (const auto& made : programs()) {
        const auto program = program_of(made);
        const auto json = nlohmann::json::parse(to_json(program));
        CHECK(json.at("id") == program.id);
        CHECK(json.at("schedule") == made.schedule.name);
        CHECK(json.at("workspace_bytes") == program.workspace_bytes);
        CHECK(json.at("spec").at("block") == made.spec.block);
        CHECK(json.at("spec").at("d").at("leading") == dense);
        REQUIRE(json.at("levels").size() == made.schedule.levels.size());
        for (std::size_t k = 0; k < made.schedule.levels.size(); ++k) {
            const auto& level = json.at("levels")[k];
            CHECK(level.at("size") == made.schedule.levels[k].size);
            CHECK(level.at("runs")[0].at("step") == made.schedule.levels[k].runs[0].step);
        }
        REQUIRE(json.at("buffers").size() == program.buffers.size());
        CHECK(json.at("buffers").back().at("offset") == program.buffers.back().offset);
        REQUIRE(json.at("units").size() == program.units.size());
        CHECK(json.at("units")[0].at("kernels").at(0).at("name") == program.units[0].kernels[0].name);
        for (const auto operation : all_operations()) {
            const std::string name(to_string(operation));
            CHECK(json.at("operations").at(name).size() == program.operations.at(name).size());
        }
        CHECK(json.dump(2) == to_json(program));
    }
}

TEST_CASE("sparse: a rank leaves its result once, after all turns, however many messages come before them") {
    const SparsePattern pattern(SparseMesh{40, 1, 1, 5});
    const auto arrangement = sparse::arrange(pattern, sparse::greedy_parts(pattern, 4), SparsePreconditioner::ildu0);
    for (const auto method : {SparseMethod::bicgstab, SparseMethod::cg}) {
        const SparseSpec spec{.method = method, .operations = {SparseOperation::solve}};
        const auto whole = sparse::generate(spec, cuda, {.variant = "sweeps:one_launch=0"}, pattern, arrangement);
        for (int ranks = 1; ranks <= 5; ++ranks)
            for (int rank = 0; rank < ranks; ++rank) {
                const auto program = sparse::on_rank(whole, spec, arrangement, rank, ranks).program;
                const auto& launches = program.operations.at("solve");
                const auto& turns = program.repeats.at("solve").front();
                REQUIRE(turns.first + turns.count <= launches.size());
                CHECK(launches.back().what == "solution");
                CHECK(std::ranges::count(launches, "solution", &Launch::what) == 1);
            }
    }
}

TEST_CASE("sparse: no kernel needs more shared memory than a thread block of its device has, also where subdomains are small") {
    for (const auto& [width, points] : {std::pair{1, 7}, {2, 7}, {3, 5}, {7, 27}, {17, 7}})
        for (const auto* arch : {"sm_75", "sm_86", "sm_90", "sm_120"}) {
            const Target target{Backend::cuda, arch};
            const auto most = device_of(target).count("facts.block_shared_bytes");
            const SparsePattern pattern(SparseMesh{width, width, points == 5 ? 1 : 2, points});
            for (std::int64_t block = 1; block <= 8; ++block)
                for (const auto precision : {Precision::f32, Precision::f64, Precision::mixed})
                    for (const auto method : all_values<SparseMethod>()) {
                        const SparseSpec spec{.block = block, .precision = precision, .method = method};
                        const auto arrangement =
                            sparse::arrange(pattern, sparse::greedy_parts(pattern, 50), spec.preconditioner, sparse::order_for(target));
                        for (const auto& unit : sparse::generate(spec, target, {}, pattern, arrangement).program.units)
                            for (const auto& kernel : unit.kernels) {
                                INFO(kernel.name, " ", to_string(target), " ", width);
                                CHECK(kernel.shared_bytes <= most);
                            }
                    }
        }
}

TEST_CASE("bad input to generate") {
    const Spec spec{.block = 4, .horizon = 9};
    constexpr auto huge = std::numeric_limits<std::int64_t>::max();
    CHECK_THROWS_AS(generate({}, cpu), SpecError);
    for (const int workers : {0, -1, max_workers + 1})
        CHECK_REFUSED("is out of range; give 1 to 1024", generate(spec, cpu, {.workers = workers}));
    CHECK_THROWS_AS(generate(spec, cpu, {.schedule = "quick"}), SpecError);
    CHECK_THROWS_AS(generate(spec, {Backend::cpu, "native"}), SpecError);
    CHECK_THROWS_AS(generate(spec, {Backend::cuda, "gfx90a"}), SpecError);
    CHECK_THROWS_AS(generate({.block = 4, .horizon = huge / 256}, cpu, {.schedule = "sequential"}),
                    SpecError);  // the workspace is too large
    CHECK_THROWS_AS(generate({.block = 1, .horizon = huge / 16}, cpu), SpecError);
}
