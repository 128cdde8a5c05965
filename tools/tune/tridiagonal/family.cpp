#include "tools/tune/tridiagonal/family.hpp"

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/fields.hpp"
#include "generator/tridiagonal/variant.hpp"
#include "generator/tridiagonal/wisdom.hpp"

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

Candidate candidate_of(const Choice& choice) { return {choice.schedule.name, choice.variant, modelled_seconds(choice)}; }

Candidate standard(const Point& point, const Target& target, std::string_view device) {
    const auto spec = spec_of(point);
    return candidate_of(choose(spec, target, resolve(spec, target, Tuning{.workers = point.workers}, device, shipped_wisdom())));
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

}  // namespace

Spec spec_of(const Point& point) { return parse_spec_json(point.spec); }

Point point_of(const Spec& spec, int workers) { return {.spec = to_json(spec), .workers = workers}; }

Choice choice_of(const Point& point, const Target& target, const Candidate& candidate) {
    return choose(spec_of(point), target, Tuning{candidate.schedule, candidate.variant, point.workers});
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
        .sizes = {"horizon", "block"},
        .options = {{.name = "--horizon", .field = "horizon", .help = "Numbers of diagonal blocks N", .is_number = true}},
        .usual_block = 0,
        .parse = parse,
        .notes = notes,
        .standard = standard,
        .others = [](const Point& point, const Target& target, bool all) { return pairs(spec_of(point), target, point.workers, all); },
        .complete = [](const Point& point, const Target& target,
                       const Candidate& candidate) { return candidate_of(choice_of(point, target, candidate)); },
        .knobs =
            [](const Target& target, const std::string& variant) {
                const auto& all = variant_named(target, variant).knobs;
                return std::vector<Knob>(all.begin(), all.end());
            },
        .decided = [](const Point& point, const Target& target,
                      const Candidate& candidate) { return knobs_of(choice_of(point, target, candidate)); },
        .program = [](const Point& point, const Target& target,
                      const Candidate& candidate) { return generate(choice_of(point, target, candidate)); },
        .modelled = seconds_by_model,
        .factors = {"factor", "factor_solve", "factor_forward"},
        // Y of a forward sweep depends on the order of elimination: it is judged by the backward sweep after it.
        .experiments = {{{"factor_solve"}},
                        {{"factor_forward", "backward"}},
                        {{"solve"}},
                        {{"forward", "backward"}},
                        {{"inverse"}, "inverse"},
                        {{"inverse"}, "couplings of the inverse"}},
        .data_bytes = [](const nlohmann::json& spec) { return data_bytes(parse_spec_json(spec)); },
        .data = [](const nlohmann::json& spec, std::uint64_t seed, DeviceTools& tools,
                   std::int64_t sets) { return make_data(parse_spec_json(spec), seed, tools, sets); },
        .owns = has_blocks,
        .key = [](const Point& point, const Target& target) { return key_of(spec_of(point), target, point.workers); },
        .spec = [](const ProblemKey& key) { return to_json(trifold::spec_of(key)); }};
    return one;
}

}  // namespace trifold::tune::tridiagonal
