#pragma once
#include <vector>

namespace trifold::tune {

struct TunedFamily;
/// The table of families, which registry.cpp has: the one file that names them.
std::vector<const TunedFamily*> registered_families();

}  // namespace trifold::tune
