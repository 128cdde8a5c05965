"""Linear Gaussian state spaces as block tridiagonal systems: their smoothers and likelihoods, without a recursion in Python."""

# pyright: reportConstantRedefinition=false
# Matrices have the upper-case letters of the textbooks.

from __future__ import annotations

import copy
import functools
import importlib
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from ._core import Solver, solver_for, state_space
from .errors import NearlySingular, NotPositiveDefinite, SpecError
from .factor import factor
from .lumps import Lumped, Lumps, lumps_of, of_times, one_step
from .namespaces import Namespace, namespace_of
from .options import truth, whole
from .series import Given, huge, read, start
from .singular import limit

np: Any = numpy
Front = tuple[int, ...]
_FEW_DIGITS = (
    "rounding leaves less than two digits of the result: some steps have so little noise that Q^-1 hides what else is known. "
    "Merge times that are close together, take a process of lower order, a larger Q, or float64"
)


_LOSS = (
    "rounding, or variances near 0, leave less than six digits of the result. Where variances are tiny give 0 for them, or singular=True; "
    "where steps are short beside what the states vary by, merge times or take a process of lower order"
)
_SIX_DIGITS = 1e-6
_SINGULAR = "{} is not positive definite, or singular to rounding; kalman() and log_likelihood() take it with singular=True"
_OPEN = "the values do not determine the states whose start is diffuse; give more values, or a finite P0"


class _Singular(SpecError):
    """A covariance that has no inverse."""


class NormalEquations(NamedTuple):
    """A x = b has the smoothed states as its solution; A is their precision. log p(y) = -(constant + log det A - b' A^-1 b) / 2."""

    D: Any  #: (N, n, n)
    E: Any  #: (N - 1, n, n), block (t + 1, t)
    b: Any  #: (N, n)
    constant: Any  #: () or (batch,)


class Smoothed(NamedTuple):
    """States given all observations, with a batch axis in front where an argument had one."""

    mean: Any  #: (N, n)
    variance: Any  #: (N, n), the diagonals of covariance
    log_likelihood: Any  #: log p(y): () or (batch,)
    covariance: Any  #: (N, n, n)
    neighbours: Any  #: (N - 1, n, n), covariance of x(t + 1) with x(t)


def precision(F: Any, Q: Any, P0: Any, horizon: int | None = None) -> tuple[Any, Any]:
    """(D, E): the precision of the states x(0), ..., x(N - 1) before anything is observed.

    x(t + 1) = F x(t) + w, w ~ N(0, Q), x(0) ~ N(., P0). F, Q: (n, n), or (N - 1, n, n) for one a step; P0: (n, n).
    horizon is N; it is needed where neither F nor Q has steps. D is (N, n, n), E is (N - 1, n, n); add what observations add
    to D. A batch axis, errors and libraries are as in kalman().
    """
    space = namespace_of([F, Q, P0])
    F, Q = space.array(F, "F"), space.array(Q, "Q")
    with space.exact():
        P0 = start(space, P0, F.shape[-1] if F.ndim else 0)[0]
        prior = _Prior(_Arrays(space, F, Q, P0, None, None, horizon))
        prior.whiten()
        return prior.blocks()


def normal_equations(
    F: Any, H: Any, Q: Any, R: Any, P0: Any, ys: Any, *, m0: Any = None, c: Any = None, d: Any = None, complete: bool = False
) -> NormalEquations:
    """The system whose solution are the smoothed states. Arguments, libraries and errors are those of kalman(), without singular ones."""
    model = _model(read(F, H, Q, R, P0, ys, m0, c, d), complete)
    assert not isinstance(model, Lumped)
    with model.space.exact():
        D, E, b = model.system()
        D, E = (model.space.spread(blocks, (*model.front, *blocks.shape[-3:])) for blocks in (D, E))
        return NormalEquations(D, E, b, model.constant())


def log_likelihood(
    F: Any,
    H: Any,
    Q: Any,
    R: Any,
    P0: Any,
    ys: Any,
    *,
    m0: Any = None,
    c: Any = None,
    d: Any = None,
    complete: bool = False,
    singular: bool | None = None,
) -> Any:
    """log p(ys): () or (batch,). Arguments, libraries and errors are those of kalman(), which also takes the variances.

    Whether enough digits are left is seen with NumPy only: with torch and JAX call kalman() once for what was learned.
    """
    return _call(_likelihood, read(F, H, Q, R, P0, ys, m0, c, d), complete, singular)[0]


def kalman(
    F: Any,
    H: Any,
    Q: Any,
    R: Any,
    P0: Any,
    ys: Any,
    *,
    m0: Any = None,
    c: Any = None,
    d: Any = None,
    complete: bool = False,
    singular: bool | None = None,
) -> Any:
    """Means, variances and log likelihood of a Kalman smoother: a Smoothed, or a list of them for a list of series.

    x(t + 1) = F x(t) + c + w, w ~ N(0, Q); y(t) = H x(t) + d + v, v ~ N(0, R); x(0) ~ N(m0, P0); t = 0, ..., N - 1.

    ys: (N, m); NaN, or a masked entry, is a missing value. Where H has one row also (N,) or (batch, N). A Series or DataFrame of pandas
    gives means and variances its index. A list of arrays or of these is a list of series, which may differ in N. F, Q: (n, n), or
    (N - 1, n, n) for one a step. H: (m, n), R: (m, m), or with N in front for one a time. P0: (n, n); None, or infinite entries on the
    diagonal, is a diffuse start of all states or of these, and the log likelihood is the limit less what goes to infinity, as statsmodels
    has it. m0, c: (n,) and d: (m,), each 0 by default; c may have N - 1 in front, d N: inputs go there. Numbers stand for matrices and
    vectors of one entry. Each may have a batch axis in front of time, (batch, N, m) or (batch, N - 1, n, n), where axes of 1 stand for any
    length: (batch, 1, n, n) is one F a series. With a batch axis in one there is one in all results. Series of one model without missing
    values share a factorization.

    complete: no value is missing. Where ys cannot be looked at, within jit and the like and on a GPU, that is not known otherwise, and R is
    factored for each time unless m is 1. A NaN in ys is then one in the results.

    singular: Q, R or P0 is singular, as where states have no noise or values no error. None: it is looked whether they are; where that
    cannot be done they must not be. With NumPy, one model and m of 1, steps are taken together until noise reaches all states, and nothing
    is lost. Else, and where R is singular, results are limits, extrapolated from three systems that have a little noise more.

    Covariances are symmetric: entries (i, j) and (j, i) may differ by 1e-8, in float32 1e-3, of the root of entries (i, i) and (j, j)
    multiplied.

    Results are arrays of NumPy, or of torch or JAX where an argument is, with gradients to all of them. float32 if all arrays are, else
    float64. Raises SpecError on shapes that do not fit, on infinities, NaN in other arguments than ys, on covariances that are not
    symmetric or have negative eigenvalues, on a diffuse start that the values do not determine, and on systems so ill-conditioned that less
    than two digits are sure; within jit, vmap and torch.compile, and on a GPU, only on shapes. Where less than six digits of means and
    variances are sure it warns, in float64.
    """
    given = read(F, H, Q, R, P0, ys, m0, c, d)
    return given.back(Smoothed(*_call(_smoothed, given, complete, singular)))


def _call(function: Callable[[_System, float], tuple[Any, ...]], given: Given, complete: bool, singular: bool | None) -> list[Any]:
    """function(model, 1), or its limit where covariances are singular. The number is for _has_digits(): limits tell their digits here."""
    singular, space = truth(singular, "singular"), given.space
    if singular is None and space.name == "numpy":  # some that surely are
        singular = True if any(not matrix.diagonal(0, -2, -1).all() for matrix in (given.R, given.Q) if matrix.ndim > 1) else None
    with space.exact():
        lumps = None if singular else one_step(given)
        if not singular:
            try:
                return _of_times(given, lumps, function(_model(given, complete, lumps), 1.0))
            except _Singular:
                if singular is not None:
                    raise
        lumps = lumps_of(given)
        if lumps is None:
            _fitted(given)  # raises what is wrong with shapes
        try:
            result, lost = limit(lambda near: function(_model(near, complete, lumps), float(near is given)), given, lumps is None)
        except _Singular:  # P0
            if lumps is None:
                raise
            lumps = None
            result, lost = limit(lambda near: function(_model(near, complete), 0.0), given, True)
        if lost is not None and lost > _SIX_DIGITS and space.epsilon < 1e-10:
            warnings.warn(_LOSS, RuntimeWarning, stacklevel=3)
        return _of_times(given, lumps, result)


def _of_times(given: Given, lumps: Lumps | None, result: Sequence[Any]) -> list[Any]:
    """Results of all times, where they are of lumps."""
    if lumps is None or len(result) == 1:
        return list(result)
    mean, _, value, *blocks = result
    mean, covariance, neighbours = of_times(lumps, int(given.ys.shape[-2]), mean, *blocks)
    return [mean, given.space.diagonal(covariance), value, covariance, neighbours]


def _likelihood(model: _System, told: float) -> tuple[Any, ...]:
    D, E, b = model.system()
    x, log_determinant, _ = _solve(model, D, E, b, told / 16)  # an error of x counts in second order only
    return (-(model.least(x) + log_determinant) / 2,)


def _smoothed(model: _System, told: float) -> Smoothed:
    space = model.space
    D, E, b = model.system()
    x, log_determinant, f = _solve(model, D, E, b, 16 * told)
    covariance, neighbours = f.selected_inverse()
    value = -(model.least(x) + log_determinant) / 2
    if isinstance(model, Lumped):
        return Smoothed(model.refined(x, f), None, value, *model.spread(covariance, neighbours))
    if space.name != "numpy":
        _has_digits(space, space.diagonal(D) * space.diagonal(covariance), 16 * told)
    covariance = space.spread(covariance, (*model.front, *covariance.shape[-3:]))
    neighbours = space.spread(neighbours, (*model.front, *neighbours.shape[-3:]))
    return Smoothed(x, space.diagonal(covariance), value, covariance, neighbours)


def sample(
    F: Any,
    H: Any,
    Q: Any,
    R: Any,
    P0: Any,
    ys: Any,
    *,
    generator: Any = None,
    draws: int | None = None,
    m0: Any = None,
    c: Any = None,
    d: Any = None,
    complete: bool = False,
) -> Any:
    """Draws of the states given all observations: (N, n), or (N, n, draws), with a batch axis in front where an argument has one.

    generator: a numpy.random.Generator or a seed; a torch.Generator for torch; a key of jax.random, which JAX cannot do without. The other
    arguments, libraries and errors are those of kalman(), without singular ones. Draws have no gradients.
    """
    model = _model(read(F, H, Q, R, P0, ys, m0, c, d), complete)
    space = model.space
    if space.name == "jax" and generator is None:
        raise SpecError("generator is missing; with arrays of JAX give a key of jax.random")
    with space.exact():
        D, E, b = (space.fixed(part) for part in model.system())
        x, _, f = _solve(model, D, E, b, 16.0)
        if x.ndim == D.ndim - 1:
            return f.sample(generator, x, draws)
        count = 1 if draws is None else whole(draws, "draws", 1)
        noise = f.sample(generator, None, x.shape[0] * count)  # one factor for all series
        noise = space.xp.moveaxis(noise.reshape(*noise.shape[:-1], x.shape[0], count), -2, 0)
        return x + noise[..., 0] if draws is None else x[..., None] + noise


class _Terms(NamedTuple):
    """Arguments of _density()."""

    y: Any
    H: Any
    V: Any
    F: Any
    W: Any
    W0: Any
    m0: Any
    c: Any
    constant: Any  #: logarithms of what does not depend on the states


class _Arrays:
    """Arguments as arrays whose shapes fit each other, each with an axis for times but P0 and m0."""

    def __init__(self, space: Namespace, F: Any, Q: Any, P0: Any, m0: Any, c: Any, horizon: int | None) -> None:
        self.space = space
        self.is_open: bool | None = False
        self.spread: Any = 0.0
        n = P0.shape[-1] if P0.ndim else 0
        self.n, self.horizon = n, _horizon(F, Q) if horizon is None else whole(horizon, "horizon", 0)
        steps = self.horizon - 1
        if n < 1 or self.horizon < 1:
            raise SpecError(f"{self.horizon} times and P0 of shape {_text(P0)}; there must be at least one time and one state")
        self.P0 = _fit(P0, "P0", (n, n), None)
        self.F = _fit(F, "F", (n, n), steps)
        self.Q = _fit(Q, "Q", (n, n), steps)
        self.m0 = _fit(m0, "m0", (n,), None) if m0 is not None else None
        self.c = _fit(c, "c", (n,), steps) if c is not None else None

    def observe(self, H: Any, R: Any, ys: Any, d: Any) -> None:
        """Adds the arguments of the observations."""
        self.m = m = int(ys.shape[-1])
        _same_values(ys, H, R)
        self.ys = ys
        self.H = _fit(H, "H", (m, self.n), self.horizon)
        self.R = _fit(R, "R", (m, m), self.horizon)
        self.d = _fit(d, "d", (m,), self.horizon) if d is not None else None
        self.front = _front(
            [self.F, self.Q, self.H, self.R],
            starts=[self.P0],
            vectors=[x for x in (ys, self.d, self.c) if x is not None],
            start_vectors=[] if self.m0 is None else [self.m0],
        )


class _Prior:
    """The states' own part: residuals of x are white once multiplied by W, where W' W is Q^-1."""

    def __init__(self, given: _Arrays) -> None:
        self.space = space = given.space
        self.n, self.horizon = given.n, given.horizon
        self.P0 = _covariance(space, given.P0, "P0")
        self.F = _finite(space, given.F, "F")
        self.Q = _covariance(space, given.Q, "Q")
        self.m0 = None if given.m0 is None else _finite(space, given.m0, "m0")
        self.c = None if given.c is None else _finite(space, given.c, "c")

    def whiten(self, R: Any = None) -> tuple[Any, Any]:
        """Must come before the rest. Returns what belongs to R, for it goes along with the others."""
        given = {"P0": self.P0[..., None, :, :], "Q": self.Q, **({} if R is None else {"R": R})}
        (W0, log_P0), (self.W, self.log_Q), *rest = _whiten(self.space, given)
        self.W0, self.log_P0 = W0[..., 0, :, :], log_P0[..., 0]
        self.G = self.W @ self.F
        return rest[0] if rest else (None, None)

    def front(self) -> Front:
        """The batch axis of A, as far as it comes from here."""
        return _front(matrices=[self.F, self.Q], starts=[self.P0])

    def blocks(self, seen: Any = None) -> tuple[Any, Any]:
        """D and E; seen, (..., 1 or N, n, n), is added to D."""
        space, n, steps = self.space, self.n, self.horizon - 1
        front = self.front() if seen is None else _join([self.front(), tuple(seen.shape[:-3])])
        shape = (*front, steps, n, n)
        none = space.constant(np.zeros((*front, 1, n, n)))
        first = space.spread(_t(self.W0) @ self.W0, (*front, n, n))[..., None, :, :]
        both = _join([tuple(self.W.shape[:-2]), tuple(self.G.shape[:-2])])
        both = _cat(space, [space.spread(part, (*both, n, n)) for part in (self.W, self.G)], -1)
        products = _t(both) @ both  # covariances of W and G with each other, in one
        D = _cat(space, [first, space.spread(products[..., :n, :n], shape)], -3)
        D = D + _cat(space, [space.spread(products[..., n:, n:], shape), none], -3)
        return D if seen is None else D + seen, space.spread(-products[..., :n, n:], shape)

    def pull(self, front: Front) -> Any:
        """b, as far as it comes from m0 and c."""
        space, n, steps = self.space, self.n, self.horizon - 1
        b = space.constant(np.zeros((*front, self.horizon, n)))
        none = space.constant(np.zeros((*front, 1, n)))
        if self.m0 is not None:
            start = _mv(_t(self.W0), _mv(self.W0, self.m0))
            rest = space.constant(np.zeros((*front, steps, n)))
            b = b + _cat(space, [space.spread(start, (*front, n))[..., None, :], rest], -2)
        if self.c is not None:
            white = _mv(self.W, self.c)
            shape = (*front, steps, n)
            ahead = _cat(space, [none, space.spread(_mv(_t(self.W), white), shape)], -2)
            b = b + ahead - _cat(space, [space.spread(_mv(_t(self.G), white), shape), none], -2)
        return b


def _fitted(of: Given) -> _Arrays:
    given = _Arrays(of.space, of.F, of.Q, of.P0, of.m0, of.c, int(of.ys.shape[-2]))
    given.observe(of.H, of.R, of.ys, of.d)
    given.is_open, given.spread = of.is_open, of.spread
    return given


def _model(of: Given, complete: bool, lumps: Lumps | None = None) -> _System:
    complete, space, given = bool(truth(complete, "complete")), of.space, _fitted(of)
    if lumps is not None:
        _require(space, ~np.isinf(given.ys), _INFINITE)
        if complete:
            _require(space, ~np.isnan(given.ys), _NOT_COMPLETE)
        if given.d is not None:
            _finite(space, given.d, "d")
        return Lumped(given, lumps, _pair(given, lumps.F[None], lumps.Q[None]))
    if space.name == "numpy" and 0 not in given.front:
        return _Compiled(given, complete)
    with space.exact():
        return _Model(given, complete)


_NOT_COMPLETE = "ys has NaN or masked entries, and complete says that no value is missing"
_INFINITE = "ys has infinities; give NaN for missing values"
_NOT_FINITE, _NOT_SYMMETRIC = "{} has infinities or NaN", "{} is not symmetric"


class _Compiled:
    """A _Model of arrays of NumPy, made in C++: there small matrices do not cost a call each."""

    def __init__(self, given: _Arrays, complete: bool) -> None:
        self.space, self.front, self.is_open, self.spread = given.space, given.front, given.is_open, given.spread
        arrays = (given.F, given.H, given.Q, given.R, given.P0, given.ys, given.m0, given.c, given.d)
        arrays = (None if array is None else np.ascontiguousarray(array) for array in arrays)
        batch = given.front[0] if given.front else -1
        self.made = made = state_space(*arrays, batch=batch, horizon=given.horizon, n=given.n, m=given.m)
        if made.problem:
            texts = {"finite": _NOT_FINITE, "symmetric": _NOT_SYMMETRIC, "infinite": _INFINITE, "singular": _SINGULAR}
            raise (_Singular if made.problem == "singular" else SpecError)(texts[made.problem].format(made.array))
        if complete and not made.complete:
            raise SpecError(_NOT_COMPLETE)

    def system(self) -> tuple[Any, Any, Any]:
        return self.made.D, self.made.E, self.made.b

    def constant(self) -> Any:
        return self.least(np.zeros_like(self.made.b))

    def least(self, x: Any) -> Any:
        least = self.made.least(np.ascontiguousarray(x)).reshape(self.front)
        return (least - self.spread).astype(self.space.dtype)[()]


class _Model:
    """States and observations. As in _Prior residuals of y are white once multiplied by V, where V' V is R^-1."""

    def __init__(self, given: _Arrays, complete: bool) -> None:
        space = given.space
        self.space, self.front, self.is_open, self.spread = space, given.front, given.is_open, given.spread
        xp, ys, m = space.xp, given.ys, given.m
        self.prior = _Prior(given)
        H = _finite(space, given.H, "H")
        R = _covariance(space, given.R, "R")
        d = None if given.d is None else _finite(space, given.d, "d")
        _require(space, ~xp.isinf(ys), _INFINITE)
        self.values, self.counted = space.constant(float(given.horizon * m)), None
        present = ~xp.isnan(ys)
        if complete:
            _require(space, present, _NOT_COMPLETE)
        elif space.known(present) is not True:
            # A missing value is 0 and has variance 1, and nothing to do with the states or other values.
            if m > 1:
                both = present[..., :, None] & present[..., None, :]
                R = xp.where(both, R, space.constant(np.eye(m)))
            H = xp.where(present[..., None], H, 0.0)
            ys = xp.where(present, ys, 0.0)
            d = None if d is None else xp.where(present, d, 0.0)
            counted = xp.where(present, space.constant(1.0), space.constant(0.0))
            self.values = space.spread(counted, (*self.front, given.horizon, m)).sum(-1).sum(-1)
            self.counted = counted[..., 0] if m == 1 else None
        self.y = ys if d is None else ys - d
        self.H = H
        self.V, self.log_R = self.prior.whiten(R)
        if self.counted is not None:
            self.log_R = self.log_R * self.counted
        self.U = self.V @ self.H

    def system(self) -> tuple[Any, Any, Any]:
        """D, E and b, where b may have a batch axis that the others do without."""
        D, E = self.prior.blocks(_t(self.U) @ self.U)
        if tuple(D.shape[:-3]) != self.front and D.ndim == 4:
            D, E = D[0], E[0]
        shape = (*self.front, self.prior.horizon, self.prior.n)
        seen = self.space.spread(_mv(_t(self.U), _mv(self.V, self.y)), shape)
        return D, E, seen + self.prior.pull(self.front)

    def constant(self) -> Any:
        """-2 log p of the observations and of states of zeros."""
        return _density(self.space, self._times(), self._terms(), None)

    def least(self, x: Any) -> Any:
        """-2 log p at the smoothed states. There it is least, and nothing cancels."""
        return self.space.at_least(functools.partial(_density, self.space, self._times()), self._terms(), x)

    def _times(self) -> Front:
        return (*self.front, self.prior.horizon)

    def _terms(self) -> _Terms:
        prior, times = self.prior, self._times()
        logarithms = (
            -self.spread
            + self.space.spread(self.log_R, times).sum(-1)
            + self.space.spread(prior.log_Q, (*times[:-1], times[-1] - 1)).sum(-1)
        )
        constant = logarithms + prior.log_P0 + math.log(2 * math.pi) * self.values
        return _Terms(self.y, self.H, self.V, prior.F, prior.W, prior.W0, prior.m0, prior.c, constant)


def _pair(given: _Arrays, F: Any, Q: Any) -> _Compiled:
    """Two states without values."""
    pair = copy.copy(given)
    pair.F, pair.Q, pair.ys, pair.d, pair.horizon = F, Q, np.full((2, 1), np.nan, given.space.dtype), None, 2
    return _Compiled(pair, False)


_System = _Compiled | _Model | Lumped


def _density(space: Namespace, times: Front, of: _Terms, x: Any) -> Any:
    """-2 log p of the observations and of states x, or of none. A function of its arguments alone."""
    steps = (*times[:-1], times[-1] - 1, of.F.shape[-1])
    rest = of.y if x is None else of.y - _mv(of.H, x)
    total = of.constant + _squares(space.spread(_mv(of.V, rest), (*times, of.y.shape[-1]))).sum(-1)
    start = 0 if x is None else x[..., 0, :]
    step = 0 if x is None else x[..., 1:, :] - _mv(of.F, x[..., :-1, :])
    start = start if of.m0 is None else start - of.m0
    step = step if of.c is None else step - of.c
    if not isinstance(start, int):
        total = total + _squares(_mv(of.W0, start))
    if not isinstance(step, int):
        total = total + _squares(space.spread(_mv(of.W, step), steps)).sum(-1)
    return total


def _solve(model: _System, D: Any, E: Any, b: Any, told: float) -> tuple[Any, Any, Any]:
    """x, log det A, and the factor. Where b alone has a batch axis there is one factorization. told: as in _has_digits()."""
    space = model.space
    columns = b.ndim > D.ndim - 1
    if columns:
        b = space.xp.moveaxis(b, 0, -1)
        b = space.spread(b, tuple(b.shape))
    try:
        x, f = _factor_solve(space, D, E, b)
    except (NearlySingular, NotPositiveDefinite) as error:  # it is sound but for rounding
        raise SpecError(_OPEN if model.is_open else _FEW_DIGITS) from error
    if model.is_open:  # a state that nothing is coupled with
        _require(space, space.diagonal(D) > 1e3 / huge(space), _OPEN)
    if space.name == "numpy":
        _has_digits(space, 1 / _status(f).least_pivot, told)
    return space.xp.moveaxis(x, -1, 0) if columns else x, f.log_determinant(), f


def _factor_solve(space: Namespace, D: Any, E: Any, b: Any) -> tuple[Any, Any]:
    """A^-1 b, and the factor."""
    if space.name == "numpy" and b.ndim < D.ndim:
        solver = solver_for(D, b, "all", "auto", 1, False, 1)
        return solver.factor_solve(D, E, b), solver
    if space.name == "numpy":
        f = factor(D, E)
        return f.solve(b), f
    module: Any = importlib.import_module(f"trifold.{space.name}")
    return module.factor_and_solve(D, E, b)


def _status(f: Any) -> Any:
    return f.status() if isinstance(f, Solver) else f.status


def _has_digits(space: Namespace, growth: Any, told: float) -> None:
    """growth: about entries of A times those of its inverse, by which rounding grows; times told, that of the results that are given."""
    _require(space, growth * space.epsilon < 0.01, _FEW_DIGITS)
    if space.epsilon < 1e-10 and space.known(told * growth * space.epsilon < _SIX_DIGITS) is False:
        warnings.warn(_LOSS, RuntimeWarning, stacklevel=6)


def _whiten(space: Namespace, matrices: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Returns for each (..., times, k, k) W with W' W the inverse, and log determinants."""
    for name, matrix in matrices.items():
        _require(space, space.diagonal(matrix) > 0, _SINGULAR.format(name), _Singular)
    results: list[tuple[Any, Any]] = []
    for (name, matrix), (W, logarithm) in zip(matrices.items(), _inverse_factors(space, matrices)):
        growth = space.diagonal(W) ** 2 * space.diagonal(matrix)  # rounding's part of a Cholesky factor's pivots
        _require(space, growth * (16 * W.shape[-1] * space.epsilon) < 1, _SINGULAR.format(name), _Singular)
        results.append((W, logarithm))
    return results


def _inverse_factors(space: Namespace, matrices: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Returns as _whiten(). Constant matrices are padded and factored in one call, for on a GPU a small one costs as much as three."""
    groups: dict[Any, list[str]] = {}
    for name, matrix in matrices.items():
        alone = space.name == "numpy" or matrix.shape[-3] > 1
        groups.setdefault(name if alone else tuple(matrix.shape[:-2]), []).append(name)
    results: dict[str, Any] = {}
    for names in groups.values():
        sizes = [int(matrices[name].shape[-1]) for name in names]
        padded = [_pad(space, matrices[name], max(sizes)) for name in names]
        W = _inverse_factor_of(space, names[0], padded[0] if len(padded) == 1 else _cat(space, padded, -3))
        logarithm = -2 * space.xp.log(space.diagonal(W)).sum(-1)
        for k, (name, size) in enumerate(zip(names, sizes)):
            one = slice(k, k + 1) if len(names) > 1 else slice(None)
            results[name] = W[..., one, :size, :size], logarithm[..., one]
    return [results[name] for name in matrices]


def _inverse_factor_of(space: Namespace, name: str, matrix: Any) -> Any:
    try:
        return space.inverse_factor(matrix)
    except np.linalg.LinAlgError as error:
        raise _Singular(_SINGULAR.format(name)) from error


def _pad(space: Namespace, matrix: Any, size: int) -> Any:
    """With an identity in the lower right corner."""
    k = int(matrix.shape[-1])
    if k == size:
        return matrix
    below = space.constant(np.eye(size)[k:] + np.zeros((*matrix.shape[:-2], 1, 1)))
    return _cat(space, [_cat(space, [matrix, space.constant(np.zeros((*matrix.shape[:-1], size - k)))], -1), below], -2)


def _covariance(space: Namespace, matrix: Any, name: str) -> Any:
    _finite(space, matrix, name)
    diagonal = space.xp.abs(space.diagonal(matrix))
    # Computed as inverses are, it is off by its condition times the rounding.
    allowed = (1e-3 if space.epsilon > 1e-10 else 1e-8) * space.xp.sqrt(diagonal[..., :, None] * diagonal[..., None, :])
    _require(space, space.xp.abs(matrix - _t(matrix)) <= allowed, _NOT_SYMMETRIC.format(name))
    return matrix


def _finite(space: Namespace, array: Any, name: str) -> Any:
    _require(space, space.xp.isfinite(array), _NOT_FINITE.format(name))
    return array


def _require(space: Namespace, condition: Any, message: str, error: type[SpecError] = SpecError) -> None:
    if space.known(condition) is False:
        raise error(message)


def _fit(array: Any, name: str, core: tuple[int, ...], times: int | None) -> Any:
    """Checks a shape, and gives an array without times an axis of 1 for them."""
    axes = len(core)
    fits = axes <= array.ndim <= axes + (1 if times is None else 2) and tuple(array.shape[-axes:]) == core
    if fits and times is not None and array.ndim == axes:
        return array[None]
    if not fits or (times is not None and array.shape[-axes - 1] not in (1, times)):
        allowed = [core, ("batch", *core)] if times is None else [core, (times, *core), ("batch", times, *core)]
        words = ["(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")" for shape in allowed]
        raise SpecError(f"{name} has shape {_text(array)}; give {', '.join(words[:-1])} or {words[-1]}")
    return array


def _same_values(ys: Any, H: Any, R: Any) -> None:
    """Whether ys has as many values a time as H and R have rows. Where only one of these differs, _fit() names it."""
    horizon, m = ys.shape[-2:]
    rows = H.shape[-2] if H.ndim > 1 else m
    if rows == m or R.ndim < 2 or R.shape[-2] != rows:
        return
    wanted = "(N,) or (N, 1)" if rows == 1 else f"(N, {rows})"
    raise SpecError(
        f"ys has shape {_text(ys)}, so at each of {horizon} times {m}, and H and R are for {rows} a time; give ys as {wanted}, "
        f"or H and R of {m} rows"
    )


def _horizon(F: Any, Q: Any) -> int:
    """N from those of F and Q that have steps. One step with a batch axis may stand for any number."""
    steps = [int(x.shape[-3]) for x in (F, Q) if x.ndim == 3 or (x.ndim == 4 and x.shape[-3] > 1)]
    if not steps:
        raise SpecError("neither F nor Q says how many steps there are; give horizon")
    return max(steps) + 1


def _front(matrices: list[Any], starts: list[Any], vectors: list[Any] | None = None, start_vectors: list[Any] | None = None) -> Front:
    """The batch axis common to all, if there is one."""
    fronts = [tuple(x.shape[:-3]) for x in matrices] + [tuple(x.shape[:-2]) for x in [*starts, *(vectors or [])]]
    return _join(fronts + [tuple(x.shape[:-1]) for x in start_vectors or []])


def _join(fronts: list[Front]) -> Front:
    if not any(fronts):
        return ()
    try:
        return tuple(np.broadcast_shapes(*fronts))
    except ValueError as error:
        raise SpecError(f"batch axes of {', '.join(str(f[0]) for f in fronts if f)}; they must be equal, or 1") from error


def _text(array: Any) -> str:
    return str(tuple(array.shape))


def _t(matrix: Any) -> Any:
    return matrix.swapaxes(-1, -2)


def _mv(matrix: Any, vector: Any) -> Any:
    return (matrix @ vector[..., None])[..., 0]


def _squares(vector: Any) -> Any:
    return (vector * vector).sum(-1)


def _cat(space: Namespace, parts: list[Any], axis: int) -> Any:
    return space.xp.concatenate(parts, axis)
