"""sparse.ranks: iterations that threads and processes share, with the bits of one process."""

import numpy as np
import pytest
import sharing
import trifold
from sharing import KINDS, on_ranks, sound

pytest.importorskip("scipy.sparse")
from sparse_test import convection  # noqa: E402  which needs SciPy
from trifold import sparse  # noqa: E402

FEW = {"partition": "greedy", "subdomain": 20}  # rows in a subdomain, so that there are several


def system(block=1, symmetric=False):
    A = convection(14, block, symmetric=symmetric)
    return A, np.random.default_rng(3).standard_normal(A.shape[0])


def results(solver, b, **options):
    solution = solver.solve(b, rtol=1e-6, **options)
    return solution.x, [outcome[:4] for outcome in solution.outcomes], solution.outcomes[-1].history


def same(one, other):
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1] == other[1]
    np.testing.assert_array_equal(one[2], other[2])


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "options",
    [
        {"block": 2},
        {"method": "cg"},
        {"dtype": "float32", "rhs": 2},
        {"dtype": "mixed", "preconditioner": "jacobi"},
        {"method": "cg", "preconditioner": "ic0", "block": 3, "workers": 2},
        {"partition": np.arange(196) % 7},
    ],
    ids=str,
)
def test_the_bits_of_one_process(count, options):
    A, b = system(options.get("block", 1), options.get("method") == "cg")
    b = np.stack([b, b[::-1]], 1).copy() if "rhs" in options else b
    b = b.astype("float32") if options.get("dtype") == "float32" else b
    options = FEW | options
    one = sparse.Solver(A, **options)
    expected = results(one, b)
    assert expected[1][0][0] == "converged"
    one.update(1.5 * A)
    again = results(one, b, x0=expected[0])

    def work(transport):
        rank = transport.rank
        solver = sparse.ranks(transport, A, **options)
        assert (solver.rank, solver.ranks) == (rank, count)
        same(results(solver, b), expected)
        solver.update(1.5 * A)
        same(results(solver, b, x0=expected[0]), again)

    sound(on_ranks(count, work))


def test_values_that_cannot_be_used_are_found_by_all():
    A, b = system()
    bad = A.copy()
    bad.data[bad.indptr[60]] = np.nan

    def work(transport):
        solver = sparse.ranks(transport, A, **FEW)
        with pytest.raises(trifold.SparseFailed) as failure:
            solver.update(bad)
        solver.update(A)
        assert solver.solve(b, maxiter=1, check=False).info == 1
        return failure.value.problem, failure.value.row

    assert on_ranks(3, work) == [("not_finite", 60)] * 3


@pytest.mark.parametrize(
    "options, words",
    [
        ({"method": "gmres"}, "bicgstab and cg; take one of them in place of gmres"),
        ({"partition": "whole"}, "2 ranks need a subdomain each, and the partition has 1; give subdomains of about 98 rows"),
        ({"method": "lu"}, "lu"),
        ({"device": "cuda:99"}, ""),
        ({"block": 5}, "block = 5 does not divide"),
    ],
)
def test_options_that_ranks_do_not_take(options, words):
    A, _ = system()

    def work(transport):
        return sparse.ranks(transport, A, **(FEW | options))

    for error in on_ranks(2, work):
        assert isinstance(error, (trifold.SpecError, trifold.DeviceError)), error
        assert words in str(error)


def test_calls_that_ranks_do_not_have():
    A, b = system()

    def work(transport):
        solver = sparse.ranks(transport, A, **FEW)
        for call in (solver.apply, solver.apply_transposed, solver.multiply, solver.multiply_transposed, solver.solve_transposed):
            with pytest.raises(trifold.SpecError, match=f"ranks share solve alone; {call.__name__} is for a solver without ranks"):
                call(b)
        with pytest.raises(trifold.SpecError, match="ranks share solve alone; gradient is"):
            solver.gradient(b, b)
        with pytest.raises(trifold.SpecError, match="ranks share solve alone; apply is"):
            solver.operator() @ b

    sound(on_ranks(2, work))


@pytest.mark.parametrize("options, words", [({"subdomain": 10}, "rank 1 has"), ({"maxiter": "many"}, "arguments were refused")])
def test_ranks_that_disagree_are_named(options, words):
    A, _ = system()
    sharing.ranks_disagree(3, lambda transport, **given: sparse.ranks(transport, A, **given), FEW, FEW | options, words)


def test_a_rank_that_hangs_is_named():
    A, b = system()
    sharing.a_rank_hangs(3, lambda transport: sparse.ranks(transport, A, **FEW), lambda solver: solver.solve(b))


def test_what_is_no_communicator():
    A, _ = system()
    with pytest.raises(trifold.SpecError, match="a int is no communicator"):
        sparse.ranks(3, A)
    with pytest.raises(trifold.SpecError, match="give it to LocalRanks"):
        sparse.ranks(trifold.LocalRanks(1).take(0), A, timeout=3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 3])
def test_processes(kind, count):
    sharing.processes(kind, count, "sparse", says=("is right", count))
