"""One factorization and what follows from it."""

# pyright: reportConstantRedefinition=false

from __future__ import annotations

from typing import Annotated, Any, TypedDict, Unpack

import numpy

from ._core import Plan, Solver, solver_for
from .arrays import ArrayLike, BorderedMarginals, Marginals, Refined, Status, adapt, columns_alone, copy_of, floating, give_back, is_jax
from .bands import fitting_band, unfolded
from .batches import Together, fitting_factor, fitting_upper, itself
from .bordered import is_pair, rows_of, split
from .errors import SpecError
from .options import Option, array, flag, known, read, real, takes, truth, whole, word, word_or_none

_MIXED = "factor,solve,factor_solve"


class Sweep(TypedDict, total=False):
    """Options of a Solver's sweeps."""

    active: Annotated[Any, Option(None, array)]
    check: Annotated[bool | None, Option(None, truth)]


class System(TypedDict, total=False):
    """Options that belong to A: what is added to it, and the members that are left out."""

    shift: Annotated[Any, Option(None, array)]
    diagonal: Annotated[Any, Option(None, array)]
    active: Annotated[Any, Option(None, array)]
    border: Annotated[Any, Option(None, array)]
    lengths: Annotated[Any, Option(None, array)]
    sizes: Annotated[Any, Option(None, array)]
    upper: Annotated[Any, Option(None, array)]


class Factorization(System, Sweep, total=False):
    """Options of a Solver's factorizations."""

    pivot_floor: Annotated[float, Option(0.0, real)]
    accept_nearly_singular: Annotated[bool, Option(False, flag)]


class Options(Factorization, total=False):
    """Options of solve() and factor(), which say what they are."""

    mixed: Annotated[bool, Option(False, flag)]
    ring: Annotated[bool, Option(False, flag)]
    bandwidth: Annotated[int, Option(1, whole)]
    matrix: Annotated[str | None, Option(None, word_or_none)]
    schedule: Annotated[str, Option("auto", word)]
    workers: Annotated[int, Option(1, whole)]


np: Any = numpy
OPTIONS, SYSTEM = known(Options), known(System)


def _solver_for(D: Any, b: Any, operations: str, settings: dict[str, Any], rhs: int = 1) -> Solver:
    """For arrays like these. What is left in the settings are those of a call."""
    mixed, ring, bandwidth = (settings.pop(name) for name in ("mixed", "ring", "bandwidth"))
    matrix = _kind(settings.pop("matrix"), settings["upper"])
    if matrix == "general" and mixed:
        raise SpecError("mixed precision is for positive definite matrices; leave mixed or upper out")
    if matrix == "general" and operations == "all":
        operations = ""  # all but the selected inverse, which such a matrix has not
    border = 0 if settings["border"] is None else rows_of(settings["border"])
    operations = _MIXED if mixed else operations
    schedule, workers = settings.pop("schedule"), settings.pop("workers")
    lengths, sizes = settings["lengths"] is not None, settings["sizes"] is not None
    return solver_for(D, b, operations, schedule, workers, mixed, rhs, border, ring, lengths, sizes, bandwidth, matrix)


def _kind(matrix: str | None, upper: Any) -> str:
    if upper is None:
        return "positive-definite" if matrix is None else matrix
    if matrix not in (None, "general"):
        raise SpecError(f"upper has blocks of a general matrix, and matrix is {matrix!r}; leave one of them out")
    return "general"


def _fitting(D: Any, E: Any, b: Any, settings: dict[str, Any]) -> Together:
    """Arrays of one call, among which upper stays in the settings."""
    D, E, b = floating(D, "D"), floating(E, "E"), b if b is None else floating(b, "b")
    if settings["upper"] is None or settings["bandwidth"] > 1:
        return fitting_band(D, E, b, settings["bandwidth"])
    together, settings["upper"] = fitting_upper(D, E, floating(settings["upper"], "upper"), b)
    return together


@takes(OPTIONS)
def solve(D: ArrayLike, E: ArrayLike | None, b: ArrayLike, *, refine: int = 0, **options: Unpack[Options]) -> Any:
    """Solve A x = b, where A has the blocks D on its diagonal and E below it.

    D: (N, n, n), of which only the lower triangles are read; E: (N - 1, n, n), block (i + 1, i) of A, or None when N is 1;
    b: (N, n), or (N, n, m) for m right-hand sides. Each may have a batch axis in front, of one length or 1; one A with a batch of b is
    factored once. float32 or float64; integers become float64. Returns x, with the shape of b and a batch axis where one of the three has
    one, in the library of b and on its device.

    shift, (batch,) or a number, is added to the diagonal of A, and diagonal, (batch, N, n), to its entries. Members whose entry of
    active, (batch,), is 0 are left out: their x is undefined. Pivots below pivot_floor times the largest diagonal entry of their
    block are raised to it. mixed: arrays of float64 are factored in float32, and the solution is refined.
    accept_nearly_singular: a matrix that is singular to the precision, so that rounding decides its x, does not fail. A pivot_floor
    implies it.

    border, a pair (F, C) of (N, a, n) and (a, a) with the batch axis of D: A is [T F'; F C], where T is the chain of D and E. Then b is a
    pair of (N, n) and (a,), or one array of N n + a numbers, each with an axis for m right-hand sides behind; so is x. All arrays have a
    batch axis, or none has.

    ring: the last block is coupled to the first. E has N blocks, of which the last is A(0, N - 1). Where N is 1, A is D + E + E'.

    lengths, (batch,) whole numbers from 0 to N: the blocks that each member has. What D, E and b hold beyond them is not used, and results
    there are zero.

    sizes, (N,) or (batch, N) whole numbers from 0 to n: the rows that each block has. The first rows and columns of each are used, and x is
    zero beyond.

    bandwidth, w: each block is coupled to the next w. E is (N, w, n, n), and E[i, k] is block (i + k + 1, i) of A; those beyond the last
    block are not used, and lead on from the first in a ring, whose N is a multiple of w. solveh_banded() takes bands of numbers.

    matrix: "positive-definite", or "symmetric", whose pivots may have both signs: A = P' L S L' P, without interchanges. A zero pivot
    raises NotPositiveDefinite, and NearlySingular where L grew so much that few digits are left. Factor.status has the negative pivots.

    refine: steps of iterative refinement, x + A^-1 (b - A x). Residuals are summed in float64, also of float32. It is not for borders, and
    mixed precision does it by itself.

    upper, in the shape of E: block (i, i + 1) of a general A, of which all of D is read; in a ring the last is A(N - 1, 0). It makes matrix
    "general": A = L U, where rows are interchanged within each block. Errors are as with "symmetric". border, lengths, sizes, bandwidth,
    mixed and pivot_floor are not there for it.

    check, by default True on the CPU: raise NotPositiveDefinite, NearlySingular, OutOfRange or NotConverged when a member fails. Without
    it the x of a member that fails is NaN; only where A is nearly singular x is what was computed, and Factor.status says so. On a GPU the
    work is enqueued on the library's current stream, and only check=True waits for it. Raises SpecError on arrays that do not fit,
    DeviceError when there is no device or compiler.
    """
    settings, steps = read(solve, options, OPTIONS), whole(refine, "refine", 0)
    if steps > 0:
        return _refined(D, E, b, steps, settings)
    if settings["border"] is not None:
        blocks: Any = floating(D, "D")
        pair, joined = split(b, blocks.shape[-3:-1], rows_of(settings["border"]), blocks.ndim == 4)
        pair = tuple(floating(part, "b") for part in pair)
        return joined(_solver_for(blocks, pair[0], "factor_solve,solve", settings).factor_solve(blocks, E, pair, **settings))
    D, E, b, back, _ = _fitting(D, E, b, settings)
    return back(_solver_for(D, b, "factor_solve,solve", settings).factor_solve(D, E, b, **settings))


def _refined(D: Any, E: Any, b: Any, steps: int, settings: dict[str, Any]) -> Any:
    if settings["mixed"]:
        raise SpecError("mixed precision refines every solution by itself; leave refine out")
    if settings["border"] is not None:
        raise SpecError("refinement with a border is not there yet; leave refine out, and solve for b - A x to add that to x")
    D, E, b, back, _ = fitting_band(floating(D, "D"), floating(E, "E"), floating(b, "b"), settings["bandwidth"])
    right = adapt(b, "b") if is_jax(b) else b
    solver = _solver_for(D, right, "factor_solve,solve,refine", settings)
    x = solver.factor_solve(D, E, right, **settings)
    system = {name: settings[name] for name in SYSTEM if name != "border"}
    for _ in range(steps):
        solver.refine(D, E, right, x, **system)
    return back(give_back(b, x))


@takes(OPTIONS)
def marginals(D: ArrayLike, E: ArrayLike | None, b: ArrayLike, **options: Unpack[Options]) -> Marginals | BorderedMarginals:
    """A^-1 b, log det A, b' A^-1 b, and blocks (i, i) and (i + 1, i) of A^-1, of one factorization.

    They are what a Gaussian of precision A and information b has: mean, normalization, likelihood, and covariances. Arguments and errors
    are those of solve(). There is no mixed precision for it. A's results have the batch axis of D and E. With a border they are
    BorderedMarginals, which have the blocks of A^-1 in the places of F and C too.
    """
    settings = read(marginals, options, OPTIONS)
    if settings["mixed"]:
        raise SpecError("mixed precision has no selected inverse; take solve(), or marginals() without mixed")
    if _kind(settings["matrix"], settings["upper"]) == "general":
        raise SpecError("a general matrix has no marginals; take solve(), or factor()")
    if settings["border"] is not None:
        return _bordered_marginals(D, E, b, settings)
    D, E, b, back, back_columns = _fitting(D, E, b, settings)
    solver = _solver_for(D, b, "all", settings)
    found = solver.marginals(D, E, b, **settings)
    diagonal, lower = unfolded(solver.plan, found.diagonal, found.lower)
    return found._replace(x=back(found.x), quadratic=back_columns(found.quadratic), diagonal=diagonal, lower=lower)


def _bordered_marginals(D: Any, E: Any, b: Any, settings: dict[str, Any]) -> BorderedMarginals:
    blocks: Any = floating(D, "D")
    pair, joined = split(b, blocks.shape[-3:-1], rows_of(settings["border"]), blocks.ndim == 4)
    pair = tuple(floating(part, "b") for part in pair)
    solver = _solver_for(blocks, pair[0], "all", settings)
    solver.factor(blocks, E, **settings)
    y, quadratic = solver.forward_quadratic(pair)
    x = solver.backward(y, check=settings["check"])
    diagonal, lower, *places = solver.selected_inverse(check=settings["check"])
    of_A = (solver.log_determinant(), quadratic, *unfolded(solver.plan, diagonal, lower), *places)
    return BorderedMarginals(joined(x), *(give_back(blocks, part) for part in of_A))


@takes(OPTIONS)
def factor(D: ArrayLike, E: ArrayLike | None, *, rhs: int = 1, **options: Unpack[Options]) -> Factor:
    """Factor A, to solve with it again and again. rhs: right-hand sides that will be solved at once; more go in panels of that many.

    Many right-hand sides together take a fraction of the time each. Except in mixed precision, a factor finds out by itself:
    the first call with more of them than rhs, and at least four, moves it to a Plan for as many, which stays its plan. The other arguments
    and errors are those of solve().
    """
    settings = read(factor, options, OPTIONS)
    D, E = floating(D, "D"), floating(E, "E")
    if settings["border"] is None:
        D, E, *_ = _fitting(D, E, None, settings)
    mixed = settings["mixed"]
    solver = _solver_for(D, None, "all", settings, whole(rhs, "rhs", 1))
    solver.factor(D, E, **settings)
    return Factor(solver, D, mixed, settings["check"])


class Factor:
    """A = P' L L' P, or another factorization by the matrix, as factor() leaves it. Its memory is an array of the library that D came from.

    Arrays b and y have the shape (N, n), or (N, n, m), with the batch axis of D in front where D has one; one A takes a batch of b too, and
    a batch of A one b. With a border they are as solve() takes them. Calls of several threads on one Factor wait for one another; on a GPU
    they must be on one stream, or on streams that wait for one another. It pickles, for machines where its Plan is the same.
    """

    def __init__(self, solver: Solver, like: Any, mixed: bool, check: bool | None) -> None:
        self._solver = solver
        self._like = like if is_jax(like) else None
        self._mixed, self._check = mixed, check
        plan = solver.plan
        self._inner, self._batch = (plan.horizon, plan.block), plan.batch if solver.batched else None

    @property
    def plan(self) -> Plan:
        """The Plan that was chosen."""
        return self._solver.plan

    @property
    def batch(self) -> int | None:
        """Number of systems; None if D had no batch axis."""
        return self._batch

    @property
    def value(self) -> Any:
        """The factor itself: bytes from which ``Plan.solver(value)`` goes on, here or in a copy (``Plan.copy_value``)."""
        return self._solver.value

    @property
    def status(self) -> Status:
        """Outcome of each member. On a GPU this waits for the factorization."""
        return self._solver.status()

    def solve(self, b: ArrayLike, out: ArrayLike | None = None, *, check: bool | None = None) -> Any:
        """A^-1 b. check: by default that of factor()."""
        b, back, _ = self._fitting(b if self.plan.border > 0 else floating(b, "b"), out)
        checks = truth(check, "check")
        return back(self._solver.solve(b, out, check=self._check if checks is None else checks))

    def solve_transposed(self, b: ArrayLike, out: ArrayLike | None = None, *, check: bool | None = None) -> Any:
        """A'^-1 b, by the same factors; A^-1 b where A is symmetric. check: by default that of factor()."""
        if self.plan.matrix != "general":
            return self.solve(b, out, check=check)
        b, back, _ = self._fitting(floating(b, "b"), out)
        checks = truth(check, "check")
        return back(self._solver.solve_transposed(b, out, check=self._check if checks is None else checks))

    def forward(self, b: ArrayLike, out: ArrayLike | None = None) -> Any:
        """y = L^-1 P b, whose squares sum up to b' A^-1 b; of matrix="symmetric" S L^-1 P b, and of a general one what backward() takes."""
        b, back, _ = self._fitting(b, out)
        return back(self._solver.forward(b, out, check=False))

    def backward(self, y: ArrayLike, out: ArrayLike | None = None) -> Any:
        """P' L^-T y: with y of forward() the solution; with independent standard normal numbers a sample of covariance A^-1."""
        y, back, _ = self._fitting(y, out)
        return back(self._solver.backward(y, out, check=False))

    def sample(self, generator: Any = None, mean: ArrayLike | None = None, draws: int | None = None) -> Any:
        """mean + L^-T z, a draw of the Gaussian of precision A: (N, n), or (N, n, draws), with the batch axis of D in front.

        generator: a numpy.random.Generator or a seed, or a torch.Generator where D is torch's; without one the draws differ from call to
        call. mean: (N, n), with the batch axis of D; 0 by default. With a border draws are a pair with the tip, or where the mean is one
        array with the tip behind, one array.
        """
        drawn = self._solver.sample(generator, mean, draws)
        return tuple(map(self._back, drawn)) if is_pair(drawn) else self._back(drawn)

    def __repr__(self) -> str:
        return f"<trifold.Factor: {self._solver!r}>"

    def log_determinant(self) -> Any:
        """log |det A| by member, in float64; NaN for a member that failed."""
        return self._back(self._solver.log_determinant())

    def determinant_sign(self) -> Any:
        """1 or -1 by member, the sign of det A, in float64; NaN for a member that failed. On a GPU this waits.

        With log_determinant() it is what numpy.linalg.slogdet returns.
        """
        status = self._solver.status()
        return np.where((status.block < 0) & (status.floors >= 0), 1.0 - 2.0 * (status.negative % 2), np.nan)[()]

    def quadratic(self, b: ArrayLike) -> Any:
        """b' A^-1 b for each right-hand side, in float64."""
        if self.plan.matrix == "general":
            raise SpecError("a general matrix has no quadratic; multiply b and solve(b)")
        if self._mixed:
            raise SpecError("mixed precision has no quadratic; multiply b and solve(b)")
        columns_at = 3 if self._solver.batched else 2
        b, _, back_columns = self._fitting(b, None)
        if self.plan.border > 0:
            return self._quadratic_alone(b)
        return self._back(back_columns(columns_alone(self._quadratic_alone, b, columns_at, self.plan.rhs)))

    def _quadratic_alone(self, b: Any) -> Any:
        return self._solver.forward_quadratic(b)[1]

    def selected_inverse(self) -> tuple[Any, ...]:
        """(diagonal, lower): blocks of A^-1 in the places of those of D, (N, n, n), and of E; with a border also those of F and C."""
        diagonal, lower, *border = self._solver.selected_inverse(check=False)
        return tuple(map(self._back, (*unfolded(self.plan, diagonal, lower), *border)))

    @takes(SYSTEM)
    def refine(self, D: ArrayLike, E: ArrayLike | None, b: ArrayLike, x: ArrayLike, **options: Unpack[System]) -> Refined:
        """(x, backward_error) after one more step of iterative refinement: x + A^-1 (b - A x). x itself stays as it is.

        D, E and the options are those that were factored, which a factor does not keep; b and x have the shapes of solve(). Residuals are
        summed in float64, also of float32. backward_error: the largest |b - A x| / (|A| |x| + |b|) of a row of the new x, by member. The
        first call moves the factor to a Plan with refine among its operations, and waits for that; later ones do not.
        """
        known_x = floating(x, "x")
        new = copy_of(adapt(known_x, "x") if is_jax(known_x) else known_x)
        errors = self._solver.refine(D, E, floating(b, "b"), new, **options)
        return Refined(give_back(known_x, new), self._back(errors))

    @takes(SYSTEM)
    def reciprocal_condition(self, D: ArrayLike, E: ArrayLike | None, **options: Unpack[System]) -> Any:
        """1 / (|A| |A^-1|) in the 1-norm by member, of A scaled to a diagonal of ones: the relative error of x is about epsilon over it.

        An estimate, by at most 13 solutions. D, E and the options are those that were factored, which a factor does not keep. Those on a
        GPU are copied to the processor. 0 for a member that failed, NaN for one that active leaves out. A number, or an array of NumPy.
        """
        return self._solver.reciprocal_condition(D, E, **options)

    def _fitting(self, b: Any, out: Any) -> Any:
        """b of another batch than A's; what goes into memory of the caller's must fit as it is."""
        if self.plan.border > 0:
            pair, joined = split(b, self._inner, self.plan.border, self._solver.batched)
            return pair, (itself if out is not None else joined), itself
        return (b, itself, itself) if out is not None else fitting_factor(self._inner, self._batch, b)

    def _back(self, result: Any) -> Any:
        return give_back(self._like, result)
