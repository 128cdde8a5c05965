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
from .._torch_derivatives import Likelihood, of_log_determinant, outer_blocks, spread
from .._torch_ranks import Ranks as ranks
from ..arrays import Marginals
from ..batches import Together, fitting, itself
from ..errors import SpecError
from ..options import lower_alone, truth
from ..samples import added, normal, shape_of
from . import grid

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
]


torch: Any = importlib.import_module("torch")
_MOST_COLUMNS = 64  # right-hand sides that a Plan solves at once
_LARGEST_BLOCK = 1024
_SMALL = {torch.float64: 2.0**-100, torch.float32: 2.0**-40}  # their squares are far below the rounding
_RULES = 2  # goes up when a derivative changes: torch keeps compiled backward passes on disk, by the names of operators


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
        D, E, b, back, _ = _fitting(self.D, self.E, b)
        return back(_solve(D, E, self.value, b))

    def forward(self, b: Any) -> Any:
        """y = L^-1 P b, where A is P' L L' P; the squares of y sum up to b' A^-1 b. It has derivatives with respect to b only."""
        D, E, b, back, _ = _fitting(self.D, self.E, b)
        return back(_forward_sweep(D, E, self.value, b))

    def backward(self, y: Any) -> Any:
        """P' L^-T y: the solution where y is forward(b), a draw where y is standard normal. Derivatives as of forward()."""
        D, E, y, back, _ = _fitting(self.D, self.E, y)
        return back(_backward_sweep(D, E, self.value, y))

    def sample(self, generator: Any = None, mean: Any = None, draws: int | None = None) -> Any:
        """mean + L^-T z, a draw of the Gaussian of precision A: (N, n), or (N, n, draws), with the batch axis of D in front.

        generator: a torch.Generator of D's device; by default torch's own. mean: (N, n), with the batch axis of D; 0 by default. It has
        derivatives with respect to the mean only.
        """
        if mean is not None and not isinstance(mean, torch.Tensor):
            raise SpecError(f"mean is a {type(mean).__name__}; give a tensor")
        front = tuple(self.D.shape[:-1])
        z = normal(generator, shape_of(front, draws), str(self.D.dtype).split(".")[-1], "torch", self.D.device)
        return added(self.backward(z), mean, front)

    def __repr__(self) -> str:
        return f"<trifold.torch.Factor: D {tuple(self.D.shape)}, {self.D.dtype}, {self.D.device}>"

    def log_determinant(self) -> Any:
        """log det A in float64: () or (batch,)."""
        return _log_determinant(self.D, self.E, self.value)

    def quadratic(self, b: Any) -> Any:
        """b' A^-1 b for each right-hand side, in float64."""
        D, E, b, _, back_columns = _fitting(self.D, self.E, b)
        return back_columns(_products(b, _solve(D, E, self.value, b), D.dim()))

    def selected_inverse(self) -> tuple[Any, Any]:
        """(diagonal, lower): blocks (i, i) of A^-1, (N, n, n), and (i + 1, i), (N - 1, n, n)."""
        return _selected_inverse(self.D, self.E, self.value)


def solve(D: Any, E: Any, b: Any, *, check: bool | None = None, triangle: str = "both") -> Any:
    """A^-1 b, with the shape of b. Raises SpecError, NotPositiveDefinite, NearlySingular, OutOfRange."""
    D, E, b, back, _ = _fitting(D, E, b)
    return back(_factor_solve(_counted(D, triangle), E, b, _checks(D, check))[0])


def factor_and_solve(D: Any, E: Any, b: Any) -> tuple[Any, Factor]:
    D, E, b, back, _ = _fitting(D, E, b)
    x, value = _factor_solve(D, E, b, _checks(D, None))
    return back(x), Factor(D, E, value)


def likelihood(D: Any, E: Any, b: Any, *, check: bool | None = None, triangle: str = "both") -> Likelihood:
    """(A^-1 b, log det A, b' A^-1 b) from one factorization. Raises what solve() does."""
    D, E, b, back, back_columns = _fitting(D, E, b)
    x, log_determinant, quadratic, _ = _likelihood(_counted(D, triangle), E, b, _checks(D, check))
    return Likelihood(back(x), log_determinant, back_columns(quadratic))


def marginals(D: Any, E: Any, b: Any, *, check: bool | None = None, triangle: str = "both") -> Marginals:
    """(A^-1 b, log det A, b' A^-1 b, and the blocks (i, i) and (i + 1, i) of A^-1) from one factorization. Raises what solve() does."""
    D, E, b, back, back_columns = _fitting(D, E, b)
    x, log_determinant, quadratic, diagonal, lower, _ = _marginals(_counted(D, triangle), E, b, _checks(D, check))
    return Marginals(back(x), log_determinant, back_columns(quadratic), diagonal, lower)


def quadratic(D: Any, E: Any, b: Any, *, check: bool | None = None, triangle: str = "both") -> Any:
    """b' A^-1 b for each right-hand side, in float64: (), (m,), (batch,) or (batch, m). Raises what solve() does."""
    return likelihood(D, E, b, check=check, triangle=triangle).quadratic


def log_determinant(D: Any, E: Any, *, check: bool | None = None, triangle: str = "both") -> Any:
    """log det A in float64: () or (batch,). Raises what factor() does."""
    return factor(D, E, check=check, triangle=triangle).log_determinant()


def factor(D: Any, E: Any, *, columns: int = 1, check: bool | None = None, triangle: str = "both") -> Factor:
    """Factors A, to solve with it again and again.

    columns: right-hand sides that are to be solved at once; more go in panels. Raises SpecError, NotPositiveDefinite,
    NearlySingular.
    """
    D, E, *_ = _fitting(D, E, D)
    if not hasattr(columns, "__index__"):
        raise SpecError(f"columns = {columns!r} is no whole number; give 1 or more")
    diagonal = _counted(D, triangle)
    return Factor(diagonal, E, _factor(diagonal, E, columns, _checks(D, check)))


def _counted(D: Any, triangle: str) -> Any:
    """D, or the symmetric blocks that its lower triangles stand for."""
    return D.tril() + D.tril(-1).mT if lower_alone(triangle) else D


def _checks(D: Any, check: bool | None) -> bool:
    return D.is_cpu if check is None else bool(truth(check, "check"))


def _fitting(D: Any, E: Any, b: Any) -> Together:
    """Requires what vmap's rules rely on: tensors, with a batch axis in all or in none. The rest is checked where a call is made."""
    try:
        dims, of_b = D.dim(), b.dim()
        same = E.dim() == dims and -1 <= of_b - dims <= 0 and b.shape[: dims - 1] == D.shape[: dims - 1]
        if same and (dims == 3 or (dims == 4 and E.shape[0] == D.shape[0])):
            return Together(D, E, b, itself, itself)
    except AttributeError:
        pass
    coupling = _explain(D, E, b)
    fit = fitting(D, coupling, b)
    _expect_batch(fit.D, fit.b)
    return fit


def _explain(D: Any, E: Any, b: Any) -> Any:
    """E of no blocks where it is missing, or what does not fit."""
    if D is None:
        raise SpecError("D is missing; give (N, n, n), or (batch, N, n, n)")
    for name, array in (("D", D), ("E", E), ("b", b)):
        if not isinstance(array, torch.Tensor) and not (name == "E" and array is None):
            raise SpecError(f"{name} is a {type(array).__name__}; give a tensor")
    if D.dim() not in (3, 4):
        raise SpecError(f"D has shape {tuple(D.shape)}; give (N, n, n), or (batch, N, n, n)")
    *front, horizon, n, _ = D.shape
    if E is None and horizon != 1:
        raise SpecError(f"E is missing; give {(*front, horizon - 1, n, n)}")
    if E is not None and E.dim() not in (3, 4):
        raise SpecError(f"E has shape {tuple(E.shape)}; give {(*front, horizon - 1, n, n)}")
    return D.new_empty((*front, 0, n, n)) if E is None else E


def _expect_batch(D: Any, b: Any) -> None:
    *front, horizon, n, _ = D.shape
    if b.dim() - D.dim() not in (-1, 0):
        raise SpecError(f"b has shape {tuple(b.shape)}; give {(*front, horizon, n)}, or {(*front, horizon, n, 'm')} for m right-hand sides")


# Plans and values


@functools.lru_cache(maxsize=256)
def _plan(shape: tuple[int, ...], columns: int, dtype: Any, device: Any) -> tuple[Plan, tuple[int, ...]]:
    """The Plan for D of that shape, and the shape of its values."""
    *front, horizon, _, n = shape
    members = front[0] if front else 1
    name = str(device).replace("cuda", "hip") if torch.version.hip else str(device)
    name = "cpu" if name == "meta" else name
    plan = Plan(block=n, horizon=horizon, dtype=dtype, batch=members, rhs=columns, device=name, operations="all", any_size=True)
    each = -(-plan.value_bytes // (64 * members * columns)) * 64
    return plan, (*front, each, columns)


def _sample(D: Any, columns: int) -> tuple[Plan, Any]:  # pyright: ignore[reportUnusedFunction]
    """The Plan for D, and a tensor with the shape of its values and the memory of one byte: binding/torch.cpp asks for them."""
    shape = D.shape
    if 0 in shape or shape[-1] != shape[-2]:
        raise SpecError(f"D has shape {tuple(shape)}; give (N, n, n), or (batch, N, n, n), with no axis of size 0")
    plan, of_value = _plan(shape, columns, D.dtype, D.device)
    return plan, torch.empty((), dtype=torch.uint8, device=D.device).expand(of_value)


def _columns(D: Any, b: Any) -> int:
    return min(int(b.shape[-1]), _MOST_COLUMNS) if b.dim() == D.dim() else 1


def _like(b: Any) -> Any:
    return torch.empty_like(b, memory_format=torch.contiguous_format)


def _products(b: Any, x: Any, dims: int) -> Any:
    """b' x for each right-hand side."""
    return torch.sum(b * x, (-3, -2) if b.dim() == dims else (-2, -1), dtype=torch.float64)


def _likelihood_of(D: Any, E: Any, b: Any, check: bool) -> tuple[Any, Any, Any, Any]:
    x, value = torch_factor_solve(D, E, b, check)
    return x, torch_log_determinant(D, E, value), _products(b, x, D.dim()), value


def _marginals_of(D: Any, E: Any, b: Any, check: bool) -> tuple[Any, ...]:
    x, log_determinant, diagonal, lower, value = torch_marginals(D, E, b, check)
    return x, log_determinant, _products(b, x, D.dim()), diagonal, lower, value


# The compiler is told their shapes alone. A Plan is for one shape, so sizes that are symbols become numbers here.


def _fake_value(D: Any, columns: int) -> Any:
    shape = tuple(int(size) for size in D.shape)
    return D.new_empty(_plan(shape, max(columns, 1), D.dtype, D.device)[1], dtype=torch.uint8)


def _fake_factor(D: Any, E: Any, columns: int, check: bool) -> Any:
    return _fake_value(D, columns)


def _fake_factor_solve(D: Any, E: Any, b: Any, check: bool) -> tuple[Any, Any]:
    return _like(b), _fake_value(D, _columns(D, b))


def _fake_likelihood(D: Any, E: Any, b: Any, check: bool) -> tuple[Any, Any, Any, Any]:
    x, value = _fake_factor_solve(D, E, b, check)
    return x, _fake_log_determinant(D, E, value), _products(b, x, D.dim()), value


def _fake_marginals(D: Any, E: Any, b: Any, check: bool) -> tuple[Any, ...]:
    *first, value = _fake_likelihood(D, E, b, check)
    return *first, *_fake_selected_inverse(D, E, value), value


def _fake_solve(D: Any, E: Any, value: Any, b: Any) -> Any:
    return _like(b)


def _fake_log_determinant(D: Any, E: Any, value: Any) -> Any:
    return D.new_empty(D.shape[:-3], dtype=torch.float64)


def _fake_selected_inverse(D: Any, E: Any, value: Any) -> tuple[Any, Any]:
    return _like(D), _like(E)


# Derivatives


def _of_x(D: Any, E: Any, value: Any, b_needs: bool, x: Any, gx: Any, gq: Any) -> tuple[Any, Any]:
    """(gradient of b, what stands for w in the outer products) from the gradients of x and of b' x."""
    dims = D.dim()
    of_b = outer = None
    if gx is not None:
        of_b = outer = _solve(D, E, value, gx)
    if gq is not None:
        scaled = x * spread(gq, x, dims)
        of_b = 2 * scaled if of_b is None else of_b + 2 * scaled
        outer = scaled if outer is None else outer + scaled
    return (of_b if b_needs else None), outer


def _gradients(ctx: Any, gx: Any, gl: Any, gq: Any, inverse: Any = None, g_inverse: Any = (None, None)) -> tuple[Any, Any, Any, None]:
    """Gradients of D, E and b. inverse: the blocks of A^-1, where the forward pass has made them, and g_inverse their gradients."""
    D, E, value, x = ctx.saved_tensors[:4]
    needs_D, needs_E, needs_b = ctx.needs_input_grad[:3]
    gb, u = _of_x(D, E, value, needs_b, x, gx, gq)
    if not (needs_D or needs_E):
        return None, None, gb, None
    parts = [] if u is None else [outer_blocks(-u, x, x.dim() == D.dim())]
    if gl is not None:
        parts.append(of_log_determinant(inverse or _selected_inverse(D, E, value), gl))
    if any(g is not None for g in g_inverse):
        diagonal, lower = _of_inverse(D, E, inverse, *g_inverse)
        parts.append((2 * diagonal, lower))
    gD = gE = None
    for diagonal, lower in parts:
        gD, gE = (diagonal, lower) if gD is None else (gD + diagonal, gE + lower)
    return None if gD is None else gD / 2, gE, gb, None


def _keep(ctx: Any, *arrays: Any) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*arrays)


def _keep_first(ctx: Any, inputs: Any, output: Any) -> None:
    """Saves the arrays of factor_solve and likelihood."""
    D, E = inputs[:2]
    _keep(ctx, D, E, output[-1], output[0])


def _keep_marginals(ctx: Any, inputs: Any, output: Any) -> None:
    _keep(ctx, *inputs[:2], output[-1], output[0], *output[3:5])


def _keep_solve(ctx: Any, inputs: Any, output: Any) -> None:
    _keep(ctx, *inputs[:3], output)


def _keep_inputs(ctx: Any, inputs: Any, output: Any) -> None:
    _keep(ctx, *inputs[:3])


def _keep_none(ctx: Any, inputs: Any, output: Any) -> None:
    return None


def _back_factor(ctx: Any, *_: Any) -> tuple[None, None, None, None]:
    return None, None, None, None


def _back_factor_solve(ctx: Any, gx: Any, _: Any) -> Any:
    return _gradients(ctx, gx, None, None)


def _back_likelihood(ctx: Any, gx: Any, gl: Any, gq: Any, _: Any) -> Any:
    return _gradients(ctx, gx, gl, gq)


def _back_marginals(ctx: Any, gx: Any, gl: Any, gq: Any, g_diagonal: Any, g_lower: Any, _: Any) -> Any:
    return _gradients(ctx, gx, gl, gq, tuple(ctx.saved_tensors[4:]), (g_diagonal, g_lower))


def _back_solve(ctx: Any, gx: Any) -> Any:
    D, E, value, x = ctx.saved_tensors
    needs_D, needs_E, _, needs_b = ctx.needs_input_grad
    if gx is None:
        return None, None, None, None
    gb, u = _of_x(D, E, value, needs_b, x, gx, None)
    if not (needs_D or needs_E):
        return None, None, None, gb
    diagonal, gE = outer_blocks(-u, x, x.dim() == D.dim())
    return diagonal / 2, gE, None, gb


def _back_triangle(adjoint: Any) -> Any:
    """Makes the derivatives of forward and backward, which are linear in b, and each the transpose of the other."""

    def back(ctx: Any, g: Any) -> Any:
        if any(ctx.needs_input_grad[:2]):
            raise SpecError(
                "forward(), backward() and sample() have no derivative with respect to D and E; factor D.detach() and E.detach()"
            )
        return None, None, None, None if g is None else adjoint()(*ctx.saved_tensors, g)

    return back


def _back_log_determinant(ctx: Any, gl: Any) -> Any:
    if gl is None:
        return None, None, None
    D, E, value = ctx.saved_tensors
    diagonal, lower = of_log_determinant(_selected_inverse(D, E, value), gl)
    return diagonal / 2, lower, None


def _back_selected_inverse(ctx: Any, g_diagonal: Any, g_lower: Any) -> Any:
    if g_diagonal is None and g_lower is None:
        return None, None, None
    D, E, value = ctx.saved_tensors
    with torch.no_grad():
        inverse = _selected_inverse(D, E, value)
    return *_of_inverse(D, E, inverse, g_diagonal, g_lower), None


def _of_inverse(D: Any, E: Any, inverse: tuple[Any, Any], g_diagonal: Any, g_lower: Any) -> tuple[Any, Any]:
    """The blocks of -A^-1 V A^-1, where V has the blocks of the gradients, symmetric. E stands for two blocks of A, with half of g_lower
    each.

    The matrix [[A, e V], [e V, A]] has them in its inverse, times e, off the diagonal. All that is computed there is odd in e, so it has
    no rounding of anything larger. Terms of e^3 are below the rounding. inverse: for the size of its entries.
    """
    n = D.shape[-1]
    if 2 * n > _LARGEST_BLOCK:
        raise SpecError(f"D has blocks of {n}; derivatives of the selected inverse take blocks of at most {_LARGEST_BLOCK // 2}")
    of_D = torch.zeros_like(D) if g_diagonal is None else (g_diagonal + g_diagonal.mT) / 2
    of_E = torch.zeros_like(E) if g_lower is None else g_lower / 2
    with torch.no_grad():
        size = inverse[0].diagonal(0, -2, -1).amax((-2, -1))
        largest = torch.cat((of_D, of_E), -3).abs().amax((-3, -2, -1)) * size
        e = (_SMALL[D.dtype] / torch.where(largest == 0, 1, largest))[..., None, None, None]
    double = _doubled(D, e * of_D), _doubled(E, e * of_E)
    diagonal, lower = _selected_inverse(*double, _factor(*double, 1, False))
    return diagonal[..., n:, :n] / e, 2 * lower[..., n:, :n] / e


def _doubled(blocks: Any, changes: Any) -> Any:
    return torch.cat((torch.cat((blocks, changes), -1), torch.cat((changes, blocks), -1)), -2)


# vmap. Members that are mapped are one batch. One A for mapped right-hand sides is one factor, and they are its columns.


class _Members:
    """Mapped arrays as members of one batch, and results the other way."""

    def __init__(self, size: int, batched: bool) -> None:
        self.size, self.batched = size, batched

    def join(self, array: Any, dim: int | None) -> Any:
        array = array.expand(self.size, *array.shape) if dim is None else array.movedim(dim, 0)
        return array.flatten(0, 1) if self.batched else array

    def part(self, array: Any) -> Any:
        return array.unflatten(0, (self.size, -1)) if self.batched else array


def _dims(array: Any, dim: int | None) -> int:
    return array.dim() - (dim is not None)


def _as_columns(b: Any, dim: int, columns: bool) -> Any:
    b = b.movedim(dim, -1)
    return b.flatten(-2, -1) if columns else b


def _from_columns(x: Any, size: int, columns: bool) -> Any:
    return (x.unflatten(-1, (-1, size)) if columns else x).movedim(-1, 0)


def _vmap_factor(info: Any, in_dims: Any, D: Any, E: Any, columns: int, check: bool) -> Any:
    members = _Members(info.batch_size, _dims(D, in_dims[0]) == 4)
    value = _factor(members.join(D, in_dims[0]), members.join(E, in_dims[1]), columns, check)
    return members.part(value), 0


def _vmap_along(op: Any, info: Any, in_dims: Any, D: Any, E: Any, b: Any, check: bool) -> Any:
    """Batches factor_solve, likelihood and marginals."""
    of_D, of_E, of_b = in_dims[:3]
    dims = _dims(D, of_D)
    if of_D is None and of_E is None:
        columns = _dims(b, of_b) == dims
        results = list(op(D, E, _as_columns(b, of_b, columns), check))
        mapped: list[int | None] = [None] * len(results)
        for k in (0, 2) if len(results) > 2 else (0,):  # x and the quadratic have right-hand sides; what is of A alone has none
            results[k], mapped[k] = _from_columns(results[k], info.batch_size, columns), 0
        return tuple(results), tuple(mapped)
    members = _Members(info.batch_size, dims == 4)
    results = op(*(members.join(array, dim) for array, dim in zip((D, E, b), in_dims)), check)
    return tuple(members.part(result) for result in results), (0,) * len(results)


def _vmap_factor_solve(info: Any, in_dims: Any, D: Any, E: Any, b: Any, check: bool) -> Any:
    return _vmap_along(_factor_solve, info, in_dims, D, E, b, check)


def _vmap_likelihood(info: Any, in_dims: Any, D: Any, E: Any, b: Any, check: bool) -> Any:
    return _vmap_along(_likelihood, info, in_dims, D, E, b, check)


def _vmap_marginals(info: Any, in_dims: Any, D: Any, E: Any, b: Any, check: bool) -> Any:
    return _vmap_along(_marginals, info, in_dims, D, E, b, check)


def _one(array: Any, dim: int | None) -> Any:
    return array if dim is None else array.select(dim, 0)


def _vmap_sweep(sweep: Any) -> Any:
    def rule(info: Any, in_dims: Any, D: Any, E: Any, value: Any, b: Any) -> Any:
        of_D, of_E, of_value, of_b = in_dims
        dims = _dims(D, of_D)
        if of_value is None:  # one factor; nothing but the shapes of D and E is read
            one = _one(D, of_D), _one(E, of_E), value
            if of_b is None:
                return sweep()(*one, b), None
            columns = _dims(b, of_b) == dims
            return _from_columns(sweep()(*one, _as_columns(b, of_b, columns)), info.batch_size, columns), 0
        members = _Members(info.batch_size, dims == 4)
        x = sweep()(*(members.join(array, dim) for array, dim in zip((D, E, value, b), in_dims)))
        return members.part(x), 0

    return rule


def _vmap_of_value(op: Any, info: Any, in_dims: Any, D: Any, E: Any, value: Any) -> list[Any]:
    members = _Members(info.batch_size, _dims(D, in_dims[0]) == 4)
    results: Any = op(*(members.join(array, dim) for array, dim in zip((D, E, value), in_dims)))
    return [members.part(result) for result in (results if op is _selected_inverse else (results,))]


def _vmap_log_determinant(info: Any, in_dims: Any, D: Any, E: Any, value: Any) -> Any:
    if in_dims[2] is None:
        return _log_determinant(_one(D, in_dims[0]), _one(E, in_dims[1]), value), None
    return _vmap_of_value(_log_determinant, info, in_dims, D, E, value)[0], 0


def _vmap_selected_inverse(info: Any, in_dims: Any, D: Any, E: Any, value: Any) -> Any:
    if in_dims[2] is None:
        return _selected_inverse(_one(D, in_dims[0]), _one(E, in_dims[1]), value), (None, None)
    return tuple(_vmap_of_value(_selected_inverse, info, in_dims, D, E, value)), (0, 0)


# The operators, as torch.ops.trifold has them


class _Operator:
    """An operator. Eager calls go around torch's dispatcher, which costs more than a small system does."""

    def __init__(self, name: str, schema: str, run: Any, fake: Any, keep: Any, back: Any, vmap: Any) -> None:
        name = f"{name}_{_RULES}"
        op = torch.library.custom_op(f"trifold::{name}", run, mutates_args=(), schema=schema)
        op.register_fake(fake)
        op.register_autograd(back, setup_context=keep)
        op.register_vmap(vmap)
        self.op = getattr(torch.ops.trifold, name).default
        transformed = _function(name, forward=self.op, setup_context=keep, backward=back, vmap=vmap)
        with_gradient = _function(name, forward=_forward(run, keep), backward=back)
        # In the order of torch_way's answers. Operators of Python are not differentiated by torch.func.
        self.ways = (self.op, transformed.apply, with_gradient.apply, run)

    def __call__(self, *arguments: Any) -> Any:
        if torch.compiler.is_compiling():
            return self.op(*arguments)
        return self.ways[torch_way(*arguments)](*arguments)


def _function(name: str, **parts: Any) -> Any:
    members = {part: staticmethod(function) for part, function in parts.items()}
    return type(f"trifold_{name}", (torch.autograd.Function,), members)


def _forward(run: Any, keep: Any) -> Any:
    """Both in one, for autograd.Function is slow where they are apart."""

    def forward(ctx: Any, *arguments: Any) -> Any:
        results = run(*arguments)
        keep(ctx, arguments, results)
        return results

    return forward


_factor = _Operator(
    "factor",
    "(Tensor D, Tensor E, int columns, bool check) -> Tensor",
    torch_factor,
    _fake_factor,
    _keep_none,
    _back_factor,
    _vmap_factor,
)
_factor_solve = _Operator(
    "factor_solve",
    "(Tensor D, Tensor E, Tensor b, bool check) -> (Tensor, Tensor)",
    torch_factor_solve,
    _fake_factor_solve,
    _keep_first,
    _back_factor_solve,
    _vmap_factor_solve,
)
_likelihood = _Operator(
    "likelihood",
    "(Tensor D, Tensor E, Tensor b, bool check) -> (Tensor, Tensor, Tensor, Tensor)",
    _likelihood_of,
    _fake_likelihood,
    _keep_first,
    _back_likelihood,
    _vmap_likelihood,
)
_marginals = _Operator(
    "marginals",
    "(Tensor D, Tensor E, Tensor b, bool check) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    _marginals_of,
    _fake_marginals,
    _keep_marginals,
    _back_marginals,
    _vmap_marginals,
)
_solve = _Operator(
    "solve",
    "(Tensor D, Tensor E, Tensor value, Tensor b) -> Tensor",
    torch_solve,
    _fake_solve,
    _keep_solve,
    _back_solve,
    _vmap_sweep(lambda: _solve),
)
_forward_sweep = _Operator(
    "forward",
    "(Tensor D, Tensor E, Tensor value, Tensor b) -> Tensor",
    torch_forward,
    _fake_solve,
    _keep_inputs,
    _back_triangle(lambda: _backward_sweep),
    _vmap_sweep(lambda: _forward_sweep),
)
_backward_sweep = _Operator(
    "backward",
    "(Tensor D, Tensor E, Tensor value, Tensor b) -> Tensor",
    torch_backward,
    _fake_solve,
    _keep_inputs,
    _back_triangle(lambda: _forward_sweep),
    _vmap_sweep(lambda: _backward_sweep),
)
_log_determinant = _Operator(
    "log_determinant",
    "(Tensor D, Tensor E, Tensor value) -> Tensor",
    torch_log_determinant,
    _fake_log_determinant,
    _keep_inputs,
    _back_log_determinant,
    _vmap_log_determinant,
)
_selected_inverse = _Operator(
    "selected_inverse",
    "(Tensor D, Tensor E, Tensor value) -> (Tensor, Tensor)",
    torch_selected_inverse,
    _fake_selected_inverse,
    _keep_inputs,
    _back_selected_inverse,
    _vmap_selected_inverse,
)
