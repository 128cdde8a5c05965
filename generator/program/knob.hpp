#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/program/device.hpp"

namespace trifold {

/// A whole number that a variant's kernels are made with: how work is cut, what is kept where. Each value that it can have gives a correct
/// solver, perhaps with other bits. Rows of the device, in the list of the knob's name, say which; a caller may pin it.
struct Knob {
    std::string_view name;
    std::string_view what;                           ///< for people
    std::initializer_list<std::int64_t> candidates;  ///< the values that it can have, in order
};

/// A decision about a knob, and who made it.
struct KnobDecision {
    std::string list;
    std::int64_t value = 0;
    const Row* row = nullptr;  ///< null: the caller
    bool operator==(const KnobDecision&) const = default;
};

/// The knobs that a caller has pinned, by name; and where somebody wants to know it, what was decided about all that were asked for.
struct Knobs {
    std::map<std::string, std::int64_t, std::less<>> pinned;
    std::vector<KnobDecision>* asked = nullptr;
};

/// The number that the caller has pinned, or that of the first row of the device that holds; noted where somebody wants to know it.
std::int64_t take(const Knobs& knobs, const KnownDevice& device, std::string_view knob, const Quantities& of);

/// A variant with pinned knobs, as callers write it: "tile-dataflow:stages=3,stage_columns=32".
struct VariantName {
    std::string name;
    std::map<std::string, std::int64_t, std::less<>> pinned;
};
/// Throws SpecError where the text is none. Whether there are such a variant and knobs is not looked at.
VariantName parse_variant(std::string_view text);
/// Text of a variant with its values, whatever the order in which they were given.
std::string to_string(const VariantName& variant);

/// Throws SpecError with the knobs of a variant where it has none of a name, or with the candidates where a value is none of them.
void check_knobs(const VariantName& variant, std::span<const Knob> knobs);

}  // namespace trifold
