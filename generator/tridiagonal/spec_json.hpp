#pragma once
#include <nlohmann/json.hpp>
#include <trifold/spec.hpp>

namespace trifold {

/// Every field of a Spec, by the names that the command line has for them. The same text for the same Spec.
nlohmann::json to_json(const Spec& spec);
/// The reverse. What is left out has its default; a name that no Spec has is an error. Throws SpecError with what is wrong.
Spec parse_spec_json(const nlohmann::json& json);

}  // namespace trifold
