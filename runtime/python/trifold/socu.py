"""The functions of socu, solved by Trifold: launchers of factorizations and solutions on Warp arrays. Warp must be installed.

    factor = trifold.socu.create_cholesky_factor_launch(L, E)
    solve = trifold.socu.create_cholesky_solve_launch(L, E, x)
    factor(); solve()

L: (N, n, n), the diagonal blocks of A, of which the lower triangles are read; E: the N - 1 blocks below them, and room for as many again,
calculate_off_diag_storage_len(N) in all; x: (N, n, m), the right-hand sides, which become the solution. All may have one batch axis in
front, and gaps. L and E are left as they are: the factor is in memory of its own, which the launchers of the same L and E share. So
factor() must come before solve(), as with socu.

A member that is not positive definite has solutions of NaN. factor() says so on the device, without waiting: it puts 1 into its entry of
the array `status`, and 0 for the others; where no such array is given, it puts NaN into the first entry of the member's L.
"""

# Warp reads annotations of kernels as types, so they are not postponed here.

import importlib
import weakref
from collections.abc import Callable
from typing import Any

from ._core import AddressSolver
from .errors import SpecError
from .toolkit import load_nvrtc

wp: Any = importlib.import_module("warp")

__all__ = [
    "calculate_off_diag_storage_len",
    "calculate_recursive_iterations",
    "create_cholesky_backward_substitution_launch",
    "FactorLaunch",
    "create_cholesky_factor_and_solve_launch",
    "create_cholesky_factor_launch",
    "create_cholesky_forward_substitution_launch",
    "create_cholesky_solve_launch",
    "exchange_in_cupiqp",
]

load_nvrtc()


def __dir__() -> list[str]:
    return __all__


def calculate_recursive_iterations(horizon: int) -> int:
    """Levels of socu's recursion for a chain of ``horizon`` blocks."""
    return horizon.bit_length()


def calculate_off_diag_storage_len(horizon: int) -> int:
    """Blocks that socu's E has: those below the diagonal, of the chain and of the shorter ones that its recursion leaves."""
    return sum((horizon >> level) - 1 for level in range(calculate_recursive_iterations(horizon)))


def create_cholesky_factor_launch(
    L: Any,
    E: Any,
    block_dim: Any = None,
    block_size: Any = None,
    dtype: Any = None,
    device: Any = None,
    stream: Any = None,
    use_cuda_graph: bool = False,
    *,
    status: Any = None,
) -> "FactorLaunch":
    """A function that factors A.

    dtype, device: those of the arrays, or None. stream: where the work goes; by default the device's current stream at each call.
    use_cuda_graph: the work is a graph either way, and goes into the caller's graph while the stream captures one. block_dim, block_size:
    of socu's kernels, and of no use here. status: an int32 array of Warp's with an entry for each member, on L's device. Raises SpecError
    on arrays that do not fit.
    """
    return FactorLaunch(_system(L, E, dtype, device, stream, use_cuda_graph), None, stream, status)


def create_cholesky_factor_and_solve_launch(
    L: Any,
    E: Any,
    x: Any,
    block_dim: Any = None,
    block_size: Any = None,
    dtype: Any = None,
    device: Any = None,
    stream: Any = None,
    use_cuda_graph: bool = False,
    *,
    status: Any = None,
) -> "FactorLaunch":
    """A function that factors A and solves for x. Arguments and errors are those of create_cholesky_factor_launch()."""
    system = _system(L, E, dtype, device, stream, use_cuda_graph)
    return FactorLaunch(system, system.right_hand_sides(x), stream, status)


def _launcher_of(operation: str, what: str) -> Any:
    """A function that makes launchers of a sweep."""

    def create(
        L: Any,
        E: Any,
        x: Any,
        block_dim: Any = None,
        block_size: Any = None,
        dtype: Any = None,
        device: Any = None,
        stream: Any = None,
        use_cuda_graph: bool = False,
    ) -> Callable[[], None]:
        system = _system(L, E, dtype, device, stream, use_cuda_graph)
        return _sweep(operation, system, system.right_hand_sides(x), stream)

    name = operation if operation == "solve" else operation + "_substitution"
    create.__name__ = create.__qualname__ = f"create_cholesky_{name}_launch"
    create.__doc__ = f"{what} Arguments and errors are those of create_cholesky_factor_launch()."
    return create


create_cholesky_solve_launch = _launcher_of("solve", "A function that solves for x with the factor.")
create_cholesky_forward_substitution_launch = _launcher_of(
    "forward", "A function that puts C^-1 x in the place of x, where A = C C', and rows of x stay with their blocks. C is not socu's."
)
create_cholesky_backward_substitution_launch = _launcher_of(
    "backward", "A function that puts C'^-1 x in the place of x. After the forward substitution that is the solution."
)


class FactorLaunch:
    """Result of create_cholesky_factor_launch(): call it to factor. ``status`` is the array that statuses are written to, or None."""

    def __init__(self, system: "_System", x: Any, stream: Any, status: Any) -> None:
        self._system, self._x, self._stream = system, x, stream
        self.status = status

    @property
    def status(self) -> Any:
        return self._status

    @status.setter
    def status(self, array: Any) -> None:
        system = self._system
        if array is not None:
            _expect(array, "status", (system.shape[0],), wp.int32, system.L.device)
        self._status, self._report = array, system.reporter(array)

    def __call__(self) -> None:
        system, x = self._system, self._x
        stream = self._stream or _current_stream(system.L.device)
        address = _address(stream)
        if x is None:
            system.solver.factor(system.D, system.E, address)
        else:
            system.solver.factor_solve(system.D, system.E, x.ptr, x.ptr, x.shape[-1], address)
        system.is_factored = True
        system.solver.log_determinant(system.log_determinant.ptr, address)
        self._report.launch(stream)


def exchange_in_cupiqp() -> None:
    """Has the multistage solvers of cuPIQP that are made from now on factor and solve with Trifold.

    Their statuses are written by the factorization, so no factor is searched for NaN. cuPIQP must be installed.
    """
    kkt: Any = importlib.import_module("cupiqp.multistage.multistage_kkt_solver")
    kkt.create_cholesky_factor_launch = create_cholesky_factor_launch
    kkt.create_cholesky_solve_launch = create_cholesky_solve_launch

    def factor(self: Any) -> None:
        launch = self._cholesky_factor_launch
        if launch.status is not self._factor_status:
            launch.status = self._factor_status
        launch()

    kkt.MultistageKKTSolver.factor = factor


class _System:
    """A pair of L and E and the solver that its launchers share."""

    def __init__(self, L: Any, E: Any, owners: tuple[Any, Any]) -> None:
        self.L, self.is_factored, self._owners = L, False, owners
        self.shape = L.shape
        self.D, self.E = L.ptr, E.ptr or 0
        self._layouts = {"d": _layout(L), "e": _layout(E) if E.size else (-1, -1, -1)}
        self.log_determinant = wp.empty(L.shape[0], dtype=wp.float64, device=L.device)
        self._mark = _mark_f32 if L.dtype is wp.float32 else _mark_f64
        for kernel in (_write_status, self._mark):
            wp.load_module(kernel.module, L.device)  # so that the first launch may be captured
        self._make_solver(1)

    def _make_solver(self, rhs: int) -> None:
        batch, horizon, block, _ = self.shape
        device = self.L.device
        self.solver = AddressSolver(
            block=block,
            horizon=horizon,
            dtype="float32" if self.L.dtype is wp.float32 else "float64",
            batch=batch,
            rhs=rhs,
            device="cpu" if device.is_cpu else f"cuda:{device.ordinal}",
            **self._layouts,
        )
        self.solver.prepare()
        self._rhs = rhs

    def right_hand_sides(self, x: Any) -> Any:
        """x with a batch axis. The solver is made for as many columns, unless it has a factor already: then they go one by one."""
        columns = x.shape[-1] if isinstance(x, wp.array) and x.ndim > 0 else 1
        x = _with_batch(x, "x", (*self.shape[:3], columns), self.L.dtype, self.L.device)
        if not x.is_contiguous:
            raise SpecError(f"x has shape {x.shape} and gaps; give a contiguous array")
        if columns > self._rhs and not self.is_factored:
            self._make_solver(columns)
        return x

    def reporter(self, status: Any) -> Any:
        """The launch that tells which members have failed."""
        kernel, to = (self._mark, self.L) if status is None else (_write_status, status)
        return wp.launch(kernel, self.shape[0], inputs=[self.log_determinant, to], device=self.L.device, record_cmd=True)


def _sweep(operation: str, system: _System, x: Any, stream: Any) -> Callable[[], None]:
    columns, at = x.shape[-1], x.ptr

    def launch() -> None:
        address = _address(stream or _current_stream(system.L.device))
        getattr(system.solver, operation)(at, at, columns, address)

    return launch


_systems: weakref.WeakValueDictionary[Any, _System] = weakref.WeakValueDictionary()


def _system(L: Any, E: Any, dtype: Any, device: Any, stream: Any, use_cuda_graph: bool) -> _System:
    """That of the same arrays, where a launcher has it already."""
    if not isinstance(L, wp.array) or L.dtype not in (wp.float32, wp.float64):
        raise SpecError(f"L is {_described(L)}; give a float32 or float64 array of Warp's")
    if L.ndim not in (3, 4) or L.shape[-1] != L.shape[-2] or 0 in L.shape:
        raise SpecError(f"L has shape {L.shape}; give (N, n, n), or (batch, N, n, n)")
    of_device = stream.device if stream is not None else L.device if device is None else wp.get_device(device)
    for what, given, own in (("dtype", dtype or L.dtype, L.dtype), ("device", of_device, L.device)):
        if given is not own and given != own:
            raise SpecError(f"{what} is {_name(given)} and that of L is {_name(own)}; give arrays of the {what} that is asked for")
    if use_cuda_graph and L.device.is_cpu:
        raise SpecError("use_cuda_graph is True and L is on the CPU; give arrays of a CUDA device, or use_cuda_graph=False")
    diagonal = _with_batch(L, "L", L.shape if L.ndim == _AXES else (1, *L.shape), L.dtype, L.device)
    batch, horizon, n, _ = diagonal.shape
    lower = _with_batch(E, "E", (batch, calculate_off_diag_storage_len(horizon), n, n), L.dtype, L.device)
    key = (L.device.alias, L.dtype, L.ptr, diagonal.shape, diagonal.strides, lower.ptr, lower.strides)
    system = _systems.get(key)
    if system is None:
        system = _systems[key] = _System(diagonal, lower, (L, E))
    return system


_AXES = 4  # axes of L with a batch axis


def _with_batch(array: Any, name: str, shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
    alone = isinstance(array, wp.array) and array.ndim == len(shape) - 1 and shape[0] == 1
    _expect(array, name, shape[1:] if alone else shape, dtype, device)
    if alone:
        return wp.array(ptr=array.ptr, dtype=dtype, shape=shape, strides=(array.strides[0] * shape[1], *array.strides), device=device)
    return array


def _expect(array: Any, name: str, shape: tuple[int, ...], dtype: Any, device: Any) -> None:
    if not isinstance(array, wp.array) or array.dtype is not dtype or tuple(array.shape) != tuple(shape):
        raise SpecError(f"{name} is {_described(array)}; give {_name(dtype)} of shape {tuple(shape)}, an array of Warp's")
    if array.device != device:
        raise SpecError(f"{name} is on {array.device} and L on {device}; give arrays of one device")


def _described(array: Any) -> str:
    return f"{_name(array.dtype)} of shape {tuple(array.shape)}" if isinstance(array, wp.array) else f"a {type(array).__name__}"


def _name(value: Any) -> str:
    return getattr(value, "__name__", str(value))


def _layout(array: Any) -> tuple[int, int, int]:
    """Strides of a block's rows, of blocks and of members, in elements."""
    member, stage, row, column = (stride // wp.types.type_size_in_bytes(array.dtype) for stride in array.strides)
    if column != 1:
        raise SpecError(f"an array of shape {array.shape} has strides {array.strides}; give one whose rows have no gaps")
    return row, stage, member


def _current_stream(device: Any) -> Any:
    return None if device.is_cpu else device.stream


def _address(stream: Any) -> int:
    return 0 if stream is None else int(stream.cuda_stream or 0)


# log det A is NaN where a member is not positive definite. Warp reads these functions' text.


@wp.kernel(module="unique")
def _write_status(log_determinant: wp.array(dtype=wp.float64), status: wp.array(dtype=wp.int32)):  # pyright: ignore
    member = wp.tid()
    status[member] = wp.where(wp.isnan(log_determinant[member]), 1, 0)


@wp.kernel(module="unique")
def _mark_f32(log_determinant: wp.array(dtype=wp.float64), L: wp.array4d(dtype=wp.float32)):  # pyright: ignore
    member = wp.tid()
    if wp.isnan(log_determinant[member]):
        L[member, 0, 0, 0] = wp.float32(log_determinant[member])


@wp.kernel(module="unique")
def _mark_f64(log_determinant: wp.array(dtype=wp.float64), L: wp.array4d(dtype=wp.float64)):  # pyright: ignore
    member = wp.tid()
    if wp.isnan(log_determinant[member]):
        L[member, 0, 0, 0] = log_determinant[member]
