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

from ._torch_derivatives import expect_tensor, of_log_determinant, outer_blocks, spread
from .arrays import Likelihood
from .ranks import ranks as _ranks

torch: Any = importlib.import_module("torch")


class Ranks:
    """One rank of a chain, for tensors. ``solver`` is its trifold.RankSolver."""

    def __init__(self, communicator: Any, **options: Any) -> None:
        self.solver = _ranks(communicator, **options)
        self._factored = 0  # goes up with each factorization, on all ranks alike

    def solve(self, D: Any, E: Any, b: Any, *, check: bool | None = None) -> Any:
        """A^-1 b: this rank's blocks of it. Raises what trifold.RankSolver.factor_solve does."""
        return _Solve.apply(self, False, check, *_tensors(D, E, b))

    def likelihood(self, D: Any, E: Any, b: Any, *, check: bool | None = None) -> Likelihood:
        """(A^-1 b, log det A, b' A^-1 b) from one factorization. The latter two are the whole chain's, in float64."""
        return Likelihood(*_Solve.apply(self, True, check, *_tensors(D, E, b)))

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
    for name, array in (("D", D), ("E", D if E is None else E), ("b", b)):
        expect_tensor(array, name)
    return D, E if E is not None else D.new_empty((*D.shape[:-3], 0, *D.shape[-2:])), b


class _Solve(torch.autograd.Function):
    """x, and with ``whole`` the chain's two numbers."""

    @staticmethod
    def forward(ctx: Any, chain: Ranks, whole: bool, check: bool | None, D: Any, E: Any, b: Any) -> Any:
        x, ctx.factored = chain.factor_solve(D, E, b, check)
        ctx.chain = chain
        ctx.save_for_backward(D, E, x)
        if not whole:
            return x
        return x, torch.as_tensor(chain.solver.log_determinant()), torch.as_tensor(chain.solver.quadratic())

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_x: Any, by_log: Any = None, by_quadratic: Any = None) -> Any:
        D, E, x = ctx.saved_tensors
        chain = ctx.chain
        chain.factored_again(ctx.factored, D, E)
        by_b = w = chain.solver.solve(by_x.contiguous(), check=False)
        if by_quadratic is not None:
            scaled = x * spread(by_quadratic, x, D.dim())
            w, by_b = w + scaled, w + 2 * scaled
        diagonal, lower = chain.outer(-w, x, D.dim())
        if by_log is not None:
            of_D, of_E = of_log_determinant(chain.solver.selected_inverse(check=False), by_log)
            diagonal, lower = diagonal + of_D, lower + of_E
        return None, None, None, diagonal / 2, lower, by_b
