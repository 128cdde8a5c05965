#pragma once
// Chains, bands and rings, with or without a border, of members and blocks of unequal length, at random, and their dense matrices.
#include <Eigen/Dense>
#include <random>
#include <trifold/solver.hpp>
#include <vector>

#include "tests/support/test.hpp"

namespace trifold::test {

inline bool has_signs(const Spec& spec) { return spec.matrix == MatrixKind::symmetric; }

template <class Real>
class ShapedProblem {
  public:
    using Matrix = Eigen::MatrixXd;

    /// Symmetric positive definite, or quasi-definite with pivots of both signs, times `scale`.
    ShapedProblem(const Spec& spec, unsigned seed, double scale = 1) : spec_(spec) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> number(-1, 1);
        const auto rows = spec.block * spec.horizon + spec.border;
        for (std::int64_t m = 0; m < spec.batch; ++m) {
            Matrix whole = Matrix::Zero(rows, rows);
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t j = 0; j <= i; ++j) {
                    const bool in_tip = i >= rows - spec.border;
                    const bool closes = spec.ring && i / spec.block + spec.bandwidth >= j / spec.block + spec.horizon;
                    if (!in_tip && !closes && i / spec.block > j / spec.block + spec.bandwidth) continue;
                    whole(i, j) = whole(j, i) = number(random);
                }
            whole.diagonal() = whole.cwiseAbs().rowwise().sum() + Eigen::VectorXd::Constant(rows, 0.1);
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t j = 0; j < rows; ++j)
                    if (is_negative(i) && is_negative(j)) whole(i, j) = -whole(i, j);
            matrices_.push_back(whole * scale);
            for (std::int64_t k = 0; k < spec.horizon; ++k)
                for (std::int64_t w = 1; w <= spec.bandwidth; ++w) {
                    Matrix closing = Matrix::NullaryExpr(spec.block, spec.block, [&] { return number(random); });
                    if (w == spec.horizon)
                        closing = Matrix(closing - closing.transpose()) +
                                  whole.block(k * spec.block, k * spec.block, spec.block, spec.block) * 0.49999995;
                    closing_.push_back((closing * scale).unaryExpr([](double value) { return double{real(value)}; }));
                }
            rights_.push_back(Matrix::NullaryExpr(rows, spec.rhs, [&] { return number(random); }));
            const std::int64_t chosen[]{0, spec.horizon, 1, static_cast<std::int64_t>(random()) % (spec.horizon + 1)};
            lengths.push_back(static_cast<int>(spec.lengths ? chosen[(static_cast<std::size_t>(m) + seed) % 4] : spec.horizon));
            for (std::int64_t k = 0; k < spec.horizon; ++k) {
                const std::int64_t some[]{spec.block, 0, 1, static_cast<std::int64_t>(random()) % (spec.block + 1)};
                sizes.push_back(static_cast<int>(!spec.sizes ? spec.block : k < lengths.back() ? some[random() % 4] : spec.block + 9));
            }
        }
        store();
    }
    /// Whether a row has a negative pivot, in every order.
    bool is_negative(std::int64_t r) const { return has_signs(spec_) && (r / spec_.block + r * r / 3) % 2 == 1; }
    /// Gives each member the length and the sizes of the one before.
    void exchange_lengths() {
        std::ranges::rotate(lengths, lengths.end() - 1);
        std::ranges::rotate(sizes, sizes.end() - spec_.horizon);
        store();
    }
    /// Rows that a block has.
    std::int64_t rows_of(std::int64_t m, std::int64_t k) const {
        if (k >= lengths[static_cast<std::size_t>(m)]) return 0;
        return sizes[static_cast<std::size_t>(m * spec_.horizon + k)];
    }

    /// Writes the matrices to the arrays, as the Spec lays them out.
    void store() {
        const auto n = spec_.block, a = spec_.border, members = spec_.batch, last = n * spec_.horizon;
        const auto count = [](std::int64_t number) { return static_cast<std::size_t>(number); };
        d.assign(count(diagonal_extent(spec_, members)), 0);
        e.assign(count(coupling_extent(spec_, members)), spec_.bandwidth > 1 ? Real(NAN) : Real(0));
        b.assign(count(rhs_extent(spec_, members, spec_.rhs)), 0);
        x.assign(b.size(), NAN);
        f.assign(count(members * spec_.horizon * a * n), 0);
        c.assign(count(members * a * a), 0);
        tip_b.assign(count(members * a * spec_.rhs), 0);
        tip_x.assign(tip_b.size(), NAN);
        const auto ds = diagonal_strides(spec_), es = coupling_strides(spec_);
        for (std::int64_t m = 0; m < members; ++m) {
            auto& from = matrices_[count(m)];
            for (std::int64_t k = 0; k < spec_.horizon; ++k) {
                const auto diagonal = diagonal_of(m, k);
                for (std::int64_t w = 1; w <= spec_.bandwidth && k < couplings_of(spec_) && (spec_.ring || k + w < spec_.horizon); ++w) {
                    const auto coupling = coupling_of(m, k, w);
                    for (std::int64_t r = 0; r < n; ++r)
                        for (std::int64_t s = 0; s < n; ++s)
                            e[count(m * es.member + k * es.stage + (w - 1) * band_stride(spec_) + r * es.row + s * es.column)] =
                                real(coupling(r, s));
                }
                for (std::int64_t r = 0; r < n; ++r) {
                    for (std::int64_t s = 0; s < n; ++s)
                        d[count(m * ds.member + k * ds.stage + r * ds.row + s * ds.column)] = real(diagonal(r, s));
                    for (std::int64_t j = 0; j < a; ++j)
                        f[count(((m * spec_.horizon + k) * a + j) * n + r)] = real(from(last + j, k * n + r));
                }
            }
            for (std::int64_t i = 0; i < a; ++i)
                for (std::int64_t j = 0; j < a; ++j) c[count((m * a + i) * a + j)] = j > i ? Real(NAN) : real(from(last + i, last + j));
            for (std::int64_t r = 0; r < last + a; ++r)
                for (std::int64_t s = 0; s < spec_.rhs; ++s) {
                    rights_[count(m)](r, s) = real(rights_[count(m)](r, s));
                    (r < last ? b : tip_b)[place(m, r, s)] = real(rights_[count(m)](r, s));
                }
            for (auto& value : from.reshaped()) value = static_cast<double>(real(value));
            for (std::int64_t k = 0; k < spec_.horizon; ++k) spoil(m, k);
        }
    }
    /// Whether a row is one of a block's, or of the border's; all rows that are; and those that are not.
    bool is_row(std::int64_t m, std::int64_t r) const {
        return r >= spec_.horizon * spec_.block || r % spec_.block < rows_of(m, r / spec_.block);
    }
    std::vector<std::int64_t> rows(std::int64_t m, bool beyond = false) const {
        std::vector<std::int64_t> result;
        for (std::int64_t r = 0; r < spec_.horizon * spec_.block + spec_.border; ++r)
            if (is_row(m, r) != beyond) result.push_back(r);
        return result;
    }

    FactorOptions<Real> options() {
        return {.f = f.data(),
                .c = c.data(),
                .tip_b = tip_b.data(),
                .tip_x = tip_x.data(),
                .lengths = spec_.lengths ? lengths.data() : nullptr,
                .sizes = spec_.sizes ? sizes.data() : nullptr};
    }
    SweepOptions sweeps() {
        if (spec_.border == 0) return {};
        return {.tip_b = AnyArray(tip_b), .tip_x = AnyArray(tip_x)};
    }
    void factor_solve(Solver& solver) { solver.factor_solve<Real>(d, e, b, x, options()); }

    Matrix& matrix(std::int64_t member) { return matrices_[static_cast<std::size_t>(member)]; }
    auto corner(std::int64_t member) { return matrix(member).bottomRightCorner(spec_.border, spec_.border); }
    auto diagonal(std::int64_t member, std::int64_t k) {
        return matrix(member).block(k * spec_.block, k * spec_.block, spec_.block, spec_.block);
    }
    const Matrix& right(std::int64_t member) const { return rights_[static_cast<std::size_t>(member)]; }
    Matrix solution(std::int64_t member) const {
        const auto last = spec_.block * spec_.horizon;
        return Matrix::NullaryExpr(last + spec_.border, spec_.rhs, [&](std::int64_t r, std::int64_t s) {
            return static_cast<double>((r < last ? x : tip_x)[place(member, r, s)]);
        });
    }

    std::vector<Real> d, e, b, x, f, c, tip_b, tip_x;
    std::vector<int> lengths, sizes;

  private:
    const Matrix& closing_of(std::int64_t m, std::int64_t k, std::int64_t w) const {
        return closing_[static_cast<std::size_t>((m * spec_.horizon + k) * spec_.bandwidth + w - 1)];
    }
    /// Whether two of E's blocks of a ring are between the same two of A: those w blocks ahead of one, and those ahead of the other.
    bool is_twofold(std::int64_t w) const { return spec_.ring && spec_.horizon - w <= spec_.bandwidth; }
    /// D_k. Where a ring has no more blocks than it couples each to, each is coupled to itself.
    Matrix diagonal_of(std::int64_t m, std::int64_t k) {
        Matrix own = diagonal(m, k);
        if (spec_.ring && spec_.horizon <= spec_.bandwidth)
            own -= closing_of(m, k, spec_.horizon) + closing_of(m, k, spec_.horizon).transpose();
        return own;
    }
    /// The block of E that couples block k to the w-th next.
    Matrix coupling_of(std::int64_t m, std::int64_t k, std::int64_t w) {
        const auto n = spec_.block, to = (k + w) % spec_.horizon;
        if (is_twofold(w) && k + w >= spec_.horizon) return closing_of(m, k, w);
        Matrix own = matrix(m).block(to * n, k * n, n, n);
        if (is_twofold(w)) own -= closing_of(m, to, spec_.horizon - w).transpose();
        return own;
    }
    /// Makes what is beyond the rows of a block NaN.
    void spoil(std::int64_t m, std::int64_t k) {
        const auto ds = diagonal_strides(spec_), es = coupling_strides(spec_);
        const auto e_at = [&](std::int64_t i, std::int64_t r, std::int64_t s) -> Real& {
            return e[static_cast<std::size_t>(m * es.member + i * es.stage + r * es.row + s * es.column)];
        };
        for (std::int64_t r = rows_of(m, k); r < spec_.block; ++r) {
            for (std::int64_t s = 0; s < spec_.block; ++s) {
                for (const auto& [i, j] : {std::pair{r, s}, {s, r}})
                    d[static_cast<std::size_t>(m * ds.member + k * ds.stage + i * ds.row + j * ds.column)] = Real(NAN);
                if (k > 0) e_at(k - 1, r, s) = Real(NAN);
                if (k < couplings_of(spec_)) e_at(k, s, r) = Real(NAN);
            }
            for (std::int64_t s = 0; s < spec_.rhs; ++s) b[place(m, k * spec_.block + r, s)] = Real(NAN);
            for (std::int64_t j = 0; j < spec_.border; ++j)
                f[static_cast<std::size_t>(((m * spec_.horizon + k) * spec_.border + j) * spec_.block + r)] = Real(NAN);
        }
    }
    static Real real(double value) { return static_cast<Real>(value); }
    /// In B, or in its tip.
    std::size_t place(std::int64_t m, std::int64_t r, std::int64_t s) const {
        const auto n = spec_.block, last = n * spec_.horizon, a = spec_.border, columns = spec_.rhs;
        const bool stacked = spec_.rhs_layout == RhsLayout::stacked;
        if (r >= last) return static_cast<std::size_t>(m * a * columns + (stacked ? s * a + r - last : (r - last) * columns + s));
        const auto at = rhs_strides(spec_, columns);
        return static_cast<std::size_t>(m * at.member + r / n * at.stage + r % n * at.row + s * at.column);
    }
    Spec spec_;
    std::vector<Matrix> matrices_, rights_, closing_;  ///< closing: what E has beyond the seam where it is twofold; D is small then
};

/// Backward error of the solutions, log determinant and b' A^-1 b.
template <class Real>
void check_solution(ShapedProblem<Real>& problem, const Spec& spec, Solver& solver, double scale) {
    const double epsilon = std::numeric_limits<Real>::epsilon();
    const auto log_determinant = solver.log_determinant();
    const auto quadratic = solver.quadratic();
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const auto rows_of = problem.rows(m);
        const Eigen::MatrixXd all = problem.solution(m), x = all(rows_of, Eigen::all), b = problem.right(m)(rows_of, Eigen::all);
        CHECK((all(problem.rows(m, true), Eigen::all).array() == 0).all());
        if (x.rows() == 0) {
            CHECK(std::abs(log_determinant[static_cast<std::size_t>(m)]) <= epsilon * static_cast<double>(spec.block));
            CHECK(quadratic[static_cast<std::size_t>(m * spec.rhs)] == 0);
            continue;
        }
        const Eigen::MatrixXd a = problem.matrix(m)(rows_of, rows_of) / scale, residual = b - a * (x * scale);
        const Eigen::MatrixXd bound = a.cwiseAbs() * (x * scale).cwiseAbs() + b.cwiseAbs();
        CHECK((residual.array().abs() / bound.array()).maxCoeff() <= epsilon * (8 + static_cast<double>(spec.block + spec.border)));
        const Eigen::PartialPivLU<Eigen::MatrixXd> dense(a);
        const double rows = static_cast<double>(a.rows());
        const double expected = dense.matrixLU().diagonal().array().abs().log().sum() + rows * std::log(scale);
        CHECK(std::abs(log_determinant[static_cast<std::size_t>(m)] - expected) <= epsilon * 20 * (rows + std::abs(expected)));
        for (std::int64_t s = 0; s < spec.rhs; ++s) {
            const double q = b.col(s).dot(dense.solve(b.col(s))) / scale;
            const double size = has_signs(spec) ? b.col(s).cwiseAbs().dot(dense.solve(b.col(s)).cwiseAbs()) / scale : q;
            CHECK(std::abs(quadratic[static_cast<std::size_t>(m * spec.rhs + s)] - q) <= epsilon * (20 + rows) * size);
        }
        const auto negative = std::ranges::count_if(rows_of, [&](std::int64_t r) { return problem.is_negative(r); });
        CHECK(solver.status()[static_cast<std::size_t>(m)].negative == negative);
    }
}

/// Blocks of the inverse in the places of D, E, F and C.
template <class Real>
void check_inverse(ShapedProblem<Real>& problem, const Spec& spec, Solver& solver, double scale) {
    const auto chain = folded(spec);
    const auto n = chain.block, a = spec.border, last = spec.block * spec.horizon, couplings = chain.horizon - (spec.ring ? 0 : 1);
    const auto reals = [&](std::int64_t each) { return std::vector<Real>(static_cast<std::size_t>(spec.batch * each), Real(NAN)); };
    auto diagonal = reals(chain.horizon * n * n), coupling = reals(couplings * n * n), arrow = reals(last * a), corner = reals(a * a);
    SweepOptions options;
    if (a > 0) options.f = AnyArray(arrow), options.c = AnyArray(corner);
    solver.selected_inverse<Real>(std::span(diagonal), std::span(coupling), options);
    CHECK(solver.ok());
    const double bound = std::numeric_limits<Real>::epsilon() * (50 + static_cast<double>(last + a));
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        Eigen::MatrixXd inverse = Eigen::MatrixXd::Zero(last + a, last + a);
        const auto rows = problem.rows(m);
        const Eigen::MatrixXd own = problem.matrix(m)(rows, rows) / scale;
        if (!rows.empty()) inverse(rows, rows) = own.inverse().eval();
        const auto largest = inverse.cwiseAbs().maxCoeff();
        double error = 0;
        const auto compare = [&](const std::vector<Real>& found, std::int64_t at, std::int64_t row, std::int64_t column) {
            const bool is_unit = spec.sizes && row == column && !problem.is_row(m, row);  // there it has something like the identity
            if (is_unit) return;
            error = std::max(error, std::abs(static_cast<double>(found[static_cast<std::size_t>(at)]) * scale - inverse(row, column)));
        };
        for (std::int64_t k = 0; k < chain.horizon; ++k)
            for (std::int64_t s = 0; s < n && k * n + s < last; ++s) {
                for (std::int64_t r = 0; r < n; ++r) {
                    const auto next = (k + 1) % chain.horizon * n + r;
                    if (k * n + r < last) compare(diagonal, ((m * chain.horizon + k) * n + r) * n + s, k * n + r, k * n + s);
                    if (k < couplings && next < last) compare(coupling, ((m * couplings + k) * n + r) * n + s, next, k * n + s);
                }
            }
        for (std::int64_t k = 0; k < last * a; ++k)
            compare(arrow, m * last * a + k, last + k / spec.block % a, k / (spec.block * a) * spec.block + k % spec.block);
        for (std::int64_t j = 0; j < a * a; ++j) compare(corner, m * a * a + j, last + j / a, last + j % a);
        CHECK(error <= bound * largest);
    }
}

/// The largest |b - A x| / (|A| |x| + |b|) of a row, in long double.
inline double backward_error_oracle(const Eigen::MatrixXd& a, const Eigen::MatrixXd& x, const Eigen::MatrixXd& b) {
    using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
    const Wide wide_a = a.cast<long double>(), wide_x = x.cast<long double>(), wide_b = b.cast<long double>();
    const Wide residual = wide_b - wide_a * wide_x, size = wide_a.cwiseAbs() * wide_x.cwiseAbs() + wide_b.cwiseAbs();
    return a.rows() == 0 ? 0 : static_cast<double>((residual.array().abs() / size.array()).maxCoeff());
}

/// A step of refinement from solutions with large errors, and what it says of the error that is left.
template <class Real>
void check_refine(ShapedProblem<Real>& problem, const Spec& spec, Solver& solver) {
    problem.factor_solve(solver);
    for (std::size_t k = 0; k < problem.x.size(); ++k) problem.x[k] *= Real(1) + static_cast<Real>(k % 7) / 4096;
    solver.refine<Real>(problem.d, problem.e, problem.b, problem.x, problem.options());
    CHECK(solver.ok());
    const double epsilon = std::numeric_limits<Real>::epsilon(), width = static_cast<double>(spec.block * (2 * spec.bandwidth + 1));
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const auto rows = problem.rows(m);
        const Eigen::MatrixXd x = problem.solution(m);
        CHECK((x(problem.rows(m, true), Eigen::all).array() == 0).all());
        const double error = backward_error_oracle(problem.matrix(m)(rows, rows), x(rows, Eigen::all), problem.right(m)(rows, Eigen::all));
        const auto& found = solver.refinement()[static_cast<std::size_t>(m)];
        CHECK(error <= epsilon * (1 + std::sqrt(width)));
        const double rounded = spec.ring && spec.horizon <= 2 * spec.bandwidth ? epsilon : 0;  // of the dense matrix, a sum there
        CHECK(std::abs(found.backward_error - error) <= 0x1p-52 * (4 + width) + rounded);
        CHECK((found.iterations == 1 && found.converged));
    }
}

/// Solves three members on the CPU, each with a shift of its own; the second one is left out.
inline ShapedProblem<double> check_shift_and_mask(const Spec& spec) {
    ShapedProblem<double> problem(spec, 9);
    Solver solver{Plan(spec, Device::cpu())};
    const std::vector<double> shift{1, 2, 3};
    const std::vector<int> active{1, 0, 1};
    auto options = problem.options();
    options.shift = shift.data();
    options.active = active.data();
    solver.factor_solve<double>(problem.d, problem.e, problem.b, problem.x, options);
    for (const std::int64_t member : {0, 2}) {
        auto matrix = problem.matrix(member);
        matrix.diagonal().array() += shift[static_cast<std::size_t>(member)];
        CHECK((matrix * problem.solution(member) - problem.right(member)).norm() <= 1e-13 * problem.right(member).norm());
    }
    CHECK(solver.status()[1].floors == -1);
    return problem;
}

/// The estimate of the condition on the CPU, of members with all rows that they have.
inline void check_condition(ShapedProblem<double> problem, const Spec& spec) {
    Solver solver{Plan(spec, Device::cpu())};
    solver.factor<double>(problem.d, problem.e, problem.options());
    const auto found = solver.reciprocal_condition<double>(problem.d, problem.e, problem.options());
    for (std::int64_t member = 0; member < spec.batch; ++member) {
        const auto rows = problem.rows(member);
        if (rows.empty()) continue;
        const Eigen::MatrixXd a = problem.matrix(member)(rows, rows);
        const Eigen::VectorXd roots = a.diagonal().cwiseSqrt().cwiseInverse();
        const Eigen::MatrixXd scaled = roots.asDiagonal() * a * roots.asDiagonal();
        const double expected = 1 / (scaled.cwiseAbs().colwise().sum().maxCoeff() * scaled.inverse().cwiseAbs().colwise().sum().maxCoeff());
        CHECK(found[static_cast<std::size_t>(member)] >= 0.99 * expected);
        CHECK(found[static_cast<std::size_t>(member)] <= 3 * expected);
    }
}

/// Every operation of a problem at random, whose arrays are where the device reads them.
template <class Real>
void check_shape(Spec spec, const Device& device, const Tuning& tuning, unsigned seed, double scale = 1) {
    spec.precision = sizeof(Real) == 8 ? Precision::f64 : Precision::f32;
    ShapedProblem<Real> problem(spec, seed, scale);
    CAPTURE(spec.block);
    CAPTURE(spec.horizon);
    CAPTURE(spec.border);
    CAPTURE(spec.rhs);
    CAPTURE(tuning.variant);
    if (spec.rhs < 3 && (spec.ring || spec.lengths || spec.sizes || spec.bandwidth > 1 || tuning.variant == "auto") &&
        !tuning.variant.starts_with("dataflow"))
        spec.operations = all_operations();
    const bool refines = spec.border == 0 && scale == 1 && seed / 2 % 2 == 0;
    if (refines) spec.operations.insert(Operation::refine);
    const Plan plan(spec, device, tuning);
    Solver solver(plan);
    problem.factor_solve(solver);
    CHECK(solver.ok());
    check_solution(problem, spec, solver, scale);
    const auto bits = problem.x;
    problem.factor_solve(solver);
    CHECK(std::memcmp(bits.data(), problem.x.data(), bits.size() * sizeof(Real)) == 0);
    // Its parts find the same.
    const auto again = [&](const auto& call) {
        std::ranges::fill(problem.x, Real(NAN));
        std::ranges::fill(problem.tip_x, Real(NAN));
        call();
        check_solution(problem, spec, solver, scale);
    };
    again([&] {
        solver.factor<Real>(problem.d, problem.e, problem.options());
        solver.solve<Real>(problem.b, problem.x, problem.sweeps());
    });
    const auto back = [&] {
        auto options = problem.sweeps();
        options.tip_b = options.tip_x;
        solver.backward<Real>(std::span<const Real>(problem.x), problem.x, options);
    };
    again([&] {
        solver.forward<Real>(problem.b, problem.x, problem.sweeps());
        back();
    });
    again([&] {
        solver.factor_forward<Real>(problem.d, problem.e, problem.b, problem.x, problem.options());
        back();
    });
    if (spec.operations.contains(Operation::inverse)) check_inverse(problem, spec, solver, scale);
    if (refines) check_refine(problem, spec, solver);
    if (!spec.lengths && !spec.sizes) return;
    problem.exchange_lengths();  // nothing is left of the lengths before
    again([&] { problem.factor_solve(solver); });
    if (spec.operations.contains(Operation::inverse)) check_inverse(problem, spec, solver, scale);
    if (refines) check_refine(problem, spec, solver);
}

}  // namespace trifold::test
