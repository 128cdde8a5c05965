#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trifold::bench {

/// N blocks of n by n, `batch` systems.
struct Size {
    std::int64_t horizon, block, batch = 1;
    bool operator==(const Size&) const = default;
};
std::string to_string(const Size& size);
/// "512x32" or "32x12x16384": N, n and the batch. Throws SpecError.
Size parse_size(std::string_view text);

/// What is timed: operations one after another; single calls at a given rate, by the host's clock; or the making of a Plan.
enum class Mode { throughput, latency, compile };

struct Suite {
    std::string_view name, purpose;
    Mode mode;
    std::string_view problem;  ///< see problems::make
    std::vector<Size> sizes;
};
const std::vector<Suite>& suites();
/// Throws SpecError listing the suites.
const Suite& find_suite(std::string_view name);

/// The same sizes with N or, in a batch, the number of systems divided by 64, each once.
std::vector<Size> quick(const std::vector<Size>& sizes);

}  // namespace trifold::bench
