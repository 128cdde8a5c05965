#include "tests/kernels/emulator/accuracy.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/kernels/emulator/fixture.hpp"

namespace trifold::test {
namespace {

/// Keeps the worst of each kind; NaN is worse than anything.
void add(Errors& errors, const std::string& name, double error, double bound) {
    auto& worst = errors[name];
    const double relative = error / bound;
    worst = std::isnan(relative) ? std::numeric_limits<double>::infinity() : std::max(worst, relative);
}

double largest(const Matrix& a) { return a.array().abs().maxCoeff<Eigen::PropagateNaN>(); }

template <class Real>
void add_inverse(Errors& errors, const EmulatedUnit& unit, const std::vector<System>& systems, trifold_args args, const Running& running) {
    const auto& spec = unit.choice().spec;
    const auto n = spec.block;
    const auto blocks = [&](std::int64_t count) { return std::vector<Real>(static_cast<std::size_t>(spec.batch * count * n * n)); };
    auto diagonal = blocks(spec.horizon), coupling = blocks(spec.horizon - 1);
    args.inverse_diagonal = diagonal.data();
    args.inverse_coupling = coupling.data();
    unit.run(Operation::inverse, args, running);
    using Block = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
    for (std::int64_t m = 0; m < args.members; ++m) {
        const Matrix inverse = systems[static_cast<std::size_t>(m)].dense().inverse();
        const auto bound = 100 * tolerance<Real> * largest(inverse);
        const auto compare = [&](const Real* block, std::int64_t row, std::int64_t column) {
            const Matrix own = Block(block, n, n).template cast<double>();
            add(errors, "inverse", largest(own - inverse.block(row * n, column * n, n, n)), bound);
            if (row == column) add(errors, "symmetry of the inverse", own == own.transpose() ? 0 : 2, 1);
        };
        for (std::int64_t i = 0; i < spec.horizon; ++i) {
            compare(diagonal.data() + (m * spec.horizon + i) * n * n, i, i);
            if (i + 1 < spec.horizon) compare(coupling.data() + (m * (spec.horizon - 1) + i) * n * n, i + 1, i);
        }
    }
}

template <class Real>
Errors errors_in(const EmulatedUnit& unit, const Running& running, unsigned seed, std::int64_t members) {
    const auto& program = unit.program();
    const auto& spec = unit.choice().spec;
    const auto systems = random_systems(spec, seed);
    const auto user = arrays<Real>(spec, systems);
    EmulatedWorkspace workspace(program);
    std::vector<Real> x(user.b.size()), again(user.b.size()), y(user.b.size());
    auto args = arguments(spec, user, x, workspace);
    if (members > 0) args.members = members;
    unit.run(Operation::factor_solve, args, running);
    args.x = again.data();
    unit.run(Operation::solve, args, running);
    args.x = y.data();
    unit.run(Operation::forward, args, running);
    Errors errors;
    for (std::int64_t m = 0; m < args.members; ++m) {
        const auto& system = systems[static_cast<std::size_t>(m)];
        const auto a = system.dense();
        const auto status = workspace.buffer<trifold_status>(program, "status")[m];
        add(errors, "status", status.block == -1 && status.floors == 0 && status.nearly_singular == 0 ? 0 : 2, 1);
        const auto least = least_pivot_oracle(system, unit.choice().schedule);
        add(errors, "least pivot", std::abs(status.least_pivot - least), 1000 * tolerance<Real> * least);
        add(errors, "factor_solve", relative_residual(a, gather(spec, x, m, spec.rhs), system.b), tolerance<Real>);
        add(errors, "solve", relative_residual(a, gather(spec, again, m, spec.rhs), system.b), tolerance<Real>);
        const auto forward = forward_oracle(system, unit.choice().schedule);
        add(errors, "forward", largest(gather(spec, y, m, spec.rhs) - forward), 100 * tolerance<Real> * largest(forward));
        const auto expected = 2 * a.llt().matrixLLT().diagonal().array().log().sum();
        add(errors, "log determinant", std::abs(workspace.buffer<double>(program, "log_determinant")[m] - expected),
            tolerance<Real> * (1 + std::abs(expected)));
        const auto* quadratic = workspace.buffer<double>(program, "quadratic") + m * spec.rhs;
        for (std::int64_t c = 0; c < spec.rhs; ++c)
            add(errors, "quadratic", std::abs(quadratic[c] - forward.col(c).squaredNorm()),
                10 * tolerance<Real> * (1 + forward.col(c).squaredNorm()));
    }
    if (spec.operations.contains(Operation::inverse)) add_inverse<Real>(errors, unit, systems, args, running);
    args.b = y.data(), args.x = y.data();
    unit.run(Operation::backward, args, running);
    add(errors, "backward, to the bit", std::memcmp(y.data(), again.data(), y.size() * sizeof(Real)) == 0 ? 0 : 2, 1);
    return errors;
}

}  // namespace

Errors errors_of(const EmulatedUnit& unit, const Running& running, unsigned seed, std::int64_t members) {
    const bool wide = unit.choice().spec.precision == Precision::f64;
    return wide ? errors_in<double>(unit, running, seed, members) : errors_in<float>(unit, running, seed, members);
}

}  // namespace trifold::test
