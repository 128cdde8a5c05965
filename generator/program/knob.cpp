#include "generator/program/knob.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <trifold/error.hpp>

namespace trifold {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw SpecError(fmt::format("variant '{}': {}; write a name, or a name with knobs: tile:halves=1", text, why));
}

std::int64_t parse_value(std::string_view text, std::string_view value) {
    std::int64_t result = 0;
    const auto* const end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data(), end, result);
    if (error != std::errc() || at != end) refuse(text, fmt::format("'{}' is no whole number", value));
    return result;
}

}  // namespace

VariantName parse_variant(std::string_view text) {
    const auto colon = text.find(':');
    VariantName result{std::string(text.substr(0, colon)), {}};
    if (colon == std::string_view::npos) return result;
    for (auto rest = text.substr(colon + 1);;) {
        const auto comma = rest.find(',');
        const auto item = rest.substr(0, comma);
        const auto equals = item.find('=');
        if (equals == std::string_view::npos || equals == 0) refuse(text, fmt::format("'{}' is no knob with a value", item));
        if (!result.pinned.emplace(item.substr(0, equals), parse_value(text, item.substr(equals + 1))).second)
            refuse(text, fmt::format("knob {} is there twice", item.substr(0, equals)));
        if (comma == std::string_view::npos) return result;
        rest = rest.substr(comma + 1);
    }
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
