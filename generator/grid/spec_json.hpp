#pragma once
#include <nlohmann/json.hpp>
#include <trifold/grid_spec.hpp>

namespace trifold {

/// Every field of a GridSpec, by the names that the command line has for them, and "family". The same text for the same GridSpec.
nlohmann::json to_json(const GridSpec& spec);
/// The reverse. What is left out has its default; a name that no GridSpec has is an error. Throws SpecError with what is wrong.
GridSpec parse_grid_json(const nlohmann::json& json);

}  // namespace trifold
