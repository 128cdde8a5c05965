#include "tools/tune/device_rows.hpp"

#include <doctest/doctest.h>

#include <trifold/error.hpp>

#include "generator/tridiagonal/design.hpp"
#include "tools/tune/tridiagonal/spec.hpp"

using namespace trifold;
using namespace trifold::tune;

namespace {

const Target h200{Backend::cuda, "sm_90"};

Trial trial(std::int64_t horizon, const std::string& variant, double seconds) {
    Trial result;
    result.machine = {"NVIDIA H200", "cuda:sm_90", "580"};
    result.point = tune::tridiagonal::point_of({.block = 24, .horizon = horizon, .batch = 64});
    result.candidate = {"multi-stage", variant};
    result.seconds["factor_solve"] = seconds;
    return result;
}

const RowFinding* finding_of(const std::vector<RowFinding>& all, const std::string& list) {
    for (const auto& finding : all)
        if (finding.row->list == list) return &finding;
    return nullptr;
}

/// The row that decides about a knob at these points, and another value of it.
struct Knob24 {
    const Row* row = nullptr;
    std::int64_t other = 0;
};

Knob24 wide_registers() {
    const auto plain = trial(100, "dataflow", 1);
    for (const auto& turned : knobs_of(choose(tune::tridiagonal::spec_of(plain.point), h200, {"multi-stage", "dataflow", 1})))
        if (turned.list == "wide_registers") return {turned.row, turned.value == 168 ? 128 : 168};
    return {};
}

}  // namespace

TEST_CASE("rows: a value that is faster at enough points, and nowhere slower, is what the row should take") {
    const auto [row, other] = wide_registers();
    REQUIRE(row != nullptr);
    const auto pinned = "dataflow:wide_registers=" + std::to_string(other);
    std::vector<Trial> trials;
    for (const std::int64_t horizon : {100, 200, 300}) {
        trials.push_back(trial(horizon, "dataflow", 1e-3));
        trials.push_back(trial(horizon, pinned, 0.9e-3));
    }
    const auto* found = finding_of(row_findings(trials, h200), "wide_registers");
    const auto all = row_findings(trials, h200);
    found = finding_of(all, "wide_registers");
    REQUIRE(found != nullptr);
    CHECK(found->row == row);
    CHECK(found->points() == 3);
    CHECK(found->is_changed());
    CHECK(found->take == other);
    CHECK(found->effects.at(other).mean() == doctest::Approx(0.9));

    SUBCASE("two points are too few") {
        trials.resize(4);
        CHECK(!row_findings(trials, h200).front().is_changed());
    }
    SUBCASE("one loss is too much") {
        trials.back().seconds["factor_solve"] = 1.1e-3;
        CHECK(!row_findings(trials, h200).front().is_changed());
    }
    SUBCASE("the list is written whole, as devices are read") {
        const auto text = rows_json(all, h200, "a log").dump();
        const auto device = parse_devices({text}).at("cuda:sm_90");
        const auto& before = device_of(h200).rows_of("wide_registers");
        const auto& after = device.rows_of("wide_registers");
        REQUIRE(after.size() == before.size());
        for (std::size_t k = 0; k < before.size(); ++k) {
            CHECK(after[k].number == (&before[k] == row ? static_cast<double>(other) : before[k].number));
            CHECK(after[k].when.size() == before[k].when.size());
            CHECK(after[k].measured == (&before[k] == row ? "a log" : before[k].measured));
        }
    }
}

TEST_CASE("rows: only pairs that differ in one knob, of one point, schedule and target, tell anything") {
    const auto pinned = "dataflow:wide_registers=" + std::to_string(wide_registers().other);
    const auto plain = trial(100, "dataflow", 1e-3);
    CHECK(row_findings({plain}, h200).empty());
    CHECK(row_findings({plain, trial(200, pinned, 1e-3)}, h200).empty());
    CHECK(row_findings({plain, trial(100, pinned + ",rides=0", 1e-3)}, h200).empty());
    auto failed = trial(100, pinned, 1e-3);
    failed.verdict = Verdict::inaccurate;
    CHECK(row_findings({plain, failed}, h200).empty());
    CHECK(row_findings({plain, trial(100, pinned, 1e-3)}, {Backend::cuda, "sm_80"}).empty());
    CHECK(row_findings({plain, trial(100, pinned, 1e-3)}, h200).size() == 1);
    // With rides pinned on both sides the pair differs in one knob again.
    CHECK(row_findings({trial(100, "dataflow:rides=0", 1e-3), trial(100, pinned.substr(0, 9) + "rides=0," + pinned.substr(9), 1e-3)}, h200)
              .size() == 1);
}
