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

import sys
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import numpy

from ._core import SparseSystem, Transport
from .arrays import adapt, is_hip, library_of
from .errors import SparseFailed, SpecError
from .options import Option, flag, known, read, real, takes, whole, word
from .ranks import gather, told, transport_of

try:
    import scipy as _scipy  # pyright: ignore[reportMissingTypeStubs, reportMissingImports]
    import scipy.sparse.linalg  # pyright: ignore[reportMissingTypeStubs, reportMissingImports, reportUnusedImport]
except ImportError as error:
    raise ImportError("trifold.sparse takes matrices of SciPy, which is not installed: pip install scipy") from error

__all__ = ["Outcome", "Preconditioner", "Solution", "Solver", "SparseFailed", "ildu0", "ranks", "solve"]

np: Any = numpy  # its stubs differ from version to version
scipy: Any = _scipy
_MOST_BLOCK = 8
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
    rhs: Annotated[int, Option(1, whole)]
    device: Annotated[Any, Option(None, _anything)]
    variant: Annotated[str, Option("auto", word)]
    workers: Annotated[int, Option(1, whole)]


class Iteration(Options, total=False):
    """Those of Solver() and solve()."""

    preconditioner: Annotated[str, Option("ildu0", word)]
    method: Annotated[str, Option("bicgstab", word)]
    restart: Annotated[int, Option(30, whole)]


OPTIONS, ITERATION = known(Options), known(Iteration)


class Outcome(NamedTuple):
    """How the iteration of one right-hand side went."""

    end: str  #: "converged", "stagnated", "breakdown", "not_a_number", "limit" or "out_of_range"
    iterations: int
    residual: float  #: |b - A x|, computed from x
    norm_b: float
    #: |b - A x|, between true residuals as the iteration has it, after 0, 1, .. iterations, of the first 10 000; empty for earlier panels
    history: Any


class Solution(tuple[Any, int]):
    """(x, info), with more as attributes."""

    outcomes: tuple[Outcome, ...]  #: one for each right-hand side

    def __new__(cls, x: Any, outcomes: tuple[Outcome, ...]) -> Solution:
        made = super().__new__(cls, (x, _info(outcomes)))
        made.outcomes = outcomes
        return made

    @property
    def x(self) -> Any:
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
        return self.worst.iterations

    @property
    def residual(self) -> float:
        """|b - A x| of the worst."""
        return self.worst.residual


def _info(outcomes: tuple[Outcome, ...]) -> int:
    ends = {one.end for one in outcomes}
    if "not_a_number" in ends:
        return -2
    if "breakdown" in ends:
        return -1
    if "out_of_range" in ends:
        return -3
    return max((max(one.iterations, 1) for one in outcomes if one.end != "converged"), default=0)


def _rows(A: Any, block: Any) -> Any:
    """A in rows of blocks, sorted: as csr for blocks of 1, else as bsr; on the processor."""
    return _host_rows(A.get() if _is_cupy(A) and hasattr(A, "get") else A, block)


def _host_rows(A: Any, block: Any) -> Any:
    if not scipy.sparse.issparse(A):
        kind = f"{type(A).__module__.partition('.')[0]}.{type(A).__name__}"
        raise SpecError(f"A is a {kind}, no matrix of scipy.sparse; give scipy.sparse.csr_array(A)")
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise SpecError(f"A has shape {A.shape}; give a square matrix")
    if A.shape[0] == 0:
        raise SpecError("A has no rows; there is nothing to solve")
    if A.dtype.kind not in "fiub" or A.dtype.itemsize > 8:
        raise SpecError(f"A is {A.dtype}; convert it to float32 or float64")
    _expect_columns(A)
    block = _block_of(A, block)
    rows = A.tocsr() if block == 1 else A.tobsr(blocksize=(block, block))
    if not rows.has_canonical_format:
        rows = rows.copy() if rows is A or np.may_share_memory(rows.data, A.data) else rows
        rows.sum_duplicates()
    if len(rows.indices) > _MOST_INDEX:
        raise SpecError(f"A has {len(rows.indices)} blocks; at most {_MOST_INDEX} can be indexed")
    return rows


def _expect_columns(A: Any) -> None:
    """SciPy looks at no index of a csr or bsr matrix, and its conversions trust them."""
    if A.format not in ("csr", "bsr") or not len(A.indices):
        return
    count = A.shape[1] // getattr(A, "blocksize", (1, 1))[1]
    if 0 <= A.indices.min() and A.indices.max() < count:
        return
    entry = int(np.argmax((A.indices < 0) | (A.indices >= count)))
    row = int(np.searchsorted(A.indptr, entry, side="right")) - 1
    raise SpecError(f"row {row} of A has the column {A.indices[entry]}; columns are from 0 to {count - 1}")


def _is_cupy(A: Any) -> bool:
    return type(A).__module__.partition(".")[0] in ("cupy", "cupyx")


def _where(A: Any) -> str:
    """The device that a matrix is on."""
    if not (_is_cupy(A) and hasattr(A, "data")):
        return "cpu"
    return f"{'hip' if is_hip('cupy') else 'cuda'}:{A.data.device.id}"


def _library(array: Any) -> Any:
    """The module whose array it is: numpy, cupy or torch."""
    name = library_of(type(array))
    return np if name == "numpy" else sys.modules[name]


def _block_of(A: Any, block: Any) -> int:
    if block is None:
        shape = getattr(A, "blocksize", (1, 1))
        if shape[0] != shape[1] or shape[0] > _MOST_BLOCK:
            raise SpecError(f"A has blocks of {shape[0]} by {shape[1]}; give block=, 1 to {_MOST_BLOCK}, to read it in square blocks")
        return int(shape[0])
    number = whole(block, "block")
    if not 1 <= number <= _MOST_BLOCK:
        raise SpecError(f"block = {number} is out of range; give 1 to {_MOST_BLOCK}")
    if A.shape[0] % number:
        raise SpecError(f"block = {number} does not divide the {A.shape[0]} rows of A; give a block that does, or pad A")
    return number


def _precision(dtype: Any, A: Any) -> str:
    if dtype is None:
        return "float32" if A.dtype in (np.float32, np.float16) else "float64"
    name = dtype if dtype == "mixed" else np.dtype(dtype).name
    if name not in ("float32", "float64", "mixed"):
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
        self._make(*self._read(A, read("Solver", options, ITERATION), maxiter))

    @classmethod
    def shared(cls, transport: Transport, A: Any, maxiter: int, nccl: int | None, options: Iteration) -> Solver:
        """What ranks() gives."""
        solver = cls.__new__(cls)
        with told(transport):
            rows, settings = solver._read(A, read("ranks", options, ITERATION), maxiter)
            transport.place(settings["device"], nccl)
        gather(transport)
        solver._make(rows, settings, transport)
        return solver

    def _read(self, A: Any, settings: dict[str, Any], maxiter: int) -> tuple[Any, dict[str, Any]]:
        """The rows of A, and what a SparseSystem takes besides their pattern."""
        device = settings.pop("device")
        device = _where(A) if device is None else device
        rows = _rows(A, settings.pop("block"))
        precision = _precision(settings.pop("dtype"), rows)
        partition, self.shift = settings.pop("partition"), settings.pop("shift")
        self.shape: tuple[int, int] = rows.shape
        self.dtype: Any = np.dtype("float32" if precision == "float32" else "float64")
        self.block: int = getattr(rows, "blocksize", (1, 1))[0]
        self.maxiter: int = whole(maxiter, "maxiter", 1)
        self._starts, self._columns = rows.indptr.astype("int32"), rows.indices.astype("int32")
        words = isinstance(partition, str)
        settings.update(
            parts=None if words else _parts(partition),
            device=device,
            block=self.block,
            dtype=precision,
            partition=partition if words else "given",
            most_iterations=self.maxiter,
        )
        return rows, settings

    def _make(self, rows: Any, settings: dict[str, Any], transport: Transport | None = None) -> None:
        self.rank: int = 0 if transport is None else transport.rank
        self.ranks: int = 1 if transport is None else transport.ranks
        self.core = SparseSystem(self._starts, self._columns, **settings, transport=transport)
        self._take(rows)

    @property
    def summary(self) -> dict[str, Any]:
        """What the plan made of the pattern: subdomains, rows of the largest, blocks of A and of the factors, dropped ones, levels."""
        return self.core.summary()

    def update(self, A: Any) -> None:
        """New values for the same pattern: a matrix, or A.data alone, as its csr or bsr has it, which may be on the GPU."""
        if hasattr(A, "dtype") and not hasattr(A, "nnz"):
            return self._take_values(A)
        rows = _rows(A, self.block)
        if rows.shape != self.shape:
            raise SpecError(f"A has shape {rows.shape} and the plan {self.shape}; make another Solver")
        if not (np.array_equal(rows.indptr, self._starts) and np.array_equal(rows.indices, self._columns)):
            raise SpecError("A has another pattern than the matrix that the plan was made of; make another Solver, or store zeros")
        self._take(rows)

    def _take(self, rows: Any) -> None:
        self.core.update(np.ascontiguousarray(rows.data, self.dtype).ravel(), self.shift)

    def _take_values(self, given: Any) -> None:
        values = self._array(given, "the array of values")
        expected = self._data_shape()
        if tuple(values.shape) not in (expected, (len(self._columns), self.block, self.block)):
            raise SpecError(f"the array of values has shape {tuple(values.shape)} and the pattern {expected}; give A.data of its pattern")
        self.core.update(values, self.shift)

    def _data_shape(self) -> tuple[int, ...]:
        """That of A.data."""
        entries = len(self._columns)
        return (entries,) if self.block == 1 else (entries, self.block, self.block)

    def _array(self, given: Any, name: str) -> Any:
        """Of NumPy, or of the solver's GPU, in the plan's type and without gaps."""
        array = given if library_of(type(given)) != "another" else adapt(given, name)
        library = _library(array)
        if library.__name__ == "torch":
            array = array.detach()
            if array.device.type == "cpu":
                array, library = array.numpy(), np
        if library is not np and self.core.device == "cpu":
            raise SpecError(f"{name} is on a GPU, and the Solver on the processor; make it with device='cuda:0', or copy {name}")
        if _kind(array) not in "fiub":
            raise SpecError(f"{name} is {array.dtype}; give real numbers")
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
        self, b: Any, *, rtol: float | None = None, atol: float = 0.0, maxiter: int | None = None, x0: Any = None, check: bool = False
    ) -> Solution:
        """(x, info) of A x = b, where |b - A x| is at most rtol |b| or atol; with the outcomes of all right-hand sides as attributes.

        rtol: 1e-8 by default, in float32 1e-5. It holds in the Euclidean norm, both of b - A x as it stands and with rows scaled to equal
        size. info: 0 where all have converged, above 0 the iterations after which one ended without, -1 a breakdown, -2 infinities or NaN,
        -3 an x beyond the range of its type. x is then the one with the least residual. x0: a first guess, zero by default; one that is
        worse than zero is not used. check: raise SparseFailed unless all have converged.
        """
        return self._solution(b, rtol, atol, maxiter, x0, transposed=False, check=check)

    def solve_transposed(
        self, b: Any, *, rtol: float | None = None, atol: float = 0.0, maxiter: int | None = None, x0: Any = None, check: bool = False
    ) -> Solution:
        """The same of A' x = b, with the transposed preconditioner."""
        return self._solution(b, rtol, atol, maxiter, x0, transposed=True, check=check)

    def _solution(self, b: Any, rtol: Any, atol: Any, maxiter: Any, x0: Any, *, transposed: bool, check: bool) -> Solution:
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
        )
        return Solution(x, tuple(Outcome(*row[:4], np.array(row[4])) for row in rows))

    def limits(self, rtol: Any, atol: Any, maxiter: Any) -> dict[str, Any]:
        """Where an iteration ends, as the core takes it."""
        most = self.maxiter if maxiter is None else whole(maxiter, "maxiter", 1)
        if most > self.maxiter:
            raise SpecError(f"maxiter = {most}, and this Solver was made for at most {self.maxiter}; make it with maxiter={most}")
        rtol = self.core.usual_tolerance if rtol is None else _tolerance(rtol, "rtol")
        return {"rtol": rtol, "atol": _tolerance(atol, "atol"), "most_iterations": most}

    def apply(self, b: Any) -> Any:
        """M^-1 b, with the preconditioner M."""
        return self._run("apply", b, "b")

    def apply_transposed(self, b: Any) -> Any:
        return self._run("apply_transposed", b, "b")

    def multiply(self, x: Any) -> Any:
        """A x."""
        return self._run("multiply", x)

    def multiply_transposed(self, x: Any) -> Any:
        """A' x."""
        return self._run("multiply_transposed", x)

    def gradient(self, x: Any, by_b: Any) -> Any:
        """dE/dA on the pattern of A, of a number E that depends on x = A^-1 b; as csr, or as bsr for blocks.

        by_b: dE/db, which is solve_transposed(dE/dx).x. Right-hand sides are summed. Of arrays on a GPU the result stays there: its values
        alone, as A.data has them.
        """
        values = self.gradient_values(x, by_b)
        if _library(values) is not np:
            return values
        make = scipy.sparse.csr_array if self.block == 1 else scipy.sparse.bsr_array
        return make((values, self._columns, self._starts), shape=self.shape)

    def gradient_values(self, x: Any, by_b: Any) -> Any:
        """The values of gradient() alone, where x is."""
        x = self._vector(x, "x")
        by_b = self._like(by_b, "by_b", x)
        shape = self._data_shape()
        values = x.new_empty(shape) if _library(x).__name__ == "torch" else _library(x).empty(shape, self.dtype)
        self.core.gradient(x, by_b, values, _columns(x))
        return values

    def operator(self) -> Preconditioner:
        """M^-1 as a LinearOperator, of the values that are current at each call."""
        return Preconditioner(self)


def _kind(array: Any) -> str:
    """That of a type of NumPy, which "?" is none of."""
    try:
        return str(np.dtype(str(array.dtype).rpartition(".")[2]).kind)
    except TypeError:
        return "?"


def _columns(array: Any) -> int:
    return array.shape[1] if array.ndim == 2 else 1


def _parts(partition: Any) -> Any:
    array = np.asarray(partition)
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
        return self.solver.apply(x) if _is_cupy(x) else _SCIPYS.matvec(self, x)

    def rmatvec(self, x: Any) -> Any:
        return self.solver.apply_transposed(x) if _is_cupy(x) else _SCIPYS.rmatvec(self, x)

    def matmat(self, X: Any) -> Any:
        return self.solver.apply(X) if _is_cupy(X) else _SCIPYS.matmat(self, X)

    def rmatmat(self, X: Any) -> Any:
        return self.solver.apply_transposed(X) if _is_cupy(X) else _SCIPYS.rmatmat(self, X)

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
    given = read("ildu0", options, OPTIONS)
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
    check: bool = False,
    **options: Unpack[Iteration],
) -> Solution:
    """(x, info) of A x = b, as Solver(A).solve(b) has it. The other options and errors are those of Solver."""
    settings = read("solve", options, ITERATION)
    if "rhs" not in options and np.ndim(b) == 2:
        settings["rhs"] = min(max(np.shape(b)[1], 1), MOST_AT_A_TIME)
    most = MOST_ITERATIONS if maxiter is None else whole(maxiter, "maxiter", 1)
    return Solver(A, maxiter=most, **settings).solve(b, rtol=rtol, atol=atol, x0=x0, check=check)
