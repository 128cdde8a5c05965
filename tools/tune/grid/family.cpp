#include "tools/tune/grid/family.hpp"

#include <fmt/format.h>

#include <charconv>
#include <trifold/error.hpp>

#include "generator/grid/fields.hpp"
#include "generator/grid/knobs.hpp"
#include "generator/grid/wisdom.hpp"

namespace trifold::tune::grid {
namespace {

std::string notes(const nlohmann::json& tree) {
    std::string text;
    for (const auto& [field, plain] : {std::pair{"matrix", "general"}, {"boundary", "natural"}})
        if (tree.at(field) != plain) text += " " + tree.at(field).get<std::string>();
    const bool unpivoted = tree.at("matrix") == "general" && tree.at("pivoting") == "none";
    return unpivoted ? text + " unpivoted" : text;
}

/// --grid "129x65" as width and height.
nlohmann::json of_options(nlohmann::json fields) {
    const auto text = fields.at("size").get<std::string>();
    std::int64_t width = 0, height = 0;
    const auto* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, width);
    const bool has_two = first.ec == std::errc() && first.ptr != end && *first.ptr == 'x';
    if (const auto second = std::from_chars(has_two ? first.ptr + 1 : end, end, height); second.ec != std::errc() || second.ptr != end)
        throw SpecError(
            fmt::format("--grid '{}' is no size of an image; give WIDTHxHEIGHT, such as 129x65, with commas between several", text));
    fields.erase("size");
    fields.update({{"width", width}, {"height", height}});
    return fields;
}

Candidate candidate_of(const GridChoice& choice) { return {std::string(::trifold::grid::dissection), choice.tuning.variant}; }

}  // namespace

GridSpec spec_of(const Point& point) { return parse_grid_json(point.spec); }

Point point_of(const GridSpec& spec, int workers) { return {.spec = to_json(spec), .workers = workers}; }

GridChoice choice_of(const Point& point, const Target& target, const Candidate& candidate) {
    if (!candidate.schedule.empty() && candidate.schedule != ::trifold::grid::dissection)  // captured programs name none
        throw SpecError(fmt::format("unknown schedule '{}' of a grid; give {}", candidate.schedule, ::trifold::grid::dissection));
    return choose(spec_of(point), target, {.workers = point.workers, .variant = candidate.variant});
}

const TunedFamily& family() {
    static const TunedFamily one{
        .name = "grid",
        .operations =
            [] {
                std::vector<std::string_view> names;
                for (const auto operation : all_grid_operations()) names.push_back(to_string(operation));
                return names;
            }(),
        .sizes = {"width", "height"},
        .options = {{"--grid", "size", "Sizes of images, WIDTHxHEIGHT"},
                    {"--matrix", "matrix", "general, symmetric", "general"},
                    {"--pivoting", "pivoting", "partial, none; of general matrices", "partial"},
                    {"--boundary", "boundary", "natural, fixed", "natural"}},
        .of_options = of_options,
        .parse = [](const nlohmann::json& spec) { return to_json(parse_grid_json(spec)); },
        .notes = notes,
        .standard =
            [](const Point& point, const Target& target, std::string_view device) {
                return candidate_of(choose(spec_of(point), target, GridTuning{.workers = point.workers}, device, shipped_wisdom()));
            },
        .others = [](const Point&, const Target&, bool) { return std::vector<Candidate>(); },  // there is one order of elimination
        .complete = [](const Point& point, const Target& target,
                       const Candidate& candidate) { return candidate_of(choice_of(point, target, candidate)); },
        .knobs =
            [](const Target& target, const std::string&) {
                const auto all = ::trifold::grid::knobs_for(target);
                return std::vector<Knob>(all.begin(), all.end());
            },
        .decided = [](const Point& point, const Target& target,
                      const Candidate& candidate) { return ::trifold::grid::decided(choice_of(point, target, candidate)); },
        .program = [](const Point& point, const Target& target,
                      const Candidate& candidate) { return generate(choice_of(point, target, candidate)); },
        .factors = {"factor", "factor_solve"},
        .experiments =
            {{{"factor_solve"}}, {{"solve"}}, {{"solve_transposed"}}, {{"solve", "refine"}}, {{"solve", "gradient"}, "gradient"}},
        .data_bytes = [](const nlohmann::json& spec) { return data_bytes(parse_grid_json(spec)); },
        .data = [](const nlohmann::json& spec, std::uint64_t seed, DeviceTools& tools,
                   std::int64_t sets) { return make_data(parse_grid_json(spec), seed, tools, sets); },
        .owns = is_grid,
        .key = [](const Point& point, const Target& target) { return key_of(spec_of(point), target, point.workers); },
        .spec = [](const ProblemKey& key) { return to_json(grid_of(key)); }};
    return one;
}

}  // namespace trifold::tune::grid
