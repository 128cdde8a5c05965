"""trifold.ranks and Solver.load on GPUs without a GPU: kernels are emulated, and the drivers and NCCL are the stand-ins of
tests/support/drivers, in the folder that TRIFOLD_STAND_INS names. Each test is a process of its own, with these in place of CUDA's."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sharing
import trifold
from problems import make, rhs, solution
from sharing import Cupy, on_ranks, own, sound

FOLDER = os.environ.get("TRIFOLD_STAND_INS", "")
SECONDS = 300  # that a process may take, compilation included
GPU = "cuda:0"
PROGRAMS = {}


def program(work):
    """A test that runs in a process with the stand-ins."""
    PROGRAMS[work.__name__] = work

    @pytest.mark.skipif(not FOLDER, reason="TRIFOLD_STAND_INS names no folder")
    def test():
        files = {"TRIFOLD_NVRTC": f"{FOLDER}/libfake_nvrtc.so", "TRIFOLD_NCCL": f"{FOLDER}/libnccl.so.2"}
        files["TRIFOLD_CACHE_DIR"] = f"{FOLDER}/kernels"  # of their own, since this NVRTC has the version of a true one
        environment = {**os.environ, **files, "LD_LIBRARY_PATH": FOLDER}
        words = [sys.executable, str(Path(__file__)), work.__name__]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.endswith("right\n")

    test.__doc__ = work.__doc__
    return test


class OneGpu(Cupy):
    """All ranks have it: the driver has one device, whose memory is the host's."""

    def options(self, rank):
        return {"device": GPU}


@program
def test_all_calls(cupy):
    sharing.all_calls(OneGpu(cupy), 3, 2, n=3, horizon=7)


@program
def test_errors(cupy):
    sharing.not_positive_definite(OneGpu(cupy), 2)


@program
def test_a_rank_that_comes_no_more(cupy):
    D, E, b = *make(3, 7), rhs(3, 7)
    sharing.a_rank_hangs(
        2,
        lambda transport: trifold.ranks(transport, block=3, horizon=7, device=GPU),
        lambda chain: chain.factor_solve(*sharing.parts(OneGpu(cupy), chain, D, E, b)),
        timeout=2.0,
    )


@program
def test_batches_of_single_precision(cupy):
    """With shifts, a mask and refinement by arrays of float64."""
    D, E, b = *make(3, 7, 3), rhs(3, 7, 3)
    shift, active = np.array([0.0, 1, 2]), np.array([True, False, True])

    def work(transport):
        chain = trifold.ranks(transport, block=3, horizon=7, batch=4, dtype="float32", device=GPU)
        mine = own(chain, D), own(chain, E, True), b[:, chain.first : chain.first + chain.blocks]
        wide = [cupy.asarray(array) for array in mine]
        out = cupy.asarray(np.full(mine[2].shape, 7, np.float32))
        options = dict(shift=cupy.asarray(shift.astype(np.float32)), active=cupy.asarray(active))
        chain.factor_solve(*(array.astype(np.float32) for array in wide), out, **options)
        assert chain.status().floors.tolist() == [0, -1, 0]
        x = out.astype(np.float64)
        refined = chain.refine(*wide, x, shift=cupy.asarray(shift), active=cupy.asarray(active))
        assert refined.converged.all() and (refined.iterations > 0).tolist() == [True, False, True]
        return x.get()

    x = np.concatenate(sound(on_ranks(2, work)), 1)
    expected = solution(D + shift[:, None, None, None] * np.eye(3), E, b)
    np.testing.assert_allclose(x[active], expected[active], rtol=1e-12, atol=1e-13)
    assert (x[1] == 7).all()


@pytest.mark.skipif(importlib.util.find_spec("scipy") is None, reason="no SciPy")
@program
def test_sparse_systems(cupy):
    """With vectors of CuPy and of NumPy; the bits of one GPU."""
    import scipy.sparse
    from trifold import sparse

    line = scipy.sparse.diags_array([-1.2, 2.1, -0.8], offsets=[-1, 0, 1], shape=(9, 9))
    A, b = scipy.sparse.kronsum(line, line, format="csr"), rhs(1, 81)[:, 0]
    few = {"partition": np.arange(81) // 9 // 2, "device": GPU}
    one = sparse.Solver(A, variant="sweeps:one_launch=0", **few).solve(b)

    def work(transport):
        solver = sparse.ranks(transport, A, **few)
        on_host, on_device = solver.solve(b), solver.solve(cupy.asarray(b))
        assert on_host.iterations == on_device.iterations == one.iterations > 3
        np.testing.assert_array_equal(on_host.x, one.x)
        np.testing.assert_array_equal(on_device.x.get(), one.x)
        with pytest.raises(trifold.SpecError, match="ranks share solve alone; multiply is for a solver without ranks"):
            solver.multiply(b)

    sound(on_ranks(2, work))


@program
def test_ranks_that_disagree(cupy):
    def of_another_size(transport):
        return trifold.ranks(transport, block=3 + transport.rank, horizon=7, device=GPU)

    def on_a_processor(transport):
        return trifold.ranks(transport, block=3, horizon=7, device=GPU if transport.rank == 0 else "cpu")

    def without_a_device(transport):
        return trifold.ranks(transport, block=3, horizon=7, device=f"cuda:{transport.rank}")

    for work, words in ((of_another_size, "rank 1 has"), (without_a_device, "arguments were refused there"), (on_a_processor, "rank")):
        for rank, error in enumerate(on_ranks(2, work, timeout=3.0)):
            assert isinstance(error, trifold.DeviceError if work is without_a_device and rank == 1 else trifold.RankError), repr(error)
            assert isinstance(error, trifold.DeviceError) or words in str(error)


@program
def test_an_nccl_that_is_missing(cupy):
    """Of the two, the second says what the first has found."""

    def work(transport):
        return trifold.ranks(transport, block=3, horizon=7, device=GPU)

    os.environ["TRIFOLD_NCCL"] = "/nowhere/libnccl.so"
    for error in on_ranks(2, work):
        assert "ranks on GPUs need NCCL, and '/nowhere/libnccl.so' cannot be opened" in str(error)
        assert isinstance(error, (trifold.DeviceError, trifold.RankError))


@program
def test_blocks_that_are_loaded(cupy):
    """In pieces, of which the factor takes the place; a batch as a whole; and what is wrong with a piece."""
    D, E, b = *make(5, 7), rhs(5, 7)
    plan = trifold.Plan(block=5, horizon=7, operations="load,factor,factor_solve,solve", schedule="twisted:2", device=GPU)
    solver = plan.solver()

    def load(first, last):
        solver.load(cupy.asarray(D[first:last]), cupy.asarray(E[first:last]) if first < 6 else None, first)

    for first, last in ((3, 6), (6, 7), (0, 3)):
        with pytest.raises(trifold.SpecError, match="have not been loaded"):
            solver.factor(None, None)
        load(first, last)
    x = solver.factor_solve(None, None, cupy.asarray(b), check=True).get()
    np.testing.assert_allclose(x, solution(D, E, b), rtol=1e-11)
    for first, last in ((0, 7), (6, 7)):
        load(first, last)
    solver.factor(None, None)
    np.testing.assert_array_equal(solver.solve(cupy.asarray(b)).get(), x)
    with pytest.raises(trifold.SpecError, match=r"D has 3 blocks from block 5 on; the chain has 7"):
        solver.load(cupy.asarray(D[:3]), cupy.asarray(E[:3]), 5)
    with pytest.raises(trifold.SpecError, match=r"E has shape \(3, 5, 5\); give \(2, 5, 5\)"):
        solver.load(cupy.asarray(D[:2]), cupy.asarray(E[:3]), 3)
    with pytest.raises(trifold.SpecError, match="no kernels for load"):
        trifold.Plan(block=5, horizon=7, device=GPU).solver().load(cupy.asarray(D), cupy.asarray(E))
    with pytest.raises(trifold.SpecError, match="leave load out"):
        trifold.Plan(block=5, horizon=7, operations="load,factor", device="cpu")
    D, E, b = *make(5, 7, 3), rhs(5, 7, 3)
    batch = trifold.Plan(block=5, horizon=7, batch=3, operations="load,factor_solve", schedule="twisted:2", device=GPU).solver()
    batch.load(cupy.asarray(D), cupy.asarray(E))
    np.testing.assert_allclose(batch.factor_solve(None, None, cupy.asarray(b)).get(), solution(D, E, b), rtol=1e-11)
    with pytest.raises(trifold.SpecError, match="a batch is loaded as a whole"):
        batch.load(cupy.asarray(D[:, :3]), cupy.asarray(E[:, :3]))


if __name__ == "__main__":
    from stand_in_cupy import install

    PROGRAMS[sys.argv[1]](install())
    print("right")
