"""Families by the names in their tables, compared with the modules that are made for each."""

import pickle

import numpy as np
import pytest
import trifold
import trifold.families

random = np.random.default_rng(3)


def image(height=7, width=5):
    stencil = random.uniform(-0.1, 0.1, (height, width, 9))
    stencil[..., 4] = 2
    stencil[0, :, :3] = stencil[-1, :, 6:] = stencil[:, 0, ::3] = stencil[:, -1, 2::3] = 0
    return stencil


def test_each_operation_gives_the_bits_of_the_familys_own_module():
    stencil, b = image(), random.normal(size=(7, 5, 3))
    s, own = trifold.families.Solver("grid", width=5, height=7, rhs=2), trifold.grid.factor(stencil, rhs=2)
    s.factor(stencil)
    x = s.solve(b)
    assert np.array_equal(x, own.solve(b)) and np.array_equal(s.solve_transposed(b), own.solve_transposed(b))
    by_b, by_stencil = s.gradient(x, b)
    assert all(map(np.array_equal, (by_b, by_stencil), own.gradients(x, b)))
    assert np.array_equal(s.refine(stencil, b, x.copy()), own.refine(b, x))
    assert s.outcomes()[0]["problem"] == "none"
    D, E, b = 4 * np.eye(3) * np.ones((5, 1, 1)), np.eye(3) * np.ones((4, 1, 1)), random.normal(size=(5, 3))
    chain = trifold.families.Solver("tridiagonal", block=3, horizon=5)
    assert np.array_equal(chain.factor_solve(D, E, b), trifold.solve(D, E, b))
    assert np.array_equal(chain.backward(chain.forward(b)), chain.solve(b))


def test_results_go_into_arrays_that_are_given():
    stencil, b = image(), random.normal(size=(7, 5))
    s = trifold.families.Solver("grid", width=5, height=7)
    out = np.empty_like(b)
    assert s.factor_solve(stencil, b, out=out) is out
    assert np.array_equal(s.solve(b, out=b), out)
    assert np.array_equal(pickle.loads(pickle.dumps(s)).factor_solve(stencil, b), s.factor_solve(stencil, b))


def test_a_sparse_system_of_a_mesh_and_of_lists():
    scipy = pytest.importorskip("scipy.sparse")
    A = scipy.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(40, 40)).tocsr()
    b = random.normal(size=40)
    s = trifold.families.Solver("sparse", starts=A.indptr.tolist(), columns=A.indices.tolist())
    s.update(A.data)
    x = s.solve(b, rtol=1e-12)
    assert abs(A @ x - b).max() < 1e-11 and s.outcomes()[0]["end"] == "converged"
    assert abs(s.multiply(b) - A @ b).max() < 1e-14
    mesh = trifold.families.Solver("sparse", mesh="4x3x2", points=7)
    assert mesh.spec["rows"] == 24


def gradients_of(solve, values, b):
    """Of the sum of the squares of X: that by the values at (i, j) is -w[i] x[j], that by b is w, of w = 2 A'^-1 x."""
    torch = pytest.importorskip("torch")
    arrays = [torch.tensor(array, requires_grad=True) for array in (values, b)]
    solve(*arrays).square().sum().backward()
    return [array.grad.numpy() for array in arrays]


def test_gradients_are_those_of_the_familys_own_module():
    pytest.importorskip("torch")
    import trifold.torch
    import trifold.torch.families

    stencil, b = image(), random.normal(size=(7, 5))
    s = trifold.families.Solver("grid", width=5, height=7)
    own = gradients_of(trifold.torch.grid.solve, stencil, b)
    found = gradients_of(lambda values, b: trifold.torch.families.solve(s, values, b), stencil, b)
    assert all(map(np.array_equal, found, own))
    with pytest.raises(trifold.SpecError, match="operation = 'factor' has no derivatives in this family; give solve"):
        trifold.torch.families.solve(s, *map(trifold.torch.torch.tensor, (stencil, b)), operation="factor")


def test_gradients_in_jax_are_those_of_the_familys_own_module():
    jax = pytest.importorskip("jax")
    import trifold.jax.families

    stencil, b = image().astype("f4"), random.normal(size=(7, 5)).astype("f4")
    s = trifold.families.Solver("grid", width=5, height=7, precision="f32")

    def energy(solve):
        return jax.jit(jax.grad(lambda values, b: (solve(values, b) ** 2).sum(), (0, 1)))(stencil, b)

    own, found = energy(trifold.jax.grid.solve), energy(lambda values, b: trifold.jax.families.solve(s, values, b))
    for one, other in zip(own, found):
        assert abs(one - other).max() < 1e-6 * abs(one).max()
    system = trifold.families.Solver("sparse", mesh="4x3x2", points=7, precision="f32")
    values = np.full((24, 7), -0.1, "f4")
    values[:, 3] = 2
    by_values, by_b = jax.grad(lambda v, b: (trifold.jax.families.solve(system, v, b) ** 2).sum(), (0, 1))(values, values[:, 0])
    assert by_values.shape == (24, 7) and by_b.shape == (24,) and bool(abs(by_values).max() > 0)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda s, b: s.solve(), "solve reads 1 arrays, B; 0 are given"),
        (lambda s, b: s.solve(b[:3]), "B has 15 elements; 1 images with 35 each need 35"),
        (lambda s, b: s.solve(b, colums=3), "GridOptions has no 'colums'"),
        (lambda s, b: s.solve(b, columns="x"), "which is no whole number"),
        (lambda s, b: s.solve(b, members=2), "members = 2 is out of range; give 1 to 1, or 0 for 1"),
        (lambda s, b: s.solve(b.astype("f4")), "B is .* float32 on the CPU and the Solver is of float64; convert it"),
        (lambda s, b: s.solve(b + 1j), "B is .*complex128"),
        (lambda s, b: s.run("divide", b), "operation = 'divide' is not known; give factor, solve"),
        (lambda s, b: trifold.families.Solver("grid", width=5, height=7).solve(b), "solve for 1 images, but 0 have been factored"),
        (lambda s, b: trifold.families.Solver("grid", width=1, height=7), "the image's width is 1 pixel"),
        (lambda s, b: trifold.families.Solver("grid", wide=5), "a grid has no 'wide'"),
        (lambda s, b: trifold.families.Solver("grid", width=5, height=7, tuning={"variant": "fast"}), "fast"),
        (lambda s, b: trifold.families.Solver("images"), "unknown family 'images'; give tridiagonal, grid or sparse"),
        (lambda s, b: trifold.families.Solver("sparse"), "a sparse system has a 'mesh', or the lists 'starts' and 'columns'"),
    ],
)
def test_bad_input_is_said_in_the_words_of_the_table(call, message):
    s = trifold.families.Solver("grid", width=5, height=7)
    b = random.normal(size=(7, 5))
    s.factor(image())
    with pytest.raises(trifold.SpecError, match=message):
        call(s, b)
    s.solve(b)


PROBLEMS = {"tridiagonal": {"block": 3, "horizon": 4}, "grid": {"width": 5, "height": 4}, "sparse": {"mesh": "4x3x2", "points": 7}}
SOUND = {
    "tridiagonal": ("factor", np.tile(4 * np.eye(3), (4, 1, 1)), np.zeros((3, 3, 3))),
    "grid": ("factor", np.tile([0.0] * 4 + [2.0] + [0.0] * 4, 20)),
    "sparse": ("update", np.tile([0.0] * 3 + [2.0] + [0.0] * 3, 24)),
}
WRONG = {
    "short": lambda array: array[:-1],
    "of another type": lambda array: array.astype("f4"),
    "complex": lambda array: array + 1j,
    "of whole numbers": lambda array: array.astype("i8"),
    "masked": lambda array: np.ma.masked_array(array, mask=array > 0.5),
    "a text": lambda array: "array",
    "a set": lambda array: {1.0},
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("family", PROBLEMS)
def test_each_array_of_each_operation_is_refused_by_its_name_where_it_is_wrong(family, wrong):
    all_of_them = [row["name"] for row in trifold.families.tables()[family]["operations"] if row["name"] != "update"]
    s = trifold.families.Solver(family, operations=all_of_them, **PROBLEMS[family])
    s.run(*SOUND[family])
    table = trifold.families.tables()[family]["operations"]
    assert [row["name"] for row in table] == list(s.operations)

    def arrays_of(row):
        return [random.uniform(1, 2, s.size_of(row["name"], k)) for k, array in enumerate(row["arrays"]) if array["access"] != "write"]

    for row in table:
        rows = [array for array in row["arrays"] if array["access"] != "write"]
        for k, array in enumerate(rows):
            arrays = arrays_of(row)
            arrays[k] = WRONG[wrong](arrays[k])
            with pytest.raises(trifold.SpecError) as error:
                s.run(row["name"], *arrays, columns=1)
            assert str(error.value).startswith(array["name"]), (row["name"], str(error.value))
        written = [array for array in row["arrays"] if array["access"] == "write"]
        if written:
            arrays = arrays_of(row)
            with pytest.raises(trifold.SpecError, match=written[0]["name"]):
                s.run(row["name"], *arrays, out=np.empty(3), columns=1)


@pytest.mark.parametrize("family", PROBLEMS)
@pytest.mark.parametrize("part", ["spec", "options"])
def test_each_field_is_refused_by_its_name_where_it_is_out_of_range_or_of_another_kind(family, part):
    for field in trifold.families.tables()[family][part]:
        for value in ("sideways", [1], {"a": 1}, -(2**40)):
            if value == field["usual"] or (isinstance(field["usual"], str) and not field["words"] and isinstance(value, str)):
                continue
            with pytest.raises(trifold.SpecError, match=f"{field['name']}|a layout"):
                if part == "spec":
                    trifold.families.Solver(family, **{**PROBLEMS[family], field["name"]: value})
                else:
                    s = trifold.families.Solver(family, **PROBLEMS[family])
                    s.run(*SOUND[family], **{field["name"]: value})
