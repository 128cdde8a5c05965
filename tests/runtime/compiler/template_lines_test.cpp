#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <trifold/generate.hpp>

#include "runtime/compile/sources.hpp"

using namespace trifold;

namespace {

/// The number of the line that has `text`, from 1.
std::size_t line_with(const std::string& unit, const std::string& text) {
    const auto at = unit.find(text);
    REQUIRE(at != unit.npos);
    return static_cast<std::size_t>(std::count(unit.begin(), unit.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
}

}  // namespace

TEST_CASE("a compiler's errors name the template and its line") {
    // What stands there: `/* comment */`, the lines that are left out, an empty line, `#include "..."` ...
    const std::string unit =
        "#define TRIFOLD_BLOCK 4\n/* ---- cpu/tridiagonal/finish.c ---- */\n/* Results */\n\nfirst\nsecond\n\n/* ---- my own.c ---- "
        "*/\nthird\n";
    const auto told = [&](const std::string& log) { return with_template_lines(log, unit); };
    CHECK(told("kernel.c:3:1: error: no\n") == "kernel.c:3:1: error: no [templates/cpu/tridiagonal/finish.c:1]\n");
    CHECK(told("kernel.cu(4): error: no") == "kernel.cu(4): error: no [templates/cpu/tridiagonal/finish.c:3]");
    CHECK(told("a\n/tmp/x/kernel.c:5:9: warning: here\nb\n") ==
          "a\n/tmp/x/kernel.c:5:9: warning: here [templates/cpu/tridiagonal/finish.c:4]\nb\n");
    CHECK(told("kernel.hip:6:1: note") == "kernel.hip:6:1: note [templates/cpu/tridiagonal/finish.c:5]");
}

TEST_CASE("what a compiler says of other places stays as it is") {
    const auto unit = generate({.block = 8, .horizon = 9}, {Backend::cuda, "sm_90"}).units.front().source;
    for (const auto* log :
         {"", "\n", "kernel.cu(1): error", "kernel.cu(0): error", "kernel.cu(99999999): error", "kernel.cu(x): error",
          "kernel.cu(99999999999999999999999): error", "kernel.cu", "kernel.cubin: 12", "stdio.h:2000: error", "12 errors"})
        CHECK(with_template_lines(log, unit) == log);
}

TEST_CASE("edited units are no trouble") {
    auto unit = generate({.block = 8, .horizon = 9}, {Backend::cuda, "sm_90"}, {.variant = "fused"}).units.front().source;
    const std::string text = "TRIFOLD_FUNCTION void factor_chain(", name = "fused/factor.cuh";
    const auto log = fmt::format("kernel.cu({}): error", line_with(unit, text));
    CHECK(with_template_lines(log, unit).find(" [templates/gpu/tridiagonal/fused/factor.cuh:") != std::string::npos);
    unit.replace(unit.find("/* ---- gpu/tridiagonal/" + name), 10, "/* my own ");
    CHECK(with_template_lines(log, unit).find(name) == std::string::npos);
    CHECK(with_template_lines(log, unit.substr(0, 500)) == log);
}
