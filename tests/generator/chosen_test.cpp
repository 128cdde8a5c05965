#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <trifold/generate.hpp>

#include "tests/support/thinning.hpp"

using namespace trifold;

namespace {

/// A line of chosen.txt: a problem, and what auto chooses for it.
struct Line {
    Spec spec;
    Target target;
    int workers = 1;
    std::string schedule, variant;
};

Line parse_line(const std::string& line) {
    Line choice;
    std::string target, precision, operations;
    std::istringstream words(line);
    words >> target >> choice.spec.block >> choice.spec.horizon >> choice.spec.batch >> choice.spec.rhs >> precision >> choice.workers >>
        operations >> choice.schedule >> choice.variant;
    REQUIRE_MESSAGE(words, line);
    choice.target = parse_target(target);
    choice.spec.precision = parse_precision(precision);
    if (operations != "usual") choice.spec.operations = parse_operations(operations);
    return choice;
}

}  // namespace

TEST_CASE("auto chooses the schedules and variants that chosen.txt lists") {
    std::ifstream file(CHOSEN_FILE);
    int choices = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        if (++choices % test::thinning != 0) continue;
        const auto choice = parse_line(line);
        const auto chosen = choose(choice.spec, choice.target, {.workers = choice.workers});
        CHECK_MESSAGE(chosen.schedule.name == choice.schedule, line);
        CHECK_MESSAGE(chosen.variant == choice.variant, line);
    }
    CHECK(choices >= 120);
}
