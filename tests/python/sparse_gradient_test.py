"""trifold.torch.sparse and trifold.jax.sparse on the CPU: all that linear.py asks of a family, and what is of sparse matrices alone."""

import functools
import gc

import numpy as np
import pytest
import trifold
from faces import Jax, Torch, close
from linear import TIGHT, Linear, Sparse

sp = pytest.importorskip("scipy.sparse")
sla = pytest.importorskip("scipy.sparse.linalg")


def problem(block=1, side=4, seed=0, columns=None):
    """Blocks on a square of cells: rows (starts, columns, values), and b."""
    random = np.random.default_rng(seed)
    line = sp.diags_array([-1.3, 2.0, -0.7], offsets=[-1, 0, 1], shape=(side, side))
    A = sp.kron(sp.kronsum(line, line) + 0.1 * sp.eye_array(side * side), np.eye(block) + 0.1 * random.uniform(-1, 1, (block, block)))
    A = A.tocsr() if block == 1 else A.tobsr(blocksize=(block, block))
    A.sort_indices()
    A.data += 0.05 * random.uniform(-1, 1, A.data.shape)
    return A, random.standard_normal(A.shape[0] if columns is None else (A.shape[0], columns))


CASES = [(block, columns) for block in (1, 2, 3) for columns in (None, 3)]


class Derivatives(Linear):
    @pytest.fixture(params=CASES, ids=str)
    def case(self, request, face):
        block, columns = request.param
        return Sparse(face, *problem(block, columns=columns), subdomain=6)

    @pytest.fixture(params=CASES[:3], ids=str)
    def small(self, request, face):
        block, columns = request.param
        return Sparse(face, *problem(block, 3, columns=columns), subdomain=4)


class TestTorch(Derivatives):
    @pytest.fixture
    def face(self):
        return Torch()

    @pytest.mark.parametrize(("block", "columns"), CASES)
    def test_solution_and_tensor(self, face, block, columns):
        """A solution without a Solver; and gradients to the sparse tensor are those to its values."""
        A, b = problem(block, columns=columns)
        torch, sparse, right = face.library, face.module.sparse, face.give(b)
        close(sparse.solve(face.sparse(A), right, subdomain=6, **TIGHT), sla.spsolve(A.tocsc(), b))
        s, values = sparse.Solver(face.sparse(A)), face.give(A.data).requires_grad_()
        make, index = torch.sparse_csr_tensor if block == 1 else torch.sparse_bsr_tensor, (s.starts, s.columns)
        loss, through = (s.solve(M, right, **TIGHT).square().sum() for M in (values, make(*index, values, A.shape)))
        by, of_tensor = (torch.autograd.grad(of, values)[0] for of in (loss, through))
        assert torch.equal(by, of_tensor)
        if block == 1:  # torch does not keep gradients of sparse_bsr tensors
            leaf = face.sparse(A).requires_grad_()
            s.solve(leaf, right, **TIGHT).square().sum().backward()
            assert torch.equal(leaf.grad.values(), by)

    def test_no_diagonal(self, face):
        """Gradients have the order of the values, where the plan has a diagonal that A has not."""
        torch, sparse = face.library, face.module.sparse
        index = torch.tensor([0, 2, 4, 6]), torch.tensor([1, 2, 0, 2, 0, 1])
        values, b = torch.tensor([4.0, 1, 1, 5, 3, 1], dtype=torch.float64, requires_grad=True), torch.arange(3.0, dtype=torch.float64)
        rows, columns = torch.arange(3).repeat_interleave(2), index[1]
        options = {"method": "gmres", "preconditioner": "none"}
        x = sparse.solve(torch.sparse_csr_tensor(*index, values, (3, 3)), b, **options, **TIGHT)
        dense = torch.zeros(3, 3, dtype=torch.float64).index_put((rows, columns), values)
        expected = torch.linalg.solve(dense, b)
        close(x.detach(), expected.detach())
        mine, theirs = (torch.autograd.grad((of**2).sum(), values, retain_graph=True)[0] for of in (x, expected))
        close(mine, theirs)

    def test_values_between_passes(self, face):
        """A backward pass takes the values of its own forward pass, though the Solver has had others since."""
        A, b = problem(2)
        torch, right, values = face.library, face.give(b), face.give(A.data).requires_grad_()
        s = face.module.sparse.Solver(face.sparse(A))
        alone = torch.autograd.grad(s.solve(values, right, **TIGHT).sum(), values)[0]
        loss = s.solve(values, right, **TIGHT).sum()
        s.solve(2 * values, right)
        close(torch.autograd.grad(loss, values)[0], alone, 1e-14)

    def test_bad_input(self, face):
        A, b = problem(2)
        torch, sparse, tensor, values, right = face.library, face.module.sparse, face.sparse(A), face.give(A.data), face.give(b)
        s, dense = sparse.Solver(tensor), torch.eye(4, dtype=torch.float64)
        for call, message in [
            (lambda: sparse.solve(dense, right), "A has the layout strided; give A.to_sparse_csr()"),
            (lambda: sparse.solve(A, right), "A is a bsr_array; give a tensor"),
            (lambda: sparse.solve(tensor, b), "b is a ndarray; give a tensor"),
            (lambda: s.solve(values, right.float()), "b is torch.float32 on cpu, and the Solver torch.float64 on cpu"),
            (lambda: s.solve(values[1:], right), "the array of values has shape"),
            (lambda: s.solve(values, right[1:]), "b has shape"),
            (lambda: sparse.Solver(tensor, block=2), "block is that of A"),
            (lambda: sparse.solve(tensor, right, fill=1), "unexpected keyword argument 'fill'"),
        ]:
            with pytest.raises((trifold.SpecError, TypeError)) as error:
                call()
            assert message in str(error.value)
        other, b = problem(2, 3)
        with pytest.raises(trifold.SpecError, match="another pattern"):
            s.solve(face.sparse(other), right)
        unsorted = torch.sparse_csr_tensor(torch.tensor([0, 2, 3]), torch.tensor([1, 0, 1]), torch.ones(3, dtype=torch.float64), (2, 2))
        with pytest.raises(trifold.SpecError, match="do not ascend"):
            sparse.Solver(unsorted)
        with pytest.raises(trifold.SparseFailed, match="limit: after 1 iteration"):
            sparse.solve(tensor, right, maxiter=1, subdomain=3)
        sparse.solve(tensor, right, maxiter=1, subdomain=3, check=False)
        with pytest.raises(trifold.SparseFailed):
            s.solve(values * 0, right)
        close(s.solve(values, right, **TIGHT).detach(), sla.spsolve(A.tocsc(), right.detach().numpy()))


class TestJax(Derivatives):
    @pytest.fixture
    def face(self):
        return Jax()

    @pytest.mark.parametrize(("block", "columns"), CASES)
    def test_solution_and_matrix(self, face, block, columns):
        """A solution without a Solver, a Solver in compiled code; and gradients to a BCSR are those to its values."""
        A, b = problem(block, columns=columns)
        jax, sparse = face.library, face.module.sparse
        close(sparse.solve(face.sparse(A), b, subdomain=6, **TIGHT), sla.spsolve(A.tocsc(), b))
        s = sparse.Solver(face.sparse(A))
        close(jax.jit(lambda v, b: s.solve(2 * v, b, **TIGHT))(A.data, b), sla.spsolve(2 * A.tocsc(), b))
        by, of_matrix = (jax.grad(lambda M: (s.solve(M, b, **TIGHT) ** 2).sum(), allow_int=True)(M) for M in (A.data, face.sparse(A)))
        close(of_matrix.data, by, 1e-13)

    @pytest.mark.parametrize("order", ["room", "unsorted", "no diagonal"])
    def test_orders_of_values(self, face, order):
        A, b = problem()
        A = sp.csr_array(np.roll(A.toarray(), 1, 0)) if order == "no diagonal" else A
        M, options = face.sparse(A), {"method": "gmres", "preconditioner": "none", **TIGHT}
        if order == "room":
            M = type(M).fromdense(face.library.numpy.asarray(A.toarray()), nse=A.nnz + 3)
        if order == "unsorted":
            last = np.concatenate([np.arange(*A.indptr[i : i + 2])[::-1] for i in range(A.shape[0])])
            M = type(M)((face.library.numpy.asarray(A.data[last]), A.indices[last], A.indptr), shape=A.shape)
        close(face.module.sparse.solve(M, b, **options), np.linalg.solve(A.toarray(), b))
        s = face.module.sparse.Solver(M, method="gmres", preconditioner="none")
        by_values = face.library.grad(lambda v: (s.solve(v, b, **TIGHT) ** 2).sum())(M.data)
        x = np.linalg.solve(A.toarray(), b)
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        expected = -np.linalg.solve(A.toarray().T, 2 * x)[rows] * x[np.asarray(M.indices)[: A.nnz]]
        close(by_values[: A.nnz], expected)
        assert not np.asarray(by_values[A.nnz :]).any()

    def test_no_way_by_python(self, face):
        """XLA calls the solver itself, with its own arrays."""
        A, b = problem(2)
        s = face.module.sparse.Solver(face.sparse(A))
        text = face.library.jit(face.library.grad(lambda v, b: s.solve(v, b).sum(), (0, 1))).lower(A.data, b).as_text()
        assert text.count("@trifold_sparse_solve") == 2 and "callback" not in text

    def test_solver_lives_with_compiled_code(self, face):
        A, b = problem(2)
        compiled = face.library.jit(functools.partial(face.module.sparse.Solver(face.sparse(A)).solve, **TIGHT)).lower(A.data, b).compile()
        gc.collect()
        close(compiled(face.library.numpy.asarray(A.data), face.library.numpy.asarray(b)), sla.spsolve(A.tocsc(), b))

    def test_columns_that_fail(self, face):
        """vmap of b makes more right-hand sides: the others' solutions stand."""
        A, b = problem(2, columns=3)
        b[5, 1] = np.nan
        s = face.module.sparse.Solver(face.sparse(A))
        x = np.asarray(face.library.vmap(lambda b: s.solve(A.data, b, **TIGHT), 1, 1)(b))
        assert np.isnan(x[:, 1]).all()
        close(x[:, ::2], sla.spsolve(A.tocsc(), b[:, ::2]))

    def test_failures(self, face):
        A, b = problem(2)
        s = face.module.sparse.Solver(face.sparse(A), subdomain=3)
        assert np.isnan(s.solve(A.data * 0, b)).all()
        assert np.isnan(s.solve(A.data, b, maxiter=1)).all()
        close(s.solve(A.data, b, **TIGHT), sla.spsolve(A.tocsc(), b))

    def test_bad_input(self, face):
        A, b = problem(2)
        s = face.module.sparse.Solver(face.sparse(A))
        for call, message in [
            (lambda: face.module.sparse.solve(A, b), "A is a bsr_array; give a BCSR"),
            (lambda: s.solve(A.data[1:], b), "A has data of shape"),
            (lambda: s.solve(A.data, b[1:]), "b has shape"),
            (lambda: s.solve(A.data, b, rtol=-1), "rtol = -1.0 is no tolerance"),
            (lambda: s.solve(A.data, b, maxiter=20000), "make it with maxiter=20000"),
            (lambda: s.solve(A.data.astype("float32"), b), "A is float32, and the Solver float64"),
            (lambda: face.module.sparse.Solver(face.sparse(A), block=3), "block is that of A"),
            (lambda: face.library.jit(lambda M: face.module.sparse.solve(M, b))(face.sparse(A)), "make the Solver outside of it"),
        ]:
            with pytest.raises(trifold.SpecError) as error:
                call()
            assert message in str(error.value)
