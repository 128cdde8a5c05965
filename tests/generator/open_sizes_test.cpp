
#include <trifold/generate.hpp>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/mixed.hpp"
#include "generator/tridiagonal/operands.hpp"
#include "tests/support/test.hpp"

using namespace trifold;

namespace {

using Texts = std::set<std::string>;

void add_texts(Texts& texts, const Spec& spec, const Target& target, const Tuning& tuning) {
    for (const auto& unit : generate(spec, target, tuning).units) texts.insert(unit.source);
}

Texts texts_of(const Spec& spec, const Target& target, const Tuning& tuning) {
    Texts texts;
    add_texts(texts, spec, target, tuning);
    return texts;
}

const Target avx512{Backend::cpu, "x86-64-v4"}, sm_90{Backend::cuda, "sm_90"}, gfx942{Backend::hip, "gfx942"};

Program mixed_program(const Operations& operations = usual_operations()) {
    return generate({.block = 5, .horizon = 9, .precision = Precision::mixed, .rhs = 3, .batch = 2, .operations = operations},
                    {Backend::cpu, "x86-64-v3"}, {.schedule = "twisted:2"});
}

/// The work of a kernel, by its name.
std::string phase_of(const Kernel& kernel) { return kernel.name.substr(4, kernel.name.find("_n5_") - 4); }

std::set<std::string> phases_of(const Program& program) {
    std::set<std::string> result;
    for (const auto& unit : program.units)
        for (const auto& kernel : unit.kernels) result.insert(phase_of(kernel));
    return result;
}

}  // namespace

TEST_CASE("on a CPU one text serves every horizon, batch and class of right-hand sides") {
    for (const auto precision : {Precision::f32, Precision::f64, Precision::mixed})
        for (const std::int64_t n : {1, 5, 12, 33})
            for (const int workers : {1, 4}) {
                INFO(n, " ", workers);
                const Tuning tuning{
                    .schedule = workers == 1 ? "sequential" : "twisted:4", .variant = "tile", .workers = workers, .any_size = true};
                Texts texts;
                for (const std::int64_t horizon : {8, 50, 51, 64, 127, 1000})
                    for (const std::int64_t batch : {1, 2, 63})
                        for (const std::int64_t rhs : {5, 7, 8})
                            add_texts(texts, {.block = n, .horizon = horizon, .precision = precision, .rhs = rhs, .batch = batch}, avx512,
                                      tuning);
                // Large blocks beyond the caches are fetched ahead, which is another text.
                CHECK(texts.size() == (precision == Precision::mixed ? 2U : 1U) * (n < 25 ? 1U : 2U));
            }
}

TEST_CASE("forty horizons are one text on a CPU, and few on a GPU") {
    for (const auto& target : {avx512, sm_90, gfx942})
        for (const std::int64_t n : {2, 5, 12, 24, 32, 48}) {
            INFO(to_string(target), " ", n);
            Texts texts;
            for (std::int64_t horizon = 50; horizon < 90; ++horizon)
                add_texts(texts, {.block = n, .horizon = horizon}, target, {.any_size = true});
            CHECK(texts.size() <= (target.backend == Backend::cpu ? 1U : 10U));
        }
}

TEST_CASE("variants of GPUs leave sizes open") {
    struct Case {
        const char *variant, *schedule;
        std::int64_t block;
    };
    for (const auto& target : {sm_90, gfx942})
        for (const auto& [variant, schedule, n] :
             {Case{"dataflow", "multi-stage", 12}, Case{"dataflow", "multi-stage", 48}, Case{"team", "sequential", 6},
              Case{"chains", "twisted:2", 20}, Case{"fused", "twisted:2", 20}, Case{"tiled", "multi-stage", 130},
              Case{"tile-dataflow", "multi-stage", 130}}) {
            if (target.backend == Backend::hip && std::string_view(variant) == "dataflow" && n > 32)
                continue;  // has too little shared memory
            if (target.backend == Backend::hip && std::string_view(variant) == "chains") continue;
            INFO(to_string(target), " ", variant);
            const Spec one{.block = n, .horizon = 40, .rhs = 3, .batch = 30};
            auto other = one;
            other.horizon = 45, other.batch = 31, other.rhs = 4;
            const Tuning tuning{.schedule = schedule, .variant = variant, .any_size = true};
            CHECK(texts_of(one, target, tuning) == texts_of(other, target, tuning));
            const auto program = generate(one, target, tuning);
            REQUIRE(program.sizes.size() == open_size_count);
            CHECK(program.sizes[*place_of_open_size("HORIZON")] == 40);
            CHECK(program.sizes[*place_of_open_size("BATCH")] == 30);
            CHECK(program.sizes[*place_of_open_size("QUADRATICS")] == 3);
        }
}

TEST_CASE("texts that differ have kernels of different names") {
    std::map<std::string, std::string> texts;
    for (const auto& target : {avx512, sm_90})
        for (const std::int64_t n : {3, 12})
            for (const std::int64_t rhs : {1, 2, 9})
                for (const auto order : {Order::row_major, Order::column_major})
                    for (const auto precision : {Precision::f64, Precision::mixed})
                        for (const std::int64_t gap : {0, 1})
                            for (const auto* schedule : {"sequential", "multi-stage"}) {
                                Spec spec{.block = n, .horizon = 9, .precision = precision, .rhs = rhs, .order = order};
                                if (gap > 0) spec.d.leading = n + gap;
                                for (const auto& unit : generate(spec, target, {.schedule = schedule}).units)
                                    for (const auto& kernel : unit.kernels) {
                                        const auto [at, is_new] = texts.emplace(to_string(target) + kernel.name, unit.source);
                                        CHECK_MESSAGE((is_new || at->second == unit.source), kernel.name);
                                    }
                            }
}

TEST_CASE("with bake=1 sizes are literals, of this problem alone") {
    for (const auto& target : {avx512, sm_90}) {
        const auto* variant = target.backend == Backend::cpu ? "tile:bake=1" : "dataflow:bake=1";
        const Tuning tuning{.schedule = "multi-stage", .variant = variant};
        const auto program = generate({.block = 5, .horizon = 20, .rhs = 3}, target, tuning);
        CHECK(program.sizes.empty());
        CHECK(says(program.units.front().source, "#define TRIFOLD_HORIZON 20LL"));
        const auto* columns = target.backend == Backend::cpu ? "#define TRIFOLD_RHS 4" : "#define TRIFOLD_RHS 3";  // a CPU's panel
        CHECK(says(program.units.front().source, columns));
        CHECK(texts_of({.block = 5, .horizon = 21, .rhs = 3}, target, tuning) !=
              texts_of({.block = 5, .horizon = 20, .rhs = 3}, target, tuning));
        CHECK(design(with_literal_sizes(choose({.block = 5, .horizon = 20}, target, {}))).baked);
    }
}

TEST_CASE("variant tile-dataflow has its levels in the workspace, or as literals") {
    const auto texts = [](const std::string& variant, std::int64_t rhs) {
        Texts all;
        for (const auto* schedule : {"multi-stage", "twisted:2", "recursive:3"})
            for (const std::int64_t horizon : {5, 40, 3000})
                add_texts(all, {.block = 128, .horizon = horizon, .rhs = rhs, .batch = horizon % 7 + 1}, sm_90,
                          {.schedule = schedule, .variant = variant});
        return all.size();
    };
    CHECK(texts("tile-dataflow:bake=0", 2) == texts("tile-dataflow:bake=0", 1));
    CHECK(texts("tile-dataflow", 1) >= 9);
    for (const bool open : {false, true}) {
        const auto program =
            generate({.block = 128, .horizon = 40}, sm_90, {.schedule = "multi-stage", .variant = "tile-dataflow", .any_size = open});
        const auto& levels = *std::ranges::find(program.buffers, "levels", &Buffer::name);
        CHECK(levels.bytes == static_cast<std::int64_t>(levels.contents.size()));
        CHECK(levels.bytes == (open ? 6 * 232 : 0));
        CHECK(program.sizes.empty() == !open);
        CHECK((program.units.front().source.find("TRIFOLD_TASK_LEVELS {") == std::string::npos));
    }
}

TEST_CASE("classes of right-hand sides") {
    const std::map<std::int64_t, std::int64_t> classes{{1, 1}, {2, 2},  {3, 4},   {4, 4},   {5, 8},
                                                       {8, 8}, {9, 16}, {16, 16}, {17, 24}, {1000, 1000}};
    for (const auto& [rhs, columns] : classes) CHECK(columns_class(rhs) == columns);
    CHECK(!place_of_open_size("").has_value());
    CHECK(!place_of_open_size("BLOCK").has_value());
}

TEST_CASE("a mixed Program factors and solves, and leaves out what would have the accuracy of f32") {
    const auto program = mixed_program();
    std::set<std::string> operations;
    for (const auto& [name, launches] : program.operations) operations.insert(name);
    CHECK(operations == std::set<std::string>{"factor", "solve", "factor_solve"});
    CHECK(phases_of(program) ==
          std::set<std::string>{"factor", "finish_factor", "forward", "backward", "narrow", "residual", "judge", "correct", "deliver"});
    CHECK(program.units.front().kernels.front().name.starts_with("btd_factor_n5_mixed_"));
    CHECK(phases_of(mixed_program({Operation::factor})) == std::set<std::string>{"factor", "finish_factor", "narrow"});
    CHECK_THROWS_AS(mixed_program(all_operations()), SpecError);
    CHECK_THROWS_AS(mixed_program({Operation::factor_forward}), SpecError);
}

TEST_CASE("every launch of a mixed Program waits for the one before it") {
    const auto program = mixed_program();
    for (const auto& [operation, launches] : program.operations) {
        CHECK(launches.front().after.empty());
        for (std::size_t k = 1; k < launches.size(); ++k) CHECK(launches[k].after == std::vector{k - 1});
    }
    const auto count = [&](std::string_view phase) {
        return std::ranges::count_if(program.operations.at("factor_solve"),
                                     [&](const Launch& launch) { return phase_of(kernel_of(program, launch)) == phase; });
    };
    CHECK(count("narrow") == 1);
    CHECK(count("judge") == refinement_rounds + 1);
    CHECK(count("residual") == refinement_rounds + 1);
    CHECK(count("correct") == refinement_rounds);
    CHECK(count("forward") == 2 * refinement_rounds);  // two levels
}

TEST_CASE("what factors and sweeps in a mixed Program works on copies in the workspace, what refines on the caller's arrays") {
    const auto program = mixed_program();
    std::vector<char> memory(static_cast<std::size_t>(program.workspace_bytes));
    auto* workspace = memory.data();
    trifold_args caller{};
    caller.d = &caller;
    caller.shift = &caller;
    caller.columns = 2;
    caller.workspace = workspace;
    const Spec spec{.block = 5, .horizon = 9, .precision = Precision::mixed, .rhs = 3, .batch = 2};
    const auto all = operands_of(spec, columns_at_once(choose(spec, program.units[0].target)), program.buffers, caller);
    const std::set<std::string> refining{"narrow", "residual", "judge", "correct", "deliver"};
    for (const auto& launch : program.operations.at("factor_solve")) {
        const auto expected = refining.contains(phase_of(kernel_of(program, launch))) ? Operands::caller : Operands::copies;
        CHECK(launch.operands == static_cast<std::size_t>(expected));
    }
    CHECK(all[static_cast<std::size_t>(Operands::caller)].d == &caller);
    const auto& copies = all[static_cast<std::size_t>(Operands::copies)];
    CHECK(copies.d == workspace + buffer(program, "narrow_d").offset);
    CHECK(static_cast<const void*>(copies.active) == workspace + buffer(program, "running").offset);
    CHECK((copies.b == copies.x && copies.shift == nullptr && copies.columns == 2));
}

TEST_CASE("a backward sweep starts from X after a forward sweep of the same operation, and from B alone") {
    const auto program = generate({.block = 5, .horizon = 9}, {Backend::cpu, "x86-64-v3"}, {.schedule = "sequential"});
    CHECK(program.operations.at("solve").back().operands == static_cast<std::size_t>(Operands::caller_in_x));
    CHECK(program.operations.at("backward").back().operands == static_cast<std::size_t>(Operands::caller));
}

TEST_CASE("the bound on the backward error lies between what f64 can reach and what is promised of it") {
    for (const std::int64_t n : {1, 32, 1024}) {
        CHECK(backward_error_bound(n) > 0x1p-52);
        CHECK(backward_error_bound(n) < 1e-14);
    }
}
