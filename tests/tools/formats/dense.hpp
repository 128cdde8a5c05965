#pragma once
#include "tests/support/test.hpp"
#include "tools/formats/assemble.hpp"

/// One member of a System as a dense matrix, from the lower triangle: what oracles factor.
inline Eigen::MatrixXd dense_matrix(const trifold::formats::System& system, std::int64_t member = 0) {
    const auto n = system.block, horizon = system.horizon;
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n * horizon, n * horizon);
    for (std::int64_t i = 0; i < horizon; ++i) {
        for (std::int64_t r = 0; r < n; ++r) {
            for (std::int64_t c = 0; c < n; ++c) {
                a(i * n + r, i * n + c) =
                    system.d[static_cast<std::size_t>(((member * horizon + i) * n + std::max(r, c)) * n + std::min(r, c))];
                if (i + 1 == horizon) continue;
                const auto value = system.e[static_cast<std::size_t>(((member * (horizon - 1) + i) * n + r) * n + c)];
                a((i + 1) * n + r, i * n + c) = a(i * n + c, (i + 1) * n + r) = value;
            }
        }
    }
    return a;
}
