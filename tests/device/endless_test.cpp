// A case that never ends, for the time limit of the others.
#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

TEST_CASE("endless" * doctest::timeout(1)) {
    const std::string label = "waits for a kernel that hangs";
    CAPTURE(label);
    for (;;) pause();
}
