"""Trifold in JAX: functions that jit, grad, vmap and shard_map take, on processors and CUDA devices.

    x = trifold.jax.solve(D, E, b)
    f = trifold.jax.factor(D, E); f.solve(b), f.log_determinant(), f.quadratic(b), f.selected_inverse()

Derivatives of all orders, forward and backward, come from more solutions with the same factor. The gradient of D is symmetric, as those of
jnp.linalg.cholesky are. With triangle="lower" D counts as the lower triangles that are read: the gradient of an entry below the diagonal is
the sum of those of the two entries of A that it stands for, and above the diagonal it is 0.
vmap makes one launch of its batch, however deep it is nested; where only b is mapped there is one factor, and more right-hand sides.
A member that is not positive definite has results of NaN, for a compiled function cannot raise: look for them outside of it. So has one
that is nearly singular, whose results rounding decides, unless accept_nearly_singular is given. On a GPU it has what was computed, for
there only a look at trifold.factor(D, E).status tells.
Images are solved by trifold.jax.grid, other sparse matrices by trifold.jax.sparse. docs/users/python.md in the repository says more.
"""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _jax_primitives as _p
from ..arrays import ArrayLike, Marginals
from ..batches import fitting, fitting_factor, itself
from ..errors import SpecError
from ..options import lower_alone, truth, whole
from ..samples import added
from ..toolkit import load_nvrtc
from . import grid

_jax: Any = importlib.import_module("jax")
_jnp: Any = importlib.import_module("jax.numpy")

__all__ = [
    "Factor",
    "Likelihood",
    "Marginals",
    "block_tridiagonal_normal",
    "factor",
    "grid",
    "likelihood",
    "log_determinant",
    "marginals",
    "quadratic",
    "selected_inverse",
    "solve",
    "solve_rows",
]


_CANONICAL = 4  # axes of D: those of a batch of one at least

load_nvrtc()
_p.register()


if TYPE_CHECKING:
    from . import sparse as sparse  # noqa: F401  # pyright: ignore[reportUnusedImport]


def __dir__() -> list[str]:
    return [*__all__, "sparse"]


def __getattr__(name: str) -> Any:
    """sparse is imported when it is first used: it needs SciPy, and the rest does not."""
    if name == "sparse":
        return importlib.import_module("trifold.jax.sparse")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Likelihood(NamedTuple):
    """Result of likelihood()."""

    x: Any  #: A^-1 b, with the shape of b
    log_determinant: Any  #: log det A, by member
    quadratic: Any  #: b' A^-1 b, by member and right-hand side


def solve(D: ArrayLike, E: ArrayLike | None, b: ArrayLike, *, accept_nearly_singular: bool = False, triangle: str = "both") -> Any:
    """A^-1 b, where A has the blocks D on its diagonal and E below it.

    D: (N, n, n), of which only the lower triangles are read; E: (N - 1, n, n), block (i + 1, i) of A, or None when N is 1;
    b: (N, n), or (N, n, m) for m right-hand sides. All three may have one batch axis in front. float32 or float64, all the same.
    accept_nearly_singular: a matrix that is singular to the precision has results, and not NaN. triangle: "both" for gradients of D that
    are symmetric, "lower" for those of the lower triangles. Raises SpecError on what does not fit.
    """
    system, b = _read(D, E, triangle, b)
    return system.back(_factor_solve(system.D, system.E, system.columns(b), False, accept_nearly_singular)[1], b)


def solve_rows(S: ArrayLike, b: ArrayLike, *, accept_nearly_singular: bool = False) -> Any:
    """A^-1 b, where S has A's rows of blocks [A(i, i - 1), A(i, i), A(i, i + 1)], as TurboMPC has them.

    S: (N, n, 3 n), which is read where it is: of the diagonal blocks the lower triangles, and the blocks before them. b: (N, n), or
    (N, n, m) for m right-hand sides. Both may have one batch axis in front. It may stand where TurboMPC has cudss_ffi_solve. Gradients of S
    are those of a matrix of which every entry counts, as jnp.linalg.solve has them. Raises SpecError on what does not fit.
    """
    rows, right = _p.read_array(S, "S"), _p.read_array(b, "b")
    if rows.ndim not in (3, _CANONICAL) or rows.shape[-1] != 3 * rows.shape[-2] or 0 in rows.shape:
        raise SpecError(f"S has shape {rows.shape}; give (N, n, 3 n), or (batch, N, n, 3 n)")
    batched = rows.ndim == _CANONICAL
    given = rows if batched else rows[None]
    system = _System(given, given, batched)
    _, x = _factor_solve(given, given, system.columns(right), False, accept_nearly_singular)
    return system.back(x, right)


def factor(D: ArrayLike, E: ArrayLike | None, *, rhs: int = 1, accept_nearly_singular: bool = False, triangle: str = "both") -> Factor:
    """Factors A once, to go on with. rhs: how many right-hand sides solve() will mostly be given, those of vmap included."""
    system, rhs = _read(D, E, triangle)[0], whole(rhs, "rhs", 1)
    return Factor(_factor(system.D, system.E, rhs, accept_nearly_singular), system.D, system.E, system.batched)


def likelihood(
    D: ArrayLike, E: ArrayLike | None, b: ArrayLike, *, accept_nearly_singular: bool = False, triangle: str = "both"
) -> Likelihood:
    """A^-1 b, log det A and b' A^-1 b of one factorization.

    They are what a Gaussian of precision A and information b has: mean, normalization, and log likelihood. The gradient of the last two
    takes one selected inverse and no other solution.
    """
    system, b = _read(D, E, triangle, b)
    columns = system.columns(b)
    value, x = _factor_solve(system.D, system.E, columns, True, accept_nearly_singular)
    return Likelihood(
        system.back(x, b),
        system.alone(_log_determinant(value, system.D, system.E)),
        _quadratics(system, columns, x, b),
    )


def marginals(
    D: ArrayLike, E: ArrayLike | None, b: ArrayLike, *, accept_nearly_singular: bool = False, triangle: str = "both"
) -> Marginals:
    """A^-1 b, log det A, b' A^-1 b, and blocks (i, i) and (i + 1, i) of A^-1, of one factorization.

    It is one call of XLA's, so no factor is copied on the way. The gradient takes one more solution, and where one of the blocks counts
    what that of selected_inverse() takes.
    """
    system, b = _read(D, E, triangle, b)
    columns = system.columns(b)
    _, log_determinant, diagonal, lower, x = _marginals(system.D, system.E, columns, accept_nearly_singular)
    return Marginals(
        system.back(x, b),
        system.alone(log_determinant),
        _quadratics(system, columns, x, b),
        system.alone(diagonal),
        system.alone(lower),
    )


def block_tridiagonal_normal(J_diag: ArrayLike, J_lower: ArrayLike, h: ArrayLike, *, triangle: str = "both") -> tuple[Any, Any, Any, Any]:
    """(log normalizer, Ex, ExxT, ExxnT) of the Gaussian of density exp(-x' J x / 2 + h' x - log normalizer), as dynamax has them.

    J_diag: (T, D, D), the diagonal blocks of J; J_lower: (T - 1, D, D), those below; h: (T, D). All may have one batch axis in front. Ex is
    the mean, (T, D); ExxT has the second moments E[x(t) x(t)'], ExxnT those of neighbours, E[x(t + 1) x(t)']. It may stand where dynamax
    has block_tridiag_mvn_expectations, whose results these are. The gradient of the moments takes O(T), of marginals().
    """
    x, log_determinant, quadratic, diagonal, lower = marginals(J_diag, J_lower, h, triangle=triangle)
    if x.ndim != diagonal.ndim - 1:
        raise SpecError(f"h has shape {x.shape}; give {diagonal.shape[:-1]}")
    size = x.shape[-2] * x.shape[-1]
    log_normalizer = (quadratic - log_determinant + size * math.log(2 * math.pi)) / 2
    column, row = x[..., :, None], x[..., None, :]
    return (
        log_normalizer.astype(x.dtype),
        x,
        diagonal + column * row,
        lower + column[..., 1:, :, :] * row[..., :-1, :, :],
    )


def factor_and_solve(D: Any, E: Any, b: Any) -> tuple[Any, Factor]:
    system, b = _read(D, E, "both", b)
    value, x = _factor_solve(system.D, system.E, system.columns(b), True, False)
    return system.back(x, b), Factor(value, system.D, system.E, system.batched)


def log_determinant(D: ArrayLike, E: ArrayLike | None, *, accept_nearly_singular: bool = False, triangle: str = "both") -> Any:
    """log det A by member: float64, or float32 where JAX is without it."""
    return factor(D, E, accept_nearly_singular=accept_nearly_singular, triangle=triangle).log_determinant()


def quadratic(D: ArrayLike, E: ArrayLike | None, b: ArrayLike, *, accept_nearly_singular: bool = False, triangle: str = "both") -> Any:
    """b' A^-1 b for each right-hand side: float64, or float32 where JAX is without it. Its gradient takes no other solution."""
    system, b = _read(D, E, triangle, b)
    columns = system.columns(b)
    _, x = _factor_solve(system.D, system.E, columns, False, accept_nearly_singular)
    return _quadratics(system, columns, x, b)


def selected_inverse(D: ArrayLike, E: ArrayLike | None, *, accept_nearly_singular: bool = False, triangle: str = "both") -> tuple[Any, Any]:
    """(diagonal, lower): blocks (i, i) of A^-1, (N, n, n), and (i + 1, i), (N - 1, n, n).

    Its derivative is a selected inverse of blocks twice as large, forward and backward.
    """
    return factor(D, E, accept_nearly_singular=accept_nearly_singular, triangle=triangle).selected_inverse()


class Factor:
    """Result of factor(): a pytree, which may go into and out of compiled functions. With vmap only the whole batch may go on."""

    def __init__(self, value: Any, D: Any, E: Any, batched: bool) -> None:
        self.value, self.D, self.E, self.batched = value, D, E, batched

    def solve(self, b: ArrayLike) -> Any:
        """A^-1 b. b: (N, n) or (N, n, m), with the batch axis of D in front where D has one."""
        system, b = self._system(b)
        return system.back(_solve(self.value, self.D, self.E, system.columns(b)), b)

    def forward(self, b: ArrayLike) -> Any:
        """y = L^-1 P b, where A is P' L L' P; the squares of y sum up to b' A^-1 b. It has derivatives with respect to b only."""
        system, b = self._system(b)
        return system.back(_triangle(_p.forward_p, self.value, self.D, self.E, system.columns(b)), b)

    def backward(self, y: ArrayLike) -> Any:
        """P' L^-T y: the solution where y is forward(b), a draw where y is standard normal. Derivatives as of forward()."""
        system, y = self._system(y)
        return system.back(_triangle(_p.backward_p, self.value, self.D, self.E, system.columns(y)), y)

    def sample(self, key: Any, mean: ArrayLike | None = None, draws: int | None = None) -> Any:
        """mean + L^-T z, a draw of the Gaussian of precision A: (N, n), or (N, n, draws), with the batch axis of D in front.

        key: one of jax.random. mean: (N, n), with the batch axis of D; 0 by default. It has derivatives with respect to the mean only.
        """
        front = self.D.shape[:-1] if self.batched else self.D.shape[1:-1]
        shape = front if draws is None else (*front, whole(draws, "draws", 1))
        z = _jax.random.normal(key, shape, self.D.dtype)
        return added(self.backward(z), mean if mean is None else _p.read_array(mean, "mean"), front)

    def log_determinant(self) -> Any:
        """log det A by member."""
        return self._system()[0].alone(_log_determinant(self.value, self.D, self.E))

    def quadratic(self, b: ArrayLike) -> Any:
        """b' A^-1 b for each right-hand side."""
        system, b = self._system(b)
        columns = system.columns(b)
        x = _solve(self.value, self.D, self.E, columns)
        return _quadratics(system, columns, x, b)

    def selected_inverse(self) -> tuple[Any, Any]:
        """(diagonal, lower): blocks (i, i) and (i + 1, i) of A^-1."""
        system, _ = self._system()
        diagonal, lower = _selected_inverse(self.value, self.D, self.E)
        return system.alone(diagonal), system.alone(lower)

    def __repr__(self) -> str:
        batch = f"batch={self.D.shape[0]}, " if self.batched else "under vmap, " if self.D.ndim != _CANONICAL else ""
        return f"<trifold.jax.Factor: block={self.D.shape[-1]}, horizon={self.D.shape[-3]}, {batch}dtype={self.D.dtype}>"

    def _system(self, b: Any = None) -> tuple[_System, Any]:
        if self.D.ndim != _CANONICAL:
            raise SpecError(
                "this factor was made under vmap, as many members apart: use it under vmap, or factor the batch in one call without"
            )
        if b is None:
            return _System(self.D, self.E, self.batched), b
        inner = tuple(self.D.shape[1:3])
        b, *back = fitting_factor(inner, self.D.shape[0] if self.batched else None, _p.read_array(b, "b"))
        return _System(self.D, self.E, self.batched, *back), b


def _flatten(f: Factor) -> tuple[Any, Any]:
    return (f.value, f.D, f.E), f.batched


def _unflatten(batched: bool, children: Any) -> Factor:
    value, D, E = children
    return Factor(value, D, E, batched)


_jax.tree_util.register_pytree_node(Factor, _flatten, _unflatten)


class _System:
    """D and E with a batch axis, and b and results to and from such."""

    def __init__(self, D: Any, E: Any, batched: bool, of_solution: Any = itself, of_columns: Any = itself) -> None:
        self.D, self.E, self.batched, self.of_solution, self.of_columns = D, E, batched, of_solution, of_columns

    def columns(self, b: Any) -> Any:
        """b as (batch, N, n, m)."""
        alone = self.D.shape[:3] if self.batched else self.D.shape[1:3]
        if b is None:
            raise SpecError(f"b is None; give {alone}, or {(*alone, 'm')} for m right-hand sides")
        if b.shape[: len(alone)] != alone or b.ndim > len(alone) + 1 or 0 in b.shape:
            raise SpecError(f"b has shape {b.shape}; give {alone}, or {(*alone, 'm')} for m right-hand sides")
        if b.dtype != self.D.dtype:
            name = "S" if self.D is self.E else "D"
            raise SpecError(f"b is {b.dtype} and {name} {self.D.dtype}; give arrays of one type")
        return b.reshape(*self.D.shape[:3], -1)

    def back(self, x: Any, b: Any) -> Any:
        """A solution in the shape of b."""
        return self.of_solution(x.reshape(b.shape))

    def alone(self, result: Any) -> Any:
        """A result without the batch axis, where there was none."""
        return result if self.batched else result[0]


def _read(D: Any, E: Any, triangle: str, b: Any = None) -> tuple[_System, Any]:
    """The system, and b as its columns() takes it."""
    coupling, right = (array if array is None else _p.read_array(array, name) for array, name in ((E, "E"), (b, "b")))
    fit = fitting(_p.read_array(D, "D"), coupling, right)
    blocks, coupling = _read_matrix(fit.D, fit.E, triangle)
    if blocks.ndim == _CANONICAL:
        return _System(blocks, coupling, True, fit.back, fit.back_columns), fit.b
    return _System(blocks[None], coupling[None], False, fit.back, fit.back_columns), fit.b


def _read_matrix(blocks: Any, E: Any, triangle: str) -> tuple[Any, Any]:
    shape = blocks.shape
    if len(shape) not in (3, 4) or shape[-1] != shape[-2] or 0 in shape:
        raise SpecError(f"D has shape {shape}; give (N, n, n), or (batch, N, n, n)")
    below = (*shape[:-3], shape[-3] - 1, *shape[-2:])
    coupling = _jnp.zeros(below, blocks.dtype) if E is None and shape[-3] == 1 else _p.read_array(E, "E")
    if coupling.shape != below:
        raise SpecError(f"E has shape {coupling.shape}; give {below}, as D has {shape}")
    if coupling.dtype != blocks.dtype:
        raise SpecError(f"E is {coupling.dtype} and D {blocks.dtype}; give arrays of one type")
    return (_p.lower(blocks) if lower_alone(triangle) else blocks), coupling


def _drop_columns(result: Any, system: _System, b: Any) -> Any:
    return result if b.ndim == (4 if system.batched else 3) else result[:, 0]


def _quadratics(system: _System, columns: Any, x: Any, b: Any) -> Any:
    return system.of_columns(system.alone(_drop_columns(_form(system.D, system.E, columns, x), system, b)))


# On canonical arrays.


def _factor(D: Any, E: Any, rhs: int, accept: Any) -> Any:
    return _p.factor_p.bind(*_p.same_axes(D, E), rhs=rhs, inverse=True, accept=_accepts(accept))[0]


def _factor_solve(D: Any, E: Any, b: Any, inverse: bool, accept: Any) -> Any:
    return _p.factor_solve_p.bind(*_p.same_axes(D, E, b), inverse=inverse, accept=_accepts(accept))


def _marginals(D: Any, E: Any, b: Any, accept: Any) -> Any:
    return _p.marginals_p.bind(*_p.same_axes(D, E, b), inverse=True, accept=_accepts(accept))


def _accepts(accept: Any) -> bool:
    return bool(truth(accept, "accept_nearly_singular"))


def _solve(value: Any, D: Any, E: Any, b: Any) -> Any:
    return _p.solve_p.bind(*_p.same_axes(value, D, E, b), inverse=True)[0]


def _triangle(primitive: Any, value: Any, D: Any, E: Any, b: Any) -> Any:
    return primitive.bind(*_p.same_axes(value, D, E, b), inverse=True)[0]


def _log_determinant(value: Any, D: Any, E: Any) -> Any:
    return _p.log_determinant_p.bind(*_p.same_axes(value, D, E), inverse=True)[0]


def _selected_inverse(value: Any, D: Any, E: Any) -> Any:
    return _p.selected_inverse_p.bind(*_p.same_axes(value, D, E), inverse=True)


def _form_alone(D: Any, E: Any, b: Any, x: Any) -> Any:
    """b' x by column, where x solves A x = b: a function of D, E and b alone."""
    return _jnp.sum(b.astype(_p.real()) * x.astype(_p.real()), (1, 2))


def _form_jvp(primals: Any, tangents: Any) -> Any:
    D, E, b, x = primals
    dD, dE, db, _ = tangents
    return _form_alone(D, E, b, x), _form_alone(D, E, 2 * db - _p.times(dD, dE, x), x)


_form: Any = _jax.custom_jvp(_form_alone)
_form.defjvp(_form_jvp)
