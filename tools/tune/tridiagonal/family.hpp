#pragma once
#include "tools/tune/family.hpp"

namespace trifold::tune::tridiagonal {

const TunedFamily& family();

}  // namespace trifold::tune::tridiagonal
