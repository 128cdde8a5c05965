#pragma once
#include <span>
#include <string>
#include <trifold/program.hpp>
#include <vector>

#include "generator/program/knob.hpp"
#include "tools/trifold/verbs.hpp"

/// What `explain` says of the Programs of all families.
namespace trifold::command {

/// Who decided about kernels and their knobs. `row`: of wisdom; empty: none was taken.
std::string by_whom(DecisionSource rung, const std::string& row);
std::string knobs_text(const std::vector<KnobDecision>& decided, std::span<const Knob> knobs, DecisionSource rung, const std::string& row);
Json knobs_json(const std::vector<KnobDecision>& decided, std::span<const Knob> knobs, DecisionSource rung, const std::string& row);

/// Place of the kernels of a unit: nowhere, so that they have to be compiled, or in a layer that `trifold pack` made.
enum class Place { nowhere, cache, layer };

/// A text that a Program needs.
struct NeededUnit {
    std::string id, key;  ///< key: of the cache
    std::int64_t bytes;
    Place place;
};
std::vector<NeededUnit> needed_units(const Program& program);
Json to_json(const std::vector<NeededUnit>& units);
std::string to_text(const std::vector<NeededUnit>& units);

/// The launches of an operation, with their tasks.
std::string launches_text(const Program& program, const std::string& operation);

}  // namespace trifold::command
