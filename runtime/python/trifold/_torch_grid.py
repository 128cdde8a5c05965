"""Images in PyTorch, with gradients: trifold.torch.grid.

    x = trifold.torch.grid.solve(stencil, b)
    f = trifold.torch.grid.factor(stencil); f.solve(b), f.solve_transposed(b)

Arrays, options and errors are those of trifold.grid. With w = A'^-1 g, where g is the gradient of x, that of b is w, and that of the entry
of A at (i, j) is -w[i] x[j], summed over right-hand sides. Of a symmetric A an entry that is read stands for both its places, and the
gradient of others is zero. The backward pass is one solution with the factor of the forward pass. Derivatives of any order exist, in
reverse mode. There is no rule for vmap: give the stencils more axes in front, or b more right-hand sides. torch.compile calls it as it is.
"""

from __future__ import annotations

import importlib
from typing import Any, Unpack

from ._core import GridFactor
from .errors import SpecError
from .grid import OPTIONS, Options, columns_at_a_time, factored
from .options import takes

__all__ = ["Factor", "factor", "solve"]

torch: Any = importlib.import_module("torch")


@takes(OPTIONS)
def solve(stencil: Any, b: Any, **options: Unpack[Options]) -> Any:
    """A^-1 b, with the shape of b and gradients to both. Raises SpecError, GridFailed, OutOfRange."""
    _expect(stencil, "stencil")
    _expect(b, "b")
    made = factor(stencil, rhs=columns_at_a_time(stencil, b), **options)
    x = made.solve(b)
    check = options.get("check")
    if check or (check is None and stencil.device.type == "cpu"):
        made.core.check()
    return x


@takes(OPTIONS)
def factor(stencil: Any, *, rhs: int = 1, **options: Unpack[Options]) -> Factor:
    """Factors A, to solve with it again and again. rhs: right-hand sides that are solved at once. Raises SpecError, GridFailed."""
    _expect(stencil, "stencil")
    core = _factored(stencil.detach(), rhs, options)
    return Factor(stencil, core, options.get("matrix", "general"), options.get("boundary", "natural"))


class Factor:
    """A factored, from factor(). The stencil must stay as it is while this, or a graph that it is in, is used."""

    def __init__(self, stencil: Any, core: GridFactor, matrix: str, boundary: str) -> None:
        self.stencil, self.core, self.matrix, self.boundary = stencil, core, matrix, boundary

    def solve(self, b: Any) -> Any:
        """A^-1 b, (..., H, W) or (..., H, W, m). Raises SpecError on shapes that do not fit."""
        _expect(b, "b")
        return _applied(self, b, False)

    def solve_transposed(self, b: Any) -> Any:
        """A'^-1 b, likewise."""
        _expect(b, "b")
        return _applied(self, b, True)


_factored = torch.compiler.disable(factored)


@torch.compiler.disable
def _applied(factor: Factor, b: Any, transposed: bool) -> Any:
    return _Solve.apply(factor, factor.stencil, b, transposed)


def _expect(tensor: Any, name: str) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise SpecError(f"{name} is a {type(tensor).__name__}; give a tensor")


class _Solve(torch.autograd.Function):
    """A^-1 b or A'^-1 b. The backward pass of one is the other."""

    @staticmethod
    def forward(ctx: Any, factor: Factor, stencil: Any, b: Any, transposed: bool) -> Any:
        x = factor.core.solve(b.detach(), None, transposed)
        ctx.factor, ctx.transposed = factor, transposed
        ctx.save_for_backward(stencil, x)
        return x

    @staticmethod
    def backward(ctx: Any, by_x: Any) -> Any:
        factor: Factor = ctx.factor
        stencil, x = ctx.saved_tensors
        needs_stencil = ctx.needs_input_grad[1]
        if needs_stencil and not ctx.transposed and not torch.is_grad_enabled():
            by_b, by_stencil = factor.core.gradients(x.detach(), by_x.detach())
            return None, by_stencil, by_b, None
        by_b = _Solve.apply(factor, stencil, by_x, not ctx.transposed)
        if not needs_stencil:
            return None, None, by_b, None
        rows, columns = (x, by_b) if ctx.transposed else (by_b, x)
        many = x.dim() == stencil.dim()
        rows, columns = (rows, columns) if many else (rows[..., None], columns[..., None])
        return None, _of_stencil(rows, columns, factor), by_b, None


def _of_stencil(rows: Any, columns: Any, factor: Factor) -> Any:
    """-rows[i] columns[j], summed over right-hand sides, where a stencil's entry stands at (i, j) of A."""
    unknown = torch.ones(rows.shape[-3:-1], dtype=rows.dtype, device=rows.device)
    if factor.boundary == "fixed":
        unknown = torch.nn.functional.pad(unknown[1:-1, 1:-1], (1, 1, 1, 1))
    rows = rows * unknown[..., None]
    around = torch.nn.functional.pad(columns, (0, 0, 1, 1, 1, 1))
    entries = [-(rows * _neighbour(around, k, -3)).sum(-1) for k in range(9)]
    if factor.matrix == "symmetric":
        beside = torch.nn.functional.pad(unknown, (1, 1, 1, 1))
        later = [torch.nn.functional.pad(entries[8 - k], (1, 1, 1, 1)) for k in range(4)]
        entries[:4] = [entries[k] + unknown * _neighbour(later[k], k, -2) for k in range(4)]
        entries[5:] = [entries[k] * (1 - _neighbour(beside, k, -2)) for k in range(5, 9)]
    return torch.stack(entries, -1)


def _neighbour(padded: Any, k: int, at: int) -> Any:
    """What each pixel has at its neighbour k, of an array with one more pixel on each side. ``at``: the axis of H."""
    height, width = padded.shape[at] - 2, padded.shape[at + 1] - 2
    return padded.narrow(at, k // 3, height).narrow(at + 1, k % 3, width)
