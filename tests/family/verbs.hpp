#pragma once
#include "tools/trifold/family.hpp"

namespace trifold::test {

/// The tests' family as a row of the command's table. It has `solve` alone: files L.npy (n, n) and x.npy (n), and y = L' L x.
command::FamilyVerbs triangular_verbs();

}  // namespace trifold::test
