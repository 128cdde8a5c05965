// The part of the tests' family in the tuner, and the table of families with its row.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <trifold/error.hpp>

#include "tests/family/solver.hpp"
#include "tools/tune/family.hpp"
#include "tools/tune/grid/family.hpp"
#include "tools/tune/sparse/family.hpp"
#include "tools/tune/tridiagonal/family.hpp"

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

/// y = L' L x of ones and of 1 / (1 + column); y is "x", where results go.
struct TriangularData : PointData {
    TriangularData(const json& tree, DeviceTools& tools, std::int64_t sets) : PointData(tools, Precision::f64, sets), spec(spec_of(tree)) {
        const auto n = spec.block;
        std::vector<double> ones(1, 1.0);
        for (std::int64_t k = 0; k < n; ++k) member.push_back(1 / (1.0 + static_cast<double>(k)));
        arrays.add("l", ones, n * n * spec.batch);
        arrays.add("given", member, n * spec.batch);
        arrays.add_zeros("x", n * spec.batch, true);
    }
    std::unique_ptr<tune::Prepared> prepare(const Point& point, const Candidate& candidate, const Device& device) const override;
    std::vector<double> result(const std::string& array) const override { return arrays.read(array, 0, spec.block); }
    /// Row r of y is the sum of the prefix sums of x from r on.
    double residual() const override {
        const auto y = result("x");
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
    }
    TriangularSpec spec;
    std::vector<double> member;
};

class PreparedTriangular : public tune::Prepared {
  public:
    PreparedTriangular(const TriangularData& data, std::shared_ptr<const trifold::Prepared> prepared, std::int64_t rows)
        : data_(data), prepared_(std::move(prepared)), solver_(data.spec, prepared_), rows_(rows) {}
    const std::vector<KernelResources>& resources() const override { return prepared_->report().kernels; }
    void run(const std::string&, std::int64_t set) override {
        misbehave(rows_);
        const auto array = [&](const char* name) { return static_cast<double*>(data_.arrays.pointer(name, set)); };
        solver_.apply_on_host(array("l"), array("given"), array("x"), data_.spec.batch);
    }
    void check() override {}
    Outputs numbers() override { return {{}, {"ok"}}; }

  private:
    const TriangularData& data_;
    std::shared_ptr<const trifold::Prepared> prepared_;
    TriangularSolver solver_;
    std::int64_t rows_;
};

std::unique_ptr<tune::Prepared> TriangularData::prepare(const Point& point, const Candidate& candidate, const Device& device) const {
    const auto rows = group_rows(candidate);
    return std::make_unique<PreparedTriangular>(*this, prepare_triangular(spec, device, point.workers, rows), rows);
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

const TunedFamily triangular{
    .name = "triangular",
    .operations = {"apply"},
    .sizes = {"block", "rhs"},
    .usual = {{"apply", 1}},
    .parse = parse,
    .notes = [](const json&) { return std::string(); },
    .standard = [](const Point&, const Target&, std::string_view) { return Candidate{"rows", "plain"}; },
    .others = [](const Point&, const Target&, bool) { return std::vector<Candidate>(); },
    .complete = [](const Point&, const Target&, const Candidate& candidate) { return group_rows(candidate), candidate; },
    .knobs = [](const Target&, const std::string&) { return std::vector<Knob>(std::begin(knobs), std::end(knobs)); },
    .decided = [](const Point&, const Target&,
                  const Candidate& candidate) { return std::vector{KnobDecision{"group_rows", group_rows(candidate)}}; },
    .program =
        [](const Point& point, const Target& target, const Candidate& candidate) {
            return generate_triangular(spec_of(point.spec), target, point.workers, group_rows(candidate));
        },
    .experiments = {{{"apply"}}},
    .data_bytes = [](const json& spec) { return 8 * spec.at("batch").get<std::int64_t>() * spec.at("block").get<std::int64_t>(); },
    .data = [](const json& spec, std::uint64_t, DeviceTools& tools, std::int64_t sets) -> std::unique_ptr<PointData> {
        return std::make_unique<TriangularData>(spec, tools, sets);
    },
    .owns = [](const ProblemKey& key) { return key.kind == "triangular"; },
    .key = key_of,
    .spec = [](const ProblemKey& key) { return parse({{"block", std::stoll(key.size)}, {"batch", key.batch}}); }};

}  // namespace
}  // namespace trifold::test

std::vector<const trifold::tune::TunedFamily*> trifold::tune::registered_families() {
    return {&tridiagonal::family(), &grid::family(), &sparse::family(), &test::triangular};
}
