"""Sparse systems: A x = b for any sparse A, by an iteration with an incomplete factorization. Needs SciPy.

    x, info = trifold.sparse.solve(A, b)
    P = trifold.sparse.ildu0(A); x, info = scipy.sparse.linalg.bicgstab(A, b, M=P)
    s = trifold.sparse.Solver(A); x, info = s.solve(b); s.update(A_with_new_values)
    s = trifold.sparse.ranks(communicator, A); x, info = s.solve(b)    # an iteration that several processes share

A: a square matrix of scipy.sparse or cupyx.scipy.sparse, in any format; with dense blocks of block x block entries, as csr or bsr. float32
or float64. b and x: (n,), or (n, m) for m right-hand sides, of NumPy; or of CuPy, or torch on a GPU, where the solver is on that GPU. Rows
that messages name count blocks, from 0.

docs/users/sparse.md in the repository says more. trifold.torch.sparse and trifold.jax.sparse have solutions with gradients.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import numpy

from ._core import SparseSystem, Transport
from ._sparse_rows import Rows, is_cupy, rows_of
from .arrays import adapt, guarded, is_hip, library_of, on_host, plain
from .errors import SparseFailed, SpecError
from .options import PRECISIONS, Option, flag, known, read, real, takes, whole, word
from .ranks import gather, told, transport_of

try:
    import scipy as _scipy  # pyright: ignore[reportMissingTypeStubs, reportMissingImports]
    import scipy.sparse.linalg  # pyright: ignore[reportMissingTypeStubs, reportMissingImports, reportUnusedImport]
except ImportError as error:
    raise ImportError("trifold.sparse takes matrices of SciPy, which is not installed: pip install scipy") from error

__all__ = ["Outcome", "Preconditioner", "Solution", "Solver", "SparseFailed", "ildu0", "ranks", "solve"]


def __dir__() -> list[str]:
    return __all__


np: Any = numpy  # its stubs differ from version to version
scipy: Any = _scipy
MOST_AT_A_TIME, MOST_ITERATIONS = 8, 10000  # right-hand sides; iterations where the caller leaves that open
_MOST_INDEX = 2**31 - 1


def _anything(value: Any, name: str) -> Any:
    return value


def _rows_of_one(value: Any, name: str) -> int:
    return whole(value, name, 0)


class Options(TypedDict, total=False):
    """Options of Solver(), solve() and ildu0(); Solver says what they are."""

    block: Annotated[int | None, Option(None, _anything)]
    dtype: Annotated[Any, Option(None, _anything)]
    partition: Annotated[Any, Option("automatic", _anything)]
    subdomain: Annotated[int, Option(0, _rows_of_one)]
    shift: Annotated[float, Option(0.0, real)]
    rhs: int
    device: Annotated[Any, Option(None, _anything)]
    variant: Annotated[str, Option("auto", word)]
    workers: Annotated[int, Option(1, whole)]


class Iteration(Options, total=False):
    """Options of Solver() and solve()."""

    preconditioner: str
    method: str
    restart: int


OPTIONS, ITERATION = known(Options, "sparse"), known(Iteration, "sparse")


class Outcome(NamedTuple):
    """Outcome of the iteration of one right-hand side."""

    end: str  #: "converged", "stagnated", "breakdown", "not_a_number", "limit" or "out_of_range"
    iterations: int
    residual: float  #: |b - A x|, computed from x
    norm_b: float  #: |b|
    #: |b - A x|, between true residuals as the iteration has it, after 0, 1, .. iterations, of the first 10 000; empty for earlier panels
    history: Any

    @property
    def relative_residual(self) -> float:
        """|b - A x| / |b|, or 0 where b is zero."""
        return self.residual / self.norm_b if self.norm_b else 0.0


class Solution(tuple[Any, int]):
    """(x, info), with more as attributes."""

    outcomes: tuple[Outcome, ...]  #: one for each right-hand side

    def __new__(cls, x: Any, outcomes: tuple[Outcome, ...]) -> Solution:
        made = super().__new__(cls, (x, _info(outcomes)))
        made.outcomes = outcomes
        return made

    def __getnewargs__(self) -> tuple[Any, tuple[Outcome, ...]]:
        return self.x, self.outcomes

    @property
    def x(self) -> Any:
        """Solution that was reached, in the shape and the library of b."""
        return self[0]

    @property
    def info(self) -> int:
        """0: all have converged. Above 0: the iterations after which one ended without. -1: a breakdown, -2: NaN, -3: out of range."""
        return self[1]

    @property
    def worst(self) -> Outcome:
        """The first that has not converged, or else the one with most iterations."""
        failed = [one for one in self.outcomes if one.end != "converged"]
        return failed[0] if failed else max(self.outcomes, key=lambda one: one.iterations)

    @property
    def iterations(self) -> int:
        """Iterations of the worst."""
        return self.worst.iterations

    @property
    def residual(self) -> float:
        """|b - A x| of the worst."""
        return self.worst.residual

    @property
    def relative_residual(self) -> float:
        """|b - A x| / |b| of the worst."""
        return self.worst.relative_residual

    def plot(self, axes: Any = None) -> Any:
        """Draws |b - A x| / |b| by iteration, a line for each right-hand side that has a history. Returns matplotlib's axes, new ones
        where none are given."""
        axes = importlib.import_module("matplotlib.pyplot").subplots()[1] if axes is None else axes
        for one in self.outcomes:
            axes.semilogy(one.history / (one.norm_b or 1))
        axes.set(xlabel="iteration", ylabel="|b - A x| / |b|")
        return axes


def _info(outcomes: tuple[Outcome, ...]) -> int:
    ends = {one.end for one in outcomes}
    if "not_a_number" in ends:
        return -2
    if "breakdown" in ends:
        return -1
    if "out_of_range" in ends:
        return -3
    return max((max(one.iterations, 1) for one in outcomes if one.end != "converged"), default=0)


def _where(A: Any) -> str:
    """The device that a matrix is on."""
    if not (is_cupy(A) and hasattr(A, "data")):
        return "cpu"
    return f"{'hip' if is_hip('cupy') else 'cuda'}:{A.data.device.id}"


def _library(array: Any) -> Any:
    """The module whose array it is: numpy, cupy or torch."""
    name = library_of(type(array))
    return np if name == "numpy" else sys.modules[name]


def _precision(dtype: Any, A: Any) -> str:
    if dtype is None:
        return "float32" if A.dtype in (np.float32, np.float16) else "float64"
    name = dtype if dtype == "mixed" else np.dtype(dtype).name
    if name not in PRECISIONS:
        raise SpecError(f"dtype = {dtype!r} is not known; give float32, float64, or 'mixed' for float64 with factors in float32")
    return name


class Solver:
    """The plan of a pattern, with the values of A: solves with it again and again.

    block: 1 to 8; by default that of a bsr matrix, else 1. dtype: that of A, or "mixed" for float64 with factors in float32.
    preconditioner: "ildu0", "ildu1", "ildu2", "dilu", "ic0", "jacobi" or "none". method: "bicgstab", "gmres", or "cg" for a symmetric
    positive definite A. restart: vectors of gmres, at most 32. partition: "automatic", "metis", "greedy", "whole" for one subdomain, or the
    subdomain of each row of blocks as whole numbers from 0. subdomain: rows of blocks in one, about; 0: as the device likes it. shift: what
    is added to the diagonal of pivot blocks, over their largest entry. rhs: right-hand sides solved at once, at most 8. maxiter: the most
    that a solution may ask for. device: "cpu", "cuda:0", "hip:0" or "auto"; by default where A is. Vectors of
    CuPy and torch stay on that GPU, those of NumPy are copied there and back. variant: the kernels with knobs that are pinned, such as
    "sweeps:tile_scalars=4096"; `trifold explain` lists them. workers: threads of the CPU, which change no bit.

    Raises SpecError on a matrix or options that do not fit, and SparseFailed on values that cannot be factored. Calls of several threads
    wait for one another.
    """

    @takes(ITERATION)
    def __init__(self, A: Any, *, maxiter: int = MOST_ITERATIONS, **options: Unpack[Iteration]) -> None:
        self._make(*self._read(A, read(Solver.__init__, options, ITERATION), maxiter))

    @classmethod
    def shared(cls, transport: Transport, A: Any, maxiter: int, nccl: int | None, options: Iteration) -> Solver:
        """Result of ranks()."""
        solver = cls.__new__(cls)
        with told(transport):
            rows, settings = solver._read(A, read(ranks, options, ITERATION), maxiter)
            transport.place(solver._place[1], nccl)
        gather(transport)
        solver._make(rows, settings, transport)
        return solver

    @classmethod
    def of_pattern(cls, A: Any, maxiter: int, options: Iteration) -> Solver:
        """Makes a solver with the identity for values, until they come."""
        solver = cls.__new__(cls)
        rows, settings = solver._read(A, read(Solver.__init__, options, ITERATION), maxiter)
        solver._make(rows.identity(), settings)
        return solver

    def _read(self, A: Any, settings: dict[str, Any], maxiter: int) -> tuple[Rows, dict[str, Any]]:
        """The rows of A, and the arguments of a SparseSystem other than their pattern."""
        device = settings.pop("device")
        device = _where(A) if device is None else device
        rows = rows_of(A, settings.pop("block"))
        precision = _precision(settings.pop("dtype"), rows.values)
        partition, self.shift = settings.pop("partition"), settings.pop("shift")
        self.shape: tuple[int, int] = rows.shape
        self.dtype: Any = np.dtype("float32" if precision == "float32" else "float64")
        self.block: int = rows.block
        self.maxiter: int = whole(maxiter, "maxiter", 1)
        self.starts, self.columns, self.places = rows.starts, rows.columns, rows.places
        words = isinstance(partition, str)
        self._place = None if words else _parts(partition), device
        settings.update(
            block=self.block,
            precision=PRECISIONS[precision],
            partition=partition if words else "given",
            maxiter=self.maxiter,
        )
        return rows, settings

    def _make(self, rows: Rows, settings: dict[str, Any], transport: Transport | None = None) -> None:
        self.rank: int = 0 if transport is None else transport.rank
        self.ranks: int = 1 if transport is None else transport.ranks
        self._settings = settings
        self.core = SparseSystem(self.starts, self.columns, *self._place, settings, transport)
        self._take(rows)

    def __getstate__(self) -> dict[str, Any]:
        if self.ranks > 1:
            raise SpecError("a Solver that ranks share does not go into a pickle or a copy; make it on each rank")
        if self._values is None:
            raise SpecError("the last values of this Solver were refused, so there is none to copy; update it before")
        values = self._values if library_of(type(self._values)) == "numpy" else on_host(self._values)
        return {**vars(self), "core": None, "_values": values}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The plan is made again, and A factored."""
        vars(self).update(state)
        self.core = SparseSystem(self.starts, self.columns, *self._place, self._settings)
        self.update_rows(self._values)

    @property
    def summary(self) -> dict[str, Any]:
        """Counts of the plan: subdomains, rows of the largest, blocks of A and of the factors, dropped ones, levels."""
        return self.core.summary()

    def update(self, A: Any) -> None:
        """New values for the same pattern: a matrix, or A.data alone, which may be on the GPU.

        A.data has the order of the matrix that the Solver was made of, which was csr, csc, coo or bsr then. Entries that come twice are
        summed. Raises SpecError on another pattern or shape, SparseFailed on values that cannot be factored.
        """
        if hasattr(A, "dtype") and not hasattr(A, "nnz"):
            return self.update_rows(self.places.put(self._array(A, "the array of values")))
        rows = rows_of(A, self.block)
        if rows.shape != self.shape:
            raise SpecError(f"A has shape {rows.shape} and the plan {self.shape}; make another Solver")
        if not (np.array_equal(rows.starts, self.starts) and np.array_equal(rows.columns, self.columns)):
            raise SpecError("A has another pattern than the matrix that the plan was made of; make another Solver, or store zeros")
        self._take(rows)

    def _take(self, rows: Rows) -> None:
        self.update_rows(np.ascontiguousarray(rows.values, self.dtype))

    def update_rows(self, values: Any) -> None:
        """New values in the order of the plan: of NumPy, or of the solver's GPU. A copy is kept, for pickles."""
        values = self._array(values, "the array of values")
        self._values = None  # where the update fails
        self.core.update(values, self.shift)
        self._values = values.clone() if library_of(type(values)) == "torch" else values.copy()

    def holds(self, values: Any) -> bool:
        """Whether these, in the order of the plan, are the current values."""
        kept, values = self._values, self._array(values, "the array of values")
        if library_of(type(kept)) != library_of(type(values)):
            return False
        return values.equal(kept) if library_of(type(values)) == "torch" else bool((values == kept).all())

    def _array(self, given: Any, name: str) -> Any:
        """Returns an array of NumPy, or of the solver's GPU, in the plan's type and without gaps."""
        array = plain(given, name, "trifold.torch.sparse")
        library = _library(array)
        if library.__name__ == "torch" and array.device.type == "cpu":
            array, library = adapt(array, name), np
        if library is not np and self.core.device == "cpu":
            raise SpecError(f"{name} is on a GPU, and the Solver on the processor; make it with device='cuda:0', or copy {name}")
        if library.__name__ == "torch":
            return array.to(getattr(library, self.dtype.name)).contiguous()
        return library.ascontiguousarray(array, self.dtype)

    def _vector(self, given: Any, name: str) -> Any:
        array = self._array(given, name)
        shape = tuple(array.shape)
        if len(shape) not in (1, 2) or shape[0] != self.shape[0] or 0 in shape:
            raise SpecError(f"{name} has shape {shape}; give ({self.shape[0]},), or ({self.shape[0]}, m) for m right-hand sides")
        return array

    def _like(self, given: Any, name: str, b: Any) -> Any:
        array = self._vector(given, name)
        if array.shape != b.shape:
            raise SpecError(f"{name} has shape {array.shape} and b {b.shape}; give {name} in the shape of b")
        return array

    def _run(self, operation: str, given: Any, name: str = "x") -> Any:
        b = self._vector(given, name)
        x = _library(b).empty_like(b)
        self.core.run(operation, b, x, _columns(b))
        return x

    def solve(
        self,
        b: Any,
        *,
        rtol: float | None = None,
        atol: float = 0.0,
        maxiter: int | None = None,
        x0: Any = None,
        check: bool = True,
        callback: Callable[[int, float], object] | None = None,
    ) -> Solution:
        """(x, info) of A x = b, where |b - A x| is at most rtol |b| or atol; with the outcomes of all right-hand sides as attributes.

        rtol: 1e-8 by default, in float32 1e-5, where SciPy's methods have 1e-5. It holds in the Euclidean norm, both of b - A x as it
        stands and with rows scaled to equal size. x0: a first guess, zero by default; one that is worse than zero is not used. maxiter: by
        default what the Solver was made for. check: raise SparseFailed unless all have converged. With check=False info tells: 0 where all
        have converged, above 0 the iterations after which one ended without, -1 a breakdown, -2 infinities or NaN, -3 an x beyond the range
        of its type. x is then the one with the least residual. callback(iterations, relative_residual): called with the worst of the
        right-hand sides after each iteration on a processor, and after some, or all, on a GPU; what it raises ends the call.
        """
        return self._solution(b, rtol, atol, maxiter, x0, transposed=False, check=check, callback=callback)

    def solve_transposed(
        self,
        b: Any,
        *,
        rtol: float | None = None,
        atol: float = 0.0,
        maxiter: int | None = None,
        x0: Any = None,
        check: bool = True,
        callback: Callable[[int, float], object] | None = None,
    ) -> Solution:
        """Solves A' x = b, with the transposed preconditioner."""
        return self._solution(b, rtol, atol, maxiter, x0, transposed=True, check=check, callback=callback)

    def _solution(self, b: Any, rtol: Any, atol: Any, maxiter: Any, x0: Any, *, transposed: bool, check: bool, callback: Any) -> Solution:
        b = self._vector(b, "b")
        limits = self.limits(rtol, atol, maxiter)
        x = _library(b).empty_like(b)
        if x0 is not None:
            x[...] = self._like(x0, "x0", b)
        rows = self.core.solve(
            b,
            x,
            _columns(b),
            transposed=transposed,
            guess=x0 is not None,
            **limits,
            check=flag(check, "check"),
            callback=_called(callback),
        )
        return Solution(x, tuple(Outcome(*row[:4], np.array(row[4])) for row in rows))

    def limits(self, rtol: Any, atol: Any, maxiter: Any) -> dict[str, Any]:
        """Limits of an iteration, as the core takes them."""
        most = self.maxiter if maxiter is None else whole(maxiter, "maxiter", 1)
        if most > self.maxiter:
            raise SpecError(f"maxiter = {most}, and this Solver was made for at most {self.maxiter}; make it with maxiter={most}")
        rtol = self.core.usual_tolerance if rtol is None else _tolerance(rtol, "rtol")
        return {"rtol": rtol, "atol": _tolerance(atol, "atol"), "maxiter": most}

    def apply(self, b: Any) -> Any:
        """M^-1 b, with the preconditioner M. b: (n,), or (n, m) for m vectors. Raises SpecError on arrays that do not fit."""
        return self._run("apply", b, "b")

    def apply_transposed(self, b: Any) -> Any:
        """M'^-1 b, with the transposed preconditioner. b: (n,), or (n, m); errors are those of apply()."""
        return self._run("apply_transposed", b, "b")

    def multiply(self, x: Any) -> Any:
        """A x. x: (n,), or (n, m); errors are those of apply()."""
        return self._run("multiply", x)

    def multiply_transposed(self, x: Any) -> Any:
        """A' x, likewise."""
        return self._run("multiply_transposed", x)

    def gradient(self, x: Any, by_b: Any) -> Any:
        """dE/dA on the pattern of A, of a number E that depends on x = A^-1 b; as csr, or as bsr for blocks.

        by_b: dE/db, which is solve_transposed(dE/dx).x. Right-hand sides are summed. Of arrays on a GPU the result stays there: its values
        alone, as A.data has them.
        """
        values = self.gradient_rows(x, by_b)
        if _library(values) is not np:
            return self.places.take(values)
        make = scipy.sparse.csr_array if self.block == 1 else scipy.sparse.bsr_array
        return make((values, self.columns, self.starts), shape=self.shape)

    def gradient_values(self, x: Any, by_b: Any) -> Any:
        """The values of gradient() alone, where x is, in the order of update(A.data)."""
        return self.places.take(self.gradient_rows(x, by_b))

    def gradient_rows(self, x: Any, by_b: Any) -> Any:
        """The values of gradient() in the order of the plan."""
        x = self._vector(x, "x")
        by_b = self._like(by_b, "by_b", x)
        shape = self.places.rows
        values = x.new_empty(shape) if _library(x).__name__ == "torch" else _library(x).empty(shape, self.dtype)
        self.core.gradient(x, by_b, values, _columns(x))
        return values

    def operator(self) -> Preconditioner:
        """M^-1 as a LinearOperator, of the values that are current at each call."""
        return Preconditioner(self)


def _called(callback: Any) -> Any:
    if callback is not None and not callable(callback):
        raise SpecError(f"callback = {callback!r} cannot be called; give a function of (iterations, relative_residual)")
    return callback


def _columns(array: Any) -> int:
    return array.shape[1] if array.ndim == 2 else 1


def _parts(partition: Any) -> Any:
    array = adapt(partition, "partition")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise SpecError(
            f"partition = {partition!r} is no partition; give a word, such as 'metis', or the subdomain of each row as whole numbers"
        )
    if array.size and not 0 <= array.min() <= array.max() <= _MOST_INDEX:
        raise SpecError(f"partition has numbers from {array.min()} to {array.max()}; number subdomains from 0 without gaps")
    return np.ascontiguousarray(array, "int32")


def _tolerance(value: Any, name: str) -> float:
    number = real(value, name)
    if not 0 <= number < np.inf:
        raise SpecError(f"{name} = {number} is no tolerance; give a number from 0 on")
    return number


_SCIPYS: Any = scipy.sparse.linalg.LinearOperator


@guarded
class Preconditioner(scipy.sparse.linalg.LinearOperator):
    """M^-1, for the M of SciPy's bicgstab, cg, gmres and their like; and of CuPy's, where the solver is on a GPU."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        scipy.sparse.linalg.LinearOperator.__init__(self, solver.dtype, solver.shape)

    def update(self, A: Any) -> None:
        """New values for the same pattern."""
        self.solver.update(A)

    # SciPy's own calls would have NumPy read arrays of CuPy.

    def matvec(self, x: Any) -> Any:
        """M^-1 x. x: (n,), or (n, 1)."""
        return self.solver.apply(x) if is_cupy(x) else _SCIPYS.matvec(self, x)

    def rmatvec(self, x: Any) -> Any:
        """M'^-1 x, likewise."""
        return self.solver.apply_transposed(x) if is_cupy(x) else _SCIPYS.rmatvec(self, x)

    def matmat(self, X: Any) -> Any:
        """M^-1 X. X: (n, m)."""
        return self.solver.apply(X) if is_cupy(X) else _SCIPYS.matmat(self, X)

    def rmatmat(self, X: Any) -> Any:
        """M'^-1 X, likewise."""
        return self.solver.apply_transposed(X) if is_cupy(X) else _SCIPYS.rmatmat(self, X)

    def _matvec(self, x: Any) -> Any:
        return self.solver.apply(x)

    def _rmatvec(self, x: Any) -> Any:
        return self.solver.apply_transposed(x)

    def _matmat(self, X: Any) -> Any:
        return self.solver.apply(X)

    def _rmatmat(self, X: Any) -> Any:
        return self.solver.apply_transposed(X)


@takes(ITERATION)
def ranks(
    communicator: Any,
    A: Any,
    *,
    maxiter: int = MOST_ITERATIONS,
    timeout: float | None = None,
    nccl: int | None = None,
    **options: Unpack[Iteration],
) -> Solver:
    """A Solver whose iterations the ranks of a communicator share. They make it together, and so are all its calls.

    All ranks give the same A, b and options, and get all of x, with the iterations and the bits of one device. It has solve and update, by
    bicgstab and cg; other calls raise SpecError. communicator, timeout, nccl: those of trifold.ranks. device: this rank's own GPU, or the
    processor. The other options and errors are those of Solver, and RankError on all ranks where one does not come or does not agree.
    """
    return Solver.shared(transport_of(communicator, timeout), A, maxiter, nccl, options)


@takes(OPTIONS)
def ildu0(A: Any, **options: Unpack[Options]) -> Preconditioner:
    """The inverse of an incomplete factorization of A without fill, by subdomains, as a LinearOperator: the M of SciPy's methods.

    Options and errors are those of Solver. Its update(A) takes new values.
    """
    given = read(ildu0, options, OPTIONS)
    return Solver(A, maxiter=1, **given).operator()


@takes(ITERATION)
def solve(
    A: Any,
    b: Any,
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    maxiter: int | None = None,
    x0: Any = None,
    check: bool = True,
    callback: Callable[[int, float], object] | None = None,
    **options: Unpack[Iteration],
) -> Solution:
    """(x, info) of A x = b, as Solver(A).solve(b) has it. The other options and errors are those of Solver."""
    settings = read(solve, options, ITERATION)
    if "rhs" not in options and np.ndim(b) == 2:
        settings["rhs"] = min(max(np.shape(b)[1], 1), MOST_AT_A_TIME)
    most = MOST_ITERATIONS if maxiter is None else whole(maxiter, "maxiter", 1)
    return Solver(A, maxiter=most, **settings).solve(b, rtol=rtol, atol=atol, x0=x0, check=check, callback=callback)
