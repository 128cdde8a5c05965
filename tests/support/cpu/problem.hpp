#pragma once
#include <Eigen/Dense>
#include <cstdint>
#include <limits>
#include <random>
#include <trifold/schedule.hpp>
#include <trifold/spec.hpp>
#include <vector>

namespace trifold::test {

/// The Spec, with D and E loaded ahead and overwritten.
inline Spec that_loads(Spec spec) {
    spec.operations.insert(Operation::load);
    return spec;
}

using Matrix = Eigen::MatrixXd;

/// One positive definite system by blocks, in double, and the right-hand sides.
struct System {
    std::vector<Matrix> d, e;
    Matrix b;
    Matrix dense() const;
};

/// A = L L' with L block bidiagonal: condition a few hundred.
System random_system(std::int64_t n, std::int64_t horizon, std::int64_t rhs, unsigned seed);

/// Turns the signs of entries between two rows of negative `sign_of_row`: A is quasi-definite, with pivots of both signs in every order.
System quasi_definite(System system);
/// The sign of a row's pivot there. It has no period of a tile, so that another column's sign in its place is noticed.
inline double sign_of_row(std::int64_t block, Eigen::Index row) { return (block + row * row / 3) % 2 == 0 ? 1 : -1; }

/// Rows of A in the order in which the schedule eliminates them.
std::vector<Eigen::Index> elimination_order(const Schedule& schedule, Eigen::Index n);

/// P A P' = L S L' in the order of the schedule, where the diagonal of L has the signs S.
struct Factored {
    Matrix l;
    Eigen::VectorXd signs;
    Eigen::VectorXd sums;  ///< of each row: the size of its diagonal entry, and the squares of L left of the diagonal
    Eigen::VectorXd pivots() const { return l.diagonal().array().square(); }
};
Factored factored(const System& system, const Schedule& schedule);

/// S L^-1 P b, rows back at their blocks, for the elimination order of the schedule.
Matrix forward_oracle(const System& system, const Schedule& schedule);

/// The least of the pivots in that order, each over its diagonal entry of A; of both signs, over the sum of its row.
double least_pivot_oracle(const System& system, const Schedule& schedule);

/// A random walk x(i+1) = x(i) + noise, without a prior on x(0): A is singular, of rank n (N - 1). Noise has a random covariance, the same
/// at all stages. `anchor`, relative to the diagonal entries of block 0, is added to these: then A is positive definite. With `units`, rows
/// and columns are scaled alike by random powers of ten, 1e-5 to 1e5. Data are rounded to the precision.
System random_walk(std::int64_t n, std::int64_t horizon, double anchor, bool units, Precision precision, unsigned seed);
/// Rows and columns scaled alike by random powers of two, 2^-10 to 2^10.
System scaled_by_powers_of_two(System system, unsigned seed);

/// ||A x - b|| / (||A|| ||x|| + ||b||), infinity norms.
double relative_residual(const Matrix& a, const Matrix& x, const Matrix& b);

/// The user's arrays in the Spec's layout; what no element occupies is NaN, and so is D above its diagonal.
template <class Real>
struct Arrays {
    std::vector<Real> d, e, b;
};

template <class Real>
void scatter(std::vector<Real>& target, const Strides& strides, std::int64_t member, std::int64_t block, const Matrix& a, bool lower) {
    for (Eigen::Index r = 0; r < a.rows(); ++r)
        for (Eigen::Index c = 0; c < (lower ? r + 1 : a.cols()); ++c)
            target[static_cast<std::size_t>(member * strides.member + block * strides.stage + r * strides.row + c * strides.column)] =
                static_cast<Real>(a(r, c));
}

template <class Real>
Arrays<Real> arrays(const Spec& spec, const std::vector<System>& systems) {
    const auto members = static_cast<std::int64_t>(systems.size());
    const auto nan = std::numeric_limits<Real>::quiet_NaN();
    const auto columns = systems[0].b.cols();
    const auto size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
    Arrays<Real> result;
    result.d.assign(size(diagonal_extent(spec, members)), nan);
    result.e.assign(size(coupling_extent(spec, members)), nan);
    result.b.assign(size(rhs_extent(spec, members, columns)), nan);
    for (std::int64_t m = 0; m < members; ++m) {
        const auto& system = systems[size(m)];
        for (std::int64_t i = 0; i < spec.horizon; ++i) {
            scatter(result.d, diagonal_strides(spec), m, i, system.d[size(i)], true);
            if (i + 1 < spec.horizon) scatter(result.e, coupling_strides(spec), m, i, system.e[size(i)], false);
            scatter(result.b, rhs_strides(spec, columns), m, i, system.b.middleRows(i * spec.block, spec.block), false);
        }
    }
    return result;
}

/// The right-hand sides of one member, from the user's layout.
template <class Real>
Matrix gather(const Spec& spec, const std::vector<Real>& x, std::int64_t member, std::int64_t columns) {
    const auto strides = rhs_strides(spec, columns);
    Matrix result(spec.horizon * spec.block, columns);
    for (std::int64_t i = 0; i < spec.horizon; ++i)
        for (std::int64_t r = 0; r < spec.block; ++r)
            for (std::int64_t c = 0; c < columns; ++c)
                result(i * spec.block + r, c) = static_cast<double>(
                    x[static_cast<std::size_t>(member * strides.member + i * strides.stage + r * strides.row + c * strides.column)]);
    return result;
}

}  // namespace trifold::test
