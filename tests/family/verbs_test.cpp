#include "tests/tools/cli/command.hpp"
#include "tools/formats/npy.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

void write_problem(const Scratch& scratch) {
    scratch.write("L.npy", format_npy({{3, 3}, Precision::f64, {2, 99, 99, 1, 4, 99, -1, 4, 8}}));
    scratch.write("b.npy", format_npy({{3}, Precision::f64, {4, 10, 22}}));
}

}  // namespace

TEST_CASE_FIXTURE(Scratch, "another family in the command's table: trifold solve") {
    write_problem(*this);
    const auto ran = well("solve L.npy b.npy --lower 3 --device cpu --workers 2 -o x.npy --json");
    check_json(ran.json(), {{"status", "ok"}});
    CHECK(parse_npy(read("x.npy"), "x").values == std::vector<double>{2, 2, 2});
    CHECK(run("solve L.npy b.npy --lower 3 --device cpu --lower-variant plain:group_members=8 --precision f32 -o x.npy").out ==
          "lower 3: solved\n");
    CHECK(parse_npy(read("x.npy"), "x").values == std::vector<double>{2, 2, 2});
    write("L.npy", format_npy({{3, 3}, Precision::f64, {2, 99, 99, 1, 0, 99, -1, 4, 8}}));
    const auto failed = ends(1, "solve L.npy b.npy --lower 3 --device cpu --json");
    CHECK(failed.json().at("outcomes").dump() == R"([{"ok":false,"row":1}])");
    CHECK(says(failed.err, "one of the lower systems has failed"));
    const auto help = run("solve --help").out;
    for (const auto* word : {"--lower", "lower systems: size", "With --lower L.npy (members size size), B.npy", "--grid", "--block"})
        CHECK(says(help, word));
}

TEST_CASE_FIXTURE(Scratch, "another family in the command's table: its kernels are explained and generated for any target") {
    CHECK(says(run("explain --lower 3 --target cuda:sm_90").out, "lower_solve_transposed"));
    well("generate --lower 3 --target hip:gfx942 -o out --json");
    CHECK(says(read("out/lower_solve.hip"), "enum { n = 3 }"));
}

TEST_CASE_FIXTURE(Scratch, "another family in the command's table: options of the others are refused, and its own without it") {
    write_problem(*this);
    for (const auto& [arguments, reason] : {std::pair{"--lower 3 --schedule sequential", "--schedule is for blocks"},
                                            {"--lower 3 --matrix symmetric", "--matrix is for blocks"},
                                            {"--lower 3 --grid 3x1", "name two kinds"},
                                            {"--lower 4", "L has 9 elements; 1 lower systems with 16 each need 16"},
                                            {"--lower 3x3", "is no size; give size"},
                                            {"--lower 3 --lower-variant fast", "plain"}}) {
        const auto ran = ends(2, fmt::format("solve L.npy b.npy --device cpu {}", arguments));
        CHECK(says(ran.err, reason));
    }
    CHECK(run("solve L.npy b.npy --lower 3 --device cpu --json").status == 0);
}

TEST_CASE_FIXTURE(Scratch, "another family in the command's table: a verb that it has not got says so") {
    for (const auto& [arguments, message] :
         {std::pair{"problem socu --lower 3", "problem has no lower systems yet; it takes blocks, images (--grid)"},
          {"export --lower 3", "export has no lower systems yet; it takes blocks"},
          {"export --grid 3x3", "export has no images yet; it takes blocks"},
          {"bench lower --device cpu", "bench has no lower systems yet; it takes blocks, images (--grid)"}}) {
        const auto ran = ends(2, fmt::format("{} --json", arguments));
        CHECK(says(ran.err, message));
        CHECK(ran.json().at("message") == message);
    }
    CHECK(run("explain --block 2 --horizon 3 --target cpu:x86-64 --json", "TRIFOLD_DISABLE=cache,jit").status == 0);
}

TEST_CASE("another family in the tuner's table: its knob is searched, and what was decided is a row of wisdom") {
    const Scratch scratch;
    scratch.write("points.jsonl", "{\"family\": \"lower\", \"size\": 8, \"batch\": 2}\n{\"block\": 2, \"horizon\": 3}\n");
    const auto run = [&](const std::string& arguments, const std::string& environment = "") {
        return scratch.run("tune " + arguments, "TRIFOLD_WISDOM=wisdom " + environment);
    };
    const auto ran = run("points.jsonl --device cpu --hot --log t.jsonl --json");
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    const auto json = ran.json();
    CHECK(json.at("decided") == 2);
    CHECK(json.at("results").at(0).at("point") == "8x1x2 f64");
    CHECK(json.at("results").at(0).at("decision").at("trials") == 3);  // of 1, 2 and 8 matrices
    CHECK(says(scratch.read("wisdom"), "\tlower\t"));
    CHECK(run("show --log t.jsonl --family lower --json").json().at("decisions").size() == 1);
    scratch.write("bad.jsonl", "{\"family\": \"lower\", \"rows\": 8}\n");
    CHECK(says(run("bad.jsonl --device cpu --log t.jsonl").err, "a lower system has no 'rows'"));
}

TEST_CASE("tune: a candidate that ends its process, or never ends, fails alone, and is not tried again") {
    const Scratch scratch;
    scratch.write("points.jsonl", "{\"family\": \"lower\", \"size\": 8}\n");
    for (const auto& [how, verdict, why] : {std::tuple("crash", "fails", "the process that measured it was killed by signal 6"),
                                            std::tuple("hang", "times_out", "it had not ended after 2 s on the device")}) {
        const auto run = [&](const std::string& more) {
            return scratch.run(
                fmt::format("tune points.jsonl --device cpu --hot --timeout 2 --no-export --log {}.jsonl --json {}", how, more),
                fmt::format("TEST_TRIAL={}", how));
        };
        const auto ran = run("");
        INFO(ran.err);
        REQUIRE(ran.status == 0);
        check_json(ran.json(), {{"complete", true}, {"decided", 1}, {"failures", nlohmann::json{{verdict, 1}}}});
        const auto failed = scratch.run(fmt::format("tune show --failures --log {}.jsonl --json", how)).json().at("failures");
        REQUIRE(failed.size() == 1);
        CHECK(failed.at(0).at("variant") == "plain:group_members=8");
        CHECK(says(failed.at(0).at("why").get<std::string>(), why));
        CHECK(run("--effort full").json().at("failures").empty());
    }
}
