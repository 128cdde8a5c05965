#include "tests/support/test.hpp"

namespace {

void check_example(const std::string& page, const std::string& source) {
    const auto example = read_text(PROJECT_DIRECTORY "/tools/examples/" + source);
    CAPTURE(source);
    REQUIRE(!example.empty());
    CHECK(says(read_text(PROJECT_DIRECTORY "/" + page), "```cpp\n" + example + "```\n"));
}

}  // namespace

TEST_CASE("the README's example is the one that is compiled and run") { check_example("README.md", "minimal/minimal.cpp"); }

TEST_CASE("the recipes are those that are compiled and run") {
    check_example("docs/users/recipes.md", "recipes/last_block.cpp");
    check_example("docs/users/recipes.md", "recipes/gradient.cpp");
}
