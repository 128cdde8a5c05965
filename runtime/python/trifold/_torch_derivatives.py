"""Derivatives in PyTorch: outer products of chains, in one place or over ranks, and solutions of all other families."""

from __future__ import annotations

import importlib
from typing import Any

from ._core import torch_way
from .errors import SpecError

torch: Any = importlib.import_module("torch")
TRANSFORMED, _PLAIN = 1, 3  # answers of torch_way: within a transform of torch.func, and tensors that nothing follows
_SMALL_BLOCK = 16  # outer products up to here go by elements: 0.32 ms for 0.71 by matrix products, 4096 of 20 x 12, H200


def expect_tensor(tensor: Any, name: str) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise SpecError(f"{name} is a {type(tensor).__name__}; give a tensor")


def follows_nothing(*tensors: Any) -> bool:
    """Whether what is made of the tensors needs no derivative."""
    return not torch.is_grad_enabled() and torch_way(*tensors) == _PLAIN


class System:
    """A x = b for values of A, as a family states it to Solve. Its derivatives and its rule of vmap follow."""

    def axes(self, values: Any) -> int:
        """Axes of b with one right-hand side."""
        raise NotImplementedError

    def solution(self, values: Any, b: Any, transposed: bool) -> Any:
        """A^-1 b or A'^-1 b, of plain tensors."""
        raise NotImplementedError

    def outer(self, values: Any, rows: Any, columns: Any) -> Any:
        """-rows[i] columns[j] where A has a value at (i, j), summed over right-hand sides."""
        raise NotImplementedError

    def gradients(self, values: Any, x: Any, by_x: Any, transposed: bool) -> tuple[Any, Any]:
        """(by b, by the values)."""
        by_b = Solve.apply(self, values, by_x, not transposed)
        return by_b, self.outer(values, *((x, by_b) if transposed else (by_b, x)))

    def mapped(self, values: Any, b: Any, transposed: bool) -> Any:
        """Solutions with values and b along their first axis: one after the other."""
        return torch.stack([Solve.apply(self, *pair, transposed) for pair in zip(values, b)])


class Solve(torch.autograd.Function):
    """A^-1 b or A'^-1 b, by the values of A. The backward pass of one is the other."""

    @staticmethod
    def forward(system: System, values: Any, b: Any, transposed: bool) -> Any:
        return system.solution(values.detach(), b.detach(), transposed)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.system, values, _, ctx.transposed = inputs
        ctx.save_for_backward(values, output)

    @staticmethod
    def backward(ctx: Any, by_x: Any) -> Any:
        values, x = ctx.saved_tensors
        if not ctx.needs_input_grad[1]:
            return None, None, Solve.apply(ctx.system, values, by_x, not ctx.transposed), None
        by_b, by_values = ctx.system.gradients(values, x, by_x, ctx.transposed)
        return None, by_values, by_b, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, system: System, values: Any, b: Any, transposed: bool) -> Any:
        """Mapped right-hand sides are more of them."""
        of_values, of_b = in_dims[1:3]
        if of_values is None:
            b = b.movedim(of_b, -1)
            return Solve.apply(system, values, b.flatten(system.axes(values)), transposed).reshape(b.shape), b.dim() - 1
        b = b.expand(info.batch_size, *b.shape) if of_b is None else b.movedim(of_b, 0)
        return system.mapped(values.movedim(of_values, 0), b, transposed), 0


def spread(numbers: Any, like: Any, dims: int) -> Any:
    """A number for each right-hand side (or member), as a factor of arrays like b (or D)."""
    numbers = numbers.to(like.dtype)
    return numbers[..., None, None, :] if like.dim() == dims else numbers[..., None, None]


def outer_blocks(u: Any, x: Any, columns: bool, ring: bool = False) -> tuple[Any, Any]:
    """Blocks (i, i) and (i + 1, i) of u x' + x u'. In a ring the first block comes after the last."""
    if not columns:
        u, x = u[..., None], x[..., None]
        if u.shape[-2] <= _SMALL_BLOCK and not ring:
            return _elementwise(u, x, u.mT, x.mT), _elementwise(
                u[..., 1:, :, :], x[..., 1:, :, :], u.mT[..., :-1, :, :], x.mT[..., :-1, :, :]
            )
    left, right = torch.cat((u, x), -1), torch.cat((x, u), -1).mT
    return left @ right, left.roll(-1, -3) @ right if ring else left[..., 1:, :, :] @ right[..., :-1, :, :]


def _elementwise(u: Any, x: Any, row_u: Any, row_x: Any) -> Any:
    return torch.addcmul(u * row_x, x, row_u)


def of_log_determinant(inverse: tuple[Any, Any], gl: Any) -> tuple[Any, Any]:
    """Twice the derivative by D's blocks, and that by E's, from the blocks of A^-1 and the gradient of log det A."""
    diagonal, lower = inverse
    twice = 2 * gl.to(diagonal.dtype)[..., None, None, None]
    return twice * diagonal, twice * lower
