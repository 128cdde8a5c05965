#pragma once
#include <cstdint>
#include <random>

namespace trifold::problems {

/// Seeded numbers that do not depend on the standard library: the engine's sequence is fixed by the C++ standard, its
/// distributions are not, so these are our own.
class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    double uniform();  ///< in [0, 1), 53 bits
    double normal();   ///< mean 0, variance 1, by Marsaglia's polar method

  private:
    std::mt19937_64 engine_;
    double spare_ = 0;
    bool has_spare_ = false;
};

}  // namespace trifold::problems
