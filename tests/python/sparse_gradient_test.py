"""trifold.torch.sparse and trifold.jax.sparse on the CPU: solutions and derivatives by values and by b."""

import functools
import gc

import numpy as np
import pytest
import trifold

sp = pytest.importorskip("scipy.sparse")
sla = pytest.importorskip("scipy.sparse.linalg")

TIGHT = {"rtol": 1e-13}


def problem(block=1, side=4, seed=0, columns=None):
    """Blocks on a square of cells: rows (starts, columns, values), and b."""
    random = np.random.default_rng(seed)
    line = sp.diags_array([-1.3, 2.0, -0.7], offsets=[-1, 0, 1], shape=(side, side))
    A = sp.kron(sp.kronsum(line, line) + 0.1 * sp.eye_array(side * side), np.eye(block) + 0.1 * random.uniform(-1, 1, (block, block)))
    A = A.tocsr() if block == 1 else A.tobsr(blocksize=(block, block))
    A.sort_indices()
    A.data += 0.05 * random.uniform(-1, 1, A.data.shape)
    return A, random.standard_normal(A.shape[0] if columns is None else (A.shape[0], columns))


def close(mine, theirs, tolerance=1e-9):
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    assert mine.shape == theirs.shape
    assert np.abs(mine - theirs).max() <= tolerance * np.abs(theirs).max()


class TestTorch:
    @pytest.fixture(autouse=True)
    def _torch(self):
        self.torch = pytest.importorskip("torch")
        import trifold.torch

        self.sparse = trifold.torch.sparse

    def dense(self, A):
        """A of its values, and a solution by it."""
        torch = self.torch
        entries = sp.csr_array(A.tocsr()).tocoo() if A.data.ndim == 1 else A.tocoo()
        place = tuple(torch.from_numpy(part.astype(np.int64)) for part in entries.coords)
        return lambda v, b: torch.linalg.solve(torch.zeros(A.shape, dtype=v.dtype).index_put(place, v.reshape(-1)), b)

    @pytest.mark.parametrize("block", [1, 2])
    def test_transforms(self, block):
        """vmap, grad, vjp and jacrev of torch.func, in each other."""
        func = pytest.importorskip("torch.func")
        A, b = problem(block, 3)
        make, values, b = (part.detach() if hasattr(part, "detach") else part for part in self.tensors(A, b))
        s, dense = self.sparse.Solver(make(values)), self.dense(A)
        many = b * self.torch.linspace(1, 2, 4, dtype=b.dtype)[:, None]
        V, columns = self.torch.stack([values * factor for factor in (1, 1.5, 2, 3)]), many[..., None].expand(4, -1, 2)

        def total(solve):
            return lambda v, b: (solve(v, b) ** 3).sum()

        def energy(solve):
            return lambda v: (func.grad(total(solve))(v, b) ** 2).sum()

        def all_of(solve):
            yield func.vmap(solve, (None, 0))(values, many)
            yield func.vmap(solve, (None, 0))(values, columns)
            yield func.vmap(solve, (0, None))(V, b)
            yield func.vmap(solve)(V, many)
            yield from func.grad(total(solve), (0, 1))(values, b)
            yield from func.vmap(func.grad(total(solve), (0, 1)))(V, many)
            yield from func.vjp(solve, values, b)[1](b)
            yield from func.jacrev(solve, (0, 1))(values, b)
            yield func.grad(energy(solve))(values)

        for mine, theirs in zip(all_of(lambda v, b: s.solve(v, b, **TIGHT)), all_of(dense), strict=True):
            close(mine, theirs, 1e-8)

    def test_no_diagonal(self):
        """Gradients have the order of the values, where the plan has a diagonal that A has not."""
        torch = self.torch
        index = torch.tensor([0, 2, 4, 6]), torch.tensor([1, 2, 0, 2, 0, 1])
        values, b = torch.tensor([4.0, 1, 1, 5, 3, 1], dtype=torch.float64, requires_grad=True), torch.arange(3.0, dtype=torch.float64)
        rows, columns = torch.arange(3).repeat_interleave(2), index[1]
        options = {"method": "gmres", "preconditioner": "none"}
        x = self.sparse.solve(torch.sparse_csr_tensor(*index, values, (3, 3)), b, **options, **TIGHT)
        dense = torch.zeros(3, 3, dtype=torch.float64).index_put((rows, columns), values)
        expected = torch.linalg.solve(dense, b)
        close(x.detach(), expected.detach())
        mine, theirs = (torch.autograd.grad((of**2).sum(), values, retain_graph=True)[0] for of in (x, expected))
        close(mine, theirs)

    def tensors(self, A, b):
        torch = self.torch
        index = [torch.from_numpy(np.asarray(a, np.int64)) for a in (A.indptr, A.indices)]
        values, b = torch.from_numpy(A.data).requires_grad_(), torch.from_numpy(b).requires_grad_()
        make = torch.sparse_csr_tensor if A.data.ndim == 1 else torch.sparse_bsr_tensor
        return lambda v: make(*index, v, A.shape), values, b

    @pytest.mark.parametrize("columns", [None, 3])
    @pytest.mark.parametrize("block", [1, 2, 3])
    def test_solution(self, block, columns):
        A, b = problem(block, columns=columns)
        make, values, right = self.tensors(A, b)
        x = self.sparse.solve(make(values), right, subdomain=6, **TIGHT)
        close(x.detach(), sla.spsolve(A.tocsc(), b))
        x = self.sparse.Solver(make(values), rhs=2).solve_transposed(values, right, **TIGHT)
        close(x.detach(), sla.spsolve(A.T.tocsc(), b))

    @pytest.mark.parametrize("columns", [None, 2])
    @pytest.mark.parametrize("block", [1, 2])
    def test_gradients(self, block, columns):
        """Of the first and second order, against differences; through tensors of values, and through the sparse tensor."""
        A, b = problem(block, 3, columns=columns)
        make, values, right = self.tensors(A, b)
        s = self.sparse.Solver(make(values), subdomain=4)
        check = self.torch.autograd
        for solve in (s.solve, s.solve_transposed):
            call = lambda v, r, solve=solve: solve(v, r, **TIGHT)  # noqa: E731
            assert check.gradcheck(call, (values, right))
            assert check.gradgradcheck(call, (values, right))
        by = self.torch.autograd.grad(s.solve(values, right, **TIGHT).square().sum(), (values, right))
        through = self.torch.autograd.grad(s.solve(make(values), right, **TIGHT).square().sum(), (values, right))
        assert all(self.torch.equal(one, other) for one, other in zip(by, through))
        if block == 1:  # torch does not keep gradients of sparse_bsr tensors
            leaf = make(values.detach()).requires_grad_()
            s.solve(leaf, right, **TIGHT).square().sum().backward()
            assert self.torch.equal(leaf.grad.values(), by[0])

    def test_values_between_passes(self):
        """A backward pass takes the values of its own forward pass, though the Solver has had others since."""
        A, b = problem(2)
        make, values, right = self.tensors(A, b)
        s = self.sparse.Solver(make(values))
        alone = self.torch.autograd.grad(s.solve(values, right, **TIGHT).sum(), values)[0]
        loss = s.solve(values, right, **TIGHT).sum()
        s.solve(2 * values, right)
        close(self.torch.autograd.grad(loss, values)[0], alone, 1e-14)

    def test_bad_input(self):
        A, b = problem(2)
        make, values, right = self.tensors(A, b)
        s = self.sparse.Solver(make(values))
        dense = self.torch.eye(4, dtype=self.torch.float64)
        for call, message in [
            (lambda: self.sparse.solve(dense, right), "A has the layout strided; give A.to_sparse_csr()"),
            (lambda: self.sparse.solve(A, right), "A is a bsr_array; give a tensor"),
            (lambda: self.sparse.solve(make(values), b), "b is a ndarray; give a tensor"),
            (lambda: s.solve(values, right.float()), "b is torch.float32 on cpu, and the Solver torch.float64 on cpu"),
            (lambda: s.solve(values[1:], right), "the array of values has shape"),
            (lambda: s.solve(values, right[1:]), "b has shape"),
            (lambda: self.sparse.Solver(make(values), block=2), "block is that of A"),
            (lambda: self.sparse.solve(make(values), right, fill=1), "unexpected keyword argument 'fill'"),
        ]:
            with pytest.raises((trifold.SpecError, TypeError)) as error:
                call()
            assert message in str(error.value)
        other, b = problem(2, 3)
        with pytest.raises(trifold.SpecError, match="another pattern"):
            s.solve(self.tensors(other, b)[0](self.torch.from_numpy(other.data)), right)
        unsorted = self.torch.sparse_csr_tensor(
            self.torch.tensor([0, 2, 3]), self.torch.tensor([1, 0, 1]), self.torch.ones(3, dtype=self.torch.float64), (2, 2)
        )
        with pytest.raises(trifold.SpecError, match="do not ascend"):
            self.sparse.Solver(unsorted)
        with pytest.raises(trifold.SparseFailed, match="limit: after 1 iteration"):
            self.sparse.solve(make(values), right, maxiter=1, subdomain=3)
        self.sparse.solve(make(values), right, maxiter=1, subdomain=3, check=False)
        with pytest.raises(trifold.SparseFailed):
            s.solve(values * 0, right)
        close(s.solve(values, right, **TIGHT).detach(), sla.spsolve(A.tocsc(), right.detach().numpy()))


class TestJax:
    @pytest.fixture(autouse=True)
    def _jax(self):
        self.jax = pytest.importorskip("jax")
        self.jax.config.update("jax_enable_x64", True)
        import trifold.jax
        from jax.experimental.sparse import BCSR

        self.BCSR, self.sparse = BCSR, trifold.jax.sparse

    def bcsr(self, A, data=None):
        data = A.data if data is None else data
        shape = A.shape if A.data.ndim == 1 else (len(A.indptr) - 1, A.shape[1] // A.data.shape[1], *A.data.shape[1:])
        return self.BCSR((self.jax.numpy.asarray(data), A.indices, A.indptr), shape=shape)

    @pytest.mark.parametrize("columns", [None, 3])
    @pytest.mark.parametrize("block", [1, 2, 3])
    def test_solution(self, block, columns):
        A, b = problem(block, columns=columns)
        x = self.sparse.solve(self.bcsr(A), b, subdomain=6, **TIGHT)
        close(x, sla.spsolve(A.tocsc(), b))
        s = self.sparse.Solver(self.bcsr(A))
        close(self.jax.jit(lambda v, b: s.solve(2 * v, b, **TIGHT))(A.data, b), sla.spsolve(2 * A.tocsc(), b))

    @pytest.mark.parametrize("columns", [None, 2])
    @pytest.mark.parametrize("block", [1, 2])
    def test_derivatives(self, block, columns):
        from jax.test_util import check_grads

        A, b = problem(block, 3, columns=columns)
        s = self.sparse.Solver(self.bcsr(A), subdomain=4)
        call = lambda values, b: s.solve(values, b, **TIGHT)  # noqa: E731
        check_grads(call, (self.jax.numpy.asarray(A.data), self.jax.numpy.asarray(b)), order=2, atol=1e-5, rtol=1e-5)
        by_values = self.jax.jit(self.jax.grad(lambda v: (call(v, b) ** 2).sum()))(A.data)
        through = self.jax.grad(lambda M: (s.solve(M, b, **TIGHT) ** 2).sum(), allow_int=True)(self.bcsr(A))
        close(through.data, by_values, 1e-13)

    def test_vmap(self):
        A, b = problem(2, columns=3)
        s = self.sparse.Solver(self.bcsr(A))
        x = self.jax.vmap(lambda b: s.solve(A.data, b, **TIGHT), 1, 1)(b)
        close(x, sla.spsolve(A.tocsc(), b))
        factors = np.array([1.0, 2.0])
        x = self.jax.vmap(lambda factor: s.solve(factor * A.data, b[:, 0], **TIGHT))(factors)
        close(x[0], 2 * np.asarray(x[1]))

    @pytest.mark.parametrize("order", ["room", "unsorted", "no diagonal"])
    def test_orders_of_values(self, order):
        A, b = problem()
        A = sp.csr_array(np.roll(A.toarray(), 1, 0)) if order == "no diagonal" else A
        M, options = self.bcsr(A), {"method": "gmres", "preconditioner": "none", **TIGHT}
        if order == "room":
            M = self.BCSR.fromdense(self.jax.numpy.asarray(A.toarray()), nse=A.nnz + 3)
        if order == "unsorted":
            last = np.concatenate([np.arange(*A.indptr[i : i + 2])[::-1] for i in range(A.shape[0])])
            M = self.BCSR((self.jax.numpy.asarray(A.data[last]), A.indices[last], A.indptr), shape=A.shape)
        close(self.sparse.solve(M, b, **options), np.linalg.solve(A.toarray(), b))
        s = self.sparse.Solver(M, method="gmres", preconditioner="none")
        by_values = self.jax.grad(lambda v: (s.solve(v, b, **TIGHT) ** 2).sum())(M.data)
        x = np.linalg.solve(A.toarray(), b)
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        expected = -np.linalg.solve(A.toarray().T, 2 * x)[rows] * x[np.asarray(M.indices)[: A.nnz]]
        close(by_values[: A.nnz], expected)
        assert not np.asarray(by_values[A.nnz :]).any()

    def test_no_way_by_python(self):
        """XLA calls the solver itself, with its own arrays."""
        A, b = problem(2)
        s = self.sparse.Solver(self.bcsr(A))
        text = self.jax.jit(self.jax.grad(lambda v, b: s.solve(v, b).sum(), (0, 1))).lower(A.data, b).as_text()
        assert text.count("@trifold_sparse_solve") == 2 and "callback" not in text

    def test_solver_lives_with_compiled_code(self):
        A, b = problem(2)
        compiled = self.jax.jit(functools.partial(self.sparse.Solver(self.bcsr(A)).solve, **TIGHT)).lower(A.data, b).compile()
        gc.collect()
        close(compiled(self.jax.numpy.asarray(A.data), self.jax.numpy.asarray(b)), sla.spsolve(A.tocsc(), b))

    def test_columns_that_fail(self):
        """vmap of b makes more right-hand sides: the others' solutions stand."""
        A, b = problem(2, columns=3)
        b[5, 1] = np.nan
        s = self.sparse.Solver(self.bcsr(A))
        x = np.asarray(self.jax.vmap(lambda b: s.solve(A.data, b, **TIGHT), 1, 1)(b))
        assert np.isnan(x[:, 1]).all()
        close(x[:, ::2], sla.spsolve(A.tocsc(), b[:, ::2]))

    def test_failures(self):
        A, b = problem(2)
        s = self.sparse.Solver(self.bcsr(A), subdomain=3)
        assert np.isnan(s.solve(A.data * 0, b)).all()
        assert np.isnan(s.solve(A.data, b, maxiter=1)).all()
        close(s.solve(A.data, b, **TIGHT), sla.spsolve(A.tocsc(), b))

    def test_bad_input(self):
        A, b = problem(2)
        s = self.sparse.Solver(self.bcsr(A))
        for call, message in [
            (lambda: self.sparse.solve(A, b), "A is a bsr_array; give a BCSR"),
            (lambda: s.solve(A.data[1:], b), "A has data of shape"),
            (lambda: s.solve(A.data, b[1:]), "b has shape"),
            (lambda: s.solve(A.data, b, rtol=-1), "rtol = -1.0 is no tolerance"),
            (lambda: s.solve(A.data, b, maxiter=20000), "make it with maxiter=20000"),
            (lambda: s.solve(A.data.astype("float32"), b), "A is float32, and the Solver float64"),
            (lambda: self.sparse.Solver(self.bcsr(A), block=3), "block is that of A"),
            (lambda: self.jax.jit(lambda M: self.sparse.solve(M, b))(self.bcsr(A)), "make the Solver outside of it"),
        ]:
            with pytest.raises(trifold.SpecError) as error:
                call()
            assert message in str(error.value)
