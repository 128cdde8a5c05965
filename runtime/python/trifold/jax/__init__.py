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
Images are solved by trifold.jax.grid, other sparse matrices by trifold.jax.sparse. docs/users/jax.md in the repository says more.
"""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _jax_primitives as _p
from ..arrays import ArrayLike, Likelihood, Marginals
from ..batches import fitting, fitting_factor, itself
from ..bordered import PIVOT_EPSILONS, by_parts, is_pair, least_pivot, rows_of
from ..errors import SpecError
from ..matrices import expect_general
from ..options import flag, has_signs, listed, lower_alone, truth, whole
from ..samples import added, shape_of
from ..shapes import Call, ShapedFactor, is_shaped, shaped
from ..symmetry import blocks_agree
from ..toolkit import load_nvrtc
from . import general, grid

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
    "tridiagonal_solve",
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


@listed
def solve(
    D: ArrayLike,
    E: ArrayLike | None,
    b: ArrayLike,
    *,
    border: Any = None,
    ring: bool = False,
    lengths: Any = None,
    sizes: Any = None,
    bandwidth: int = 1,
    matrix: str = "positive-definite",
    accept_nearly_singular: bool = False,
    triangle: str = "both",
    check_symmetry: bool = False,
    upper: ArrayLike | None = None,
) -> Any:
    """A^-1 b, where A has the blocks D on its diagonal and E below it.

    D: (N, n, n), of which only the lower triangles are read; E: (N - 1, n, n), block (i + 1, i) of A, or None when N is 1;
    b: (N, n), or (N, n, m) for m right-hand sides. All three may have one batch axis in front. float32 or float64, all the same.
    accept_nearly_singular: a matrix that is singular to the precision has results, and not NaN. triangle: "both" for gradients of D that
    are symmetric, "lower" for those of the lower triangles. check_symmetry: the upper triangles of D are looked at too. Where they differ
    from the lower ones by more than rounding it raises SpecError; within jit, grad and vmap that member is NaN. Raises SpecError on what
    does not fit.

    border, a pair (F, C): A is [T F'; F C] with the chain T, and b has a tip, as trifold.solve() takes them. It is solved by parts, T and
    then C - F T^-1 F', so that all of this module's derivatives and transforms hold. ring: E has N blocks, of which the last couples the
    last block to the first.

    lengths, (batch,), sizes, (N,) or (batch, N), and bandwidth, w, for which E is (N, w, n, n), are those of trifold.solve(). x and
    gradients are zero beyond lengths and sizes. Numbers that do not fit raise SpecError; where they are traced, or on a GPU, results of
    their members are NaN.

    upper, in the shape of E: blocks (i, i + 1) of a general matrix, of which all of D is read, as trifold.solve() takes it. Gradients of D
    are then those of all of its entries. Of the options ring and accept_nearly_singular go with it.

    matrix: "symmetric" where pivots may have both signs, as trifold.solve() takes it. It has no border.
    """
    if upper is not None:
        expect_general(ring, lengths, sizes, bandwidth, border, triangle)
        return general.solve(D, E, upper, b, flag(ring, "ring"), _accepts(accept_nearly_singular))
    signs = _signs(matrix, border)
    if is_shaped(lengths, sizes, bandwidth):
        call = _shaped(D, E, b, lengths, sizes, bandwidth, ring, border)
        return call(solve, matrix=matrix, accept_nearly_singular=accept_nearly_singular, triangle=triangle, check_symmetry=check_symmetry)
    if border is not None:
        options = {"triangle": triangle, "check_symmetry": check_symmetry, "ring": ring}
        return _bordered(D, E, b, border, accept_nearly_singular=accept_nearly_singular, **options).x
    system = _read(D, E, triangle, b, check_symmetry=check_symmetry, ring=ring)
    return system.solution(system.factor_solve(False, accept_nearly_singular, signs)[1])


def _signs(matrix: Any, border: Any = None) -> bool:
    if (signs := has_signs(matrix)) and border is not None:
        raise SpecError("a symmetric matrix with a border is not there yet; leave border or matrix out")
    return signs


@listed
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
    system = _with_b(given, given, batched, right, name="S")
    return system.solution(system.factor_solve(False, accept_nearly_singular)[1])


@listed
def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, accept_nearly_singular: bool = False) -> Any:
    """x of a general tridiagonal A, with the arguments of jax.lax.linalg.tridiagonal_solve, in whose place it may stand.

    d: (..., m), the diagonal; dl and du, as d, below and above it: dl[..., 0] and du[..., m - 1] are not used. b: (..., m, n). Rows are not
    interchanged: a member with a pivot of zero, or with growth that leaves few digits, is NaN.
    """
    return general.tridiagonal_solve(dl, d, du, b, _accepts(accept_nearly_singular))


@listed
def factor(
    D: ArrayLike,
    E: ArrayLike | None,
    *,
    rhs: int = 1,
    ring: bool = False,
    lengths: Any = None,
    sizes: Any = None,
    bandwidth: int = 1,
    matrix: str = "positive-definite",
    accept_nearly_singular: bool = False,
    triangle: str = "both",
    check_symmetry: bool = False,
    upper: ArrayLike | None = None,
) -> Factor | ShapedFactor | Any:
    """Factors A once, to go on with. rhs: how many right-hand sides solve() will mostly be given, those of vmap included.

    The other options are those of solve(). With lengths, sizes or a bandwidth it is a pytree of another type, with the same methods; with
    upper one with solve(), solve_transposed() and log_determinant().
    """
    if upper is not None:
        expect_general(ring, lengths, sizes, bandwidth, None, triangle)
        return general.factor(D, E, upper, whole(rhs, "rhs", 1), flag(ring, "ring"), _accepts(accept_nearly_singular))
    if is_shaped(lengths, sizes, bandwidth):
        options = {"accept_nearly_singular": accept_nearly_singular, "triangle": triangle, "check_symmetry": check_symmetry}
        return _shaped(D, E, None, lengths, sizes, bandwidth, ring).factor(factor, rhs=rhs, matrix=matrix, **options)
    system, rhs = _read(D, E, triangle, check_symmetry=check_symmetry, ring=ring), whole(rhs, "rhs", 1)
    signs, accept = _signs(matrix), _accepts(accept_nearly_singular)
    (value,) = _p.call(_p.factor_p, system.D, system.E, rhs=rhs, inverse=True, accept=accept, signs=signs)
    return Factor(value, system.D, system.E, system.batched)


def _bordered(D: Any, E: Any, b: Any, border: Any, *, accept_nearly_singular: bool, **options: Any) -> Likelihood:
    of_chain = factor(D, E, rhs=1 + rows_of(border), accept_nearly_singular=accept_nearly_singular, **options)
    F, C = (_p.read_array(array, name) for array, name in zip(border, ("F of border", "C of border")))

    def is_sound(S: Any, C: Any) -> Any:
        least = least_pivot(_jnp, _jnp.linalg.cholesky(_jax.lax.stop_gradient(S)), _jax.lax.stop_gradient(C))
        return least > (0 if accept_nearly_singular else PIVOT_EPSILONS * _jnp.finfo(S.dtype).eps)

    return by_parts(_jnp, of_chain, (F, C), b, is_sound)


def _shaped(D: Any, E: Any, b: Any, lengths: Any, sizes: Any, bandwidth: Any, ring: Any, border: Any = None) -> Call:
    read, F_and_C = _p.read_array, border
    if border is not None:
        rows_of(border)
        F_and_C = read(border[0], "F of border"), read(border[1], "C of border")
    has_tip = border is not None and is_pair(b) and hasattr(b[0], "ndim")
    given = tuple(read(part, "b") for part in b) if has_tip else None if b is None else read(b, "b")
    return shaped(read(D, "D"), None if E is None else read(E, "E"), given, lengths, sizes, bandwidth, ring, F_and_C)


@listed
def likelihood(
    D: ArrayLike,
    E: ArrayLike | None,
    b: ArrayLike,
    *,
    border: Any = None,
    ring: bool = False,
    lengths: Any = None,
    sizes: Any = None,
    bandwidth: int = 1,
    matrix: str = "positive-definite",
    accept_nearly_singular: bool = False,
    triangle: str = "both",
) -> Likelihood:
    """A^-1 b, log det A and b' A^-1 b of one factorization.

    They are what a Gaussian of precision A and information b has: mean, normalization, and log likelihood. The gradient of the last two
    takes one selected inverse and no other solution. Arguments are those of solve().
    """
    signs = _signs(matrix, border)
    if is_shaped(lengths, sizes, bandwidth):
        call = _shaped(D, E, b, lengths, sizes, bandwidth, ring, border)
        return call(likelihood, matrix=matrix, accept_nearly_singular=accept_nearly_singular, triangle=triangle)
    if border is not None:
        return _bordered(D, E, b, border, ring=ring, accept_nearly_singular=accept_nearly_singular, triangle=triangle)
    system = _read(D, E, triangle, b, ring=ring)
    value, x = system.factor_solve(True, accept_nearly_singular, signs)
    return Likelihood(system.solution(x), system.of_value(_p.log_determinant_p, value)[0], system.quadratic(x))


@listed
def marginals(
    D: ArrayLike,
    E: ArrayLike | None,
    b: ArrayLike,
    *,
    ring: bool = False,
    lengths: Any = None,
    sizes: Any = None,
    bandwidth: int = 1,
    matrix: str = "positive-definite",
    accept_nearly_singular: bool = False,
    triangle: str = "both",
) -> Marginals:
    """A^-1 b, log det A, b' A^-1 b, and the blocks of A^-1 in the places of those of D and E, of one factorization.

    It is one call of XLA's, so no factor is copied on the way. The gradient takes one more solution, and where one of the blocks counts
    what that of selected_inverse() takes. Arguments are those of solve(); the blocks are zero beyond lengths and sizes.
    """
    if is_shaped(lengths, sizes, bandwidth):
        call = _shaped(D, E, b, lengths, sizes, bandwidth, ring)
        return call(marginals, matrix=matrix, accept_nearly_singular=accept_nearly_singular, triangle=triangle)
    system = _read(D, E, triangle, b, ring=ring)
    accept = _accepts(accept_nearly_singular)
    _, *of_A, x = _p.call(_p.marginals_p, system.D, system.E, system.b, inverse=True, accept=accept, signs=_signs(matrix))
    log_determinant, diagonal, lower = map(system.alone, of_A)
    return Marginals(system.solution(x), log_determinant, system.quadratic(x), diagonal, lower)


@listed
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
    system = _read(D, E, "both", b)
    value, x = system.factor_solve(True, False)
    return system.solution(x), Factor(value, system.D, system.E, system.batched)


@listed
def log_determinant(D: ArrayLike, E: ArrayLike | None, *, accept_nearly_singular: bool = False, triangle: str = "both") -> Any:
    """log det A by member: float64, or float32 where JAX is without it."""
    return factor(D, E, accept_nearly_singular=accept_nearly_singular, triangle=triangle).log_determinant()


@listed
def quadratic(D: ArrayLike, E: ArrayLike | None, b: ArrayLike, *, accept_nearly_singular: bool = False, triangle: str = "both") -> Any:
    """b' A^-1 b for each right-hand side: float64, or float32 where JAX is without it. Its gradient takes no other solution."""
    system = _read(D, E, triangle, b)
    return system.quadratic(system.factor_solve(False, accept_nearly_singular)[1])


@listed
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
        return self._swept(_p.solve_p, b)

    def forward(self, b: ArrayLike) -> Any:
        """y = L^-1 P b, where A is P' L L' P; the squares of y sum up to b' A^-1 b. It has derivatives with respect to b only."""
        return self._swept(_p.forward_p, b)

    def backward(self, y: ArrayLike) -> Any:
        """P' L^-T y: the solution where y is forward(b), a draw where y is standard normal. Derivatives as of forward()."""
        return self._swept(_p.backward_p, y)

    def sample(self, key: Any, mean: ArrayLike | None = None, draws: int | None = None) -> Any:
        """mean + L^-T z, a draw of the Gaussian of precision A: (N, n), or (N, n, draws), with the batch axis of D in front.

        key: one of jax.random. mean: (N, n), with the batch axis of D; 0 by default. It has derivatives with respect to the mean only.
        """
        front = self.D.shape[:-1] if self.batched else self.D.shape[1:-1]
        z = _jax.random.normal(key, shape_of(front, draws), self.D.dtype)
        return added(self.backward(z), mean if mean is None else _p.read_array(mean, "mean"), front)

    def log_determinant(self) -> Any:
        """log |det A| by member."""
        return self._system().of_value(_p.log_determinant_p, self.value)[0]

    def quadratic(self, b: ArrayLike) -> Any:
        """b' A^-1 b for each right-hand side."""
        system = self._system(b)
        return system.quadratic(system.swept(_p.solve_p, self.value))

    def selected_inverse(self) -> tuple[Any, Any]:
        """(diagonal, lower): blocks (i, i) and (i + 1, i) of A^-1."""
        diagonal, lower = self._system().of_value(_p.selected_inverse_p, self.value)
        return diagonal, lower

    def __repr__(self) -> str:
        batch = f"batch={self.D.shape[0]}, " if self.batched else "under vmap, " if self.D.ndim != _CANONICAL else ""
        return f"<trifold.jax.Factor: block={self.D.shape[-1]}, horizon={self.D.shape[-3]}, {batch}dtype={self.D.dtype}>"

    def _swept(self, primitive: Any, b: Any) -> Any:
        if primitive is not _p.solve_p and _p.has_signs(self.value, self.D):
            raise SpecError(
                'forward(), backward() and sample() are for positive definite matrices here, not for matrix="symmetric"; '
                "trifold.factor has both"
            )
        system = self._system(b)
        return system.solution(system.swept(primitive, self.value))

    def _system(self, *b: Any) -> _System:
        if self.D.ndim != _CANONICAL:
            raise SpecError(
                "this factor was made under vmap, as many members apart: use it under vmap, or factor the batch in one call without"
            )
        if not b:
            return _System(self.D, self.E, self.batched)
        inner, batch = tuple(self.D.shape[1:3]), self.D.shape[0] if self.batched else None
        return _with_b(self.D, self.E, self.batched, *fitting_factor(inner, batch, _p.read_array(b[0], "b")))


def _flatten(f: Factor) -> tuple[Any, Any]:
    return (f.value, f.D, f.E), f.batched


def _unflatten(batched: bool, children: Any) -> Factor:
    value, D, E = children
    return Factor(value, D, E, batched)


_jax.tree_util.register_pytree_node(Factor, _flatten, _unflatten)


class _System(NamedTuple):
    """D and E with a batch axis, b with that and an axis of right-hand sides, and results the way back."""

    D: Any
    E: Any
    batched: bool
    b: Any = None
    shape: tuple[int, ...] = ()  #: that of the b that was given
    of_solution: Any = itself
    of_columns: Any = itself

    def factor_solve(self, inverse: bool, accept: Any, signs: bool = False) -> Any:
        return _p.call(_p.factor_solve_p, self.D, self.E, self.b, inverse=inverse, accept=_accepts(accept), signs=signs)

    def swept(self, primitive: Any, value: Any) -> Any:
        return _p.call(primitive, value, self.D, self.E, self.b, inverse=True)[0]

    def of_value(self, primitive: Any, value: Any) -> list[Any]:
        return list(map(self.alone, _p.call(primitive, value, self.D, self.E, inverse=True)))

    def solution(self, x: Any) -> Any:
        """x in the shape of b."""
        return self.of_solution(x.reshape(self.shape))

    def quadratic(self, x: Any) -> Any:
        """b' x by member and right-hand side."""
        result = self.alone(_form(self.D, self.E, self.b, x))
        return self.of_columns(result if len(self.shape) == (4 if self.batched else 3) else result[..., 0])

    def alone(self, result: Any) -> Any:
        """A result without the batch axis, where there was none."""
        return result if self.batched else result[0]


def _with_b(D: Any, E: Any, batched: bool, b: Any, of_solution: Any = itself, of_columns: Any = itself, name: str = "D") -> _System:
    _p.expect_columns(b, D.shape[:3] if batched else D.shape[1:3], D.dtype, name)
    return _System(D, E, batched, b.reshape(*D.shape[:3], -1), b.shape, of_solution, of_columns)


def _read(D: Any, E: Any, triangle: str, *b: Any, check_symmetry: bool = False, ring: bool = False) -> _System:
    coupling = None if E is None else _p.read_array(E, "E")
    fit = fitting(_p.read_array(D, "D"), coupling, _p.read_array(b[0], "b") if b else None)
    blocks, coupling = _read_matrix(fit.D, fit.E, triangle, flag(ring, "ring"))
    if flag(check_symmetry, "check_symmetry"):
        blocks = blocks + _nothing_or_nan(blocks_agree(fit.D, _jnp))
    batched = blocks.ndim == _CANONICAL
    matrix = (blocks, coupling) if batched else (blocks[None], coupling[None])
    return _with_b(*matrix, batched, *fit[2:]) if b else _System(*matrix, batched)


def _nothing_or_nan(agree: Any) -> Any:
    """Zeros to add to the blocks of each member, or NaN where its triangles differ; an error where that can be told."""
    if not isinstance(agree, _jax.core.Tracer) and not agree.all():
        raise SpecError("the triangles of D differ by more than rounding; give symmetric blocks, such as (D + D.mT) / 2")
    return _jnp.where(agree, 0.0, _jnp.nan)[..., None, None, None]


def _read_matrix(blocks: Any, E: Any, triangle: str, ring: bool) -> tuple[Any, Any]:
    shape = blocks.shape
    if len(shape) not in (3, 4) or shape[-1] != shape[-2] or 0 in shape:
        raise SpecError(f"D has shape {shape}; give (N, n, n), or (batch, N, n, n)")
    couplings = shape[-3] if ring else shape[-3] - 1
    below = (*shape[:-3], couplings, *shape[-2:])
    coupling = _jnp.zeros(below, blocks.dtype) if E is None and couplings == 0 else _p.read_array(E, "E")
    if coupling.shape != below:
        raise SpecError(f"E has shape {coupling.shape}; give {below}, as D has {shape}")
    if coupling.dtype != blocks.dtype:
        raise SpecError(f"E is {coupling.dtype} and D {blocks.dtype}; give arrays of one type")
    return (_p.lower(blocks) if lower_alone(triangle) else blocks), coupling


def _accepts(accept: Any) -> bool:
    return bool(truth(accept, "accept_nearly_singular"))


def _form_alone(D: Any, E: Any, b: Any, x: Any) -> Any:
    """b' x by column, where x solves A x = b: a function of D, E and b alone."""
    return _jnp.sum(b.astype(_p.real()) * x.astype(_p.real()), (1, 2))


def _form_jvp(primals: Any, tangents: Any) -> Any:
    D, E, b, x = primals
    dD, dE, db, _ = tangents
    return _form_alone(D, E, b, x), _form_alone(D, E, 2 * db - _p.times(dD, dE, x), x)


_form: Any = _jax.custom_jvp(_form_alone)
_form.defjvp(_form_jvp)
