#include "tests/tools/cli/command.hpp"
#include "tools/formats/npy.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

void write_problem(const Scratch& scratch) {
    scratch.write("L.npy", format_npy({{3, 3}, Precision::f64, {2, 99, 99, 1, 3, 99, -1, 4, 5}}));
    scratch.write("x.npy", format_npy({{3}, Precision::f64, {1, 2, 3}}));
}

}  // namespace

TEST_CASE_FIXTURE(Scratch, "another family in the command's table: trifold solve") {
    write_problem(*this);
    const auto ran = well("solve L.npy x.npy --triangular 3 --device cpu --workers 2 -o y.npy --json");
    check_json(ran.json(), {{"status", "ok"}, {"block", 3}});
    // L x = (2, 7, 22), and L' times that.
    CHECK(parse_npy(read("y.npy"), "y").values == std::vector<double>{-11, 109, 110});
    const auto text = run("solve L.npy x.npy --triangular 3 --device cpu --scale 2 -o y.npy");
    CHECK(text.out == "triangular, n = 3\n");
    CHECK(parse_npy(read("y.npy"), "y").values == std::vector<double>{-22, 218, 220});
    const auto help = run("solve --help").out;
    for (const auto* word : {"--triangular", "--scale", "With --triangular L.npy x.npy", "--grid", "--block"}) CHECK(says(help, word));
}

TEST_CASE_FIXTURE(Scratch, "another family in the command's table: options of the others are refused, and its own without it") {
    write_problem(*this);
    for (const auto& [arguments, reason] : {std::pair{"--triangular 3 --schedule sequential", "--schedule is for blocks"},
                                            {"--triangular 3 --matrix symmetric", "--grid"},
                                            {"--triangular 3 --grid 3x1", "name two kinds"},
                                            {"--scale 2", "--triangular"},
                                            {"--triangular 4", "but L has shape (3, 3)"}}) {
        const auto ran = ends(2, fmt::format("solve L.npy x.npy --device cpu {}", arguments));
        CHECK(says(ran.err, reason));
    }
    CHECK(run("solve L.npy x.npy --triangular 3 --device cpu --tolerance 0 --json").status == 0);
}

TEST_CASE_FIXTURE(Scratch, "another family in the command's table: a verb that it has not got says so") {
    for (const auto& [arguments, message] :
         {std::pair{"explain --triangular 3", "explain has no triangular systems yet; it takes blocks, images (--grid)"},
          {"generate --triangular 3", "generate has no triangular systems yet; it takes blocks, images (--grid)"},
          {"problem socu --triangular 3", "problem has no triangular systems yet; it takes blocks, images (--grid)"},
          {"export --triangular 3", "export has no triangular systems yet; it takes blocks"},
          {"export --grid 3x3", "export has no images yet; it takes blocks"},
          {"bench triangular --device cpu", "bench has no triangular systems yet; it takes blocks, images (--grid)"}}) {
        const auto ran = ends(2, fmt::format("{} --json", arguments));
        CHECK(says(ran.err, message));
        CHECK(ran.json().at("message") == message);
    }
    CHECK(run("explain --block 2 --horizon 3 --target cpu:x86-64 --json", "TRIFOLD_DISABLE=cache,jit").status == 0);
}

TEST_CASE("another family in the tuner's table: its knob is searched, and what was decided is a row of wisdom") {
    const Scratch scratch;
    scratch.write("points.jsonl", "{\"family\": \"triangular\", \"block\": 8, \"batch\": 2}\n{\"block\": 2, \"horizon\": 3}\n");
    const auto run = [&](const std::string& arguments, const std::string& environment = "") {
        return scratch.run("tune " + arguments, "TRIFOLD_WISDOM=wisdom " + environment);
    };
    const auto ran = run("points.jsonl --device cpu --hot --log t.jsonl --json");
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    const auto json = ran.json();
    CHECK(json.at("decided") == 2);
    CHECK(json.at("results").at(0).at("point") == "8x1x2 f64");
    CHECK(json.at("results").at(0).at("decision").at("trials") == 3);  // of 1, 3 and 8 rows
    CHECK(says(scratch.read("wisdom"), "\ttriangular\t"));
    CHECK(run("show --log t.jsonl --family triangular --json").json().at("decisions").size() == 1);
    scratch.write("bad.jsonl", "{\"family\": \"triangular\", \"rows\": 8}\n");
    CHECK(says(run("bad.jsonl --device cpu --log t.jsonl").err, "a triangular system has no 'rows'"));
}

TEST_CASE("tune: a candidate that ends its process, or never ends, fails alone, and is not tried again") {
    const Scratch scratch;
    scratch.write("points.jsonl", "{\"family\": \"triangular\", \"block\": 8}\n");
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
        CHECK(failed.at(0).at("variant") == "plain:group_rows=8");
        CHECK(says(failed.at(0).at("why").get<std::string>(), why));
        CHECK(run("--effort full").json().at("failures").empty());
    }
}
