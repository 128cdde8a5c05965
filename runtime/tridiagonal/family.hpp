#pragma once
#include "runtime/session/family.hpp"

namespace trifold {

extern const Family tridiagonal_family;

}  // namespace trifold
