#include "tools/trifold/explain.hpp"

#include <fmt/format.h>

#include "generator/grid/fields.hpp"
#include "generator/grid/knobs.hpp"
#include "generator/grid/levels.hpp"
#include "tools/trifold/grid/options.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

std::string size_text(std::int64_t width, std::int64_t height) { return fmt::format("{}x{}", width, height); }

std::string levels_text(const std::vector<grid::Level>& levels) {
    std::vector<std::vector<std::string>> rows{{"level", "boxes", "cells", "eliminated", "kept", "flops"}};
    for (std::size_t k = 0; k < levels.size(); ++k) {
        const auto& level = levels[k];
        rows.push_back({fmt::format("{}", k), fmt::format("{}", level.boxes()), size_text(level.width_cells, level.height_cells),
                        fmt::format("{}", level.eliminated), fmt::format("{}", level.kept), flops_text(level.flops)});
    }
    return table(rows);
}

Report explain(const GridChoice& choice) {
    const auto& [spec, target, tuning, rung, row] = choice;
    const auto program = generate(choice);
    const auto units = needed_units(program);
    const auto decided = grid::decided(choice);
    const auto levels = grid::levels_of(spec, grid::leaf_cells_of(tuning, target));
    double flops = 0, elements = 0;
    for (const auto& level : levels) {
        flops += level.flops;
        elements += level.factor_elements;
    }
    const auto bytes = static_cast<std::int64_t>(elements) * element_bytes(spec.precision);
    const auto text =
        fmt::format("{}, target {}\nvariant {}, chosen by {}\n\n{}\n{}\n{}\n{}\n", to_text(grid_fields, &spec), to_string(target),
                    tuning.variant, by_whom(rung, row), knobs_text(decided, grid::knobs_for(target), rung, row), to_text(units),
                    levels_text(levels), launches_text(program, "factor")) +
        list({{"flops of an image", flops_text(flops)},
              {"its factors, without padding", bytes_text(bytes)},
              {"workspace", fmt::format("{} for {}", bytes_text(program.workspace_bytes), plural(spec.batch, "image"))}});
    return {Json{{"variant", tuning.variant},
                 {"rung", to_string(rung)},
                 {"row", row},
                 {"knobs", knobs_json(decided, grid::knobs_for(target), rung, row)},
                 {"units", to_json(units)},
                 {"program", Json::parse(trifold::to_json(program))}},
            text};
}

}  // namespace

std::function<Report()> grid_explain(CLI::App& app, const SpecOptions& options, const std::string& size) {
    const auto own = std::make_shared<GridMatrixOptions>();
    own->add_to(app);
    own->add_variant(app);
    return [own, &options, &size] { return explain(own->choice(own->spec(size, options), options)); };
}

}  // namespace trifold::command
