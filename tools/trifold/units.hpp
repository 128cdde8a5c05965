#pragma once
#include <string>
#include <trifold/program.hpp>
#include <vector>

#include "tools/trifold/verbs.hpp"

namespace trifold::command {

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

}  // namespace trifold::command
