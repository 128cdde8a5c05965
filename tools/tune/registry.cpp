#include "tools/tune/grid/family.hpp"
#include "tools/tune/sparse/family.hpp"
#include "tools/tune/tridiagonal/family.hpp"

namespace trifold::tune {

std::vector<const TunedFamily*> registered_families() { return {&tridiagonal::family(), &grid::family(), &sparse::family()}; }

}  // namespace trifold::tune
