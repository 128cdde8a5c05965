"""Members with lengths, blocks with sizes, and bands, as the chains that trifold.torch and trifold.jax solve for them."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .arrays import Likelihood, Marginals, is_jax
from .bands import expect_band, fitting_band, folded_blocks, folded_border, folded_rows, unfolded
from .batches import fitting_factor, itself, library
from .bordered import rows_of, split
from .errors import NotPositiveDefinite, SpecError
from .matrices import expect_together, shortened_blocks
from .namespaces import namespace_of
from .samples import added


def is_shaped(lengths: Any, sizes: Any, bandwidth: Any) -> bool:
    """Whether A is another than the chain of D and E."""
    return lengths is not None or sizes is not None or bandwidth != 1


class Shape(NamedTuple):
    """The rows of A, and how many of its blocks are one of the chain that is solved. It stands where unfolded() takes a Plan."""

    inside: Any  #: which rows there are: (N, n), with the batch axis of D
    bandwidth: int
    ring: bool = False

    @property
    def horizon(self) -> int:
        return int(self.inside.shape[-2])

    @property
    def block(self) -> int:
        return int(self.inside.shape[-1])

    def rows(self, b: Any) -> Any:
        """b of the chain, in which what A has no rows for is zero."""
        front, space = tuple(self.inside.shape), library(self.inside)
        if tuple(b.shape[: len(front)]) != front or b.ndim > len(front) + 1:
            raise SpecError(f"b has shape {tuple(b.shape)}; give {front}, or {(*front, 'm')} for m right-hand sides")
        there = self.inside[..., None] if b.ndim > len(front) else self.inside
        return folded_rows(space.where(there, b, 0.0), len(front) - 2, self.bandwidth)

    def border(self, F: Any) -> Any:
        """F of the chain."""
        *front, horizon, n = self.inside.shape
        if F.ndim != len(front) + 3 or (*F.shape[:-2], F.shape[-1]) != (*front, horizon, n):
            raise SpecError(f"F of border has shape {tuple(F.shape)}; give {(*front, horizon, 'a', n)}")
        return folded_border(library(F).where(self.inside[..., None, :], F, 0.0), len(front), self.bandwidth)

    def solution(self, x: Any) -> Any:
        """The solution of A, from that of the chain."""
        front, columns = tuple(self.inside.shape[:-2]), tuple(x.shape[self.inside.ndim :])
        return x.reshape((*front, -1, self.block, *columns))[(slice(None),) * len(front) + (slice(0, self.horizon),)]

    def inverse(self, diagonal: Any, lower: Any) -> tuple[Any, Any]:
        """Blocks of A^-1 in the places of those of D and E, and zeros where A has no rows."""
        diagonal, lower = unfolded(self, diagonal, lower)
        there = self.inside[..., :, None] & self.inside[..., None, :]
        return library(diagonal).where(there, diagonal, 0.0 * diagonal), lower


class Call(NamedTuple):
    """A call on the chain that A is solved by. It is called with a function of trifold.torch or trifold.jax for its results for A."""

    shape: Shape
    D: Any
    E: Any
    b: Any
    border: Any
    back: Callable[[Any], Any]
    back_columns: Callable[[Any], Any]

    def __call__(self, function: Any, **options: Any) -> Any:
        found = self._found(function, {} if self.border is None else {"border": self.border}, options)
        if not isinstance(found, (Likelihood, Marginals)):
            return self.back(found)
        found = found._replace(x=self.back(found.x), quadratic=self.back_columns(found.quadratic))
        if isinstance(found, Marginals):
            diagonal, lower = self.shape.inverse(found.diagonal, found.lower)
            return found._replace(diagonal=diagonal, lower=lower)
        return found

    def factor(self, function: Any, **options: Any) -> ShapedFactor:
        return ShapedFactor(self._found(function, {}, options), self.shape.inside)

    def _found(self, function: Any, border: dict[str, Any], options: dict[str, Any]) -> Any:
        given = (self.D, self.E) if self.b is None else (self.D, self.E, self.b)
        try:
            return function(*given, **border, **({"ring": True} if self.shape.ring else {}), **options)
        except NotPositiveDefinite as error:
            raise _of_band(error, self.shape) from None


def shaped(D: Any, E: Any, b: Any, lengths: Any, sizes: Any, bandwidth: Any, ring: Any = False, border: Any = None) -> Call:
    """The chain of a call with tensors, or arrays of JAX. b: None for a factor."""
    w = expect_together(ring, lengths, sizes, bandwidth)
    back = back_columns = itself
    if border is None:
        D, E, b, back, back_columns = fitting_band(D, E, b, w)
    if D.ndim not in (3, 4) or D.shape[-1] != D.shape[-2] or 0 in D.shape:
        raise SpecError(f"D has shape {tuple(D.shape)}; give (N, n, n), or (batch, N, n, n)")
    space, fits = namespace_of([D]), (*D.shape[:-3], D.shape[-3] - 1, *D.shape[-2:])
    if w > 1:
        E = expect_band(D, E, w, ring)
    elif (E is None and fits[-3] > 0) or (E is not None and tuple(E.shape) != fits):
        raise SpecError(f"E {'is missing' if E is None else f'has shape {tuple(E.shape)}'}; give {fits}, as D has {tuple(D.shape)}")
    D, E, inside = shortened_blocks(space, D, E, lengths, sizes) if w == 1 else (*folded_blocks(space, D, E, ring), _all(space, D))
    shape = Shape(inside, w, ring)
    if border is not None:
        return _bordered(shape, D, E, b, border)

    def back_rows(x: Any) -> Any:
        return back(shape.solution(x))

    return Call(shape, D, E, None if b is None else shape.rows(b), None, back_rows, back_columns)


def _all(space: Any, D: Any) -> Any:
    return space.xp.broadcast_to(space.constant(1.0) > 0, tuple(D.shape[:-1]))


def _bordered(shape: Shape, D: Any, E: Any, b: Any, border: Any) -> Call:
    inside = shape.inside
    (chain, tip), joined = split(b, (shape.horizon, shape.block), rows_of(border), inside.ndim == 3)

    def back(pair: Any) -> Any:
        return joined((shape.solution(pair[0]), pair[1]))

    return Call(shape, D, E, (shape.rows(chain), tip), (shape.border(border[0]), border[1]), back, itself)


def _of_band(error: NotPositiveDefinite, shape: Shape) -> NotPositiveDefinite:
    """The error with the blocks and rows of the band, and not those of the chain that it is solved by."""
    w, n = shape.bandwidth, shape.block

    def place(block: Any, row: Any) -> tuple[int, int]:
        first, row = int(block) * w, int(row)
        return (first + row // n, row % n) if first < shape.horizon else (shape.horizon, row)  # or it is the tip

    def words(found: re.Match[str]) -> str:
        return "block {}, row {}".format(*place(*found.groups()))

    text = re.sub(r"block (\d+), row (\d+)", words, str(error))
    return NotPositiveDefinite(text, [(member, *place(block, row)) for member, block, row in error.failures])


class ShapedFactor(NamedTuple):
    """A factored with lengths, sizes or a bandwidth: the methods of trifold.torch.Factor and trifold.jax.Factor, and b and results as A has
    them. It is a tuple of arrays, which vmap, jit and torch.compile pass on."""

    chain: Any  #: the Factor of the chain that A is solved by
    inside: Any  #: which rows there are: (N, n), with the batch axis of D

    def solve(self, b: Any) -> Any:
        """A^-1 b: (N, n) or (N, n, m), with the batch axis of D in front where D has one. Raises SpecError on shapes that do not fit."""
        return self._swept(self.chain.solve, b, "b")

    def forward(self, b: Any) -> Any:
        """y, whose squares sum up to b' A^-1 b. It has derivatives with respect to b only."""
        return self._swept(self.chain.forward, b, "b")

    def backward(self, y: Any) -> Any:
        """The solution where y is forward(b), a draw where y is standard normal. Derivatives as of forward()."""
        return self._swept(self.chain.backward, y, "y")

    def sample(self, generator: Any = None, mean: Any = None, draws: int | None = None) -> Any:
        """A draw around the mean, as Factor of the chain has it; zero beyond lengths and sizes. generator: with JAX a key."""
        x = self._shape.solution(self.chain.sample(generator, None, draws))
        drawn = added(x, None if mean is None else self._read(mean, "mean"), tuple(self.inside.shape))
        return library(x).where(self.inside if draws is None else self.inside[..., None], drawn, 0.0 * x)

    def log_determinant(self) -> Any:
        """log det A: () or (batch,)."""
        return self.chain.log_determinant()

    def quadratic(self, b: Any) -> Any:
        """b' A^-1 b for each right-hand side."""
        b, _, back_columns = self._fitting(b, "b")
        return back_columns(self.chain.quadratic(b))

    def selected_inverse(self) -> tuple[Any, Any]:
        """(diagonal, lower): blocks of A^-1 in the places of those of D and E, and zeros beyond lengths and sizes."""
        return self._shape.inverse(*self.chain.selected_inverse())

    def __repr__(self) -> str:
        return f"<trifold.shapes.ShapedFactor: rows {tuple(self.inside.shape)}, of {self.chain!r}>"

    @property
    def _shape(self) -> Shape:
        blocks, E = self.chain.D, self.chain.E
        is_ring = E is not None and E.shape[-3] == blocks.shape[-3]
        return Shape(self.inside, int(blocks.shape[-1]) // int(self.inside.shape[-1]), is_ring)

    def _swept(self, sweep: Any, b: Any, name: str) -> Any:
        b, back, _ = self._fitting(b, name)
        return back(self._shape.solution(sweep(b)))

    def _fitting(self, b: Any, name: str) -> Any:
        *batch, horizon, n = self.inside.shape
        b, back, back_columns = fitting_factor((horizon, n), batch[0] if batch else None, self._read(b, name))
        return self._shape.rows(b), back, back_columns

    def _read(self, array: Any, name: str) -> Any:
        if is_jax(self.inside):
            return importlib.import_module("trifold._jax_primitives").read_array(array, name)
        importlib.import_module("trifold._torch_derivatives").expect_tensor(array, name)
        return array
