#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <trifold/error.hpp>

#include "generator/grid/cpu/cpu.hpp"
#include "generator/grid/fields.hpp"
#include "generator/grid/gpu/gpu.hpp"
#include "generator/grid/knobs.hpp"
#include "generator/program/sha256.hpp"

namespace trifold {
namespace {

constexpr int grid_format_version = 2;  // raise when the meaning of a Program or the templates' contract changes

nlohmann::json grid_identity(const GridChoice& choice) {
    auto about = to_json(choice.spec);
    about["asked"].swap(about["operations"]);  // the Program has its own operations
    about.erase("operations");
    about.update({{"format", grid_format_version},
                  {"target", to_string(choice.target)},
                  {"workers", choice.tuning.workers},
                  {"variant", choice.tuning.variant}});
    return about;
}

nlohmann::json grid_level_json(const grid::Level& level) {
    return {{"boxes", level.boxes()},
            {"eliminated", level.eliminated},
            {"kept", level.kept},
            {"min_kept", level.min_kept},
            {"flops", level.flops}};
}

Program generate(const GridChoice& choice, std::vector<KnobDecision>* asked) {
    const auto& [spec, target, tuning, rung, row] = choice;
    auto knobs = grid::pinned_by(tuning, target);
    knobs.asked = asked;
    const bool on_cpu = target.backend == Backend::cpu;
    if (!on_cpu) grid::gpu::check(spec, target);
    const auto levels = grid::levels_of(spec, grid::leaf_cells_of(knobs, target));
    const auto shape = on_cpu ? grid::cpu::shape_of(spec, target, levels) : grid::gpu::shape_of(spec, target, levels);
    auto layout = grid::layout_of(spec, levels, shape);
    auto about = grid_identity(choice);
    Program program;
    program.id = sha256(about.dump()).substr(0, 8);
    program.name = fmt::format("grid_{}x{}_{}_{}", spec.width, spec.height, to_string(spec.precision), program.id);
    program.workers = on_cpu ? tuning.workers : 1;
    if (on_cpu) {
        program.units = {grid::cpu::unit_of(spec, target)};
        grid::cpu::add_launches(program, spec, target, levels, shape, layout);
    } else
        grid::gpu::add_launches(program, spec, target, knobs, levels, layout);
    program.buffers = std::move(layout.buffers);
    program.workspace_bytes = checked_add(layout.bytes, checked_multiply(program.workers, program.scratch_bytes, "scratch"), "workspace");
    for (const auto& level : levels) about["levels"].push_back(grid_level_json(level));
    program.about = about.dump();
    return program;
}

}  // namespace

GridChoice choose(const GridSpec& spec, const Target& target, const GridTuning& tuning) {
    validate(spec);
    validate(target);
    check_range("workers", tuning.workers, 1, max_workers);
    const auto knobs = grid::pinned_by(tuning, target);
    GridChoice choice{spec, target, tuning, tuning.variant == "auto" ? DecisionSource::model : DecisionSource::pinned, {}};
    choice.tuning.variant = to_string(VariantName{std::string(grid::fronts), knobs.pinned});
    return choice;
}

Program generate(const GridChoice& choice) { return generate(choice, nullptr); }

Program generate(const GridSpec& spec, const Target& target, const GridTuning& tuning) { return generate(choose(spec, target, tuning)); }

std::vector<KnobDecision> grid::decided(const GridChoice& choice) {
    std::vector<KnobDecision> asked;
    generate(choice, &asked);
    return asked;
}

}  // namespace trifold
