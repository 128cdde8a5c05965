#pragma once

// Options of a factorization, in signatures.
#define TRIFOLD_OPTIONS                                                                                                              \
    "shift: ArrayLike | None = None, diagonal: ArrayLike | None = None, active: ArrayLike | None = None, pivot_floor: float = 0.0, " \
    "accept_nearly_singular: bool = False, check: bool | None = None"

/// Signatures and descriptions of what Python sees. help(), inspect.signature() and trifold/_core.pyi, which tools/stubs writes, are made
/// of them.
namespace trifold::python {

struct Text {
    const char *signature, *description = "";
};

namespace text_of_plan {

constexpr const char* whole =
    R"(A problem that is prepared: kernels generated for it, compiled or taken from the cache, and loaded. Equal Plans are made once.
Pickles as its arguments.

block, horizon: n, 1 to 1024, and N. dtype: "float32", "float64", or "mixed" for float64 arrays factored in float32. batch: the most
members of a call. rhs: right-hand sides solved at once; more go in panels. device: "cpu", "cuda:0", "hip:0" or "auto".
operations: names separated by commas, "all", or "" for all but selected_inverse. workers: threads of a call on the CPU.
any_size: one compilation serves every horizon, batch and class of right-hand sides; a few percent slower on GPUs.
Raises SpecError, DeviceError, CompileError, CacheError.)";
constexpr Text make{
    R"(def __init__(self, *, block: int, horizon: int, dtype: Any = 'float64', batch: int = 1, rhs: int = 1, device: Any = 'cpu', schedule: str = 'auto', variant: str = 'auto', operations: str = '', workers: int = 1, any_size: bool = False) -> None)"};
constexpr Text solver{R"(def solver(self, value: ArrayLike | None = None, *, members: int = 0, batched: bool | None = None) -> Solver)",
                      R"(A Solver with memory of its own; or over value, value_bytes of uint8 on the device, aligned to 64 bytes.

A value that is filled holds members systems (0: the batch). batched: whether their arrays have a batch axis; by default where there
is more than one system, which cannot do without.)"};
constexpr Text copy_value{R"(def copy_value(self, value: ArrayLike) -> Any)",
                          R"(A copy of a value, aligned as solver() needs it: of one that comes from a file or from another copy.)"};
constexpr Text prepare{R"(def prepare(self, value: ArrayLike) -> None)",
                       R"(Makes ready what the first call over a value would: before a graph is captured.)"};
}  // namespace text_of_plan

namespace text_of_solver {

constexpr const char* whole =
    R"(Calls of one Plan, one at a time. Made by Plan.solver(). Pickles with its value, where it was made over one; else without a factor.

D: (N, n, n), of which only the lower triangles are read; E: (N - 1, n, n), or None when N is 1; b, y, x: (N, n), or (N, n, m). With a
batch axis in front of D there is one in front of all. Up to the Plan's batch members may be given. Sweeps take the members of the last
factorization. out: where the result goes, contiguous; x may be b itself. Without it a new array of b's library is returned.

Options: shift (batch,) or a number, diagonal (batch, N, n), active (batch,), pivot_floor, accept_nearly_singular, as in trifold.solve.
check, by default True on the CPU: raise NotPositiveDefinite, NearlySingular, OutOfRange or NotConverged; on a GPU that waits. Else a
GPU's calls only enqueue, on the current stream of the arrays' library. Raises SpecError on arrays that do not fit.)";
constexpr Text factor{R"(def factor(self, D: ArrayLike, E: ArrayLike | None = None, *, )" TRIFOLD_OPTIONS R"() -> None)",
                      R"(Factors A, for the sweeps that follow. D: (N, n, n), E: (N - 1, n, n), with the batch axis of D in both or in none.

With check raises NotPositiveDefinite or NearlySingular; SpecError on arrays that do not fit.)"};
constexpr Text factor_solve{
    R"(def factor_solve(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, out: ArrayLike | None = None, *, )" TRIFOLD_OPTIONS
    R"() -> Any)",
    R"(factor(D, E) and A^-1 b in one. b and the result: (N, n), or (N, n, m), with the batch axis of D.

With check raises NotPositiveDefinite, NearlySingular, OutOfRange or NotConverged; SpecError on arrays that do not fit.)"};
constexpr Text factor_forward{
    R"(def factor_forward(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, out: ArrayLike | None = None, *, )" TRIFOLD_OPTIONS
    R"() -> Any)",
    R"(factor(D, E) and forward(b) in one. Shapes and errors are those of factor_solve().)"};
constexpr Text solve{
    R"(def solve(self, b: ArrayLike, out: ArrayLike | None = None, *, active: ArrayLike | None = None, check: bool | None = None) -> Any)",
    R"(A^-1 b, of the last factorization. b and the result: (N, n), or (N, n, m), with the batch axis of what was factored.

With check raises what factor_solve() does; SpecError on arrays that do not fit, or where nothing was factored.)"};
constexpr Text forward{
    R"(def forward(self, b: ArrayLike, out: ArrayLike | None = None, *, active: ArrayLike | None = None, check: bool | None = None) -> Any)",
    R"(y = L^-1 P b, where A is P' L L' P. The squares of y sum up to b' A^-1 b. Shapes and errors are those of solve().)"};
constexpr Text backward{
    R"(def backward(self, b: ArrayLike, out: ArrayLike | None = None, *, active: ArrayLike | None = None, check: bool | None = None) -> Any)",
    R"(P' L^-T b: with b of forward() the solution, with independent standard normal numbers a draw of covariance A^-1. Shapes and errors
are those of solve().)"};
constexpr Text sample{R"(def sample(self, generator: Any = None, mean: ArrayLike | None = None, draws: int | None = None) -> Any)",
                      R"(mean + L^-T z, as trifold.Factor has it. The Plan must have backward among its operations.)"};
constexpr Text selected_inverse{
    R"(def selected_inverse(self, out: tuple[Any, Any] | None = None, *, active: ArrayLike | None = None, check: bool | None = None) -> tuple[Any, Any])",
    R"(Blocks (i, i) of A^-1, (N, n, n), and (i + 1, i), (N - 1, n, n). The Plan must have it among its operations.)"};
constexpr Text forward_quadratic{
    R"(def forward_quadratic(self, b: ArrayLike, out: ArrayLike | None = None, quadratic: Any = None) -> tuple[Any, Any])",
    R"(forward(b), and b' A^-1 b in float64: (), (m,), (batch,) or (batch, m). b has as many right-hand sides as the Plan.)"};
constexpr Text marginals{
    R"(def marginals(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, *, )" TRIFOLD_OPTIONS R"() -> Marginals)",
    R"(Result of trifold.marginals(). The Plan must have all operations, and b has as many right-hand sides as the Plan at most.)"};
constexpr Text log_determinant{R"(def log_determinant(self, out: ArrayLike | None = None) -> Any)",
                               R"(log det A in float64: (), or (batch,). Does not wait on a GPU.)"};
constexpr Text status{R"(def status(self) -> Status)", R"(Waits, and says how each member fared.)"};
constexpr Text refinement{R"(def refinement(self) -> Refinement)", R"(Waits. Mixed precision only: how the last solution was refined.)"};
constexpr Text reciprocal_condition{
    R"(def reciprocal_condition(self, D: ArrayLike, E: ArrayLike | None = None, *, shift: ArrayLike | None = None, diagonal: ArrayLike | None = None, active: ArrayLike | None = None) -> Any)",
    R"(Waits. float64 by member, as trifold.Factor has it. The Plan must have solve among its operations; status() is then that of its
own solutions.)"};
constexpr Text check{R"(def check(self) -> None)", R"(Waits, and raises what check=True would.)"};
constexpr Text synchronize{R"(def synchronize(self) -> None)", R"(Waits for the last call.)"};
}  // namespace text_of_solver

namespace text_of_grid {

constexpr const char* whole = R"(Images on arrays of Python: what trifold.grid.Factor is written with.)";
constexpr Text make{R"(def __init__(self, stencil: ArrayLike, settings: dict[str, Any]) -> None)"};
constexpr Text factor{R"(def factor(self, check: bool | None) -> None)"};
constexpr Text solve{R"(def solve(self, b: ArrayLike, out: ArrayLike | None, transposed: bool) -> Any)"};
constexpr Text refine{R"(def refine(self, b: ArrayLike, x: ArrayLike, out: ArrayLike | None, transposed: bool) -> Any)"};
constexpr Text gradients{R"(def gradients(self, x: ArrayLike, by_x: ArrayLike) -> tuple[Any, Any])"};
constexpr Text log_determinant{R"(def log_determinant(self) -> list[tuple[float, int]])"};
constexpr Text status{R"(def status(self) -> list[tuple[Any, ...]])", R"(Fields of trifold.grid.Status for each image.)"};
constexpr Text reciprocal_condition{R"(def reciprocal_condition(self) -> list[float])"};
constexpr Text check{R"(def check(self) -> None)"};
}  // namespace text_of_grid

namespace text_of_ranks {

constexpr const char* local =
    R"(Threads of this process as ranks: a thread gives its take(rank) to trifold.ranks. timeout: seconds that a rank waits for another.)";
constexpr const char* whole =
    R"(One rank's calls on a chain that several ranks share. Made by trifold.ranks().

D: (blocks, n, n), this rank's own; E: (couplings, n, n), whose last block leads to the next rank's first one: the last rank has one
less. b, y, x: (blocks, n), or (blocks, n, m). With a batch axis in front of D there is one in front of all. The options are those of
trifold.Solver; shift and active are the same on all ranks.

Every call is one of all ranks, in the same order, with as many members, right-hand sides and checks. So are those that return results,
and these are the whole chain's. Raises RankError on every rank where one does not come within the timeout, and what a Solver's calls
raise. On a GPU calls wait until all ranks have come, and enqueue on the current stream of the arrays' library.)";
constexpr Text make{
    R"(def __init__(self, transport: Transport, *, block: int, horizon: int, shards: list[int], dtype: Any, batch: int, rhs: int, schedule: str, operations: str, workers: int) -> None)"};
constexpr Text selected_inverse{
    R"(def selected_inverse(self, *, active: ArrayLike | None = None, check: bool | None = None) -> tuple[Any, Any])",
    R"(Blocks (i, i) of the inverse, (blocks, n, n), and (i + 1, i), (couplings, n, n): those of this rank.)"};
constexpr Text refine{
    R"(def refine(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, x: ArrayLike, *, shift: ArrayLike | None = None, diagonal: ArrayLike | None = None, active: ArrayLike | None = None) -> Refinement)",
    R"(Corrects x, a solution for b, where it is, with the factors at hand; D, E and the options are what was factored. They may be of
float64 although the chain is of float32: with copies in float32 for factor and solve that is mixed precision. Waits.)"};
constexpr Text log_determinant{R"(def log_determinant(self) -> Any)", R"(log det A of the whole chain by member, in float64.)"};
constexpr Text quadratic{R"(def quadratic(self) -> Any)",
                         R"(b' A^-1 b of the whole chain for each right-hand side of the last forward sweep, in float64.)"};
constexpr Text status{R"(def status(self) -> Status)", R"(Outcome of each member; blocks are counted from the chain's first one.)"};
constexpr Text check{R"(def check(self) -> None)", R"(Raises NotPositiveDefinite, NearlySingular or OutOfRange where a member failed.)"};
constexpr Text next_block{R"(def next_block(self, b: ArrayLike) -> Any)",
                          R"(The next rank's first block of b, with an axis of length 1 for it; None on the last rank.)"};

}  // namespace text_of_ranks

}  // namespace trifold::python

#undef TRIFOLD_OPTIONS
