#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <trifold/call.hpp>
#include <trifold/device.hpp>
#include <trifold/error.hpp>
#include <trifold/factors_of.hpp>
#include <trifold/program.hpp>
#include <trifold/sparse_spec.hpp>
#include <trifold/transport.hpp>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// Numbers of a pattern, as a plan has arranged it.
struct SparseSummary {
    std::string partition;                     ///< how rows were put into subdomains
    std::int64_t tiles = 0, largest_tile = 0;  ///< subdomains, and rows of the largest
    std::int64_t shapes = 0;                   ///< different patterns of subdomains
    std::int64_t entries = 0, dropped = 0;     ///< blocks of A, and those of them between subdomains
    std::int64_t factored = 0;                 ///< blocks of L, D and U
    std::int64_t levels = 0;                   ///< the most of a subdomain's L and U together
    double seconds = 0;                        ///< that the pattern took
    bool kept = false;                         ///< the lists of its kernels were found on disk, where an earlier plan left them
};

/// Kernels for one SparseSpec, and a pattern in the order of its subdomains. Immutable; may be shared between threads and solvers. One set
/// of kernels serves all patterns.
class SparsePlan {
  public:
    using spec_type = SparseSpec;
    using tuning_type = SparseTuning;
    /// Throws SpecError, CompileError, CacheError, DeviceError. The other functions throw SpecError when the plan has been moved from.
    SparsePlan(const SparseSpec& spec, const SparsePattern& pattern, const Device& device, const SparsePartition& partition = {},
               const SparseTuning& tuning = {});
    /// An iteration that several ranks share: each computes its own subdomains. All ranks make their plans together, and every call of
    /// their solvers is one of all ranks. They give the same pattern, values, B and options, and all get the whole X, with the bits and the
    /// iterations of one device. Solutions by bicgstab and cg alone: operations {solve}, one set of values. Throws RankError too, where a
    /// rank does not come or does not agree.
    SparsePlan(const SparseSpec& spec, const SparsePattern& pattern, std::shared_ptr<Transport> transport,
               const SparsePartition& partition = {}, const SparseTuning& tuning = {});
    /// On a GPU a transport between hosts makes an NcclTransport. The bits are those of one GPU that makes many launches, as it does for
    /// all but small systems, and for these with the knob one_launch=0.
    SparsePlan(const SparseSpec& spec, const SparsePattern& pattern, std::shared_ptr<Transport> transport, const Device& device,
               const SparsePartition& partition = {}, const SparseTuning& tuning = {});
    const SparseChoice& choice() const;  ///< the kernels, and who decided about them
    const SparseSpec& spec() const;
    const SparsePattern& pattern() const;
    /// Throws SpecError, with the first row that differs, unless values of `now` can be given to solvers of this plan.
    void expect(const SparsePattern& now) const;
    const SparseTuning& tuning() const;
    const SparseSummary& summary() const;
    const Program& program() const;
    const Device& device() const;
    const PlanReport& report() const;

    struct [[gnu::visibility("hidden")]] State;
    [[gnu::visibility("hidden")]] const State& state() const;

  private:
    [[gnu::visibility("hidden")]] void make(const SparseSpec& spec, const SparsePattern& pattern, const Device& device,
                                            const SparsePartition& partition, const SparseTuning& tuning,
                                            const std::shared_ptr<Transport>& transport);
    [[gnu::visibility("hidden")]] void share(const SparseSpec& spec, const SparsePattern& pattern, const Device& device,
                                             const SparsePartition& partition, const SparseTuning& tuning,
                                             std::shared_ptr<Transport> transport);
    std::shared_ptr<const State> state_;
};

/// The relative tolerance of a solution that is given none.
double usual_sparse_tolerance(Precision precision);

struct SparseOptions {
    std::int64_t columns = 0;  ///< right-hand sides in B and X; 0: the Spec's rhs. More go in panels of that many.
    std::int64_t members = 0;  ///< sets of values of this call; 0: the Spec's batch
    /// Tolerances, in the Euclidean norm: a solution has converged where |b - A x| is at most `rtol` |b|, both as it stands and with
    /// rows scaled by powers of two to equal size, so that none of them hides another; or where |b - A x| is at most `atol`. Scales end
    /// at 2^1020, and at 2^480 for cg and A', so subnormal rows, and there rows 2^480 below the largest, count less. x is what is handed
    /// over, and b - A x is computed in about twice its digits. Nothing for `rtol`: 1e-8, or 1e-5 in f32. Rounding keeps residuals
    /// above about 2^-53 |A| |x|, in f32 2^-24 |A| |x|: where a tolerance is below that, a solution ends as stagnated.
    std::optional<double> rtol;
    double atol = 0;
    std::int64_t maxiter = 0;  ///< 0: the Spec's
    std::int64_t renew = 0;    ///< iterations after which the true residual is computed; 0: only where the end seems reached
    bool guess = false;        ///< X holds a first guess
    /// Update adds so much, times a block's largest entry, to the diagonals of blocks before they are inverted.
    double shift = 0;
    /// Called by a solution in the thread of the call, with the iterations so far, and |b - A x| over |b| as the method has it, of the
    /// right-hand side that is worst: on a CPU after each iteration; on a GPU after some, for which the call waits, and of a system that is
    /// small enough for one launch at the end. What it throws ends the call.
    std::function<void(std::int64_t iterations, double relative_residual)> watch = nullptr;
};

/// Outcome of a set of values. Rows and columns of blocks count in the caller's matrix, from 0; -1: none.
struct SparseValues {
    std::int64_t zero_pivots = 0, zero_row = -1;                      ///< blocks that could not be inverted, and the first of them
    std::int64_t not_finite = 0, bad_row = -1, bad_column = -1;       ///< infinite or NaN
    std::int64_t unequal = 0, unequal_row = -1, unequal_column = -1;  ///< blocks that break the symmetry, where conjugate gradients need it
    double largest = 0;                                               ///< absolute value of the largest entry
    bool operator==(const SparseValues&) const = default;
    bool ok() const { return zero_pivots == 0 && not_finite == 0 && unequal == 0; }
};

/// The end of an iteration. `stagnated`: the true residual did not become smaller between two looks. `breakdown`: the method divided by
/// zero, after it had begun again once. `singular`: the values are not ok(). `out_of_range`: x is beyond the range of its type. Where an
/// iteration fails x is the one of the least residual that it came to.
enum class SparseEnd { converged, stagnated, breakdown, not_a_number, limit, singular, out_of_range };
std::string_view to_string(SparseEnd end);
struct SparseOutcome {
    SparseEnd end = SparseEnd::converged;
    std::int64_t iterations = 0;
    double residual = 0;  ///< |b - A x|, computed from x
    double norm_b = 0;
    double by_rows = 0;  ///< the residual over b where rows count as if they had equal size
    bool operator==(const SparseOutcome&) const = default;
    bool ok() const { return end == SparseEnd::converged; }
    double relative() const { return norm_b == 0 ? residual : residual / norm_b; }
};

/// SparseSolver::check found values that cannot be factored, or systems whose iteration has not converged.
class SparseFailed : public Unsolvable {
  public:
    struct Failure {
        std::int64_t member, column;  ///< column -1: the values of the member
        SparseValues values;
        SparseOutcome outcome;
    };
    SparseFailed(const std::string& message, std::vector<Failure> all) : Unsolvable(message), failures(std::move(all)) {}
    std::vector<Failure> failures;
};

/// Workspace and launches of one SparsePlan. One call in flight at a time. After construction the calls that compute allocate nothing.
///
/// Arrays are those of SparseSpec: values [batch][entries][block][block] (of a mesh [batch][rows][points][block][block]), B and X
/// [batch][rows][block][columns]. X may be B itself where a preconditioner is applied; other outputs may overlap nothing.
///
/// Spans are in the host's memory, and their calls return when the result is there. Pointers are the device's; on a GPU the work is put
/// into the stream, and nothing is waited for but by values(), outcomes(), history(), ok() and check().
class SparseSolver {
  public:
    explicit SparseSolver(const SparsePlan& plan);
    /// Solver in the caller's workspace: device memory, 64-byte aligned, of at least workspace_bytes(plan), which must outlive the solver
    /// and the work it has enqueued. It writes the lists of its pattern there at once. Throws SpecError when it is not that.
    SparseSolver(const SparsePlan& plan, void* workspace, std::int64_t bytes);
    SparseSolver(SparseSolver&&) noexcept;
    SparseSolver& operator=(SparseSolver&&) noexcept;
    ~SparseSolver();
    static std::int64_t workspace_bytes(const SparsePlan& plan);
    const SparsePlan& plan() const;
    /// Waits until every operation can run. Without it the first call of an operation waits, where its code is still being compiled.
    void prepare();
    /// Replaces the built-in thread pool.
    void set_executor(Executor executor);

    /// Takes new values of A, and makes the preconditioner of them.
    template <class Real>
    void update(const Real* values, Stream stream = {}, const SparseOptions& options = {}) {
        update(AnyArray(values), stream, options);
    }
    /// X = M^-1 B, with the preconditioner M.
    template <class Real>
    void apply(const Real* b, Real* x, Stream stream = {}, const SparseOptions& options = {}) {
        run(SparseOperation::apply, {b, x}, stream, options);
    }
    template <class Real>
    void apply_transposed(const Real* b, Real* x, Stream stream = {}, const SparseOptions& options = {}) {
        run(SparseOperation::apply_transposed, {b, x}, stream, options);
    }
    /// X = A B.
    template <class Real>
    void multiply(const Real* b, Real* x, Stream stream = {}, const SparseOptions& options = {}) {
        run(SparseOperation::multiply, {b, x}, stream, options);
    }
    template <class Real>
    void multiply_transposed(const Real* b, Real* x, Stream stream = {}, const SparseOptions& options = {}) {
        run(SparseOperation::multiply_transposed, {b, x}, stream, options);
    }
    /// A X = B.
    template <class Real>
    void solve(const Real* b, Real* x, Stream stream = {}, const SparseOptions& options = {}) {
        run(SparseOperation::solve, {b, x}, stream, options);
    }
    /// A' X = B, with the transposed preconditioner.
    template <class Real>
    void solve_transposed(const Real* b, Real* x, Stream stream = {}, const SparseOptions& options = {}) {
        run(SparseOperation::solve_transposed, {b, x}, stream, options);
    }
    /// Gradients of E, a number that depends on X = A^-1 B, by the values, from X and dE/dB = A^-T dE/dX, which solve_transposed computes.
    template <class Real>
    void gradient(const Real* x, const Real* by_b, Real* by_values, Stream stream = {}, const SparseOptions& options = {}) {
        run(SparseOperation::gradient, {x, by_b, by_values}, stream, options);
    }

    // For vectors, arrays and spans: solver.solve(b, x).
    template <HostArray A>
    void update(const A& values, const SparseOptions& options = {}) {
        update(AnyArray(values), {}, options);
    }
    template <HostArray B, OutputOf<RealOf<B>> X>
    void apply(const B& b, X&& x, const SparseOptions& options = {}) {
        run(SparseOperation::apply, {b, x}, {}, options);
    }
    template <HostArray B, OutputOf<RealOf<B>> X>
    void apply_transposed(const B& b, X&& x, const SparseOptions& options = {}) {
        run(SparseOperation::apply_transposed, {b, x}, {}, options);
    }
    template <HostArray B, OutputOf<RealOf<B>> X>
    void multiply(const B& b, X&& x, const SparseOptions& options = {}) {
        run(SparseOperation::multiply, {b, x}, {}, options);
    }
    template <HostArray B, OutputOf<RealOf<B>> X>
    void multiply_transposed(const B& b, X&& x, const SparseOptions& options = {}) {
        run(SparseOperation::multiply_transposed, {b, x}, {}, options);
    }
    template <HostArray B, OutputOf<RealOf<B>> X>
    void solve(const B& b, X&& x, const SparseOptions& options = {}) {
        run(SparseOperation::solve, {b, x}, {}, options);
    }
    template <HostArray B, OutputOf<RealOf<B>> X>
    void solve_transposed(const B& b, X&& x, const SparseOptions& options = {}) {
        run(SparseOperation::solve_transposed, {b, x}, {}, options);
    }
    template <HostArray X, InputOf<RealOf<X>> B, OutputOf<RealOf<X>> A>
    void gradient(const X& x, const B& by_b, A&& by_values, const SparseOptions& options = {}) {
        run(SparseOperation::gradient, {x, by_b, by_values}, {}, options);
    }

    /// Any of the calls above, with its arrays in the same order: all of the device, or all of the host.
    void update(const AnyArray& values, Stream stream, const SparseOptions& options = {});
    void run(SparseOperation operation, std::span<const AnyArray> arrays, Stream stream = {}, const SparseOptions& options = {});
    void run(SparseOperation operation, std::initializer_list<AnyArray> arrays, Stream stream, const SparseOptions& options) {
        run(operation, std::span(arrays.begin(), arrays.size()), stream, options);
    }

    /// Waits for the last call; its stream must still exist.
    void synchronize();
    /// One entry for each member of the last update.
    const std::vector<SparseValues>& values();
    /// One entry for each right-hand side of the last solution, those of a member one behind the other.
    const std::vector<SparseOutcome>& outcomes();
    /// |b - A x|, between true residuals as the iteration has it, after 0, 1, .. iterations of one right-hand side of the last panel; of
    /// the first 10 000.
    std::vector<double> history(std::int64_t member = 0, std::int64_t column = 0);
    /// Whether check() would return.
    bool ok();
    /// Throws SparseFailed naming what failed, how far it came and what to try.
    void check();

  private:
    template <class, class>
    friend class FactorsOf;
    struct [[gnu::visibility("hidden")]] Impl;
    [[gnu::visibility("hidden")]] explicit SparseSolver(std::unique_ptr<Impl> impl);
    [[gnu::visibility("hidden")]] Impl& impl() const;
    std::unique_ptr<Impl> impl_;
};

/// A value holds the lists of the pattern and the factors. fresh() writes the lists where the solver has come to another value, and waits:
/// before a capture, prepare() has done so.
using SparseFactors = FactorsOf<SparsePlan, SparseSolver>;
extern template class FactorsOf<SparsePlan, SparseSolver>;

}  // namespace trifold
