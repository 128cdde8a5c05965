#include "tools/bench/regret/points.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>

namespace trifold::regret {
namespace {

constexpr std::array blocks{4, 6, 8, 12, 17, 20, 24, 32, 40, 48, 64, 96, 128};
constexpr std::array horizons{8, 16, 50, 128, 512};
constexpr std::array systems{1, 4, 16, 64, 256, 1024, 4096};
constexpr std::array precisions{Precision::f64, Precision::f32};

/// The same points with a step of about 0.618 of their number from one to the next: the beginnings of such a series lie evenly.
std::vector<Point> spread(const std::vector<Point>& points) {
    const auto count = points.size();
    auto step = static_cast<std::size_t>(std::lround(0.618 * static_cast<double>(count)));
    while (count > 0 && std::gcd(step, count) != 1) ++step;
    std::vector<Point> result;
    for (std::size_t k = 0; k < count; ++k) result.push_back(points[k * step % count]);
    return result;
}

}  // namespace

std::string to_string(const Point& point) { return bench::to_string(point.size) + " " + std::string(to_string(point.precision)); }

Spec spec_of(const Point& point, const Operations& operations) {
    return {.block = point.size.block,
            .horizon = point.size.horizon,
            .precision = point.precision,
            .batch = point.size.batch,
            .operations = operations};
}

std::int64_t data_bytes(const Point& point) {
    const auto& [horizon, block, batch] = point.size;
    return (2 * horizon - 1) * block * block * batch * element_bytes(point.precision);
}

std::vector<Point> points(int thin, std::int64_t most_bytes) {
    std::vector<Point> result;
    for (std::size_t n = 0; n < blocks.size(); ++n)
        for (std::size_t h = 0; h < horizons.size(); ++h)
            for (std::size_t s = 0; s < systems.size(); ++s)
                for (std::size_t p = 0; p < precisions.size(); ++p) {
                    if ((n + h + s + p) % static_cast<std::size_t>(thin) != 0) continue;
                    const Point point{{horizons[h], blocks[n], systems[s]}, precisions[p]};
                    if (data_bytes(point) <= most_bytes) result.push_back(point);
                }
    return spread(result);
}

std::vector<Point> points_of(const std::vector<bench::Size>& sizes) {
    std::vector<Point> result;
    for (const auto precision : precisions)
        for (const auto& size : sizes) result.push_back({size, precision});
    return result;
}

}  // namespace trifold::regret
