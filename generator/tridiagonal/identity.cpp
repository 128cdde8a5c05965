#include "generator/tridiagonal/identity.hpp"

#include "generator/program/sha256.hpp"

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
            {"rhs_layout", spec.rhs_layout == RhsLayout::staged ? "staged" : "stacked"},
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

nlohmann::json identity_json(const Choice& choice) {
    return {{"format", format_version},         {"spec", spec_json(choice.spec)}, {"target", to_string(choice.target)},
            {"schedule", choice.schedule.name}, {"variant", choice.variant},      {"workers", choice.tuning.workers}};
}

std::string identity(const Choice& choice) { return sha256(identity_json(choice).dump()).substr(0, 8); }

nlohmann::json about_json(const Choice& choice) {
    auto json = identity_json(choice);
    for (const auto& level : choice.schedule.levels) json["levels"].push_back(level_json(level));
    return json;
}

}  // namespace trifold
