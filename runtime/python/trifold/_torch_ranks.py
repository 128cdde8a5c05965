"""A chain over ranks in PyTorch, with gradients: trifold.torch.ranks.

    chain = trifold.torch.ranks(group, block=32, horizon=4096)
    x = chain.solve(D, E, b)
    x, log_determinant, quadratic = chain.likelihood(D, E, b)

Each rank has its own blocks of D, E and b, as trifold.RankSolver explains, and gets their gradients. A backward pass is a call of all
ranks, too: each calls backward(), in the same order, on a loss that depends on the result. The gradients are those of the sum of all
ranks' losses, where x is concerned. The log determinant and the quadratic form are one number that all ranks have: they count once, so each
rank's loss must have them in the same way. There are first derivatives, in reverse mode.
"""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import importlib
from typing import Any

from ._torch_derivatives import Likelihood, of_log_determinant, outer_blocks, spread
from .errors import SpecError
from .ranks import ranks as _ranks

torch: Any = importlib.import_module("torch")


class Ranks:
    """One rank of a chain, for tensors. ``solver`` is its trifold.RankSolver."""

    def __init__(self, communicator: Any, **options: Any) -> None:
        self.solver = _ranks(communicator, **options)
        self._factored = 0  # goes up with each factorization, on all ranks alike

    def solve(self, D: Any, E: Any, b: Any, *, check: bool | None = None) -> Any:
        """A^-1 b: this rank's blocks of it. Raises what trifold.RankSolver.factor_solve does."""
        return _Solve.apply(self, check, *_tensors(D, E, b))

    def likelihood(self, D: Any, E: Any, b: Any, *, check: bool | None = None) -> Likelihood:
        """(A^-1 b, log det A, b' A^-1 b) from one factorization. The latter two are the whole chain's, in float64."""
        return Likelihood(*_Likelihood.apply(self, check, *_tensors(D, E, b)))

    def factor_solve(self, D: Any, E: Any, b: Any, check: bool | None) -> tuple[Any, int]:
        """x, and the number of the factorization."""
        self._factored += 1
        return self.solver.factor_solve(D, E, b, check=check), self._factored

    def factored_again(self, factored: int, D: Any, E: Any) -> None:
        """Factors D and E unless their factorization is the last one."""
        if factored != self._factored:
            self._factored += 1
            self.solver.factor(D, E, check=False)

    def outer(self, u: Any, x: Any, dims: int) -> tuple[Any, Any]:
        """This rank's blocks (i, i) and (i + 1, i) of u x' + x u'."""
        columns, at = x.dim() == dims, dims - 3
        blocks = x.shape[at]
        of_u, of_x = (_with_next(array, self.solver.next_block(array), at) for array in (u, x))
        diagonal, lower = outer_blocks(of_u, of_x, columns)
        return diagonal.narrow(at, 0, blocks), lower


def _with_next(array: Any, following: Any, at: int) -> Any:
    return array if following is None else torch.cat((array, following), at)


def _tensors(D: Any, E: Any, b: Any) -> tuple[Any, Any, Any]:
    for name, array in (("D", D), ("E", E), ("b", b)):
        if not isinstance(array, torch.Tensor) and not (name == "E" and array is None):
            raise SpecError(f"{name} is a {type(array).__name__}; give a tensor")
    return D, E if E is not None else D.new_empty((*D.shape[:-3], 0, *D.shape[-2:])), b


class _Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, chain: Ranks, check: bool | None, D: Any, E: Any, b: Any) -> Any:
        x, ctx.factored = chain.factor_solve(D, E, b, check)
        ctx.chain = chain
        ctx.save_for_backward(D, E, x)
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gx: Any) -> Any:
        D, E, x = ctx.saved_tensors
        chain = ctx.chain
        chain.factored_again(ctx.factored, D, E)
        w = chain.solver.solve(gx.contiguous(), check=False)
        diagonal, lower = chain.outer(-w, x, D.dim())
        return None, None, diagonal / 2, lower, w


class _Likelihood(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, chain: Ranks, check: bool | None, D: Any, E: Any, b: Any) -> Any:
        x, ctx.factored = chain.factor_solve(D, E, b, check)
        ctx.chain = chain
        ctx.save_for_backward(D, E, x)
        log_determinant, quadratic = chain.solver.log_determinant(), chain.solver.quadratic()
        return x, torch.as_tensor(log_determinant), torch.as_tensor(quadratic)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gx: Any, gl: Any, gq: Any) -> Any:
        D, E, x = ctx.saved_tensors
        chain = ctx.chain
        chain.factored_again(ctx.factored, D, E)
        w = chain.solver.solve(gx.contiguous(), check=False)
        scaled = x * spread(gq, x, D.dim())
        diagonal, lower = chain.outer(-(w + scaled), x, D.dim())
        inverse, of_E = of_log_determinant(chain.solver.selected_inverse(check=False), gl)
        return None, None, (diagonal + inverse) / 2, lower + of_E, w + 2 * scaled
