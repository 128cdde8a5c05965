"""Images in PyTorch, with gradients: trifold.torch.grid.

    x = trifold.torch.grid.solve(stencil, b)
    f = trifold.torch.grid.factor(stencil); f.solve(b), f.solve_transposed(b)

Arrays, options and errors are those of trifold.grid. With w = A'^-1 g, where g is the gradient of x, that of b is w, and that of the entry
of A at (i, j) is -w[i] x[j], summed over right-hand sides. Of a symmetric A an entry that is read stands for both its places, and the
gradient of others is zero. The backward pass is one solution with the factor of the forward pass. Derivatives of any order exist, in
reverse mode. vmap and the transforms of torch.func take it: mapped stencils are one batch, and mapped b more right-hand sides. Within
a transform of the stencil each solution factors it again. torch.compile calls it as it is.
"""

from __future__ import annotations

import importlib
from typing import Any, Unpack

from .._core import GridFactor, torch_way
from .._torch_derivatives import TRANSFORMED, Solve, System, expect_tensor, follows_nothing
from ..grid import OPTIONS, Options, columns_at_a_time, factored
from ..options import takes

__all__ = ["Factor", "factor", "solve"]

torch: Any = importlib.import_module("torch")


@takes(OPTIONS)
def solve(stencil: Any, b: Any, **options: Unpack[Options]) -> Any:
    """A^-1 b, with the shape of b and gradients to both. Raises SpecError, GridFailed, OutOfRange."""
    expect_tensor(stencil, "stencil")
    expect_tensor(b, "b")
    made = factor(stencil, rhs=columns_at_a_time(stencil, b), **options)
    x = made.solve(b)
    if made.core is not None and made.checks(stencil):
        made.core.check()
    return x


@takes(OPTIONS)
def factor(stencil: Any, *, rhs: int = 1, **options: Unpack[Options]) -> Factor:
    """Factors A, to solve with it again and again. rhs: right-hand sides that are solved at once. Raises SpecError, GridFailed."""
    expect_tensor(stencil, "stencil")
    return Factor(stencil, rhs, options)


class Factor(System):
    """A factored, from factor(). The stencil must stay as it is while this, or a graph that it is in, is used. Pickles as its stencil."""

    def __init__(self, stencil: Any, rhs: int, options: Options) -> None:
        self.stencil, self.rhs, self.options = stencil, rhs, options
        self.core: GridFactor | None = None if torch_way(stencil) == TRANSFORMED else _factored(stencil.detach(), rhs, options)

    def __reduce__(self) -> Any:
        return Factor, (self.stencil, self.rhs, {**self.options, "check": False})

    def solve(self, b: Any) -> Any:
        """A^-1 b, (..., H, W) or (..., H, W, m). Raises SpecError on shapes that do not fit."""
        return _applied(self, b, False)

    def solve_transposed(self, b: Any) -> Any:
        """A'^-1 b, likewise."""
        return _applied(self, b, True)

    def checks(self, stencil: Any) -> bool:
        """Whether images that fail raise."""
        check = self.options.get("check")
        return stencil.device.type == "cpu" if check is None else check

    def axes(self, values: Any) -> int:
        return values.dim() - 1

    def solution(self, values: Any, b: Any, transposed: bool) -> Any:
        if self.core is not None:
            return self.core.solve(b, None, transposed)
        core = _factored(values, self.rhs, self.options)
        x = core.solve(b, None, transposed)
        if self.checks(values):
            core.check()
        return x

    def gradients(self, values: Any, x: Any, by_x: Any, transposed: bool) -> tuple[Any, Any]:
        if self.core is not None and not transposed and follows_nothing(x, by_x):
            return self.core.gradients(x.detach(), by_x.detach())
        return super().gradients(values, x, by_x, transposed)

    def outer(self, values: Any, rows: Any, columns: Any) -> Any:
        rows, columns = (rows, columns) if rows.dim() == values.dim() else (rows[..., None], columns[..., None])
        return _of_stencil(rows, columns, self.options.get("matrix") == "symmetric", self.options.get("boundary") == "fixed")

    def mapped(self, values: Any, b: Any, transposed: bool) -> Any:
        return Solve.apply(self, values, b, transposed)


_factored = torch.compiler.disable(factored)


@torch.compiler.disable
def _applied(factor: Factor, b: Any, transposed: bool) -> Any:
    expect_tensor(b, "b")
    return Solve.apply(factor, factor.stencil, b, transposed)


def _of_stencil(rows: Any, columns: Any, symmetric: bool, fixed: bool) -> Any:
    """-rows[i] columns[j], summed over right-hand sides, where a stencil's entry stands at (i, j) of A."""
    unknown = torch.ones(rows.shape[-3:-1], dtype=rows.dtype, device=rows.device)
    if fixed:
        unknown = torch.nn.functional.pad(unknown[1:-1, 1:-1], (1, 1, 1, 1))
    rows = rows * unknown[..., None]
    around = torch.nn.functional.pad(columns, (0, 0, 1, 1, 1, 1))
    entries = [-(rows * _neighbour(around, k, -3)).sum(-1) for k in range(9)]
    if symmetric:
        beside = torch.nn.functional.pad(unknown, (1, 1, 1, 1))
        later = [torch.nn.functional.pad(entries[8 - k], (1, 1, 1, 1)) for k in range(4)]
        entries[:4] = [entries[k] + unknown * _neighbour(later[k], k, -2) for k in range(4)]
        entries[5:] = [entries[k] * (1 - _neighbour(beside, k, -2)) for k in range(5, 9)]
    return torch.stack(entries, -1)


def _neighbour(padded: Any, k: int, at: int) -> Any:
    """Values of each pixel's neighbour k, of an array with one more pixel on each side. ``at``: the axis of H."""
    height, width = padded.shape[at] - 2, padded.shape[at + 1] - 2
    return padded.narrow(at, k // 3, height).narrow(at + 1, k % 3, width)
