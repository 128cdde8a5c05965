#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <trifold/cost.hpp>
#include <trifold/error.hpp>

#include "tools/bench/regret/collect.hpp"
#include "tools/bench/regret/constants.hpp"
#include "tools/bench/regret/summary.hpp"
#include "tools/formats/file.hpp"

using namespace trifold;
using namespace trifold::regret;

namespace {

const Target h200{Backend::cuda, "sm_90"};

Record record(const Point& point, const std::string& schedule, const std::string& variant, double seconds, bool is_auto = false) {
    Record result{"NVIDIA H200", "cuda:sm_90", 1, point, {schedule, variant, is_auto, 1e-3, 7}};
    result.seconds["factor_solve"] = seconds;
    result.accurate = true;
    return result;
}

/// A file of records that is gone with it.
struct RecordFile {
    std::filesystem::path path = std::filesystem::temp_directory_path() / ("trifold-regret-test-" + std::to_string(::getpid()));
    RecordFile() { std::filesystem::remove(path); }
    ~RecordFile() { std::filesystem::remove(path); }
};

int collected(const Collection& collection) {
    int lines = 0;
    collect(collection, Device::cpu(), [&](const std::string&) { ++lines; });
    return lines - 2;  // but for the first line and the last
}

}  // namespace

TEST_CASE("regret: points are spread, each once, and within the bound of their data") {
    const auto all = points(3, 4'000'000'000);
    CHECK(all.size() >= 120);
    std::set<std::string> names;
    for (const auto& point : all) {
        names.insert(to_string(point));
        CHECK(data_bytes(point) <= 4'000'000'000);
    }
    CHECK(names.size() == all.size());
    CHECK(points(3, 4'000'000'000) == all);
    std::set<std::int64_t> blocks, horizons, batches;
    for (std::size_t k = 0; k < all.size() / 5; ++k) {
        blocks.insert(all[k].size.block);
        horizons.insert(all[k].size.horizon);
        batches.insert(all[k].size.batch);
    }
    CHECK(blocks.size() == 13);
    CHECK(horizons.size() == 5);
    CHECK(batches.size() == 7);
}

TEST_CASE("regret: the choice of auto is the first candidate, and no candidate is there twice") {
    for (const auto& point : points(11, 4'000'000'000)) {
        const auto all = candidates(spec_of(point), h200, 1, 9);
        REQUIRE_MESSAGE(!all.empty(), to_string(point));
        const auto choice = choose(spec_of(point), h200);
        CHECK(all.front().is_auto);
        CHECK(all.front().schedule == choice.schedule.name);
        CHECK(all.front().variant == choice.variant);
        CHECK(all.size() <= 9);
        std::set<std::string> names;
        for (const auto& one : all) names.insert(one.schedule + " " + one.variant);
        CHECK(names.size() == all.size());
        for (std::size_t k = 1; k < all.size(); ++k) CHECK(!all[k].is_auto);
    }
}

TEST_CASE("regret: a record reads as it was written") {
    auto one = record({{50, 20, 256}, Precision::f32}, "twisted:2", "team", 344e-6, true);
    one.residual = 3e-8;
    one.kernels.push_back({{"kernel", "btd_factor"}, {"registers", 168}});
    const auto read = parse_record(to_json(one).dump());
    CHECK(to_json(read) == to_json(one));
    CHECK(key_of(read) == key_of(one));
    one.residual = NAN;
    CHECK_NOTHROW(parse_record(to_json(one).dump()));
}

TEST_CASE("regret: a last line that was cut off is no record, a bad one before it is named") {
    const RecordFile file;
    const auto line = to_json(record({{8, 4, 1}, Precision::f64}, "sequential", "fused", 1e-3)).dump();
    std::ofstream(file.path) << line << "\n" << line.substr(0, 30);
    CHECK(read_records(file.path).size() == 1);
    std::ofstream(file.path) << "{}\n" << line << "\n";
    CHECK_THROWS_WITH_AS(read_records(file.path), doctest::Contains("line 1 of"), formats::InputError);
}

TEST_CASE("regret: ratios, their geometric mean and the largest") {
    const Point first{{50, 20, 256}, Precision::f64}, second{{16, 6, 64}, Precision::f64};
    auto inaccurate = record(first, "multi-stage", "fused", 1e-6);
    inaccurate.accurate = false;
    auto failed = record(second, "multi-stage", "tiled", 1e-6);
    failed.failure = "it needs more memory";
    const std::vector<Record> records{record(first, "sequential", "fused", 8e-3, true),
                                      record(first, "multi-stage", "dataflow", 1e-3),
                                      record(second, "sequential", "team", 2e-3, true),
                                      record(second, "multi-stage", "dataflow", 4e-3),
                                      inaccurate,
                                      failed};
    const auto found = regrets(records, "factor_solve", recorded_choice);
    REQUIRE(found.size() == 2);
    CHECK(found[0].ratio() == doctest::Approx(8));
    CHECK(found[0].best == "multi-stage, dataflow");
    CHECK(found[1].ratio() == doctest::Approx(1));
    const auto totals = totals_of(found);
    CHECK(totals.geometric_mean == doctest::Approx(std::sqrt(8)));
    CHECK(totals.largest == doctest::Approx(8));
    CHECK(totals.stand_ins == 0);
    CHECK(regrets(records, "factor", recorded_choice).empty());
}

TEST_CASE("regret: for a choice that was not measured its variant's least modelled time stands in") {
    const Point point{{50, 20, 256}, Precision::f64};
    const std::vector<Record> records{record(point, "sequential", "team", 5e-3), record(point, "twisted:2", "team", 3e-3),
                                      record(point, "multi-stage", "dataflow", 1e-3)};
    const auto found = regrets(records, "factor_solve", [](const Measured&) { return Chosen{"partitioned:3", "team"}; });
    REQUIRE(found.size() == 1);
    CHECK(found[0].stands_in);
    CHECK(found[0].chosen == "partitioned:3, team");
    const bool is_twisted = modelled_now(records[1]) < modelled_now(records[0]);
    CHECK(found[0].chosen_seconds == doctest::Approx(is_twisted ? 3e-3 : 5e-3));
    CHECK(totals_of(found).stand_ins == 1);
}

TEST_CASE("regret: how far models are from times") {
    const Point point{{50, 20, 256}, Precision::f64};
    std::vector<Record> records{record(point, "sequential", "team", 1), record(point, "twisted:2", "team", 1)};
    records[0].seconds["factor_solve"] = 2 * modelled_now(records[0]);
    records[1].seconds["factor_solve"] = 8 * modelled_now(records[1]);
    const auto fit = fits(records, "factor_solve").at("team");
    CHECK(fit.records == 2);
    CHECK(fit.ratio == doctest::Approx(4));
    CHECK(fit.scatter == doctest::Approx(2));
}

TEST_CASE("regret: models answer with other constants too") {
    const std::vector<Record> records{record({{50, 20, 256}, Precision::f64}, "sequential", "team", 1)};
    const auto constants = constants_of(records[0].target, "team");
    REQUIRE(constants.contains("models.team.f64.row"));
    const auto stands = modelled(records, {}).at(0);
    CHECK(stands.at("factor_solve") == modelled_now(records[0]));
    CHECK(stands.at("factor") == modelled_now(records[0], "factor"));
    CHECK(stands.at("factor") < stands.at("factor_solve"));
    CHECK(modelled(records, constants).at(0) == stands);
    CHECK(modelled(records, {{"models.team.f64.row", 10 * constants.at("models.team.f64.row")}}).at(0).at("factor") > stands.at("factor"));
}

TEST_CASE("regret: a collection goes on where one ended, and measures nothing twice") {
    const RecordFile file;
    Collection collection{.points = points_of({{6, 5, 3}}), .most_candidates = 3, .records = file.path};
    const auto first = collected(collection);
    CHECK(first == 6);  // three of each precision
    const auto records = read_records(file.path);
    REQUIRE(records.size() == 6);
    for (const auto& one : records) {
        INFO(key_of(one), one.failure);
        CHECK(one.failure.empty());
        CHECK(one.accurate);
        CHECK(one.seconds.at("factor") > 0);
        CHECK(one.seconds.at("factor_solve") > 0);
        CHECK(!one.kernels.empty());
    }
    CHECK(collected(collection) == 0);
    // The last line is cut: it is measured again, and nothing else is.
    auto text = formats::read_file(file.path);
    formats::write_file(file.path, text.substr(0, text.size() - 20));
    CHECK(collected(collection) == 1);
    CHECK(read_records(file.path).size() == 6);
}

TEST_CASE("regret: no measurement begins after the budget") {
    const RecordFile file;
    CHECK(collected({.points = points_of({{6, 5, 3}}), .most_candidates = 3, .budget_seconds = 1e-9, .records = file.path}) == 0);
    CHECK(std::filesystem::exists(file.path));
}
