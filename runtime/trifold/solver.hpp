#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <trifold/call.hpp>
#include <trifold/error.hpp>
#include <trifold/factors_of.hpp>
#include <trifold/plan.hpp>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// Options of a call, whatever its precision: those of FactorOptions and SweepOptions.
struct CallOptions {
    std::optional<AnyArray> diagonal{};  ///< [batch][N][n], added to the diagonal by a factorization
    std::optional<AnyArray> shift{};     ///< [batch]
    const int* active = nullptr;         ///< [batch], 0 leaves the member untouched
    double pivot_floor = 0;
    bool accept_nearly_singular = false;
    std::int64_t members = 0, columns = 0;
    Stream stream{};                           ///< the GPU's, where arrays are in its memory
    std::optional<AnyArray> f{}, c{};          ///< the border's, [batch][N][a][n] and [batch][a][a]: read to factor, written by an inverse
    std::optional<AnyArray> tip_b{}, tip_x{};  ///< [batch][a][columns], in a call that sweeps; one may be the other
    const int* lengths = nullptr;              ///< [batch], to factor where the Spec has lengths
    const int* sizes = nullptr;                ///< [batch][N], to factor where the Spec has sizes
    std::optional<AnyArray> u{};               ///< U of a general matrix, as E: A(i, i+1), to factor
    std::int64_t first_block = 0, blocks = 0;  ///< those that load() takes; 0 blocks: all from the first one on
};

/// Fused where D is loaded. Pointers live where D does.
template <class Real>
struct FactorOptions {
    const Real* diagonal = nullptr;  ///< [batch][N][n], added to the diagonal
    const Real* shift = nullptr;     ///< [batch], added to every diagonal entry of the member
    const int* active = nullptr;     ///< [batch], 0 leaves the member untouched
    double pivot_floor = 0;  ///< finite pivots below this times the largest magnitude on the block's diagonal are raised to it and counted
    bool accept_nearly_singular = false;    ///< a least pivot that rounding may have made is no failure; implied by a pivot_floor
    std::int64_t members = 0;               ///< active capacity of this call; 0: the Spec's batch
    std::int64_t columns = 0;               ///< right-hand sides in B and X, as in SweepOptions
    const Real *f = nullptr, *c = nullptr;  ///< the border's F [batch][N][a][n] and C [batch][a][a], to which a shift is added too
    const Real* tip_b = nullptr;            ///< the last a rows of B and X, [batch][a][columns]
    Real* tip_x = nullptr;
    /// [batch], blocks of each member, 0 to N; null: N. Only where the Spec has lengths. Later calls take those that were factored.
    const int* lengths = nullptr;
    const int* sizes = nullptr;  ///< [batch][N], rows of each block, 0 to n; null: n. Only where the Spec has sizes
    const Real* u = nullptr;     ///< blocks A(i, i+1) of a general matrix, laid out as E, which has A(i+1, i)
    CallOptions on(Stream stream) const {
        const auto array = [](const Real* given) { return given == nullptr ? std::nullopt : std::optional<AnyArray>(given); };
        return {array(diagonal), array(shift), active,  pivot_floor, accept_nearly_singular,
                members,         columns,      stream,  array(f),    array(c),
                array(tip_b),    array(tip_x), lengths, sizes,       array(u)};
    }
};

struct SweepOptions {
    std::int64_t columns = 0;     ///< right-hand sides in B and X; 0: the Spec's rhs. More go in panels of that many.
    const int* active = nullptr;  ///< as in FactorOptions
    std::int64_t members = 0;
    std::optional<AnyArray> tip_b{}, tip_x{};  ///< with a border: as in FactorOptions
    std::optional<AnyArray> f{}, c{};          ///< with a border: where selected_inverse writes the blocks in the places of F and C
    CallOptions on(Stream stream) const {
        return {.active = active, .members = members, .columns = columns, .stream = stream, .f = f, .c = c, .tip_b = tip_b, .tip_x = tip_x};
    }
};

/// Outcome of a member.
struct Outcome {
    std::int64_t block = -1;       ///< first failing block, original order, from 0; N: the tip of a border; -1: none
    std::int64_t row = 0;          ///< failing row within it, from 0; -1: the member's length is not from 0 to N, and block is 0; -2: the
                                   ///< block's size is not from 0 to n
    std::int64_t floors = 0;       ///< pivots raised to the floor; -1: the active mask has kept the member from ever being factored
    bool solution = true;          ///< X of the last solution holds no infinity and no NaN
    bool inverse = true;           ///< likewise the last selected inverse
    bool quadratic = true;         ///< b' A^-1 b of the last forward sweep is in the range of f64
    double least_pivot = 1;        ///< the least pivot, each over the diagonal entry that it began with; 0: the factorization failed
    bool nearly_singular = false;  ///< it is below nearly_singular_bound, and the factorization was not told to accept that
    /// Pivots below zero: of a symmetric matrix as many as it has eigenvalues below zero; of a general one interchanges are added, so that
    /// its determinant has the sign of (-1)^negative.
    std::int64_t negative = 0;
    /// Growth of a symmetric matrix: the largest sum of a row's squares in its factor over the largest entry of A; of a general one, the
    /// largest sum of products of a row of L and the largest entries of U's rows. The least pivot is over the sum of its row. Above 2^28
    /// (f32: 2^15) few digits are left, and the matrix is nearly singular: rounding decides.
    double growth = 0;
    bool operator==(const Outcome&) const = default;
    /// Factored, not nearly singular, and X and the selected inverse within the range of the precision.
    bool ok() const { return block < 0 && !nearly_singular && solution && inverse; }
};

/// A member's status as it lies in memory of the device, for copy_status: fields of its Outcome, in a band of the blocks that it is solved
/// by. All bits are ones where the active mask has kept the member from ever being factored.
struct MemberStatus {
    std::int64_t block, row, floors;
    double least_pivot;
    std::int64_t nearly_singular;  ///< 1 or 0
};
/// Likewise for copy_inertia, of a symmetric or general matrix.
struct MemberInertia {
    std::int64_t negative;
    double growth;
};

/// The least pivot of a sound system is at least this, 64 epsilons: 1.4e-14 in f64, 7.6e-6 in f32. Powers of two that scale rows and
/// columns alike change no such pivot. Below it, rounding alone may have kept a pivot from being zero, and X may have no right digit. In
/// mixed precision it is 0, since there the refinement decides: where A is singular it does not converge, unless some X solves A X = B.
double nearly_singular_bound(Precision precision);

/// How the refinement of a member's solution went, in mixed precision or by Solver::refine. Of a call's columns the worst.
struct Refinement {
    std::int64_t iterations = 0;  ///< corrections of the first solution, 1 of refine(); -1: never solved, or left out
    bool converged = true;        ///< the error is that of rounding. Else X is NaN in mixed precision; after refine() it is what it is
    double backward_error = 0;    ///< the largest |b - A x| / (|A| |x| + |b|) of a row; NaN where the member has failed
    bool operator==(const Refinement&) const = default;
};

/// Workspace and launch graphs of one Plan. One call in flight at a time. After construction nothing on the call path of
/// the pointer overloads allocates, renders, hashes or takes a lock of ours.
///
/// Layouts are the Spec's. Pointer overloads take device memory, run on the caller's stream and do not synchronize; on the
/// CPU they are ordinary pointers and the call returns when the work is done. Span overloads take host memory, options
/// included, check extents and return when the work is done; on a GPU they copy through device memory that the first such
/// call allocates.
///
/// In mixed precision the arrays are f64; factor() keeps a copy of D and E, the options added, against which solve() refines. X of a member
/// that does not converge is NaN. A pivot_floor changes the factor, not what is solved.
///
/// Range: whatever has data, pivots and results in the normal range of the precision is solved as well as at scale 1. A member whose X or
/// selected inverse has infinities or NaN says so in its Outcome. Elements too small for the precision are rounded as IEEE arithmetic does,
/// to subnormal numbers or zero, which is no failure. In mixed precision the range is that of f32.
///
/// Outputs may overlap nothing but that X may be B itself. Every call throws SpecError on arguments that do not fit the
/// Spec, DeviceError or LaunchError when the device fails; and SpecError when the Solver has been moved from. Members that were never
/// factored solve to NaN.
class Solver {
  public:
    explicit Solver(const Plan& plan);
    /// Solver in the caller's workspace: device memory, 64-byte aligned, of at least workspace_bytes(plan), which must outlive
    /// the Solver and the work it has enqueued. Throws SpecError when it is not that.
    Solver(const Plan& plan, void* workspace, std::int64_t bytes);
    Solver(Solver&&) noexcept;
    Solver& operator=(Solver&&) noexcept;
    ~Solver();
    static std::int64_t workspace_bytes(const Plan& plan);
    const Plan& plan() const;
    /// Waits until every operation can run. Without it the first call of an operation waits, where its code is still being compiled.
    void prepare();
    /// CPU only: replaces the built-in thread pool. A Plan of one worker runs everything in the caller and does not use it.
    void set_executor(Executor executor);

    /// Copies D and E of that many blocks, where the Spec has the operation load, from block `first` on, to the workspace, in the order of
    /// its kernels; E_i comes with block i. d and e point to the first of them, in the Spec's layout; 0 blocks: all from `first` on. When
    /// all have been loaded, a factorization that is given no D and E, but null, overwrites them by its factor. The next one needs all
    /// loaded again. Factorizations that are given D and E load them by themselves.
    template <class Real>
    void load(const Real* d, const Real* e, std::int64_t first = 0, std::int64_t blocks = 0, Stream stream = {}) {
        run(Operation::load, {d, e}, {.stream = stream, .first_block = first, .blocks = blocks});
    }
    template <class Real>
    void factor(const Real* d, const Real* e, Stream stream = {}, const FactorOptions<Real>& options = {}) {
        run(Operation::factor, {d, e}, options.on(stream));
    }
    /// Factors and computes Y as forward() does, in one pass.
    template <class Real>
    void factor_forward(const Real* d, const Real* e, const Real* b, Real* y, Stream stream = {}, const FactorOptions<Real>& options = {}) {
        run(Operation::factor_forward, {d, e, b, y}, options.on(stream));
    }
    template <class Real>
    void factor_solve(const Real* d, const Real* e, const Real* b, Real* x, Stream stream = {}, const FactorOptions<Real>& options = {}) {
        run(Operation::factor_solve, {d, e, b, x}, options.on(stream));
    }
    /// Y = L^-1 P B and X = P' L^-T Y, where P A P' = L L'; rows of Y stay with their blocks. X or Y may be the input.
    template <class Real>
    void forward(const Real* b, Real* y, Stream stream = {}, const SweepOptions& options = {}) {
        run(Operation::forward, {b, y}, options.on(stream));
    }
    template <class Real>
    void backward(const Real* y, Real* x, Stream stream = {}, const SweepOptions& options = {}) {
        run(Operation::backward, {y, x}, options.on(stream));
    }
    template <class Real>
    void solve(const Real* b, Real* x, Stream stream = {}, const SweepOptions& options = {}) {
        run(Operation::solve, {b, x}, options.on(stream));
    }
    /// A' X = B by the factors of a general matrix; a Plan with `solve` has it. X may be B.
    template <class Real>
    void solve_transposed(const Real* b, Real* x, Stream stream = {}, const SweepOptions& options = {}) {
        run(Operation::solve_transposed, {b, x}, options.on(stream));
    }
    /// Diagonal blocks [batch][N][n][n] and lower neighbour blocks [batch][N-1][n][n] of the inverse, row-major, dense.
    template <class Real>
    void selected_inverse(Real* diagonal, Real* coupling, Stream stream = {}, const SweepOptions& options = {}) {
        run(Operation::inverse, {diagonal, coupling}, options.on(stream));
    }

    /// One step of iterative refinement: X += A^-1 (B - A X) by the factors at hand. D, E, U, a diagonal and a shift are those that were
    /// factored; X must not be B. Residuals are summed in f64, also where the arrays are f32. refinement() then has the backward error of
    /// the new X. Needs the operation refine; quadratic() needs another forward sweep afterwards.
    template <class Real>
    void refine(const Real* d, const Real* e, const Real* b, Real* x, Stream stream = {}, const FactorOptions<Real>& options = {}) {
        run(Operation::refine, {d, e, b, x}, options.on(stream));
    }

    /// Copies what the other Solver has factored, and goes on with it. For Plans that differ in rhs alone, as Plan::widened makes them, or
    /// that have refine in addition.
    /// Waits for both, and ends with the copy. Throws SpecError where a Plan does not fit, or the other has factored nothing.
    void take_factor(Solver& other);

    // For vectors and arrays as they are: solver.factor_solve(D, E, B, X).
    template <HostArray D, InputOf<RealOf<D>> E>
    void load(const D& d, const E& e, std::int64_t first = 0, std::int64_t blocks = 0) {
        run(Operation::load, {d, e}, {.first_block = first, .blocks = blocks});
    }
    template <HostArray D, InputOf<RealOf<D>> E>
    void factor(const D& d, const E& e, const FactorOptions<RealOf<D>>& options = {}) {
        run(Operation::factor, {d, e}, options.on({}));
    }
    template <HostArray D, InputOf<RealOf<D>> E, InputOf<RealOf<D>> B, OutputOf<RealOf<D>> Y>
    void factor_forward(const D& d, const E& e, const B& b, Y&& y, const FactorOptions<RealOf<D>>& options = {}) {
        run(Operation::factor_forward, {d, e, b, y}, options.on({}));
    }
    template <HostArray D, InputOf<RealOf<D>> E, InputOf<RealOf<D>> B, OutputOf<RealOf<D>> X>
    void factor_solve(const D& d, const E& e, const B& b, X&& x, const FactorOptions<RealOf<D>>& options = {}) {
        run(Operation::factor_solve, {d, e, b, x}, options.on({}));
    }
    template <HostArray B, OutputOf<RealOf<B>> Y>
    void forward(const B& b, Y&& y, const SweepOptions& options = {}) {
        run(Operation::forward, {b, y}, options.on({}));
    }
    template <HostArray Y, OutputOf<RealOf<Y>> X>
    void backward(const Y& y, X&& x, const SweepOptions& options = {}) {
        run(Operation::backward, {y, x}, options.on({}));
    }
    template <HostArray B, OutputOf<RealOf<B>> X>
    void solve(const B& b, X&& x, const SweepOptions& options = {}) {
        run(Operation::solve, {b, x}, options.on({}));
    }
    template <HostArray B, OutputOf<RealOf<B>> X>
    void solve_transposed(const B& b, X&& x, const SweepOptions& options = {}) {
        run(Operation::solve_transposed, {b, x}, options.on({}));
    }
    template <HostArray D, InputOf<RealOf<D>> E, InputOf<RealOf<D>> B, OutputOf<RealOf<D>> X>
    void refine(const D& d, const E& e, const B& b, X&& x, const FactorOptions<RealOf<D>>& options = {}) {
        run(Operation::refine, {d, e, b, x}, options.on({}));
    }
    template <HostArray S, OutputOf<RealOf<S>> T>
        requires OutputOf<S, RealOf<S>>
    void selected_inverse(S&& diagonal, T&& coupling, const SweepOptions& options = {}) {
        run(Operation::inverse, {diagonal, coupling}, options.on({}));
    }

    // For spans, and what becomes one where the type of its elements is said: solver.solve<double>(b, x).
    template <class Real>
    void factor(std::span<const Real> d, std::span<const Real> e, const FactorOptions<Real>& options = {}) {
        run(Operation::factor, {d, e}, options.on({}));
    }
    template <class Real>
    void factor_forward(std::span<const Real> d, std::span<const Real> e, std::span<const Real> b, std::span<Real> y,
                        const FactorOptions<Real>& options = {}) {
        run(Operation::factor_forward, {d, e, b, y}, options.on({}));
    }
    template <class Real>
    void factor_solve(std::span<const Real> d, std::span<const Real> e, std::span<const Real> b, std::span<Real> x,
                      const FactorOptions<Real>& options = {}) {
        run(Operation::factor_solve, {d, e, b, x}, options.on({}));
    }
    template <class Real>
    void forward(std::span<const Real> b, std::span<Real> y, const SweepOptions& options = {}) {
        run(Operation::forward, {b, y}, options.on({}));
    }
    template <class Real>
    void backward(std::span<const Real> y, std::span<Real> x, const SweepOptions& options = {}) {
        run(Operation::backward, {y, x}, options.on({}));
    }
    template <class Real>
    void solve(std::span<const Real> b, std::span<Real> x, const SweepOptions& options = {}) {
        run(Operation::solve, {b, x}, options.on({}));
    }
    template <class Real>
    void solve_transposed(std::span<const Real> b, std::span<Real> x, const SweepOptions& options = {}) {
        run(Operation::solve_transposed, {b, x}, options.on({}));
    }
    template <class Real>
    void refine(std::span<const Real> d, std::span<const Real> e, std::span<const Real> b, std::span<Real> x,
                const FactorOptions<Real>& options = {}) {
        run(Operation::refine, {d, e, b, x}, options.on({}));
    }
    template <class Real>
    void selected_inverse(std::span<Real> diagonal, std::span<Real> coupling, const SweepOptions& options = {}) {
        run(Operation::inverse, {diagonal, coupling}, options.on({}));
    }

    /// Any of the calls above, with its arrays in the same order: all of the device, or all of the host.
    void run(Operation operation, std::span<const AnyArray> arrays, const CallOptions& options);
    void run(Operation operation, std::initializer_list<AnyArray> arrays, const CallOptions& options) {
        run(operation, std::span(arrays.begin(), arrays.size()), options);
    }

    /// For each member 1 / (||A|| ||A^-1||) in the 1-norm, of A scaled to a diagonal of ones, as estimated by at most 13 solutions with the
    /// factors: about the relative error that a relative error of one epsilon in A makes, over which it decides whether X has right digits.
    /// D, E and the options, a border's F and C among them, are those that were factored, in host memory; 0 where there is no factor, NaN
    /// for masked members. Needs the operation solve. It allocates, and status() and quadratic() are then those of its own solutions.
    template <class Real>
    std::vector<double> reciprocal_condition(std::span<const Real> d, std::span<const Real> e, const FactorOptions<Real>& options = {});
    template <HostArray D, InputOf<RealOf<D>> E>
    std::vector<double> reciprocal_condition(const D& d, const E& e, const FactorOptions<RealOf<D>>& options = {}) {
        return reciprocal_condition<RealOf<D>>(std::span(d), std::span(e), options);
    }

    // Results of the last calls. The vectors are the Solver's: they are valid until the same function is called again. After their first
    // call these functions allocate nothing, but for the text of an error.

    /// Waits for the last call; its stream must still exist.
    void synchronize();
    /// Synchronizes. Whether check() would return: no exception and no allocation, for real-time loops.
    bool ok();
    /// Synchronizes; throws NotPositiveDefinite naming every failed member; where none has failed, NearlySingular naming those whose least
    /// pivot is below nearly_singular_bound; and where there are none of these, OutOfRange naming those whose X or
    /// selected inverse holds infinities or NaN. In mixed precision a failed member is one whose factorization in f32
    /// failed, which may be positive definite still; and where all have a factor, throws NotConverged naming the members that the last
    /// solution could not be refined for.
    void check();
    /// Synchronizes. One entry for each member that a factor call has covered.
    const std::vector<Outcome>& status();
    /// Synchronizes. One entry for each member of the last solution in mixed precision, or of the last refine(); none after factor().
    /// SpecError where the Plan has neither.
    const std::vector<Refinement>& refinement();
    /// Synchronizes. log det A by member; NaN for a failed member. In mixed precision it has the accuracy of f32.
    const std::vector<double>& log_determinant();
    /// Synchronizes. b' A^-1 b of the last forward sweep, [member][column]; NaN for a failed member, and where it leaves the range of f64.
    /// Throws SpecError when that sweep had more columns than the Spec's rhs, and in mixed precision.
    const std::vector<double>& quadratic();
    /// Enqueues the last two as copies to memory of the device (on the CPU ordinary memory), which do not synchronize: log det A of that
    /// many members; and b' A^-1 b of the last forward sweep, as [members][columns], where 0 stands for the Spec's rhs. They throw
    /// SpecError where there is not as much.
    void copy_log_determinant(double* to, std::int64_t members, Stream stream = {});
    void copy_quadratic(double* to, std::int64_t members, Stream stream = {}, std::int64_t columns = 0);
    /// Likewise the statuses of members, so that work on the device decides by them: within a graph, for one. And what a factorization of a
    /// symmetric or general matrix says beyond that.
    void copy_status(MemberStatus* to, std::int64_t members, Stream stream = {});
    void copy_inertia(MemberInertia* to, std::int64_t members, Stream stream = {});
    /// Likewise the backward errors of the last refine().
    void copy_backward_error(double* to, std::int64_t members, Stream stream = {});

  private:
    template <class, class>
    friend class FactorsOf;
    struct [[gnu::visibility("hidden")]] Impl;
    [[gnu::visibility("hidden")]] explicit Solver(std::unique_ptr<Impl> impl);
    [[gnu::visibility("hidden")]] Impl& impl() const;
    std::unique_ptr<Impl> impl_;
};

using Factors = FactorsOf<Plan, Solver>;
extern template class FactorsOf<Plan, Solver>;

}  // namespace trifold
