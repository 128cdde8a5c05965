"""trifold.sparse on the CPU against SciPy: preconditioner, solutions, gradients, new values, bad input."""

import copy

import numpy as np
import pytest
import trifold
from faces import Numpy, close
from linear import Entries, slopes

sp = pytest.importorskip("scipy.sparse")
sla = pytest.importorskip("scipy.sparse.linalg")
from trifold import sparse  # noqa: E402  which needs SciPy

METHODS = ("bicgstab", "gmres", "cg")
PRECONDITIONERS = ("none", "jacobi", "dilu", "ildu0", "ildu1", "ildu2")


def convection(side, block=1, seed=0, symmetric=False, dtype=np.float64):
    """Diffusion and convection on a square of side x side cells, with blocks that couple the unknowns of a cell."""
    random = np.random.default_rng(seed)
    line = sp.diags_array([-1.0, 2.0, -1.0] if symmetric else [-1.3, 2.0, -0.7], offsets=[-1, 0, 1], shape=(side, side))
    plane = sp.kronsum(line, line, format="csr") + 0.1 * sp.eye_array(side * side)
    couple = np.eye(block) + 0.1 * random.uniform(-1, 1, (block, block))
    if symmetric:
        couple = couple @ couple.T
    A = sp.kron(plane, couple, format="csr")
    return (A if block == 1 else A.tobsr(blocksize=(block, block))).astype(dtype)


def rhs(A, columns=None, seed=7):
    shape = (A.shape[0],) if columns is None else (A.shape[0], columns)
    return np.random.default_rng(seed).standard_normal(shape).astype(A.dtype)


def residual(A, x, b):
    return np.linalg.norm(b - A @ x) / np.linalg.norm(b)


@pytest.mark.parametrize("block", [1, 2, 3, 4])
@pytest.mark.parametrize("method", METHODS)
def test_solutions(block, method):
    A = convection(12, block, symmetric=method == "cg")
    b = rhs(A)
    x, info = solution = sparse.solve(A, b, method=method, rtol=1e-10, subdomain=30)
    assert info == 0 and solution.x is x and solution.worst.end == "converged"
    assert residual(A, x, b) <= 1e-10
    close(solution.residual, np.linalg.norm(b - A @ x), 1e-3)
    close(x, sla.spsolve(A.tocsc(), b), 1e-8)
    history = solution.worst.history
    assert len(history) == solution.iterations + 1 and history[-1] < 1e-6 * history[0]


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_preconditioners(preconditioner):
    A = convection(15)
    b = rhs(A)
    x, info = sparse.solve(A, b, preconditioner=preconditioner, subdomain=50)
    assert info == 0 and residual(A, x, b) <= 1e-8


def test_incomplete_factorization():
    """In one subdomain, without fill to drop, the factorization is exact; and its product is A on the pattern."""
    band = sp.diags_array([-1.0, 3.0, -1.5], offsets=[-1, 0, 1], shape=(40, 40), format="csr")
    b = rhs(band)
    close(sparse.ildu0(band, partition="whole") @ b, sla.spsolve(band.tocsc(), b), 1e-13)
    A = convection(6)
    M = np.linalg.inv(sparse.ildu0(A, partition="whole") @ np.eye(A.shape[0]))
    at = A.toarray() != 0
    close(M[at], A.toarray()[at], 1e-12)
    assert np.abs((M - A.toarray())[~at]).max() > 1e-2  # what was dropped


@pytest.mark.parametrize("block", [1, 2, 3, 4])
def test_operator(block):
    """A LinearOperator: SciPy's methods take it, and iterate less."""
    A = convection(20, block)
    b = rhs(A)
    P = sparse.ildu0(A)
    assert isinstance(P, sla.LinearOperator) and P.shape == A.shape and P.dtype == A.dtype
    counts = []
    for M in (None, P):
        steps = []
        x, info = sla.bicgstab(A, b, M=M, rtol=1e-9, callback=lambda _: steps.append(1))
        assert info == 0 and residual(A, x, b) <= 1e-8
        counts.append(len(steps))
    assert counts[1] < counts[0] / 2
    x, info = sla.gmres(A, b, M=P, rtol=1e-9)
    assert info == 0 and residual(A, x, b) <= 1e-8


@pytest.mark.parametrize("block", [1, 3])
def test_adjoint(block):
    A = convection(20, block)
    P = sparse.ildu0(A)
    x, y = rhs(A, seed=1), rhs(A, seed=2)
    scale = np.linalg.norm(P.matvec(x)) * np.linalg.norm(y)
    assert abs(y @ P.matvec(x) - P.rmatvec(y) @ x) <= 1e-14 * scale
    X = rhs(A, 3)
    for one, many in ((P.matvec, P.matmat), (P.rmatvec, P.rmatmat)):
        close(many(X), np.stack([one(X[:, k]) for k in range(3)], 1), 1e-14)
    close(P.H @ x, P.rmatvec(x), 0)


def test_products():
    A = convection(9, 2)
    s = sparse.Solver(A)
    x = rhs(A, 11)
    close(s.multiply(x), A @ x, 1e-14)
    close(s.multiply_transposed(x), A.T @ x, 1e-14)


def test_right_hand_sides():
    A = convection(11)
    B = rhs(A, 11)  # more than are solved at once
    x, info = solution = sparse.solve(A, B, rtol=1e-10)
    assert info == 0 and len(solution.outcomes) == 11
    close(x, sla.spsolve(A.tocsc(), B), 1e-8)
    y, info = sparse.Solver(A).solve_transposed(B, rtol=1e-10)
    assert info == 0
    close(y, sla.spsolve(A.T.tocsc(), B), 1e-8)


def test_first_guess():
    A = convection(11)
    b = rhs(A)
    s = sparse.Solver(A)
    exact = sla.spsolve(A.tocsc(), b)
    kept = exact.copy()
    x, info = solution = s.solve(b, x0=exact)
    assert info == 0 and solution.iterations == 0 and x is not exact
    close(x, exact, 1e-12)
    assert np.array_equal(exact, kept)
    assert s.solve(b).iterations > 2


def test_tolerances_and_limit():
    A = convection(20)
    b = rhs(A)
    s = sparse.Solver(A, subdomain=20)
    x, info = solution = s.solve(b, maxiter=2, check=False)
    assert info == 2 and solution.worst.end == "limit"
    close(solution.residual, np.linalg.norm(b - A @ x), 1e-6)
    close(solution.relative_residual, np.linalg.norm(b - A @ x) / np.linalg.norm(b), 1e-6)
    with pytest.raises(trifold.SparseFailed, match="after 2 iterations"):
        s.solve(b, maxiter=2)
    loose, tight = s.solve(b, rtol=1e-2), s.solve(b, rtol=1e-12)
    assert loose.iterations < tight.iterations
    absolute = s.solve(b, rtol=0, atol=1e-2 * np.linalg.norm(b))
    assert absolute.iterations == loose.iterations
    x, info = s.solve(np.zeros_like(b))
    assert info == 0 and not x.any()


def test_nan():
    A = convection(5)
    b = rhs(A)
    b[3] = np.nan
    solution = sparse.solve(A, b, check=False)
    assert solution.info == -2 and solution.worst.end == "not_a_number"


def test_convection_alone_is_told_what_helps():
    line = sp.diags_array([-26.0, 2, 24], offsets=[-1, 0, 1], shape=(20, 20))  # central differences, cell Peclet number 50
    A = sp.csr_array(sp.kronsum(sp.kronsum(line, line), line))
    b = rhs(A)
    with pytest.raises(trifold.SparseFailed, match="take preconditioner jacobi or none with method gmres"):
        sparse.solve(A, b)
    failed = sparse.solve(A, b, check=False)
    assert failed.iterations <= 2000 and failed.relative_residual <= 1 and np.linalg.norm(b - A @ failed.x) <= 1.1 * np.linalg.norm(b)
    assert sparse.solve(A, b, preconditioner="jacobi", method="gmres").relative_residual < 1e-8


def test_words_of_scipy():
    A = convection(5)
    for word, meant in {"tol": "rtol", "M": "preconditioner", "max_iter": "maxiter"}.items():
        with pytest.raises(TypeError, match=f"'{word}'; did you mean '{meant}'. it takes rtol, atol, maxiter, x0, check, .*workers"):
            sparse.solve(A, rhs(A), **{word: None})
    assert dir(sparse) == sorted(sparse.__all__)


@pytest.mark.parametrize("method", ["bicgstab", "gmres"])
def test_callback(method):
    A = convection(20)
    b, seen = rhs(A, 3), []
    solution = sparse.solve(A, b, rhs=2, method=method, callback=lambda *given: seen.append(given))
    first, second = max(one.iterations for one in solution.outcomes[:2]), solution.outcomes[2].iterations
    assert [count for count, _ in seen] == [*range(1, first + 1), *range(1, second + 1)]
    last = seen[first:]
    close(np.array([size for _, size in last[:-1]]), solution.outcomes[2].history[1:-1] / solution.outcomes[2].norm_b, 1e-12)

    def stop(iterations, residual):
        if iterations == 3:
            raise KeyError(f"{residual > 0}")

    solver = sparse.Solver(A, method=method)
    with pytest.raises(KeyError, match="True"):
        solver.solve(b[:, 0], callback=stop)
    assert solver.solve(b[:, 0]).info == 0
    with pytest.raises(trifold.SpecError, match="callback = 3 cannot be called; give a function of"):
        solver.solve(b[:, 0], callback=3)


def test_picture_of_a_history():
    pytest.importorskip("matplotlib").use("agg")
    A = convection(20)
    solution = sparse.solve(A, rhs(A, 2), rhs=2)
    axes = solution.plot()
    assert [line.get_ydata().size for line in axes.lines] == [one.iterations + 1 for one in solution.outcomes]
    assert solution.plot(axes) is axes and len(axes.lines) == 4


@pytest.mark.parametrize("block", [1, 3])
def test_update(block):
    A, other = convection(10, block), 3 * convection(10, block, seed=4)
    b = rhs(A)
    P = sparse.ildu0(A)
    P.update(other)
    close(P @ b, sparse.ildu0(other) @ b, 0)
    s = sparse.Solver(A)
    s.update(other)
    assert residual(other, s.solve(b).x, b) <= 1e-8
    with pytest.raises(trifold.SpecError, match="another pattern"):
        s.update(sp.eye_array(A.shape[0], format="csr"))
    with pytest.raises(trifold.SpecError, match="shape"):
        s.update(convection(9, block))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dia", "bsr", "matrix"])
def test_formats(kind):
    A = convection(8)
    b = rhs(A)
    given = sp.csr_matrix(A) if kind == "matrix" else A.asformat(kind)
    close(sparse.ildu0(given) @ b, sparse.ildu0(A) @ b, 0)


def test_unsorted_and_repeated():
    """They are put in order in a copy."""
    A = convection(8)
    b = rhs(A)
    order = np.concatenate([np.arange(A.indptr[i], A.indptr[i + 1])[::-1] for i in range(A.shape[0])])
    unsorted = sp.csr_array((A.data[order], A.indices[order], A.indptr), shape=A.shape)
    kept = unsorted.indices.copy()
    close(sparse.ildu0(unsorted) @ b, sparse.ildu0(A) @ b, 0)
    assert np.array_equal(unsorted.indices, kept)
    twice = sp.csr_array((np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), 2 * A.indptr), shape=A.shape)
    close(sparse.ildu0(twice) @ b, sparse.ildu0(A) @ b, 0)
    assert len(twice.data) == 2 * len(A.data)
    blocks = convection(4, 2)
    back = np.concatenate([np.arange(blocks.indptr[i], blocks.indptr[i + 1])[::-1] for i in range(16)])
    unsorted = sp.bsr_array((blocks.data[back], blocks.indices[back], blocks.indptr), shape=blocks.shape)
    close(sparse.ildu0(unsorted) @ rhs(blocks), sparse.ildu0(blocks) @ rhs(blocks), 0)


def test_wide_indices():
    """Row pointers and columns of 64 bits."""
    A = convection(8)
    wide = A.copy()
    wide.indptr, wide.indices = A.indptr.astype(np.int64), A.indices.astype(np.int64)
    assert wide.indices.dtype == np.int64
    close(sparse.ildu0(wide) @ rhs(A), sparse.ildu0(A) @ rhs(A), 0)


def shuffled(A):
    """Csr whose rows have their columns in any order."""
    order = np.concatenate([np.random.default_rng(i).permutation(np.arange(*A.indptr[i : i + 2])) for i in range(A.shape[0])])
    return sp.csr_array((A.data[order], A.indices[order], A.indptr), shape=A.shape)


def repeated(A):
    return sp.csr_array((np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), 2 * A.indptr), shape=A.shape)


def with_room(A):
    A = A.copy()
    A.data, A.indices = np.append(A.data, [7.0, 8.0]), np.append(A.indices, [0, 0]).astype(np.int32)
    return A


ORDERS = {
    "csr": lambda A: A,
    "unsorted": shuffled,
    "repeated": repeated,
    "with room": with_room,
    "permuted": lambda A: A[np.random.default_rng(0).permutation(A.shape[0])][:, np.random.default_rng(0).permutation(A.shape[0])],
    "product": lambda A: A @ sp.csr_array(A.T + sp.eye_array(A.shape[0])),
    "no diagonal": lambda A: sp.csr_array(np.roll(A.toarray(), 1, 0)),
    "csc": lambda A: A.tocsc(),
    "coo": lambda A: sp.coo_array((A.tocoo().data[::-1], tuple(part[::-1] for part in A.tocoo().coords)), shape=A.shape),
    "bsr": lambda A: A.tobsr(blocksize=(2, 2)),
    "bsr of unsorted": lambda A: shuffled(A).tobsr(blocksize=(2, 2)),
    "bsr of 1": lambda A: A.tobsr(blocksize=(1, 1)),
}


@pytest.mark.parametrize("block", [None, 1, 2])
@pytest.mark.parametrize("order", ORDERS)
def test_values_in_the_order_of_their_matrix(order, block):
    """update(A.data) means A, whatever its order is; and gradients of values have that order."""
    A = ORDERS[order](convection(6))
    other = copy.deepcopy(A)  # with its room, which copy() drops
    other.data = A.data * np.random.default_rng(5).uniform(0.5, 1.5, A.data.shape)
    x = rhs(A)
    s = sparse.Solver(A, preconditioner="none", block=block)
    close(s.multiply(x), A @ x, 1e-14)
    s.update(other.data)
    close(s.multiply(x), other @ x, 1e-14)
    s.update(other)
    close(s.multiply(x), other @ x, 1e-14)
    by_values = s.gradient_values(x, np.ones_like(x))
    assert by_values.shape == A.data.shape
    other.data = by_values
    entries = other.tocsr() if order != "with room" else sp.csr_array((by_values[:-2], other.indices[:-2], other.indptr), shape=A.shape)
    twice = 2 if order == "repeated" else 1  # each of the two has the whole derivative, and they are summed
    close(entries.toarray()[A.toarray() != 0], -twice * np.tile(x, (A.shape[0], 1))[A.toarray() != 0], 1e-14)
    with pytest.raises(trifold.SpecError, match="the array of values has shape"):
        s.update(other.data[:-1])


def test_values_with_gaps():
    A = convection(6)
    s = sparse.Solver(A)
    s.update(np.stack([2 * A.data, A.data], -1)[:, 0])
    close(s.multiply(rhs(A)), 2 * A @ rhs(A), 1e-14)


def test_values_in_no_order():
    A = convection(6)
    s = sparse.Solver(A.todia())
    with pytest.raises(trifold.SpecError, match="A was given as dia.*give update.. the matrix"):
        s.update(A.todia().data)
    s.update(2 * A.todia())
    P = sparse.ildu0(shuffled(A))
    P.update(2 * shuffled(A).data)
    close(P @ rhs(A), sparse.ildu0(2 * A) @ rhs(A), 0)


def test_no_diagonal():
    """A place that is not stored is zero, and takes part where the method needs it."""
    swap = sp.csr_array(np.array([[0.0, 1], [1, 0]]))
    x, info = sparse.solve(swap, [1.0, 2], method="gmres", preconditioner="none")
    assert info == 0
    close(x, [2, 1], 1e-12)
    with pytest.raises(trifold.SparseFailed, match="singular"):
        sparse.solve(swap, [1.0, 2])
    saddle = sp.csr_array(np.array([[4.0, 1, 1], [1, 3, 2], [1, 2, 0]]))
    saddle.eliminate_zeros()
    close(sparse.solve(saddle, [1.0, 2, 3], preconditioner="ildu1", partition="whole").x, sla.spsolve(saddle.tocsc(), [1.0, 2, 3]), 1e-9)


def with_column(column, block=1):
    A = convection(5, block)
    A.indices = A.indices.astype(np.int64)
    A.indices[A.indptr[3] + 1] = column
    return A


def test_explicit_zeros():
    """They are entries of the pattern, and change no solution."""
    A = convection(8)
    padded = A.tocoo()
    rows, columns = np.arange(64), (np.arange(64) + 17) % 64
    values = np.concatenate([padded.data, np.zeros(64)])
    places = tuple(np.concatenate([old, new]) for old, new in zip(padded.coords, (rows, columns)))
    padded = sp.coo_array((values, places), shape=A.shape).tocsr()
    s = sparse.Solver(padded)
    assert s.summary["entries"] == A.nnz + 64
    close(s.solve(rhs(A), rtol=1e-12).x, sla.spsolve(A.tocsc(), rhs(A)), 1e-9)


def test_blocks_of_csr():
    """The preconditioner with blocks that are found in the rows of csr."""
    A = convection(8, 3)
    b = rhs(A)
    close(sparse.ildu0(A.tocsr(), block=3) @ b, sparse.ildu0(A) @ b, 0)
    scalar = sparse.ildu0(A, block=1)
    assert scalar.solver.block == 1
    close(sparse.Solver(A, block=1).multiply(b), A @ b, 1e-14)


@pytest.mark.parametrize(("dtype", "mine", "tolerance"), [(np.float32, None, 1e-5), (np.float64, "mixed", 1e-8), (np.int64, None, 1e-8)])
def test_precisions(dtype, mine, tolerance):
    A = (10 * convection(10)).astype(dtype)
    b = rhs(A.astype(np.float64))
    x, info = sparse.solve(A, b, dtype=mine, rtol=tolerance)
    assert info == 0 and x.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert residual(A, x, b) <= 2 * tolerance


def test_partitions():
    A = convection(16)
    b = rhs(A)
    parts = np.arange(256) // 32
    for partition, count in (("whole", 1), (parts, 8), ("greedy", None), ("metis", None)):
        s = sparse.Solver(A, partition=partition, subdomain=64)
        assert s.solve(b).info == 0
        assert count is None or s.summary["subdomains"] == count
    inside = sum(parts[i] == parts[j] for i, j in zip(*A.nonzero()))
    summary = sparse.Solver(A, partition=parts).summary
    assert (summary["entries"], summary["dropped"]) == (A.nnz, A.nnz - inside)


def test_variant():
    A = convection(30)
    small, large = (sparse.Solver(A, variant=f"sweeps:tile_scalars={count}").summary for count in (4096, 8192))
    assert small["subdomains"] >= large["subdomains"]
    given = sparse.Solver(A, partition="greedy", subdomain=100, variant="sweeps:tile_scalars=8192").summary
    assert given["largest"] <= 100


def test_workers():
    A = convection(30, 2)
    b = rhs(A)
    one, two = (sparse.solve(A, b, workers=workers, subdomain=100).x for workers in (1, 2))
    assert np.array_equal(one, two)


class Calls:
    """What each library offers, without derivatives, for classes that have the fixture face."""

    @pytest.mark.parametrize(("block", "columns"), [(1, None), (2, 3), (3, None), (3, 2)])
    def test_all_calls(self, face, block, columns):
        A = convection(8, block)
        b, w = rhs(A, columns, seed=1), rhs(A, columns, seed=2)
        s = sparse.Solver(A, device=face.device if face.device == "cpu" else f"{face.device}:0")
        right = face.give(b)
        x, info = s.solve(right, rtol=1e-13)
        assert info == 0 and isinstance(x, face.kind)
        by_b = s.solve_transposed(face.give(w), rtol=1e-13).x
        one = Entries(A)
        for mine, theirs in zip((x, s.gradient_values(x, by_b), by_b), slopes(one, A.data, b, w)):
            assert isinstance(mine, face.kind)
            close(face.get(mine), theirs)
        close(face.get(s.multiply(x)), b)
        close(face.get(s.multiply_transposed(by_b)), w)
        by_A = s.gradient(face.get(x), face.get(by_b))
        assert by_A.format == A.format and np.array_equal(by_A.indices, A.indices)
        close(by_A.data, slopes(one, A.data, b, w)[1])


class TestNumpy(Calls):
    @pytest.fixture
    def face(self):
        return Numpy()


def changed(at, value):
    A = convection(5, symmetric=True)
    row, column = at
    A.data[A.indptr[row] + list(A.indices[A.indptr[row] : A.indptr[row + 1]]).index(column)] = value  # which keeps a zero
    return A


GOOD = convection(5)
BAD = {
    "dense": (lambda: sparse.ildu0(np.eye(3)), r"A is a numpy.ndarray.*csr_array"),
    "rectangular": (lambda: sparse.ildu0(sp.csr_array((3, 4))), r"A has shape \(3, 4\); give a square matrix"),
    "empty": (lambda: sparse.ildu0(sp.csr_array((0, 0))), "A has no rows"),
    "complex": (lambda: sparse.ildu0(1j * GOOD), "A is complex128"),
    "empty row": (lambda: sparse.ildu0(sp.csr_array((3, 3))), "row 0 is empty"),
    "column of 2^32": (lambda: sparse.ildu0(with_column(2**32 + 1)), "row 3 of A has the column 4294967297; columns are from 0 to 24"),
    "column of a block": (lambda: sparse.ildu0(with_column(25, 2)), "row 3 of A has the column 25; columns are from 0 to 24"),
    "negative column": (lambda: sparse.ildu0(with_column(-1)), "row 3 of A has the column -1"),
    "block": (lambda: sparse.ildu0(GOOD, block=2), "block = 2 does not divide the 25 rows of A"),
    "block 9": (lambda: sparse.ildu0(GOOD, block=9), "block = 9 is out of range; give 1 to 8"),
    "wide blocks": (lambda: sparse.ildu0(sp.csr_array(np.eye(12)).tobsr(blocksize=(2, 3))), "blocks of 2 by 3"),
    "dtype": (lambda: sparse.ildu0(GOOD, dtype="int32"), "dtype = 'int32' is not known"),
    "partition": (lambda: sparse.ildu0(GOOD, partition="fine"), "partition.*'fine'"),
    "parts": (lambda: sparse.ildu0(GOOD, partition=[0, 1]), "the partition has 2 numbers; the matrix has 25 rows"),
    "real parts": (lambda: sparse.ildu0(GOOD, partition=np.zeros(25)), "is no partition"),
    "variant": (lambda: sparse.ildu0(GOOD, variant="sweeps:tile_scalars=3"), "tile_scalars.*cannot be 3; give one of"),
    "method": (lambda: sparse.solve(GOOD, np.ones(25), method="qmr"), "method = 'qmr'"),
    "preconditioner": (lambda: sparse.solve(GOOD, np.ones(25), preconditioner="amg"), "preconditioner = 'amg'"),
    "rows of b": (lambda: sparse.solve(GOOD, np.ones(24)), r"b has shape \(24,\); give \(25,\), or \(25, m\)"),
    "complex b": (lambda: sparse.solve(GOOD, 1j * np.ones(25)), "b has elements of complex128"),
    "x0": (lambda: sparse.solve(GOOD, np.ones(25), x0=np.ones((25, 1))), "x0 has shape"),
    "rtol": (lambda: sparse.solve(GOOD, np.ones(25), rtol=-1), "rtol = -1.0 is no tolerance"),
    "maxiter": (lambda: sparse.Solver(GOOD, maxiter=5).solve(np.ones(25), maxiter=6), "make it with maxiter=6"),
    "maxiter 0": (lambda: sparse.solve(GOOD, np.ones(25), maxiter=0), "maxiter = 0 is out of range"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, message = BAD[name]
    with pytest.raises(trifold.SpecError, match=message):
        call()


@pytest.mark.parametrize(
    ("A", "options", "problem"),
    [
        (changed((4, 3), np.inf), {}, ("not_finite", 4, 3)),
        (changed((6, 6), 0.0), {"partition": np.arange(25)}, ("singular", 6, 6)),
        (changed((1, 2), 5.0), {"method": "cg"}, ("not_symmetric", 1, 2)),
    ],
)
def test_bad_values(A, options, problem):
    with pytest.raises(trifold.SparseFailed) as caught:
        sparse.Solver(A, **options)
    assert (caught.value.problem, caught.value.row, caught.value.column) == problem
    assert f"row {problem[1]}" in str(caught.value)
