#pragma once
#include <nlohmann/json.hpp>
#include <trifold/generate.hpp>

namespace trifold {

/// What makes a Program the one it is: the Spec, the target and how it was tuned. The rest follows from it.
nlohmann::json identity_json(const Choice& choice);
/// The first 8 hex digits of its SHA-256.
std::string identity(const Choice& choice);
/// What the Program says of itself: its identity and the levels of the schedule.
nlohmann::json about_json(const Choice& choice);

}  // namespace trifold
