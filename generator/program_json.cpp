#include "generator/program_json.hpp"

namespace trifold {
namespace {

constexpr int format_version = 1;  // raise when the meaning of a Program or the templates' contract changes

nlohmann::json layout_json(const BlockLayout& layout) {
    return {{"leading", layout.leading}, {"stage", layout.stage}, {"member", layout.member}};
}

nlohmann::json names_json(const Operations& operations) {
    auto names = nlohmann::json::array();
    for (const auto operation : operations) names.push_back(to_string(operation));
    return names;
}

nlohmann::json spec_json(const Spec& spec) {
    return {{"block", spec.block},
            {"horizon", spec.horizon},
            {"precision", to_string(spec.precision)},
            {"rhs", spec.rhs},
            {"batch", spec.batch},
            {"order", spec.order == Order::row_major ? "row-major" : "column-major"},
            {"coupling", spec.coupling == Coupling::lower ? "lower" : "upper"},
            {"rhs_layout", spec.rhs_layout == RhsLayout::staged ? "staged" : "column-major"},
            {"d", layout_json(spec.d)},
            {"e", layout_json(spec.e)},
            {"operations", names_json(spec.operations)}};
}

nlohmann::json level_json(const Level& level) {
    auto runs = nlohmann::json::array();
    for (const auto& run : level.runs)
        runs.push_back({{"first", run.first}, {"stride", run.stride}, {"count", run.count}, {"length", run.length}, {"step", run.step}});
    return {{"base", level.base}, {"scale", level.scale}, {"size", level.size}, {"runs", runs}};
}

}  // namespace

nlohmann::json identity_json(const Program& program) {
    return {{"format", format_version},          {"spec", spec_json(program.spec)}, {"target", to_string(program.target)},
            {"schedule", program.schedule.name}, {"variant", program.variant.name}, {"workers", program.tuning.workers}};
}

std::string to_json(const Program& program) {
    auto json = identity_json(program);
    json["id"] = program.id;
    json["options"] = program.options;
    json["workspace_bytes"] = program.workspace_bytes;
    json["scratch_bytes"] = program.variant.scratch_bytes;
    for (const auto& level : program.schedule.levels) json["levels"].push_back(level_json(level));
    for (const auto& item : program.buffers)
        json["buffers"].push_back({{"name", item.name}, {"offset", item.offset}, {"bytes", item.bytes}, {"zeroed", item.zeroed}});
    for (const auto& kernel : program.kernels)
        json["kernels"].push_back({{"name", kernel.name},
                                   {"phase", to_string(kernel.phase)},
                                   {"chains_per_task", kernel.shape.chains_per_task},
                                   {"members_per_task", kernel.shape.members_per_task},
                                   {"threads", kernel.shape.threads},
                                   {"all_levels", kernel.shape.all_levels},
                                   {"shared_bytes", kernel.shape.shared_bytes},
                                   {"image", kernel.image}});
    for (const auto& [operation, launches] : program.operations) {
        auto& list = json["operations"][std::string(to_string(operation))];
        for (const auto& launch : launches)
            list.push_back({{"kernel", program.kernels[launch.kernel].name},
                            {"level", program.variant.overlaps ? 0 : launch.level.index},  // all levels: index has another use
                            {"chains", launch.level.chains},
                            {"after", launch.after},
                            {"early", launch.early}});
    }
    return json.dump(2);
}

}  // namespace trifold
