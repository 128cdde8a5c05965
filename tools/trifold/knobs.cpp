#include "tools/trifold/knobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

}  // namespace trifold::command
