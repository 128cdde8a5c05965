"""Lengths, sizes and bands in trifold.torch and trifold.jax: values and derivatives, against dense matrices and their differences."""

import numpy as np
import pytest
import trifold
from faces import Jax, Torch, all_close, close, stepped
from problems import weights_of

RNG = np.random.default_rng(3)
SIZES = np.array([[3, 2, 0, 3, 1], [3, 3, 3, 3, 3], [1, 3, 2, 2, 3]])
SHAPES = {
    "lengths": ({"lengths": np.array([5, 2, 0])}, 1),
    "sizes": ({"sizes": SIZES}, 1),
    "both": ({"lengths": np.array([4, 5, 2]), "sizes": SIZES[0]}, 1),
    "band": ({"bandwidth": 2}, 2),
    "wide": ({"bandwidth": 6}, 6),
    "ring": ({"bandwidth": 2, "ring": True}, 2),
    "turn": ({"bandwidth": 4, "ring": True}, 4),
}


@pytest.fixture(params=[Torch, Jax])
def face(request):
    return request.param()


def inside(shape, options):
    """Which rows there are of D of that shape."""
    batch, N, _, n = shape
    ends = np.minimum(options.get("lengths", N) + np.zeros(batch), N)
    return (np.arange(N) < ends[:, None])[..., None] & (np.arange(n) < (options.get("sizes", n) + np.zeros((batch, N)))[..., None])


def where_of(options, w, shape):
    """Which entries of D, E and b count."""
    there = inside(shape, options)
    if "ring" in options:
        return there[..., :, None] & there[..., None, :], np.ones((*shape[:2], w, *shape[2:]), bool), there
    both = np.zeros((*shape[:2], w, *shape[2:]), bool)
    for k in range(w):
        both[:, : max(shape[1] - k - 1, 0), k] = there[:, k + 1 :, :, None] & there[:, : max(shape[1] - k - 1, 0), None, :]
    return there[..., :, None] & there[..., None, :], both if w > 1 else both[:, :-1, 0], there


def problem(name, columns=None, N=5, n=3, batch=3, seed=1):
    """Options, D, E and b with NaN where nothing counts, and where they count."""
    (options, w), rng = SHAPES[name], np.random.default_rng(seed)
    N -= N % w if "ring" in options else 0
    D = rng.normal(size=(batch, N, n, n))
    D = D + D.swapaxes(-1, -2) + (8 * n + 4 * w) * np.eye(n)
    E, b = rng.normal(size=(batch, N, w, n, n)), rng.normal(size=(batch, N, n, *(() if columns is None else (columns,))))
    E = E if w > 1 else E[:, :-1, 0]
    kept = where_of(options, w, D.shape)
    of_b = kept[2] if columns is None else kept[2][..., None]
    return options, [np.where(which, array, np.nan) for which, array in zip((*kept[:2], of_b), (D, E, b))], (*kept[:2], of_b)


def dense(D, E, there, ring=False):
    """A member's matrix, with the identity in the place of rows that there are not."""
    (N, n), w = there.shape, E.shape[1] if E.ndim == 4 else 1
    A = np.eye(N * n).reshape(N, n, N, n)
    for i in range(N):
        own = np.tril(D[i]) + np.tril(D[i], -1).T
        A[i, :, i] = np.where(there[i][:, None] & there[i], own, np.eye(n))
        for k in range(w if ring else min(w, N - i - 1)):
            to = (i + k + 1) % N
            part = np.where(there[to][:, None] & there[i], E[i, k] if E.ndim == 4 else E[i], 0)
            A[to, :, i] += part
            A[i, :, to] += part.T
    return A.reshape(N * n, N * n)


def oracle(options):
    """The results of marginals() as a function of arrays."""

    def of_member(D, E, b, there):
        ring = "ring" in options
        A, (N, n) = dense(D, E, there, ring), there.shape
        right = np.where(there.reshape(b.shape[:2] + (1,) * (b.ndim - 2)), b, 0)
        inverse = np.linalg.inv(A)
        x = (inverse @ right.reshape(N * n, -1)).reshape(b.shape)
        blocks = inverse.reshape(N, n, N, n)
        diagonal = np.where(there[..., None] & there[:, None, :], blocks[range(N), :, range(N)], 0)
        lower = np.zeros_like(E)
        places = [(i, k) for i in range(N) for k in range(E.shape[1] if E.ndim == 4 else 1) if ring or i + k + 1 < N]
        for i, k in places:
            lower[(i, k) if E.ndim == 4 else i] = blocks[(i + k + 1) % N, :, i]
        return x, np.linalg.slogdet(A)[1], (right * x).sum((0, 1)), diagonal, lower

    def results(D, E, b):
        members = [of_member(*member) for member in zip(D, E, b, inside(D.shape, options))]
        return [np.stack(part) for part in zip(*members)]

    return results


def calls(face, options):
    """All calls that take shapes, as one function of arrays, and the places of its results in those of marginals()."""
    given = {name: face.give(value) for name, value in options.items()}
    m = face.module

    def function(D, E, b):
        f = m.factor(D, E, **given)
        found = [m.solve(D, E, b, **given), *m.likelihood(D, E, b, **given), *m.marginals(D, E, b, **given)]
        return (*found, f.solve(b), f.log_determinant(), f.quadratic(b), *f.selected_inverse())

    return function, [0, *range(3), *range(5), *range(5)]


def zeroed(arrays, where):
    return [np.where(which, array, 0) for which, array in zip(where, arrays)]


@pytest.mark.parametrize(("name", "columns"), [*((name, None) for name in SHAPES), ("both", 2), ("band", 2)])
def test_values_and_gradients(face, name, columns):
    options, arrays, where = problem(name, columns)
    terms, (function, places) = oracle(options)(*arrays), calls(face, options)
    weights, changes = weights_of([terms[k] for k in places]), zeroed(weights_of(arrays, 6), where)
    changes[0] = changes[0] + changes[0].swapaxes(-1, -2)
    values, gradients = face.values_and_gradients(function, arrays, weights)
    all_close(values, [terms[k] for k in places])
    for gradient, which in zip(gradients, where):
        assert not np.asarray(gradient)[~np.broadcast_to(which, gradient.shape)].any()
    found = sum(np.vdot(gradient, change) for gradient, change in zip(gradients, changes))
    by_place = dict(enumerate(stepped(oracle(options), arrays, changes)))
    assert found == pytest.approx(sum(np.vdot(weight, by_place[k]) for weight, k in zip(weights, places)), rel=1e-7)
    close(gradients[0], np.swapaxes(gradients[0], -1, -2))
    ours = trifold.marginals(*arrays, **options)
    all_close([ours.x, ours.quadratic, ours.lower], [terms[k] for k in (0, 2, 4)])


@pytest.mark.parametrize("name", ["both", "band"])
def test_single_precision_stays(face, name):
    options, arrays, _ = problem(name)
    function, places = calls(face, options)
    found = function(*(face.give(array.astype(np.float32)) for array in arrays))
    terms = oracle(options)(*arrays)
    for value, k in zip(found, places):
        assert str(value.dtype).endswith("float64" if k in (1, 2) else "float32")
        close(face.get(value), terms[k], 1e-5)


@pytest.mark.parametrize("name", ["both", "band"])
def test_second_derivatives(face, name):
    options, arrays, where = problem(name)
    given = {key: face.give(value) for key, value in options.items()}
    weights, changes = weights_of(oracle(options)(*arrays)), zeroed(weights_of(arrays, 6), where)

    def function(*arrays):
        return face.module.marginals(*arrays, **given)

    changes[0] = changes[0] + changes[0].swapaxes(-1, -2)
    expected = stepped(lambda *given: list(map(np.asarray, face.values_and_gradients(function, given, weights)[1])), arrays, changes)
    all_close(face.along(function, arrays, weights, changes), expected, 1e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_members_under_vmap(face, name):
    options, arrays, _ = problem(name)
    given = {key: face.give(value) for key, value in options.items()}
    lengths, sizes, w = given.get("lengths"), given.get("sizes"), options.get("bandwidth", 1)
    axes = (0, 0, 0, None if lengths is None else 0, 0 if np.ndim(options.get("sizes")) == 2 else None)

    def of_member(D, E, b, lengths, sizes):
        shape = {"lengths": lengths, "sizes": sizes, "bandwidth": w, "ring": options.get("ring", False)}
        f = face.module.factor(D, E, **shape)
        return face.module.solve(D, E, b, **shape), f.quadratic(b), f

    x, quadratic, f = face.compiled(face.vmap(of_member, axes))(*map(face.give, arrays), lengths, sizes)
    expected = oracle(options)(*arrays)
    all_close([face.get(x), face.get(quadratic)], [expected[0], expected[2]])
    close(face.get(face.vmap(lambda f, b: f.solve(b))(f, face.give(arrays[2]))), expected[0])


@pytest.mark.parametrize("name", ["lengths", "both", "band"])
def test_factors_and_right_hand_sides_of_one_chain(face, name):
    options, arrays, where = problem(name)
    D, E, _ = (array[0] for array in arrays)
    one = {key: value[0] if key == "lengths" else value[0] if np.ndim(value) == 2 else value for key, value in options.items()}
    many, there = RNG.normal(size=(4, 5, 3)), where[2][0]
    A = dense(D, E, there)
    expected = np.linalg.solve(A, np.where(there, many, 0).reshape(4, 15, 1)).reshape(many.shape)
    f = face.module.factor(face.give(D), face.give(E), **one)
    D, E, b = face.give(D), face.give(E), face.give(np.where(there, many, np.nan))
    for x in (face.module.solve(D, E, b, **one), f.solve(b), f.backward(f.forward(b))):
        close(face.get(x), expected)
    quadratic = (np.where(there, many, 0) * expected).sum((1, 2))
    for found in (face.module.likelihood(D, E, b, **one).quadratic, f.quadratic(b), (f.forward(b) ** 2).sum((1, 2))):
        close(face.get(found), quadratic)
    mean = face.give(np.where(there, 1.0, np.nan))
    draws = face.get(f.sample(face.generator(1), mean, 20000))
    assert draws.shape == (5, 3, 20000) and not draws[~there].any()
    flat, kept = draws.reshape(15, -1), there.ravel()
    np.testing.assert_allclose(np.cov(flat)[np.ix_(kept, kept)], np.linalg.inv(A)[np.ix_(kept, kept)], atol=0.003)
    np.testing.assert_allclose(flat[kept].mean(1), 1, atol=0.01)
    assert face.get(f.sample(face.generator(1))).shape == (5, 3) and "rows (5, 3)" in repr(f)


@pytest.mark.parametrize(("name", "joined"), [("lengths", True), ("sizes", False), ("both", True), ("band", False), ("wide", True)])
def test_borders(face, name, joined):
    options, (D, E, b), where = problem(name)
    given = {key: face.give(value) for key, value in options.items()}
    F, C, tip = RNG.normal(size=(3, 5, 2, 3)), np.tile(90 * np.eye(2), (3, 1, 1)), RNG.normal(size=(3, 2))
    of_F = np.broadcast_to(where[2][..., None, :], F.shape)
    F = np.where(of_F, F, np.nan)

    def whole(D, E, b, F, C, tip):
        results = []
        for d, e, r, f, c, t, there in zip(D, E, b, F, C, tip, where[2]):
            arrow = np.where(there[:, None, :], f, 0).transpose(1, 0, 2).reshape(2, 15)
            A, right = np.block([[dense(d, e, there), arrow.T], [arrow, c]]), np.concatenate([np.where(there, r, 0).ravel(), t])
            x = np.linalg.solve(A, right)
            results.append((x, np.linalg.slogdet(A)[1], right @ x))
        return [np.stack(part) for part in zip(*results)]

    def function(D, E, b, F, C, tip):
        xp = face.library
        xp = getattr(xp, "numpy", xp) if face.name == "jax" else xp
        right = xp.concatenate([b.reshape(3, 15), tip], 1) if joined else (b, tip)
        found = face.module.likelihood(D, E, right, border=(F, C), **given)
        x = face.module.solve(D, E, right, border=(F, C), **given)
        parts = (found.x, x) if joined else [xp.concatenate([part.reshape(3, 15), end], 1) for part, end in (found.x, x)]
        return (*parts, *found[1:])

    arrays, kept = (D, E, b, F, C, tip), (*where, of_F, np.ones_like(C, bool), np.ones_like(tip, bool))
    expected, places = whole(*arrays), [0, 0, 1, 2]
    weights, changes = weights_of([expected[k] for k in places]), zeroed(weights_of(arrays, 6), kept)
    for k in (0, 4):
        changes[k] = changes[k] + changes[k].swapaxes(-1, -2)
    values, gradients = face.values_and_gradients(function, arrays, weights)
    all_close(values, [expected[k] for k in places])
    for gradient, which in zip(gradients, kept):
        assert not np.asarray(gradient)[~which].any()
    slopes = stepped(whole, arrays, changes)
    found = sum(np.vdot(gradient, change) for gradient, change in zip(gradients, changes))
    assert found == pytest.approx(sum(np.vdot(weight, slopes[k]) for weight, k in zip(weights, places)), rel=1e-7)


@pytest.mark.parametrize("name", ["ring", "turn"])
def test_a_border_of_a_ring_with_a_band(face, name):
    options, (D, E, b), _ = problem(name)
    F, C, tip = RNG.normal(size=(3, 4, 2, 3)), np.tile(90 * np.eye(2), (3, 1, 1)), RNG.normal(size=(3, 2))
    x = face.module.solve(*map(face.give, (D, E)), (face.give(b), face.give(tip)), border=(face.give(F), face.give(C)), **options)
    all_close(map(face.get, x), trifold.solve(D, E, (b, tip), border=(F, C), **options))


@pytest.mark.parametrize("name", ["both", "band"])
def test_lower_triangles(face, name):
    """An upper triangle may be NaN, and its gradient is zero; that below the diagonal is twice that of both."""
    options, arrays, where = problem(name)
    terms = oracle(options)(*arrays)
    weights = weights_of(terms)

    def gradients(triangle, D):
        given = {key: face.give(value) for key, value in options.items()}
        return face.values_and_gradients(lambda *a: face.module.marginals(*a, **given, triangle=triangle), [D, *arrays[1:]], weights)

    D = np.where(np.tri(3) > 0, arrays[0], np.nan)
    (values, of_lower), (_, of_both) = gradients("lower", D), gradients("both", arrays[0])
    all_close(values, terms)
    close(of_lower[0], np.asarray(of_both[0]) * (2 * np.tri(3) - np.eye(3)))
    close(of_lower[1], of_both[1])


def test_what_does_not_fit(face):
    options, (D, E, b), _ = problem("lengths")
    _, (_, wide, _), _ = problem("band")
    F, C = np.zeros((3, 5, 2, 3)), np.tile(np.eye(2), (3, 1, 1))

    def given(value):
        return tuple(map(face.give, value)) if type(value) is tuple else face.give(value)

    for words, arrays, settings in [
        (r"lengths\[1\] is 6; give 0 to 5", (D, E, b), {"lengths": np.array([5, 6, 0])}),
        (r"sizes\[2\]\[0\] is -1; give 0 to 3", (D, E, b), {"sizes": np.array([[3] * 5, [3] * 5, [-1] + [3] * 4])}),
        ("lengths is -1; give 0 to 5", (D, E, b), {"lengths": -1}),
        ("lengths has elements of .*float64; give whole numbers", (D, E, b), {"lengths": np.ones(3)}),
        (r"lengths has shape \(2,\); give \(3,\)", (D, E, b), {"lengths": np.ones(2, int)}),
        (r"sizes has shape \(3,\); give \(3, 5\)", (D, E, b), {"sizes": np.ones(3, int)}),
        ("a ring has no end", (D, E, b), {**options, "ring": True}),
        ("a ring with sizes is not there yet", (D, E, b), {"sizes": 2, "ring": True}),
        ("a ring of 5 blocks is solved by 2 at a time", (D, wide, b), {"bandwidth": 2, "ring": True}),
        ("bandwidth and lengths are not there yet together", (D, wide, b), {**options, "bandwidth": 2}),
        ("bandwidth = 0 is out of range; give 1 or more", (D, wide, b), {"bandwidth": 0}),
        ("bandwidth = 2.5 is no whole number", (D, wide, b), {"bandwidth": 2.5}),
        (r"E has shape \(3, 4, 3, 3\); give \(N, 2, n, n\)", (D, E, b), {"bandwidth": 2}),
        (r"E has shape \(3, 3, 2, 3, 3\); give \(5, 2, 3, 3\)", (D, wide[:, :3], b), {"bandwidth": 2}),
        (r"E is missing; give \(5, 2, 3, 3\)", (D, None, b), {"bandwidth": 2}),
        (r"E is missing; give \(3, 4, 3, 3\)", (D, None, b), options),
        (r"E has shape \(3, 3, 3, 3\); give \(3, 4, 3, 3\)", (D, E[:, 1:], b), options),
        (r"D has shape \(5, 3\)", (D[0, :, 0], E, b), options),
        (r"b has shape \(3, 5, 2\); give \(3, 5, 3\)", (D, E, b[..., :2]), options),
        (r"F of border has shape \(3, 5, 2, 2\); give \(3, 5, 'a', 3\)", (D, E, (b, C[..., 0])), {**options, "border": (F[..., :2], C)}),
        ("border is no pair", (D, E, (b, C[..., 0])), {**options, "border": F}),
    ]:
        settings, arrays = {key: given(value) for key, value in settings.items()}, map(given, arrays)
        with pytest.raises(trifold.SpecError, match=words):
            face.module.solve(*arrays, **settings)
    f = face.module.factor(face.give(D), face.give(E), **options)
    for words, call in [
        (r"b has shape \(3, 4, 3\); give \(3, 5, 3\)", lambda: f.solve(face.give(b[:, 1:]))),
        ("y is", lambda: f.backward(object())),
        ("mean has shape", lambda: f.sample(face.generator(0), face.give(b[0]))),
    ]:
        with pytest.raises(trifold.SpecError, match=words):
            call()


def test_failures_name_blocks_of_the_band():
    torch = pytest.importorskip("torch")
    import trifold.torch

    _, arrays, _ = problem("band", N=6)
    D, E, b = map(torch.tensor, arrays)
    D[1, 3, 2, 2] = -9
    with pytest.raises(trifold.NotPositiveDefinite, match="member 1 at block 3, row 2") as caught:
        trifold.torch.solve(D, E, b, bandwidth=2)
    assert caught.value.failures == [(1, 3, 2)]
    with pytest.raises(trifold.NotPositiveDefinite) as caught:
        border = torch.zeros(3, 6, 2, 3, dtype=torch.float64), -torch.eye(2, dtype=torch.float64).expand(3, 2, 2)
        trifold.torch.solve(abs(D), E, (b, b[:, 0, :2]), border=border, bandwidth=2)
    assert caught.value.failures[0] == (0, 6, 0)


def test_numbers_that_cannot_be_looked_at(face):
    """Results of members with lengths that there are not are NaN."""
    _, (D, E, b), _ = problem("band")
    D, E, b = face.give(np.nan_to_num(D, nan=9.0)), face.give(np.nan_to_num(E[:, :-1, 0])), face.give(b)

    def of_member(D, E, b, length):
        found = face.module.marginals(D, E, b, lengths=length, **face.unchecked)
        return found.x, found.log_determinant, found.diagonal

    for part in face.compiled(face.vmap(of_member))(D, E, b, face.give(np.array([6, 5, -1]))):
        part = face.get(part).reshape(3, -1)
        assert np.isnan(part[[0, 2]]).all() and np.isfinite(part[1]).all()


def test_compiled_by_torch():
    torch = pytest.importorskip("torch")
    import trifold.torch

    for name in ("both", "band"):
        options, arrays, _ = problem(name)
        numbers = {key: torch.as_tensor(value) if key != "bandwidth" else value for key, value in options.items()}

        def total(D, E, b, numbers=numbers):
            found = trifold.torch.marginals(D, E, b, **numbers)
            return found.x.sum() + found.log_determinant.sum() + found.diagonal.square().sum()

        gradients = []
        for function in (total, torch.compile(total, fullgraph=True, backend="aot_eager")):
            leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
            function(*leaves).backward()
            gradients.append([leaf.grad for leaf in leaves])
        all_close(*gradients)
        D, E, b = map(torch.tensor, arrays)
        compiled = torch.compile(lambda D, E, options=options: trifold.torch.factor(D, E, **options), backend="aot_eager")
        np.testing.assert_array_equal(compiled(D, E).solve(b), trifold.torch.solve(D, E, b, **options))
