#pragma once
#include <optional>
#include <trifold/solver.hpp>

#include "tests/support/cpu/conform.hpp"

namespace trifold::test {

/// A Solver's calls on arrays of the host, on any device.
class SolverRunner : public Runner {
  public:
    explicit SolverRunner(Plan plan) : plan_(std::move(plan)), solver_(plan_) {}
    const Choice& choice() const override { return plan_.choice(); }
    void reset() override { solver_.emplace(plan_); }
    void run(Operation operation, const trifold_args& args) override {
        plan_.choice().spec.precision == Precision::f32 ? run_in<float>(operation, args) : run_in<double>(operation, args);
    }
    trifold_status status(std::int64_t member) override {
        const auto& outcome = solver_->status()[static_cast<std::size_t>(member)];
        return {outcome.block, outcome.row, outcome.floors, outcome.least_pivot, outcome.nearly_singular};
    }
    trifold_range range(std::int64_t member) override {
        const auto& outcome = solver_->status()[static_cast<std::size_t>(member)];
        return {!outcome.solution, !outcome.inverse};
    }
    double log_determinant(std::int64_t member) override { return solver_->log_determinant()[static_cast<std::size_t>(member)]; }
    double quadratic(std::int64_t member, std::int64_t column) override {
        return solver_->quadratic()[static_cast<std::size_t>(member * columns_ + column)];
    }

  private:
    template <class Real>
    void run_in(Operation operation, const trifold_args& args) {
        const auto& spec = plan_.choice().spec;
        const auto input = [](const void* values, std::int64_t size) {
            return std::span(static_cast<const Real*>(values), values == nullptr ? 0 : static_cast<std::size_t>(size));
        };
        const auto output = [](void* values, std::int64_t size) {
            return std::span(static_cast<Real*>(values), static_cast<std::size_t>(size));
        };
        const auto d = input(args.d, diagonal_extent(spec, args.members)), e = input(args.e, coupling_extent(spec, args.members)),
                   b = input(args.b, rhs_extent(spec, args.members, args.columns));
        const auto x = output(args.x, static_cast<std::int64_t>(b.size()));
        FactorOptions<Real> options;
        options.diagonal = static_cast<const Real*>(args.diagonal), options.shift = static_cast<const Real*>(args.shift);
        options.active = args.active, options.pivot_floor = args.pivot_floor;
        options.members = args.members, options.columns = columns_ = args.columns;
        const SweepOptions sweep{args.columns, args.active, args.members};
        const auto blocks = args.members * spec.block * spec.block;
        switch (operation) {
            case Operation::factor:
                return solver_->factor<Real>(d, e, options);
            case Operation::factor_forward:
                return solver_->factor_forward<Real>(d, e, b, x, options);
            case Operation::factor_solve:
                return solver_->factor_solve<Real>(d, e, b, x, options);
            case Operation::forward:
                return solver_->forward<Real>(b, x, sweep);
            case Operation::backward:
                return solver_->backward<Real>(b, x, sweep);
            case Operation::solve:
                return solver_->solve<Real>(b, x, sweep);
            case Operation::solve_transposed:
                return solver_->solve_transposed<Real>(b, x, sweep);
            case Operation::inverse:
                return solver_->selected_inverse<Real>(output(args.inverse_diagonal, blocks * spec.horizon),
                                                       output(args.inverse_coupling, blocks * (spec.horizon - 1)), sweep);
            case Operation::refine:
                return solver_->refine<Real>(d, e, b, x, options);
            case Operation::load:
                return solver_->load(d, e);
        }
    }

    Plan plan_;
    std::optional<Solver> solver_;
    std::int64_t columns_ = 1;
};

}  // namespace trifold::test
