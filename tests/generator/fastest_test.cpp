#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <trifold/generate.hpp>

#include "generator/tridiagonal/wisdom.hpp"
#include "tests/support/thinning.hpp"

using namespace trifold;

namespace {

constexpr double max_regret = 1.03, max_mean_regret = 1.01;

/// Choice of auto: for a device by its shipped wisdom, without one by the model.
Choice chosen_for(const Spec& spec, const std::string& device) {
    const auto target = parse_target("cuda:sm_90");
    return device.empty() ? choose(spec, target, Tuning{}) : choose(spec, target, resolve(spec, target, {}, device, shipped_wisdom()));
}

/// How many times longer than the fastest pair of a line takes what auto takes; infinity where the line has no time of it.
double regret_of(const std::string& line, const std::string& device) {
    std::string precision, schedule, variant;
    Spec spec;
    std::istringstream words(line);
    words >> precision >> spec.block >> spec.horizon;
    if (words.peek() == 'x') words.ignore() >> spec.batch;
    REQUIRE_MESSAGE(words, line);
    spec.precision = parse_precision(precision);
    const auto chosen = chosen_for(spec, device);
    auto taken = std::numeric_limits<double>::infinity(), least = taken;
    for (double microseconds = 0; words >> schedule >> variant >> microseconds;) {
        least = std::min(least, microseconds);
        if (schedule == chosen.schedule.name && variant == chosen.variant) taken = microseconds;
    }
    INFO(line, "\nauto takes ", chosen.schedule.name, " ", chosen.variant, "; where the line has no time of it, measure it");
    CHECK(taken <= max_regret * least);
    return taken / least;
}

}  // namespace

TEST_CASE("auto takes what was measured to be within 3 % of the fastest of fastest.txt") {
    std::ifstream file(FASTEST_FILE);
    int problems = 0;
    double logarithms = 0;
    std::string device;
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line.front() == '#') continue;
        if (line.starts_with("device ")) {
            device = line.substr(line.find(' ') + 1);
            continue;
        }
        if (++problems % test::thinning == 0) logarithms += std::log(regret_of(line, device));
    }
    CHECK(problems >= 60);
    if (test::thinning == 1) CHECK(std::exp(logarithms / problems) <= max_mean_regret);
}
