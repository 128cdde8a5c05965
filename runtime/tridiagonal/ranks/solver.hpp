#pragma once
#include <array>
#include <trifold/program.hpp>
#include <trifold/rank_solver.hpp>

#include "generator/tridiagonal/operands.hpp"
#include "generator/tridiagonal/ranks/parts.hpp"
#include "runtime/session/prepared.hpp"
#include "runtime/session/session.hpp"
#include "runtime/tridiagonal/request.hpp"

namespace trifold {

/// Outcome of a member on one rank, or on all.
struct RankVerdict {
    std::int64_t floors = 0, level = 0, block = -1, row = 0;
    double least_pivot = 1, log_determinant = 0;
    bool failed = false, nearly_singular = false, solution = true, inverse = true;
};

struct RankSolver::Impl {
    explicit Impl(const RankPlan& plan);
    void run(Operation operation, std::span<const AnyArray> arrays, const RankOptions& options);
    const std::vector<Outcome>& status();
    const std::vector<double>& log_determinant();
    const std::vector<double>& quadratic();
    /// Arrays of a Real in the host's memory: D, E, B and X.
    template <class Real>
    std::vector<Refinement> refine(std::span<const AnyArray> arrays, const RankOptions& options);
    /// Refines with arrays in the memory of the device, by copies.
    template <class Real>
    std::vector<Refinement> refine_on_device(std::span<const AnyArray> arrays, const RankOptions& options);
    bool on_gpu() const { return plan.choice().target.backend != Backend::cpu; }

    RankPlan plan;
    Session session;

  private:
    std::vector<CallArray> arrays_of(const Request& request) const;
    void check_sizes(const Request& request, Operation operation, std::span<const AnyArray> arrays, const RankOptions& options) const;
    void require_ready(const Request& request) const;
    void enqueue(Session::Call& call, const Request& request);
    void set_paths(const Request& request, const trifold_args& caller);
    void set_copies(const Request& request, const trifold_args& caller);
    void require_factor(std::string_view what) const;
    std::vector<RankVerdict> verdicts(Session::Call& call);
    void add_failure(Session::Call& call, bool joint, RankVerdict& verdict, std::int64_t member) const;
    std::vector<RankVerdict> joined_verdicts();
    void* at(std::string_view name) const { return session.place(name); }
    bool has_joint() const { return plan.spec().rank > 0; }

    Spec shard_, path_;
    std::int64_t columns_;  // right-hand sides of a call of the kernels, at most
    std::array<KernelArgs, 4> args_{};
    std::array<BlockCopy, ranks::rank_operand_count - 4> copies_{};
    std::array<Operand, ranks::rank_operand_count> operands_{};
    std::int64_t factored_ = 0, swept_members_ = 0, swept_columns_ = 0, solved_ = 0, inverted_ = 0;
    std::vector<Outcome> outcomes_;
    std::vector<double> log_determinants_, quadratics_;
};

/// The part of a RankPlan that RankSolvers share.
struct RankPlan::State {
    RankSpec spec;
    Choice choice;
    std::shared_ptr<const Prepared> prepared;
};

}  // namespace trifold
