// Chains with a border on a device, against a dense factorization.
#include "tests/support/border.hpp"

#include "tests/device/device.hpp"

using namespace trifold;
using namespace trifold::test;

TEST_CASE("device: a border agrees with a dense factorization") {
    const auto where = device();
    if (!where) return;
    const std::int64_t borders[]{1, 2, 3, 7, 8, 16, 33, 64, 200, 512}, blocks[]{1, 3, 8, 17, 32, 48, 97}, horizons[]{1, 2, 3, 7, 64, 129};
    std::size_t k = 0;
    for (const auto a : borders)
        for (const auto n : blocks) {
            const auto horizon = horizons[k++ % std::size(horizons)];
            if (n * horizon > 2100 || k % 2 == 0) continue;
            const Spec spec{.block = n, .horizon = horizon, .rhs = k % 3 == 0 ? 3 : 1, .batch = k % 4 == 1 ? 3 : 1, .border = a};
            if (k % 5 == 0)
                check_border<float>(spec, *where, {}, static_cast<unsigned>(k));
            else
                check_border<double>(spec, *where, {}, static_cast<unsigned>(k));
        }
}
