#pragma once
#include <Eigen/LU>
#include <cmath>
#include <random>

#include "tests/support/cpu/call.hpp"

namespace trifold::test {

/// General block tridiagonal systems, open or a ring, in the layouts of a Spec, and the dense matrices. Blocks of D have their
/// largest entries off the diagonal, so that rows have to be interchanged.
template <class Real>
class GeneralSystems {
  public:
    using Dense = Eigen::MatrixXd;
    GeneralSystems(const Spec& spec, unsigned seed, double apart = 1) : spec_(spec), random_(seed) {
        const auto n = spec.block, rows = n * spec.horizon;
        d_.resize(static_cast<std::size_t>(diagonal_extent(spec, spec.batch)));
        e_.resize(static_cast<std::size_t>(coupling_extent(spec, spec.batch)));
        u_.resize(e_.size());
        b_.resize(static_cast<std::size_t>(rhs_extent(spec, spec.batch, spec.rhs)));
        for (auto& value : b_) value = draw();
        for (std::int64_t member = 0; member < spec.batch; ++member) {
            dense_.emplace_back(Dense::Zero(rows, rows));
            const auto turn = static_cast<std::int64_t>(random_() % static_cast<unsigned>(n));
            for (std::int64_t i = 0; i < spec.horizon; ++i)
                for (std::int64_t r = 0; r < n; ++r)
                    for (std::int64_t c = 0; c < n; ++c)
                        set(member, i, i, r, c, draw() + (c == (r + turn) % n ? Real(apart * (3 + static_cast<double>(n))) : Real(0)));
            for (std::int64_t i = 0; i < couplings_of(spec); ++i)
                for (std::int64_t r = 0; r < n; ++r)
                    for (std::int64_t c = 0; c < n; ++c) set(member, i + 1, i, r, c, draw()), set(member, i, i + 1, r, c, draw());
        }
    }
    /// Sets an element of A(i, j), of neighbouring blocks. In a ring block N is block 0.
    void set(std::int64_t member, std::int64_t i, std::int64_t j, std::int64_t r, std::int64_t c, Real value) {
        const auto n = spec_.block, low = std::min(i, j);
        const auto s = i == j ? diagonal_strides(spec_) : coupling_strides(spec_);
        auto& array = i == j ? d_ : i > j ? e_ : u_;
        auto& place = array[static_cast<std::size_t>(member * s.member + low * s.stage + r * s.row + c * s.column)];
        const auto row = i % spec_.horizon * n + r, column = j % spec_.horizon * n + c;
        dense(member)(row, column) += static_cast<double>(value) - static_cast<double>(place);
        place = value;
    }
    Dense& dense(std::int64_t member) { return dense_[static_cast<std::size_t>(member)]; }
    const std::vector<Real>& d() const { return d_; }
    const std::vector<Real>& e() const { return e_; }
    const std::vector<Real>& u() const { return u_; }
    const std::vector<Real>& b() const { return b_; }
    /// |A x - b| over |A| |x| + |b|, in the largest entries of rows; x and b in the layout of B.
    double backward_error(std::int64_t member, const std::vector<Real>& x, const std::vector<Real>& b, bool turned = false) {
        const Dense a = turned ? dense(member).transpose() : dense(member), one = columns(member, x), other = columns(member, b);
        const double scale = (a.cwiseAbs() * one.cwiseAbs() + other.cwiseAbs()).maxCoeff();
        const double error = (a * one - other).cwiseAbs().maxCoeff() / scale;
        return std::isfinite(error) ? error : HUGE_VAL;
    }
    Dense columns(std::int64_t member, const std::vector<Real>& x) const {
        const auto s = rhs_strides(spec_, spec_.rhs);
        Dense result(spec_.horizon * spec_.block, spec_.rhs);
        for (std::int64_t k = 0; k < result.rows(); ++k)
            for (std::int64_t c = 0; c < spec_.rhs; ++c)
                result(k, c) = static_cast<double>(
                    x[static_cast<std::size_t>(member * s.member + k / spec_.block * s.stage + k % spec_.block * s.row + c * s.column)]);
        return result;
    }
    Real draw() { return static_cast<Real>(std::uniform_real_distribution<double>(-1, 1)(random_)); }

  private:
    Spec spec_;
    std::mt19937 random_;
    std::vector<Real> d_, e_, u_, b_;
    std::vector<Dense> dense_;
};

/// Calls of a Program on general systems, on CPUs or emulated GPUs.
template <class Real, class Unit>
class GeneralCall {
  public:
    GeneralCall(const Unit& unit, GeneralSystems<Real>& systems)
        : unit_(unit), workspace_(unit.program()), x(systems.b().size()), args(arguments(systems)) {}
    template <class... How>
    void run(Operation operation, const std::vector<Real>& b, const How&... how) {
        args.b = b.data();
        unit_.run(operation, args, how...);
    }
    trifold_status status(std::int64_t member) const { return workspace_.buffer<trifold_status>(unit_.program(), "status")[member]; }
    trifold_inertia inertia(std::int64_t member) const {
        const auto bytes = buffer(unit_.program(), "status").bytes;
        const auto capacity = bytes / static_cast<std::int64_t>(sizeof(trifold_status) + sizeof(trifold_inertia));
        const auto* all = workspace_.buffer<trifold_status>(unit_.program(), "status");
        return reinterpret_cast<const trifold_inertia*>(all + capacity)[member];
    }
    double log_determinant(std::int64_t member) const { return workspace_.buffer<double>(unit_.program(), "log_determinant")[member]; }

  private:
    trifold_args arguments(GeneralSystems<Real>& systems) const {
        const auto& spec = unit_.choice().spec;
        trifold_args result{};
        result.d = systems.d().data();
        result.e = systems.e().data();
        result.inverse_coupling = const_cast<Real*>(systems.u().data());
        result.b_strides = result.x_strides = kernel_strides(rhs_strides(spec, spec.rhs));
        result.columns = spec.rhs;
        result.members = spec.batch;
        result.workspace = workspace_.data();
        return result;
    }
    const Unit& unit_;
    Workspace workspace_;

  public:
    std::vector<Real> x;
    trifold_args args;
};

/// All operations of a Program on systems: solutions against their residuals, the determinant against Eigen's.
template <class Real, class Unit, class... How>
void check_general(const Unit& unit, unsigned seed, const How&... how) {
    const auto& spec = unit.choice().spec;
    constexpr double most = sizeof(Real) == 8 ? 2e-14 : 1e-5, most_of_log = sizeof(Real) == 8 ? 1e-12 : 1e-4;
    GeneralSystems<Real> systems(spec, seed);
    GeneralCall<Real, Unit> call(unit, systems);
    call.args.x = call.x.data();
    const auto check = [&](const char* what, bool turned, const std::vector<Real>& b) {
        INFO(what);
        for (std::int64_t m = 0; m < spec.batch; ++m) CHECK(systems.backward_error(m, call.x, b, turned) <= most);
    };
    call.run(Operation::factor_solve, systems.b(), how...);
    check("factor_solve", false, systems.b());
    const auto together = call.x;
    for (std::int64_t m = 0; m < spec.batch; ++m) {
        const Eigen::PartialPivLU<Eigen::MatrixXd> lu(systems.dense(m));
        const Eigen::MatrixXd factor = lu.matrixLU();
        CHECK(call.status(m).block == -1);
        CHECK(call.status(m).nearly_singular == 0);
        CHECK(call.status(m).least_pivot > 0);
        CHECK(call.inertia(m).growth >= 1);
        CHECK(call.inertia(m).growth < 1e4);
        const bool negative = (factor.diagonal().array() < 0).count() % 2 != (lu.permutationP().determinant() < 0 ? 1 : 0);
        CHECK((call.inertia(m).negative % 2 == 1) == negative);
        const double expected = factor.diagonal().array().abs().log().sum();
        CHECK(std::abs(call.log_determinant(m) - expected) <= most_of_log * static_cast<double>(spec.horizon * spec.block));
    }
    auto other = systems.b();
    for (auto& value : other) value = systems.draw();
    std::ranges::fill(call.x, Real(NAN));
    call.run(Operation::factor, systems.b(), how...);
    call.run(Operation::solve, systems.b(), how...);
    CHECK(call.x == together);
    call.run(Operation::solve, other, how...);
    check("solve", false, other);
    call.run(Operation::solve_transposed, other, how...);
    check("solve_transposed", true, other);
    if (unit.program().operations.contains("refine")) {
        for (auto& value : call.x) value = systems.draw();
        for (int step = 0; step < 3; ++step) call.run(Operation::refine, other, how...);
        check("refine", false, other);
    }
    call.run(Operation::factor_forward, other, how...);
    const auto y = call.x;
    call.run(Operation::forward, other, how...);
    CHECK(call.x == y);
    call.run(Operation::backward, y, how...);
    check("backward", false, other);
}

}  // namespace trifold::test
