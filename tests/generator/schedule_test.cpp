#include <doctest/doctest.h>

#include "generator/program.hpp"

TEST_CASE("a program is generated for every operation") {
    const auto program = trifold::generate({.block = 4, .horizon = 9}, {trifold::Backend::cpu, "x86-64-v3"}, {.schedule = "recursive:2:3"});
    CHECK(program.operations.size() == 7);
    CHECK(program.schedule.levels.size() == 2);
}
