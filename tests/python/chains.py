"""Tests of block tridiagonal matrices that are the same for each library: by dense algebra and its derivatives, all in NumPy."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import trifold
from faces import all_close, close, stepped, tolerances
from problems import dense, make, moments, rhs, singular, slopes, solution, weights_of

# Every n with every N; batches and columns take turns, such that each n and each N has all four.
SHAPES = [(None, None), (2, None), (None, 2), (3, 2)]
GRID = [(n, N, *SHAPES[(i + k) % 4]) for i, n in enumerate((1, 3, 8, 17)) for k, N in enumerate((1, 2, 7, 32))]


def problem(n, N, batch=None, columns=None, dtype=np.float64):
    return *make(n, N, batch, dtype), rhs(n, N, batch, columns, dtype)


def of_factor(module, D, E, b, **options):
    f = module.factor(D, E, **options)
    return f.solve(b), f.log_determinant(), f.quadratic(b), *f.selected_inverse()


# Each way to its results: which of those of moments() they are, and a function of a module and of D, E and b.
WAYS = {
    "solve": ((0,), lambda m, D, E, b, **o: (m.solve(D, E, b, **o),)),
    "quadratic": ((2,), lambda m, D, E, b, **o: (m.quadratic(D, E, b, **o),)),
    "log_determinant": ((1,), lambda m, D, E, b, **o: (m.log_determinant(D, E, **o),)),
    "likelihood": ((0, 1, 2), lambda m, *a, **o: tuple(m.likelihood(*a, **o))),
    "marginals": ((0, 1, 2, 3, 4), lambda m, *a, **o: tuple(m.marginals(*a, **o))),
    "factor": ((0, 1, 2, 3, 4), of_factor),
}


def everything(module, **options):
    """All ways in one function, so that it is compiled once, and the places of its results in those of moments()."""

    def function(*arrays):
        return sum((way(module, *arrays, **options) for _, way in WAYS.values()), ())

    return function, sum((places for places, _ in WAYS.values()), ())


def summed(weights, places, terms):
    """Weights of moments() that stand for those of several results each."""
    return [sum((w for w, of in zip(weights, places) if of == k), np.zeros(np.shape(term))) for k, term in enumerate(terms)]


def by_library(xp, D, E, b):
    """x, log det A and b' A^-1 b by a library's own dense functions, with its derivatives: symmetric ones of D."""
    N, blocks, none = D.shape[-3], (D + D.mT) / 2, 0 * D[..., 0, :, :]

    def block(i, j):
        if i == j:
            return blocks[..., i, :, :]
        return none if abs(i - j) > 1 else E[..., j, :, :] if i > j else E[..., i, :, :].mT

    A = xp.concatenate([xp.concatenate([block(i, j) for j in range(N)], -1) for i in range(N)], -2)
    flat = b.reshape(*A.shape[:-1], -1)
    x = xp.linalg.solve(A, flat)
    quadratic = (flat * x).sum(-2)
    return x.reshape(b.shape), xp.linalg.slogdet(A)[1], quadratic if b.ndim == D.ndim else quadratic[..., 0]


def symmetric(D, E, b):
    return D + D.swapaxes(-1, -2), E, b


class Calls:
    """What each library offers, without derivatives."""

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize(
        ("n", "N", "batch", "columns"),
        [(1, 1, None, None), (3, 7, 3, 2), (3, 7, None, None), (8, 2, 1, None), (17, 32, None, 2), (64, 5, 2, 1)],
    )
    def test_all_calls(self, face, n, N, batch, columns, dtype):
        arrays = problem(n, N, batch, columns, dtype)
        D, E, b = map(face.give, arrays)
        expected, near = moments(*arrays), tolerances(dtype)
        f = face.module.factor(D, E)
        x = face.module.solve(D, E, b)
        assert isinstance(x, face.kind) and x.dtype == b.dtype
        for mine in (x, f.solve(b), f.backward(f.forward(b))):
            np.testing.assert_allclose(face.get(mine), expected[0], **near)
        assert isinstance(face.module.marginals(D, E, b), trifold.Marginals)
        for results in (of_factor(face.module, D, E, b), face.module.marginals(D, E, b)):
            for mine, theirs in zip(results, expected, strict=True):
                assert isinstance(mine, face.kind) or np.ndim(mine) == 0
                assert mine.shape == theirs.shape
                np.testing.assert_allclose(face.get(mine), theirs, **near)
        assert face.get(f.log_determinant()).dtype == face.get(f.quadratic(b)).dtype == np.float64
        if face.module is trifold:
            assert np.all(f.status.block == -1) and np.all(f.status.floors == 0) and np.shape(f.status.block) == D.shape[:-3]
        y = face.get(f.forward(b)).astype(np.float64)
        np.testing.assert_allclose(np.sum(y * y, (-3, -2) if columns else (-2, -1)), expected[2], rtol=10 * near["rtol"])


class Draws:
    @pytest.mark.parametrize("batch", [None, 2])
    def test_moments_of_draws(self, face, batch):
        D, E, mean = problem(2, 3, batch)
        f = face.module.factor(face.give(D), face.give(E))
        draws = f.sample(face.generator(1), face.give(mean), draws=40000)
        assert tuple(draws.shape) == (*mean.shape, 40000)
        flat, inverse = face.get(draws).reshape(-1, 6, 40000), np.linalg.inv(dense(D, E)).reshape(-1, 6, 6)
        scale = np.max(inverse)
        assert np.max(abs(flat.mean(-1) - mean.reshape(-1, 6))) < 0.03 * np.sqrt(scale)
        for one, expected in zip(flat, inverse):
            assert np.max(abs(np.cov(one) - expected)) < 0.03 * scale
        np.testing.assert_array_equal(face.get(f.sample(face.generator(1), face.give(mean), draws=40000)), face.get(draws))
        assert tuple(f.sample(face.generator(2)).shape) == mean.shape
        with pytest.raises(trifold.SpecError, match="mean has shape"):
            f.sample(face.generator(1), face.give(mean[..., :1]))


class Derivatives(Draws):
    """Derivatives, and transformations of functions."""

    @pytest.mark.parametrize(("n", "N", "batch", "columns"), GRID)
    def test_values_and_gradients(self, face, n, N, batch, columns):
        arrays = problem(n, N, batch, columns)
        function, places = everything(face.module)
        terms = moments(*arrays)
        weights = weights_of([terms[k] for k in places])
        values, gradients = face.values_and_gradients(function, arrays, weights)
        all_close(values, [terms[k] for k in places])
        all_close(gradients, slopes(*arrays, summed(weights, places, terms)))

    def test_the_oracle(self):
        """The slopes that others are compared with are those of differences, also of lower triangles alone."""
        arrays = problem(2, 3, 2, 2)
        weights, changes = weights_of(moments(*arrays)), weights_of(arrays, 6)
        for triangle, change in (("both", symmetric(*changes)), ("lower", changes)):
            slope = sum(np.vdot(w, d) for w, d in zip(weights, stepped(moments, arrays, change)))
            mine = sum(np.vdot(g, d) for g, d in zip(slopes(*arrays, weights, triangle), change))
            assert mine == pytest.approx(slope, rel=1e-7)

    @pytest.mark.parametrize("some", [(0,), (1,), (2,), (0, 2)])
    def test_gradients_by_some_arrays(self, face, some):
        arrays = problem(3, 7, 2)
        function, places = everything(face.module)
        terms = moments(*arrays)
        weights = weights_of([terms[k] for k in places])
        _, gradients = face.values_and_gradients(function, arrays, weights, some)
        whole = slopes(*arrays, summed(weights, places, terms))
        all_close(gradients, [whole[k] for k in some])

    @pytest.mark.parametrize(("n", "N", "batch"), [(3, 2, None), (2, 5, 2)])
    def test_lower_triangles(self, face, n, N, batch):
        """Gradients of D as the page says: with triangle="lower" zero above the diagonal, and twice as large below."""
        arrays = problem(n, N, batch)
        function, places = everything(face.module, triangle="lower")
        terms = moments(*arrays)
        weights = weights_of([terms[k] for k in places])
        _, gradients = face.values_and_gradients(function, arrays, weights)
        all_close(gradients, slopes(*arrays, summed(weights, places, terms), "lower"))
        with pytest.raises(trifold.SpecError, match="triangle = 'upper'"):
            face.module.solve(*map(face.give, arrays), triangle="upper")

    @pytest.mark.parametrize(
        ("n", "N", "batch", "columns"), [(1, 1, None, None), (1, 2, None, None), (3, 2, None, 2), (3, 7, 2, None), (17, 2, 3, 2)]
    )
    def test_second_derivatives(self, face, n, N, batch, columns):
        """Derivatives of gradients along a change, against differences of the oracle's."""
        arrays = problem(n, N, batch, columns)
        function, places = everything(face.module)
        terms = moments(*arrays)
        weights, changes = weights_of([terms[k] for k in places]), symmetric(*weights_of(arrays, 6))
        of_terms = summed(weights, places, terms)
        expected = stepped(lambda *a: slopes(*a, of_terms), arrays, changes)
        all_close(face.along(function, arrays, weights, changes), expected, 1e-6)

    @pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-5)])
    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
    def test_derivatives_of_the_selected_inverse(self, face, dtype, tolerance, scale):
        """They are as accurate as the inverse itself, whatever the scale of A is."""
        D, E, b = problem(8, 32)
        D, E = (scale * D).astype(dtype), (scale * E).astype(dtype)
        weights = weights_of((D, E))
        _, gradients = face.values_and_gradients(lambda D, E: tuple(face.module.factor(D, E).selected_inverse()), (D, E), weights)
        all_close(gradients, slopes(D, E, b, [0 * b, 0, 0, *weights])[:2], tolerance)

    def test_the_selected_inverse_of_no_gradient(self, face):
        """Gradients of zeros are zeros, and not 0 / 0."""
        D, E, _ = problem(3, 4)
        _, gradients = face.values_and_gradients(lambda D, E: tuple(face.module.factor(D, E).selected_inverse()), (D, E), (0 * D, 0 * E))
        assert not any(np.any(gradient) for gradient in gradients)

    def test_single_precision(self, face):
        arrays = problem(8, 7, 2, dtype=np.float32)
        wide = [array.astype(np.float64) for array in arrays]
        function, places = everything(face.module)
        terms = moments(*wide)
        weights = weights_of([terms[k] for k in places])
        values, gradients = face.values_and_gradients(function, arrays, weights)
        assert [value.dtype for value in values] == [np.float64 if k in (1, 2) else np.float32 for k in places]
        assert all(gradient.dtype == np.float32 for gradient in gradients)
        all_close(values, [terms[k] for k in places], 1e-4)
        all_close(gradients, slopes(*wide, summed(weights, places, terms)), 1e-3)

    @pytest.mark.parametrize(("batch", "columns"), [(None, None), (2, 3)])
    def test_sweeps_are_transposes(self, face, batch, columns):
        """forward and backward are linear in b, and each is the transpose of the other: so are their gradients."""
        D, E, b = problem(3, 7, batch, columns)
        f, w = face.module.factor(face.give(D), face.give(E)), rhs(3, 7, batch, columns, seed=3)
        (y,), (of_forward,) = face.values_and_gradients(lambda b: (f.forward(b),), (b,), (w,))
        (x,), (of_backward,) = face.values_and_gradients(lambda b: (f.backward(b),), (w,), (b,))
        assert np.vdot(y, w) == pytest.approx(np.vdot(b, x), rel=1e-12)
        close(of_forward, x)
        close(of_backward, y)
        if columns:
            one = face.vmap(lambda D, E, b: face.module.factor(D, E).backward(b))
            close(face.get(one(*map(face.give, (D, E, w)))), x)
            close(face.get(face.vmap(f.forward, -1, -1)(face.give(b))), y)

    def test_draws_have_gradients_of_the_mean_alone(self, face):
        D, E, mean = problem(3, 7)
        factor = face.module.factor
        f = factor(face.give(D), face.give(E))
        _, (gradient,) = face.values_and_gradients(lambda mean: (f.sample(face.generator(0), mean),), (mean,), (np.ones_like(mean),))
        close(gradient, np.ones_like(mean))
        with pytest.raises(trifold.SpecError, match="no derivative with respect to D and E"):
            face.values_and_gradients(lambda D: (factor(D, face.give(E)).sample(face.generator(0)),), (D,), (mean,))

    @pytest.mark.parametrize("axes", ["DEb", "DE", "b", "Db", "E", "D", "Eb"])
    @pytest.mark.parametrize("columns", [None, 2])
    def test_vmap(self, face, axes, columns):
        """A batch equals its members alone; gradients of what has no axis are sums over them."""
        arrays = [array if name in axes else array[0] for name, array in zip("DEb", problem(3, 2, 3, columns))]
        members = [[array[k] if name in axes else array for name, array in zip("DEb", arrays)] for k in range(3)]
        function, places = everything(face.module)
        terms = [moments(*one) for one in members]
        weights = weights_of([np.stack([one[k] for one in terms]) for k in places])
        mapped = face.vmap(function, tuple(0 if name in axes else None for name in "DEb"))
        values, gradients = face.values_and_gradients(mapped, arrays, weights)
        all_close(values, [np.stack([one[k] for one in terms]) for k in places])
        alone = [slopes(*one, summed([w[k] for w in weights], places, terms[0])) for k, one in enumerate(members)]
        for mine, theirs, name in zip(gradients, map(np.stack, zip(*alone)), "DEb"):
            close(mine, theirs if name in axes else theirs.sum(0))

    def test_vmap_within_vmap_and_gradients_within(self, face):
        arrays = problem(3, 2, 4)
        function, places = everything(face.module)
        terms = moments(*arrays)
        weights = weights_of([terms[k][0] for k in places])

        def total(D, E, b):
            return sum((face.give(np.asarray(w)) * result).sum() for w, result in zip(weights, function(D, E, b)))

        split = [face.give(array.reshape(2, 2, *array.shape[1:])) for array in arrays]
        mine = face.compiled(face.vmap(face.vmap(face.grad(total, (0, 1, 2)))))(*split)
        alone = [slopes(*(array[k] for array in arrays), summed(weights, places, [term[0] for term in terms])) for k in range(4)]
        for one, theirs in zip(mine, map(np.stack, zip(*alone))):
            close(face.get(one).reshape(theirs.shape), theirs)

    def test_vmap_over_a_batch(self, face):
        """A batch axis of its own, and other axes of the arguments."""
        D, E, b = problem(3, 2, 6)
        x, solve = solution(D, E, b), face.module.solve
        split = [array.reshape(2, 3, *array.shape[1:]) for array in (D, E, b)]
        given = split[0], np.moveaxis(split[1], 0, 3), np.moveaxis(split[2], 0, 2)
        close(face.get(face.vmap(solve, (0, 3, 2), 1)(*map(face.give, given))), np.moveaxis(x.reshape(split[2].shape), 0, 1))
        mine = face.vmap(solve, (None, None, 0))(*map(face.give, (D, E, np.stack([b, 2 * b]))))
        close(face.get(mine), np.stack([x, 2 * x]))

    def test_jacobians(self, face):
        D, E, b = problem(3, 2)
        inverse, given = np.linalg.inv(dense(D, E)).reshape(2, 3, 2, 3), [face.give(array) for array in (D, E, b)]
        close(face.get(face.jacobian(face.module.solve, 2)(*given)), inverse)
        close(face.get(face.jacobian(face.jacobian(face.module.quadratic, 2), 2)(*given)), 2 * inverse)

    def test_factors_pass_through_vmap(self, face):
        arrays = problem(3, 7, 4)
        D, E, b = map(face.give, arrays)
        f = face.vmap(face.module.factor)(D, E)
        close(face.get(face.vmap(lambda f, b: f.solve(b))(f, b)), solution(*arrays))

    @pytest.mark.parametrize("function", ["log_determinant", "selected_inverse"])
    def test_gradients_of_ported_code(self, face, function):
        """One block: what the library's own functions give for a symmetric matrix."""
        (D, *_), linalg = problem(4, 1), (face.library if face.name == "torch" else face.library.numpy).linalg
        if function == "log_determinant":
            mine = lambda D: (face.module.log_determinant(D, None),)  # noqa: E731
            other = lambda D: (linalg.slogdet(D[0])[1],)  # noqa: E731
        else:
            mine = lambda D: ((face.module.factor(D, None).selected_inverse()[0] ** 2).sum(),)  # noqa: E731
            other = lambda D: ((linalg.inv((D[0] + D[0].mT) / 2) ** 2).sum(),)  # noqa: E731
        gradients = [face.values_and_gradients(call, (D,), (1.0,))[1][0] for call in (mine, other)]
        close(gradients[0], gradients[1])

    def test_members_that_fail(self, face):
        """Their results and gradients are NaN, and those of others as they were."""
        arrays = problem(3, 7, 3)
        sound = everything(face.module)[0](*map(face.give, arrays))
        function, places = everything(face.module, **face.unchecked)
        arrays[0][1, 4] *= -1
        values, gradients = face.values_and_gradients(function, arrays, [1.0] * len(places))
        for one, as_sound in zip(map(np.asarray, values), sound):
            assert np.isnan(one[1]).all()
            close(one[[0, 2]], face.get(as_sound)[[0, 2]], 1e-14)
        for gradient in map(np.asarray, gradients):
            assert np.isnan(gradient[1]).all() and np.isfinite(gradient[[0, 2]]).all()

    def test_nearly_singular_members_are_accepted(self, face):
        D, E = singular(3)
        D[[0, 2]] *= 2
        D[1, -1] *= 1 + 16 * np.finfo(D.dtype).eps  # positive however it is rounded, and below the bound of 64 epsilon
        function, places = everything(face.module, **face.accepted)
        values, gradients = face.values_and_gradients(function, (D, E, np.ones((3, 3, 1))), [1.0] * len(places))
        assert all(np.isfinite(value).all() for value in (*values, *gradients))

    def test_unknown_words_are_told_which_there_are(self, face):
        for name in ("solve", "factor", "likelihood", "marginals", "quadratic", "log_determinant"):
            function = getattr(face.module, name)
            names = [one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
            with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'mixed'; it takes {', '.join(names)}$"):
                function(*[None] * 3, mixed=True)
            assert "triangle" in names
