#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <trifold/call.hpp>
#include <trifold/device.hpp>
#include <trifold/error.hpp>
#include <trifold/factors_of.hpp>
#include <trifold/grid_spec.hpp>
#include <trifold/program.hpp>
#include <vector>

namespace [[gnu::visibility("default")]] trifold {

/// Kernels for one GridSpec: generated, compiled or taken from the cache, loaded. Immutable; may be shared between threads and solvers. One
/// set of kernels serves images of nearly every size.
class GridPlan {
  public:
    using spec_type = GridSpec;
    using tuning_type = GridTuning;
    /// Throws SpecError, CompileError, CacheError, DeviceError. The other functions throw SpecError when the plan has been moved from.
    GridPlan(const GridSpec& spec, const Device& device, const GridTuning& tuning = {});
    const GridChoice& choice() const;
    const GridSpec& spec() const;
    const GridTuning& tuning() const;  ///< with the variant that was taken
    const Program& program() const;
    const Device& device() const;
    const PlanReport& report() const;

    struct [[gnu::visibility("hidden")]] State;
    [[gnu::visibility("hidden")]] const State& state() const;

  private:
    std::shared_ptr<const State> state_;
};

struct GridOptions {
    std::int64_t columns = 0;  ///< right-hand sides in B and X; 0: the Spec's rhs. More go in panels of that many.
    std::int64_t members = 0;  ///< images of this call; 0: the Spec's batch
    /// Takes images that are nearly singular or unstable as they are: of a factorization, or of one solution.
    bool accept_nearly_singular = false;
};

/// Problems of an image's matrix. `nearly_singular`: rounding decides its least pivot. `unstable`: pivots grew so much that few
/// digits are left, or the last solution missed the bound of the backward error, 1e-12 in f64 and 2e-5 in f32, and is NaN.
enum class GridProblem { none, beyond_image, not_finite, pivot, nearly_singular, unstable };

/// A rectangle of pixels, both ends included.
struct GridPixels {
    std::int64_t x0, x1, y0, y1;
    bool operator==(const GridPixels&) const = default;
};

/// Outcome of an image. Pixels count in the caller's image, from 0.
struct GridOutcome {
    GridProblem problem = GridProblem::none;
    std::int64_t level = -1;                  ///< level of the failing front; 0: a leaf tile. -1: no one front failed
    GridPixels front{-1, -1, -1, -1};         ///< the pixels that it eliminates
    std::int64_t pixel_x = -1, pixel_y = -1;  ///< where it failed
    /// The smallest pivot, over the size of its row; of a symmetric matrix over the diagonal entry that it began with. 0 where one failed.
    double least_pivot = 1;
    double growth = 0;     ///< the largest pivot over the size of its row; of a symmetric matrix over the largest entry of A
    bool solution = true;  ///< X of the last solution is in range, or the matrix has a problem
    bool operator==(const GridOutcome&) const = default;
    bool ok() const { return problem == GridProblem::none && solution; }
};

/// det A = sign exp(log). Not a number where the image failed.
struct GridDeterminant {
    double log = 0;
    int sign = 1;
    bool operator==(const GridDeterminant&) const = default;
};

/// GridSolver::check found images that could not be factored, are singular to the precision, or lost too many digits.
class GridFailed : public Unsolvable {
  public:
    struct Failure {
        std::int64_t member;
        GridOutcome outcome;
    };
    GridFailed(const std::string& message, std::vector<Failure> all) : Unsolvable(message), failures(std::move(all)) {}
    std::vector<Failure> failures;
};

std::string_view to_string(GridProblem problem);
/// Throws as GridSolver::check does of such outcomes.
void check(const std::vector<GridOutcome>& outcomes, const GridSpec& spec);

/// Workspace and launches of one GridPlan. One call in flight at a time. After construction the calls that compute allocate nothing.
///
/// Arrays are those of GridSpec: stencils [batch][height][width][9], B and X [batch][height][width][columns]. X may be B itself; other
/// outputs may overlap nothing. With GridBoundary::fixed the ring of B holds the data g, which the ring of X then repeats; new data need no
/// new factorization. Calls throw SpecError on arguments that do not fit the Spec. An image that failed solves to NaN.
///
/// Spans are in the host's memory, and their calls return when the result is there. Pointers are the device's; on a GPU the work is put
/// into the stream, and nothing is waited for but by status(), log_determinant(), ok() and check().
class GridSolver {
  public:
    explicit GridSolver(const GridPlan& plan);
    /// Solver in the caller's workspace: device memory, 64-byte aligned, of at least workspace_bytes(plan), which must outlive the solver
    /// and the work it has enqueued. Throws SpecError when it is not that.
    GridSolver(const GridPlan& plan, void* workspace, std::int64_t bytes);
    GridSolver(GridSolver&&) noexcept;
    GridSolver& operator=(GridSolver&&) noexcept;
    ~GridSolver();
    static std::int64_t workspace_bytes(const GridPlan& plan);
    const GridPlan& plan() const;
    /// Waits until every operation can run. Without it the first call of an operation waits, where its code is still being compiled.
    void prepare();
    /// Replaces the built-in thread pool.
    void set_executor(Executor executor);

    template <class Real>
    void factor(const Real* stencil, Stream stream = {}, const GridOptions& options = {}) {
        run(GridOperation::factor, {stencil}, stream, options);
    }
    template <class Real>
    void factor_solve(const Real* stencil, const Real* b, Real* x, Stream stream = {}, const GridOptions& options = {}) {
        run(GridOperation::factor_solve, {stencil, b, x}, stream, options);
    }
    template <class Real>
    void solve(const Real* b, Real* x, Stream stream = {}, const GridOptions& options = {}) {
        run(GridOperation::solve, {b, x}, stream, options);
    }
    /// A' X = B, with the factors of A.
    template <class Real>
    void solve_transposed(const Real* b, Real* x, Stream stream = {}, const GridOptions& options = {}) {
        run(GridOperation::solve_transposed, {b, x}, stream, options);
    }
    /// One step of iterative refinement: X += A^-1 (B - A X), or with A'. X must not be B.
    template <class Real>
    void refine(const Real* stencil, const Real* b, Real* x, bool transposed = false, Stream stream = {}, const GridOptions& options = {}) {
        run(GridOperation::refine, {stencil, b, x}, stream, options, transposed);
    }
    /// Gradients of E, a number that depends on X = A^-1 B, from dE/dX: dE/dB = A^-T dE/dX, and dE/dA on the stencils, summed over
    /// right-hand sides. An entry of a symmetric matrix that is read stands for both its places, and the gradient of others is zero.
    template <class Real>
    void gradients(const Real* x, const Real* by_x, Real* by_b, Real* by_stencil, Stream stream = {}, const GridOptions& options = {}) {
        run(GridOperation::gradient, {x, by_x, by_b, by_stencil}, stream, options);
    }

    // For vectors, arrays and spans: solver.factor_solve(A, b, x).
    template <HostArray A>
    void factor(const A& stencil, const GridOptions& options = {}) {
        run(GridOperation::factor, {stencil}, {}, options);
    }
    template <HostArray A, InputOf<RealOf<A>> B, OutputOf<RealOf<A>> X>
    void factor_solve(const A& stencil, const B& b, X&& x, const GridOptions& options = {}) {
        run(GridOperation::factor_solve, {stencil, b, x}, {}, options);
    }
    template <HostArray B, OutputOf<RealOf<B>> X>
    void solve(const B& b, X&& x, const GridOptions& options = {}) {
        run(GridOperation::solve, {b, x}, {}, options);
    }
    template <HostArray B, OutputOf<RealOf<B>> X>
    void solve_transposed(const B& b, X&& x, const GridOptions& options = {}) {
        run(GridOperation::solve_transposed, {b, x}, {}, options);
    }
    template <HostArray A, InputOf<RealOf<A>> B, OutputOf<RealOf<A>> X>
    void refine(const A& stencil, const B& b, X&& x, bool transposed = false, const GridOptions& options = {}) {
        run(GridOperation::refine, {stencil, b, x}, {}, options, transposed);
    }
    template <HostArray X, InputOf<RealOf<X>> G, OutputOf<RealOf<X>> B, OutputOf<RealOf<X>> A>
    void gradients(const X& x, const G& by_x, B&& by_b, A&& by_stencil, const GridOptions& options = {}) {
        run(GridOperation::gradient, {x, by_x, by_b, by_stencil}, {}, options);
    }

    /// Any of the calls above, with its arrays in the same order: all of the device, or all of the host. `transposed` is for refine.
    void run(GridOperation operation, std::span<const AnyArray> arrays, Stream stream = {}, const GridOptions& options = {},
             bool transposed = false);
    void run(GridOperation operation, std::initializer_list<AnyArray> arrays, Stream stream, const GridOptions& options,
             bool transposed = false) {
        run(operation, std::span(arrays.begin(), arrays.size()), stream, options, transposed);
    }

    /// For each image an estimate of 1 / (||A|| ||A^-1||) of its factored A, by at most 13 solutions of all: of rows scaled to one size,
    /// in the infinity norm, and of a symmetric matrix of rows and columns. Below the rounding unit of the precision A is singular to it;
    /// from there on an image that was called nearly singular may be accepted. Needs solve, and solve_transposed of a general matrix.
    template <class Real>
    std::vector<double> reciprocal_condition(std::span<const Real> stencil, const GridOptions& options = {});
    template <HostArray A>
    std::vector<double> reciprocal_condition(const A& stencil, const GridOptions& options = {}) {
        return reciprocal_condition<RealOf<A>>(std::span<const RealOf<A>>(stencil), options);
    }

    /// Waits for the last call; its stream must still exist.
    void synchronize();
    /// Whether check() would return.
    bool ok();
    /// Throws GridFailed naming images whose matrices failed, their fronts and what to do; and OutOfRange where the last solution of some
    /// image has infinities or NaN, as it has where B does, or a column that is all below the normal range though B's is not zero.
    void check();
    /// One entry for each image that a factorization has covered.
    const std::vector<GridOutcome>& status();
    const std::vector<GridDeterminant>& log_determinant();

  private:
    template <class, class>
    friend class FactorsOf;
    struct [[gnu::visibility("hidden")]] Impl;
    [[gnu::visibility("hidden")]] explicit GridSolver(std::unique_ptr<Impl> impl);
    [[gnu::visibility("hidden")]] Impl& impl() const;
    std::unique_ptr<Impl> impl_;
};

using GridFactors = FactorsOf<GridPlan, GridSolver>;
extern template class FactorsOf<GridPlan, GridSolver>;

}  // namespace trifold
