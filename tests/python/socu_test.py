"""trifold.socu on Warp's arrays: its launchers, with statuses on the device. On a CUDA device where there is one, and on the CPU."""

import numpy as np
import pytest
import trifold
from problems import make, rhs, solution

wp = pytest.importorskip("warp")
socu = pytest.importorskip("trifold.socu")
DEVICES = ["cpu", pytest.param("cuda:0", marks=pytest.mark.skipif(not wp.is_cuda_available(), reason="no CUDA device"))]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def on_warp(device, D, E, b):
    """Arrays as socu has them: E with room for its recursion."""
    room = socu.calculate_off_diag_storage_len(D.shape[-3]) - E.shape[-3]
    E = np.concatenate([E, np.full((*D.shape[:-3], room, *D.shape[-2:]), 7, D.dtype)], -3)
    dtype = wp.float32 if D.dtype == np.float32 else wp.float64
    return [wp.from_numpy(array, dtype=dtype, device=device) for array in (D, E, b)]


def near(dtype):
    return dict(rtol=1e-9, atol=1e-11) if dtype == np.float64 else dict(rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize(("horizon", "blocks"), [(1, 0), (2, 1), (3, 2), (7, 8), (8, 11), (100, 190)])
def test_room_of_e(horizon, blocks):
    assert socu.calculate_off_diag_storage_len(horizon) == blocks
    assert socu.calculate_recursive_iterations(horizon) == len(f"{horizon:b}")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize(("n", "horizon", "columns"), [(3, 7, 1), (12, 20, 2), (33, 4, 1), (5, 1, 1)])
def test_solutions(device, n, horizon, columns, batch, dtype):
    nD, nE = make(n, horizon, batch, dtype)
    b = rhs(n, horizon, batch, columns, dtype)
    L, E, x = on_warp(device, nD, nE, b)
    create = {"use_cuda_graph": device != "cpu", "device": device, "dtype": L.dtype}
    factor = socu.create_cholesky_factor_launch(L, E, **create)
    solve = socu.create_cholesky_solve_launch(L, E, x, **create)
    both = socu.create_cholesky_factor_and_solve_launch(L, E, x)
    forward = socu.create_cholesky_forward_substitution_launch(L, E, x)
    backward = socu.create_cholesky_backward_substitution_launch(L, E, x)
    for calls in ((factor, solve), (both,), (forward, backward)):
        wp.copy(x, wp.from_numpy(b, dtype=L.dtype, device=device))
        for call in calls:
            call()
        np.testing.assert_allclose(x.numpy(), solution(nD, nE, b), **near(dtype))
    np.testing.assert_array_equal(L.numpy(), nD)  # the factor is elsewhere


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_members_that_fail(device, dtype):
    nD, nE = make(4, 7, 3, dtype)
    L, E, x = on_warp(device, nD, nE, rhs(4, 7, 3, 1, dtype))
    status = wp.full(3, 5, dtype=wp.int32, device=device)
    factor = socu.create_cholesky_factor_launch(L, E, status=status)
    solve = socu.create_cholesky_solve_launch(L, E, x)
    factor()
    assert list(status.numpy()) == [0, 0, 0]
    nD[1, 3] *= -1
    wp.copy(L, wp.from_numpy(nD, dtype=L.dtype, device=device))
    factor()
    solve()
    assert list(status.numpy()) == [0, 1, 0]
    assert list(np.isnan(x.numpy()).any((1, 2, 3))) == [False, True, False]
    assert np.isfinite(L.numpy()).all()
    factor.status = None  # as with socu: not a number
    factor()
    assert list(np.isnan(L.numpy()).any((1, 2, 3))) == [False, True, False]


def test_launchers_share_a_factor_by_their_arrays(device):
    nD, nE = make(3, 5)
    b = rhs(3, 5, None, 1)
    L, E, x = on_warp(device, nD, nE, b)
    socu.create_cholesky_factor_launch(L, E)()
    with pytest.raises(trifold.SpecError, match="factor"):
        socu.create_cholesky_solve_launch(*on_warp(device, nD, nE, b))()
    kept = socu.create_cholesky_factor_launch(L, E)
    kept()
    socu.create_cholesky_solve_launch(L, E, x)()
    np.testing.assert_allclose(x.numpy(), solution(nD, nE, b), rtol=1e-10)


def test_in_a_graph_of_the_caller():
    if not wp.is_cuda_available():
        pytest.skip("no CUDA device")
    nD, nE = make(12, 20, 3)
    b = rhs(12, 20, 3, 1)
    L, E, x = on_warp("cuda:0", nD, nE, b)
    status = wp.full(3, 5, dtype=wp.int32, device="cuda:0")
    factor = socu.create_cholesky_factor_launch(L, E, status=status)
    solve = socu.create_cholesky_solve_launch(L, E, x)
    with wp.ScopedCapture(device="cuda:0") as capture:  # of the first calls
        factor()
        solve()
    for scale in (1, 2):
        wp.copy(x, wp.from_numpy(b, dtype=wp.float64, device="cuda:0"))
        wp.copy(L, wp.from_numpy(scale * nD, dtype=wp.float64, device="cuda:0"))
        wp.capture_launch(capture.graph)
        np.testing.assert_allclose(x.numpy(), solution(scale * nD, nE, b), rtol=1e-9, atol=1e-11)
        assert list(status.numpy()) == [0, 0, 0]
    stream = wp.Stream("cuda:0")
    elsewhere = socu.create_cholesky_factor_and_solve_launch(L, E, x, stream=stream)
    wp.copy(x, wp.from_numpy(b, dtype=wp.float64, device="cuda:0"))
    wp.synchronize()
    elsewhere()
    wp.synchronize_stream(stream)
    np.testing.assert_allclose(x.numpy(), solution(2 * nD, nE, b), rtol=1e-9, atol=1e-11)


def test_what_does_not_fit():
    nD, nE = make(3, 7, 2)
    L, E, x = on_warp("cpu", nD, nE, rhs(3, 7, 2, 1))
    status = wp.zeros(3, dtype=wp.int32, device="cpu")
    for message, call in {
        "L is a ndarray": lambda: socu.create_cholesky_factor_launch(nD, E),
        r"L has shape \(2, 3, 7, 3\)": lambda: socu.create_cholesky_factor_launch(L.reshape((2, 3, 7, 3)), E),
        r"E is float64 of shape \(2, 6, 3, 3\); give float64 of shape \(2, 8, 3, 3\)": lambda: socu.create_cholesky_factor_launch(
            L, wp.from_numpy(nE, dtype=wp.float64, device="cpu")
        ),
        "dtype is float32": lambda: socu.create_cholesky_factor_launch(L, E, dtype=wp.float32),
        "use_cuda_graph is True and L is on the CPU": lambda: socu.create_cholesky_solve_launch(L, E, x, use_cuda_graph=True),
        "x is a ndarray": lambda: socu.create_cholesky_solve_launch(L, E, nD),
        r"status is int32 of shape \(3,\)": lambda: socu.create_cholesky_factor_launch(L, E, status=status),
    }.items():
        with pytest.raises(trifold.SpecError, match=message):
            call()
