#include "tools/tune/grid/family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <trifold/error.hpp>

#include "generator/grid/knobs.hpp"
#include "generator/grid/spec_json.hpp"
#include "generator/grid/wisdom.hpp"
#include "tools/tune/grid/data.hpp"
#include "tools/tune/grid/spec.hpp"
#include "tools/tune/points.hpp"

namespace trifold::tune::grid {
namespace {

std::string notes(const nlohmann::json& tree) {
    std::string text;
    for (const auto& [field, plain] : {std::pair{"matrix", "general"}, {"boundary", "natural"}})
        if (tree.at(field) != plain) text += " " + tree.at(field).get<std::string>();
    const bool unpivoted = tree.at("matrix") == "general" && tree.at("pivoting") == "none";
    return unpivoted ? text + " unpivoted" : text;
}

/// "129x65".
std::pair<std::int64_t, std::int64_t> parse_size(std::string_view text) {
    std::int64_t width = 0, height = 0;
    const auto* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, width);
    if (first.ec == std::errc() && first.ptr != end && *first.ptr == 'x') {
        const auto second = std::from_chars(first.ptr + 1, end, height);
        if (second.ec == std::errc() && second.ptr == end) return {width, height};
    }
    throw SpecError(
        fmt::format("--grid '{}' is no size of an image; give WIDTHxHEIGHT, such as 129x65, with commas between several", text));
}

/// --grid, and the kinds of matrices.
class ImageRanges : public SpecRanges {
  public:
    void add_to(CLI::App& app) override {
        auto* grid = app.add_option("--grid", sizes_, "Sizes of images, WIDTHxHEIGHT, with commas between")->delimiter(',');
        const auto words = [&](const char* name, std::vector<std::string>& value, const std::vector<std::string>& all, const char* what) {
            app.add_option(name, value, what)->delimiter(',')->check(CLI::IsMember(all))->needs(grid)->capture_default_str();
        };
        words("--matrix", matrices_, {"general", "symmetric"}, "With --grid: general, symmetric");
        words("--pivoting", pivotings_, {"partial", "none"}, "With --grid: partial, none; of general matrices");
        words("--boundary", boundaries_, {"natural", "fixed"}, "With --grid: natural, fixed");
    }
    bool given() const override { return !sizes_.empty(); }
    std::vector<nlohmann::json> specs(const CommonRanges& common) const override {
        check_count({sizes_.size(), matrices_.size(), pivotings_.size(), boundaries_.size(), common.batches.size(), common.rhs.size(),
                     common.precisions.size()});
        std::vector<nlohmann::json> result;
        for (const auto& size : sizes_) {
            const auto [width, height] = parse_size(size);
            for (const auto& kind : kinds())
                for (const auto batch : common.batches)
                    for (const auto rhs : common.rhs)
                        for (const auto precision : common.precisions) {
                            auto spec = kind;
                            spec.update({{"width", width},
                                         {"height", height},
                                         {"batch", batch},
                                         {"rhs", rhs},
                                         {"precision", to_string(precision)}});
                            result.push_back(std::move(spec));
                        }
        }
        return result;
    }

  private:
    std::vector<nlohmann::json> kinds() const {
        std::vector<nlohmann::json> result;
        for (const auto& matrix : matrices_)
            for (const auto& pivoting : pivotings_)
                for (const auto& boundary : boundaries_)
                    result.push_back({{"family", "grid"}, {"matrix", matrix}, {"pivoting", pivoting}, {"boundary", boundary}});
        return result;
    }

    std::vector<std::string> sizes_, matrices_{"general"}, pivotings_{"partial"}, boundaries_{"natural"};
};

Candidate candidate_of(const GridChoice& choice) { return {std::string(::trifold::grid::dissection), choice.tuning.variant}; }

}  // namespace

GridSpec spec_of(const Point& point) { return parse_grid_json(point.spec); }

Point point_of(const GridSpec& spec, int workers) { return {.spec = to_json(spec), .workers = workers}; }

GridOperation operation_named(std::string_view name) {
    for (const auto operation : all_grid_operations())
        if (to_string(operation) == name) return operation;
    throw SpecError(fmt::format("'{}' is no operation of grids", name));
}

GridTuning tuning_of(const Point& point, const Candidate& candidate) { return {.workers = point.workers, .variant = candidate.variant}; }

GridChoice choice_of(const Point& point, const Target& target, const Candidate& candidate) {
    if (!candidate.schedule.empty() && candidate.schedule != ::trifold::grid::dissection)  // captured programs name none
        throw SpecError(fmt::format("unknown schedule '{}' of a grid; give {}", candidate.schedule, ::trifold::grid::dissection));
    return choose(spec_of(point), target, tuning_of(point, candidate));
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
        .sizes = {{"width", "width"}, {"height", "height"}},
        .member = "image",
        .parse = [](const nlohmann::json& spec) { return to_json(parse_grid_json(spec)); },
        .notes = notes,
        .ranges = []() -> std::unique_ptr<SpecRanges> { return std::make_unique<ImageRanges>(); },
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
        .modelled = nullptr,
        .data_bytes = [](const nlohmann::json& spec) { return data_bytes(parse_grid_json(spec)); },
        .data = [](const nlohmann::json& spec, std::uint64_t seed, DeviceTools& tools, std::int64_t sets) -> std::unique_ptr<PointData> {
            return std::make_unique<Images>(parse_grid_json(spec), seed, tools, sets);
        },
        .work = [](const nlohmann::json&, std::string_view) { return std::optional<bench::Work>(); },  // of nested dissection none is known
        .owns = is_grid,
        .key = [](const Point& point, const Target& target) { return key_of(spec_of(point), target, point.workers); },
        .spec = [](const ProblemKey& key) { return to_json(grid_of(key)); }};
    return one;
}

}  // namespace trifold::tune::grid
