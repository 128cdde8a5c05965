#include "tests/tools/cli/command.hpp"
#include "tests/tools/tune/records.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

/// A decision of this program's generator, which kernels can be made by.
Decision usable(std::int64_t horizon, const std::string& schedule, double seconds) {
    const auto point = test::blocks(8, horizon);
    const Machine machine{"AuthenticAMD family 25 model 1", "cpu:znver4", ""};
    const auto winner = family_of(point).make(point, parse_target(machine.target), {schedule, "auto"}).candidate;
    Decision decision{machine, generator_version(), point, winner, {"sequential", winner.variant}};
    decision.seconds = seconds;
    decision.standard_seconds = 1e-3;
    decision.trials = 11;
    decision.effort = "full";
    return decision;
}

struct Case {
    Scratch scratch;
    Ran run(const std::string& arguments, const std::string& log = "log.jsonl") const {
        return scratch.run(fmt::format("tune {} --log {}", arguments, log), "TRIFOLD_WISDOM=own.wisdom");
    }
    void record(const std::vector<Decision>& decisions, const std::string& log = "log.jsonl") const {
        for (const auto& decision : decisions) Log(scratch.path / log).append(decision);
    }
};

}  // namespace

TEST_CASE_FIXTURE(Case, "tune export: the user's wisdom file, with what it had of other problems, other generators are left out") {
    auto old = usable(64, "sequential", 5e-4);
    old.generator = "0.0.1-00000000";
    record({usable(16, "twisted:2", 9e-4), usable(16, "twisted:2", 5e-4), usable(32, "sequential", 1e-3), old});
    const auto ran = run("export");
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    CHECK(says(ran.err, "1 decision of other generator versions was left out"));
    auto rows = read_wisdom(scratch.read("own.wisdom"));
    REQUIRE(rows.size() == 2);  // the default that was the best has a row as well
    CHECK((rows[0].seconds == 5e-4 && rows[0].pins.schedule == "twisted:2"));
    record({usable(16, "sequential", 4e-4), usable(128, "sequential", 1e-3)}, "another.jsonl");
    CHECK(run("export --json", "another.jsonl").json()["kept"] == 1);
    CHECK(read_wisdom(scratch.read("own.wisdom")).size() == 3);
    CHECK(run("export --any-generator -o all").status == 0);
    CHECK(read_wisdom(scratch.read("all")).size() == 3);
    scratch.write("own.wisdom", "my notes");
    CHECK(run("export").status == 2);
    CHECK(scratch.read("own.wisdom") == "my notes");
}

TEST_CASE_FIXTURE(Case, "tune show and report: what is there, what failed, by filters") {
    CHECK(says(run("show").err, "there is no log"));
    CHECK(!scratch.has("log.jsonl"));
    record({usable(16, "twisted:2", 9e-4), usable(16, "twisted:2", 5e-4), test::a_decision(0)});
    Log(scratch.path / "log.jsonl").append(test::a_trial(1));
    const auto text = run("show");
    REQUIRE(text.status == 0);
    CHECK(says(text.out, "2.00", "2 points decided"));
    const auto json = run("show --json --device znver4").json();
    REQUIRE(json["decisions"].size() == 1);
    CHECK(json["decisions"][0]["gain"] == 2.0);
    CHECK(says(run("show --failures").out, "refused"));
    CHECK(run("show --failures --device cpu:").out == "no failures\n");
    CHECK(run("show --precision f16").status == 2);
    CHECK(run("report --device H200 -o r.html").out == "r.html: 1 decision, 1 trial\n");
    CHECK(says(scratch.read("r.html"), "16x4 f64"));
    scratch.write("old.db", "SQLite format 3" + std::string(100, ' '));
    const auto old = scratch.run("tune show --database old.db");  // the name that the option had
    CHECK((old.status == 2 && old.err.find("a database of an earlier Trifold") != std::string::npos));
}

TEST_CASE_FIXTURE(Case, "tune as a user runs it: sweep, show, wisdom that explain and generate name, report") {
    const auto swept = run("--grid 17x9 --matrix general,symmetric --sparse 6x6x6 --block 2 --horizon 3 --device cpu --hot --json");
    INFO(swept.err);
    REQUIRE(swept.status == 0);
    const auto json = swept.json();
    CHECK(json["decided"] == 4);
    std::map<std::string, std::string> variants;
    for (const auto& one : json["results"]) variants[one["point"]] = one["decision"]["variant"];
    CHECK(json["wisdom"]["rows"] == 4);
    for (const auto& row : read_wisdom(scratch.read("own.wisdom"), check_key)) CHECK(says(row.measured, generator_version()));
    const auto by_wisdom = [&](const std::string& arguments) { return scratch.run(arguments, "TRIFOLD_WISDOM=own.wisdom").json(); };
    const auto explained = by_wisdom("explain --json --grid 17x9");
    check_json(explained, {{"rung", "wisdom: exact"}, {"variant", variants["17x9 f64"]}});
    CHECK(by_wisdom("explain --json --block 2 --horizon 3")["rung"] == "wisdom: exact");
    CHECK(by_wisdom("generate --json --grid 17x9 -o out")["row"].get<std::string>().find("line ") == 0);
    CHECK(run("show --json --family grid --width 17").json()["decisions"].size() == 2);
    CHECK(run("show --json --width 19").json()["decisions"].empty());
    REQUIRE(run("report -o r.html").status == 0);
    CHECK(says(scratch.read("r.html"), "17x9 f64 symmetric"));
    const auto again = run("--grid 17x9 --device cpu --hot --no-export");
    CHECK(says(again.out, "(known)"));
}

TEST_CASE_FIXTURE(Case, "tune: verbs take no options of the sweep, and a budget must be a time") {
    CHECK(says(run("--block 4 show").err, "`trifold tune show` takes no --block"));
    CHECK(says(run("--block 4 --horizon 4 --budget soon").err, "--budget soon is no time"));
    const auto help = scratch.run("tune --help").out;
    for (const auto* word : {"--horizon", "--grid", "--sparse", "--log", "--timeout", "export", "show", "report"})
        CHECK_MESSAGE(help.find(word) != std::string::npos, word);
    for (const auto* word : {"search-point", "compile-candidate", "model"}) CHECK_MESSAGE(help.find(word) == std::string::npos, word);
}

TEST_CASE_FIXTURE(Case, "explain names who decided about each knob of a grid") {
    const auto of = [&](const std::string& arguments) { return scratch.run("explain --grid 129x129 " + arguments); };
    const auto json = of("--json --target cuda:sm_90 --grid-variant fronts:step_rows=512").json();
    CHECK(json["rung"] == "pinned");
    bool has_row = false;
    for (const auto& one : json["knobs"]) {
        if (one["knob"] == "step_rows") CHECK(one["decided_by"] == "pinned");
        has_row = has_row || one["decided_by"] == "row 1 of leaf_blocks for cuda:sm_90, history.md#2026-11-25-grid";
    }
    CHECK(has_row);
    CHECK(says(of("--target cuda:sm_90").out, "variant fronts, chosen by model"));
    CHECK(says(of("--grid-variant fronts:leaf_cells=7").err, "give one of 4, 5, 6, 8, 16"));
}
