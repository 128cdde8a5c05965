#pragma once
#include <nlohmann/json.hpp>
#include <trifold/program.hpp>

namespace trifold {

/// What makes a Program the one it is: the Spec, the target and how it was tuned. The rest follows from it.
nlohmann::json identity_json(const Program& program);

}  // namespace trifold
