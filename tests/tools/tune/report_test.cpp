#include "tools/tune/report.hpp"

#include "tests/tools/tune/records.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

Trial trial(std::int64_t horizon, const std::string& variant, double seconds) {
    return test::made_up(test::blocks(24, horizon, 64), {"multi-stage", variant}, seconds);
}

/// The decision about a knob at these points, and another value of it.
std::pair<const Row*, std::int64_t> wide_registers() {
    const auto plain = trial(100, "dataflow", 1);
    for (const auto& one : family_of(plain.point).make(plain.point, {Backend::cuda, "sm_90"}, plain.candidate).decided)
        if (one.list == "wide_registers") return {one.row, one.value == 168 ? 128 : 168};
    return {};
}

}  // namespace

TEST_CASE("report: a value of a knob that is faster at enough points, and nowhere slower, is better than its row's") {
    const auto [row, other] = wide_registers();
    REQUIRE(row != nullptr);
    const auto pinned = "dataflow:wide_registers=" + std::to_string(other);
    std::vector<Trial> trials;
    for (const std::int64_t horizon : {100, 200, 300}) {
        trials.push_back(trial(horizon, "dataflow", 1e-3));
        trials.push_back(trial(horizon, "dataflow", 2e-3));  // disturbed: the least time counts
        trials.push_back(trial(horizon, pinned, 0.9e-3));
    }
    const auto all = effects_of(trials);
    REQUIRE(all.size() == 1);
    CHECK(all[0].row == row);
    CHECK(all[0].value == other);
    CHECK(all[0].ratios.size() == 3);
    CHECK(all[0].mean() == doctest::Approx(0.9));
    CHECK(all[0].is_better());
    auto two = trials;
    two.resize(6);
    CHECK(!effects_of(two).at(0).is_better());
    trials.back().seconds["factor_solve"] = 1.1e-3;  // one loss is too much
    CHECK(!effects_of(trials).at(0).is_better());
}

TEST_CASE("report: only pairs that differ in one knob, of one point, schedule and device, tell of it") {
    const auto pinned = "dataflow:wide_registers=" + std::to_string(wide_registers().second);
    const auto plain = trial(100, "dataflow", 1e-3);
    CHECK(effects_of({plain}).empty());
    CHECK(effects_of({plain, trial(200, pinned, 1e-3)}).empty());
    CHECK(effects_of({plain, trial(100, pinned + ",rides=0", 1e-3)}).empty());
    auto failed = trial(100, pinned, 1e-3), elsewhere = failed;
    failed.verdict = Verdict::inaccurate;
    elsewhere.machine.device = "another";
    CHECK(effects_of({plain, failed}).empty());
    CHECK(effects_of({plain, elsewhere}).empty());
    // With rides pinned on both sides the pair differs in one knob again.
    CHECK(effects_of({trial(100, "dataflow:rides=0", 1e-3), trial(100, "dataflow:rides=0" + pinned.substr(8).replace(0, 1, ","), 1e-3)})
              .size() == 1);
}

TEST_CASE("report: the page has all decisions, and a bar for each point that changed, with no markup of theirs") {
    auto failed = trial(100, "dataflow", 1);
    failed.verdict = Verdict::does_not_compile;
    const auto won = test::a_decision(0);
    auto kept = test::a_decision(1);
    kept.winner = kept.standard = {"a <b> & c", "tile"};
    kept.seconds = kept.standard_seconds;
    const auto page = report_html({{failed}, {won, won, kept}});
    const auto count = [&](std::string_view part) {
        std::size_t found = 0;
        for (auto at = page.find(part); at != std::string::npos; at = page.find(part, at + 1)) ++found;
        return found;
    };
    CHECK(count("<rect") == 1);
    CHECK(count("30.0 %") == 1);
    CHECK(count("<tr><td>16x4 f64</td>") == 1);  // of two decisions the last
    CHECK(count("1.140") == 1);                  // sqrt(1.3)
    CHECK(count("1 trials, of which 1 failed") == 1);
    CHECK(count("a &lt;b> &amp; c tile") == 2);
    CHECK(says(report_html({}), "0 trials"));
}

TEST_CASE("models answer for trials with other numbers too") {
    const auto one = test::made_up(test::blocks(8, 16), {"twisted:2", "team"}, 1e-6);
    const Target h200{Backend::cuda, "sm_90"};
    const auto numbers = model_numbers(h200, "team");
    REQUIRE(numbers.contains("models.team.front"));
    const auto usual = modelled({one}, {}).at(0).at("factor_solve");
    CHECK(usual == doctest::Approx(family_of(one.point).make(one.point, h200, one.candidate).candidate.modelled_seconds));
    CHECK(modelled({one}, numbers).at(0).at("factor_solve") == usual);
    auto slower = numbers;
    slower["models.team.front"] *= 1000;
    CHECK(modelled({one}, slower).at(0).at("factor_solve") > usual);
    CHECK_REFUSED("no time model of a variant", model_numbers(h200, "no-such"));
}
