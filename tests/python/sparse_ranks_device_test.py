"""trifold.sparse.ranks on two CUDA devices: threads with vectors of NumPy, torch and CuPy, and processes of torch.distributed. Skipped
where there are fewer devices, or a library is missing."""

import numpy as np
import pytest
import sharing
import trifold
from sharing import Cupy, Host, Torch, on_ranks, sound

pytest.importorskip("scipy.sparse")
from sparse_test import convection  # noqa: E402  which needs SciPy
from trifold import sparse  # noqa: E402

pytestmark = [
    pytest.mark.skipif(len(trifold.info()["devices"]["cuda"]["devices"]) < 2, reason="no two CUDA devices"),
    pytest.mark.usefixtures("time_limit"),
]
FEW = {"partition": "greedy", "subdomain": 40}


@pytest.mark.parametrize("library", [Host, Torch, Cupy])
@pytest.mark.parametrize("options", [{"block": 3}, {"method": "cg"}, {"dtype": "float32", "rhs": 2}], ids=str)
def test_the_bits_of_one_gpu(library, options):
    there = library()
    A = convection(24, options.get("block", 1), symmetric=options.get("method") == "cg")
    b = np.random.default_rng(3).standard_normal((A.shape[0], options.get("rhs", 1))).astype(options.get("dtype", "float64"))

    def results(solver, rank):
        found = []
        for values in (A, 1.5 * A, A):
            solver.update(values)
            solution = solver.solve(there.put(b, rank), rtol=1e-5)
            assert solution.info == 0
            found.append((there.get(solution.x), solution.iterations, solution.residual))
        return found

    # Ranks send messages between launches, so one GPU makes several too.
    with there.current(0):
        expected = results(sparse.Solver(A, device="cuda:0", variant="sweeps:one_launch=0", **FEW, **options), 0)

    def work(transport):
        rank = transport.rank
        with there.current(rank):
            found = results(sparse.ranks(transport, A, device=f"cuda:{rank}", **FEW, **options), rank)
        for mine, one in zip(found, expected):
            np.testing.assert_array_equal(mine[0], one[0])
            assert mine[1:] == one[1:]

    sound(on_ranks(2, work))


def test_a_vector_on_another_gpu_is_refused():
    there = Torch()
    A = convection(24)

    def work(transport):
        rank = transport.rank
        solver = sparse.ranks(transport, A, device=f"cuda:{rank}", **FEW)
        with pytest.raises(trifold.SpecError, match=f"make it with device='cuda:{1 - rank}', or copy the array there"):
            solver.solve(there.put(np.ones(A.shape[0]), 1 - rank))

    sound(on_ranks(2, work))


@pytest.mark.parametrize("kind", ["cuda", "nccl"])
def test_processes(kind):
    pytest.importorskip("torch")
    sharing.processes(kind, 2, "sparse", says=("is right", 2))
