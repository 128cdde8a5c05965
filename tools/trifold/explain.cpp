#include "tools/trifold/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/compile/async.hpp"
#include "runtime/compile/cache.hpp"
#include "tools/trifold/family.hpp"
#include "tools/trifold/text.hpp"

namespace trifold::command {
namespace {

/// A row of the device, or who decided about the variant.
std::string decided_by(const KnobDecision& decision, DecisionSource rung, const std::string& row) {
    if (decision.row != nullptr) return to_string(*decision.row);
    return row.empty() ? "pinned" : std::string(to_string(rung));
}

const Knob& knob_of(const KnobDecision& decision, std::span<const Knob> knobs) {
    return *std::ranges::find(knobs, decision.list, &Knob::name);
}

}  // namespace

std::string by_whom(DecisionSource rung, const std::string& row) {
    return row.empty() ? std::string(to_string(rung)) : fmt::format("{}, {}", to_string(rung), row);
}

std::string knobs_text(const std::vector<KnobDecision>& decided, std::span<const Knob> knobs, DecisionSource rung, const std::string& row) {
    std::vector<std::vector<std::string>> rows{{"knob", "value", "of", "decided by", "what"}};
    for (const auto& one : decided) {
        const auto& knob = knob_of(one, knobs);
        rows.push_back({one.list, fmt::format("{}", one.value), fmt::format("{}", fmt::join(knob.candidates, " ")),
                        decided_by(one, rung, row), std::string(knob.what)});
    }
    return table(rows);
}

Json knobs_json(const std::vector<KnobDecision>& decided, std::span<const Knob> knobs, DecisionSource rung, const std::string& row) {
    auto list = Json::array();
    for (const auto& one : decided)
        list.push_back({{"knob", one.list},
                        {"value", one.value},
                        {"candidates", std::vector<std::int64_t>(knob_of(one, knobs).candidates)},
                        {"decided_by", decided_by(one, rung, row)}});
    return list;
}

std::vector<NeededUnit> needed_units(const Program& program) {
    std::vector<NeededUnit> result;
    for (const auto& unit : program.units) {
        const auto key = cache_key(unit);
        const auto found = obtain_cached(unit, key);
        const auto where = !found ? Place::nowhere : found->prebuilt ? Place::layer : Place::cache;
        result.push_back({unit.id, key, static_cast<std::int64_t>(unit.source.size()), where});
    }
    return result;
}

Json to_json(const std::vector<NeededUnit>& units) {
    auto list = Json::array();
    for (const auto& unit : units)
        list.push_back({{"id", unit.id},
                        {"key", unit.key},
                        {"bytes", unit.bytes},
                        {"cached", unit.place != Place::nowhere},
                        {"prebuilt", unit.place == Place::layer}});
    return list;
}

std::string to_text(const std::vector<NeededUnit>& units) {
    static constexpr const char* words[] = {"no", "in the cache", "prebuilt"};
    std::vector<std::vector<std::string>> rows{{"unit", "text", "compiled", "key"}};
    for (const auto& unit : units)
        rows.push_back({unit.id, bytes_text(unit.bytes), words[static_cast<int>(unit.place)], unit.key.substr(0, 12)});
    return table(rows);
}

std::string launches_text(const Program& program, const std::string& operation) {
    std::vector<std::vector<std::string>> rows{{fmt::format("launches of {}", operation), "tasks"}};
    for (const auto& launch : program.operations.at(operation))
        rows.push_back({fmt::format("{}: {}", kernel_of(program, launch).name, launch.what), fmt::format("{}", launch.grid.groups)});
    return table(rows);
}

Action add_explain(CLI::App& app, const bool& json, Families families) {
    const auto options = std::make_shared<SpecOptions>();
    options->add_to(app);
    const auto explain = by_family(app, families, &FamilyVerbs::explain, *options);
    return [options, explain, &json] { return finish(explain(), json); };
}

}  // namespace trifold::command
