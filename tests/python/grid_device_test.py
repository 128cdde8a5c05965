"""trifold.grid on a CUDA device: arrays of torch, CuPy and JAX, streams, gradients. Skipped where there is no device, or a library is
missing."""

import numpy as np
import pytest
import trifold
from faces import Cupy, Jax, Torch, TorchTensors, close
from grid_gradient_test import Derivatives
from grid_test import KINDS, Calls
from grids import dense, make, rhs, solution
from linear import Images
from trifold import grid

pytestmark = [
    pytest.mark.skipif(not trifold.info()["devices"]["cuda"]["devices"], reason="no CUDA device"),
    pytest.mark.usefixtures("time_limit"),
]
CASES = [((33, 31), *kind, dtype, (2,), 3) for dtype in (np.float64, np.float32) for kind in KINDS]


class TestArrays(Calls):
    @pytest.fixture(params=[TorchTensors, Cupy])
    def face(self, request):
        return request.param("cuda")

    @pytest.fixture(params=CASES, ids=str)
    def case(self, request):
        return request.param


class TestDerivatives(Derivatives):
    @pytest.fixture(params=[Torch, Jax])
    def face(self, request):
        return request.param("cuda")

    @pytest.fixture(params=CASES, ids=str)
    def case(self, request, face):
        return Images(face, *request.param)


@pytest.fixture
def torch():
    return Torch("cuda").library


def test_streams(torch):
    """Solvers go from stream to stream, and no work overtakes that of another."""
    stencil, b = make(33, 31, (2,)), rhs(33, 31, (2,), 3)
    given = [(torch.from_numpy(stencil * scale).cuda(), torch.from_numpy(b).cuda()) for scale in (1.0, 2.0, 4.0)]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in given]
    results = []
    for _ in range(5):
        for stream, arrays in zip(streams, given):
            with torch.cuda.stream(stream):
                results.append(grid.solve(*arrays))
    torch.cuda.synchronize()
    expected = solution(dense(stencil), b)
    for k, x in enumerate(results):
        close(x.cpu().numpy() * 2.0 ** (k % 3), expected, 1e-12)


def test_an_image_that_fails(torch):
    stencil, b = make(33, 31, (2,)), rhs(33, 31, (2,), 3)
    stencil[1, 3, 4, 4] = np.nan
    given = torch.from_numpy(stencil).cuda(), torch.from_numpy(b).cuda()
    x = grid.solve(*given).cpu().numpy()
    assert np.isnan(x[1]).all() and np.isfinite(x[0]).all()
    with pytest.raises(trifold.GridFailed, match=r"image 1: the stencil of pixel \[3, 4\]"):
        grid.solve(*given, check=True)


def test_wrong_device(torch):
    stencil, b = make(33, 31, (2,)), rhs(33, 31, (2,), 3)
    on_device = torch.from_numpy(stencil).cuda(), torch.from_numpy(b).cuda()
    with pytest.raises(trifold.SpecError, match="b is on the CPU and the stencil on GPU 0; move one of them"):
        grid.solve(on_device[0], torch.from_numpy(b))
    with pytest.raises(trifold.SpecError, match="b is on GPU 0 and the stencil on the CPU"):
        grid.solve(stencil, on_device[1])
