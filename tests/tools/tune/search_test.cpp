#include "tools/tune/search.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <trifold/error.hpp>

#include "tools/formats/file.hpp"
#include "tools/tune/model.hpp"
#include "tools/tune/replay.hpp"
#include "tools/tune/tridiagonal/spec.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

const Point point = tune::tridiagonal::point_of({.block = 8, .horizon = 16});

Trial trial(const Candidate& candidate, double seconds, const std::string& round = "first", bool is_default = false) {
    Trial result;
    result.machine = {"a device", "cuda:sm_90", "1"};
    result.generator = "1.0.0-00000000";
    result.point = point;
    result.candidate = candidate;
    result.is_default = is_default;
    result.round = round;
    result.seconds["factor_solve"] = seconds;
    result.runs = 5;
    return result;
}

/// A made-up device: each pair has a time, which knobs change by factors.
struct MadeUp {
    std::vector<Candidate> asked;
    double noise = 0;

    static double pair_seconds(const std::string& schedule) {
        return schedule == "sequential" ? 10e-6 : schedule == "twisted:2" ? 8e-6 : 9e-6;
    }

    double seconds(const Candidate& candidate) const {
        auto result = pair_seconds(candidate.schedule);
        if (candidate.variant.find("a=2") != std::string::npos) result *= 0.8;
        if (candidate.variant.find("a=3") != std::string::npos) result *= 1.2;
        if (candidate.variant.find("b=1") != std::string::npos) result *= 0.9;
        return result;
    }

    Measure measure() {
        return [this](const std::vector<Candidate>& candidates, const Round& round) {
            std::vector<Trial> result;
            for (const auto& candidate : candidates) {
                asked.push_back(candidate);
                result.push_back(trial(candidate, seconds(candidate), round.name));
            }
            return result;
        };
    }
};

/// Three schedules of one variant with two knobs.
Space made_up_space() {
    Space space{{"sequential", "v", 1e-6}, {{"twisted:2", "v", 2e-6}, {"multi-stage", "v", 3e-6}}, {}};
    space.knobs = [](const Candidate& from) {
        const bool has_a = from.variant.find("a=") != std::string::npos, has_b = from.variant.find("b=") != std::string::npos;
        const auto with = [&](const std::string& knob) {
            const bool first = from.variant.find(':') == std::string::npos;
            return Candidate{from.schedule,
                             first        ? "v:" + knob
                             : knob < "b" ? "v:" + knob + "," + from.variant.substr(2)
                                          : from.variant + "," + knob,
                             1e-6};
        };
        std::vector<KnobValues> knobs;
        if (!has_a) knobs.push_back({"a", {with("a=2"), with("a=3")}});
        if (!has_b) knobs.push_back({"b", {with("b=1")}});
        return knobs;
    };
    return space;
}

std::vector<Trial> last_round(double first_default, double other, double second_default) {
    const Candidate standard{"sequential", "v"}, winner{"twisted:2", "v"};
    return {trial(standard, first_default, "final", true), trial(winner, other, "final"), trial(standard, second_default, "final", true)};
}

}  // namespace

TEST_CASE("search: a winner is 2 % faster, or by more than equal runs differ") {
    const auto won = [](double first, double other, double second) {
        return decide(last_round(first, other, second))->winner.schedule == "twisted:2";
    };
    CHECK(won(1, 0.97, 1));
    CHECK(!won(1, 0.985, 1));    // less than 2 %
    CHECK(!won(1, 0.97, 1.10));  // less than what equal runs differ by: 10 % of 1.05
    CHECK(won(1, 0.90, 1.10));
    CHECK(!won(1, 1.5, 1));
    const auto decision = decide(last_round(1, 0.985, 1.01));
    CHECK(decision->seconds == decision->standard_seconds);
    CHECK(decision->gain() == 1);
    CHECK(decision->spread == doctest::Approx(0.01));
}

TEST_CASE("search: what is slower than the default where data stay in the caches cannot win") {
    const auto won = [](const std::vector<Trial>& cached) { return decide(last_round(1, 0.8, 1), cached)->winner.schedule == "twisted:2"; };
    CHECK(won({}));
    CHECK(won(last_round(0.5, 0.4, 0.5)));
    CHECK(won(last_round(0.5, 0.505, 0.5)));  // within 2 %
    CHECK(won(last_round(0.5, 0.52, 0.55)));  // within what equal runs differ by
    CHECK(!won(last_round(0.5, 0.52, 0.5)));
    CHECK(!won(last_round(0.5, 1.0, 0.5)));
    auto cached = last_round(0.5, 1.0, 0.5);
    cached[1].verdict = Verdict::fails;  // not measured there
    CHECK(won(cached));
}

TEST_CASE("search: what does not compute the same cannot win, and the next best is taken") {
    auto trials = last_round(1, 0.5, 1);
    trials[1].verdict = Verdict::disagrees;
    trials.insert(trials.begin() + 2, trial({"multi-stage", "v"}, 0.8, "final"));
    CHECK(decide(trials)->winner.schedule == "multi-stage");
    CHECK(decide(trials)->seconds == 0.8);
    for (auto& one : trials) one.verdict = Verdict::disagrees;
    CHECK(!decide(trials));
    CHECK(!decide({}));
}

TEST_CASE("search: where the default fails the best of the others is taken") {
    auto trials = last_round(1, 0.5, 1);
    trials[0].verdict = trials[2].verdict = Verdict::does_not_compile;
    CHECK(decide(trials)->winner.schedule == "twisted:2");
    CHECK(decide(trials)->gain() == 1);
}

TEST_CASE("search: quick tries pairs, full also knobs, and the default comes first") {
    MadeUp device;
    const auto space = made_up_space();
    const auto quick = search(space, strategy_of(Effort::quick), device.measure());
    REQUIRE(quick);
    CHECK(quick->winner == Candidate{"twisted:2", "v"});
    CHECK(quick->gain() == doctest::Approx(10.0 / 8));
    CHECK(quick->trials == 3);
    CHECK(quick->effort == "quick");
    CHECK(device.asked.front() == space.standard);
    const auto full = search(space, strategy_of(Effort::full), device.measure());
    REQUIRE(full);
    CHECK(full->winner == Candidate{"twisted:2", "v:a=2,b=1"});
    CHECK(full->seconds == doctest::Approx(8e-6 * 0.8 * 0.9));
    CHECK(full->trials <= 25);
    const auto exhaustive = search(space, strategy_of(Effort::exhaustive), device.measure());
    CHECK(exhaustive->winner == full->winner);
}

TEST_CASE("search: the same seed asks for the same candidates") {
    auto strategy = strategy_of(Effort::full, 7);
    strategy.random = true;
    strategy.most_trials = 5;
    MadeUp first, second, third;
    search(made_up_space(), strategy, first.measure());
    search(made_up_space(), strategy, second.measure());
    CHECK(first.asked == second.asked);
    bool differs = false;
    for (strategy.seed = 8; strategy.seed < 16; ++strategy.seed) {
        third.asked.clear();
        search(made_up_space(), strategy, third.measure());
        differs = differs || third.asked != first.asked;
    }
    CHECK(differs);
}

TEST_CASE("search: candidates that fail are not asked for again") {
    int asked = 0;
    const Measure measure = [&](const std::vector<Candidate>& candidates, const Round& round) {
        std::vector<Trial> result;
        for (const auto& candidate : candidates) {
            result.push_back(trial(candidate, 1, round.name));
            if (candidate.schedule == "sequential") continue;
            result.back().verdict = Verdict::fails;
            ++asked;
        }
        return result;
    };
    const auto decision = search(made_up_space(), strategy_of(Effort::quick), measure);
    REQUIRE(decision);
    CHECK(decision->winner == made_up_space().standard);
    CHECK(asked == 2);
}

TEST_CASE("search: knobs that helped elsewhere are tried first") {
    std::vector<Trial> earlier{trial({"multi-stage", "v"}, 1), trial({"multi-stage", "v:a=3"}, 1.1), trial({"multi-stage", "v:b=1"}, 0.7)};
    const auto promise = promise_of(earlier);
    CHECK(promise("v", "b") == doctest::Approx(std::log(1 / 0.7)));
    CHECK(promise("v", "a") == doctest::Approx(std::log(1 / 1.1)));
    CHECK(promise("w", "a") == 0);
    auto strategy = strategy_of(Effort::full);
    strategy.promise = promise;
    MadeUp device;
    search(made_up_space(), strategy, device.measure());
    const auto pinned = std::ranges::find_if(device.asked, [](const Candidate& one) { return one.variant != "v"; });
    REQUIRE(pinned != device.asked.end());
    CHECK(pinned->variant == "v:b=1");
}

TEST_CASE("replay: strategies are compared on a recorded sweep whose best is known") {
    const MadeUp device;
    const auto path = std::filesystem::temp_directory_path() / "trifold-replay-test.jsonl";
    {
        std::ofstream file(path);
        for (const auto* schedule : {"sequential", "twisted:2", "multi-stage"})
            for (const auto* variant : {"v", "v:a=2", "v:a=3", "v:b=1", "v:a=2,b=1"}) {
                const Candidate candidate{schedule, variant, 1e-6};
                const bool is_default = std::string(schedule) == "sequential" && std::string(variant) == "v";
                file << to_json(trial(candidate, device.seconds(candidate), "first", is_default)).dump() << "\n";
            }
        file << "{\"device\": \"cut of";
    }
    const auto all = replay(read_trials(path));
    std::filesystem::remove(path);
    REQUIRE(all.size() == 6);
    CHECK(all[0].strategy == "default");
    CHECK(all[0].geometric_mean == doctest::Approx(10 / (8 * 0.8 * 0.9)));
    CHECK(all[1].strategy == "default now");
    CHECK(all[1].points == 0);  // this program takes no variant v
    CHECK(all[2].strategy == "quick");
    CHECK(all[2].points == 1);
    CHECK(all[2].trials == 3);
    CHECK(all[2].geometric_mean == doctest::Approx(1 / (0.8 * 0.9)));  // it varies no knobs
    CHECK(all[3].strategy == "full");
    CHECK(all[3].geometric_mean == doctest::Approx(1));
    CHECK(all[3].trials <= 15);
    CHECK(all[3].gain == doctest::Approx(10 / (8 * 0.8 * 0.9)));
    CHECK(all[4].geometric_mean == doctest::Approx(1));
    CHECK(all[5].strategy == "random");
    CHECK(all[5].geometric_mean == doctest::Approx(1 / 0.9));  // it draws one knob at a time, and has trials for all of these
}

TEST_CASE("replay: a line that is no trial is named") {
    const auto path = std::filesystem::temp_directory_path() / "trifold-replay-bad.jsonl";
    formats::write_file(path, "{}\n{}\n");
    CHECK_THROWS_WITH_AS(read_trials(path), doctest::Contains("line 1 of"), formats::InputError);
    std::filesystem::remove(path);
}

TEST_CASE("replay: what is the default now has the regret of its own trial") {
    const Target h200{Backend::cuda, "sm_90"};
    const auto now = space_of(point, h200, "a device").standard;
    const Candidate other{"twisted:2", "fused"};
    std::vector<Trial> trials{trial(other, 3e-6, "first", true), trial(now, 2e-6), trial({"sequential", "fused"}, 1e-6)};
    for (auto& one : trials) one.machine = {"a device", to_string(h200), ""};
    const auto all = replay(trials);
    CHECK(all[0].geometric_mean == doctest::Approx(3));
    CHECK(all[1].points == 1);
    CHECK(all[1].geometric_mean == doctest::Approx(2));
    CHECK(all[1].gain == doctest::Approx(1.5));
}

TEST_CASE("models answer for trials with other numbers too") {
    auto one = trial({"twisted:2", "team"}, 1e-6);
    one.machine.target = "cuda:sm_90";
    const auto numbers = model_numbers({Backend::cuda, "sm_90"}, "team");
    REQUIRE(numbers.contains("models.team.front"));
    const auto usual = modelled({one}, {}).at(0).at("factor_solve");
    CHECK(usual == doctest::Approx(modelled_seconds(tune::tridiagonal::choice_of(point, {Backend::cuda, "sm_90"}, "twisted:2", "team"))));
    CHECK(modelled({one}, numbers).at(0).at("factor_solve") == usual);
    auto slower = numbers;
    slower["models.team.front"] *= 1000;
    CHECK(modelled({one}, slower).at(0).at("factor_solve") > usual);
    CHECK_THROWS_WITH_AS(model_numbers({Backend::cuda, "sm_90"}, "no-such"), doctest::Contains("no time model of a variant"), SpecError);
}

TEST_CASE("search: an effort that is none is named") {
    CHECK(parse_effort("full") == Effort::full);
    CHECK_THROWS_WITH_AS(parse_effort("hard"), doctest::Contains("'hard' is no effort"), SpecError);
}
