// General matrices, with rows interchanged within blocks, in every schedule, against dense algebra.
#include "tests/support/cpu/general.hpp"

#include <fmt/format.h>

#include "tests/kernels/cpu/solves.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

void check_in_lanes(Spec spec, const std::string& schedule, int in_lanes, const Target& target = host_target()) {
    static unsigned seed = 0;
    spec.matrix = MatrixKind::general;
    if (spec.horizon % 2 == 1) spec.operations.insert(Operation::refine);
    for (const auto precision : {Precision::f64, Precision::f32}) {
        INFO(fmt::format("n {} N {} m {} batch {} {} {} in_lanes={} {}", spec.block, spec.horizon, spec.rhs, spec.batch,
                         to_string(precision), schedule, in_lanes, to_string(target)));
        spec.precision = precision;
        const CompiledProgram unit(
            choose(spec, target, {.schedule = schedule, .variant = fmt::format("getrf:bake={},in_lanes={}", seed / 2 % 2, in_lanes)}));
        for (const Split& split : {Split{}, Split{1, true}})
            if (precision == Precision::f64)
                check_general<double>(unit, ++seed, split);
            else
                check_general<float>(unit, ++seed, split);
        CHECK(unit.exceptions() == 0);
    }
}

}  // namespace

TEST_CASE("general matrices solve in every schedule") {
    for (const auto& schedule : orders) {
        check_in_lanes({.block = 5, .horizon = 31, .rhs = 3, .batch = 2}, schedule, 0);
        check_in_lanes({.block = 5, .horizon = 31, .rhs = 3, .batch = 11}, schedule, 1);
    }
}

TEST_CASE("general matrices of every block size solve") {
    std::size_t k = 0;
    for (const std::int64_t n : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 65})
        check_in_lanes({.block = n, .horizon = 7, .rhs = 1 + n % 4, .batch = 1 + n % 2}, orders[k++ % std::size(orders)], 0);
    for (const std::int64_t n : {1, 2, 3, 4, 6, 7, 8, 11, 16, 17})
        check_in_lanes({.block = n, .horizon = 7, .rhs = 1 + n % 3, .batch = 9}, orders[k++ % std::size(orders)], 1);
}

TEST_CASE("general matrices of few blocks, as rings, by columns, with many right-hand sides") {
    for (const int in_lanes : {0, 1}) {
        for (const std::int64_t horizon : {1, 2, 3, 4, 5, 33}) {
            check_in_lanes({.block = 3, .horizon = horizon, .rhs = 2, .batch = 3, .order = Order::column_major}, "multi-stage", in_lanes);
            check_in_lanes({.block = 4, .horizon = horizon, .batch = 2, .ring = true}, horizon % 2 == 0 ? "multi-stage" : "sequential",
                           in_lanes);
        }
        for (const std::int64_t rhs : {5, 33})
            check_in_lanes({.block = 6, .horizon = 5, .rhs = rhs, .rhs_layout = RhsLayout::stacked}, "partitioned:3", in_lanes);
    }
}

TEST_CASE("general matrices solve on targets with narrower vectors") {
    const auto host = host_target().arch;
    for (const std::string arch : {"x86-64", "x86-64-v3", "x86-64-v4"}) {
        if (arch != "x86-64" && (host == "x86-64" || (host == "x86-64-v3" && arch != host))) continue;  // it has no such vectors
        check_in_lanes({.block = 21, .horizon = 6}, "twisted:2", 0, {Backend::cpu, arch});
        check_in_lanes({.block = 5, .horizon = 6, .batch = 5}, "twisted:2", 1, {Backend::cpu, arch});
    }
}
