#include "generator/program/knob.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <trifold/error.hpp>

#include "generator/program/words.hpp"

namespace trifold {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw SpecError(fmt::format("variant '{}': {}; write a name, or a name with knobs: tile:halves=1", text, why));
}

std::int64_t parse_value(std::string_view text, std::string_view value) {
    const auto number = parse_number<std::int64_t>(value);
    if (!number) refuse(text, fmt::format("'{}' is no whole number", value));
    return *number;
}

}  // namespace

VariantName parse_variant(std::string_view text) {
    const auto colon = text.find(':');
    VariantName result{std::string(text.substr(0, colon)), {}};
    if (colon == std::string_view::npos) return result;
    for (const auto item : split(text.substr(colon + 1), ',')) {
        const auto equals = item.find('=');
        if (equals == std::string_view::npos || equals == 0) refuse(text, fmt::format("'{}' is no knob with a value", item));
        if (!result.pinned.emplace(item.substr(0, equals), parse_value(text, item.substr(equals + 1))).second)
            refuse(text, fmt::format("knob {} is there twice", item.substr(0, equals)));
    }
    return result;
}

std::string to_string(const VariantName& variant) {
    auto text = variant.name;
    for (const auto& [name, value] : variant.pinned)
        text += fmt::format("{}{}={}", text.size() == variant.name.size() ? ':' : ',', name, value);
    return text;
}

std::int64_t take(const Knobs& knobs, const KnownDevice& device, std::string_view knob, const Quantities& of) {
    const auto pinned = knobs.pinned.find(knob);
    const bool is_pinned = pinned != knobs.pinned.end();
    const auto* row = is_pinned ? nullptr : &device.first(knob, of);
    const auto value = is_pinned ? pinned->second : std::llround(row->number);
    if (knobs.asked != nullptr) {
        const KnobDecision decision{std::string(knob), value, row};
        if (std::ranges::find(*knobs.asked, decision) == knobs.asked->end()) knobs.asked->push_back(decision);
    }
    return value;
}

void check_knobs(const VariantName& variant, std::span<const Knob> knobs) {
    for (const auto& [name, value] : variant.pinned) {
        const auto found = std::ranges::find(knobs, name, &Knob::name);
        if (found == knobs.end()) {
            std::vector<std::string_view> known;
            for (const auto& knob : knobs) known.push_back(knob.name);
            throw SpecError(known.empty()
                                ? fmt::format("variant '{}' has no knobs", variant.name)
                                : fmt::format("variant '{}' has no knob '{}'; give one of {}", variant.name, name, fmt::join(known, ", ")));
        }
        if (std::ranges::find(found->candidates, value) == found->candidates.end())
            throw SpecError(fmt::format("knob {} of variant '{}' cannot be {}; give one of {}", name, variant.name, value,
                                        fmt::join(found->candidates, ", ")));
    }
}

}  // namespace trifold
