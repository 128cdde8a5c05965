"""Bad input: each is an exception that says what to do, never a crash."""

import inspect

import numpy as np
import pytest
import trifold
from faces import Jax, Numpy, Torch
from problems import make, rhs, solution


def system(batch=None):
    return (*make(3, 7, batch), rhs(3, 7, batch))


# A change of sound arrays, words of the error, and words of those of trifold.torch and trifold.jax where they take such arrays.
WRONG = [
    (lambda D, E, b: (D[0], E, b), r"give \(N, n, n\)", "D has shape"),
    (lambda D, E, b: (D[:, :2], E, b), "last two axes must be equal", "D has shape"),
    (lambda D, E, b: (D, E[:-1], b), r"E has shape \(5, 3, 3\); give \(6, 3, 3\)", "E has shape"),
    (lambda D, E, b: (D, E[..., :2], b), "E has shape", "E has shape"),
    (lambda D, E, b: (D, E[0], b), "E has shape", "E has shape"),
    (lambda D, E, b: (D, None, b), "E is missing", "E is missing|E is None"),
    (lambda D, E, b: (D, E, b[:-1]), r"b has shape \(6, 3\); give \(7, 3\)", "b has shape"),
    (lambda D, E, b: (D, E, b[0]), "b has shape", "b has shape"),
    (lambda D, E, b: (D, E, b.ravel()), "b has shape", "b has shape"),
    (lambda D, E, b: (D, E, b[:, :, None, None]), "b has shape", "b has shape"),
    (lambda D, E, b: (D, E, b[:, :, None][..., :0]), "b has shape", "b has shape"),
    (lambda D, E, b: (np.stack([D] * 2), np.stack([E] * 3), b), "batch axes of 2, 3|E has shape", "batch axes of 2, 3"),
    (lambda D, E, b: (np.stack([D] * 2), E, np.stack([b] * 3)), "batch axes of 2, 3|E has shape", "batch axes of 2, 3"),
    (lambda D, E, b: (D[None], E[None], b[:-1]), "as D has a batch axis", "b has shape"),
    (lambda D, E, b: (np.stack([D] * 2), E[:-1], b), "E has shape", "E has shape"),
    (lambda D, E, b: (D[None][:0], E[None][:0], b[None][:0]), "axis of size 0", "size 0|D has shape"),
    (lambda D, E, b: (D[:0], E[:0], b[:0]), "axis of size 0", None),
    (lambda D, E, b: (D.astype(np.float16), E, b), "convert it to float32 or float64", None),
    (lambda D, E, b: (D.astype(complex), E, b), "convert it to float32 or float64", None),
    (lambda D, E, b: (D.astype(">f8"), E, b), "convert it to float32 or float64", None),
    (lambda D, E, b: (D.astype(object), E, b), "convert it to float32 or float64", None),
    (lambda D, E, b: (D.astype("datetime64[s]"), E, b), "convert it to float32 or float64", None),
    (lambda D, E, b: (D.astype(int), E.astype(int), b.astype(int)), None, "dtype|is int"),
    (lambda D, E, b: (D, E.astype(np.float32), b), "E is .*float32.*convert the array", "convert|E is float32"),
    (lambda D, E, b: (D, E, b.astype(np.float32)), "b is .*float32.*convert the array", "convert|b is float32"),
    (lambda D, E, b: (D, E, b.astype(complex)), "b is .*complex128.*convert the array", None),
    (lambda D, E, b: ("text", E, b), "D ", "D "),
    (lambda D, E, b: (None, E, b), "D is None", "D is missing|D is None"),
    (lambda D, E, b: (D, E, None), "b is None", "b is a NoneType|b is None"),
    (lambda D, E, b: (D, E, object()), "b is a object", "b is a object"),
    (lambda D, E, b: ([[[1.0, 2.0], [3.0]]], E, b), "D is a list", "D is a list"),
    (lambda D, E, b: (D[None, None, None], E, b), "axes|give", "D has shape"),
]


@pytest.mark.parametrize(("change", "message", "of_others"), WRONG)
@pytest.mark.parametrize("library", [Numpy, Torch, Jax])
def test_wrong_arrays(library, change, message, of_others):
    face, message = library(), message if library is Numpy else of_others
    if message is None:
        return
    arrays = change(*system())
    compiled = library is Jax and all(isinstance(array, np.ndarray) for array in arrays)
    for solve in (face.module.solve, face.library.jit(face.module.solve)) if compiled else (face.module.solve,):
        with pytest.raises(trifold.SpecError, match=message) as raised:
            solve(*map(face.give, arrays))
        assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shift": np.ones(2)}, "shift has shape"),
        ({"shift": np.float32(1) * np.ones((), np.float32)}, "shift is"),
        ({"diagonal": np.ones((7, 2))}, "diagonal has shape"),
        ({"active": np.ones(3, bool)}, "active has shape"),
        ({"pivot_floor": -1.0}, "pivot_floor"),
        ({"pivot_floor": float("nan")}, "pivot_floor"),
        ({"schedule": "nonsense"}, "schedule"),
        ({"workers": 0}, "workers"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(trifold.SpecError, match=message):
        trifold.solve(*system(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block": 0}, "block"),
        ({"block": 5000}, "block"),
        ({"horizon": 0}, "horizon"),
        ({"batch": 0}, "batch"),
        ({"rhs": -1}, "rhs = -1"),
        ({"dtype": "int32"}, "dtype"),
        ({"device": "abacus"}, "abacus"),
        ({"operations": "dance"}, "dance"),
    ],
)
def test_wrong_plans(options, message):
    with pytest.raises(trifold.SpecError, match=message):
        trifold.Plan(**{"block": 3, "horizon": 7, **options})


def test_device_that_is_not_there():
    with pytest.raises(trifold.DeviceError):
        trifold.Plan(block=3, horizon=7, device="cuda:63")


def test_not_positive_definite():
    D, E, b = system(3)
    D[1, 4] *= -1
    with pytest.raises(trifold.NotPositiveDefinite, match="member 1 at block 4, row 0") as raised:
        trifold.solve(D, E, b)
    assert (raised.value.member, raised.value.block, raised.value.row) == (1, 4, 0)
    assert raised.value.failures == [(1, 4, 0)]
    x = trifold.solve(D, E, b, check=False)
    assert np.all(np.isnan(x[1]))
    np.testing.assert_allclose(x[[0, 2]], solution(D, E, b)[[0, 2]], rtol=1e-10, atol=1e-12)
    f = trifold.factor(D, E, check=False)
    assert list(f.status.block) == [-1, 4, -1]
    np.testing.assert_array_equal(f.solve(b), x)  # it does not ask either, unless told to
    with pytest.raises(trifold.NotPositiveDefinite):
        f.solve(b, check=True)
    assert np.isnan(f.log_determinant()[1]) and not np.isnan(f.log_determinant()[0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["D", "E"])
def test_matrix_that_is_not_finite(bad, which):
    D, E, b = system()
    (D if which == "D" else E)[2, 1, 1] = bad
    with pytest.raises((trifold.NotPositiveDefinite, trifold.OutOfRange)):
        trifold.solve(D, E, b)


def test_rhs_that_is_not_finite():
    D, E, b = system()
    b[3, 1] = np.nan
    with pytest.raises(trifold.OutOfRange, match="infinities"):
        trifold.solve(D, E, b)


def test_wrong_outputs():
    D, E, b = system()
    solver = trifold.Plan(block=3, horizon=7).solver()
    frozen = np.empty_like(b)
    frozen.flags.writeable = False
    for out, message in [
        (frozen, "writeable|written"),
        (np.empty((7, 2)), "out has shape"),
        (np.empty((7, 3), np.float32), "out is"),
        (np.empty((3, 7)).T, "contiguous"),
        ([[0.0] * 3] * 7, "results go into"),
        (D.ravel()[:21].reshape(7, 3), "overlaps"),
    ]:
        with pytest.raises(trifold.SpecError, match=message):
            solver.factor_solve(D, E, b, out)


def test_calls_out_of_order():
    solver = trifold.Plan(block=3, horizon=7).solver()
    with pytest.raises(trifold.SpecError, match="factor"):
        solver.solve(rhs(3, 7))
    with pytest.raises(trifold.SpecError, match="factor"):
        solver.log_determinant()
    with pytest.raises(trifold.SpecError, match="forward"):
        solver.factor(*make(3, 7))
        solver.selected_inverse()


def test_reciprocal_condition():
    D, E = make(3, 7, 2)
    f = trifold.factor(D, E)
    for wrong in ((D[:1], E[:1]), (D[0], E[0]), (D, E[:, 1:]), (D.astype(np.float32), E.astype(np.float32)), (None, E)):
        with pytest.raises(trifold.SpecError, match="give|convert"):
            f.reciprocal_condition(*wrong)
    solver = trifold.Plan(block=3, horizon=7).solver()
    with pytest.raises(trifold.SpecError, match="needs a factorization"):
        solver.reciprocal_condition(D[0], E[0])


def test_values():
    plan = trifold.Plan(block=3, horizon=7)
    for value, message in [
        (np.empty(10, np.uint8), "value is"),
        (np.empty(plan.value_bytes, np.float64), "value is"),
        (np.empty(plan.value_bytes + 128, np.uint8)[::2], "value|gaps"),
        ("text", "results go into"),
    ]:
        with pytest.raises(trifold.SpecError, match=message):
            plan.solver(value)
    memory = np.empty(plan.value_bytes + 128, np.uint8)
    with pytest.raises(trifold.SpecError, match="aligned"):
        plan.solver(memory[-memory.ctypes.data % 64 + 8 :]).factor(*make(3, 7))
    with pytest.raises(trifold.SpecError, match="members"):
        plan.solver(members=2)


def test_gaps_are_copied(caplog):
    D, E, b = system()
    with caplog.at_level("INFO", "trifold"):
        x = trifold.solve(np.asfortranarray(D), E[::1], np.repeat(b, 2, axis=0)[::2])
    assert "D is not contiguous" in caplog.text and "b is not contiguous" in caplog.text
    np.testing.assert_array_equal(x, trifold.solve(D, E, b))


def test_whatever_becomes_an_array():
    D, E, b = system()

    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return D

    expected = trifold.solve(D, E, b)
    np.testing.assert_array_equal(trifold.solve(Wrapped(), E.tolist(), memoryview(b)), expected)
    D.flags.writeable = False
    np.testing.assert_array_equal(trifold.solve(D, E, b), expected)
    shifted = np.empty(8 * D.size + 1, np.uint8)[1:].view(np.float64).reshape(D.shape)  # not aligned to its elements
    shifted[:] = D
    np.testing.assert_array_equal(trifold.solve(shifted, E, b), expected)


def masked(array, place=0):
    result = np.ma.array(array)
    result[(place,) * array.ndim] = np.ma.masked
    return result


@pytest.mark.parametrize("name", ["D", "E", "b", "shift", "diagonal", "active"])
def test_masked_arrays(name):
    """What is masked is no data."""
    D, E = make(3, 7, 2)
    arrays = {"D": D, "E": E, "b": rhs(3, 7, 2), "shift": np.ones(2), "diagonal": np.ones((2, 7, 3)), "active": np.ones(2, bool)}
    expected = trifold.solve(**arrays)
    arrays[name] = np.ma.array(arrays[name])  # a mask that hides nothing
    np.testing.assert_array_equal(trifold.solve(**arrays), expected)
    for array in (masked(arrays[name]), [masked(row) for row in arrays[name]] if arrays[name].ndim > 1 else masked(arrays[name], 1)):
        arrays[name] = array
        with pytest.raises(trifold.SpecError, match=f"{name} has masked entries.*fill them in"):
            trifold.solve(**arrays)


def test_masked_images():
    stencil = np.zeros((4, 4, 9))
    stencil[..., 4] = 2
    b = np.ones((4, 4))
    np.testing.assert_array_equal(trifold.grid.solve(np.ma.array(stencil), np.ma.array(b)), b / 2)
    for arrays in ((masked(stencil), b), (stencil, masked(b)), (stencil, list(masked(b)))):
        with pytest.raises(trifold.SpecError, match="masked entries"):
            trifold.grid.solve(*arrays)
    with pytest.raises(trifold.SpecError, match="stencil has masked entries"):
        trifold.grid.factor(masked(stencil))


class Exchanged:
    """An array that has DLPack and nothing else, as those of many libraries."""

    def __init__(self, array, **limits):
        self.array, self.limits = array, limits

    def __dlpack__(self, **options):
        if self.limits:
            raise BufferError("this memory is not for others")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_with_dlpack_alone():
    D, E, b = system()
    expected = trifold.solve(D, E, b)
    np.testing.assert_array_equal(trifold.solve(Exchanged(D), Exchanged(E), Exchanged(b)), expected)
    f = trifold.factor(Exchanged(D), Exchanged(E))
    np.testing.assert_array_equal(f.solve(Exchanged(np.asfortranarray(b))), expected)
    np.testing.assert_array_equal(f.quadratic(Exchanged(b)), f.quadratic(b))
    stencil = np.zeros((4, 4, 9))
    stencil[..., 4] = 2
    np.testing.assert_array_equal(trifold.grid.solve(Exchanged(stencil), Exchanged(np.ones((4, 4)))), np.full((4, 4), 0.5))
    with pytest.raises(trifold.SpecError, match="b is a Exchanged.*not for others"):
        trifold.solve(D, E, Exchanged(b, closed=True))


def test_quadratics():
    D, E, b = system()
    f = trifold.factor(D, E)
    assert f.quadratic(b.tolist()) == f.quadratic(b)
    with pytest.raises(trifold.SpecError, match=r"b has shape \(7, 3, 0\)"):
        f.quadratic(np.ones((7, 3, 0)))
    with pytest.raises(trifold.SpecError, match="b has shape"):
        f.quadratic([[1.0]])


NO_OPTIONS = [None, "x", 1.5, -1, np.ones(3), [1], object()]


@pytest.mark.parametrize(
    "option", ["pivot_floor", "accept_nearly_singular", "check", "mixed", "schedule", "workers", "refine", "rhs", "matrix", "boundary"]
)
def test_options_of_another_type(option):
    """No option ends as an error of Python's own."""
    D, E, b = system()
    stencil = np.zeros((4, 4, 9))
    stencil[..., 4] = 2
    calls = {
        "refine": lambda **o: trifold.grid.solve(stencil, np.ones((4, 4)), **o),
        "rhs": lambda **o: trifold.grid.factor(stencil, **o),
    }
    calls["matrix"] = calls["boundary"] = calls["rhs"]
    for value in NO_OPTIONS:
        if value is None and option in ("accept_nearly_singular", "check", "mixed"):
            continue
        with pytest.raises(trifold.SpecError, match="rhs|right-hand sides" if option == "rhs" else option):
            calls.get(option, lambda **o: trifold.solve(D, E, b, **o))(**{option: value})


@pytest.mark.parametrize("function", [trifold.solve, trifold.factor, trifold.grid.solve, trifold.grid.factor])
def test_options_have_names_and_defaults(function):
    """Options are written once, and help() shows them one by one."""
    parameters = inspect.signature(function).parameters
    assert parameters["workers"].default == 1 and parameters["check"].default is None
    assert "options" not in parameters
    arrays = [None] * sum(one.default is one.empty for one in parameters.values())
    with pytest.raises(
        TypeError, match=f"{function.__name__}.. got an unexpected keyword argument 'worker'; did you mean 'workers'. it takes .*workers"
    ):
        function(*arrays, worker=2)


def test_options_of_a_solver():
    D, E, b = system()
    solver = trifold.Plan(block=3, horizon=7, operations="all").solver()
    with pytest.raises(TypeError, match=r"factor\(\) got an unexpected keyword argument 'shfit'; it takes D, E=None, .*, shift=None, "):
        solver.factor(D, E, shfit=1.0)
    with pytest.raises(
        TypeError, match=r"solve\(\) got an unexpected keyword argument 'shift'; it takes b, out=None, .*, active=None, check=None.$"
    ):
        solver.solve(b, shift=1.0)
    for option, wrong in (("pivot_floor", "x"), ("pivot_floor", 1j), ("accept_nearly_singular", 2), ("check", "yes")):
        with pytest.raises(trifold.SpecError, match=f"{option} = "):
            solver.factor_solve(D, E, b, **{option: wrong})
    options = {"".join(["pivot", "_floor"]): np.float32(0.5), "accept_nearly_singular": np.bool_(True)}  # a name that is not interned
    x = solver.factor_solve(D, E, b, shift=2, check=None, **options)
    np.testing.assert_array_equal(x, trifold.solve(D, E, b, pivot_floor=0.5, shift=2.0))


def test_wrong_arguments_are_type_errors():
    with pytest.raises(TypeError):
        trifold.Plan(3, 7)
    with pytest.raises(TypeError):
        trifold.Plan(block="three", horizon=7)
    with pytest.raises(TypeError):
        trifold.Plan(block=3, horizon=7).solver().solve()
    with pytest.raises(TypeError):
        trifold.Solver()
