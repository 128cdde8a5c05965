#pragma once
#include <nlohmann/json.hpp>
#include <trifold/generate.hpp>

namespace trifold {

/// The inputs that a Program follows from: the Spec, the target and the tuning.
nlohmann::json identity_json(const Choice& choice);
/// The first 8 hex digits of its SHA-256.
std::string identity(const Choice& choice);
/// Description that a Program carries: its identity and the levels of the schedule.
nlohmann::json about_json(const Choice& choice);

}  // namespace trifold
