#include "generator/mixed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/operands.hpp"

using namespace trifold;

namespace {

Program mixed_program(const Operations& operations = usual_operations()) {
    return generate({.block = 5, .horizon = 9, .precision = Precision::mixed, .rhs = 3, .batch = 2, .operations = operations},
                    {Backend::cpu, "x86-64-v3"}, {.schedule = "twisted:2"});
}

}  // namespace

TEST_CASE("a mixed Program factors and solves, and leaves out what would have the accuracy of f32") {
    const auto program = mixed_program();
    CHECK(program.spec.operations == Operations{Operation::factor, Operation::solve, Operation::factor_solve});
    CHECK(!has_kernel(program, Phase::factor_forward));
    CHECK(!has_kernel(program, Phase::finish_forward));
    for (const auto phase : mixed_phases) CHECK(has_kernel(program, phase));
    CHECK(program.kernels.front().name.starts_with("btd_factor_n5_mixed_"));
    CHECK(mixed_program({Operation::factor}).kernels.size() == 3);  // narrow, factor, finish_factor
    CHECK_THROWS_AS(mixed_program(all_operations()), SpecError);
    CHECK_THROWS_AS(mixed_program({Operation::factor_forward}), SpecError);
}

TEST_CASE("every launch of a mixed Program waits for the one before it") {
    const auto program = mixed_program();
    for (const auto& [operation, launches] : program.operations) {
        CHECK(launches.front().after.empty());
        for (std::size_t k = 1; k < launches.size(); ++k) CHECK(launches[k].after == std::vector{k - 1});
    }
    const auto count = [&](Phase phase) {
        return std::ranges::count_if(program.operations.at(Operation::factor_solve),
                                     [&](const Launch& launch) { return program.kernels[launch.kernel].phase == phase; });
    };
    CHECK(count(Phase::narrow) == 1);
    CHECK(count(Phase::judge) == refinement_rounds + 1);
    CHECK(count(Phase::residual) == refinement_rounds + 1);
    CHECK(count(Phase::correct) == refinement_rounds);
    CHECK(count(Phase::forward) == 2 * refinement_rounds);  // two levels
}

TEST_CASE("what factors and sweeps in a mixed Program works on copies in the workspace, what refines on the caller's arrays") {
    const auto program = mixed_program();
    alignas(workspace_alignment) static char workspace[1];
    trifold_args caller{};
    caller.d = &caller;
    caller.shift = &caller;
    caller.columns = 2;
    caller.workspace = workspace;
    const LaunchArgs all(program.spec, program.buffers, caller);
    for (const auto phase : phases) CHECK(operands_of(program.spec, Operation::factor_solve, phase) == Operands::copies);
    for (const auto phase : mixed_phases) CHECK(operands_of(program.spec, Operation::factor_solve, phase) == Operands::caller);
    CHECK(all[Operands::caller].d == &caller);
    const auto& copies = all[Operands::copies];
    CHECK(copies.d == workspace + buffer(program, "narrow_d").offset);
    CHECK(static_cast<const void*>(copies.active) == workspace + buffer(program, "running").offset);
    CHECK((copies.b == copies.x && copies.shift == nullptr && copies.columns == 2));
    CHECK(operands_of({.precision = Precision::f64}, Operation::solve, Phase::backward) == Operands::caller_in_x);
    CHECK(operands_of({.precision = Precision::f64}, Operation::backward, Phase::backward) == Operands::caller);
}

TEST_CASE("the bound on the backward error lies between what f64 can reach and what is promised of it") {
    for (const std::int64_t n : {1, 32, 1024}) {
        CHECK(backward_error_bound(n) > 0x1p-52);
        CHECK(backward_error_bound(n) < 1e-14);
    }
}
