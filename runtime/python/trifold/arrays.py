"""Arrays of other libraries: what the binding asks for when it does not find out by itself.

NumPy, torch and CuPy are read by the binding. JAX's arrays, and all that has ``__dlpack__`` or ``__array__``, are read as one of those.
"""

from __future__ import annotations

import functools
import logging
import sys
from typing import Any, NamedTuple, Protocol

import numpy
import numpy.typing

from .errors import SpecError

_log = logging.getLogger("trifold")
np: Any = numpy  # its stubs differ from version to version
_PROCESSOR = (1, 3, 11)  # DLPack's numbers of its memory: its own, and what CUDA and HIP pin


class Exchanged(Protocol):
    """An array that is handed over by DLPack, as those of torch, CuPy and JAX are."""

    def __dlpack__(self) -> Any: ...


ArrayLike = numpy.typing.ArrayLike | Exchanged


class Status(NamedTuple):
    """Outcomes of members: one NumPy array for each question, without an axis when there was no batch axis."""

    block: Any  #: first failing block, from 0; -1: the factorization succeeded
    row: Any  #: failing row within it
    floors: Any  #: pivots raised to the floor; -1: never factored
    solution: Any  #: False: X of the last solution holds infinities or NaN
    inverse: Any  #: False: likewise the last selected inverse
    quadratic: Any  #: False: b' A^-1 b left the range of float64
    least_pivot: Any  #: the least pivot, each over the diagonal entry that it began with; 0: the factorization failed
    nearly_singular: Any  #: True: it is so small that rounding decides it, which was not accepted
    #: Pivots below zero: with matrix="symmetric" as many as A has eigenvalues below zero; with "general" interchanges are added, so that
    #: det A has the sign of (-1)^negative.
    negative: Any
    #: With matrix="symmetric" the largest sum of a row's squares in L over the largest entry of A, with "general" the largest sum of
    #: products of a row of L and the largest entries of U's rows; least_pivot is over the sum of its row.
    growth: Any


class Refinement(NamedTuple):
    """How the refinement of each member's solution went, in mixed precision or by Solver.refine()."""

    iterations: Any  #: corrections of the first solution
    converged: Any  #: False: the error is above that of rounding; in mixed precision x is NaN
    backward_error: Any


class Likelihood(NamedTuple):
    """Parts of a Gaussian density, from one factorization: likelihood() of trifold.torch and trifold.jax returns it."""

    x: Any  #: A^-1 b, as b
    log_determinant: Any  #: log det A: () or (batch,)
    quadratic: Any  #: b' A^-1 b: (), (m,), (batch,) or (batch, m)


class Marginals(NamedTuple):
    """Moments of a Gaussian of precision A and information b, from one factorization: marginals() returns it."""

    x: Any  #: A^-1 b, the mean: as b
    log_determinant: Any  #: log det A: () or (batch,)
    quadratic: Any  #: b' A^-1 b: (), (m,), (batch,) or (batch, m)
    diagonal: Any  #: blocks (i, i) of A^-1, the covariances: (N, n, n)
    lower: Any  #: blocks (i + 1, i), the covariances of neighbours: (N - 1, n, n)


class BorderedMarginals(NamedTuple):
    """Moments as Marginals has them, of a chain with a border of a rows."""

    x: Any  #: A^-1 b, as b: a pair, or one array
    log_determinant: Any  #: log det A: () or (batch,)
    quadratic: Any  #: b' A^-1 b: (), (m,), (batch,) or (batch, m)
    diagonal: Any  #: blocks (i, i) of A^-1 in the chain: (N, n, n)
    lower: Any  #: blocks (i + 1, i): (N - 1, n, n), in a ring one more
    arrow: Any  #: blocks in the place of F: (N, a, n)
    corner: Any  #: the block in the place of C: (a, a)


class CopiedStatus(NamedTuple):
    """Columns of members' statuses on the device: Solver.copy_status() returns it. Each is (batch,), or without a batch axis ().

    They are those of Status. In a band, blocks are those that it is solved by. A member that was never factored has -1 in whole numbers.
    """

    block: Any
    row: Any
    floors: Any
    least_pivot: Any  #: float64
    nearly_singular: Any  #: 1 or 0
    negative: Any  #: pivots below zero of a matrix="symmetric"; else None, as growth is
    growth: Any


class Refined(NamedTuple):
    """A step of iterative refinement."""

    x: Any  #: the new solution
    backward_error: Any  #: its largest |b - A x| / (|A| |x| + |b|) of a row, in float64: () or (batch,)


def marginals(*parts: Any) -> Marginals:
    return Marginals(*parts)


def status(rows: list[tuple[Any, ...]], batched: bool) -> Status:
    return Status(*_columns(rows, batched))


def copied_status(status: Any, inertia: Any, batched: bool) -> CopiedStatus:
    """From words of 8 bytes, of which the library has made float64."""
    library: Any = sys.modules[library_of(type(status))]

    def column(words: Any, k: int, kind: str) -> Any:
        values = words[:, k] if batched else words[0, k : k + 1]
        values = values if kind == "float64" else values.view(getattr(library, kind))
        return values if batched else values.reshape(())

    whole = [column(status, k, "float64" if k == 3 else "int64") for k in range(5)]
    signs = (None, None) if inertia is None else (column(inertia, 0, "int64"), column(inertia, 1, "float64"))
    return CopiedStatus._make([*whole, *signs])


def refinement(rows: list[tuple[Any, ...]], batched: bool) -> Refinement:
    return Refinement(*_columns(rows, batched))


def _columns(rows: list[tuple[Any, ...]], batched: bool) -> list[Any]:
    columns = [np.array(column) for column in zip(*rows)]
    return columns if batched else [column[0] for column in columns]


def by_member(values: list[float], batched: bool) -> Any:
    return np.array(values) if batched else values[0]


def library_of(kind: Any) -> str:
    """Library whose arrays a type has: numpy, torch, cupy, or another. An array with a mask is of another: adapt() looks at it."""
    if issubclass(kind, np.ma.MaskedArray) or hasattr(kind, "get_mask"):
        return "another"
    if issubclass(kind, np.ndarray):
        return "numpy"
    for name, array in (("torch", "Tensor"), ("cupy", "ndarray")):
        if name in sys.modules and issubclass(kind, getattr(sys.modules[name], array)):
            return name
    return "another"


def is_jax(array: Any) -> bool:
    """Tensors are not asked by JAX, which torch.compile cannot follow."""
    return "jax" in sys.modules and library_of(type(array)) == "another" and isinstance(array, sys.modules["jax"].Array)


def adapt(array: Any, name: str) -> Any:
    """Any array as one of NumPy, torch or CuPy, without a copy where that is possible."""
    array = readable(array, name)
    if is_jax(array):
        if isinstance(array, sys.modules["jax"].core.Tracer):
            raise SpecError(f"{name} is traced by JAX, as within jit, grad and vmap; use trifold.jax")
        array.block_until_ready()
    if hasattr(array, "__dlpack_device__"):
        kind = int(array.__dlpack_device__()[0])
        if kind not in _PROCESSOR:
            return _gpu_library(name).from_dlpack(array)
    try:
        result = np.asarray(array)
    except Exception as error:
        raise SpecError(f"{name} is a {type(array).__name__}, of which no array can be made: {error}") from error
    if result.dtype == object:
        raise SpecError(f"{name} is a {type(array).__name__} of unequal rows or of objects; give an array of float32 or float64")
    return result


def plain(array: Any, name: str, instead: str = "trifold.torch") -> Any:
    """An array of NumPy, CuPy or torch whose real numbers are all that it says: no mask and no gradient is lost.

    instead: what has gradients, for the error.
    """
    library = library_of(type(array))
    array = adapt(array, name) if library == "another" else array
    if library == "torch":
        array = without_gradient(array, name, instead)
    return expect_real(array, name)


def expect_real(array: Any, name: str) -> Any:
    if kind_of(array) not in "fiub":
        raise SpecError(f"{name} has elements of {array.dtype}; give real numbers")
    return array


def kind_of(array: Any) -> str:
    """Kind of a type of NumPy, for arrays of any library; "?" for other types."""
    try:
        return str(np.dtype(str(array.dtype).rpartition(".")[2]).kind)
    except TypeError:
        return "?"


def without_gradient(tensor: Any, name: str, instead: str) -> Any:
    if tensor.requires_grad and sys.modules["torch"].is_grad_enabled():
        raise SpecError(f"{name} requires a gradient, which this function does not pass on; use {instead}, or give {name}.detach()")
    return tensor.detach()


def floating(array: Any, name: str) -> Any:
    """Integers as float64, as numpy.linalg takes them; torch's are left to the error that torch.linalg has too."""
    if isinstance(array, (list, tuple)):
        array = adapt(array, name)
    try:
        return np.asarray(array, np.float64) if array.dtype.kind in "iu" else array
    except AttributeError:
        return array


def readable(array: Any, name: str) -> Any:
    """Reads by NumPy what is an object to other libraries: an array of the processor that has ``__dlpack__`` alone."""
    if array is None:
        raise SpecError(f"{name} is None; give an array")
    if has_mask(array):
        raise SpecError(f"{name} has masked entries, and here each entry counts; fill them in, or give the array without its mask")
    if isinstance(array, np.ma.MaskedArray):
        return np.asarray(array)
    if not hasattr(array, "__dlpack__") or any(hasattr(array, f"__array{end}__") for end in ("", "_interface", "_struct")):
        return array
    if hasattr(array, "__dlpack_device__") and int(array.__dlpack_device__()[0]) not in _PROCESSOR:
        return array
    try:
        return np.from_dlpack(array)
    except Exception as error:
        raise SpecError(f"{name} is a {type(array).__name__}, whose __dlpack__ NumPy cannot read: {error}") from error


def has_mask(array: Any) -> bool:
    """Whether some entries are masked, of an array or in a list of arrays."""
    if issubclass(type(array), (list, tuple)):
        return any(map(has_mask, array))
    if isinstance(array, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(array).any())
    return hasattr(array, "get_mask")  # torch's, whose mask is False where an entry is missing


def guarded(operator: Any) -> Any:
    """A class of LinearOperators, for which SciPy reads vectors: none loses a mask or a gradient there."""
    for name in ("dot", "rdot", "matvec", "rmatvec", "matmat", "rmatmat"):
        if hasattr(operator, name):
            setattr(operator, name, _guarded(getattr(operator, name)))
    return operator


def _guarded(method: Any) -> Any:
    @functools.wraps(method)
    def call(self: Any, x: Any) -> Any:
        return method(self, adapt(x, "the vector") if has_mask(x) or library_of(type(x)) == "torch" else x)

    return call


def nan_where_masked(array: Any) -> Any:
    """Puts NaN for each masked entry, of an array or in a list of arrays."""
    if not has_mask(array):
        return array
    if issubclass(type(array), (list, tuple)):
        return [nan_where_masked(entry) for entry in array]
    if isinstance(array, np.ma.MaskedArray):
        wide = array.dtype if array.dtype.kind == "f" else np.float64
        return array.astype(wide).filled(np.nan)
    return array


def _gpu_library(name: str) -> Any:
    for library in ("cupy", "torch"):
        try:
            return __import__(library)
        except ImportError:
            continue
    raise SpecError(f"{name} is on a GPU; install CuPy or torch to hand its arrays over, or use trifold.jax")


def give_back(like: Any, result: Any) -> Any:
    """A result in the library that the argument came from."""
    if not is_jax(like):
        return result
    jax: Any = sys.modules["jax"]
    if isinstance(result, np.ndarray):
        return jax.numpy.asarray(result)
    return jax.dlpack.from_dlpack(result)


def contiguous(array: Any, name: str) -> Any:
    """A copy without gaps, in the order of the indices."""
    _log.info("%s is not contiguous, or not aligned, and is copied; give a contiguous array to save that", name)
    library = library_of(type(array))
    if library == "torch":
        copy = array.contiguous()
        return copy.clone() if copy.data_ptr() == array.data_ptr() else copy
    return (np if library == "numpy" else sys.modules["cupy"]).array(array, order="C", copy=True)


def copy_of(array: Any) -> Any:
    library = library_of(type(array))
    return array.detach().clone() if library == "torch" else array.copy()


def on_host(array: Any) -> Any:
    """A copy for the processor, of an array on a GPU. This waits."""
    return array.cpu().numpy() if library_of(type(array)) == "torch" else array.get()


def settled(array: Any) -> Any:
    """A tensor whose entries are what its memory says, of one that has torch's mark that they are to be negated."""
    return array.resolve_neg()


def empty(library: str, shape: tuple[int, ...], dtype: str, ordinal: int) -> Any:
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device="cpu" if ordinal < 0 else f"cuda:{ordinal}")
    if library == "cupy":
        with sys.modules["cupy"].cuda.Device(ordinal):
            return sys.modules["cupy"].empty(shape, dtype)
    return np.empty(shape, dtype)


def full(library: str, shape: tuple[int, ...], dtype: str, ordinal: int, value: float) -> Any:
    result = empty(library, shape, dtype, ordinal)
    result[...] = value
    return result


def placed(values: Any, library: str, ordinal: int) -> Any:
    """NumPy's array as one of that library there."""
    if library == "torch":
        tensor = sys.modules["torch"].from_numpy(values)
        return tensor if ordinal < 0 else tensor.to(f"cuda:{ordinal}")
    if library == "cupy":
        with sys.modules["cupy"].cuda.Device(ordinal):
            return sys.modules["cupy"].asarray(values)
    return values


def first_blocks(array: Any, batched: bool) -> Any:
    """The first block of each member."""
    return array[:, :1] if batched else array[:1]


def copy_into(out: Any, array: Any) -> None:
    out[...] = array


def mask(active: Any) -> Any:
    """0 or 1 for each member, from anything that says True or False of it."""
    if library_of(type(active)) == "torch":
        return (active != 0).to(sys.modules["torch"].int32)
    return (active != 0).astype("int32")


def whole_numbers(lengths: Any) -> Any:
    """In int32, where what is out of its range is -1 or the largest number."""
    lowest, largest = -1, 2**31 - 1
    if library_of(type(lengths)) == "torch":
        return lengths.clamp(lowest, largest).to(sys.modules["torch"].int32)
    return lengths.clip(lowest, largest).astype("int32")


def for_all(array: Any, shape: tuple[int, ...]) -> Any:
    """One member's array for all members."""
    library: Any = sys.modules.get(library_of(type(array)), numpy)
    return library.broadcast_to(array, shape)


def is_hip(library: str) -> bool:
    if library == "torch":
        return sys.modules["torch"].version.hip is not None
    return bool(sys.modules["cupy"].cuda.runtime.is_hip)


def is_capturing(library: str) -> bool:
    """Whether the library's current stream is recording a graph."""
    if library == "torch":
        return bool(sys.modules["torch"].cuda.is_current_stream_capturing())
    return bool(sys.modules["cupy"].cuda.get_current_stream().is_capturing())


def columns_alone(call: Any, b: Any, columns_at: int, at_once: int = 1) -> Any:
    """Results of ``call`` for each right-hand side alone, where b has more than it takes at once, on the axis ``columns_at``."""
    if library_of(type(b)) == "another" and not is_jax(b):
        b = adapt(b, "b")
    if b.ndim != columns_at + 1 or b.shape[-1] <= at_once:
        return call(b)
    results = [call(b[..., column]) for column in range(b.shape[-1])]
    library = library_of(type(results[0]))
    return (np if library == "numpy" else sys.modules[library]).stack(results, -1)
