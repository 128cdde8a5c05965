// The part of the tests' family in the tuner, whose table of families it joins.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <trifold/error.hpp>

#include "tests/family/solver.hpp"
#include "tools/tune/family.hpp"

namespace trifold::test {
namespace {

using namespace tune;
using nlohmann::json;

json parse(const json& spec) {
    json whole = {{"family", "triangular"}, {"block", 1}, {"batch", 1}, {"rhs", 1}, {"precision", "f64"}, {"operations", {"apply"}}};
    for (const auto& [name, value] : spec.items()) {
        if (!whole.contains(name)) throw SpecError(fmt::format("a triangular system has no '{}'", name));
        whole[name] = value;
    }
    return whole;
}

TriangularSpec spec_of(const json& spec) {
    const auto n = spec.at("block").get<std::int64_t>();
    return {n, spec.at("batch").get<std::int64_t>(), std::vector<double>(static_cast<std::size_t>(n), 1.0)};
}

constexpr Knob knobs[] = {{"group_rows", "rows of a task", {1, 3, 8}}};

std::int64_t group_rows(const Candidate& candidate) {
    const auto variant = parse_variant(candidate.variant);
    if (candidate.schedule != "rows" || variant.name != "plain") throw SpecError("a triangular system has rows and plain alone");
    check_knobs(variant, knobs);
    const auto pinned = variant.pinned.find("group_rows");
    return pinned == variant.pinned.end() ? 3 : pinned->second;
}

/// For tests of what becomes of a candidate that ends its process, or never ends: the one with tasks of 8 rows does what TEST_TRIAL says.
void misbehave(std::int64_t rows) {
    const auto* how = std::getenv("TEST_TRIAL");
    if (how == nullptr || rows != 8) return;
    if (std::string_view(how) == "crash") std::abort();
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

/// y = L' L x of ones and of 1 / (1 + column); y is "x", where results go. Row r of y is the sum of the prefix sums of x from r on.
RandomProblem random(const json& tree, std::uint64_t) {
    RandomProblem problem{1, {{"l", {1.0}}}, {}};
    auto& given = problem.values["given"];
    for (std::int64_t k = 0; k < spec_of(tree).block; ++k) given.push_back(1 / (1.0 + static_cast<double>(k)));
    problem.residual = [member = given](const std::vector<double>& y) {
        double worst = 0;
        for (std::size_t row = 0; row < y.size(); ++row) {
            double expected = 0, prefix = 0;
            for (std::size_t k = 0; k < y.size(); ++k) {
                prefix += member[k];
                if (k >= row) expected += prefix;
            }
            worst = std::max(worst, std::abs(y[row] / expected - 1));
        }
        return worst;
    };
    return problem;
}

Solving solving(const Point& point, const Candidate& candidate, const Device& device) {
    const auto spec = spec_of(point.spec);
    const auto rows = group_rows(candidate);
    const std::shared_ptr<const Prepared> prepared = prepare_triangular(spec, device, point.workers, rows);
    const auto solver = std::make_shared<TriangularSolver>(spec, prepared);
    return {prepared->report().kernels,
            [=](const std::string&, const std::vector<AnyArray>& arrays, Stream) {
                misbehave(rows);
                const auto array = [&](std::size_t k) { return static_cast<double*>(const_cast<void*>(arrays[k].data)); };
                solver->apply_on_host(array(0), array(1), array(2), spec.batch);
            },
            [] {}, [](std::string_view) { return Outputs{{}, {"ok"}}; }};
}

std::vector<ArraySize> arrays(const json& tree) {
    const auto spec = spec_of(tree);
    return {{"l", spec.block * spec.block * spec.batch}, {"given", spec.block * spec.batch}, {"x", spec.block * spec.batch}};
}

Made make(const Point& point, const Target& target, const Candidate& candidate) {
    const auto rows = group_rows(candidate);
    return {candidate, {{"group_rows", rows}}, [=] { return generate_triangular(spec_of(point.spec), target, point.workers, rows); }};
}

ProblemKey key_of(const Point& point, const Target& target) {
    return {.target = target,
            .operations = "apply",
            .layout = "lower",
            .workers = point.workers,
            .kind = "triangular",
            .size = std::to_string(number_in(point, "block")),
            .batch = number_in(point, "batch")};
}

const TunedFamily triangular{.name = "triangular",
                             .operations = {{"apply", {"l", "given", "x"}}},
                             .sizes = {"block", "rhs"},
                             .usual = {{"apply", 1}},
                             .parse = parse,
                             .standard = [](const Point&, const Target&, std::string_view) { return Candidate{"rows", "plain"}; },
                             .knobs = [](const Target&, const std::string&) { return std::span<const Knob>(knobs); },
                             .make = make,
                             .experiments = {{{"apply"}}},
                             .arrays = arrays,
                             .random = random,
                             .solving = solving,
                             .owns = [](const ProblemKey& key) { return key.kind == "triangular"; },
                             .key = key_of,
                             .spec = [](const ProblemKey& key) { return parse({{"block", std::stoll(key.size)}, {"batch", key.batch}}); }};

const bool is_added = (families().push_back(&triangular), true);

}  // namespace
}  // namespace trifold::test
