#pragma once
#include <memory>
#include <optional>
#include <span>
#include <trifold/device.hpp>
#include <trifold/ranks.hpp>
#include <trifold/solver.hpp>
#include <trifold/transport.hpp>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// Kernels and messages of one rank of a chain. Immutable once built. All ranks make theirs together: the constructor returns once they
/// have agreed about the chain, the tuning, the version of Trifold and the kind of device.
class RankPlan {
  public:
    /// `spec` is the whole chain. `shards`: blocks of each rank; empty: fitting_shards. On a GPU the transport is an NcclTransport, or
    /// one of hosts, for which it makes an NcclTransport. Throws SpecError, CompileError, CacheError, DeviceError; and RankError where a
    /// rank does not come or does not agree.
    RankPlan(const Spec& spec, std::shared_ptr<Transport> transport, const Device& device = Device::cpu(), const Tuning& tuning = {},
             std::vector<std::int64_t> shards = {});
    const RankSpec& spec() const;
    const Choice& choice() const;    ///< the same on all ranks
    const Program& program() const;  ///< this rank's, without the sources of its units
    const PlanReport& report() const;

    struct [[gnu::visibility("hidden")]] State;
    [[gnu::visibility("hidden")]] const std::shared_ptr<const State>& state() const { return state_; }

  private:
    std::shared_ptr<const State> state_;
};

/// Options of a Solver's call, for a rank's own blocks: the diagonal is [batch][blocks][n]; shift and active are the same on all ranks.
using RankOptions = CallOptions;

/// An array that a call may write to.
template <class Array>
concept RankOutput = OutputOf<Array, RealOf<Array>> || std::same_as<std::remove_cvref_t<Array>, float*> ||
                     std::same_as<std::remove_cvref_t<Array>, double*> || std::same_as<std::remove_cvref_t<Array>, AnyArray>;

/// A Solver of one rank. Its arrays hold the rank's own blocks: D, B and X [batch][blocks][..] and E [batch][blocks][n][n], on the last
/// rank of one block less. Every call is one of all ranks, with the same members and columns, in the same order: also those that return
/// results, which are the whole chain's. A call throws RankError on every rank where one does not come.
class RankSolver {
  public:
    explicit RankSolver(const RankPlan& plan);
    RankSolver(RankSolver&&) noexcept;
    RankSolver& operator=(RankSolver&&) noexcept;
    ~RankSolver();
    const RankPlan& plan() const;
    /// Waits until every operation can run.
    void prepare();

    void factor(const AnyArray& d, const AnyArray& e, const RankOptions& options = {}) { run(Operation::factor, {d, e}, options); }
    template <RankOutput Y>
    void factor_forward(const AnyArray& d, const AnyArray& e, const AnyArray& b, Y&& y, const RankOptions& options = {}) {
        run(Operation::factor_forward, {d, e, b, y}, options);
    }
    template <RankOutput X>
    void factor_solve(const AnyArray& d, const AnyArray& e, const AnyArray& b, X&& x, const RankOptions& options = {}) {
        run(Operation::factor_solve, {d, e, b, x}, options);
    }
    template <RankOutput Y>
    void forward(const AnyArray& b, Y&& y, const RankOptions& options = {}) {
        run(Operation::forward, {b, y}, options);
    }
    template <RankOutput X>
    void backward(const AnyArray& y, X&& x, const RankOptions& options = {}) {
        run(Operation::backward, {y, x}, options);
    }
    template <RankOutput X>
    void solve(const AnyArray& b, X&& x, const RankOptions& options = {}) {
        run(Operation::solve, {b, x}, options);
    }
    /// The inverse of the rank's blocks: [batch][blocks][n][n], and the couplings as E is held, [batch][blocks][n][n].
    template <RankOutput S, RankOutput T>
    void selected_inverse(S&& diagonal, T&& coupling, const RankOptions& options = {}) {
        run(Operation::inverse, {diagonal, coupling}, options);
    }

    /// Any of the calls above, with its arrays in the same order.
    void run(Operation operation, std::span<const AnyArray> arrays, const RankOptions& options);
    void run(Operation operation, std::initializer_list<AnyArray> arrays, const RankOptions& options) {
        run(operation, std::span(arrays.begin(), arrays.size()), options);
    }

    /// Corrects X, a solution for B, with the factors at hand, until no row's |b - A x| / (|A| |x| + |b|) is above the rounding of the
    /// arrays. They may be in f64 although the RankPlan is in f32: then factor and solve take copies in f32, which is mixed precision. D, E
    /// and the options, in the precision of the arrays, are what was factored. Ends too where an error does not halve, and after ten
    /// corrections. One for each member, the same on all ranks; iterations are -1 where active leaves one out.
    template <RankOutput X>
    std::vector<Refinement> refine(const AnyArray& d, const AnyArray& e, const AnyArray& b, X&& x, const RankOptions& options = {}) {
        return refine_arrays({d, e, b, x}, options);
    }

    /// Results as of a Solver, of the whole chain; a block is counted from the chain's first one.
    const std::vector<Outcome>& status();
    bool ok();
    void check();
    const std::vector<double>& log_determinant();
    const std::vector<double>& quadratic();

    struct [[gnu::visibility("hidden")]] Impl;

  private:
    std::vector<Refinement> refine_arrays(std::initializer_list<AnyArray> arrays, const RankOptions& options);
    [[gnu::visibility("hidden")]] Impl& impl() const;
    std::unique_ptr<Impl> impl_;
};

}  // namespace trifold
