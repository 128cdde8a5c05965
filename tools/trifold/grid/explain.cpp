#include <fmt/format.h>

#include "generator/grid/levels.hpp"
#include "tools/trifold/grid/options.hpp"
#include "tools/trifold/grid/verbs.hpp"
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

std::string launches_text(const Program& program, const char* operation) {
    std::vector<std::vector<std::string>> rows{{fmt::format("launches of {}", operation), "tasks"}};
    for (const auto& launch : program.operations.at(operation))
        rows.push_back({fmt::format("{}: {}", kernel_of(program, launch).name, launch.what), fmt::format("{}", launch.grid.groups)});
    return table(rows);
}

Report explain(const GridSpec& spec, const Target& target, const GridTuning& tuning) {
    const auto program = generate(spec, target, tuning);
    const auto levels = grid::levels_of(spec, grid::leaf_cells_of(tuning, target));
    double flops = 0, elements = 0;
    for (const auto& level : levels) {
        flops += level.flops;
        elements += level.factor_elements;
    }
    const auto bytes = static_cast<std::int64_t>(elements) * element_bytes(spec.precision);
    const auto text = fmt::format("{}, {}, {}, boundary {}, target {}\n\n{}\n{}\n", size_text(spec.width, spec.height),
                                  to_string(spec.precision), to_string(spec.matrix), to_string(spec.boundary), to_string(target),
                                  levels_text(levels), launches_text(program, "factor")) +
                      list({{"flops of an image", flops_text(flops)},
                            {"its factors, without padding", bytes_text(bytes)},
                            {"workspace", fmt::format("{} for {}", bytes_text(program.workspace_bytes), plural(spec.batch, "image"))}});
    return {Json{{"program", Json::parse(to_json(program))}}, text};
}

}  // namespace

std::function<Report()> grid_explain(CLI::App& app, const SpecOptions& options, const std::string& size) {
    const auto own = std::make_shared<GridMatrixOptions>();
    own->add_to(app);
    return [own, &options, &size] { return explain(own->spec(size, options), options.target(), {.workers = options.workers}); };
}

}  // namespace trifold::command
