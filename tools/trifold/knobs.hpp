#pragma once
#include <span>
#include <string>
#include <trifold/rung.hpp>
#include <vector>

#include "generator/program/knob.hpp"
#include "tools/trifold/verbs.hpp"

/// Who decided about kernels and their knobs, for `explain`. `row`: of wisdom; empty: none was taken.
namespace trifold::command {

std::string by_whom(DecisionSource rung, const std::string& row);
std::string knobs_text(const std::vector<KnobDecision>& decided, std::span<const Knob> knobs, DecisionSource rung, const std::string& row);
Json knobs_json(const std::vector<KnobDecision>& decided, std::span<const Knob> knobs, DecisionSource rung, const std::string& row);

}  // namespace trifold::command
