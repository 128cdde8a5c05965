#pragma once
#include "tools/tune/family.hpp"

namespace trifold::tune::sparse {

const TunedFamily& family();

}  // namespace trifold::tune::sparse
