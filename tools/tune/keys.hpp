#pragma once
#include <string>

#include "tools/tune/trial.hpp"

namespace trifold::tune {

/// As text that SQLite takes: compilers' messages need not be UTF-8.
std::string compact_text(const nlohmann::ordered_json& json);
/// The same text for the same problem on the same machine, whatever its weight.
std::string point_key(const Machine& machine, const Point& point);
/// What a record is found by.
std::string record_key(const Machine& machine, const std::string& generator, const Point& point);

}  // namespace trifold::tune
