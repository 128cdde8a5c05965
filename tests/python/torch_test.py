"""trifold.torch on the CPU: values and gradients against dense matrices and finite differences, vmap, compilation, bad input."""

import threading

import pytest
import trifold
from host_time import empty_operator, per_call
from problems import make, of_symmetric, rhs, singular

torch = pytest.importorskip("torch")
import trifold.torch as tt  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

# Every n with every N; batches and columns take turns, such that each n and each N has all four.
CASES = [(None, None), (2, None), (None, 2), (3, 2)]
GRID = [(n, N, *CASES[(i + k) % 4]) for i, n in enumerate((1, 3, 8, 17)) for k, N in enumerate((1, 2, 7, 32))]
TIGHT = {"rtol": 1e-8, "atol": 1e-10}


def leaves(*arrays):
    return [torch.from_numpy(array).requires_grad_() for array in arrays]


def system(n, N, batch=None, columns=None):
    return leaves(*make(n, N, batch), rhs(n, N, batch, columns))


def dense(D, E):
    """A, of which gradients come from torch itself: symmetric ones of D."""
    *front, N, n, _ = D.shape
    blocks = (D + D.mT) / 2
    rows = []
    for i in range(N):
        row = [D.new_zeros((*front, n, n)) for _ in range(N)]
        row[i] = blocks[..., i, :, :]
        if i > 0:
            row[i - 1] = E[..., i - 1, :, :]
        if i + 1 < N:
            row[i + 1] = E[..., i, :, :].mT
        rows.append(torch.cat(row, -1))
    return torch.cat(rows, -2)


def oracle(D, E, b):
    """x, log det A and b' A^-1 b by dense matrices."""
    A = dense(D, E)
    flat = b.reshape(*A.shape[:-1], -1)
    x = torch.linalg.solve(A, flat)
    quadratic = (flat * x).sum(-2)
    return x.reshape(b.shape), torch.linalg.slogdet(A)[1], quadratic if b.dim() == D.dim() else quadratic[..., 0]


def parts(D, E, b):
    """Solution, log determinant and quadratic from one factor, in parts."""
    f = tt.factor(D, E, columns=b.shape[-1] if b.dim() == D.dim() else 1)
    return f.solve(b), f.log_determinant(), f.quadratic(b)


def gradients(function, arguments, seed=1):
    results = function(*arguments)
    generator = torch.Generator().manual_seed(seed)
    weights = [torch.randn(r.shape, generator=generator, dtype=r.dtype) for r in results]
    return torch.autograd.grad(results, arguments, weights, materialize_grads=True)


@pytest.mark.parametrize(("n", "N", "batch", "columns"), GRID)
def test_values_and_gradients(n, N, batch, columns):
    arguments = system(n, N, batch, columns)
    expected = gradients(oracle, arguments)
    for function in (lambda *a: tuple(tt.likelihood(*a)), parts):
        for mine, theirs in zip(function(*arguments), oracle(*arguments)):
            torch.testing.assert_close(mine, theirs, **TIGHT)
        for mine, theirs in zip(gradients(function, arguments), expected):
            torch.testing.assert_close(mine, theirs, **TIGHT)
    only_x = gradients(lambda *a: oracle(*a)[:1], arguments)
    for mine, theirs in zip(gradients(lambda *a: (tt.solve(*a),), arguments), only_x):
        torch.testing.assert_close(mine, theirs, **TIGHT)


@pytest.mark.parametrize(("n", "N", "batch", "columns"), GRID)
def test_finite_differences(n, N, batch, columns):
    arguments = system(n, N, batch, columns)
    for function in (tt.solve, lambda *a: tuple(tt.likelihood(*a)), parts):
        with_E = of_symmetric(function if N > 1 else lambda D, b, f=function: f(D, None, b))
        assert gradcheck(with_E, arguments if N > 1 else arguments[::2], fast_mode=n * N > 8, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    ("n", "N", "batch", "columns"), [(1, 2, None, None), (3, 2, None, 2), (3, 7, 2, None), (17, 2, None, None), (17, 2, 3, 2)]
)
def test_second_derivatives(n, N, batch, columns):
    arguments = system(n, N, batch, columns)
    for function in (tt.solve, tt.quadratic, lambda *a: parts(*a)[::2]):
        assert gradgradcheck(of_symmetric(function), arguments, fast_mode=n * N > 2, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(("n", "N", "batch"), [(1, 1, None), (1, 2, None), (3, 2, 2), (2, 5, None)])
def test_derivatives_of_the_selected_inverse(n, N, batch):
    D, E, b = system(n, N, batch)
    inverse = lambda *a: tt.factor(*a).selected_inverse()  # noqa: E731
    likelihood = lambda D, E: tuple(tt.likelihood(D, E, b))[1:]  # noqa: E731
    for function in (inverse, lambda *a: inverse(*a)[0], lambda *a: inverse(*a)[1], tt.log_determinant, likelihood):
        fast = n * N * (batch or 1) > 2
        assert gradcheck(of_symmetric(function), (D, E), fast_mode=fast, atol=1e-6, rtol=1e-6)
        assert gradgradcheck(of_symmetric(function), (D, E), fast_mode=fast, atol=1e-6, rtol=1e-6)


def test_second_derivatives_of_the_log_determinant():
    D, E, _ = (a.detach() for a in system(3, 2, 2))
    hessian = lambda f: torch.vmap(torch.func.jacrev(torch.func.jacrev(f, (0, 1)), (0, 1)))(D, E)  # noqa: E731
    torch.testing.assert_close(hessian(tt.log_determinant), hessian(lambda D, E: torch.linalg.slogdet(dense(D, E))[1]), **TIGHT)


def test_the_gradient_of_a_triangle():
    """Gradients of D as the page says: symmetric, or with triangle="lower" zero above, and twice as large below."""
    D, E, b = system(3, 2)
    x = tt.solve(D, E, b)
    g = torch.ones_like(x)
    gD, gE, w = torch.autograd.grad(x, (D, E, b), g)
    S = -(w[:, :, None] * x[:, None, :] + x[:, :, None] * w[:, None, :]).detach()
    torch.testing.assert_close(gD, S / 2, **TIGHT)
    torch.testing.assert_close(gE[0], -(torch.outer(w[1], x[0]) + torch.outer(x[1], w[0])).detach(), **TIGHT)
    assert torch.autograd.grad(tt.solve(D, E, b).sum(), b)[0].shape == b.shape  # b alone
    (lower,) = torch.autograd.grad(tt.solve(D, E, b, triangle="lower"), D, g)
    torch.testing.assert_close(lower, torch.tril(S, -1) + torch.diag_embed(S.diagonal(dim1=-2, dim2=-1)) / 2, **TIGHT)
    with pytest.raises(trifold.SpecError, match="triangle = 'upper'"):
        tt.solve(D, E, b, triangle="upper")


def test_lower_triangles_against_finite_differences():
    D, E, b = system(3, 2)
    lower = {"triangle": "lower"}
    for function in (
        lambda *a: tt.solve(*a, **lower),
        lambda *a: tt.quadratic(*a, **lower),
        lambda *a: tt.likelihood(*a, **lower).log_determinant,
        lambda D, E, b: tt.log_determinant(D, E, **lower) + tt.factor(D, E, **lower).selected_inverse()[0].sum() + 0 * b.sum(),
    ):
        assert gradcheck(function, (D, E, b), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("function", [torch.linalg.cholesky, torch.linalg.inv])
def test_gradients_of_ported_code(function):
    """One block: what torch.linalg gives for a symmetric matrix."""
    D, _, _ = system(4, 1)
    if function is torch.linalg.cholesky:
        mine, other = tt.log_determinant(D, None), 2 * torch.linalg.cholesky(D[0]).diagonal().log().sum()
    else:
        mine, other = tt.factor(D, None).selected_inverse()[0].square().sum(), torch.linalg.inv(D[0]).square().sum()
    torch.testing.assert_close(torch.autograd.grad(mine, D), torch.autograd.grad(other, D), **TIGHT)


def test_derivatives_of_the_selected_inverse_in_float32():
    """Derivatives are as accurate as the inverse itself, whatever the scale of A is."""
    D, E, _ = (a.detach() for a in system(8, 32))
    for scale in (1e-6, 1.0, 1e6):
        for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 2e-5)):
            mine = [(scale * a).to(dtype).requires_grad_() for a in (D, E)]
            doubles = [a.detach().double().requires_grad_() for a in mine]
            diagonal, lower = tt.factor(*mine).selected_inverse()
            got = torch.autograd.grad((scale * diagonal).square().sum() + (scale * lower).sum(), mine)
            inverse = torch.linalg.inv(dense(*doubles)).reshape(32, 8, 32, 8)
            diagonal = torch.stack([inverse[i, :, i] for i in range(32)])
            lower = torch.stack([inverse[i + 1, :, i] for i in range(31)])
            for a, b in zip(got, torch.autograd.grad((scale * diagonal).square().sum() + (scale * lower).sum(), doubles)):
                assert (a.double() - b).abs().max() < tolerance * b.abs().max()


def test_the_selected_inverse_of_no_gradient():
    """Gradients of zeros are zeros, and not 0 / 0."""
    D, E, _ = system(3, 4)
    diagonal, lower = tt.factor(D, E).selected_inverse()
    gD, gE = torch.autograd.grad(0 * diagonal.sum() + 0 * lower.sum(), (D, E))
    assert not gD.any() and not gE.any()


# Draws


@pytest.mark.parametrize(("batch", "columns"), [(None, None), (2, 3)])
def test_forward_and_backward(batch, columns):
    D, E, b = system(3, 7, batch, columns)
    f = tt.factor(D.detach(), E.detach())
    y = f.forward(b)
    torch.testing.assert_close(f.backward(y), f.solve(b), **TIGHT)
    torch.testing.assert_close(y.square().sum((-3, -2) if columns else (-2, -1)), f.quadratic(b), **TIGHT)
    assert gradcheck(f.forward, (b,), fast_mode=True) and gradcheck(f.backward, (b,), fast_mode=True)
    if columns:
        torch.testing.assert_close(
            torch.vmap(lambda D, E, b: tt.factor(D, E).backward(b))(D.detach(), E.detach(), b), f.backward(b), **TIGHT
        )
        torch.testing.assert_close(torch.vmap(f.forward, -1, -1)(b), y, **TIGHT)


@pytest.mark.parametrize("batch", [None, 2])
def test_moments_of_draws(batch):
    D, E, mean = (a.detach() for a in system(2, 3, batch))
    f = tt.factor(D, E)
    draws = f.sample(torch.Generator().manual_seed(1), mean, draws=40000)
    assert draws.shape == (*mean.shape, 40000)
    flat = draws.reshape(batch or 1, 6, -1)
    inverse = torch.linalg.inv(dense(D, E)).reshape(batch or 1, 6, 6)
    scale = inverse.diagonal(dim1=1, dim2=2).amax()
    assert (flat.mean(-1) - mean.reshape(batch or 1, 6)).abs().max() < 0.03 * scale.sqrt()
    for one, expected in zip(flat, inverse):
        assert (torch.cov(one) - expected).abs().max() < 0.03 * scale
    again = f.sample(torch.Generator().manual_seed(1), mean, draws=40000)
    assert torch.equal(draws, again) and f.sample().shape == mean.shape


def test_draws_have_gradients_of_the_mean_alone():
    D, E, mean = system(3, 7)
    x = tt.factor(D.detach(), E.detach()).sample(mean=mean)
    torch.testing.assert_close(torch.autograd.grad(x.sum(), mean)[0], torch.ones_like(mean))
    with pytest.raises(trifold.SpecError, match="no derivative with respect to D and E"):
        tt.factor(D, E).sample().sum().backward()
    with pytest.raises(trifold.SpecError, match="mean has shape"):
        tt.factor(D, E).sample(mean=mean[:2])
    with pytest.raises(trifold.SpecError, match="torch.Generator"):
        tt.factor(D, E).sample(3)


def test_selected_inverse():
    D, E, _ = system(3, 7)
    diagonal, lower = tt.factor(D, E).selected_inverse()
    inverse = torch.linalg.inv(dense(D, E)).reshape(7, 3, 7, 3)
    torch.testing.assert_close(diagonal, torch.stack([inverse[i, :, i] for i in range(7)]), **TIGHT)
    torch.testing.assert_close(lower, torch.stack([inverse[i + 1, :, i] for i in range(6)]), **TIGHT)


def test_float32():
    arguments = [a.detach().float().requires_grad_() for a in system(3, 7, 2)]
    results = tt.likelihood(*arguments)
    assert results.x.dtype == torch.float32 and results.log_determinant.dtype == results.quadratic.dtype == torch.float64
    doubles = [a.detach().double().requires_grad_() for a in arguments]
    expected = gradients(oracle, doubles)
    mine = gradients(lambda *a: [r.double() for r in tt.likelihood(*a)], arguments)
    for m, t in zip(mine, expected):
        assert m.dtype == torch.float32
        torch.testing.assert_close(m.double(), t, rtol=1e-3, atol=1e-4)


def test_a_factor_serves_many_sweeps():
    """Sweeps use the value as scratch; what follows from it stays the same, bit by bit, also when the backward pass runs twice."""
    D, E, b = system(8, 32)
    f = tt.factor(D, E)
    first, loss = f.solve(b), f.solve(b).square().sum() + f.log_determinant()
    gradient = torch.autograd.grad(loss, D, retain_graph=True)[0]
    for _ in range(3):
        f.solve(torch.randn_like(b))
        f.selected_inverse()
        assert torch.equal(f.solve(b), first)
        assert torch.equal(torch.autograd.grad(loss, D, retain_graph=True)[0], gradient)


def test_threads_share_a_factor():
    D, E, b = system(8, 32)
    f = tt.factor(D, E)
    wrong = []

    def work(scale):
        for _ in range(20):
            (gradient,) = torch.autograd.grad(f.solve(scale * b).sum(), b)
            if not torch.allclose(gradient / scale, expected, rtol=1e-12):
                wrong.append(scale)

    (expected,) = torch.autograd.grad(f.solve(b).sum(), b)
    threads = [threading.Thread(target=work, args=(scale,)) for scale in (1.0, 2.0, 4.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# vmap


def mapped(axes, sizes, n=3, N=2, columns=None):
    """D, E and b, of which those in axes have axes of these sizes in front."""
    result = []
    for name, array in zip("DEb", system(n, N, 2 * sizes[0] * sizes[-1], columns)):
        count = 1
        for size in sizes:
            count *= size
        rows = array.detach()[:count].reshape(*sizes, *array.shape[1:]) if name in axes else array.detach()[0]
        result.append(rows.requires_grad_())
    return result


@pytest.mark.parametrize("axes", ["DEb", "DE", "b", "Db", "E"])
@pytest.mark.parametrize("columns", [None, 2])
def test_vmap(axes, columns):
    arguments = mapped(axes, (3,), columns=columns)
    in_dims = tuple(0 if name in axes else None for name in "DEb")
    for function in (lambda *a: tuple(tt.likelihood(*a)), lambda *a: (tt.solve(*a),), parts):
        reference = oracle if len(function(*(a[0] if name in axes else a for name, a in zip("DEb", arguments)))) == 3 else None
        reference = reference or (lambda *a: oracle(*a)[:1])
        mine = lambda *a: torch.vmap(function, in_dims)(*a)  # noqa: E731, B023
        theirs = lambda *a: torch.vmap(reference, in_dims)(*a)  # noqa: E731, B023
        for m, t in zip(mine(*arguments), theirs(*arguments)):
            torch.testing.assert_close(m, t.expand(m.shape), **TIGHT)
        for m, t in zip(gradients(mine, arguments), gradients(theirs, arguments)):
            torch.testing.assert_close(m, t, **TIGHT)


def test_vmap_within_vmap_and_gradients_within():
    arguments = mapped("DEb", (2, 2))
    loss = lambda D, E, b: tt.likelihood(D, E, b).log_determinant + tt.solve(D, E, b).square().sum()  # noqa: E731
    known = lambda D, E, b: oracle(D, E, b)[1] + oracle(D, E, b)[0].square().sum()  # noqa: E731
    per_member = torch.vmap(torch.vmap(torch.func.grad(loss, (0, 1, 2))))
    expected = torch.vmap(torch.vmap(torch.func.grad(known, (0, 1, 2))))
    with torch.no_grad():
        for mine, theirs in zip(per_member(*arguments), expected(*arguments)):
            torch.testing.assert_close(mine, theirs, **TIGHT)


def test_vmap_over_a_batch():
    """A batch axis of its own, and other axes of the arguments."""
    D, E, b = (a.detach() for a in system(3, 2, 6))
    x = oracle(D, E, b)[0]
    split = [a.reshape(2, 3, *a.shape[1:]) for a in (D, E, b)]
    result = torch.vmap(tt.solve, in_dims=(0, 0, 2))(split[0], split[1], split[2].movedim(0, 2))
    torch.testing.assert_close(result.flatten(0, 1), x, **TIGHT)
    result = torch.vmap(tt.solve, in_dims=(None, None, 0))(D, E, torch.stack([b, 2 * b]))
    torch.testing.assert_close(result, torch.stack([x, 2 * x]), **TIGHT)


def test_jacobians():
    D, E, b = (a.detach() for a in system(3, 2))
    inverse = torch.linalg.inv(dense(D, E)).reshape(2, 3, 2, 3)
    torch.testing.assert_close(torch.func.jacrev(tt.solve, 2)(D, E, b), inverse, **TIGHT)
    hessian = torch.func.jacrev(torch.func.jacrev(tt.quadratic, 2), 2)(D, E, b)
    torch.testing.assert_close(hessian, 2 * inverse, **TIGHT)
    second = lambda f: torch.func.jacrev(torch.func.jacrev(f))  # noqa: E731
    mine = second(lambda D: tt.solve(D, E, b).square().sum())(D)
    torch.testing.assert_close(mine, second(lambda D: oracle(D, E, b)[0].square().sum())(D), **TIGHT)


def test_factors_pass_through_vmap():
    D, E, b = mapped("DEb", (3,))
    f = torch.vmap(tt.factor)(D, E)
    x = torch.vmap(lambda f, b: f.solve(b))(f, b)
    torch.testing.assert_close(x, torch.vmap(lambda *a: oracle(*a)[0])(D, E, b), **TIGHT)
    apart = [tt.factor(d, e) for d, e in zip(D, E)]
    joined = tt.Factor(D, E, torch.stack([f.value for f in apart]))
    with pytest.raises(trifold.SpecError, match="made apart"):
        joined.solve(b)


# Eager calls go around torch's dispatcher, where nothing listens to it.


def dispatched(name):
    return getattr(torch.ops.trifold, f"{name}_{tt._RULES}").default


def test_eager_calls_are_those_of_the_operators():
    D, E, b = system(3, 7, 2, 2)
    arguments = [a.detach() for a in (D, E, b)]
    value = dispatched("factor_solve")(*arguments, True)[1]
    for grad in (False, True):
        given = (D, E, b) if grad else arguments
        f = tt.Factor(given[0], given[1], value)
        pairs = [
            ((tt.solve(*given),), dispatched("factor_solve")(*given, True)[:1]),
            (tt.likelihood(*given), dispatched("likelihood")(*given, True)[:3]),
            ((f.solve(given[2]),), (dispatched("solve")(*given[:2], value, given[2]),)),
            ((f.log_determinant(),), (dispatched("log_determinant")(*given[:2], value),)),
            (f.selected_inverse(), dispatched("selected_inverse")(*given[:2], value)),
        ]
        for mine, theirs in pairs:
            for m, t in zip(mine, theirs, strict=True):
                assert m.requires_grad == t.requires_grad == grad and torch.equal(m, t)
            if grad:
                summed = [[result.sum() for result in results] for results in (mine, theirs)]
                for m, t in zip(*(torch.autograd.grad(sums, given, materialize_grads=True) for sums in summed)):
                    assert torch.equal(m, t)
        assert not tt.factor(*given[:2]).value.requires_grad
    with torch.no_grad():
        assert not tt.solve(D, E, b).requires_grad
    with torch.inference_mode():
        torch.testing.assert_close(tt.solve(D, E, b), tt.solve(*arguments))
    parameter = torch.nn.Parameter(b.detach())
    assert tt.solve(arguments[0], arguments[1], parameter).requires_grad


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of torch.jit
def test_who_listens_to_the_dispatcher_is_told():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Heard(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            heard.append(str(function))
            return function(*args, **(kwargs or {}))

    class Own(torch.Tensor):
        pass

    heard = []
    D, E, b = (a.detach() for a in system(3, 2))
    x = tt.solve(D, E, b)
    with Heard():
        tt.solve(D, E, b)
    assert str(dispatched("factor_solve")) in heard
    assert type(tt.solve(D, E, b.as_subclass(Own))) is Own
    assert tt.solve(*(a.to("meta") for a in (D, E, b))).is_meta
    traced = torch.jit.trace(lambda D, E, b: tt.solve(D, E, b), (D, E, b))
    torch.testing.assert_close(traced(D, E, 2 * b), 2 * x)
    negated = torch._neg_view(-b)
    for solve in (tt.solve, trifold.solve):
        torch.testing.assert_close(solve(D, E, negated), x)
    torch.testing.assert_close(tt.solve(D, E, torch._efficientzerotensor(b.shape, dtype=b.dtype)), 0 * x)


@pytest.mark.parametrize("gradient", [False, True])
def test_host_time(gradient):
    """Without the dispatcher a small system takes less than an operator that does nothing: 10 us where that takes 17, 20 where 40."""
    D, E, b = (a.detach().requires_grad_(gradient) for a in system(2, 2))
    nothing = empty_operator(torch, "cpu")
    empty, mine = per_call(lambda: nothing(D, E, b, False), lambda: tt.solve(D, E, b, check=False))
    assert mine < empty + 5


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_forward_mode_is_refused():
    D, E, b = (a.detach() for a in system(3, 2))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(b, b)
        with pytest.raises(NotImplementedError, match="jvp"):
            tt.solve(D, E, dual)
    with pytest.raises((NotImplementedError, RuntimeError), match="jvp|forward"):
        torch.func.jvp(lambda b: tt.solve(D, E, b), (b,), (b,))


# torch's own checks, and its compilers


@pytest.fixture
def filled_memory():
    """torch.empty fills what it returns: of a value, parts are written by sweeps alone, and opcheck compares all bytes."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def test_opcheck(filled_memory):
    D, E, b = system(3, 2, 2)
    torch.library.opcheck(dispatched("factor"), (D.detach(), E.detach(), 1, True))
    torch.library.opcheck(dispatched("factor_solve"), (D, E, b, True))
    torch.library.opcheck(dispatched("likelihood"), (D, E, b, True))
    value = tt.factor(D, E).value
    # All but test_schema: it compares the bytes of the value, parts of which are scratch. test_a_factor_serves_many_sweeps is about that.
    utils = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    torch.library.opcheck(dispatched("solve"), (D, E, value, b), test_utils=utils)
    torch.library.opcheck(dispatched("log_determinant"), (D, E, value), test_utils=utils)
    torch.library.opcheck(dispatched("selected_inverse"), (D.detach(), E.detach(), value), test_utils=utils)


def loss(D, E, b):
    x, log_determinant, quadratic = tt.likelihood(D, E, b)
    f = tt.factor(D, E)
    return x.square().sum() + log_determinant + quadratic + f.solve(torch.sin(b)).sum() + f.log_determinant()


def total(D, E, b):
    x, log_determinant, quadratic = oracle(D, E, b)
    return x.square().sum() + log_determinant + quadratic + oracle(D, E, torch.sin(b))[0].sum() + log_determinant


def short(D, E, b):
    return torch.dot(tt.solve(D, E, b).flatten(), b.flatten())


@pytest.mark.parametrize(("backend", "function", "same"), [("aot_eager", loss, total), ("inductor", short, lambda *a: oracle(*a)[2])])
def test_compiled(backend, function, same):
    arguments = system(3, 7)
    compiled = torch.compile(function, backend=backend, fullgraph=True)
    torch.testing.assert_close(compiled(*arguments), same(*arguments), **TIGHT)
    expected = gradients(lambda *a: (same(*a),), arguments)
    for mine, theirs in zip(gradients(lambda *a: (compiled(*a),), arguments), expected):
        torch.testing.assert_close(mine, theirs, **TIGHT)


def test_compiled_for_several_shapes_and_under_vmap():
    compiled = torch.compile(lambda *a: torch.vmap(tt.solve)(*a), backend="aot_eager", fullgraph=True)
    for members in (2, 3, 4):
        D, E, b = (a.detach() for a in system(3, 2, members))
        torch.testing.assert_close(compiled(D, E, b), oracle(D, E, b)[0], **TIGHT)


def test_compiled_with_symbols_and_transforms():
    compiled = torch.compile(lambda *a: tt.solve(*a).square().sum(), backend="aot_eager", fullgraph=True, dynamic=True)
    within = torch.compile(torch.func.grad(lambda *a: tt.solve(*a).square().sum(), (0, 1, 2)), backend="aot_eager")
    for N in (2, 3):
        arguments = system(3, N)
        expected = gradients(lambda *a: (oracle(*a)[0].square().sum(),), arguments)
        detached = [a.detach() for a in arguments]
        weight = torch.randn((), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        for mine, same, theirs in zip(gradients(lambda *a: (compiled(*a),), arguments), within(*detached), expected):
            torch.testing.assert_close(mine, theirs, **TIGHT)
            torch.testing.assert_close(weight * same, theirs, **TIGHT)


def test_many_gradients_at_once():
    D, E, b = system(3, 2)
    x = tt.solve(D, E, b)
    (rows,) = torch.autograd.grad(x, b, torch.eye(6, dtype=torch.float64).reshape(6, 2, 3), is_grads_batched=True)
    torch.testing.assert_close(rows.reshape(6, 6), torch.linalg.inv(dense(D, E)), **TIGHT)


# What goes wrong


def test_a_matrix_that_is_not_positive_definite():
    D, E, b = (a.detach() for a in system(3, 7, 3))
    D[1, 4] *= -1
    D.requires_grad_()
    for function in (lambda: tt.solve(D, E, b), lambda: tt.likelihood(D, E, b), lambda: tt.factor(D, E)):
        with pytest.raises(trifold.NotPositiveDefinite, match="member 1 at block 4"):
            function()
    x, log_determinant, _ = tt.likelihood(D, E, b, check=False)
    assert torch.isnan(x[1]).all() and torch.isnan(log_determinant).tolist() == [False, True, False]
    (gradient,) = torch.autograd.grad(x.sum() + log_determinant.sum(), D)
    assert torch.isnan(gradient[1]).all() and torch.isfinite(gradient[[0, 2]]).all()


def test_a_nearly_singular_matrix():
    """check=False accepts it."""
    D, E = map(torch.from_numpy, singular(3))
    D[[0, 2]] *= 2
    b = torch.ones(3, 3, 1, dtype=torch.float64)
    for function in (lambda: tt.solve(D, E, b), lambda: tt.likelihood(D, E, b), lambda: tt.factor(D, E)):
        with pytest.raises(trifold.NearlySingular, match="member 1"):
            function()
    assert all(torch.isfinite(result).all() for result in tt.likelihood(D, E, b, check=False))
    assert torch.isfinite(tt.factor(D, E, check=False).solve(b)).all()
    assert list(trifold.factor(D, E, check=False).status.nearly_singular) == [False, True, False]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D, E, b: (D[0], E, b), "D has shape"),
        (lambda D, E, b: (D[:, :2], E, b), "D has shape"),
        (lambda D, E, b: (D, None, b), "E is missing"),
        (lambda D, E, b: (D, E[0], b), "E has shape"),
        (lambda D, E, b: (D, E[:-1], b), "E has shape"),
        (lambda D, E, b: (D[None, None], E, b), "D has shape"),
        (lambda D, E, b: (D, E, b[:-1]), "b has shape"),
        (lambda D, E, b: (D, E, b[0]), "b has shape"),
        (lambda D, E, b: (D, E, b[..., None, None]), "b has shape"),
        (lambda D, E, b: (D, E, b[..., None][..., :0]), "b has shape"),
        (lambda D, E, b: (D[None], E[None], b[:-1]), "b has shape"),
        (lambda D, E, b: (D[None][:0], E[None][:0], b[None][:0]), "size 0"),
        (lambda D, E, b: (D, E.float(), b), "convert"),
        (lambda D, E, b: (D.long(), E.long(), b.long()), "dtype"),
        (lambda D, E, b: (D.numpy(), E, b), "give a tensor"),
        (lambda D, E, b: (None, E, b), "D is missing"),
        (lambda D, E, b: (D, E, None), "b is a NoneType"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(trifold.SpecError, match=message):
        tt.solve(*change(*(a.detach() for a in system(3, 7))))


def test_one_block_and_gaps():
    D, _, b = system(3, 1)
    torch.testing.assert_close(tt.solve(D, None, b), torch.linalg.solve(dense(D, None), b[0])[None], **TIGHT)
    D, E, b = system(3, 7)
    wide = [torch.stack([a, a], -1)[..., 0] for a in (D, E, b)]
    torch.testing.assert_close(tt.solve(*wide), tt.solve(D, E, b))
    with pytest.raises(trifold.SpecError, match="b has shape"):
        tt.factor(D, E).solve(b[:-1])
