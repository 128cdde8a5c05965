#pragma once
#include <fmt/format.h>

#include "tests/support/cpu/call.hpp"
#include "tests/support/cpu/checks.hpp"
#include "tests/support/emulator/unit.hpp"

namespace trifold::test {

template <class Real>
using Emulated = Call<Real, EmulatedUnit>;

/// One way of running them suffices for most, since the detector needs no luck: every case takes the next.
inline Running next_running() {
    static unsigned count = 0;
    constexpr test::Order orders[] = {test::Order::random, test::Order::forward, test::Order::reverse};
    ++count;
    return {orders[count % 3], count, 1 + static_cast<int>(count % 4)};
}

inline void check_findings(const EmulatedUnit& unit) {
    for (const auto& finding : unit.findings()) FAIL_CHECK(finding);
}

}  // namespace trifold::test
