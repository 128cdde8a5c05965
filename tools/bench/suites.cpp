#include "tools/bench/suites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <trifold/error.hpp>

#include "generator/program/fields.hpp"

namespace trifold::bench {
namespace {

/// One N and many n, or one n and many N.
std::vector<Size> sizes(const std::vector<std::int64_t>& horizons, const std::vector<std::int64_t>& blocks) {
    std::vector<Size> result;
    for (const auto block : blocks)
        for (const auto horizon : horizons) result.push_back({horizon, block});
    return result;
}

/// Primes, 2^k - 1 and 2^k + 1 belong in the series because solvers slow down there.
std::vector<Suite> make_suites() {
    return {
        {"table1",
         "N n = 262144, the sizes of BlockDSS, table 1",
         Mode::throughput,
         "dominant",
         {{8192, 32}, {4096, 64}, {2048, 128}, {1024, 256}, {512, 512}, {256, 1024}}},
        {"latency",
         "factor_solve called at a given rate with idle gaps, by the host's clock and, kernels alone, by the device's",
         Mode::latency,
         "dominant",
         {{20, 6}, {32, 12}, {128, 32}, {512, 32}}},
        {"long", "small blocks, long horizons", Mode::throughput, "dominant", sizes({100000, 262144, 1000000}, {1, 2, 4, 8})},
        {"horizon", "n = 32, N from 16 to 8192", Mode::throughput, "dominant",
         sizes({16, 17, 31, 32, 61, 64, 127, 128, 129, 251, 256, 509, 511, 512, 513, 1021, 1024, 2048, 4093, 4096, 8192}, {32})},
        {"block", "N = 512, n from 4 to 128, odd ones too", Mode::throughput, "dominant",
         sizes({512}, {4,  5,  7,  8,  11, 12, 13, 16, 17, 20, 23, 24, 27, 28,  31,  32,  33,  36,
                       40, 47, 48, 53, 56, 61, 63, 64, 65, 72, 80, 88, 96, 104, 112, 120, 127, 128})},
        {"batch",
         "many small systems",
         Mode::throughput,
         "dominant",
         {{16, 2, 65536}, {16, 4, 65536}, {32, 8, 16384}, {32, 12, 1024}, {32, 12, 16384}, {31, 13, 16384}, {64, 16, 8192}, {8, 32, 8192}}},
        {"kalman", "Kalman smoothing, N = 100, n = 256", Mode::throughput, "kalman", {{100, 256}}},
        {"cpu", "N = 128, n from 4 to 128", Mode::throughput, "dominant", sizes({128}, {4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128})},
        {"compile", "making a Plan with an empty cache, and from the cache", Mode::compile, "dominant",
         sizes({128}, {4, 8, 12, 32, 64, 128})},
        {"accuracy", "the worst residual of every schedule and problem of the field", Mode::accuracy, "",
         sizes({1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 100}, {1, 2, 3, 4, 6, 7, 8, 12, 16, 24, 31, 32, 33, 48, 64, 96, 128})},
        {"messages", "messages that all ranks send to the next one at once; give --ranks", Mode::messages, "dominant", {{1, 1}}},
    };
}

}  // namespace

const std::vector<Suite>& suites() {
    static const auto all = make_suites();
    return all;
}

std::string to_string(const Size& size) {
    return size.batch == 1 ? fmt::format("{}x{}", size.horizon, size.block) : fmt::format("{}x{}x{}", size.horizon, size.block, size.batch);
}

Size parse_size(std::string_view text) {
    if (const auto numbers = parse_numbers(text, 2)) return {(*numbers)[0], (*numbers)[1], (*numbers)[2]};
    throw SpecError(fmt::format("size '{}' is not Nxn or Nxnxbatch, such as 512x32 (N blocks of n by n) or 32x12x1024 (systems)", text));
}

std::optional<std::array<std::int64_t, 3>> parse_numbers(std::string_view text, std::size_t least) {
    auto numbers = trifold::parse_size(text, least, 3);
    if (numbers.empty() || std::ranges::min(numbers) < 1) return std::nullopt;
    numbers.resize(3, 1);
    return std::array{numbers[0], numbers[1], numbers[2]};
}

const std::vector<std::array<std::int64_t, 3>>& image_sizes() {
    static const std::vector<std::array<std::int64_t, 3>> all{{65, 65, 64},  {129, 129, 1}, {257, 257, 1},
                                                              {513, 513, 1}, {509, 521, 1}, {1025, 1025, 1}};
    return all;
}

std::vector<Size> quick(const std::vector<Size>& sizes) {
    std::vector<Size> result;
    for (auto size : sizes) {
        auto& scaled = size.batch > 1 ? size.batch : size.horizon;
        scaled = std::max<std::int64_t>(scaled / 64, 3);
        if (std::ranges::find(result, size) == result.end()) result.push_back(size);
    }
    return result;
}

}  // namespace trifold::bench
