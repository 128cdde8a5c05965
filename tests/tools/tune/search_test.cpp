#include "tools/tune/search.hpp"

#include "tests/tools/tune/records.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

const Point point = test::blocks(8, 16);

Trial trial(const Candidate& candidate, double seconds, const std::string& round = "first", bool is_default = false) {
    return test::made_up(point, candidate, seconds, round, is_default);
}

double nothing(const std::string&, const std::string&) { return 0; }

/// A made-up device: each schedule has a time, which knobs change by factors.
struct MadeUp {
    std::vector<Candidate> asked;
    std::map<std::string, int> rounds;  ///< candidates of each

    double seconds(const Candidate& candidate) const {
        auto result = candidate.schedule == "sequential" ? 10e-6 : candidate.schedule == "twisted:2" ? 8e-6 : 9e-6;
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
                ++rounds[round.name];
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
        std::vector<KnobValues> knobs;
        for (const auto& [knob, values] : {std::pair{"a", std::vector{2, 3}}, {"b", std::vector{1}}}) {
            auto name = parse_variant(from.variant);
            if (name.pinned.contains(knob)) continue;
            auto& one = knobs.emplace_back(KnobValues{knob, {}});
            for (const auto value : values) {
                name.pinned[knob] = value;
                one.candidates.push_back({from.schedule, to_string(name), 1e-6});
            }
        }
        return knobs;
    };
    return space;
}

std::vector<Trial> last_round(double first_default, double other, double second_default) {
    const Candidate standard{"sequential", "v"}, winner{"twisted:2", "v"};
    return {trial(standard, first_default, "final", true), trial(winner, other, "final"), trial(standard, second_default, "final", true)};
}

}  // namespace

TEST_CASE("search: a winner is 2 % faster, or by more than equal runs differ, and not slower where data stay in the caches") {
    using Times = std::array<double, 3>;  // of the default, the other, and the default again
    for (const auto& [last, cached, wins] : {std::tuple{Times{1, 0.97, 1}, Times{}, true},
                                             {{1, 0.985, 1}, {}, false},    // less than 2 %
                                             {{1, 0.97, 1.10}, {}, false},  // less than what equal runs differ by: 10 % of 1.05
                                             {{1, 0.90, 1.10}, {}, true},
                                             {{1, 1.5, 1}, {}, false},
                                             {{1, 0.8, 1}, {0.5, 0.505, 0.5}, true},  // within 2 %
                                             {{1, 0.8, 1}, {0.5, 0.52, 0.55}, true},  // within what equal runs differ by
                                             {{1, 0.8, 1}, {0.5, 0.52, 0.5}, false}}) {
        const auto second = cached[0] > 0 ? last_round(cached[0], cached[1], cached[2]) : std::vector<Trial>();
        CHECK((decide(last_round(last[0], last[1], last[2]), second)->winner.schedule == "twisted:2") == wins);
    }
    const auto decision = decide(last_round(1, 0.985, 1.01));
    CHECK((decision->gain() == 1 && decision->spread == doctest::Approx(0.01)));
    auto cached = last_round(0.5, 1.0, 0.5);
    cached[1].verdict = Verdict::fails;  // not measured there
    CHECK(decide(last_round(1, 0.8, 1), cached)->winner.schedule == "twisted:2");
}

TEST_CASE("search: what failed cannot win, and where the default fails the best of the others is taken") {
    auto trials = last_round(1, 0.5, 1);
    trials[1].verdict = Verdict::disagrees;
    trials.insert(trials.begin() + 2, trial({"multi-stage", "v"}, 0.8, "final"));
    CHECK(decide(trials)->winner.schedule == "multi-stage");
    trials[0].verdict = trials[3].verdict = Verdict::does_not_compile;
    CHECK(decide(trials)->winner.schedule == "multi-stage");
    CHECK(decide(trials)->gain() == 1);
    for (auto& one : trials) one.verdict = Verdict::disagrees;
    CHECK(!decide(trials));
    CHECK(!decide({}));
}

TEST_CASE("search: a planted best is found, quick tries pairs, full also knobs, and the default comes first") {
    MadeUp device;
    const auto space = made_up_space();
    const auto quick = search(space, Effort::quick, nothing, device.measure());
    REQUIRE(quick);
    CHECK(quick->winner == Candidate{"twisted:2", "v"});
    CHECK(quick->gain() == doctest::Approx(10.0 / 8));
    CHECK(quick->trials == 3);
    CHECK(device.asked.front() == space.standard);
    for (const auto effort : {Effort::full, Effort::exhaustive}) {
        const auto best = search(space, effort, nothing, device.measure());
        REQUIRE(best);
        CHECK(best->winner == Candidate{"twisted:2", "v:a=2,b=1"});
        CHECK(best->seconds == doctest::Approx(8e-6 * 0.8 * 0.9));
        CHECK(best->effort == to_string(effort));
    }
    CHECK(parse_effort("full") == Effort::full);
    CHECK_REFUSED("'hard' is no effort", parse_effort("hard"));
}

TEST_CASE("search: the better half goes on, with more runs, and the last round has the default twice") {
    MadeUp device;
    auto space = made_up_space();
    space.pairs.clear();
    space.knobs = [](const Candidate&) { return std::vector<KnobValues>(); };
    for (int k = 0; k < 9; ++k) space.pairs.push_back({k == 6 ? "twisted:2" : fmt::format("s{}", k), "v"});
    std::vector<Round> rounds;
    const auto decision = search(space, Effort::full, nothing, [&](const std::vector<Candidate>& candidates, const Round& round) {
        rounds.push_back(round);
        device.rounds[round.name] = 0;
        return device.measure()(candidates, round);
    });
    REQUIRE(decision);
    CHECK(decision->winner.schedule == "twisted:2");
    CHECK(device.rounds == std::map<std::string, int>{{"first", 10}, {"again", 5}, {"final", 7}, {"cached", 7}});
    CHECK(rounds[1].runs == 2 * rounds[0].runs);
    CHECK(rounds[2].by_turns);
    CHECK(rounds[3].cached);
    CHECK(device.asked.back() == space.standard);
}

TEST_CASE("search: candidates that fail are not asked for again") {
    int asked = 0;
    const auto failing = [&](const std::vector<Candidate>& candidates, const Round& round) {
        std::vector<Trial> result;
        for (const auto& candidate : candidates) {
            auto& one = result.emplace_back(trial(candidate, 1, round.name));
            if (candidate.schedule != "sequential") one.verdict = Verdict::fails, ++asked;
        }
        return result;
    };
    const auto decision = search(made_up_space(), Effort::quick, nothing, failing);
    REQUIRE(decision);
    CHECK(decision->winner == made_up_space().standard);
    CHECK(asked == 2);
}

TEST_CASE("search: knobs that helped elsewhere are tried first") {
    const auto promise =
        promise_of({trial({"multi-stage", "v"}, 1), trial({"multi-stage", "v:a=3"}, 1.1), trial({"multi-stage", "v:b=1"}, 0.7)});
    CHECK(promise("v", "b") == doctest::Approx(std::log(1 / 0.7)));
    CHECK(promise("v", "a") == doctest::Approx(std::log(1 / 1.1)));
    CHECK(promise("w", "a") == 0);
    MadeUp device;
    search(made_up_space(), Effort::full, promise, device.measure());
    const auto pinned = std::ranges::find_if(device.asked, [](const Candidate& one) { return one.variant != "v"; });
    REQUIRE(pinned != device.asked.end());
    CHECK(pinned->variant == "v:b=1");
}
