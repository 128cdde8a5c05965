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
from .._torch_derivatives import PLAIN, TRANSFORMED
from ..errors import SpecError
from ..grid import OPTIONS, Options, columns_at_a_time, factored
from ..options import takes

__all__ = ["Factor", "factor", "solve"]

torch: Any = importlib.import_module("torch")


@takes(OPTIONS)
def solve(stencil: Any, b: Any, **options: Unpack[Options]) -> Any:
    """A^-1 b, with the shape of b and gradients to both. Raises SpecError, GridFailed, OutOfRange."""
    _expect(stencil, "stencil")
    _expect(b, "b")
    made = factor(stencil, rhs=columns_at_a_time(stencil, b), **options)
    x = made.solve(b)
    if made.core is not None and made.checks(stencil):
        made.core.check()
    return x


@takes(OPTIONS)
def factor(stencil: Any, *, rhs: int = 1, **options: Unpack[Options]) -> Factor:
    """Factors A, to solve with it again and again. rhs: right-hand sides that are solved at once. Raises SpecError, GridFailed."""
    _expect(stencil, "stencil")
    return Factor(stencil, rhs, options)


class Factor:
    """A factored, from factor(). The stencil must stay as it is while this, or a graph that it is in, is used. Pickles as its stencil."""

    def __init__(self, stencil: Any, rhs: int, options: Options) -> None:
        self.stencil, self.rhs, self.options = stencil, rhs, options
        self.core: GridFactor | None = None if torch_way(stencil) == TRANSFORMED else self.core_of(stencil)

    def __reduce__(self) -> Any:
        return Factor, (self.stencil, self.rhs, {**self.options, "check": False})

    def core_of(self, stencil: Any) -> GridFactor:
        """The factor of a plain tensor."""
        return _factored(stencil.detach(), self.rhs, self.options)

    def checks(self, stencil: Any) -> bool:
        """Whether images that fail raise."""
        check = self.options.get("check")
        return stencil.device.type == "cpu" if check is None else check

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
    def forward(factor: Factor, stencil: Any, b: Any, transposed: bool) -> Any:
        if factor.core is not None:
            return factor.core.solve(b.detach(), None, transposed)
        core = factor.core_of(stencil)
        x = core.solve(b.detach(), None, transposed)
        if factor.checks(stencil):
            core.check()
        return x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor, stencil, _, ctx.transposed = inputs
        ctx.save_for_backward(stencil, output)

    @staticmethod
    def backward(ctx: Any, by_x: Any) -> Any:
        factor: Factor = ctx.factor
        stencil, x = ctx.saved_tensors
        needs_stencil = ctx.needs_input_grad[1]
        once = not torch.is_grad_enabled() and torch_way(x, by_x) == PLAIN
        if needs_stencil and not ctx.transposed and once and factor.core is not None:
            by_b, by_stencil = factor.core.gradients(x.detach(), by_x.detach())
            return None, by_stencil, by_b, None
        by_b = _Solve.apply(factor, stencil, by_x, not ctx.transposed)
        if not needs_stencil:
            return None, None, by_b, None
        rows, columns = (x, by_b) if ctx.transposed else (by_b, x)
        many = x.dim() == stencil.dim()
        rows, columns = (rows, columns) if many else (rows[..., None], columns[..., None])
        return None, _of_stencil(rows, columns, factor), by_b, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, factor: Factor, stencil: Any, b: Any, transposed: bool) -> Any:
        of_stencil, of_b = in_dims[1:3]
        if of_stencil is None:
            b = b.movedim(of_b, -1)
            columns = b.flatten(-2) if b.dim() > stencil.dim() else b
            return _Solve.apply(factor, stencil, columns, transposed).reshape(b.shape), b.dim() - 1
        b = b.expand(info.batch_size, *b.shape) if of_b is None else b.movedim(of_b, 0)
        return _Solve.apply(factor, stencil.movedim(of_stencil, 0), b, transposed), 0


def _of_stencil(rows: Any, columns: Any, factor: Factor) -> Any:
    """-rows[i] columns[j], summed over right-hand sides, where a stencil's entry stands at (i, j) of A."""
    unknown = torch.ones(rows.shape[-3:-1], dtype=rows.dtype, device=rows.device)
    if factor.options.get("boundary") == "fixed":
        unknown = torch.nn.functional.pad(unknown[1:-1, 1:-1], (1, 1, 1, 1))
    rows = rows * unknown[..., None]
    around = torch.nn.functional.pad(columns, (0, 0, 1, 1, 1, 1))
    entries = [-(rows * _neighbour(around, k, -3)).sum(-1) for k in range(9)]
    if factor.options.get("matrix") == "symmetric":
        beside = torch.nn.functional.pad(unknown, (1, 1, 1, 1))
        later = [torch.nn.functional.pad(entries[8 - k], (1, 1, 1, 1)) for k in range(4)]
        entries[:4] = [entries[k] + unknown * _neighbour(later[k], k, -2) for k in range(4)]
        entries[5:] = [entries[k] * (1 - _neighbour(beside, k, -2)) for k in range(5, 9)]
    return torch.stack(entries, -1)


def _neighbour(padded: Any, k: int, at: int) -> Any:
    """Values of each pixel's neighbour k, of an array with one more pixel on each side. ``at``: the axis of H."""
    height, width = padded.shape[at] - 2, padded.shape[at + 1] - 2
    return padded.narrow(at, k // 3, height).narrow(at + 1, k % 3, width)
