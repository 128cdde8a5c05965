"""General matrices in PyTorch: what trifold.torch.solve() and factor() are where upper is given.

With w = A'^-1 g, where g is the gradient of x, that of b is w, that of D[i] is -w[i] x[i]', that of E[i] is -w[i + 1] x[i]', and that of
upper[i] is -w[i] x[i + 1]', summed over right-hand sides. The backward pass is one solution with the factor of the forward pass.
"""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import importlib
import math
from typing import Any

from .._core import Solver, solver_for, torch_way
from .._torch_derivatives import TRANSFORMED, Solve, System, expect_tensor
from ..batches import fitting_factor, fitting_upper
from ..errors import SpecError
from ..matrices import expect_diagonals
from ..options import truth

torch: Any = importlib.import_module("torch")
_AXES = 4  # those of blocks of a batch
_MOST_COLUMNS = 64  # right-hand sides that a Plan solves at once


def solve(D: Any, E: Any, upper: Any, b: Any, ring: bool, check: bool | None) -> Any:
    expect_tensor(b, "b")
    together, upper = _read(D, E, upper, b)
    D, E, b, back, _ = together
    _expect_columns(D, b)
    made = Factor(D, E, upper, b.shape[-1] if b.dim() == D.dim() else 1, ring, check)
    x = made.solve(b)
    if made.core is not None and made.checks():
        made.core.check()
    return back(x)


def factor(D: Any, E: Any, upper: Any, columns: int, ring: bool, check: bool | None) -> Factor:
    together, upper = _read(D, E, upper, None)
    return Factor(together.D, together.E, upper, columns, ring, check)


def _read(D: Any, E: Any, upper: Any, b: Any) -> Any:
    for name, tensor in (("D", D), ("E", D if E is None else E), ("upper", D if upper is None else upper)):
        expect_tensor(tensor, name)
    if D.dim() not in (_AXES - 1, _AXES) or D.shape[-1] != D.shape[-2] or 0 in D.shape:
        raise SpecError(f"D has shape {tuple(D.shape)}; give (N, n, n), or (batch, N, n, n)")
    return fitting_upper(D, E, upper, b)


def _expect_columns(D: Any, b: Any) -> None:
    front = tuple(D.shape[:-1])
    if tuple(b.shape[: len(front)]) != front or b.dim() > len(front) + 1:
        raise SpecError(f"b has shape {tuple(b.shape)}; give {front}, or {(*front, 'm')} for m right-hand sides")


class Factor(System):
    """A factored, from trifold.torch.factor() with upper. D, E and upper must stay as they are while this is used."""

    def __init__(self, D: Any, E: Any, upper: Any, columns: int, ring: bool, check: bool | None) -> None:
        self.D, self.E, self.upper, self.columns, self.ring, self.check = D, E, upper, columns, ring, truth(check, "check")
        couplings = int(D.shape[-3]) - (0 if ring else 1)
        for name, blocks in (("E", E), ("upper", upper)):
            fits = (*D.shape[:-3], couplings, *D.shape[-2:])
            if blocks is None and couplings == 0:
                continue
            if blocks is None or tuple(blocks.shape) != fits:
                given = "is missing" if blocks is None else f"has shape {tuple(blocks.shape)}"
                raise SpecError(f"{name} {given}; give {tuple(fits)}, as D has {tuple(D.shape)}")
            if blocks.dtype != D.dtype or blocks.device != D.device:
                raise SpecError(f"{name} is {blocks.dtype} on {blocks.device}, and D {D.dtype} on {D.device}; give tensors of one type")
        #: D, E and upper one behind the other: what derivatives belong to
        self.values = D if couplings == 0 else torch.cat((D, E, upper), -3)
        self.couplings = couplings
        self.core: Solver | None = None if torch_way(self.values) == TRANSFORMED else self._factored(self.values)

    def __reduce__(self) -> Any:
        return Factor, (self.D, self.E, self.upper, self.columns, self.ring, False)

    def __repr__(self) -> str:
        return f"<trifold.torch.Factor of a general matrix: D {tuple(self.D.shape)}, {self.D.dtype}, {self.D.device}>"

    def solve(self, b: Any) -> Any:
        """A^-1 b: (N, n) or (N, n, m), with the batch axis of D in front where D has one. Raises SpecError on shapes that do not fit."""
        return self._applied(b, False)

    def solve_transposed(self, b: Any) -> Any:
        """A'^-1 b, likewise."""
        return self._applied(b, True)

    def log_determinant(self) -> Any:
        """log |det A| in float64, without derivatives: they take blocks of A^-1, which are not there. Raises SpecError where they are asked
        for."""
        if self.core is None or (torch.is_grad_enabled() and self.values.requires_grad):
            raise SpecError("log_determinant() of a general matrix has no derivatives; factor D.detach(), E.detach() and upper.detach()")
        return self.core.log_determinant()

    def _applied(self, b: Any, transposed: bool) -> Any:
        expect_tensor(b, "b")
        D = self.D
        b, back, _ = fitting_factor(tuple(D.shape[-3:-1]), D.shape[0] if D.dim() == _AXES else None, b)
        _expect_columns(D, b)
        return back(Solve.apply(self, self.values, b, transposed))

    def checks(self) -> bool:
        """Whether members that fail raise."""
        return self.D.is_cpu if self.check is None else self.check

    def _factored(self, values: Any) -> Solver:
        D, E, upper = self._parts(values)
        columns = min(max(int(self.columns), 1), _MOST_COLUMNS)
        made = solver_for(D, None, "", "auto", 1, False, columns, ring=self.ring, matrix="general")
        made.factor(D, E, upper=upper, check=self.checks())
        return made

    def _parts(self, values: Any) -> tuple[Any, Any, Any]:
        """D, E and upper, or the derivatives by them."""
        values = values.detach()
        if self.couplings == 0:
            return values, None, None
        D, E, upper = values.split((values.shape[-3] - 2 * self.couplings, self.couplings, self.couplings), -3)
        return D.contiguous(), E.contiguous(), upper.contiguous()

    # A family as Solve asks for it.

    def axes(self, values: Any) -> int:
        return values.dim() - 1

    def solution(self, values: Any, b: Any, transposed: bool) -> Any:
        core = self._factored(values) if self.core is None else self.core
        return (core.solve_transposed if transposed else core.solve)(b.contiguous(), check=False)

    def outer(self, values: Any, rows: Any, columns: Any) -> Any:
        if rows.dim() < values.dim():
            rows, columns = rows[..., None], columns[..., None]
        ahead, beyond = (x.roll(-1, -3)[..., : self.couplings, :, :] for x in (rows, columns))
        here, there = (x[..., : self.couplings, :, :] for x in (rows, columns))
        return -torch.cat((rows @ columns.mT, ahead @ there.mT, here @ beyond.mT), -3)

    def mapped(self, values: Any, b: Any, transposed: bool) -> Any:
        """One batch of all members."""
        if values.dim() == _AXES:
            return Solve.apply(self, values, b, transposed)
        return Solve.apply(self, values.flatten(0, 1), b.flatten(0, 1), transposed).reshape(b.shape)


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, check: bool | None) -> Any:
    for name, tensor in (("dl", dl), ("d", d), ("du", du), ("b", b)):
        expect_tensor(tensor, name)
    expect_diagonals(dl, d, du, b)
    members, rows, columns = math.prod(d.shape[:-1]), d.shape[-1], b.shape[-1]
    D, E, U = (x.reshape(members, x.shape[-1], 1, 1) for x in (d, dl[..., 1:], du[..., :-1]))
    return solve(D, E, U, b.reshape(members, rows, 1, columns), False, check).reshape(b.shape)


solve, factor = torch.compiler.disable(solve), torch.compiler.disable(factor)
