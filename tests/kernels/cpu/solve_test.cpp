#include <doctest/doctest.h>
#include <fmt/format.h>

#include "generator/tridiagonal/variant.hpp"
#include "tests/kernels/cpu/solves.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("every schedule solves") {
    for (const std::string schedule :
         {"sequential", "single-stage", "multi-stage", "partitioned:3", "twisted:2", "twisted:4", "recursive:2:3", "segments:3,2"})
        check_both({.block = 5, .horizon = 31, .rhs = 3, .batch = 2}, schedule);
}

TEST_CASE("every block size solves") {
    const std::string schedules[] = {"twisted:2", "partitioned:3", "multi-stage"};
    int k = 0;
    for (const std::int64_t n : {1, 2, 3, 4, 6, 7, 8, 12, 16, 24, 31, 33, 48, 64})
        check_both({.block = n, .horizon = 7, .rhs = k % 4 == 3 ? 8 : 1}, schedules[k++ % 3]);
}

TEST_CASE("short and odd horizons solve") {
    for (const std::int64_t horizon : {1, 2, 3, 4, 5, 8, 64})
        for (const std::string schedule : {"twisted:3", "recursive:2:2"})
            check_both({.block = 3, .horizon = horizon, .batch = horizon < 5 ? 5 : 1}, schedule);
}

TEST_CASE("narrower targets solve") {
    for (const std::string arch : {"x86-64", "x86-64-v3"}) {
        if (arch == "x86-64-v3" && host_target().arch == "x86-64") continue;
        for (const std::int64_t n : {1, 6, 21}) check_both({.block = n, .horizon = 5, .rhs = 2}, "partitioned:2", {Backend::cpu, arch});
    }
}

TEST_CASE("halves of wide vectors solve") {
    if (host_target().arch != "x86-64-v4") return;
    for (const std::int64_t n : {5, 12, 15, 20, 33})
        for (const std::string arch : {"x86-64-v4", "znver4"}) check_both({.block = n, .horizon = 6}, "twisted:2", {Backend::cpu, arch});
}

TEST_CASE("blocks that are fetched ahead solve") {
    for (const auto order : {Order::row_major, Order::column_major})
        for (const std::string schedule : {"sequential", "partitioned:3"})
            check_both({.block = 49, .horizon = 20, .order = order}, schedule);
    check_both({.block = 120, .horizon = 4, .batch = 2}, "twisted:2");
}

TEST_CASE("knobs solve") {
    for (const auto* variant : variants_of(Backend::cpu)) {
        const auto largest = variant->abilities.largest_block, block = largest == 0 ? 19 : std::min<std::int64_t>(19, largest);
        const auto* schedule = variant->schedules == nullptr ? "twisted:2" : "auto";
        for (const auto& knob : variant->knobs)
            for (const auto value : {*knob.candidates.begin(), *(knob.candidates.end() - 1)})
                check_both({.block = block, .horizon = 7, .batch = 3}, schedule, host_target(),
                           fmt::format("{}:{}={}", variant->name, knob.name, value));
    }
}

TEST_CASE("large blocks solve") {
    check_both({.block = 129, .horizon = 3, .rhs = 3}, "twisted:2");
    check_both({.block = 200, .horizon = 3}, "partitioned:2");
}

TEST_CASE("many right-hand sides solve, in any number") {
    const std::string schedules[] = {"twisted:2", "partitioned:3", "multi-stage", "sequential"};
    int k = 0;
    for (const std::int64_t rhs : {3, 8, 16, 64})
        for (const std::int64_t n : {1, 5, 8, 20, 33}) {
            const auto layout = k % 3 == 1 ? RhsLayout::stacked : RhsLayout::staged;
            const Spec spec{.block = n, .horizon = 7, .rhs = rhs, .batch = 2, .rhs_layout = layout};
            const auto& schedule = schedules[k++ % 4];
            for (const std::int64_t columns : {1, 2, 3, 7, 8, 9, 15, 17, 33, 64}) {
                if (columns > rhs) continue;
                CAPTURE(columns);
                auto f32 = spec;
                f32.precision = Precision::f32;
                check_solves<double>(spec, schedule, "tile", host_target(), columns);
                if (n % 4 == 0) check_solves<float>(f32, schedule, "tile", host_target(), columns);
            }
        }
}

TEST_CASE("many right-hand sides solve on narrower targets") {
    for (const std::string arch : {"x86-64", "x86-64-v3"}) {
        if (arch == "x86-64-v3" && host_target().arch == "x86-64") continue;
        for (const std::int64_t n : {3, 10}) check_both({.block = n, .horizon = 6, .rhs = 21}, "partitioned:2", {Backend::cpu, arch});
    }
}
