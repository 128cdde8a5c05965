#include "tools/problems/problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <trifold/error.hpp>

#include "tools/problems/random.hpp"

namespace trifold::problems {
namespace {

using formats::System;
using Matrix = std::vector<double>;  // row-major

Matrix filled(std::int64_t count, auto&& next) {
    Matrix result(static_cast<std::size_t>(count));
    for (auto& value : result) value = next();
    return result;
}

Matrix transposed(const Matrix& a, std::int64_t rows, std::int64_t columns) {
    Matrix result(a.size());
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j)
            result[static_cast<std::size_t>(j * rows + i)] = a[static_cast<std::size_t>(i * columns + j)];
    }
    return result;
}

/// c += a b, with a rows by inner and b inner by columns.
void multiply(const double* a, const double* b, double* c, std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t k = 0; k < inner; ++k) {
            const auto factor = a[i * inner + k];
            for (std::int64_t j = 0; j < columns; ++j) c[i * columns + j] += factor * b[k * columns + j];
        }
    }
}

Matrix product(const Matrix& a, const Matrix& b, std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    Matrix result(static_cast<std::size_t>(rows * columns));
    multiply(a.data(), b.data(), result.data(), rows, inner, columns);
    return result;
}

/// Sums in different orders may round differently: take the lower triangle for both.
void mirror(double* a, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) a[j * n + i] = a[i * n + j];
    }
}

/// One member of a System being filled.
struct Member {
    std::int64_t n, horizon, m;
    double *d, *e, *b;
    double* diagonal(std::int64_t i) const { return d + i * n * n; }
    double* coupling(std::int64_t i) const { return e + i * n * n; }
    double* rhs(std::int64_t i) const { return b + i * n * m; }
};

void fill_socu(const Member& a, Random& random) {
    const auto n = a.n;
    Matrix below;  // L_{i,i-1}
    for (std::int64_t i = 0; i < a.horizon; ++i) {
        Matrix factor(static_cast<std::size_t>(n * n));
        for (std::int64_t r = 0; r < n; ++r) {
            for (std::int64_t c = 0; c <= r; ++c) factor[static_cast<std::size_t>(r * n + c)] = random.uniform() + (r == c ? 10 : 0);
        }
        const auto factor_transposed = transposed(factor, n, n);
        multiply(factor.data(), factor_transposed.data(), a.diagonal(i), n, n, n);
        if (i > 0) multiply(below.data(), transposed(below, n, n).data(), a.diagonal(i), n, n, n);
        mirror(a.diagonal(i), n);
        if (i + 1 < a.horizon) {
            below = filled(n * n, [&] { return random.uniform(); });
            multiply(below.data(), factor_transposed.data(), a.coupling(i), n, n, n);
        }
    }
    for (std::int64_t k = 0; k < a.horizon * n * a.m; ++k) a.b[k] = random.uniform();
}

/// b = A x.
void set_rhs(const Member& a, const Matrix& x) {
    const auto n = a.n, m = a.m;
    for (std::int64_t i = 0; i < a.horizon; ++i) {
        multiply(a.diagonal(i), x.data() + i * n * m, a.rhs(i), n, n, m);
        if (i == 0) continue;
        multiply(a.coupling(i - 1), x.data() + (i - 1) * n * m, a.rhs(i), n, n, m);
        const auto upper = transposed(Matrix(a.coupling(i - 1), a.coupling(i - 1) + n * n), n, n);
        multiply(upper.data(), x.data() + i * n * m, a.rhs(i - 1), n, n, m);
    }
}

void fill_blockdss(const Member& a, Random& random) {
    const auto n = a.n;
    for (std::int64_t i = 0; i < a.horizon; ++i) {
        const auto factor = filled(n * n, [&] { return random.normal(); });
        multiply(factor.data(), transposed(factor, n, n).data(), a.diagonal(i), n, n, n);
        for (std::int64_t r = 0; r < n; ++r) a.diagonal(i)[r * n + r] += static_cast<double>(n);
        mirror(a.diagonal(i), n);
    }
    for (std::int64_t k = 0; k < (a.horizon - 1) * n * n; ++k) a.e[k] = random.normal();
    set_rhs(a, filled(a.horizon * n * a.m, [&] { return random.uniform(); }));
}

void fill_dominant(const Member& a, Random& random) {
    const auto n = a.n;
    const auto next = [&] { return random.signed_uniform(); };
    for (std::int64_t i = 0; i < a.horizon; ++i) {
        auto* d = a.diagonal(i);
        for (std::int64_t r = 0; r < n; ++r) {
            for (std::int64_t c = 0; c < r; ++c) d[r * n + c] = d[c * n + r] = next();
            d[r * n + r] = 3 * static_cast<double>(n) + random.uniform();
        }
    }
    std::generate_n(a.e, (a.horizon - 1) * n * n, next);
    std::generate_n(a.b, a.horizon * n * a.m, next);
}

/// Rows of a normal matrix made orthonormal by Gram-Schmidt, twice for accuracy.
Matrix random_orthogonal(std::int64_t n, Random& random) {
    auto u = filled(n * n, [&] { return random.normal(); });
    for (std::int64_t i = 0; i < n; ++i) {
        auto* row = u.data() + i * n;
        for (std::int64_t k = 0; k < 2 * i; ++k) {
            const auto* other = u.data() + k % i * n;
            double dot = 0;
            for (std::int64_t j = 0; j < n; ++j) dot += row[j] * other[j];
            for (std::int64_t j = 0; j < n; ++j) row[j] -= dot * other[j];
        }
        double square = 0;
        for (std::int64_t j = 0; j < n; ++j) square += row[j] * row[j];
        for (std::int64_t j = 0; j < n; ++j) row[j] /= std::sqrt(square);
    }
    return u;
}

/// A model that is the same at every step.
struct KalmanModel {
    std::int64_t n, observations;
    Matrix transition, observe, noise_root, precision;  // G, H, a root of Q, Q^-1
};

KalmanModel kalman_model(std::int64_t n, Random& random) {
    constexpr double damping = 0.98, noise = 0.04;
    KalmanModel model{n, 4 * n, Matrix(static_cast<std::size_t>(n * n)), {}, {}, {}};
    for (std::int64_t k = 0; k < n; k += 2) {
        const auto angle = std::numbers::pi * (0.02 + 0.2 * random.uniform());
        auto* g = model.transition.data() + k * n + k;
        g[0] = g[n + 1] = damping * std::cos(angle);
        g[n] = damping * std::sin(angle);
        g[1] = -g[n];
    }
    const auto scale = 1 / std::sqrt(static_cast<double>(n));
    model.observe = filled(model.observations * n, [&] { return random.normal() * scale; });
    const auto u = random_orthogonal(n, random);  // rows are the eigenvectors of Q
    Matrix root(u.size()), inverse(u.size());
    for (std::int64_t k = 0; k < n; ++k) {
        const auto eigenvalue = noise * (n == 1 ? 1 : 0.5 + static_cast<double>(k) / static_cast<double>(n - 1));
        for (std::int64_t j = 0; j < n; ++j) {
            const auto at = static_cast<std::size_t>(k * n + j);
            root[at] = u[at] * std::sqrt(eigenvalue);
            inverse[at] = u[at] / eigenvalue;
        }
    }
    model.noise_root = transposed(root, n, n);
    model.precision = product(transposed(u, n, n), inverse, n, n, n);
    mirror(model.precision.data(), n);
    return model;
}

/// b_k = H' z_k (+ Q^-1 G x_0 at the first step, whose state is x_0 = 0 here) for one simulated path a column.
void simulate_kalman(const Member& a, const KalmanModel& model, Random& random) {
    const auto n = a.n, m = a.m;
    const auto observe_transposed = transposed(model.observe, model.observations, n);
    Matrix state(static_cast<std::size_t>(n * m));
    for (std::int64_t i = 0; i < a.horizon; ++i) {
        auto next = product(model.transition, state, n, n, m);
        const auto shock = filled(n * m, [&] { return random.normal(); });
        multiply(model.noise_root.data(), shock.data(), next.data(), n, n, m);
        state = std::move(next);
        auto observed = filled(model.observations * m, [&] { return random.normal(); });
        multiply(model.observe.data(), state.data(), observed.data(), model.observations, n, m);
        multiply(observe_transposed.data(), observed.data(), a.rhs(i), n, model.observations, m);
    }
}

void fill_kalman(const Member& a, Random& random) {
    const auto n = a.n;
    if (n % 2 != 0) throw SpecError(fmt::format("the Kalman problem is made of plane rotations; n = {} is odd, give an even n", n));
    const auto model = kalman_model(n, random);
    auto last = product(transposed(model.observe, model.observations, n), model.observe, n, model.observations, n);  // H' H
    for (std::size_t k = 0; k < last.size(); ++k) last[k] += model.precision[k];
    mirror(last.data(), n);
    auto coupling = product(model.precision, model.transition, n, n, n);  // Q^-1 G
    auto inner = last;
    multiply(transposed(model.transition, n, n).data(), coupling.data(), inner.data(), n, n, n);
    mirror(inner.data(), n);
    for (std::int64_t i = 0; i < a.horizon; ++i) {
        const auto& diagonal = i + 1 < a.horizon ? inner : last;
        std::copy(diagonal.begin(), diagonal.end(), a.diagonal(i));
        for (std::int64_t k = 0; i + 1 < a.horizon && k < n * n; ++k) a.coupling(i)[k] = -coupling[static_cast<std::size_t>(k)];
    }
    simulate_kalman(a, model, random);
}

System build(const Sizes& sizes, std::uint64_t seed, void (*fill)(const Member&, Random&)) {
    validate({.block = sizes.block, .horizon = sizes.horizon, .rhs = sizes.rhs, .batch = sizes.batch});
    const auto n = sizes.block, rows = n * sizes.horizon, blocks = rows * n, couplings = blocks - n * n, rhs = rows * sizes.rhs;
    const auto zeros = [&](std::int64_t each) { return Matrix(static_cast<std::size_t>(each * sizes.batch)); };
    System system{n, sizes.horizon, sizes.rhs, sizes.batch, rows, zeros(blocks), zeros(couplings), zeros(rhs), {}};
    for (std::int64_t k = 0; k < sizes.batch; ++k) {
        Random random(seed + static_cast<std::uint64_t>(k));
        fill({n, sizes.horizon, sizes.rhs, system.d.data() + k * blocks, system.e.data() + k * couplings, system.b.data() + k * rhs},
             random);
    }
    return system;
}

/// Numbers of each member, other ones for each use.
Matrix numbers(const System& system, std::int64_t each, std::uint64_t seed, std::uint64_t use) {
    Matrix all;
    for (std::int64_t member = 0; member < system.batch; ++member) {
        Random random(seed + static_cast<std::uint64_t>(member) + (use << 32));
        const auto own = filled(each, [&] { return random.signed_uniform(); });
        all.insert(all.end(), own.begin(), own.end());
    }
    return all;
}
void raise_diagonals(System& system, std::int64_t by) {
    const auto n = system.block;
    for (std::int64_t row = 0; row < system.batch * system.chain_rows(); ++row)
        system.d[static_cast<std::size_t>(row * n + row % n)] += static_cast<double>(by);
}

}  // namespace

void close_ring(System& system, std::uint64_t seed) {
    const auto square = system.block * system.block, each = (system.horizon - 1) * square;
    const auto closing = numbers(system, square, seed, 1);
    Matrix e;
    for (std::int64_t member = 0; member < system.batch; ++member) {
        e.insert(e.end(), system.e.begin() + member * each, system.e.begin() + (member + 1) * each);
        e.insert(e.end(), closing.begin() + member * square, closing.begin() + (member + 1) * square);
    }
    system.e = std::move(e);
    system.ring = true;
    raise_diagonals(system, 2 * system.block);
}

void add_band(System& system, std::int64_t bandwidth, bool ring, std::uint64_t seed) {
    system.e = numbers(system, system.chain_rows() * bandwidth * system.block, seed, 2);
    system.bandwidth = bandwidth;
    system.ring = ring;
    raise_diagonals(system, 2 * bandwidth * system.block);
}

void add_border(System& system, std::int64_t border, std::uint64_t seed) {
    const auto rows = system.chain_rows();
    const auto chain = system.b;
    system.f = numbers(system, rows * border, seed, 3);
    system.c.assign(static_cast<std::size_t>(system.batch * border * border), 0);
    for (std::int64_t row = 0; row < system.batch * border; ++row)
        system.c[static_cast<std::size_t>(row * border + row % border)] = static_cast<double>(4 * rows);
    system.border = border;
    system.rows += border;
    system.b = formats::joined(system.batch, chain, numbers(system, border * system.rhs, seed, 4));
}

void take_kind(System& system, MatrixKind kind, std::uint64_t seed) {
    const auto n = system.block, square = n * n, half = (n + 1) / 2;
    if (kind == MatrixKind::symmetric)
        for (auto* values : {&system.d, &system.e})
            for (std::int64_t k = 0; k < std::ssize(*values); ++k)
                if (k % square / n >= half && k % n >= half) (*values)[static_cast<std::size_t>(k)] *= -1;
    if (kind != MatrixKind::general) return;
    system.general = true;
    system.u.resize(system.e.size());
    const auto of_d = numbers(system, system.horizon * square, seed, 5), of_e = numbers(system, system.couplings() * square, seed, 6);
    for (std::size_t k = 0; k < of_d.size() + of_e.size(); ++k) {
        const auto at = static_cast<std::int64_t>(k < of_d.size() ? k : k - of_d.size()), row = at % square / n, column = at % n;
        const auto here = static_cast<std::size_t>(at), mirrored = static_cast<std::size_t>(at - at % square + column * n + row);
        if (k >= of_d.size()) {
            system.u[mirrored] = system.e[here] - of_e[here];
            system.e[here] += of_e[here];
        } else if (row > column) {
            system.d[here] += of_d[here];
            system.d[mirrored] -= of_d[here];
        }
    }
}

std::vector<int> counts(std::int64_t count, std::int64_t most, std::uint64_t seed) {
    Random random(seed);
    std::vector<int> all(static_cast<std::size_t>(count));
    for (auto& one : all) one = 1 + static_cast<int>(random.uniform() * static_cast<double>(most));
    return all;
}

void shorten(System& system, const std::vector<int>& lengths, const std::vector<int>& sizes) {
    const auto n = system.block, horizon = system.horizon, a = system.border, m = system.rhs;
    const auto at = [](std::int64_t k) { return static_cast<std::size_t>(k); };
    for (std::int64_t block = 0; block < system.batch * horizon && lengths.size() + sizes.size() > 0; ++block) {
        const auto member = block / horizon, k = block % horizon;
        const auto rows = !lengths.empty() && k >= lengths[at(member)] ? 0 : sizes.empty() ? n : sizes[at(block)];
        for (auto r = rows; r < n; ++r) {
            const auto ahead = (member * (horizon - 1) + k) * n * n, before = ahead - n * n;  // E's blocks on both sides
            for (std::int64_t c = 0; c < n; ++c) {
                system.d[at((block * n + r) * n + c)] = system.d[at((block * n + c) * n + r)] = r == c ? 1 : 0;
                if (k > 0) system.e[at(before + r * n + c)] = 0;
                if (k + 1 < horizon) system.e[at(ahead + c * n + r)] = 0;
            }
            std::fill_n(system.b.begin() + (member * (horizon * n + a) + k * n + r) * m, m, 0.0);
            for (std::int64_t j = 0; j < a; ++j) system.f[at((block * a + j) * n + r)] = 0;
        }
    }
}

System make(std::string_view name, const Sizes& sizes, std::uint64_t seed) {
    static constexpr std::pair<std::string_view, void (*)(const Member&, Random&)> problems[]{
        {"socu", fill_socu}, {"blockdss", fill_blockdss}, {"dominant", fill_dominant}, {"kalman", fill_kalman}};
    for (const auto& [known, fill] : problems)
        if (name == known) return build(sizes, seed, fill);
    throw SpecError(fmt::format("unknown problem '{}'; give socu, blockdss, dominant or kalman", name));
}

}  // namespace trifold::problems
