#pragma once
#include "tools/tune/family.hpp"

namespace trifold::tune::grid {

const TunedFamily& family();

}  // namespace trifold::tune::grid
