#include "generator/tridiagonal/mixed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <trifold/error.hpp>
#include <vector>

#include "generator/tridiagonal/columns.hpp"
#include "generator/tridiagonal/operands.hpp"

using namespace trifold;

namespace {

Program mixed_program(const Operations& operations = usual_operations()) {
    return generate({.block = 5, .horizon = 9, .precision = Precision::mixed, .rhs = 3, .batch = 2, .operations = operations},
                    {Backend::cpu, "x86-64-v3"}, {.schedule = "twisted:2"});
}

/// What its name says that a kernel does.
std::string phase_of(const Kernel& kernel) { return kernel.name.substr(4, kernel.name.find("_n5_") - 4); }

std::set<std::string> phases_of(const Program& program) {
    std::set<std::string> result;
    for (const auto& unit : program.units)
        for (const auto& kernel : unit.kernels) result.insert(phase_of(kernel));
    return result;
}

}  // namespace

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
