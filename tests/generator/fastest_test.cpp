#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <trifold/generate.hpp>

using namespace trifold;

namespace {

constexpr double most_regret = 1.03, most_mean_regret = 1.01;

/// How many times longer than the fastest pair of a line takes what auto takes; infinity where the line has no time of it.
double regret_of(const std::string& line) {
    std::string precision, schedule, variant;
    Spec spec;
    std::istringstream words(line);
    words >> precision >> spec.block >> spec.horizon;
    REQUIRE_MESSAGE(words, line);
    spec.precision = parse_precision(precision);
    const auto chosen = choose(spec, parse_target("cuda:sm_90"), {});
    auto taken = std::numeric_limits<double>::infinity(), least = taken;
    for (double microseconds = 0; words >> schedule >> variant >> microseconds;) {
        least = std::min(least, microseconds);
        if (schedule == chosen.schedule.name && variant == chosen.variant) taken = microseconds;
    }
    INFO(line, "\nauto takes ", chosen.schedule.name, " ", chosen.variant, "; where the line has no time of it, measure it");
    CHECK(taken <= most_regret * least);
    return taken / least;
}

}  // namespace

TEST_CASE("auto takes what was measured to be within 3 % of the fastest of fastest.txt") {
    std::ifstream file(FASTEST_FILE);
    int problems = 0;
    double logarithms = 0;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        logarithms += std::log(regret_of(line));
        ++problems;
    }
    CHECK(problems >= 60);
    CHECK(std::exp(logarithms / problems) <= most_mean_regret);
}
