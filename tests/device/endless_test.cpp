// A case that never ends, for the time limit of the others.
#include <unistd.h>

#include "tests/support/test.hpp"

TEST_CASE("endless" * doctest::timeout(1)) {
    const std::string label = "waits for a kernel that hangs";
    CAPTURE(label);
    for (;;) pause();
}
