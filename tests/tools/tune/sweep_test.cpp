#include "tools/tune/sweep.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <trifold/error.hpp>

#include "tools/tune/tridiagonal/spec.hpp"

namespace fs = std::filesystem;
using namespace trifold;
using namespace trifold::tune;

namespace {

Point tiny(std::int64_t block = 3) {
    return tune::tridiagonal::point_of({.block = block, .horizon = 4, .operations = {Operation::factor_solve}});
}

/// A database that is gone with it.
struct Place {
    fs::path path = fs::temp_directory_path() / ("trifold-sweep-test-" + std::to_string(::getpid()) + ".db");
    Place() { clear(); }
    ~Place() { clear(); }
    void clear() const {
        for (const auto* end : {"", "-wal", "-shm", "-journal"}) fs::remove(path.string() + end);
    }
};

TuneOptions options_of(Effort effort = Effort::quick) {
    TuneOptions options;
    options.effort = effort;
    options.processes = 2;
    options.worker = {TRIFOLD_COMMAND, "tune", "compile-unit"};
    options.measuring.hot = true;
    return options;
}

SweepReport run(const Place& place, const std::vector<Point>& points, const TuneOptions& options, const SweepListener& listener = {}) {
    Database database(place.path);
    return sweep(points, Device::cpu(), database, options, listener);
}

std::size_t trials_in(const Place& place) { return Database(place.path).all_trials().size(); }

}  // namespace

TEST_CASE("sweep: points are decided, and a second run measures nothing") {
    const Place place;
    auto costly = tiny(5);
    costly.seconds = 100;
    const std::vector<Point> points{tiny(), costly};
    const auto report = run(place, points, options_of());
    CHECK(report.complete);
    REQUIRE(report.results.size() == 2);
    CHECK(report.results[0].point.spec == costly.spec);  // costly first
    for (const auto& result : report.results) {
        INFO(result.why);
        REQUIRE(result.decision);
        CHECK(!result.was_decided);
        CHECK(result.decision->gain() >= 1);
        CHECK(result.decision->trials >= 1);
        CHECK(result.decision->machine == machine_of(Device::cpu()));
    }
    const auto before = trials_in(place);
    CHECK(before == report.state.trials);
    CHECK(Database(place.path).all_trials().front().is_default);
    const auto again = run(place, points, options_of());
    CHECK(again.complete);
    CHECK(again.results[0].was_decided);
    CHECK(again.state.trials == 0);
    CHECK(trials_in(place) == before);
}

TEST_CASE("sweep: more effort goes on from the trials that are there, and less adds nothing") {
    const Place place;
    run(place, {tiny()}, options_of());
    const auto before = Database(place.path).all_trials();
    const auto full = run(place, {tiny()}, options_of(Effort::full));
    REQUIRE(full.results.at(0).decision);
    CHECK(full.results[0].decision->effort == "full");
    const auto after = Database(place.path).all_trials();
    std::size_t repeated = 0;
    for (std::size_t k = before.size(); k < after.size(); ++k)
        for (const auto& one : before)
            repeated += one.candidate == after[k].candidate && after[k].round == "first" && one.round == "first" ? 1 : 0;
    CHECK(repeated == 0);
    CHECK(run(place, {tiny()}, options_of()).results.at(0).was_decided);
}

TEST_CASE("sweep: a stop keeps what was measured, and a run after it goes on from there") {
    const Place place;
    std::atomic<bool> stop = false;
    auto options = options_of();
    options.stop = &stop;
    SweepListener listener;
    listener.progress = [&](const SweepState& state) { stop = state.trials > 0; };
    const auto report = run(place, {tiny(), tiny(5)}, options, listener);
    CHECK(!report.complete);
    CHECK(report.results.empty());
    CHECK(trials_in(place) == 1);
    const auto again = run(place, {tiny(), tiny(5)}, options_of());
    CHECK(again.complete);
    std::size_t defaults = 0;
    for (const auto& trial : Database(place.path).all_trials())
        defaults += trial.point.spec == tiny().spec && trial.is_default && trial.round == "first" ? 1 : 0;
    CHECK(defaults == 1);  // not measured again
}

TEST_CASE("sweep: no measurement begins after the budget") {
    const Place place;
    auto options = options_of();
    options.budget_seconds = 1e-9;
    const auto report = run(place, {tiny()}, options);
    CHECK(!report.complete);
    CHECK(report.state.trials == 0);
}

TEST_CASE("sweep: what does not compile is kept with its reason, and never tried again") {
    const Place place;
    auto options = options_of();
    options.worker = {"/bin/sh", "-c", "echo no luck; exit 1"};
    const auto directory = fs::temp_directory_path() / ("trifold-sweep-cache-" + std::to_string(::getpid()));
    ::setenv("TRIFOLD_CACHE_DIR", directory.c_str(), 1);
    const auto report = run(place, {tiny()}, options);
    CHECK(report.complete);
    CHECK(!report.results.at(0).decision);
    CHECK(report.results[0].why.find("no luck") != std::string::npos);
    CHECK(report.state.failures.at(Verdict::does_not_compile) == report.state.trials);
    const auto again = run(place, {tiny()}, options_of());  // its compiler would work
    CHECK(again.state.trials == 0);
    ::unsetenv("TRIFOLD_CACHE_DIR");
    fs::remove_all(directory);
}

TEST_CASE("sweep: a candidate that disagrees does not win") {
    const Place place;
    auto options = options_of();
    options.measuring.clock = [](const Candidate& candidate, const Timed&) -> Timed {
        return [fast = candidate.schedule == "twisted:2"] { return fast ? 1e-3 : 2e-3; };
    };
    auto point = tiny(19);  // waking a second thread is nothing beside such blocks
    point.workers = 2;
    const auto sound = run(place, {point}, options);
    REQUIRE(sound.results.at(0).decision);
    CHECK(sound.results[0].decision->winner.schedule == "twisted:2");
    CHECK(sound.results[0].decision->gain() == doctest::Approx(2));
    place.clear();
    options.measuring.spoil = [](const Candidate& candidate, Outputs& outputs) {
        if (candidate.schedule == "twisted:2") outputs.values.at("factor_solve").front() += 1;
    };
    const auto wrong = run(place, {point}, options);
    REQUIRE(wrong.results.at(0).decision);
    CHECK(wrong.results[0].decision->winner == wrong.results[0].decision->standard);
    CHECK(wrong.state.failures.contains(Verdict::disagrees));
}

TEST_CASE("sweep: a candidate that never ends is kept as such, and the process ends with status 3") {
    const Place place;
    const auto child = ::fork();
    if (child == 0) {
        auto options = options_of();
        options.trial_seconds = 0.3;
        options.measuring.clock = [](const Candidate&, const Timed&) -> Timed {
            return [] {
                std::this_thread::sleep_for(std::chrono::seconds(100));
                return 1.0;
            };
        };
        run(place, {tiny()}, options);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 3);
    const auto trials = Database(place.path).all_trials();
    REQUIRE(trials.size() == 1);
    CHECK(trials[0].verdict == Verdict::times_out);
    const auto again = run(place, {tiny()}, options_of());
    CHECK(again.complete);
    for (const auto& trial : Database(place.path).all_trials())
        if (trial.candidate == trials[0].candidate) CHECK(trial.verdict == Verdict::times_out);
}
