#include <doctest/doctest.h>

#include <trifold/error.hpp>
#include <trifold/target.hpp>

using namespace trifold;

TEST_CASE("targets parse and print") {
    for (const auto* text : {"cpu:native",  "cpu:x86-64",  "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:znver4", "cpu:armv8-a",
                             "cpu:rv64gcv", "c99:rvv",     "cuda:sm_75",    "cuda:sm_80",    "cuda:sm_86",    "cuda:sm_90", "cuda:sm_100",
                             "cuda:sm_120", "cuda:sm_121", "hip:gfx906",    "hip:gfx908",    "hip:gfx90a",    "hip:gfx942", "hip:gfx1030",
                             "hip:gfx1100", "hip:gfx1201", "c99:generic",   "c99:cortex-m4", "c99:cortex-m7"}) {
        CHECK(to_string(parse_target(text)) == text);
    }
    CHECK(parse_target("cpu") == Target{Backend::cpu, "native"});
    CHECK(parse_target("c99") == Target{Backend::c99, "generic"});
}

TEST_CASE("unknown targets are refused with the known ones") {
    for (const auto* text : {"", "gpu", "cpu:", "cpu:pentium", "cpu:x86-64-v5", "cuda", "cuda:", "cuda:sm_70", "cuda:90", "cuda:sm_90a",
                             "hip", "hip:gfx900", "c99:", "c99:cortex-m0", "c89", "hip:sm_90", "cuda:gfx942", "CPU", "cpu:x86-64-v3 "}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_target(text), SpecError);
    }
    CHECK_THROWS_WITH(parse_target("cuda:sm_70"), doctest::Contains("cuda:sm_90"));
    CHECK_THROWS_WITH(parse_target("hip:gfx900"), doctest::Contains("hip:gfx90a, hip:gfx942"));
    CHECK_THROWS_WITH(parse_target("cpu:pentium"), doctest::Contains("cpu:x86-64-v3"));
    CHECK_THROWS_WITH(parse_target("gpu"), doctest::Contains("unknown target 'gpu'"));
}

TEST_CASE("only known and resolved targets are valid") {
    validate({Backend::cpu, "x86-64-v4"});
    validate({Backend::cuda, "sm_90"});
    CHECK_THROWS_WITH_AS(validate({Backend::cpu, "native"}), doctest::Contains("resolve 'native' first"), SpecError);
    CHECK_THROWS_AS(validate({Backend::cuda, "x86-64-v3"}), SpecError);
    CHECK_THROWS_AS(validate({Backend::cpu, ""}), SpecError);
}

TEST_CASE("properties of architectures") {
    CHECK(vector_bytes(parse_target("cpu:x86-64")) == 16);
    CHECK(vector_bytes(parse_target("cpu:x86-64-v3")) == 32);
    CHECK(vector_bytes(parse_target("cpu:x86-64-v4")) == 64);
    CHECK(vector_registers(parse_target("cpu:x86-64-v3")) == 16);
    for (const auto* text : {"cpu:x86-64-v4", "cpu:znver4", "cpu:armv8-a", "cpu:rv64gcv"})
        CHECK(vector_registers(parse_target(text)) == 32);
    CHECK(instruction_set(parse_target("cpu:x86-64-v3")) == "x86-64-v3");
    CHECK(instruction_set(parse_target("cpu:znver4")) == "x86-64-v4");
    CHECK_THROWS_AS(instruction_set(parse_target("cpu:native")), SpecError);
    CHECK(compute_capability(parse_target("cuda:sm_90")) == 90);
    CHECK(compute_capability(parse_target("cuda:sm_120")) == 120);
    for (const auto* text : {"hip:gfx906", "hip:gfx908", "hip:gfx90a", "hip:gfx942"}) CHECK(warp_lanes(parse_target(text)) == 64);
    for (const auto* text : {"hip:gfx1030", "hip:gfx1100", "hip:gfx1201", "cuda:sm_90"}) CHECK(warp_lanes(parse_target(text)) == 32);
    CHECK_THROWS_AS(vector_bytes(parse_target("cpu:native")), SpecError);
    CHECK_THROWS_AS(vector_bytes(parse_target("cuda:sm_90")), SpecError);
    CHECK_THROWS_AS(compute_capability(parse_target("cpu:x86-64-v3")), SpecError);
}
