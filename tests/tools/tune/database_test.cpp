// What is recorded comes back: field by field, in its order, under its key.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "tests/tools/tune/records.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/sqlite.hpp"

using namespace trifold;
using namespace trifold::tune;

TEST_CASE("database: every field of trials and decisions comes back, after it was closed") {
    const Folder folder;
    std::vector<Trial> trials;
    {
        Database database(folder.database());
        for (int k = 0; k < 40; ++k) {
            trials.push_back(a_trial(k));
            database.append(trials.back());
            database.append(a_decision(k));
        }
    }
    const Database database(folder.database());
    CHECK(texts(database.all_trials()) == texts(trials));
    const auto decisions = database.all_decisions();
    REQUIRE(decisions.size() == 40);
    for (int k = 0; k < 40; ++k) CHECK(to_json(decisions[static_cast<std::size_t>(k)]).dump() == to_json(a_decision(k)).dump());
    CHECK(database.unreadable() == 0);
}

TEST_CASE("database: records are found by machine, generator and point, in the order in which they were made") {
    const Folder folder;
    Database database(folder.database());
    const auto machine = a_machine();
    auto trial = a_trial(3);
    for (const auto* round : {"first", "again", "final"}) {
        trial.round = round;
        database.append(trial);
        database.append(a_trial(4));
    }
    trial.point.seconds = 77;  // the weight is no part of the key
    const auto found = database.trials(machine, trial.generator, trial.point);
    REQUIRE(found.size() == 3);
    CHECK(found[0].round == "first");
    CHECK(found[2].round == "final");

    const auto other = [&](const std::string& what) {
        auto changed = trial;
        if (what == "device") changed.machine.device = "NVIDIA H100";
        if (what == "target") changed.machine.target = "cuda:sm_100";
        if (what == "driver") changed.machine.driver = "";
        if (what == "generator") changed.generator += "0";
        if (what == "spec") changed.point.spec["batch"] = 2;
        if (what == "operations") changed.point.spec["operations"].push_back("inverse");
        if (what == "workers") changed.point.workers = 9;
        if (what == "objective") changed.point.objective = parse_objective("2*factor");
        return database.trials(changed.machine, changed.generator, changed.point).size();
    };
    for (const auto* what : {"device", "target", "driver", "generator", "spec", "operations", "workers", "objective"}) {
        INFO(what);
        CHECK(other(what) == 0);
    }
    CHECK(other("nothing") == 3);
}

TEST_CASE("database: the last decision counts, whatever the clock says") {
    const Folder folder;
    const auto machine = a_machine();
    auto decision = a_decision(2);
    Database database(folder.database());
    for (const auto* effort : {"quick", "full", "exhaustive"}) {
        decision.effort = effort;
        database.append(decision);
        database.append(a_trial(2));
    }
    Connection raw(folder.database(), SQLITE_OPEN_READWRITE);  // the clock jumped back by years, then forward
    raw.run(
        "UPDATE decisions SET at = '1970-01-01T00:00:00Z' WHERE id = 3; UPDATE decisions SET at = '2999-01-01T00:00:00Z' WHERE id = 2;"
        "UPDATE trials SET at = printf('%d', 2000 - id)");
    CHECK(database.decision(machine, decision.generator, decision.point)->effort == "exhaustive");
    const auto dated = database.dated_decisions();
    CHECK(dated[1].when == "2999-01-01T00:00:00Z");
    CHECK(dated[2].decision.effort == "exhaustive");
    CHECK(!database.decision(a_machine("another"), decision.generator, decision.point));
}

TEST_CASE("database: numbers that are not finite, and messages that are not UTF-8, lose no trial") {
    const Folder folder;
    Database database(folder.database());
    auto trial = a_trial(1);
    trial.residual = std::numeric_limits<double>::infinity();
    trial.spread = std::numeric_limits<double>::quiet_NaN();
    trial.seconds["factor"] = std::numeric_limits<double>::quiet_NaN();
    trial.why = std::string("bad \xff\xfe bytes and a \0 zero", 25);
    database.append(trial);
    const auto found = database.all_trials();
    REQUIRE(found.size() == 1);
    CHECK(std::isnan(found[0].residual));
    CHECK(std::isnan(found[0].spread));
    CHECK(found[0].why.ends_with(std::string(" bytes and a \0 zero", 19)));
    CHECK(database.unreadable() == 0);
}

TEST_CASE("database: what is added twice is there once, and what was measured here stands") {
    const Folder folder;
    Database database(folder.database());
    database.append(a_trial(0));
    database.append(a_decision(0));
    auto other = a_decision(0);
    other.winner.schedule = "twisted:2";
    const auto first = database.add({a_trial(0), a_trial(1), a_trial(1)}, {other, a_decision(1)});
    CHECK(first.trials == 1);
    CHECK(first.decisions == 1);
    const auto second = database.add({a_trial(0), a_trial(1)}, {other, a_decision(1)});
    CHECK(second.trials + second.decisions == 0);
    CHECK(database.decision(other.machine, other.generator, other.point)->winner.schedule == "multi-stage");
}

TEST_CASE("database: forgets what is meant, and nothing else, two kinds of devices in one file") {
    const Folder folder;
    Database database(folder.database());
    const auto zen = a_machine("AMD EPYC (Zen 4)", "cpu:znver4");
    for (int k = 0; k < 10; ++k) {
        for (const auto& machine : {a_machine(), zen}) {
            database.append(a_trial(k, machine));
            database.append(a_decision(k, machine));
        }
    }
    CHECK(database.trials(zen, a_trial(3).generator, a_point(3)).size() == 1);
    const auto gone = database.forget([&](const Machine& machine, const std::string&, const Point& point) {
        return machine == zen && number_in(point, "horizon") >= 20;
    });
    CHECK(gone.trials == 6);
    CHECK(gone.decisions == 6);
    CHECK(database.all_trials().size() == 14);
    CHECK(database.trials(a_machine(), a_trial(5).generator, a_point(5)).size() == 1);
    const auto rest = database.forget({});
    CHECK(rest.trials == 14);
    CHECK(rest.decisions == 14);
    CHECK(database.all_trials().empty());
}

TEST_CASE("database: what is damaged or of a program that knows more counts as never made, and is kept") {
    const Folder folder;
    Database database(folder.database());
    for (int k = 0; k < 5; ++k) database.append(a_trial(k));
    Connection raw(folder.database(), SQLITE_OPEN_READWRITE);
    raw.run("UPDATE trials SET body = replace(body, 'recursive:1', 'recursive:7') WHERE id = 2; UPDATE trials SET sum = '' WHERE id = 4");
    CHECK(database.all_trials().size() == 3);
    CHECK(database.unreadable() == 2);
    CHECK(raw.number("SELECT count(*) FROM trials") == 5);
    CHECK(database.forget({}).trials == 5);
}

TEST_CASE("database: the default place follows the XDG rules") {
    const Folder folder;
    const auto child = [&](const char* data, const char* home, const std::string& expected) {
        return wait_for(begin_child([&] {
            data == nullptr ? ::unsetenv("XDG_DATA_HOME") : ::setenv("XDG_DATA_HOME", data, 1);
            home == nullptr ? ::unsetenv("HOME") : ::setenv("HOME", home, 1);
            if (expected.empty()) return complaint(default_database).find("--database") != std::string::npos ? 0 : 1;
            if (default_database() != expected) return 1;
            Database(default_database()).append(a_trial(0));  // its directory is made
            return std::filesystem::exists(expected) ? 0 : 2;
        }));
    };
    const auto place = folder.path.string();
    CHECK(child((place + "/data").c_str(), "/nowhere", place + "/data/trifold/tuning.db") == 0);
    CHECK(child(nullptr, place.c_str(), place + "/.local/share/trifold/tuning.db") == 0);
    CHECK(child("relative", place.c_str(), place + "/.local/share/trifold/tuning.db") == 0);
    CHECK(child(nullptr, nullptr, "") == 0);
    CHECK(child("", "relative", "") == 0);
}
