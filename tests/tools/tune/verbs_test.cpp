// The verbs that look after the records, as a user runs them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "generator/program/wisdom.hpp"
#include "tests/tools/cli/command.hpp"
#include "tests/tools/tune/records.hpp"
#include "tools/tune/family.hpp"
#include "tools/tune/tridiagonal/spec.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

/// A decision of this program's generator, which kernels can be made by.
Decision usable(std::int64_t horizon, const std::string& schedule, double seconds) {
    Decision decision;
    decision.machine = {"AuthenticAMD family 25 model 1", "cpu:znver4", ""};
    decision.generator = generator_version();
    const Spec spec{.block = 8, .horizon = horizon};
    decision.point = tune::tridiagonal::point_of(spec);
    decision.winner = {schedule, "scalar", 0};
    const auto choice = choose(spec, parse_target(decision.machine.target), Tuning{schedule});
    decision.winner.variant = choice.variant;
    decision.standard = {"sequential", choice.variant, 0};
    decision.seconds = seconds;
    decision.standard_seconds = 1e-3;
    decision.trials = 11;
    decision.effort = "full";
    return decision;
}

struct Case {
    Scratch scratch;
    Ran run(const std::string& arguments, const std::string& database = "tuning.db") const {
        const bool has_database = !arguments.starts_with("merge");
        return run_trifold(scratch.path, "tune " + arguments + (has_database ? " --database " + database : ""),
                           "TRIFOLD_WISDOM=own.wisdom");
    }
    void record(const std::vector<Decision>& decisions, const std::string& database = "tuning.db") const {
        Database log(scratch.path / database);
        for (const auto& decision : decisions) log.append(decision);
    }
};

}  // namespace

TEST_CASE("tune export: the user's wisdom file, with what it had of other problems, other generators are left out") {
    const Case a;
    auto old = usable(64, "sequential", 5e-4);
    old.generator = "0.0.1-00000000";
    a.record({usable(16, "twisted:2", 9e-4), usable(16, "twisted:2", 5e-4), usable(32, "sequential", 1e-3), old});
    const auto ran = a.run("export");
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    CHECK(ran.err.find("1 decision of other generator versions was left out") != std::string::npos);
    auto rows = read_wisdom(a.scratch.read("own.wisdom"));
    REQUIRE(rows.size() == 2);  // the default that was the best has a row as well
    CHECK(rows[0].seconds == 5e-4);
    CHECK(rows[0].pins.schedule == "twisted:2");
    CHECK(rows[0].measured == fmt::format("generator {}; effort full; 11 trials", generator_version()));

    a.record({usable(16, "sequential", 4e-4), usable(128, "sequential", 1e-3)}, "another.db");
    CHECK(a.run("export --json", "another.db").json()["kept"] == 1);
    rows = read_wisdom(a.scratch.read("own.wisdom"));
    REQUIRE(rows.size() == 3);
    CHECK(a.run("export --any-generator -o all").status == 0);
    CHECK(read_wisdom(a.scratch.read("all")).size() == 3);
    a.scratch.write("own.wisdom", "my notes");
    CHECK(a.run("export").status == 2);
    CHECK(a.scratch.read("own.wisdom") == "my notes");
}

TEST_CASE("tune import: wisdom and trials make the same records elsewhere, once") {
    const Case a;
    a.record({usable(16, "twisted:2", 5e-4), usable(32, "sequential", 1e-3)});
    {
        Database log(a.scratch.path / "tuning.db");
        for (int k = 0; k < 20; ++k) log.append(a_trial(k));
    }
    REQUIRE(a.run("export -o w").status == 0);
    REQUIRE(a.run("export --trials t.jsonl").status == 0);
    for (const int known : {0, 1}) {
        CHECK(a.run("import w --json", "b.db").json()["decisions"] == (known == 0 ? 2 : 0));
        CHECK(a.run("import t.jsonl --json", "b.db").json()["trials"] == (known == 0 ? 20 : 0));
    }
    const Database first(a.scratch.path / "tuning.db"), second(a.scratch.path / "b.db");
    CHECK(texts(first.all_trials()) == texts(second.all_trials()));
    REQUIRE(a.run("export -o again", "b.db").status == 0);
    CHECK(a.scratch.read("again") == a.scratch.read("w"));

    a.scratch.write("cut.jsonl", a.scratch.read("t.jsonl").substr(0, 3000));
    const auto cut = a.run("import cut.jsonl", "c.db");
    CHECK(cut.status == 2);
    CHECK(cut.err.find("nothing was imported. line ") != std::string::npos);
    CHECK(!a.scratch.has("c.db"));
}

TEST_CASE("tune merge: the greater gain of two, and what was in conflict") {
    const Case a;
    a.record({usable(16, "twisted:2", 5e-4), usable(32, "sequential", 1e-3)}, "a.db");
    a.record({usable(16, "sequential", 8e-4), usable(64, "sequential", 1e-3)}, "b.db");
    REQUIRE(a.run("export -o a", "a.db").status == 0);
    REQUIRE(a.run("export -o b", "b.db").status == 0);
    for (const auto* order : {"a b", "b a"}) {
        const auto ran = a.run(fmt::format("merge {} -o c --json", order));
        REQUIRE(ran.status == 0);
        CHECK(ran.json()["conflicts"].size() == 1);
        const auto rows = read_wisdom(a.scratch.read("c"));
        REQUIRE(rows.size() == 3);
        CHECK(rows[0].pins.schedule == "twisted:2");
    }
    CHECK(a.run("merge a missing -o d").status == 2);
    CHECK(!a.scratch.has("d"));
}

TEST_CASE("tune show and forget: what is there, what failed, and what goes") {
    const Case a;
    CHECK(a.run("show").err.find("there is no database") != std::string::npos);
    CHECK(!a.scratch.has("tuning.db"));
    a.record({usable(16, "twisted:2", 9e-4), usable(16, "twisted:2", 5e-4), a_decision(0)});
    Database(a.scratch.path / "tuning.db").append(a_trial(1));
    const auto text = a.run("show");
    REQUIRE(text.status == 0);
    CHECK(text.out.find("2.00") != std::string::npos);
    CHECK(text.out.find("2 points decided") != std::string::npos);
    const auto json = a.run("show --json --device znver4").json();
    REQUIRE(json["decisions"].size() == 1);
    CHECK(json["decisions"][0]["gain"] == 2.0);
    CHECK(a.run("show --failures").out.find("refused") != std::string::npos);
    CHECK(a.run("show --failures --device cpu:").out == "no failures\n");

    CHECK(a.run("forget").status == 2);
    CHECK(a.run("forget --all --block 8").status == 2);
    CHECK(a.run("forget --device nowhere").status == 2);
    CHECK(a.run("forget --device h200").out == "1 trial and 1 decision forgotten\n");
    CHECK(a.run("forget --all").out == "2 decisions forgotten\n");
    CHECK(a.run("export").status == 2);
    CHECK(a.run("show --precision f16").status == 2);
}

TEST_CASE("tune of a grid, as a user runs it: sweep, show, wisdom that explain names, import, merge, replay, report and forget") {
    const Case a;
    const auto swept = a.run("--grid 17x9 --matrix general,symmetric --device cpu --hot --json");
    INFO(swept.err);
    REQUIRE(swept.status == 0);
    const auto json = swept.json();
    CHECK(json["decided"] == 2);
    CHECK(json["results"][0]["point"] == "17x9 f64");
    CHECK(json["results"][0]["decision"]["schedule"] == "dissection");
    CHECK(json["trials"].get<int>() >= 4);
    CHECK(json["wisdom"]["rows"] == 2);
    for (const auto& row : read_wisdom(a.scratch.read("own.wisdom"), check_key)) CHECK(row.key.kind == "grid");

    const auto explained = run_trifold(a.scratch.path, "explain --json --grid 17x9", "TRIFOLD_WISDOM=own.wisdom").json();
    CHECK(explained["rung"] == "wisdom: exact");
    CHECK(explained["variant"] == json["results"][0]["decision"]["variant"]);
    const auto generated = run_trifold(a.scratch.path, "generate --json --grid 17x9 -o out", "TRIFOLD_WISDOM=own.wisdom").json();
    CHECK(generated["row"].get<std::string>().find("line ") == 0);

    CHECK(a.run("show --json --family grid --width 17").json()["decisions"].size() == 2);
    CHECK(a.run("show --json --width 19").json()["decisions"].empty());
    CHECK(a.run("show --json --family tridiagonal").json()["decisions"].empty());
    REQUIRE(a.run("export --trials t.jsonl").status == 0);
    CHECK(a.run("import own.wisdom --json", "b.db").json()["decisions"] == 2);
    CHECK(a.run("import t.jsonl --json", "b.db").json()["trials"] == json["trials"]);
    CHECK(a.run("merge own.wisdom own.wisdom -o both --json").json()["rows"] == 2);
    CHECK(a.scratch.read("both") == a.scratch.read("own.wisdom"));
    const auto replayed = run_trifold(a.scratch.path, "tune replay t.jsonl --json").json();
    CHECK(replayed[0]["strategy"] == "default");
    CHECK(replayed[0]["points"] == 2);
    REQUIRE(a.run("report -o r.html").status == 0);
    CHECK(a.scratch.read("r.html").find("height and width, 1 image") != std::string::npos);
    CHECK(a.run("forget --family grid --width 17 --json").json()["decisions"] == 2);
}

TEST_CASE("explain names who decided about each knob of a grid") {
    const Case a;
    const auto of = [&](const std::string& arguments) { return run_trifold(a.scratch.path, "explain --grid 129x129 " + arguments); };
    const auto json = of("--json --target cuda:sm_90 --grid-variant fronts:step_rows=512").json();
    CHECK(json["rung"] == "pinned");
    bool has_row = false;
    for (const auto& one : json["knobs"]) {
        if (one["knob"] == "step_rows") CHECK(one["decided_by"] == "pinned");
        has_row = has_row || one["decided_by"] == "row 1 of leaf_blocks for cuda:sm_90, history.md#2026-11-25-grid";
    }
    CHECK(has_row);
    CHECK(of("--target cuda:sm_90").out.find("variant fronts, chosen by model") != std::string::npos);
    CHECK(of("--grid-variant fronts:leaf_cells=7").status == 2);
    CHECK(of("--grid-variant fronts:leaf_cells=7").err.find("give one of 4, 5, 6, 8, 16") != std::string::npos);
}
