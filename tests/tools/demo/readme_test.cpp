#include "tests/support/test.hpp"
#include "tests/support/text.hpp"

namespace {

void check_example(const std::string& page, const std::string& source) {
    const auto example = read_text(PROJECT_DIRECTORY "/tools/examples/" + source);
    CAPTURE(source);
    REQUIRE(!example.empty());
    CHECK(read_text(PROJECT_DIRECTORY "/" + page).find("```cpp\n" + example + "```\n") != std::string::npos);
}

}  // namespace

TEST_CASE("the README's example is the one that is compiled and run") { check_example("README.md", "minimal/minimal.cpp"); }

TEST_CASE("the recipes are those that are compiled and run") {
    check_example("docs/users/recipes.md", "recipes/last_block.cpp");
    check_example("docs/users/recipes.md", "recipes/gradient.cpp");
}
