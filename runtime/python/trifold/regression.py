"""Effects of regressors in state spaces: a border of the smoother's system, y(t) = H x(t) + X(t) beta + d + v."""

# pyright: reportConstantRedefinition=false, reportPrivateUsage=false
# Matrices have the upper-case letters of the textbooks.

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy

from .errors import SpecError
from .namespaces import Namespace
from .options import truth
from .series import Given, read, regressors
from .singular import limit
from .state_space import _LOSS, _SIX_DIGITS, _finite, _fitted, _Model, _mv, _require, _Singular, _solve, _t

np: Any = numpy
_UNDETERMINED = "the values do not determine the effects: columns of X depend on each other, or on what the states explain; leave some out"


class Regression(NamedTuple):
    """Effects and states given all observations, with a batch axis in front where an argument had one."""

    effects: Any  #: (k,)
    deviations: Any  #: (k,), the standard deviations of the effects
    effects_covariance: Any  #: (k, k)
    mean: Any  #: (N, n), of the states, without the effects
    variance: Any  #: (N, n)
    log_likelihood: Any  #: log p(y): () or (batch,)
    covariance: Any  #: (N, n, n)


def regression(
    F: Any,
    H: Any,
    Q: Any,
    R: Any,
    P0: Any,
    ys: Any,
    X: Any,
    *,
    m0: Any = None,
    c: Any = None,
    d: Any = None,
    singular: bool | None = None,
) -> Any:
    """Effects of regressors with their standard deviations, and the smoothed states: a Regression, or a list of them for a list of series.

    The model is that of kalman(), with y(t) = H x(t) + X(t) beta + d + v. X: (N, k) where H has one row, else (N, m, k), with a batch axis
    in front for regressors of each series; for a list of series a list of as many. X is not used where a value of ys is missing. The
    effects beta have no prior: the log likelihood is the limit for large variances, less the logarithms that go to infinity, as for diffuse
    starts.

    The other arguments, libraries, gradients and errors are those of kalman(). Where Q, R or P0 is singular results are limits,
    extrapolated from three systems. Raises SpecError where the values do not determine the effects; within jit, vmap and torch.compile, and
    on a GPU, there is no such check.
    """
    given = read(F, H, Q, R, P0, ys, m0, c, d, X)
    with given.space.exact():
        return given.back(_limit(given, regressors(X, given), truth(singular, "singular")))


def _limit(given: Given, X: Any, singular: bool | None) -> Regression:
    """The results, or their limit where covariances are singular."""
    if not singular:
        try:
            return _regression(given, X, 16.0)
        except _Singular:
            if singular is not None:
                raise
    found, lost = limit(lambda near: _regression(near, X, 0.0), given, True)
    if lost is not None and lost > _SIX_DIGITS and given.space.epsilon < 1e-10:
        warnings.warn(_LOSS, RuntimeWarning, stacklevel=3)
    return Regression(*found)


def _regression(given: Given, X: Any, told: float) -> Regression:
    """told: as in _has_digits()."""
    space, model = given.space, _Model(_fitted(given), False)
    (horizon, k), front = (model.prior.horizon, int(X.shape[-1])), model.front
    if X.ndim > 3 and X.shape[0] != front[0]:  # for all amounts of noise
        X = space.xp.concatenate([X] * (front[0] // X.shape[0]), 0)
    X = _finite(space, space.xp.where(space.xp.isnan(given.ys)[..., None], 0.0, X), "X")
    D, E, b = model.system()
    D, E = (space.spread(blocks, (*front, *blocks.shape[-3:])) for blocks in (D, E))
    WX = model.V @ X
    border = space.spread(_t(WX) @ model.U, (*front, horizon, k, model.prior.n))
    z, log_determinant, f = _solve(model, D, E, b, told)
    Y = f.solve(space.spread(_t(border), (*front, horizon, model.prior.n, k)))
    C = space.spread(_t(WX) @ WX, (*front, horizon, k, k)).sum(-3)
    W, log_S = _inverse(space, C - (border @ Y).sum(-3), C)
    tip = space.spread(_mv(_t(WX), _mv(model.V, model.y)), (*front, horizon, k)).sum(-2) - _mv(border, z).sum(-2)
    effects, of_effects = _mv(_t(W), _mv(W, tip)), _t(W) @ W
    mean = z - _mv(Y, effects[..., None, :])
    spread = Y @ _t(W)[..., None, :, :]
    covariance = f.selected_inverse()[0] + spread @ _t(spread)
    model.y = model.y - _mv(X, effects[..., None, :])
    value = -(model.least(mean) + log_determinant + log_S) / 2
    deviations = space.xp.sqrt(space.diagonal(of_effects))
    return Regression(effects, deviations, of_effects, mean, space.diagonal(covariance), value, covariance)


def _inverse(space: Namespace, S: Any, C: Any) -> tuple[Any, Any]:
    """W with W' W = S^-1, and log det S, which rounding must not decide, as where S is all that is left of C."""
    _require(space, space.diagonal(S) > 0, _UNDETERMINED)
    try:
        W = space.inverse_factor(0.5 * (S + _t(S)))
    except np.linalg.LinAlgError as error:
        raise SpecError(_UNDETERMINED) from error
    _require(space, space.diagonal(W) ** 2 * space.diagonal(C) * (1000 * space.epsilon) < 1, _UNDETERMINED)
    return W, -2 * space.xp.log(space.diagonal(W)).sum(-1)
