#include <trifold/generate.hpp>

#include "generator/program/sha256.hpp"
#include "generator/tridiagonal/backend.hpp"
#include "generator/tridiagonal/border.hpp"
#include "generator/tridiagonal/design.hpp"
#include "generator/tridiagonal/fields.hpp"
#include "generator/tridiagonal/mixed.hpp"

namespace trifold {

namespace {

constexpr int format_version = 1;  // raise when the meaning of a Program or the templates' contract changes

nlohmann::json level_json(const Level& level) {
    auto runs = nlohmann::json::array();
    for (const auto& run : level.runs)
        runs.push_back({{"first", run.first}, {"stride", run.stride}, {"count", run.count}, {"length", run.length}, {"step", run.step}});
    return {{"base", level.base}, {"scale", level.scale}, {"size", level.size}, {"runs", runs}};
}

}  // namespace

nlohmann::json identity_json(const Choice& choice) {
    auto spec = to_json(choice.spec);
    const auto usual = to_json(Spec{});  // fields that came later are left out of problems that lack them, whose names stay
    for (const auto* name : {"border", "ring", "lengths", "sizes", "bandwidth", "matrix"})
        if (spec[name] == usual[name]) spec.erase(name);
    return {{"format", format_version},           {"spec", spec},
            {"target", to_string(choice.target)}, {"schedule", choice.schedule.name},
            {"variant", choice.variant},          {"workers", choice.tuning.workers}};
}

std::string identity(const Choice& choice) { return sha256(identity_json(choice).dump()).substr(0, 8); }

nlohmann::json about_json(const Choice& choice) {
    auto json = identity_json(choice);
    for (const auto& level : choice.schedule.levels) json["levels"].push_back(level_json(level));
    return json;
}

namespace {

Program whole(const Choice& choice, Packing packing) {
    if (choice.spec.border > 0) return generate_bordered(choice, packing);
    auto plain = design(choice);
    if (is_wrapped(plain)) return wrap_mixed(std::move(plain), packing);
    return refines(plain) ? with_refinement(std::move(plain), packing) : write_down(plain, packing);
}

}  // namespace

Program generate(const Choice& choice, Packing packing) {
    auto program = whole(choice, packing);
    program.about = about_json(choice).dump();
    return program;
}

Program generate(const Spec& spec, const Target& target, const Tuning& tuning, Packing packing) {
    return generate(choose(spec, target, tuning), packing);
}

}  // namespace trifold
