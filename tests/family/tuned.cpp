// The part of the tests' family in the tuner, and the table of families with its row.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <trifold/error.hpp>

#include "tests/family/solver.hpp"
#include "tools/tune/family.hpp"
#include "tools/tune/grid/family.hpp"
#include "tools/tune/registry.hpp"
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

/// L and x of a batch, of ones and of 1 / (1 + column).
struct TriangularData : PointData {
    explicit TriangularData(const json& tree) : spec(spec_of(tree)) {
        const auto n = static_cast<std::size_t>(spec.block), members = static_cast<std::size_t>(spec.batch);
        l.assign(n * n * members, 1);
        for (std::size_t k = 0; k < n * members; ++k) x.push_back(1 / (1.0 + static_cast<double>(k % n)));
    }
    std::unique_ptr<tune::Prepared> prepare(const Point& point, const Candidate& candidate, const Device& device) const override;
    TriangularSpec spec;
    std::vector<double> l, x;
};

class PreparedTriangular : public tune::Prepared {
  public:
    PreparedTriangular(const TriangularData& data, std::shared_ptr<const trifold::Prepared> prepared)
        : data_(data), prepared_(std::move(prepared)), solver_(data.spec, prepared_), y_(data.x.size()) {}
    const Program& program() const override { return prepared_->program; }
    const std::vector<KernelResources>& resources() const override { return prepared_->report().kernels; }
    /// Row r of y is the sum of the prefix sums of x from r on.
    double residual() override {
        apply();
        double worst = 0;
        for (std::int64_t row = 0; row < data_.spec.block; ++row) {
            double expected = 0, prefix = 0;
            for (std::int64_t k = 0; k < data_.spec.block; ++k) {
                prefix += data_.x[static_cast<std::size_t>(k)];
                if (k >= row) expected += prefix;
            }
            worst = std::max(worst, std::abs(y_[static_cast<std::size_t>(row)] / expected - 1));
        }
        return worst;
    }
    Outputs outputs() override {
        apply();
        return {{{"apply", y_}}, {"ok"}};
    }
    Timed timed(const std::string&) override {
        return [this] {
            const auto begin = std::chrono::steady_clock::now();
            apply();
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        };
    }

  private:
    void apply() { solver_.apply_on_host(data_.l.data(), data_.x.data(), y_.data(), data_.spec.batch); }
    const TriangularData& data_;
    std::shared_ptr<const trifold::Prepared> prepared_;
    TriangularSolver solver_;
    std::vector<double> y_;
};

std::unique_ptr<tune::Prepared> TriangularData::prepare(const Point& point, const Candidate& candidate, const Device& device) const {
    return std::make_unique<PreparedTriangular>(*this, prepare_triangular(spec, device, point.workers, group_rows(candidate)));
}

/// It has none of its own: problems come from files.
struct NoRanges : SpecRanges {
    void add_to(CLI::App&) override {}
    bool given() const override { return false; }
    std::vector<json> specs(const CommonRanges&) const override { return {}; }
};

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
    .sizes = {{"block", "n"}, {"rhs", "m"}},
    .member = "system",
    .parse = parse,
    .notes = [](const json&) { return std::string(); },
    .ranges = []() -> std::unique_ptr<SpecRanges> { return std::make_unique<NoRanges>(); },
    .standard = [](const Point&, const Target&, std::string_view) { return Candidate{"rows", "plain"}; },
    .others = [](const Point&, const Target&, bool) { return std::vector<Candidate>(); },
    .complete = [](const Point&, const Target&, const Candidate& candidate) { return group_rows(candidate), candidate; },
    .knobs = [](const Target&, const std::string&) { return std::vector<Knob>(std::begin(knobs), std::end(knobs)); },
    .decided = [](const Point&, const Target&,
                  const Candidate& candidate) { return std::vector{Turned{"group_rows", group_rows(candidate)}}; },
    .program =
        [](const Point& point, const Target& target, const Candidate& candidate) {
            return generate_triangular(spec_of(point.spec), target, point.workers, group_rows(candidate));
        },
    .modelled = nullptr,
    .data_bytes = [](const json& spec) { return 8 * spec.at("batch").get<std::int64_t>() * spec.at("block").get<std::int64_t>(); },
    .data = [](const json& spec, std::uint64_t, DeviceTools&, std::int64_t) -> std::unique_ptr<PointData> {
        return std::make_unique<TriangularData>(spec);
    },
    .work = [](const json&, std::string_view) { return std::optional<bench::Work>(); },
    .owns = [](const ProblemKey& key) { return key.kind == "triangular"; },
    .key = key_of,
    .spec = [](const ProblemKey& key) { return parse({{"block", std::stoll(key.size)}, {"batch", key.batch}}); }};

}  // namespace
}  // namespace trifold::test

std::vector<const trifold::tune::TunedFamily*> trifold::tune::registered_families() {
    return {&tridiagonal::family(), &grid::family(), &sparse::family(), &test::triangular};
}
