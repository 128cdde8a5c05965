#include "tools/tune/tridiagonal/family.hpp"

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/spec_json.hpp"
#include "generator/tridiagonal/variant.hpp"
#include "generator/tridiagonal/wisdom.hpp"
#include "tools/tune/points.hpp"
#include "tools/tune/tridiagonal/data.hpp"
#include "tools/tune/tridiagonal/pairs.hpp"
#include "tools/tune/tridiagonal/spec.hpp"

namespace trifold::tune::tridiagonal {
namespace {

nlohmann::json parse(const nlohmann::json& spec) {
    auto fields = spec;
    if (fields.is_object()) fields.erase("family");
    return to_json(parse_spec_json(fields));
}

std::string notes(const nlohmann::json& tree) {
    static const auto plain = to_json(Spec{.block = 1, .horizon = 1});
    const auto& operations = tree.at("operations");
    std::string text = std::find(operations.begin(), operations.end(), "inverse") != operations.end() ? " inverse" : "";
    for (const auto* field : {"order", "coupling", "rhs_layout", "d", "e"})
        if (tree.at(field) != plain.at(field)) return text + " laid-out";
    return text;
}

/// --horizon.
class BlockRanges : public SpecRanges {
  public:
    void add_to(CLI::App& app) override {
        app.add_option("--horizon", horizon_, std::string("Numbers of diagonal blocks N") + range_words);
    }
    bool given() const override { return !horizon_.empty(); }
    std::vector<nlohmann::json> specs(const CommonRanges& common) const override {
        std::vector<nlohmann::json> result;
        if (common.blocks.empty()) throw SpecError("--horizon needs the sizes of blocks; give --block, such as 4:64:4");
        const auto horizons = parse_range(horizon_, "--horizon");
        check_count({common.blocks.size(), horizons.size(), common.batches.size(), common.rhs.size(), common.precisions.size()});
        for (const auto block : common.blocks)
            for (const auto horizon : horizons)
                for (const auto batch : common.batches)
                    for (const auto rhs : common.rhs)
                        for (const auto precision : common.precisions)
                            result.push_back({{"block", block},
                                              {"horizon", horizon},
                                              {"batch", batch},
                                              {"rhs", rhs},
                                              {"precision", to_string(precision)}});
        return result;
    }

  private:
    std::string horizon_;
};

Choice choice_by(const Point& point, const Target& target, const Candidate& candidate) {
    return choice_of(point, target, candidate.schedule, candidate.variant);
}

Candidate candidate_of(const Choice& choice) { return {choice.schedule.name, choice.variant, modelled_seconds(choice)}; }

Candidate standard(const Point& point, const Target& target, std::string_view device) {
    const auto spec = spec_of(point);
    return candidate_of(choose(spec, target, resolve(spec, target, Tuning{.workers = point.workers}, device, shipped_wisdom())));
}

/// Every schedule of these, and what the model takes of all orders, each of its own kind.
std::vector<Kind> kinds_of(bool all) {
    std::vector<Kind> result{{"auto"}};
    for (const auto& kind : usual_kinds()) {
        if (!all) result.push_back(kind);
        for (const auto& name : kind)
            if (all) result.push_back({name});
    }
    return result;
}

std::vector<Candidate> others(const Point& point, const Target& target, bool all) {
    std::vector<Candidate> result;
    for (const auto& pair : pairs(spec_of(point), target, point.workers, kinds_of(all))) result.push_back(pair.candidate);
    return result;
}

/// Seconds for callers of `factor` alone where that is asked for.
double seconds_by_model(const Point& point, const Target& target, const Candidate& candidate, std::string_view operation,
                        const KnownDevice& device) {
    auto spec = spec_of(point);
    if (operation == "factor") spec.operations = {Operation::factor};
    const auto variant = parse_variant(candidate.variant);
    return variant_named(target, candidate.variant)
        .seconds({spec, target, parse_schedule(candidate.schedule, spec.horizon), point.workers, {variant.pinned}}, device);
}

std::optional<bench::Work> work(const nlohmann::json& tree, std::string_view name) {
    const auto operation = operation_named(name);
    if (operation != Operation::factor && operation != Operation::solve && operation != Operation::factor_solve) return std::nullopt;
    return bench::work(parse_spec_json(tree), operation);
}

}  // namespace

Spec spec_of(const Point& point) { return parse_spec_json(point.spec); }

Point point_of(const Spec& spec, int workers) { return {.spec = to_json(spec), .workers = workers}; }

Operation operation_named(std::string_view name) {
    const auto operations = parse_operations(name);
    if (operations.size() != 1) throw SpecError("'" + std::string(name) + "' is no operation");
    return *operations.begin();
}

Choice choice_of(const Point& point, const Target& target, const std::string& schedule, const std::string& variant) {
    return choose(spec_of(point), target, Tuning{schedule, variant, point.workers});
}

const TunedFamily& family() {
    static const TunedFamily one{
        .name = "tridiagonal",
        .operations =
            [] {
                std::vector<std::string_view> names;
                for (const auto operation : all_operations()) names.push_back(to_string(operation));
                return names;
            }(),
        .sizes = {{"horizon", "N"}, {"block", "n"}},
        .member = "system",
        .parse = parse,
        .notes = notes,
        .ranges = []() -> std::unique_ptr<SpecRanges> { return std::make_unique<BlockRanges>(); },
        .standard = standard,
        .others = others,
        .complete = [](const Point& point, const Target& target,
                       const Candidate& candidate) { return candidate_of(choice_by(point, target, candidate)); },
        .knobs =
            [](const Target& target, const std::string& variant) {
                const auto& all = variant_named(target, variant).knobs;
                return std::vector<Knob>(all.begin(), all.end());
            },
        .decided = [](const Point& point, const Target& target,
                      const Candidate& candidate) { return knobs_of(choice_by(point, target, candidate)); },
        .program = [](const Point& point, const Target& target,
                      const Candidate& candidate) { return generate(choice_by(point, target, candidate)); },
        .modelled = seconds_by_model,
        .data_bytes = [](const nlohmann::json& spec) { return data_bytes(parse_spec_json(spec)); },
        .data = [](const nlohmann::json& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets) -> std::unique_ptr<PointData> {
            return std::make_unique<Data>(parse_spec_json(spec), seed, tools, sets);
        },
        .work = work,
        .owns = has_blocks,
        .key = [](const Point& point, const Target& target) { return key_of(spec_of(point), target, point.workers); },
        .spec = [](const ProblemKey& key) { return to_json(trifold::spec_of(key)); }};
    return one;
}

}  // namespace trifold::tune::tridiagonal
