"""trifold.torch on the CPU: all that chains.py asks of a library, and torch's own: operators, transforms, compilation."""

import pytest
import trifold
from chains import Calls, Derivatives, by_library
from faces import Torch
from host_time import empty_operator, per_call
from problems import make, rhs, singular
from process_test import run_all

torch = pytest.importorskip("torch")
import trifold.torch as tt  # noqa: E402

TIGHT = {"rtol": 1e-8, "atol": 1e-10}


@pytest.fixture
def face():
    return Torch()


class TestTorch(Calls, Derivatives):
    pass


def leaves(*arrays):
    return [torch.from_numpy(array).requires_grad_() for array in arrays]


def system(n, N, batch=None, columns=None):
    return leaves(*make(n, N, batch), rhs(n, N, batch, columns))


def oracle(D, E, b):
    return by_library(torch, D, E, b)


def gradients(function, arguments, seed=1):
    results = function(*arguments)
    generator = torch.Generator().manual_seed(seed)
    weights = [torch.randn(r.shape, generator=generator, dtype=r.dtype) for r in results]
    return torch.autograd.grad(results, arguments, weights, materialize_grads=True)


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
    (expected,) = torch.autograd.grad(f.solve(b).sum(), b)

    def work(scale):
        for _ in range(20):
            (gradient,) = torch.autograd.grad(f.solve(scale * b).sum(), b)
            torch.testing.assert_close(gradient / scale, expected, rtol=1e-12, atol=0)

    assert run_all([lambda scale=scale: work(scale) for scale in (1.0, 2.0, 4.0)]) == []


def test_factors_that_were_made_apart():
    D, E, b = (torch.from_numpy(array) for array in (*make(3, 2, 3), rhs(3, 2, 3)))
    joined = tt.Factor(D, E, torch.stack([tt.factor(d, e).value for d, e in zip(D, E)]))
    with pytest.raises(trifold.SpecError, match="made apart"):
        joined.solve(b)


# Eager calls go around torch's dispatcher, where nothing listens to it.


def dispatched(name):
    return getattr(torch.ops.trifold, f"{name}_{tt._RULES}").default


def test_eager_calls_are_those_of_the_operators():
    D, E, b = system(3, 7, 2, 2)
    arguments = [a.detach() for a in (D, E, b)]
    value = dispatched("factor_solve")(*arguments, True, False)[1]
    for grad in (False, True):
        given = (D, E, b) if grad else arguments
        f = tt.Factor(given[0], given[1], value)
        pairs = [
            ((tt.solve(*given),), dispatched("factor_solve")(*given, True, False)[:1]),
            (tt.likelihood(*given), dispatched("likelihood")(*given, True, False)[:3]),
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
    torch.library.opcheck(dispatched("factor"), (D.detach(), E.detach(), 1, True, False))
    torch.library.opcheck(dispatched("factor_solve"), (D, E, b, True, False))
    torch.library.opcheck(dispatched("likelihood"), (D, E, b, True, False))
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
    x, unit = tt.solve(D, E, b), torch.eye(6, dtype=torch.float64).reshape(6, 2, 3)
    (rows,) = torch.autograd.grad(x, b, unit, is_grads_batched=True)
    torch.testing.assert_close(rows.reshape(6, 6), oracle(D, E, unit.movedim(0, -1))[0].reshape(6, 6), **TIGHT)


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


def test_one_block_and_gaps():
    D, _, b = system(3, 1)
    torch.testing.assert_close(tt.solve(D, None, b), torch.linalg.solve(D[0], b[0])[None], **TIGHT)
    D, E, b = system(3, 7)
    wide = [torch.stack([a, a], -1)[..., 0] for a in (D, E, b)]
    torch.testing.assert_close(tt.solve(*wide), tt.solve(D, E, b))
    with pytest.raises(trifold.SpecError, match="b has shape"):
        tt.factor(D, E).solve(b[:-1])
