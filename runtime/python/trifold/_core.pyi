from typing import Any, Unpack

from .arrays import ArrayLike, CopiedStatus, Marginals, Refinement, Status
from .factor import Factorization, Sweep, System

class Plan:
    """
    A problem that is prepared: kernels generated for it, compiled or taken from the cache, and loaded. Equal Plans are made once.
    Pickles as its arguments.

    block, horizon: n, 1 to 4096, and N. dtype: "float32", "float64", or "mixed" for float64 arrays factored in float32. batch: the most
    members of a call. rhs: right-hand sides solved at once; more go in panels. device: "cpu", "cuda:0", "hip:0" or "auto".
    operations: names separated by commas, "all", or "" for all but selected_inverse. workers: threads of a call on the CPU.
    any_size: one compilation serves every horizon, batch and class of right-hand sides; a few percent slower on GPUs.
    border: a, the rows of F and C, 0 to 512: A = [T F'; F C] with the chain T. Its Solvers take border=(F, C), (N, a, n) and (a, a), where
    they take D and E, and pairs of the chain's right-hand sides and their tip, (a,) or (a, m), where they take b.
    ring: E has N blocks, of which the last, A(0, N - 1), couples the last block to the first.
    lengths: each member has a number of blocks of its own, which factorizations take as their option lengths.
    sizes: each block has a number of rows of its own, which factorizations take as their option sizes.
    bandwidth: w, the blocks that E, (N, w, n, n), has below each diagonal block. It is solved by blocks of w n rows, which
    selected_inverse has too.
    matrix: "positive-definite"; "symmetric", whose pivots may have both signs: A = P' L S L' P; or "general", whose Solvers take upper, the
    blocks (i, i + 1) in the shape of E, where they take D and E, and have solve_transposed.
    Raises SpecError, DeviceError, CompileError, CacheError.
    """

    def __init__(
        self,
        *,
        block: int,
        horizon: int,
        dtype: Any = "float64",
        batch: int = 1,
        rhs: int = 1,
        device: Any = "cpu",
        schedule: str = "auto",
        variant: str = "auto",
        operations: str = "",
        workers: int = 1,
        any_size: bool = False,
        border: int = 0,
        ring: bool = False,
        lengths: bool = False,
        sizes: bool = False,
        bandwidth: int = 1,
        matrix: str = "positive-definite",
    ) -> None: ...
    def solver(self, value: ArrayLike | None = None, *, members: int = 0, batched: bool | None = None) -> Solver:
        """
        A Solver with memory of its own; or over value, value_bytes of uint8 on the device, aligned to 64 bytes.

        A value that is filled holds members systems (0: the batch). batched: whether their arrays have a batch axis; by default where there
        is more than one system, which cannot do without.
        """

    def prepare(self, value: ArrayLike) -> None:
        """
        Makes ready what the first call over a value would: before a graph is captured.
        """

    def copy_value(self, value: ArrayLike) -> Any:
        """
        A copy of a value, aligned as solver() needs it: of one that comes from a file or from another copy.
        """

    @property
    def block(self) -> int: ...
    @property
    def horizon(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def batch(self) -> int: ...
    @property
    def rhs(self) -> int: ...
    @property
    def border(self) -> int: ...
    @property
    def ring(self) -> bool: ...
    @property
    def lengths(self) -> bool: ...
    @property
    def sizes(self) -> bool: ...
    @property
    def bandwidth(self) -> int: ...
    @property
    def matrix(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def device_name(self) -> str: ...
    @property
    def schedule(self) -> str: ...
    @property
    def variant(self) -> str: ...
    @property
    def reason(self) -> str:
        """Reason for the schedule and the variant."""

    @property
    def rung(self) -> str:
        """
        Source of that choice: "pinned", "wisdom: exact", "wisdom: nearest" or "model".
        """

    @property
    def row(self) -> str:
        """The row of wisdom that was taken, with its file; empty where none was."""

    @property
    def operations(self) -> str: ...
    @property
    def value_bytes(self) -> int: ...
    @property
    def handle(self) -> int:
        """Address of the trifold::Factors, for C++ in this process."""

    @property
    def layout(self) -> str:
        """Plans of the same text can read each other's values."""

    @property
    def report(self, /) -> dict[str, Any]:
        """
        cache_hit, compiler, and the seconds that it took to generate, compile and load.
        """

    def __reduce__(self) -> tuple[Any, ...]: ...
    def __repr__(self) -> str: ...

class Solver:
    """
    Calls of one Plan, one at a time. Made by Plan.solver(). Pickles with its value, where it was made over one; else without a factor.

    D: (N, n, n), of which only the lower triangles are read; E: (N - 1, n, n), or None when N is 1; b, y, x: (N, n), or (N, n, m). With a
    batch axis in front of D there is one in front of all. Up to the Plan's batch members may be given. Sweeps take the members of the last
    factorization. out: where the result goes, contiguous; x may be b itself. Without it a new array of b's library is returned.

    Options: shift (batch,) or a number, diagonal (batch, N, n), active (batch,), upper, pivot_floor, accept_nearly_singular, as in
    trifold.solve.
    check, by default True on the CPU: raise NotPositiveDefinite, NearlySingular, OutOfRange or NotConverged; on a GPU that waits. Else a
    GPU's calls only enqueue, on the current stream of the arrays' library. Raises SpecError on arrays that do not fit.
    """

    def factor(self, D: ArrayLike, E: ArrayLike | None = None, **options: Unpack[Factorization]) -> None:
        """
        Factors A, for the sweeps that follow. D: (N, n, n), E: (N - 1, n, n), with the batch axis of D in both or in none.

        With check raises NotPositiveDefinite or NearlySingular; SpecError on arrays that do not fit.
        """

    def factor_solve(
        self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Factorization]
    ) -> Any:
        """
        factor(D, E) and A^-1 b in one. b and the result: (N, n), or (N, n, m), with the batch axis of D.

        With check raises NotPositiveDefinite, NearlySingular, OutOfRange or NotConverged; SpecError on arrays that do not fit.
        """

    def factor_forward(
        self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Factorization]
    ) -> Any:
        """
        factor(D, E) and forward(b) in one. Shapes and errors are those of factor_solve().
        """

    def solve(self, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Sweep]) -> Any:
        """
        A^-1 b, of the last factorization. b and the result: (N, n), or (N, n, m), with the batch axis of what was factored.

        With check raises what factor_solve() does; SpecError on arrays that do not fit, or where nothing was factored.
        """

    def forward(self, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Sweep]) -> Any:
        """
        y = L^-1 P b, where A is P' L L' P. The squares of y sum up to b' A^-1 b. Shapes and errors are those of solve().
        """

    def backward(self, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Sweep]) -> Any:
        """
        P' L^-T b: with b of forward() the solution, with independent standard normal numbers a draw of covariance A^-1. Shapes and errors
        are those of solve().
        """

    def load(self, D: ArrayLike, E: ArrayLike | None = None, first: int = 0) -> None:
        """
        Copies blocks of D and E, from block `first` on, to where a factorization overwrites them: (blocks, n, n) each, with E_i
        next to D_i, so that at the end of the chain E has one block less. When all are there, factor(None, None) and
        factor_solve(None, None, b) need no D and E in memory; the next factorization needs all loaded again. A batch is loaded as a whole,
        (batch, N, n, n). The Plan must have load among its operations, and be of a GPU.
        """

    def solve_transposed(self, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Sweep]) -> Any:
        """
        A'^-1 b, of a Plan of general matrices that has solve among its operations. Shapes and errors are those of solve().
        """

    def selected_inverse(self, out: tuple[Any, Any] | None = None, **options: Unpack[Sweep]) -> tuple[Any, ...]:
        """
        Blocks (i, i) of A^-1, (N, n, n), and (i + 1, i), with E's shape; with a border also those of F and C. The Plan must have it among
        its operations.
        """

    def marginals(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, **options: Unpack[Factorization]) -> Marginals:
        """
        Result of trifold.marginals(). The Plan must have all operations, and b has as many right-hand sides as the Plan at most.
        """

    def forward_quadratic(self, b: ArrayLike, out: ArrayLike | None = None, quadratic: Any = None) -> tuple[Any, Any]:
        """
        forward(b), and b' A^-1 b in float64: (), (m,), (batch,) or (batch, m). b has as many right-hand sides as the Plan.
        """

    def reciprocal_condition(self, D: ArrayLike, E: ArrayLike | None = None, **options: Unpack[System]) -> Any:
        """
        Waits. float64 by member, as trifold.Factor has it. The Plan must have solve among its operations; status() is then that of its
        own solutions.
        """

    def refine(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, x: ArrayLike, **options: Unpack[System]) -> Any:
        """
        x += A^-1 (b - A x), in x itself: one step of iterative refinement. D, E and the options are those that were factored.

        Returns by member the largest |b - A x| / (|A| |x| + |b|) of a row of the new x, in float64: (), or (batch,). Does not wait on a
        GPU. The Plan must have refine among its operations; a Solver over a value moves to one that has, at the first call, which waits.
        """

    def check(self) -> None:
        """Waits, and raises what check=True would."""

    def log_determinant(self, out: ArrayLike | None = None) -> Any:
        """log det A in float64: (), or (batch,). Does not wait on a GPU."""

    def status(self) -> Status:
        """Waits, and says how each member fared."""

    def copy_status(self) -> CopiedStatus:
        """
        Statuses of members as arrays of the library that was factored, on its device: views of one block of memory, as
        trifold_status of trifold.h has it. Does not wait on a GPU, so that work on the device decides by them, in a graph for one.
        """

    def refinement(self) -> Refinement:
        """
        Waits. How the last solution was refined: in mixed precision, or by refine.
        """

    def synchronize(self) -> None:
        """Waits for the last call."""

    @property
    def value(self, /) -> Any:
        """The array it works over, or None."""

    @property
    def batched(self) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def plan(self) -> Plan: ...
    def sample(self, generator: Any = None, mean: ArrayLike | None = None, draws: int | None = None) -> Any:
        """
        mean + L^-T z, as trifold.Factor has it. The Plan must have backward among its operations.
        """

    def __repr__(self) -> str: ...

class AddressSolver:
    """A solver on addresses of memory: what trifold.socu is written with."""

    def __init__(
        self, *, block: int, horizon: int, dtype: str, batch: int, rhs: int, device: str, d: tuple[int, int, int], e: tuple[int, int, int]
    ) -> None: ...
    def prepare(self) -> None: ...
    def factor(self, D: int, E: int, stream: int) -> None: ...
    def factor_solve(self, D: int, E: int, b: int, x: int, columns: int, stream: int) -> None: ...
    def solve(self, b: int, x: int, columns: int, stream: int) -> None: ...
    def forward(self, b: int, y: int, columns: int, stream: int) -> None: ...
    def backward(self, y: int, x: int, columns: int, stream: int) -> None: ...
    def log_determinant(self, to: int, stream: int) -> None: ...

def torch_way(*arguments: Any) -> int: ...
def torch_factor(D: Any, E: Any, columns: int, check: bool, signs: bool) -> Any: ...
def torch_factor_solve(D: Any, E: Any, b: Any, check: bool, signs: bool) -> tuple[Any, Any]: ...
def torch_marginals(D: Any, E: Any, b: Any, check: bool, signs: bool) -> tuple[Any, ...]: ...
def torch_solve(D: Any, E: Any, value: Any, b: Any) -> Any: ...
def torch_forward(D: Any, E: Any, value: Any, b: Any) -> Any: ...
def torch_backward(D: Any, E: Any, value: Any, b: Any) -> Any: ...
def torch_log_determinant(D: Any, E: Any, value: Any) -> Any: ...
def torch_selected_inverse(D: Any, E: Any, value: Any) -> tuple[Any, Any]: ...

class GridFactor:
    """Images on arrays of Python: what trifold.grid.Factor is written with."""

    def __init__(self, stencil: ArrayLike, settings: dict[str, Any]) -> None: ...
    def factor(self, check: bool | None) -> None: ...
    def solve(self, b: ArrayLike, out: ArrayLike | None, transposed: bool) -> Any: ...
    def refine(self, b: ArrayLike, x: ArrayLike, out: ArrayLike | None, transposed: bool) -> Any: ...
    def gradients(self, x: ArrayLike, by_x: ArrayLike) -> tuple[Any, Any]: ...
    def log_determinant(self) -> list[tuple[float, int]]: ...
    def status(self) -> list[tuple[Any, ...]]:
        """Fields of trifold.grid.Status for each image."""

    def reciprocal_condition(self) -> list[float]: ...
    def check(self) -> None: ...
    @property
    def batch_shape(self, /) -> tuple[int, ...]: ...

def grid_solve(stencil: Any, b: Any, out: Any, settings: dict[str, Any], refine: int, check: bool | None) -> Any: ...

class SparseSystem:
    """
    A pattern and its values, for contiguous arrays of the processor, or all of its GPU: what trifold.sparse.Solver is written with.
    """

    def __init__(
        self, starts: Any, columns: Any, parts: Any, device: Any, settings: dict[str, Any], transport: Transport | None = None
    ) -> None: ...
    @property
    def usual_tolerance(self) -> float: ...
    def update(self, values: Any, shift: float) -> None: ...
    def run(self, operation: str, b: Any, x: Any, columns: int) -> None: ...
    def solve(
        self,
        b: Any,
        x: Any,
        columns: int,
        *,
        transposed: bool,
        guess: bool,
        rtol: float,
        atol: float,
        maxiter: int,
        check: bool = False,
        callback: Any = None,
    ) -> list[tuple[str, int, float, float, list[float]]]:
        """
        Returns for each right-hand side how it ended, iterations, |b - A x|, |b|, and the history of the last panel's.
        """

    def gradient(self, x: Any, by_b: Any, by_values: Any, columns: int) -> None: ...
    def solve_with(
        self, values: Any, b: Any, x: Any, columns: int, transposed: bool, rtol: float, atol: float, maxiter: int, shift: float
    ) -> None:
        """
        Solves with these values of A, for arrays of the processor. Results that fail are NaN.
        """

    def summary(self) -> dict[str, Any]: ...
    @property
    def number(self) -> int:
        """Number by which XLA calls it."""

    @property
    def device(self) -> str:
        """cpu or cuda:0."""

class AnySolver:
    """A solver of any family: what trifold.families.Solver is written with."""

    def __init__(self, family: str, problem: str, device: Any, tuning: str) -> None: ...
    def run(self, operation: str, arrays: list[Any], options: str) -> Any: ...
    def size_of(self, operation: str, k: int) -> int: ...
    def outcomes(self) -> str: ...
    def check(self) -> None: ...
    @property
    def spec(self, /) -> str: ...

def families() -> str: ...

class StateSpace:
    """Arrays that trifold/state_space.py makes of a model of NumPy's arrays."""

    @property
    def D(self, /) -> Any: ...
    @property
    def E(self, /) -> Any: ...
    @property
    def b(self, /) -> Any: ...
    @property
    def array(self) -> str: ...
    @property
    def problem(self) -> str: ...
    @property
    def complete(self) -> bool: ...
    def least(self, x: Any) -> Any: ...

def state_space(
    F: Any, H: Any, Q: Any, R: Any, P0: Any, ys: Any, m0: Any, c: Any, d: Any, batch: int, horizon: int, n: int, m: int
) -> StateSpace: ...

class Transport:
    """Messages between the ranks of one chain."""

    def __init__(self, object: Any, timeout: float) -> None: ...
    def gather(self, mine: int) -> list[int]: ...
    def place(self, device: Any, nccl: int | None) -> None:
        """Sets the device of the arrays, before a solver takes this."""

    @property
    def rank(self) -> int: ...
    @property
    def ranks(self) -> int: ...

class LocalRanks:
    """
    Threads of this process as ranks: a thread gives its take(rank) to trifold.ranks. timeout: seconds that a rank waits for another.
    """

    def __init__(self, ranks: int, timeout: float = 30.0) -> None: ...
    def take(self, rank: int) -> Transport:
        """The transport of a rank, for the thread that is it. Each rank once."""

class RankSolver:
    """
    One rank's calls on a chain that several ranks share. Made by trifold.ranks().

    D: (blocks, n, n), this rank's own; E: (couplings, n, n), whose last block leads to the next rank's first one: the last rank has one
    less. b, y, x: (blocks, n), or (blocks, n, m). With a batch axis in front of D there is one in front of all. The options are those of
    trifold.Solver; shift and active are the same on all ranks.

    Every call is one of all ranks, in the same order, with as many members, right-hand sides and checks. So are those that return results,
    and these are the whole chain's. Raises RankError on every rank where one does not come within the timeout, and what a Solver's calls
    raise. On a GPU calls wait until all ranks have come, and enqueue on the current stream of the arrays' library.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        block: int,
        horizon: int,
        shards: list[int],
        dtype: Any,
        batch: int,
        rhs: int,
        schedule: str,
        operations: str,
        workers: int,
    ) -> None: ...
    def factor(self, D: ArrayLike, E: ArrayLike | None = None, **options: Unpack[Factorization]) -> None:
        """
        Factors A, for the sweeps that follow. D: (N, n, n), E: (N - 1, n, n), with the batch axis of D in both or in none.

        With check raises NotPositiveDefinite or NearlySingular; SpecError on arrays that do not fit.
        """

    def factor_solve(
        self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Factorization]
    ) -> Any:
        """
        factor(D, E) and A^-1 b in one. b and the result: (N, n), or (N, n, m), with the batch axis of D.

        With check raises NotPositiveDefinite, NearlySingular, OutOfRange or NotConverged; SpecError on arrays that do not fit.
        """

    def factor_forward(
        self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Factorization]
    ) -> Any:
        """
        factor(D, E) and forward(b) in one. Shapes and errors are those of factor_solve().
        """

    def solve(self, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Sweep]) -> Any:
        """
        A^-1 b, of the last factorization. b and the result: (N, n), or (N, n, m), with the batch axis of what was factored.

        With check raises what factor_solve() does; SpecError on arrays that do not fit, or where nothing was factored.
        """

    def forward(self, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Sweep]) -> Any:
        """
        y = L^-1 P b, where A is P' L L' P. The squares of y sum up to b' A^-1 b. Shapes and errors are those of solve().
        """

    def backward(self, b: ArrayLike, out: ArrayLike | None = None, **options: Unpack[Sweep]) -> Any:
        """
        P' L^-T b: with b of forward() the solution, with independent standard normal numbers a draw of covariance A^-1. Shapes and errors
        are those of solve().
        """

    def selected_inverse(self, **options: Unpack[Sweep]) -> tuple[Any, Any]:
        """
        Blocks (i, i) of the inverse, (blocks, n, n), and (i + 1, i), (couplings, n, n): those of this rank.
        """

    def refine(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, x: ArrayLike, **options: Unpack[System]) -> Refinement:
        """
        Corrects x, a solution for b, where it is, with the factors at hand; D, E and the options are what was factored. They may be of
        float64 although the chain is of float32: with copies in float32 for factor and solve that is mixed precision. Waits.
        """

    def log_determinant(self) -> Any:
        """log det A of the whole chain by member, in float64."""

    def quadratic(self) -> Any:
        """
        b' A^-1 b of the whole chain for each right-hand side of the last forward sweep, in float64.
        """

    def status(self) -> Status:
        """Outcome of each member; blocks are counted from the chain's first one."""

    def check(self) -> None:
        """
        Raises NotPositiveDefinite, NearlySingular or OutOfRange where a member failed.
        """

    def next_block(self, b: ArrayLike) -> Any:
        """
        The next rank's first block of b, with an axis of length 1 for it; None on the last rank.
        """

    @property
    def rank(self) -> int:
        """This rank, from 0."""

    @property
    def ranks(self) -> int:
        """Number of ranks."""

    @property
    def first(self) -> int:
        """The first block of this rank."""

    @property
    def blocks(self) -> int:
        """Number of blocks of D that this rank holds."""

    @property
    def couplings(self) -> int:
        """Number of blocks of E that this rank holds."""

    @property
    def horizon(self) -> int:
        """Blocks of the whole chain."""

    @property
    def block(self) -> int:
        """n."""

    @property
    def schedule(self) -> str:
        """The order within a rank's own blocks."""

    def __repr__(self) -> str: ...

def show_signatures(type: Any) -> None: ...
def solver_for(
    D: Any,
    b: Any,
    operations: str,
    schedule: str,
    workers: int,
    mixed: bool,
    rhs: int,
    border: int = 0,
    ring: bool = False,
    lengths: bool = False,
    sizes: bool = False,
    bandwidth: int = 1,
    matrix: str = "positive-definite",
) -> Solver: ...
def allocate_bytes(bytes: int) -> Any: ...
def seconds_of_solve(solver: Solver, b: Any, out: Any, repeats: int) -> float: ...
def seconds_of_factor_solve(solver: Solver, D: Any, E: Any, b: Any, out: Any, repeats: int) -> float: ...
def finish_calls() -> None: ...
def add_layer(directory: str) -> None: ...
def layers() -> list[str]: ...
def jax_handlers() -> dict[str, Any]: ...
def jax_compile(problem: str, device: Any) -> None: ...
def jax_value_bytes(problem: str, device: Any) -> int: ...
def tools() -> dict[str, dict[str, Any]]: ...
def devices() -> dict[str, Any]: ...
def process() -> dict[str, Any]: ...

version: str = "0.2.0"
