#include "tools/problems/random.hpp"

#include <cmath>

namespace trifold::problems {

double Random::uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

double Random::normal() {
    if (has_spare_) {
        has_spare_ = false;
        return spare_;
    }
    for (;;) {
        const auto u = 2 * uniform() - 1, v = 2 * uniform() - 1;
        const auto square = u * u + v * v;
        if (square >= 1 || square == 0) continue;
        const auto scale = std::sqrt(-2 * std::log(square) / square);
        spare_ = v * scale;
        has_spare_ = true;
        return u * scale;
    }
}

}  // namespace trifold::problems
