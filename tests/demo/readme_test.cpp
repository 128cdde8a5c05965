#include <doctest/doctest.h>

#include <string>

#include "tests/text.hpp"

TEST_CASE("the README's example is the one that is compiled and run") {
    const auto example = read_text(PROJECT_DIRECTORY "/tools/examples/minimal/minimal.cpp");
    REQUIRE(!example.empty());
    CHECK(read_text(PROJECT_DIRECTORY "/README.md").find("```cpp\n" + example + "```\n") != std::string::npos);
}
