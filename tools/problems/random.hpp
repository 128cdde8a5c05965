#pragma once
#include <cmath>
#include <cstdint>
#include <random>

namespace trifold::problems {

/// Seeded numbers that do not depend on the standard library: the engine's sequence is fixed by the C++ standard, its
/// distributions are not, so these are our own.
class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    /// In [0, 1), 53 bits.
    double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
    /// In [-1, 1).
    double signed_uniform() { return 2 * uniform() - 1; }
    /// Mean 0, variance 1, by Marsaglia's polar method.
    double normal() {
        while (!has_spare_) {
            const auto u = signed_uniform(), v = signed_uniform(), square = u * u + v * v;
            if (square >= 1 || square == 0) continue;
            const auto scale = std::sqrt(-2 * std::log(square) / square);
            spare_ = v * scale;
            has_spare_ = true;
            return u * scale;
        }
        has_spare_ = false;
        return spare_;
    }

  private:
    std::mt19937_64 engine_;
    double spare_ = 0;
    bool has_spare_ = false;
};

}  // namespace trifold::problems
