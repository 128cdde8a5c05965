"""Differentiable solvers for PyTorch: eager, compiled, under vmap and in captured graphs.

    x = trifold.torch.solve(D, E, b)
    x, log_determinant, quadratic = trifold.torch.likelihood(D, E, b)
    f = trifold.torch.factor(D, E); f.solve(b)

D: (N, n, n), of which only the lower triangles are read; E: (N - 1, n, n), block (i + 1, i) of A, or None when N is 1; b: (N, n), or
(N, n, m) for m right-hand sides. All may have one batch axis in front: either all of them or none. float32 or float64, on one device.

Gradients. With w = A^-1 g, where g is the gradient of x, that of b is w, that of E[i] is -(w[i+1] x[i]' + x[i+1] w[i]'), and that of D[i]
is -(w[i] x[i]' + x[i] w[i]') / 2: symmetric, as those of torch.linalg.cholesky are. That of log det A is C for D and 2 C for the couplings,
where C has the blocks of A^-1. All come from the factor that the forward pass made. With triangle="lower" the gradient of D says what a
change of each entry that is read does: it is twice as large below the diagonal, and zero above it.

check, by default True on the CPU: raise NotPositiveDefinite, NearlySingular or OutOfRange when a member fails. Without it, results of that
member are NaN; only those of a nearly singular one, which rounding decides, are as they were computed. So check=False accepts them, and
trifold.factor(D.detach(), E.detach(), check=False).status tells.
Derivatives of any order exist, in reverse mode. Those of the selected inverse, and so the second ones of log det A, take a selected inverse
of blocks twice as large.

A chain that several ranks share is solved by trifold.torch.ranks, images by trifold.torch.grid, and other sparse matrices by
trifold.torch.sparse, which needs SciPy.
"""

# pyright: reportConstantRedefinition=false

# The custom operators. A factor is a tensor of bytes, ([batch,] bytes, rhs of its Plan): saved for the backward pass, and never read
# by others. Sweeps use parts of it as scratch. To torch they do not change it, for what it says of A stays the same; so a factor may be
# saved, differentiated and compiled as any other result. docs/developers/python.md says what keeps two calls on one factor apart.
# D and E go along with it, as what derivatives belong to. What the operators do on plain tensors is in binding/torch.cpp.

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._core import (
    Plan,
    torch_backward,
    torch_factor,
    torch_factor_solve,
    torch_forward,
    torch_log_determinant,
    torch_marginals,
    torch_selected_inverse,
    torch_solve,
    torch_way,
)
from .._torch_derivatives import expect_tensor, of_log_determinant, outer_blocks, spread
from .._torch_ranks import Ranks as ranks
from ..arrays import Likelihood, Marginals
from ..batches import Together, expect_ring, fitting, itself
from ..bordered import PIVOT_EPSILONS, by_parts, least_pivot, rows_of
from ..errors import NearlySingular, NotPositiveDefinite, SpecError
from ..matrices import expect_general, step_of_inverse
from ..options import flag, has_signs, listed, lower_alone, truth
from ..samples import added, normal, shape_of
from ..shapes import Call, ShapedFactor, is_shaped, shaped
from . import general, grid

__all__ = [
    "Factor",
    "Likelihood",
    "Marginals",
    "factor",
    "grid",
    "likelihood",
    "log_determinant",
    "marginals",
    "quadratic",
    "ranks",
    "solve",
    "tridiagonal_solve",
]


torch: Any = importlib.import_module("torch")
_MOST_COLUMNS = 64  # right-hand sides that a Plan solves at once
_RULES = 4  # goes up when a derivative changes: torch keeps compiled backward passes on disk, by the names of operators


if TYPE_CHECKING:
    from . import sparse as sparse  # noqa: F401  # pyright: ignore[reportUnusedImport]


def __dir__() -> list[str]:
    return [*__all__, "sparse"]


def __getattr__(name: str) -> Any:
    """sparse is imported when it is first used: it needs SciPy, and the rest does not."""
    if name == "sparse":
        return importlib.import_module("trifold.torch.sparse")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Factor(NamedTuple):
    """A factored, from factor(). A tuple of tensors: vmap and torch.compile pass it on."""

    D: Any
    E: Any
    value: Any  #: bytes; for this class alone

    def solve(self, b: Any) -> Any:
        """A^-1 b: (N, n) or (N, n, m), with the batch axis of D in front where D has one. Raises SpecError on shapes that do not fit."""
        D, E, b, back, _ = _fitting(self.D, self.E, b, None)
        return back(_solve(D, E, self.value, b))

    def forward(self, b: Any) -> Any:
        """y = L^-1 P b, where A is P' L L' P; the squares of y sum up to b' A^-1 b. It has derivatives with respect to b only."""
        _expect_definite(self.D, self.value)
        D, E, b, back, _ = _fitting(self.D, self.E, b, None)
        return back(_forward_sweep(D, E, self.value, b))

    def backward(self, y: Any) -> Any:
        """P' L^-T y: the solution where y is forward(b), a draw where y is standard normal. Derivatives as of forward()."""
        _expect_definite(self.D, self.value)
        D, E, y, back, _ = _fitting(self.D, self.E, y, None)
        return back(_backward_sweep(D, E, self.value, y))

    def sample(self, generator: Any = None, mean: Any = None, draws: int | None = None) -> Any:
        """mean + L^-T z, a draw of the Gaussian of precision A: (N, n), or (N, n, draws), with the batch axis of D in front.

        generator: a torch.Generator of D's device; by default torch's own. mean: (N, n), with the batch axis of D; 0 by default. It has
        derivatives with respect to the mean only.
        """
        if mean is not None:
            expect_tensor(mean, "mean")
        front = tuple(self.D.shape[:-1])
        z = normal(generator, shape_of(front, draws), str(self.D.dtype).split(".")[-1], "torch", self.D.device)
        return added(self.backward(z), mean, front)

    def __repr__(self) -> str:
        return f"<trifold.torch.Factor: D {tuple(self.D.shape)}, {self.D.dtype}, {self.D.device}>"

    def log_determinant(self) -> Any:
        """log |det A| in float64: () or (batch,)."""
        return _log_determinant(self.D, self.E, self.value)

    def quadratic(self, b: Any) -> Any:
        """b' A^-1 b for each right-hand side, in float64."""
        D, E, b, _, back_columns = _fitting(self.D, self.E, b, None)
        return back_columns(_products(b, _solve(D, E, self.value, b), D.dim()))

    def selected_inverse(self) -> tuple[Any, Any]:
        """(diagonal, lower): blocks (i, i) of A^-1, (N, n, n), and (i + 1, i), with E's shape."""
        return _selected_inverse(self.D, self.E, self.value)


@listed
def solve(
    D: Any,
    E: Any,
    b: Any,
    *,
    border: Any = None,
    ring: bool = False,
    lengths: Any = None,
    sizes: Any = None,
    bandwidth: int = 1,
    matrix: str = "positive-definite",
    check: bool | None = None,
    triangle: str = "both",
    upper: Any = None,
) -> Any:
    """A^-1 b, with the shape of b. Raises SpecError, NotPositiveDefinite, NearlySingular, OutOfRange.

    ring: E has N blocks, of which the last couples the last block to the first.

    border, a pair (F, C): A is [T F'; F C] with the chain T, and b has a tip, as trifold.solve() takes them. It is solved by parts, T and
    then C - F T^-1 F', so that all of this module's derivatives and transforms hold.

    lengths, (batch,), sizes, (N,) or (batch, N), and bandwidth, w, for which E is (N, w, n, n), are those of trifold.solve(). x and
    gradients are zero beyond lengths and sizes. Numbers that do not fit raise SpecError; on a GPU, and within vmap and compiled code,
    results of their members are NaN.

    upper, in the shape of E: blocks (i, i + 1) of a general matrix, of which all of D is read, as trifold.solve() takes it. Gradients of D
    are then those of all of its entries. Of the options ring and check go with it. torch.compile calls it as it is.

    matrix: "symmetric" where pivots may have both signs, as trifold.solve() takes it. It has no border.
    """
    if upper is not None:
        expect_general(ring, lengths, sizes, bandwidth, border, triangle)
        return general.solve(D, E, upper, b, flag(ring, "ring"), check)
    signs = _signs(matrix, border)
    if is_shaped(lengths, sizes, bandwidth):
        return _shaped(D, E, b, lengths, sizes, bandwidth, ring, border)(solve, matrix=matrix, check=check, triangle=triangle)
    if border is not None:
        return _bordered(D, E, b, border, ring, check, triangle).x
    D, E, b, back, _ = _fitting(D, E, b, ring)
    return back(_factor_solve(_counted(D, triangle), E, b, _checks(D, check), signs)[0])


def _signs(matrix: Any, border: Any = None) -> bool:
    if (signs := has_signs(matrix)) and border is not None:
        raise SpecError("a symmetric matrix with a border is not there yet; leave border or matrix out")
    return signs


def _shaped(D: Any, E: Any, b: Any, lengths: Any, sizes: Any, bandwidth: Any, ring: Any, border: Any = None) -> Call:
    given = {"D": D, "E": D if E is None else E, "b": D if b is None or border is not None else b}
    for name, tensor in given.items():
        expect_tensor(tensor, name)
    return shaped(D, E, b, lengths, sizes, bandwidth, ring, border)


def factor_and_solve(D: Any, E: Any, b: Any) -> tuple[Any, Factor]:
    D, E, b, back, _ = _fitting(D, E, b)
    x, value = _factor_solve(D, E, b, _checks(D, None), False)
    return back(x), Factor(D, E, value)


def _bordered(D: Any, E: Any, b: Any, border: Any, ring: bool, check: bool | None, triangle: str) -> Likelihood:
    def is_sound(S: Any, C: Any) -> Any:
        L, failed = torch.linalg.cholesky_ex(S.detach())
        if not _checks(D, check):
            return failed == 0
        if not _all(failed == 0):
            failures = [(member, D.shape[-3], row - 1) for member, row in enumerate(failed.reshape(-1).tolist()) if row > 0]
            message = (
                f"{len(failures)} of {failed.numel()} matrices are not positive definite: C - F T^-1 F' is not. Correct C, or add to it."
            )
            raise NotPositiveDefinite(message, failures)
        least = least_pivot(torch, L, C.detach()).values
        bound = PIVOT_EPSILONS * torch.finfo(S.dtype).eps
        if not _all(least >= bound):
            pivots = [(member, pivot) for member, pivot in enumerate(least.reshape(-1).tolist()) if pivot < bound]
            raise NearlySingular("C - F T^-1 F' is singular to the precision: anchor the parameters, or accept it by check=False", pivots)
        return failed == 0

    expect_tensor(D, "D")
    of_chain = factor(D, E, columns=1 + rows_of(border), ring=ring, check=check, triangle=triangle)
    return by_parts(torch, of_chain, border, b, is_sound)


def _all(condition: Any) -> bool:
    """Whether it holds, where that can be told: within vmap and compiled code a member that fails is NaN."""
    if torch.compiler.is_compiling():
        return True
    try:
        return bool(condition.all())
    except RuntimeError:
        return True


@listed
def likelihood(
    D: Any,
    E: Any,
    b: Any,
    *,
    border: Any = None,
    ring: bool = False,
    lengths: Any = None,
    sizes: Any = None,
    bandwidth: int = 1,
    matrix: str = "positive-definite",
    check: bool | None = None,
    triangle: str = "both",
) -> Likelihood:
    """(A^-1 b, log |det A|, b' A^-1 b) from one factorization. Arguments and errors are those of solve()."""
    signs = _signs(matrix, border)
    if is_shaped(lengths, sizes, bandwidth):
        return _shaped(D, E, b, lengths, sizes, bandwidth, ring, border)(likelihood, matrix=matrix, check=check, triangle=triangle)
    if border is not None:
        return _bordered(D, E, b, border, ring, check, triangle)
    D, E, b, back, back_columns = _fitting(D, E, b, ring)
    x, log_determinant, quadratic, _ = _likelihood(_counted(D, triangle), E, b, _checks(D, check), signs)
    return Likelihood(back(x), log_determinant, back_columns(quadratic))


@listed
def marginals(
    D: Any,
    E: Any,
    b: Any,
    *,
    ring: bool = False,
    lengths: Any = None,
    sizes: Any = None,
    bandwidth: int = 1,
    matrix: str = "positive-definite",
    check: bool | None = None,
    triangle: str = "both",
) -> Marginals:
    """(A^-1 b, log det A, b' A^-1 b, and the blocks of A^-1 in the places of those of D and E) from one factorization.

    The blocks are zero beyond lengths and sizes. Arguments and errors are those of solve(); there is no border.
    """
    if is_shaped(lengths, sizes, bandwidth):
        return _shaped(D, E, b, lengths, sizes, bandwidth, ring)(marginals, matrix=matrix, check=check, triangle=triangle)
    D, E, b, back, back_columns = _fitting(D, E, b, ring)
    x, log_determinant, quadratic, diagonal, lower, _ = _marginals(_counted(D, triangle), E, b, _checks(D, check), _signs(matrix))
    return Marginals(back(x), log_determinant, back_columns(quadratic), diagonal, lower)


@listed
def quadratic(D: Any, E: Any, b: Any, *, check: bool | None = None, triangle: str = "both") -> Any:
    """b' A^-1 b for each right-hand side, in float64: (), (m,), (batch,) or (batch, m). Raises what solve() does."""
    return likelihood(D, E, b, check=check, triangle=triangle).quadratic


@listed
def log_determinant(D: Any, E: Any, *, check: bool | None = None, triangle: str = "both") -> Any:
    """log det A in float64: () or (batch,). Raises what factor() does."""
    return factor(D, E, check=check, triangle=triangle).log_determinant()


@listed
def factor(
    D: Any,
    E: Any,
    *,
    columns: int = 1,
    ring: bool = False,
    lengths: Any = None,
    sizes: Any = None,
    bandwidth: int = 1,
    matrix: str = "positive-definite",
    check: bool | None = None,
    triangle: str = "both",
    upper: Any = None,
) -> Factor | ShapedFactor | Any:
    """Factors A, to solve with it again and again.

    columns: right-hand sides that are to be solved at once; more go in panels. The others are those of solve(). With lengths, sizes or a
    bandwidth it is a tuple of another type, with the same methods. With upper it is an object with solve(), solve_transposed() and
    log_determinant(). Raises SpecError, NotPositiveDefinite, NearlySingular.
    """
    if upper is not None:
        expect_general(ring, lengths, sizes, bandwidth, None, triangle)
        return general.factor(D, E, upper, columns, flag(ring, "ring"), check)
    if is_shaped(lengths, sizes, bandwidth):
        call = _shaped(D, E, None, lengths, sizes, bandwidth, ring)
        return call.factor(factor, columns=columns, matrix=matrix, check=check, triangle=triangle)
    D, E, *_ = _fitting(D, E, D, ring)
    if not hasattr(columns, "__index__"):
        raise SpecError(f"columns = {columns!r} is no whole number; give 1 or more")
    diagonal = _counted(D, triangle)
    return Factor(diagonal, E, _factor(diagonal, E, columns, _checks(D, check), _signs(matrix)))


def _has_signs(D: Any, value: Any) -> bool:
    """Whether pivots of a value have both signs: it then has one axis more."""
    return value.dim() == D.dim()


def _expect_definite(D: Any, value: Any) -> None:
    if _has_signs(D, value):
        raise SpecError(
            'forward(), backward() and sample() are for positive definite matrices here, not for matrix="symmetric"; see trifold.factor'
        )


@listed
def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, check: bool | None = None) -> Any:
    """x of a general tridiagonal A, as jax.lax.linalg.tridiagonal_solve has it, with gradients to all four.

    d: (..., m), the diagonal; dl and du, as d, below and above it: dl[..., 0] and du[..., m - 1] are not used. b: (..., m, n). Rows are not
    interchanged: a pivot of zero raises NotPositiveDefinite, and growth that leaves few digits NearlySingular.
    """
    return general.tridiagonal_solve(dl, d, du, b, check)


def _counted(D: Any, triangle: str) -> Any:
    """D, or the symmetric blocks that its lower triangles stand for."""
    return D.tril() + D.tril(-1).mT if lower_alone(triangle) else D


def _checks(D: Any, check: bool | None) -> bool:
    return D.is_cpu if check is None else bool(truth(check, "check"))


def _fitting(D: Any, E: Any, b: Any, ring: bool | None = False) -> Together:
    """Requires what vmap's rules rely on: tensors, with a batch axis in all or in none. The rest is checked where a call is made. E of as
    many blocks as D has is that of a ring, which None takes for granted."""
    try:
        dims, of_b = D.dim(), b.dim()
        same = E.dim() == dims and -1 <= of_b - dims <= 0 and b.shape[: dims - 1] == D.shape[: dims - 1]
        if same and (dims == 3 or (dims == 4 and E.shape[0] == D.shape[0])):
            expect_ring(D.shape, E.shape, ring)
            return Together(D, E, b, itself, itself)
    except AttributeError:
        pass
    fit = fitting(D, _coupling(D, E, b, ring), b)
    expect_ring(fit.D.shape, fit.E.shape, ring)
    *front, n = fit.D.shape[:-1]
    if fit.b.dim() - fit.D.dim() not in (-1, 0):
        raise SpecError(f"b has shape {tuple(fit.b.shape)}; give {(*front, n)}, or {(*front, n, 'm')} for m right-hand sides")
    return fit


def _coupling(D: Any, E: Any, b: Any, ring: bool | None) -> Any:
    """E, of no blocks where it is missing. Raises where the arrays do not fit."""
    if D is None:
        raise SpecError("D is missing; give (N, n, n), or (batch, N, n, n)")
    for name, array in (("D", D), ("E", D if E is None else E), ("b", b)):
        expect_tensor(array, name)
    if D.dim() not in (3, 4):
        raise SpecError(f"D has shape {tuple(D.shape)}; give (N, n, n), or (batch, N, n, n)")
    *front, horizon, n, _ = D.shape
    couplings = horizon if ring else horizon - 1
    if E is None and couplings > 0:
        raise SpecError(f"E is missing; give {(*front, couplings, n, n)}")
    if E is not None and E.dim() not in (3, 4):
        raise SpecError(f"E has shape {tuple(E.shape)}; give {(*front, couplings, n, n)}")
    return D.new_empty((*front, 0, n, n)) if E is None else E


# Plans and values


@functools.lru_cache(maxsize=256)
def _plan(shape: tuple[int, ...], columns: int, dtype: Any, device: Any, ring: bool, signs: bool) -> tuple[Plan, tuple[int, ...]]:
    """The Plan for D of that shape, and the shape of its values."""
    *front, horizon, _, n = shape
    members = front[0] if front else 1
    name = str(device).replace("cuda", "hip") if torch.version.hip else str(device)
    name = "cpu" if name == "meta" else name
    sizes: dict[str, Any] = {"block": n, "horizon": horizon, "batch": members, "rhs": columns}
    matrix = "symmetric" if signs else "positive-definite"
    plan = Plan(**sizes, dtype=dtype, device=name, operations="all", any_size=True, ring=ring, matrix=matrix)
    each = -(-plan.value_bytes // (64 * members * columns)) * 64
    return plan, (*front, each, columns, *((1,) if signs else ()))


def _sample(D: Any, columns: int, ring: bool, signs: bool) -> tuple[Plan, Any]:  # pyright: ignore[reportUnusedFunction]
    """The Plan for D, and a tensor with the shape of its values and the memory of one byte: binding/torch.cpp asks for them."""
    shape = D.shape
    if 0 in shape or shape[-1] != shape[-2]:
        raise SpecError(f"D has shape {tuple(shape)}; give (N, n, n), or (batch, N, n, n), with no axis of size 0")
    plan, of_value = _plan(shape, columns, D.dtype, D.device, ring, signs)
    return plan, torch.empty((), dtype=torch.uint8, device=D.device).expand(of_value)


def _columns(D: Any, b: Any) -> int:
    return min(int(b.shape[-1]), _MOST_COLUMNS) if b.dim() == D.dim() else 1


def _like(b: Any) -> Any:
    return torch.empty_like(b, memory_format=torch.contiguous_format)


def _products(b: Any, x: Any, dims: int) -> Any:
    """b' x for each right-hand side."""
    return torch.sum(b * x, (-3, -2) if b.dim() == dims else (-2, -1), dtype=torch.float64)


def _likelihood_of(D: Any, E: Any, b: Any, check: bool, signs: bool) -> tuple[Any, Any, Any, Any]:
    x, value = torch_factor_solve(D, E, b, check, signs)
    return x, torch_log_determinant(D, E, value), _products(b, x, D.dim()), value


def _marginals_of(D: Any, E: Any, b: Any, check: bool, signs: bool) -> tuple[Any, ...]:
    x, log_determinant, diagonal, lower, value = torch_marginals(D, E, b, check, signs)
    return x, log_determinant, _products(b, x, D.dim()), diagonal, lower, value


# Derivatives: those of D, E and b from arrays that were kept and the gradients of results, in the order of these names. Others are None.

_KEPT, _NEEDED = ("D", "E", "value", "x", "diagonal", "lower"), ("D", "E", "b")
_RESULTS = ("x", "log_determinant", "quadratic", "diagonal", "lower")


def _gradients(*given: Any) -> Any:
    D, E, value, x, diagonal, lower, by_x, by_log, by_quadratic, by_diagonal, by_lower, needs_D, needs_E, needs_b = given
    by_b = u = None  # u stands for w in the outer products
    if by_x is not None:
        by_b = u = _solve(D, E, value, by_x)
    if by_quadratic is not None:
        scaled = x * spread(by_quadratic, x, D.dim())
        by_b = _plus(by_b, 2 * scaled) if needs_b else None
        u = _plus(u, scaled)
    by_D = by_E = None
    if needs_D or needs_E:
        parts = [] if u is None else [outer_blocks(-u, x, x.dim() == D.dim(), D.shape[-3:-2] == E.shape[-3:-2])]
        if by_log is not None:
            inverse = _selected_inverse(D, E, value) if diagonal is None else (diagonal, lower)
            parts.append(of_log_determinant(inverse, by_log))
        if by_diagonal is not None or by_lower is not None:
            parts.append(_of_inverse(D, E, value, diagonal, by_diagonal, by_lower))
        for of_D, of_E in parts:
            by_D, by_E = (of_D, of_E) if by_D is None else (by_D + of_D, by_E + of_E)
    return None if by_D is None else by_D / 2, by_E, by_b


def _plus(total: Any, part: Any) -> Any:
    return part if total is None else total + part


def _no_gradients(*_: Any) -> Any:
    return None, None, None


def _by_adjoint(adjoint: Any) -> Any:
    """Makes the derivatives of forward and backward, which are linear in b, and each the transpose of the other."""

    def gradients(D: Any, E: Any, value: Any, *rest: Any) -> Any:
        by_x, needs_D, needs_E = rest[3], *rest[-3:-1]
        if needs_D or needs_E:
            raise SpecError(
                "forward(), backward() and sample() have no derivative with respect to D and E; factor D.detach() and E.detach()"
            )
        return None, None, None if by_x is None else adjoint()(D, E, value, by_x)

    return gradients


def _of_inverse(D: Any, E: Any, value: Any, inverse: Any, by_diagonal: Any, by_lower: Any) -> tuple[Any, Any]:
    """Twice the blocks of -A^-1 V A^-1, where V has the blocks of the gradients, symmetric. E stands for two blocks of A, with half of
    by_lower each. inverse: the diagonal blocks of A^-1, or None, for the size of their entries.
    """
    n, step = D.shape[-1], step_of_inverse(D.shape[-1], D.dtype)
    of_D = torch.zeros_like(D) if by_diagonal is None else (by_diagonal + by_diagonal.mT) / 2
    of_E = torch.zeros_like(E) if by_lower is None else by_lower / 2
    with torch.no_grad():
        size = (_selected_inverse(D, E, value)[0] if inverse is None else inverse).abs().amax((-3, -2, -1))
        largest = torch.cat((of_D, of_E), -3).abs().amax((-3, -2, -1)) * size
        e = (step / torch.where(largest == 0, 1, largest))[..., None, None, None]
    double = _doubled(D, e * of_D), _doubled(E, e * of_E)
    diagonal, lower = _selected_inverse(*double, _factor(*double, 1, False, _has_signs(D, value)))
    return 2 * diagonal[..., n:, :n] / e, 2 * lower[..., n:, :n] / e


def _doubled(blocks: Any, changes: Any) -> Any:
    return torch.cat((torch.cat((blocks, changes), -1), torch.cat((changes, blocks), -1)), -2)


# The operators, as torch.ops.trifold has them


def _picks(names: Sequence[str], found: Sequence[str]) -> Callable[[Any], Any]:
    """A function of values that are called ``found``, and None behind them: those of the names, in their order. What is not there is None.

    It runs in every call, so it is one of C.
    """
    places = [found.index(name) if name in found else len(found) for name in names]
    return operator.itemgetter(*places) if places else lambda values: ()


class _Operator:
    """An operator, with the rules for shapes, derivatives and batches that follow from the names of its arguments and results.

    Eager calls go around torch's dispatcher, which costs more than a small system does.
    """

    def __init__(self, name: str, run: Any, inputs: str, outputs: str, keep: str = "D E value", gradients: Any = _gradients) -> None:
        self._inputs, self._outputs = inputs.split(), outputs.split()
        saved = keep.split()
        save, given, single = _picks(saved, self._inputs + self._outputs), _picks(self._inputs, _NEEDED), len(self._outputs) == 1
        wanted = [*_KEPT, *map("by {}".format, _RESULTS), *map("needs {}".format, _NEEDED)]
        known = _picks(wanted, [*saved, *map("by {}".format, self._outputs), *map("needs {}".format, self._inputs)])

        def keep_arrays(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*save((*inputs, output) if single else (*inputs, *output)))

        def forward(ctx: Any, *arguments: Any) -> Any:
            """Both in one, for autograd.Function is slow where they are apart."""
            results = run(*arguments)
            keep_arrays(ctx, arguments, results)
            return results

        def back(ctx: Any, *by_results: Any) -> Any:
            of_all = gradients(*known((*ctx.saved_tensors, *by_results, *ctx.needs_input_grad, None)))
            return given((*of_all, None))

        types = {"columns": "int", "check": "bool", "signs": "bool"}
        arguments = ", ".join(f"{types.get(one, 'Tensor')} {one}" for one in self._inputs)
        schema = f"({arguments}) -> ({', '.join(['Tensor'] * len(self._outputs))})"
        name = f"{name}_{_RULES}"
        op = torch.library.custom_op(f"trifold::{name}", run, mutates_args=(), schema=schema)
        op.register_fake(self._fake)
        op.register_autograd(back, setup_context=keep_arrays)
        op.register_vmap(self._vmap)
        self.op = getattr(torch.ops.trifold, name).default
        transformed = _function(name, forward=self.op, setup_context=keep_arrays, backward=back, vmap=self._vmap)
        with_gradient = _function(name, forward=forward, backward=back)
        # In the order of torch_way's answers. Operators of Python are not differentiated by torch.func.
        self.ways = (self.op, transformed.apply, with_gradient.apply, run)

    def __call__(self, *arguments: Any) -> Any:
        if torch.compiler.is_compiling():
            return self.op(*arguments)
        return self.ways[torch_way(*arguments)](*arguments)

    def _given(self, results: list[Any]) -> Any:
        """Results as the operator gives them: a single one is no tuple."""
        return tuple(results) if len(results) > 1 else results[0]

    def _listed(self, results: Any) -> list[Any]:
        return list(results) if len(self._outputs) > 1 else [results]

    def _fake(self, *arguments: Any) -> Any:
        """The compiler is told their shapes alone."""
        given: dict[str, Any] = dict(zip(self._inputs, arguments))
        D, b = given["D"], given.get("b")

        def result(name: str) -> Any:
            if name == "value":
                return _fake_value(D, given["E"], given["columns"] if b is None else _columns(D, b), given["signs"])
            if name == "log_determinant":
                return D.new_empty(D.shape[:-3], dtype=torch.float64)
            if name == "quadratic":
                return _products(given["b"], given["b"], D.dim())
            return _like(given[{"x": "b", "diagonal": "D", "lower": "E"}[name]])

        return self._given(list(map(result, self._outputs)))

    def _vmap(self, info: Any, in_dims: Any, *arguments: Any) -> Any:
        """Members that are mapped are one batch. One A for mapped right-hand sides is one factor, and they are its columns."""
        at, size = dict(zip(self._inputs, in_dims)), info.batch_size
        dims = arguments[0].dim() - (at["D"] is not None)
        if all(at[name] is None for name in (("value",) if "value" in at else ("D", "E"))):
            return self._vmap_columns(size, at, dims, dict(zip(self._inputs, arguments)))

        def joined(array: Any, dim: int | None) -> Any:
            if not isinstance(array, torch.Tensor):
                return array
            array = array.expand(size, *array.shape) if dim is None else array.movedim(dim, 0)
            return array.flatten(0, 1) if dims == 4 else array

        results = self._listed(self(*map(joined, arguments, in_dims)))
        parts = [result.unflatten(0, (size, -1)) for result in results] if dims == 4 else results
        return self._given(parts), self._given([0] * len(parts))

    def _vmap_columns(self, size: int, at: dict[str, int | None], dims: int, given: dict[str, Any]) -> Any:
        for name in ("D", "E"):  # with a value nothing but their shapes is read
            given[name] = given[name] if at[name] is None else given[name].select(at[name], 0)
        has_columns, by_column = False, list[str]()
        if at.get("b") is not None:
            b, by_column = given["b"].movedim(at["b"], -1), ["x", "quadratic"]
            has_columns = b.dim() - 1 == dims
            given["b"] = b.flatten(-2, -1) if has_columns else b
        results, mapped = self._listed(self(*given.values())), list[int | None]()
        for k, name in enumerate(self._outputs):  # results of A alone have no right-hand sides
            mapped.append(0 if name in by_column else None)
            if name in by_column:
                results[k] = (results[k].unflatten(-1, (-1, size)) if has_columns else results[k]).movedim(-1, 0)
        return self._given(results), self._given(mapped)


def _fake_value(D: Any, E: Any, columns: int, signs: bool) -> Any:
    """A Plan is for one shape, so sizes that are symbols become numbers here."""
    shape = tuple(int(size) for size in D.shape)
    ring = int(E.shape[-3]) == shape[-3]
    return D.new_empty(_plan(shape, max(columns, 1), D.dtype, D.device, ring, signs)[1], dtype=torch.uint8)


def _function(name: str, **parts: Any) -> Any:
    members = {part: staticmethod(function) for part, function in parts.items()}
    return type(f"trifold_{name}", (torch.autograd.Function,), members)


_factor = _Operator("factor", torch_factor, "D E columns check signs", "value", "", _no_gradients)
_factor_solve = _Operator("factor_solve", torch_factor_solve, "D E b check signs", "x value", "D E value x")
_likelihood = _Operator("likelihood", _likelihood_of, "D E b check signs", "x log_determinant quadratic value", "D E value x")
_marginals = _Operator(
    "marginals", _marginals_of, "D E b check signs", "x log_determinant quadratic diagonal lower value", "D E value x diagonal lower"
)
_solve = _Operator("solve", torch_solve, "D E value b", "x", "D E value x")
_forward_sweep = _Operator("forward", torch_forward, "D E value b", "x", gradients=_by_adjoint(lambda: _backward_sweep))
_backward_sweep = _Operator("backward", torch_backward, "D E value b", "x", gradients=_by_adjoint(lambda: _forward_sweep))
_log_determinant = _Operator("log_determinant", torch_log_determinant, "D E value", "log_determinant")
_selected_inverse = _Operator("selected_inverse", torch_selected_inverse, "D E value", "diagonal lower")
