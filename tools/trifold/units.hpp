#pragma once
#include <string>
#include <trifold/program.hpp>
#include <vector>

#include "tools/trifold/verbs.hpp"

namespace trifold::command {

/// A text that a Program needs.
struct NeededUnit {
    std::string id, key;  ///< key: of the cache
    std::int64_t bytes;
    bool cached;  ///< nothing has to be compiled for it
};
std::vector<NeededUnit> needed_units(const Program& program);
Json to_json(const std::vector<NeededUnit>& units);
std::string to_text(const std::vector<NeededUnit>& units);

}  // namespace trifold::command
