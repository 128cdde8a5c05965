"""Effects of regressors in state spaces, against statsmodels and dense generalized least squares."""

import numpy as np
import pytest
import trifold
from faces import all_close, close, stepped
from trifold import models

RNG = np.random.default_rng(4)


def model(N=9, n=2, m=2, k=3):
    """Arguments of regression(), with values that are missing."""
    F, H = 0.6 * np.eye(n) + 0.1 * RNG.normal(size=(n, n)), RNG.normal(size=(m, n))
    Q, R, P0 = (np.eye(size) + 0.2 for size in (n, m, n))
    ys, X = RNG.normal(size=(N, m)), RNG.normal(size=(N, m, k))
    ys[3, 0] = ys[6] = np.nan
    return (F, H, Q, R, P0, ys, X), {"m0": RNG.normal(size=n), "c": RNG.normal(size=n), "d": RNG.normal(size=m)}


def dense(F, H, Q, R, P0, ys, X, m0, c, d):
    """All fields, by the covariance of all values at once."""
    (N, m), n = ys.shape, len(F)
    mean, cov = [m0], np.zeros((N, n, N, n))
    cov[0, :, 0] = P0
    for t in range(1, N):
        mean.append(F @ mean[-1] + c)
        cov[t, :, :t] = np.einsum("ij,jsk->isk", F, cov[t - 1, :, :t])
        cov[:t, :, t] = np.einsum("isj->sji", cov[t, :, :t])
        cov[t, :, t] = F @ cov[t - 1, :, t - 1] @ F.T + Q
    cov, there = cov.reshape(N * n, N * n), ~np.isnan(ys).ravel()
    big = np.kron(np.eye(N), H)[there]
    V = big @ cov @ big.T + np.kron(np.eye(N), R)[np.ix_(there, there)]
    rest, rows = (ys - d).ravel()[there] - big @ np.ravel(mean), X.reshape(N * m, -1)[there]
    S = rows.T @ np.linalg.solve(V, rows)
    effects = np.linalg.solve(S, rows.T @ np.linalg.solve(V, rest))
    left, gain = rest - rows @ effects, np.linalg.solve(V, big @ cov).T
    of_states = cov - gain @ big @ cov + gain @ rows @ np.linalg.solve(S, (gain @ rows).T)
    blocks = of_states.reshape(N, n, N, n)[range(N), :, range(N)]
    logs = np.linalg.slogdet(V)[1] + np.linalg.slogdet(S)[1] + len(V) * np.log(2 * np.pi)
    found = effects, np.sqrt(np.diag(np.linalg.inv(S))), np.linalg.inv(S), np.reshape(mean, (N, n)) + (gain @ left).reshape(N, n)
    return *found, np.diagonal(blocks, 0, 1, 2), -(logs + left @ np.linalg.solve(V, left)) / 2, blocks


@pytest.mark.parametrize(("n", "m", "k"), [(2, 2, 3), (3, 1, 1), (1, 2, 2)])
def test_effects_and_states(n, m, k):
    arrays, inputs = model(n=n, m=m, k=k)
    arrays[-1][6] = np.nan  # where values are missing
    found, expected = models.regression(*arrays, **inputs), dense(*(*arrays[:-1], np.nan_to_num(arrays[-1])), **inputs)
    all_close(found, expected)
    if m == 1:
        all_close(models.regression(*arrays[:-2], arrays[-2][:, 0], arrays[-1][:, 0], **inputs), expected)
    many = np.stack([arrays[-2], arrays[-2] + 1.0])
    for part, one in zip(models.regression(*arrays[:-2], many, arrays[-1], **inputs), expected):
        close(part[0], one)
    all_close(
        [part[1] for part in models.regression(*arrays[:-2], many, np.stack([arrays[-1]] * 2), **inputs)],
        models.regression(*arrays[:-2], many[1], arrays[-1], **inputs),
    )


def test_a_level_is_that_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    X = np.stack([np.cos(np.arange(60) / 5), RNG.normal(size=60)], 1)
    y = 50 + np.cumsum(0.3 * RNG.normal(size=60)) + X @ [2.0, -1.0] + RNG.normal(size=60)
    y[20:25] = np.nan
    theirs = api.tsa.UnobservedComponents(y, "llevel", exog=X, mle_regression=False, use_exact_diffuse=True).smooth([1.0, 0.09])
    found = models.regression(*models.local_level(0.09, 1.0), y, X)
    close(found.effects, theirs.smoothed_state[1:, 0], 1e-9)
    close(found.effects_covariance, theirs.smoothed_state_cov[1:, 1:, 0], 3e-8)
    close(found.mean[:, 0], theirs.smoothed_state[0], 1e-9)
    close(found.variance[:, 0], theirs.smoothed_state_cov[0, 0], 3e-8)
    close(found.log_likelihood, theirs.llf, 1e-9)


def test_a_season_whose_covariance_is_singular():
    """Also in a batch, of which each series has regressors of its own."""
    api = pytest.importorskip("statsmodels.api")
    process = models.total(models.local_level(0.2, 1.0), models.seasonal(4, 0.1))
    X = RNG.normal(size=(2, 60, 2))
    y = np.cumsum(RNG.normal(size=(2, 60)), 1) + X @ [2.0, -1.0]
    y[0, 5:9] = np.nan
    found = models.regression(*process, y, X)
    for k in range(2):
        spec = {"seasonal": 4, "exog": X[k], "mle_regression": False, "use_exact_diffuse": True}
        theirs = api.tsa.UnobservedComponents(y[k], "llevel", **spec).smooth([1.0, 0.2, 0.1])
        close(found.effects[k], theirs.smoothed_state[-2:, 0], 1e-8)
        close(found.deviations[k] ** 2, np.diag(theirs.smoothed_state_cov[-2:, -2:, 0]), 1e-7)
        close(found.mean[k, :, 0], theirs.smoothed_state[0], 1e-8)
        close(found.log_likelihood[k], theirs.llf, 1e-8)


def test_series_of_unequal_length():
    process, lengths = models.arma([0.5], [0.3], 1.0, 0.2), (30, 12, 3, 5)
    series, X = [RNG.normal(size=N) for N in lengths], [RNG.normal(size=(N, 1)) for N in lengths]
    for found, y, x in zip(models.regression(*process, series, X), series, X, strict=True):
        all_close(found, models.regression(*process, y, x))
        assert found.effects.shape == (1,) and found.mean.shape == (len(y), 2)
    several = "ys is a list of 4 series"
    for words, given in [(several, X[:3]), (several, X[0]), (r"X has shape \(29, 1\); give \(30, k\)", [X[0][1:], *X[1:]])]:
        with pytest.raises(trifold.SpecError, match=words):
            models.regression(*process, series, given)
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2026-01-01", periods=30)
    found = models.regression(*process, pandas.Series(series[0], index), pandas.DataFrame(X[0], index))
    assert (found.mean.index == index).all()


def test_gradients():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    arrays, inputs = model()
    changes = [RNG.normal(size=array.shape) for array in arrays]
    for k in (2, 3, 4):
        changes[k] = changes[k] + changes[k].T
    weights = [RNG.normal(size=part.shape) for part in models.regression(*arrays, **inputs)]
    expected = sum(np.vdot(w, slope) for w, slope in zip(weights, stepped(lambda *a: models.regression(*a, **inputs), arrays, changes)))
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    found = models.regression(*leaves, **{name: torch.tensor(value) for name, value in inputs.items()})
    torch.autograd.backward(found, [torch.tensor(w) for w in weights])
    assert sum(np.vdot(leaf.grad.numpy(), change) for leaf, change in zip(leaves, changes)) == pytest.approx(expected, rel=1e-6)
    values, slopes = jax.jit(lambda a, d: jax.jvp(lambda *a: models.regression(*a, **inputs), a, d))(tuple(arrays), tuple(changes))
    all_close(values, models.regression(*arrays, **inputs))
    assert sum(map(np.vdot, weights, slopes)) == pytest.approx(expected, rel=1e-6)


def test_what_does_not_fit():
    process, y, X = models.local_level(0.1, 1.0), RNG.normal(size=20), RNG.normal(size=(20, 2))
    (F, H, Q, R, P0, ys, regressors), _ = model()
    for words, call in [
        ("do not determine the effects", lambda: models.regression(*process, y, X @ [[1, 2], [1, 2]])),
        ("do not determine the effects", lambda: models.regression(*process, y, np.ones((20, 1)))),
        ("do not determine the effects", lambda: models.regression(*process, y, np.zeros((20, 1)))),
        (r"X has shape \(19, 2\); give \(20, k\)", lambda: models.regression(*process, y, X[1:])),
        (r"X has shape \(20,\); give \(20, k\)", lambda: models.regression(*process, y, X[:, 0])),
        (r"X has shape \(20, 0\)", lambda: models.regression(*process, y, X[:, :0])),
        (r"X has shape \(9, 3\); give \(9, 2, k\)", lambda: models.regression(F, H, Q, R, P0, ys, regressors[:, 0])),
        ("X has infinities or NaN", lambda: models.regression(*process, y, X * np.nan)),
        ("not positive definite, or singular", lambda: models.regression(F, H, 0 * Q, R, P0, ys, regressors, singular=False)),
        ("singular = 1 is neither", lambda: models.regression(*process, y, X, singular=1)),
    ]:
        with pytest.raises(trifold.SpecError, match=words):
            call()
