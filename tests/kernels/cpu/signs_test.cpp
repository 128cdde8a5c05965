// Symmetric matrices with pivots of both signs, in every schedule, against dense algebra.
#include "tests/kernels/cpu/solves.hpp"

using namespace trifold;
using namespace trifold::test;

namespace {

constexpr auto symmetric = MatrixKind::symmetric;
const std::string& any_schedule() {
    static std::size_t count = 0;
    return orders[count++ % std::size(orders)];
}

}  // namespace

TEST_CASE("symmetric matrices solve in every schedule") {
    for (const auto& schedule : orders) {
        check_both({.block = 5, .horizon = 31, .matrix = symmetric, .rhs = 3, .batch = 2}, schedule);
        check_both({.block = 5, .horizon = 31, .matrix = symmetric, .rhs = 3, .batch = 11}, schedule, "lanes");
    }
}

TEST_CASE("symmetric matrices of every block size solve") {
    for (const std::int64_t n : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 64, 65})
        check_both({.block = n, .horizon = 7, .matrix = symmetric, .rhs = 1 + n % 4, .batch = 1 + n % 2}, any_schedule());
    for (const std::int64_t n : {1, 2, 3, 4, 6, 7, 8, 11, 12, 16, 17})
        check_both({.block = n, .horizon = 7, .matrix = symmetric, .rhs = 1 + n % 3, .batch = 9}, any_schedule(), "lanes");
}

TEST_CASE("symmetric matrices solve for many right-hand sides and few blocks") {
    for (const std::int64_t rhs : {5, 16, 33})
        for (const auto layout : {RhsLayout::staged, RhsLayout::stacked})
            check_both({.block = 12, .horizon = 9, .matrix = symmetric, .rhs = rhs, .rhs_layout = layout}, any_schedule());
    for (const std::int64_t horizon : {1, 2, 3})
        for (const std::string variant : {"tile", "lanes"})
            check_both({.block = 6, .horizon = horizon, .matrix = symmetric, .rhs = 2, .batch = 3}, "multi-stage", variant);
}

TEST_CASE("symmetric matrices solve on targets with narrower vectors, and by columns") {
    const auto host = host_target().arch;
    for (const std::string arch : {"x86-64", "x86-64-v3", "x86-64-v4", "znver4"}) {
        const Target target{Backend::cpu, arch};
        if (arch != "x86-64" && (host == "x86-64" || (host == "x86-64-v3" && arch != host))) continue;  // it has no such vectors
        check_both({.block = 21, .horizon = 6, .matrix = symmetric, .order = Order::column_major}, "twisted:2", "tile", target);
        check_both({.block = 16, .horizon = 6, .matrix = symmetric, .coupling = Coupling::upper}, "partitioned:3", "tile", target);
        check_both({.block = 5, .horizon = 6, .matrix = symmetric, .batch = 5, .order = Order::column_major}, "twisted:2", "lanes", target);
    }
}

TEST_CASE("symmetric matrices solve over the whole range of exponents") {
    for (const auto& [block, schedule, variant] :
         {std::tuple{9, "twisted:2", "tile"}, {24, "multi-stage", "tile"}, {3, "multi-stage", "lanes"}, {8, "partitioned:2", "lanes"}})
        for (const auto precision : {Precision::f64, Precision::f32}) {
            INFO(block, " ", schedule, " ", variant, " ", to_string(precision));
            const Spec spec{.block = block, .horizon = 4, .precision = precision, .matrix = symmetric, .operations = all_operations()};
            const CompiledProgram unit(choose(with_units(spec, 4), host_target(), {.schedule = schedule, .variant = variant}), "-O1");
            KernelRunner<CompiledProgram, Split> runner(unit);
            check_errors(range_errors_of(runner, 4, true));
        }
}
