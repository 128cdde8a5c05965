#pragma once
#include <array>
#include <cstdint>
#include <optional>
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
/// `least` to three positive numbers with an x between them; the third is 1 where it is not given. Nothing where the text is something
/// else.
std::optional<std::array<std::int64_t, 3>> parse_numbers(std::string_view text, std::size_t least);

/// How a suite is timed: operations one after another; single calls at a given rate, by the host's clock; the making of a Plan; messages
/// between ranks. In `accuracy` only residuals count.
enum class Mode { throughput, latency, compile, messages, accuracy };

struct Suite {
    std::string_view name, purpose;
    Mode mode;
    std::string_view problem;  ///< see problems::make
    std::vector<Size> sizes;
};
const std::vector<Suite>& suites();

/// Width, height and the batch of images. Sides of 2^k + 1, which halve evenly, and primes, which do not; a batch of small images.
const std::vector<std::array<std::int64_t, 3>>& image_sizes();

/// Sizes as given, but with N or, in a batch, the number of systems divided by 64, each once.
std::vector<Size> quick(const std::vector<Size>& sizes);

}  // namespace trifold::bench
