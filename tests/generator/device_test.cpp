#include "generator/program/device.hpp"

#include <trifold/target.hpp>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/variant.hpp"
#include "tests/support/test.hpp"

using namespace trifold;

namespace {

const std::string_view measured = R"({
  "cuda:sm_90": {
    "facts": {"multiprocessors": 132},
    "models": {"levels": {"level_seconds": 1e-6}},
    "rows": {
      "edge": [
        {"take": 64, "when": {"block": {"least": 33, "most": 64}, "kernel": "sweep"}, "measured": "a log"},
        {"take": 32, "when": {"block": {"most": 48}}},
        {"take": 8}
      ],
      "variant": [{"take": "team", "when": {"is_long": true}}, {"take": "fused"}]
    }
  },
  "cuda:sm_80": {"like": "cuda:sm_87", "facts": {"multiprocessors": 108}},
  "cuda:sm_87": {"like": "cuda:sm_90", "facts": {"multiprocessors": 16, "early_launches": false}},
  "cuda:sm_120": {"facts": {"multiprocessors": 170}}
})";

KnownDevice device(const char* name) { return parse_devices({measured}).at(name); }

}  // namespace

TEST_CASE("the first row that holds is taken") {
    const auto h200 = device("cuda:sm_90");
    const auto take = [&](double block, const char* kernel) {
        return h200.take("edge", {{"block", block}, {"kernel", std::string(kernel)}});
    };
    CHECK(take(33, "sweep") == 64);
    CHECK(take(64, "sweep") == 64);
    CHECK(take(65, "sweep") == 8);
    CHECK(take(32, "sweep") == 32);
    CHECK(take(48, "factor") == 32);
    CHECK(take(49, "factor") == 8);
    CHECK(h200.first("variant", {{"is_long", 1.0}}).word == "team");
    CHECK(h200.first("variant", {{"is_long", 0.0}}).word == "fused");
    CHECK(to_string(h200.rows_of("edge").front()) == "row 1 of edge for cuda:sm_90, a log");
}

TEST_CASE("what a device lacks comes from the one it is like, over several steps") {
    const auto orin = device("cuda:sm_87"), a100 = device("cuda:sm_80");
    CHECK(orin.count("facts.multiprocessors") == 16);
    CHECK(a100.count("facts.multiprocessors") == 108);
    CHECK(a100.number("models.levels.level_seconds") == 1e-6);
    CHECK(!a100.has("early_launches"));
    CHECK(a100.rows_of("edge").size() == 3);
}

TEST_CASE("a device that is like no other has its own facts, the reference's model and the rows that hold anywhere") {
    const auto other = device("cuda:sm_120");
    CHECK(other.count("facts.multiprocessors") == 170);
    CHECK(other.number("models.levels.level_seconds") == 1e-6);
    CHECK(other.take("edge", {}) == 8);
    CHECK(other.first("variant", {}).word == "fused");
}

TEST_CASE("a device may stand in several texts, a list of rows in one") {
    const auto both = parse_devices({measured, R"({"cuda:sm_90": {"rows": {"warps": [{"take": 4}]}}})"}).at("cuda:sm_90");
    CHECK(both.take("warps", {}) == 4);
    CHECK(both.rows_of("edge").size() == 3);
    CHECK(both.count("facts.multiprocessors") == 132);
    CHECK_THROWS_AS(parse_devices({measured, R"({"cuda:sm_90": {"rows": {"edge": [{"take": 4}]}}})"}), std::runtime_error);
}

TEST_CASE("what is wrong with data of devices is said") {
    const auto h200 = device("cuda:sm_90");
    CHECK_THROWS_AS(h200.take("edge", {}), std::logic_error);       // no such quantity
    CHECK_THROWS_AS(h200.take("color", {}), std::logic_error);      // no such list
    CHECK_THROWS_AS(h200.number("facts.price"), std::logic_error);  // no such fact
    CHECK_THROWS(parse_devices({R"({"cuda:sm_90": {"rows": {"edge": [{"take": 1, "when": {"block": {"above": 3}}}]}}})"}));
    CHECK_THROWS(parse_devices({R"({"cuda:sm_90": {"like": "cuda:sm_91"}})"}));
}

TEST_CASE("every list of every device ends in a row without conditions") {
    for (const auto* name : {"cuda:sm_75",    "cuda:sm_80",    "cuda:sm_86",  "cuda:sm_87",  "cuda:sm_88",  "cuda:sm_89", "cuda:sm_90",
                             "cuda:sm_100",   "cuda:sm_103",   "cuda:sm_110", "cuda:sm_120", "cuda:sm_121", "hip:gfx906", "hip:gfx908",
                             "hip:gfx90a",    "hip:gfx942",    "hip:gfx1030", "hip:gfx1100", "hip:gfx1201", "cpu:x86-64", "cpu:x86-64-v2",
                             "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:znver4",  "cpu:armv8-a", "cpu:rv64gcv"}) {
        CAPTURE(name);
        const auto& known = device_of(parse_target(name));
        CHECK(!known.rows.empty());
        for (const auto& [list, rows] : known.rows) {
            CAPTURE(list);
            CHECK(rows.back().when.empty());
            for (std::size_t k = 0; k + 1 < rows.size(); ++k) CHECK((list == "variant" || !rows[k].when.empty()));
        }
    }
}

TEST_CASE("rows ask for nothing that variants do not know") {
    for (const auto* target : {"cuda:sm_75", "cuda:sm_90", "hip:gfx942", "cpu:x86-64-v4", "cpu:znver4"})
        for (const auto* variant : variants_of(parse_target(target).backend))
            for (const std::int64_t n : {3, 20, 40, 56, 90, 200})
                for (const std::int64_t horizon : {4, 5000})
                    for (const auto precision : {Precision::f32, Precision::f64}) {
                        const Spec spec{.block = n, .horizon = horizon, .precision = precision, .rhs = 2};
                        const auto schedule = variant->abilities.any_schedule ? sequential(horizon) : multi_stage(horizon);
                        const auto resolved = parse_target(target);
                        const Problem problem{spec, resolved, schedule};
                        if (!refusal(*variant, problem).empty()) continue;
                        CAPTURE(variant->name);
                        CHECK_NOTHROW(design(choose(problem.spec, problem.target,
                                                    {.schedule = problem.schedule.name, .variant = std::string(variant->name)})));
                        CHECK(variant->seconds(problem, device_of(resolved)) > 0);
                    }
}

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
    CHECK_REFUSED("resolve 'native' first", validate({Backend::cpu, "native"}));
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
