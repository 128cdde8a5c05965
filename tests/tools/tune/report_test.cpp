#include "tools/tune/report.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <vector>

#include "tests/tools/tune/made_up_sweep.hpp"
#include "tools/formats/file.hpp"
#include "tools/tune/report/effects.hpp"
#include "tools/tune/report/html.hpp"
#include "tools/tune/tridiagonal/spec.hpp"

namespace trifold::tune {
namespace {

const Machine machine{"NVIDIA H200", "cuda:sm_90", "580.65"};

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Point point(std::int64_t block, std::int64_t horizon, std::int64_t batch = 1) {
    return tune::tridiagonal::point_of({.block = block, .horizon = horizon, .batch = batch});
}

Trial sound(const Point& at, const std::string& schedule, const std::string& variant, double seconds) {
    Trial trial{machine, "1.0.0-abc", at, {schedule, variant}};
    trial.seconds["factor_solve"] = seconds;
    return trial;
}

Trial failed(const Point& at, Verdict verdict, const std::string& why) {
    Trial trial{machine, "1.0.0-abc", at, {"sequential", "tiled"}};
    trial.verdict = verdict;
    trial.why = why;
    return trial;
}

Decision decided(const Point& at, double seconds, double standard_seconds) {
    return {machine, "1.0.0-abc", at,    {"twisted:2", "team:team_warps=4"}, {"multi-stage", "dataflow"}, seconds, standard_seconds,
            0.003,   7,           "full"};
}

/// What is wrong with the nesting of a page's tags; empty: nothing. Scripts and styles hold no tags.
std::string nesting_problem(std::string_view page) {
    std::vector<std::string> open;
    for (auto at = page.find('<'); at != std::string_view::npos; at = page.find('<', at)) {
        const auto end = page.find('>', at);
        if (end == std::string_view::npos) return "a tag without end";
        const auto tag = page.substr(at + 1, end - at - 1);
        at = end;
        if (tag.starts_with("!DOCTYPE") || tag.ends_with("/")) continue;
        const auto name = std::string(tag.substr(0, tag.find_first_of(" \n>")));
        if (name == "meta" || name == "link") continue;
        if (!name.starts_with("/")) {
            open.push_back(name);
            if (name == "script" || name == "style") at = page.find("</" + name, at);
            continue;
        }
        if (open.empty() || open.back() != name.substr(1))
            return fmt::format("<{}> closes {}", name, open.empty() ? "nothing" : open.back());
        open.pop_back();
    }
    return open.empty() ? "" : "open at the end: " + open.back();
}

/// The records that a page has in it.
std::string records_in(const std::string& page) {
    const std::string begin = "id=\"records\">\n";
    const auto from = page.find(begin) + begin.size();
    return page.substr(from, page.find("</script>", from) - from);
}

TEST_CASE("report: a sweep of nothing, and of one point") {
    const auto empty = report_html({}, {});
    CHECK(nesting_problem(empty) == "");
    CHECK(has(empty, "nothing has been tuned yet"));
    CHECK(has(empty, "No trial failed"));
    const auto one = report_html({}, {decided(point(20, 50, 256), 100e-6, 250e-6)});
    CHECK(nesting_problem(one) == "");
    CHECK(has(one, "Tuning made 1 of 1 points faster"));
    CHECK(has(one, "<b>2.50&times;</b><span>faster than the default"));
    CHECK(has(one, "50x20x256 f64"));
    CHECK(count(one, "class=\"slice\"") == 1);  // one number of systems; a map over it would say nothing
    const auto undecided = report_html({sound(point(8, 16), "sequential", "team", 1e-5)}, {});
    CHECK(nesting_problem(undecided) == "");
    CHECK(has(undecided, "No point has been decided yet"));
    CHECK(has(undecided, "points, 1 of them undecided"));
}

TEST_CASE("report: numbers are those of the records") {
    // Gains 2, 1 and 4: their geometric mean is 2.
    const auto a = point(8, 16), b = point(8, 64), c = point(32, 16, 16);
    const std::vector decisions{decided(a, 10e-6, 20e-6), decided(b, 30e-6, 30e-6), decided(c, 50e-6, 200e-6)};
    const std::vector trials{sound(a, "multi-stage", "dataflow", 20e-6),        sound(a, "twisted:2", "dataflow", 12e-6),
                             sound(a, "twisted:2", "team:team_warps=4", 10e-6), failed(a, Verdict::spilled, "184 bytes"),
                             failed(b, Verdict::spilled, "184 bytes"),          failed(b, Verdict::times_out, "no answer")};
    const auto page = report_html(trials, decisions);
    CHECK(nesting_problem(page) == "");
    CHECK(has(page, "<b>2.00&times;</b><span>faster than the default"));
    CHECK(has(page, "Tuning made 2 of 3 points faster than the default. The largest gain is 4.00&times;, at <b>16x32x16 f64</b>"));
    CHECK(has(page, "<b>3</b><span>points</span>"));
    CHECK(has(page, "<b>6</b><span>trials</span>"));
    CHECK(has(page, "<b>3</b><span>of them failed</span>"));
    CHECK(has(page, "<td class=\"num\">2</td><td class=\"why\">184 bytes</td>"));
    CHECK(has(page, "runner-up: twisted:2, dataflow, 12.0 us"));
    // Each point has a cell over (n, N) and one over (n, systems).
    CHECK(count(page, "class=\"gain") == 6);
    CHECK(count(page, ">10.0 us</span>") == 2);
    // 19/3 n^3 + 10 n^2 + ... as tools/bench/floor.hpp counts: 16 blocks of 8, 7/3 of them elsewhere; by hand for `a`:
    const auto flops = 16 * (19.0 / 3 * 512 + 2 * 5 * 64);
    CHECK(has(page, report::number_html(flops / 10e-6 * 1e-9) + "</span>"));
}

TEST_CASE("report: how much a knob matters") {
    const auto a = point(8, 16), b = point(16, 16);
    const std::vector trials{sound(a, "sequential", "team:team_warps=4", 10e-6),
                             sound(a, "sequential", "team:team_warps=8", 15e-6),
                             sound(b, "sequential", "team:team_warps=4", 30e-6),
                             sound(b, "sequential", "team:team_warps=8", 20e-6),
                             sound(b, "sequential", "team", 22e-6),
                             sound(a, "twisted:2", "team:team_warps=4", 11e-6)};
    const auto found = report::effects(report::sweep_of(trials, {}));
    REQUIRE(found.size() == 2);
    CHECK(found[0].variant == "team");
    CHECK(found[0].knob == "team_warps");
    CHECK(found[0].ratios == std::vector{15e-6 / 10e-6, 30e-6 / 20e-6});
    CHECK(found[0].values.at("4") == std::vector{1.0, 30e-6 / 20e-6});
    CHECK(found[0].values.at("default") == std::vector{22e-6 / 20e-6});
    CHECK(found[1].knob == "schedule");
    CHECK(found[1].ratios == std::vector{11e-6 / 10e-6});
}

TEST_CASE("report: trials until the best was near") {
    const auto a = point(8, 16), b = point(16, 16);
    const std::vector trials{sound(a, "1", "v", 20e-6), failed(a, Verdict::refused, "no"), sound(a, "2", "v", 10.1e-6),
                             sound(a, "3", "v", 10e-6), sound(b, "1", "v", 10e-6),         sound(b, "2", "v", 40e-6),
                             sound(b, "1", "v", 11e-6)};
    const auto found = report::progress(report::sweep_of(trials, {}));
    CHECK(found.needed == std::vector{3.0, 1.0});
    REQUIRE(found.regret.size() == 4);
    CHECK(found.regret[0] == doctest::Approx(std::sqrt(2.0)));
    CHECK(found.regret[2] == doctest::Approx(std::sqrt(1.01)));
    CHECK(found.regret[3] == doctest::Approx(1));
}

TEST_CASE("report: what records say is text") {
    const std::string hostile = "</script><img src=x onerror=\"alert(1)\"><!--'&{{records}}\x01\xff";
    auto trial = failed(point(8, 16), Verdict::does_not_compile, hostile);
    auto decision = decided(point(8, 16), 1e-5, 2e-5);
    trial.machine.device = decision.machine.device = decision.machine.driver = decision.machine.target = hostile;
    trial.candidate = {hostile, hostile};
    trial.generator = hostile;
    decision.winner = decision.standard = {hostile, hostile};
    decision.effort = hostile;
    auto other = sound(point(8, 16), hostile, hostile + ":x", 1e-5);
    other.round = hostile;
    const auto page = report_html({trial, other, other}, {decision});
    CHECK(nesting_problem(page) == "");
    CHECK(!has(page, "<img"));
    CHECK(!has(page, "<!--"));
    CHECK(!has(page, "\x01"));
    CHECK(count(page, "</script>") == 2);
    CHECK(has(page, "&lt;/script&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"));
    CHECK(parse_records(records_in(page)).trials[0].why.starts_with("</script><img src=x onerror=\"alert(1)\"><!--'&{{records}}\x01"));
}

TEST_CASE("report: times that are none") {
    const auto nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    auto lacks = sound(point(8, 16), "sequential", "team", 1e-5);
    lacks.seconds.clear();
    const auto page =
        report_html({lacks, sound(point(8, 16), "sequential", "team", -1), sound(point(8, 16), "sequential", "tiled", 0)},
                    {decided(point(8, 16), 0, 1e-5), decided(point(8, 32), nan, 1e-5), decided(point(8, 64), 1e-5, infinite)});
    CHECK(nesting_problem(page) == "");
    CHECK(has(page, "Records without usable times: 6."));
    CHECK(!has(page, ">nan"));
    CHECK(!has(page, ">inf"));
}

TEST_CASE("report: the last decision of a point counts, settings are told apart") {
    auto f32 = decided(point(8, 16), 1e-5, 3e-5);
    f32.point.spec["precision"] = "f32";
    auto wide = decided(point(8, 16), 1e-5, 5e-5);
    wide.point.spec["rhs"] = 4;
    const auto sweep = report::sweep_of({}, {decided(point(8, 16), 1e-5, 7e-5), f32, wide});
    REQUIRE(sweep.settings.size() == 3);
    CHECK(sweep.settings[1].precision == "f32");
    CHECK(sweep.settings[2].other == "m=4");
    const std::vector twice{decided(point(8, 16), 1e-5, 7e-5), decided(point(8, 16), 1e-5, 2e-5)};
    CHECK(has(report_html({}, twice), "<b>2.00&times;</b><span>faster than the default"));
    CHECK(has(report_html({}, twice), "replaced by a later decision"));
    const auto page = report_html({}, {f32, wide});
    CHECK(has(page, "at <b>16x8 f64 m=4</b>, " + sweep.settings[2].device + ", "));  // the headline says which of equal sizes
    CHECK(page.find("data-sort=\"5\"") < page.find("data-sort=\"3\""));              // decisions are sorted by gain
    CHECK(has(page, "<th scope=\"col\" aria-sort=\"descending\">gain</th>"));
    CHECK(has(page, "winner's time (cold)"));
}

TEST_CASE("report: records come back from the page") {
    const auto [trials, decisions] = tests::made_up_sweep(3, 6, 5);
    const auto lines = record_lines(trials, decisions);
    const auto back = parse_records(records_in(report_html(trials, decisions)));
    CHECK(record_lines(back.trials, back.decisions) == lines);
    CHECK(parse_records("\n  \n").trials.empty());
    CHECK_THROWS_WITH_AS(parse_records(lines + "{}\n"), doctest::Contains("line 37 is neither a trial nor a decision"),
                         formats::InputError);
    CHECK_THROWS_WITH_AS(parse_records("no JSON"), doctest::Contains("line 1 is"), formats::InputError);
    CHECK_THROWS_WITH_AS(parse_records("3"), doctest::Contains("line 1 is"), formats::InputError);
}

TEST_CASE("report: thousands of trials take little time and little room") {
    const auto [trials, decisions] = tests::made_up_sweep(5, 384, 35);
    REQUIRE(trials.size() > 9000);
    const auto start = std::chrono::steady_clock::now();
    const auto page = report_html(trials, decisions);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    CHECK(took.count() < 20);  // 0.6 s; sanitizers and busy machines take longer
    const auto records = record_lines(trials, decisions).size();
    CHECK(page.size() < records + 2'000'000);
    CHECK(nesting_problem(page) == "");
}

TEST_CASE("report: colours") {
    CHECK(report::scale_colour(0).fill == "#440154");
    CHECK(report::scale_colour(1).fill == "#fde725");
    CHECK(report::scale_colour(-3).fill == report::scale_colour(0).fill);
    CHECK(report::scale_colour(std::numeric_limits<double>::quiet_NaN()).fill == report::scale_colour(0).fill);
    CHECK(!report::scale_colour(0).takes_dark_text);
    CHECK(report::scale_colour(1).takes_dark_text);
    CHECK(report::category_colour(100).fill == report::category_colour(7).fill);
}

}  // namespace
}  // namespace trifold::tune
