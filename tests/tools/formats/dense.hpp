#pragma once
#include "tests/support/test.hpp"
#include "tools/formats/assemble.hpp"

/// One member of a System as a dense matrix, from the lower triangle unless it is general: what oracles factor.
inline Eigen::MatrixXd dense_matrix(const trifold::formats::System& system, std::int64_t member = 0) {
    const auto n = system.block, horizon = system.horizon;
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n * horizon, n * horizon);
    for (std::int64_t i = 0; i < horizon; ++i) {
        for (std::int64_t r = 0; r < n; ++r) {
            for (std::int64_t c = 0; c < n; ++c) {
                const auto row = system.general ? r : std::max(r, c), column = system.general ? c : std::min(r, c);
                a(i * n + r, i * n + c) = system.d[static_cast<std::size_t>(((member * horizon + i) * n + row) * n + column)];
                if (i == system.couplings()) continue;
                const auto at = static_cast<std::size_t>(((member * system.couplings() + i) * n + r) * n + c);
                const auto ahead = (i + 1) % horizon * n;
                a(ahead + r, i * n + c) = system.e[at];
                (system.general ? a(i * n + r, ahead + c) : a(i * n + c, ahead + r)) = system.general ? system.u[at] : system.e[at];
            }
        }
    }
    return a;
}
