#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace {

std::string read(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("the README's example is the one that is compiled and run") {
    const auto example = read(PROJECT_DIRECTORY "/tools/examples/minimal/minimal.cpp");
    REQUIRE(!example.empty());
    CHECK(read(PROJECT_DIRECTORY "/README.md").find("```cpp\n" + example + "```\n") != std::string::npos);
}
