#pragma once
#include "runtime/session/family.hpp"
#include "tools/trifold/family.hpp"

namespace trifold::command {

/// The verbs solve, explain and generate of a family, as they follow from its table. Its option is its name, with a size if it has some.
/// `solve` reads an array for each that the first operation that factors and the first that needs factors read.
FamilyVerbs stated_verbs(const trifold::Family& family);

}  // namespace trifold::command
