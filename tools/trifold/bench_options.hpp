#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/statistics.hpp"

namespace trifold::command {

/// What the command line of `bench` says.
struct BenchOptions {
    std::vector<std::string> suites, sizes, schedules{"auto"}, variants{"auto"}, peers{"all"};
    std::vector<double> rates{500};
    std::string device = "auto", precision = "both", matrix, output;
    std::int64_t rhs = 1;
    int workers = 0;
    double seconds = 0;
    std::optional<double> tolerance;
    std::optional<std::uint64_t> seed;
    bool quick = false, samples = false;
};

/// Median, quantiles and ends of the runs.
nlohmann::ordered_json seconds_json(const bench::Statistics& seconds);

/// The suite of images, which stands alone: its sizes and options are others. Returns the exit status.
int bench_images(const BenchOptions& options, bool json);

}  // namespace trifold::command
