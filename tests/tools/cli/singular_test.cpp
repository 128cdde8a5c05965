// What `solve` says of systems that are singular to the precision: random walks without an anchor, and such that only seem so.
#include "tests/tools/cli/command.hpp"
#include "tools/formats/residual.hpp"
#include "tools/problems/problems.hpp"

using namespace trifold;
using namespace trifold::formats;

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
const std::string message = "trifold solve: nearly singular: member 0 (from 0), least pivot ";

/// Systems of n = 1, as files of this test.
struct Chains : Scratch {
    Chains(const std::vector<double>& d, const std::vector<double>& e, const std::vector<double>& b, std::int64_t batch = 1) {
        const auto array = [&](const char* name, const std::vector<double>& values, bool blocks) {
            std::vector<std::int64_t> shape{batch, static_cast<std::int64_t>(values.size()) / batch, 1};
            if (blocks) shape.push_back(1);
            if (batch == 1) shape.erase(shape.begin());
            write(name, format_npy({shape, Precision::f64, values}));
        };
        array("D.npy", d, true);
        array("E.npy", e, true);
        array("b.npy", b, false);
    }
    Ran solve(const std::string& options) const { return run("solve D.npy E.npy b.npy -o x.npy --device cpu " + options); }
    std::vector<double> x() const { return parse_npy(read("x.npy"), "x").values; }
};

/// Rank 2 of 3: springs with no end fixed.
const Chains& springs() {
    static const Chains chains({.5, .8, .3}, {-.5, -.3}, {1, 0, 0});
    return chains;
}

bool said(const Ran& ran, const std::string& text) { return ran.err.find(text) != std::string::npos; }

/// The prior of random walks: steps of random precision in each of a batch of chains, the first point tied to `anchor`.
Chains random_walks(std::int64_t horizon, std::int64_t batch, double anchor) {
    std::mt19937 generator(5);
    std::uniform_real_distribution<double> uniform(.1, 1);
    std::vector<double> d, e;
    for (std::int64_t k = 0; k < batch; ++k)
        for (std::int64_t i = 0; i < horizon; ++i) {
            d.push_back(i == 0 ? anchor : -e.back());
            if (i + 1 == horizon) continue;
            e.push_back(-uniform(generator));
            d.back() -= e.back();
        }
    return {d, e, std::vector<double>(d.size(), 1), batch};
}

}  // namespace

TEST_CASE("solve: a chain without an anchor is nearly singular, which ends with 1, NaN and what to do") {
    const auto& files = springs();
    const auto ran = files.solve("--json");
    CHECK(ran.status == 1);
    CHECK(said(ran, message));
    CHECK(said(ran, "where f64 takes no less than 1.4e-14; its x is NaN"));
    CHECK(said(ran,
               "Anchor what A leaves free, by a prior or a little on the diagonal, let --condition decide, or take x as it is with "
               "--accept-nearly-singular\n"));
    const auto json = ran.json();
    CHECK(json["status"] == "nearly_singular");
    const double least = json["least_pivot"][0];
    CHECK(least > 0);
    CHECK(least < 64 * epsilon);
    CHECK(json["nearly_singular"] == nlohmann::json::array({{{"member", 0}, {"least_pivot", least}}}));
    CHECK(json["failed"].empty());
    CHECK(json["out_of_range"].empty());
    CHECK(json["relative_residual"].is_null());
    CHECK(json["log_determinant"][0].is_null());
    CHECK(json["quadratic"][0][0].is_null());
    CHECK_FALSE(json.contains("reciprocal_condition"));
    for (const double value : files.x()) CHECK(std::isnan(value));
    const auto text = files.solve("--inverse diagonal.npy coupling.npy");
    CHECK(text.status == 1);
    CHECK(says(text.out, "least pivot "));
    for (const double value : parse_npy(files.read("diagonal.npy"), "d").values) CHECK(std::isnan(value));
}

TEST_CASE("solve: a nearly singular system may be accepted, and that is said") {
    const auto& files = springs();
    const auto ran = files.solve("--json --accept-nearly-singular");
    CHECK(ran.status == 0);
    CHECK(ran.err.starts_with("trifold solve: nearly singular, and accepted: member 0 (from 0), least pivot "));
    CHECK(said(ran, "; its x may have no right digit\n"));
    const auto json = ran.json();
    CHECK(json["status"] == "ok");
    CHECK(json["nearly_singular"].empty());
    CHECK(json["least_pivot"][0].get<double>() < 64 * epsilon);
    CHECK(json["relative_residual"].get<double>() <= 1e-14);
    CHECK(json["log_determinant"][0].is_number());
    for (const double value : files.x()) CHECK(std::abs(value) > 1e14);
}

TEST_CASE("solve: the condition finds the chain without an anchor singular too") {
    const auto ran = springs().solve("--json --condition");
    CHECK(ran.status == 1);
    CHECK(said(ran, "; reciprocal condition "));
    CHECK(said(ran, "where it takes no less than 2.2e-16; its x is NaN"));
    CHECK_FALSE(said(ran, "let --condition decide"));
    CHECK(ran.json()["status"] == "nearly_singular");
    CHECK(ran.json()["reciprocal_condition"][0].get<double>() < epsilon);
}

TEST_CASE("solve: where the least pivot says nearly singular and the condition does not, the condition decides") {
    const Chains files({1, 1 + 45 * epsilon}, {1}, {1, 2});  // the last pivot is 45 epsilons, in every order
    CHECK(files.solve("--json").json()["status"] == "nearly_singular");
    const auto ran = files.solve("--json --condition");
    CHECK(ran.status == 0);
    CHECK(ran.err.starts_with("trifold solve: taken as sound: member 0 (from 0), least pivot 1.0e-14 of its diagonal entry"));
    CHECK(ran.json()["status"] == "ok");
    CHECK(ran.json()["nearly_singular"].empty());
    CHECK(ran.json()["reciprocal_condition"][0].get<double>() == doctest::Approx(45 * epsilon / 4));
    CHECK(files.x()[0] == doctest::Approx(-1 / (45 * epsilon)));
    CHECK(says(files.solve("--condition").out, "reciprocal condition "));
}

TEST_CASE("solve: where all pivots pass and the condition does not, the system is nearly singular") {
    const double p = 0x1p-30;  // the pivots are 1, p and p^2, of diagonal entries that are 1, 1 and p but for rounding
    const Chains files({1, 1 + p, p + p * p}, {1, p}, {1, 2, 3});
    const std::string options = "--json --schedule sequential";
    const auto passed = files.solve(options);
    CHECK(passed.status == 0);
    CHECK(passed.json()["least_pivot"][0].get<double>() == p / (1 + p));
    const auto ran = files.solve(options + " --condition");
    CHECK(ran.status == 1);
    CHECK(said(ran, message));
    CHECK(ran.json()["status"] == "nearly_singular");
    CHECK(ran.json()["least_pivot"][0].get<double>() == p / (1 + p));
    CHECK(ran.json()["reciprocal_condition"][0].get<double>() == doctest::Approx(p * p / 4).epsilon(.01));
    const auto accepted = files.solve(options + " --condition --accept-nearly-singular");
    CHECK(accepted.status == 0);
    CHECK(said(accepted, "nearly singular, and accepted: member 0"));
}

TEST_CASE("solve: random walks without an anchor pass in no precision, with a weak one in f64 and mixed") {
    constexpr std::int64_t members = 20;
    const auto free = random_walks(50, members, 0), anchored = random_walks(50, members, 1e-6);
    for (const auto* precision : {"f64", "f32", "mixed"}) {
        INFO(precision);
        const auto options = fmt::format("--json --precision {}", precision);
        const auto ran = free.solve(options), sound = anchored.solve(options);
        CHECK(ran.status == 1);
        CHECK(ran.json()["failed"].size() + ran.json()["nearly_singular"].size() == members);
        CHECK(ran.json()["nearly_singular"].size() > 0);
        CHECK(said(ran, std::string(precision) == "mixed" ? "singular but for rounding may end so too: anchor what it leaves free"
                                                          : "Anchor what A leaves free"));
        CHECK(said(ran, "give --precision f64") == (std::string(precision) == "f32"));
        for (const double least : ran.json()["least_pivot"]) CHECK(least < 64 * (std::string(precision) == "f32" ? 0x1p-23 : 0x1p-52));
        if (std::string(precision) == "f32") continue;
        CHECK(sound.status == 0);
        CHECK(sound.json()["status"] == "ok");
        for (const double least : sound.json()["least_pivot"]) CHECK(least > 1e-10);
        CHECK(sound.json()["relative_residual"].get<double>() <= 1e-14);
    }
    // What f32 cannot tell from singular is solved in f64.
    const auto mixed = anchored.solve("--json --precision mixed --condition");
    CHECK(mixed.status == 0);
    CHECK(mixed.json()["refinement"]["fell_back"].size() == members);
    CHECK(said(mixed, "factors in f32 are not enough for 20 of 20 systems, solved in f64 instead"));
}

TEST_CASE("solve: one nearly singular system leaves the others of its batch solved, and counts after one that is not positive definite") {
    Chains files({4, 4, 4, .5, .8, .3, 5, 5, 5}, {1, 1, -.5, -.3, 1, 1}, {1, 2, 3, 1, 0, 0, 4, 5, 6}, 3);
    const auto ran = files.solve("--json --inverse diagonal.npy coupling.npy");
    CHECK(ran.status == 1);
    const auto json = ran.json();
    CHECK(json["status"] == "nearly_singular");
    REQUIRE(json["nearly_singular"].size() == 1);
    CHECK(json["nearly_singular"][0]["member"] == 1);
    CHECK(json["relative_residual"].get<double>() <= 1e-14);
    CHECK(json["least_pivot"][0].get<double>() == doctest::Approx((4 - 4 / 15.) / 4));
    const auto x = files.x(), inverse = parse_npy(files.read("diagonal.npy"), "d").values;
    for (std::size_t k = 0; k < 9; ++k) {
        CHECK(std::isnan(x[k]) == (k / 3 == 1));
        CHECK(std::isnan(inverse[k]) == (k / 3 == 1));
    }
    files.write("D.npy", format_npy({{3, 3, 1, 1}, Precision::f64, {4, -1, 4, .5, .8, .3, 5, 5, 5}}));
    const auto both = files.solve("--json --matrix positive-definite").json();
    CHECK(both["status"] == "not_positive_definite");
    CHECK(both["failed"].size() == 1);
    CHECK(both["nearly_singular"].size() == 1);
    CHECK(both["least_pivot"][0] == 0);
}
