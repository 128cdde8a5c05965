"""Derivatives of symmetric matrices in trifold.torch and trifold.jax, by differences and against dense algebra."""

import numpy as np
import pytest
import trifold
from signs_test import quasi_definite

torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
import trifold.jax  # noqa: E402
import trifold.torch  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

SYMMETRIC = {"matrix": "symmetric"}


def chain(batch=(), N=4, n=3, columns=()):
    rng = np.random.default_rng(N + n)
    return *quasi_definite(rng, batch, N, n), rng.normal(size=(*batch, N, n, *columns))


def symmetric(D, library):
    return (D + library.swapaxes(D, -1, -2)) / 2


@pytest.mark.parametrize("batch, columns, N, n", [((), (), 4, 3), ((2,), (2,), 3, 2), ((2,), (), 2, 1), ((), (3,), 2, 5)])
def test_torch_passes_gradcheck(batch, columns, N, n):
    tensors = [torch.from_numpy(part).requires_grad_() for part in chain(batch, N, n, columns)]

    def solve(D, E, b):
        return trifold.torch.solve(symmetric(D, torch), E, b, **SYMMETRIC)

    def all_of_them(D, E, b):
        x, log, quadratic, diagonal, lower = trifold.torch.marginals(symmetric(D, torch), E, b, **SYMMETRIC)
        return x, log, quadratic, diagonal, lower

    def by_factor(D, E, b):
        f = trifold.torch.factor(symmetric(D, torch), E, **SYMMETRIC)
        return f.solve(b), f.log_determinant(), f.quadratic(b)

    for function in (solve, all_of_them, by_factor):
        assert torch.autograd.gradcheck(function, tensors, atol=1e-6, rtol=1e-5)
    assert torch.autograd.gradgradcheck(solve, tensors, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("shape", ["ring", "lengths", "sizes", "bandwidth"])
def test_shapes_pass_the_checks(shape):
    rng, N, n = np.random.default_rng(5), 5, 2
    D, E, b = chain((2,), N, n)
    options = {"lengths": {"lengths": np.array([3, 5])}, "sizes": {"sizes": np.array([2, 1, 2, 0, 2])}}.get(shape, {})
    if shape == "ring":
        E, options = 0.2 * rng.normal(size=(2, N, n, n)), {"ring": True}
    elif shape == "bandwidth":
        E, options = 0.1 * rng.normal(size=(2, N, 2, n, n)), {"bandwidth": 2}
    x = trifold.solve(D, E, b, **options, **SYMMETRIC)
    tensors = [torch.from_numpy(part).requires_grad_() for part in (D, E, b)]
    numbers = {name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for name, value in options.items()}

    def of_torch(D, E, b):
        return trifold.torch.likelihood(symmetric(D, torch), E, b, **numbers, **SYMMETRIC)[:2]

    def of_jax(D, E, b):
        return trifold.jax.likelihood(symmetric(D, jax.numpy), E, b, **options, **SYMMETRIC)[:2]

    assert np.abs(of_torch(*tensors)[0].detach().numpy() - x).max() < 1e-13
    assert np.abs(np.asarray(of_jax(D, E, b)[0]) - x).max() < 1e-13
    assert torch.autograd.gradcheck(of_torch, tensors, atol=1e-6, rtol=1e-5)
    check_grads(of_jax, (D, E, b), order=1, modes=["rev"], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("batch, columns", [((), ()), ((2,), (2,))])
def test_jax_passes_check_grads(batch, columns):
    D, E, b = chain(batch, columns=columns)

    def solve(D, E, b):
        return trifold.jax.solve(symmetric(D, jax.numpy), E, b, **SYMMETRIC)

    def all_of_them(D, E, b):
        return tuple(trifold.jax.marginals(symmetric(D, jax.numpy), E, b, **SYMMETRIC))

    def by_factor(D, E, b):
        f = trifold.jax.factor(symmetric(D, jax.numpy), E, **SYMMETRIC)
        return f.solve(b), f.log_determinant(), f.quadratic(b), *f.selected_inverse()

    check_grads(solve, (D, E, b), order=2, modes=["fwd", "rev"], atol=1e-5, rtol=1e-4)
    for function in (all_of_them, by_factor):
        check_grads(jax.jit(function), (D, E, b), order=1, modes=["fwd", "rev"], atol=1e-6, rtol=1e-5)


def test_vmap_jit_and_compile_agree_with_one_call():
    D, E, b = chain((3,))
    x = trifold.solve(D, E, b, **SYMMETRIC)
    A = trifold.to_dense(D, E)
    assert (np.linalg.slogdet(A)[0] == -1).any() or (np.linalg.eigvalsh(A) < 0).any()

    def of_jax(D, E, b):
        return trifold.jax.likelihood(D, E, b, **SYMMETRIC)[:2]

    def of_torch(D, E, b):
        return trifold.torch.likelihood(D, E, b, **SYMMETRIC)[:2]

    tensors = [torch.from_numpy(part) for part in (D, E, b)]
    for found in (
        jax.vmap(of_jax)(D, E, b),
        jax.jit(of_jax)(D, E, b),
        jax.jit(jax.vmap(of_jax))(D, E, b),
        torch.vmap(of_torch)(*tensors),
    ):
        assert np.abs(np.asarray(found[0]) - x).max() < 1e-13
        assert np.allclose(np.asarray(found[1]), np.linalg.slogdet(A)[1], rtol=1e-12)
    columns = np.random.default_rng(1).normal(size=(5, *b.shape[1:]))
    mapped = jax.vmap(lambda right: trifold.jax.solve(D[0], E[0], right, **SYMMETRIC))(columns)
    assert np.abs(np.asarray(mapped) - trifold.solve(D[0], E[0], columns, **SYMMETRIC)).max() < 1e-13
    one = [tensor[0] for tensor in tensors[:2]]
    mapped = torch.vmap(lambda right: trifold.torch.solve(*one, right, **SYMMETRIC))(torch.from_numpy(columns))
    assert np.abs(mapped.numpy() - trifold.solve(D[0], E[0], columns, **SYMMETRIC)).max() < 1e-13

    def loss(D):
        return trifold.torch.solve(D, tensors[1], tensors[2], **SYMMETRIC).square().sum()

    eager = torch.func.grad(loss)(tensors[0])
    compiled = torch.compile(torch.func.grad(loss), backend="aot_eager")(tensors[0])
    assert torch.allclose(eager, compiled, rtol=1e-12)
    gradient = jax.grad(lambda D: (trifold.jax.solve(D, E, b, **SYMMETRIC) ** 2).sum())(D)
    assert np.allclose(np.asarray(gradient), eager.numpy(), rtol=1e-11, atol=1e-12)


def test_values_of_both_kinds_are_told_apart():
    D, E, b = chain((2,))
    P = np.tile(4 * np.eye(3), (2, 4, 1, 1))
    for module, array in ((trifold.torch, torch.from_numpy), (trifold.jax, np.asarray)):
        signs, definite = module.factor(array(D), array(E), **SYMMETRIC), module.factor(array(P), array(E))
        assert signs.value.ndim == definite.value.ndim + 1
        for f, blocks, options in ((signs, D, SYMMETRIC), (definite, P, {})):
            assert np.abs(np.asarray(f.solve(array(b))) - trifold.solve(blocks, E, b, **options)).max() < 1e-13


def test_a_member_that_fails_is_nan_and_others_are_not():
    D, E, b = chain((2,), N=1, n=2)
    D[1] = np.array([[0, 1], [1, 0]])
    for x in (
        np.asarray(trifold.jax.solve(D, E, b, **SYMMETRIC)),
        trifold.torch.solve(*map(torch.from_numpy, (D, E, b)), check=False, **SYMMETRIC).numpy(),
    ):
        assert np.isnan(x[1]).all() and np.allclose(x[:1], trifold.solve(D[:1], E[:1], b[:1], **SYMMETRIC))
    with pytest.raises(trifold.NotPositiveDefinite, match="pivot that is zero"):
        trifold.torch.solve(*map(torch.from_numpy, (D, E, b)), **SYMMETRIC)


def test_what_is_refused():
    D, E, b = chain((2,))
    border = np.ones((2, 4, 1, 3)), np.ones((2, 1, 1))
    for module, array, key in ((trifold.torch, torch.from_numpy, None), (trifold.jax, np.asarray, jax.random.key(0))):
        given = [array(part) for part in (D, E, b)]
        with pytest.raises(trifold.SpecError, match="matrix = 'indefinite' is not known"):
            module.solve(*given, matrix="indefinite")
        with pytest.raises(trifold.SpecError, match="symmetric matrix with a border"):
            module.solve(*given, border=tuple(map(array, border)), **SYMMETRIC)
        f = module.factor(*given[:2], **SYMMETRIC)
        for call in (lambda: f.forward(given[2]), lambda: f.backward(given[2]), lambda: f.sample(key)):
            with pytest.raises(trifold.SpecError, match="for positive definite matrices here"):
                call()
