// The row of the table that C and Python walk.
#include "tests/family/lower.hpp"

namespace trifold::test {

static const bool is_added = (families().push_back(&lower_family), true);

}  // namespace trifold::test
