"""A matrix of SciPy as the core of trifold.sparse takes it, and the way of its values there."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy

from .arrays import has_mask, library_of
from .errors import SpecError
from .options import whole

np: Any = numpy
_MOST_BLOCK = 8
_MOST_INDEX = 2**31 - 1
_LISTED = ("csr", "bsr", "csc", "coo")  # formats whose data has one value for each entry


class Rows(NamedTuple):
    """A in rows of blocks: sorted, each place once, with a diagonal."""

    starts: Any
    columns: Any
    values: Any  #: (entries,), or (entries, block, block)
    block: int
    shape: tuple[int, int]
    places: Places

    def identity(self) -> Rows:
        """The pattern with the values of the identity."""
        values = np.zeros_like(self.values)
        values[self.columns == _row_of_each(self.starts)] = 1 if self.block == 1 else np.eye(self.block)
        return self._replace(values=values)


class Places:
    """Places of the values of A.data, in the caller's order, among those of Rows.

    ``at`` has the place of each of the first values; the rest of A.data is room. None: they stand as they are. Places that come twice are
    summed, and those that no value goes to are zero.
    """

    def __init__(self, form: str, shape: tuple[int, ...] | None, at: Any, rows: tuple[int, ...]) -> None:
        self.form, self.shape, self.at, self.rows = form, shape, at, rows

    def put(self, given: Any) -> Any:
        """A.data of NumPy, CuPy or torch as the values of Rows. Raises SpecError on another shape."""
        self._expect(tuple(given.shape))
        if self.at is None:
            return given.reshape(self.rows)
        given = given.reshape(-1)[: len(self.at)]
        size, at = math.prod(self.rows), self._at_on(given)
        if library_of(type(given)) == "torch":
            return given.new_zeros(size).index_add(0, at, given).reshape(self.rows)
        return _module(given).bincount(at, given, size).astype(given.dtype, copy=False).reshape(self.rows)

    def take(self, values: Any) -> Any:
        """Values of Rows in the order of A.data, and zeros in its room."""
        if self.shape is None:
            return values
        if self.at is None:
            return values.reshape(self.shape)
        size = math.prod(self.shape)
        taken = values.new_zeros(size) if library_of(type(values)) == "torch" else _module(values).zeros(size, values.dtype)
        taken[: len(self.at)] = values.reshape(-1)[self._at_on(values)]
        return taken.reshape(self.shape)

    def _expect(self, shape: tuple[int, ...]) -> None:
        if self.shape is None:
            raise SpecError(
                f"A was given as {self.form}, whose data has more than its entries; give update() the matrix, or begin with csr"
            )
        fits = (self.shape, self.rows, (*self.rows, 1, 1)) if self.at is None else (self.shape,)
        if shape not in fits:
            raise SpecError(f"the array of values has shape {shape} and that of A {self.shape}; give A.data, in the order of that A")

    def _at_on(self, like: Any) -> Any:
        """``at`` where an array is."""
        library = library_of(type(like))
        if library == "torch":
            return sys.modules["torch"].as_tensor(self.at, device=like.device)
        return self.at if library == "numpy" else sys.modules["cupy"].asarray(self.at)


def _module(array: Any) -> Any:
    return sys.modules[library_of(type(array))]


def is_cupy(A: Any) -> bool:
    return type(A).__module__.partition(".")[0] in ("cupy", "cupyx")


def compressed(A: Any) -> Any:
    """Without the room that csr, csc and bsr may have behind their entries."""
    if getattr(A, "format", "") not in ("csr", "csc", "bsr") or len(A.indices) == len(A.data) == A.indptr[-1]:
        return A
    entries = int(A.indptr[-1])
    return type(A)((A.data[:entries], A.indices[:entries], A.indptr), shape=A.shape)


def rows_of(A: Any, block: Any) -> Rows:
    given: Any = A.get() if is_cupy(A) and hasattr(A, "get") else A
    _expect_matrix(given)
    matrix: Any = compressed(given)
    _expect_columns(matrix)
    block = _block_of(matrix, block)
    rows = matrix.tocsr() if block == 1 else matrix.tobsr(blocksize=(block, block))
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sort_indices()
        if (np.diff(_keys(rows.indptr, rows.indices)) == 0).any():  # which takes SciPy long for blocks
            rows.sum_duplicates()
    starts, columns, values = _with_diagonal(rows)
    if len(columns) > _MOST_INDEX:
        raise SpecError(f"A has {len(columns)} blocks; at most {_MOST_INDEX} can be indexed")
    listed = given.format in _LISTED
    as_it_is = rows is matrix is given and len(columns) == len(rows.indices)
    at = _places(matrix, block, starts, columns) if listed and not as_it_is else None
    if at is not None and len(at) == given.data.size == values.size and (at == np.arange(len(at))).all():
        at = None
    return Rows(starts, columns, values, block, rows.shape, Places(given.format, given.data.shape if listed else None, at, values.shape))


def _expect_matrix(A: Any) -> None:
    sparse = sys.modules["scipy.sparse"]
    if not sparse.issparse(A):
        kind = f"{type(A).__module__.partition('.')[0]}.{type(A).__name__}"
        raise SpecError(f"A is a {kind}, no matrix of scipy.sparse; give scipy.sparse.csr_array(A)")
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise SpecError(f"A has shape {A.shape}; give a square matrix")
    if A.shape[0] == 0:
        raise SpecError("A has no rows; there is nothing to solve")
    _expect_numbers(A)


def coordinates(A: Any, wanted: str) -> tuple[Any, Any, Any]:
    """Rows, columns and values of the entries of a matrix of SciPy or CuPy, on the processor."""
    if not hasattr(A, "tocoo"):
        raise SpecError(f"A is a {type(A).__name__}; give {wanted}")
    _expect_numbers(A)
    entries = compressed(A).tocoo()
    parts = entries.row, entries.col, entries.data
    row, column, data = (part.get() if is_cupy(part) else np.asarray(part) for part in parts)
    return row, column, data


def _expect_numbers(A: Any) -> None:
    data = getattr(A, "data", None)
    if library_of(type(data)) == "torch":
        raise SpecError("A is a matrix of SciPy whose data is a tensor; give a sparse tensor to trifold.torch.sparse, or data of NumPy")
    if A.dtype.kind not in "fiub" or A.dtype.itemsize > 8:
        raise SpecError(f"A is {A.dtype}; give real numbers, of float32 or float64")
    if has_mask(data):
        raise SpecError("A has masked entries, and here each entry counts; fill them in, or leave them out of its pattern")


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


def _row_of_each(starts: Any) -> Any:
    return np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))


def _keys(starts: Any, columns: Any) -> Any:
    """The places of entries as numbers, which ascend where rows are in order."""
    return _row_of_each(starts).astype(np.int64) * (len(starts) - 1) + columns


def _with_diagonal(rows: Any) -> tuple[Any, Any, Any]:
    """Starts, columns and values, with zeros where an entry of the diagonal is missing, for factors stand there."""
    starts, columns, values = rows.indptr, rows.indices, rows.data
    count = len(starts) - 1
    missing = np.ones(count, bool)
    missing[columns[columns == _row_of_each(starts)]] = False
    missing &= np.diff(starts) > 0  # A is singular where a row is empty, as the core says
    if missing.any():
        on_diagonal = np.flatnonzero(missing)
        before = np.searchsorted(_keys(starts, columns), on_diagonal * (count + 1))
        columns, values = np.insert(columns, before, on_diagonal), np.insert(values, before, 0, axis=0)
        starts = starts + np.concatenate([[0], np.cumsum(missing)])
    return starts.astype(np.int32), columns.astype(np.int32), values


def _places(A: Any, block: int, starts: Any, columns: Any) -> Any:
    keys, count = _keys(starts, columns), len(starts) - 1
    if A.format == "bsr" and A.blocksize == (block, block):
        at = np.searchsorted(keys, _keys(A.indptr, A.indices))
        return (at[:, None] * block**2 + np.arange(block**2)).reshape(-1)
    entries = A.tocoo(copy=False)
    row, column = entries.row.astype(np.int64), entries.col.astype(np.int64)
    at = np.searchsorted(keys, row // block * count + column // block)
    return (at * block + row % block) * block + column % block
