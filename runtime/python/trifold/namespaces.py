"""The array operations that models are made of, in the library that the caller's arrays came from: NumPy, torch or JAX."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import numpy

from .arrays import adapt, is_jax, library_of
from .errors import SpecError

np: Any = numpy


class Namespace:
    """One library, and the type and device of its arrays. Operations that the libraries call by one name are those of ``xp``."""

    name = "numpy"
    xp: Any = np

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.epsilon = float(np.finfo(dtype).eps)

    def array(self, value: Any, name: str) -> Any:
        return np.asarray(_real(value, name), self.dtype)

    def constant(self, value: Any) -> Any:
        """An array of NumPy in this library."""
        return np.asarray(value, self.dtype)

    def cholesky(self, matrix: Any) -> Any:
        """Lower factors; not a number, or an error of NumPy, where there is none."""
        return np.linalg.cholesky(matrix)

    def spread(self, array: Any, shape: tuple[int, ...]) -> Any:
        """Repeated along axes of length 1, without gaps in memory."""
        return np.ascontiguousarray(np.broadcast_to(array, shape))

    def known(self, condition: Any) -> bool | None:
        """Whether an array of truth values is all true; None where that cannot be told, or only by waiting for a GPU."""
        return bool(condition.all())

    def exact(self) -> contextlib.AbstractContextManager[Any]:
        """Within it, products of matrices are of full precision."""
        return contextlib.nullcontext()


class _Torch(Namespace):
    name = "torch"

    def __init__(self, dtype: Any, device: Any) -> None:
        self.xp = sys.modules["torch"]
        self.dtype = dtype
        self.device = device
        self.epsilon = float(self.xp.finfo(dtype).eps)

    def array(self, value: Any, name: str) -> Any:
        if library_of(type(value)) != "torch":
            value = np.array(_real(value, name), order="C")
        return self.xp.as_tensor(value, dtype=self.dtype, device=self.device)

    def constant(self, value: Any) -> Any:
        return self.xp.as_tensor(value, dtype=self.dtype, device=self.device)

    def cholesky(self, matrix: Any) -> Any:
        factor, failed = self.xp.linalg.cholesky_ex(matrix)
        return self.xp.where((failed == 0)[..., None, None], factor, float("nan"))

    def spread(self, array: Any, shape: tuple[int, ...]) -> Any:
        return self.xp.broadcast_to(array, shape).contiguous()

    def known(self, condition: Any) -> bool | None:
        if condition.device.type != "cpu" or self.xp.compiler.is_compiling():
            return None
        try:
            return bool(condition.all())
        except RuntimeError:  # within vmap
            return None


class _Jax(Namespace):
    name = "jax"

    def __init__(self, dtype: Any) -> None:
        self.jax: Any = sys.modules["jax"]
        self.xp = self.jax.numpy
        super().__init__(dtype)

    def array(self, value: Any, name: str) -> Any:
        return self.xp.asarray(value if is_jax(value) else _real(value, name), self.dtype)

    def constant(self, value: Any) -> Any:
        return self.xp.asarray(value, self.dtype)

    def cholesky(self, matrix: Any) -> Any:
        return self.xp.linalg.cholesky(matrix)

    def spread(self, array: Any, shape: tuple[int, ...]) -> Any:
        return self.xp.broadcast_to(array, shape)

    def known(self, condition: Any) -> bool | None:
        if isinstance(condition, self.jax.core.Tracer) or any(device.platform != "cpu" for device in condition.devices()):
            return None
        return bool(condition.all())

    def exact(self) -> contextlib.AbstractContextManager[Any]:
        return self.jax.default_matmul_precision("highest")


def _real(value: Any, name: str) -> Any:
    array = np.asarray(adapt(value, name))
    if array.dtype.kind not in "fiub":
        raise SpecError(f"{name} has elements of {array.dtype}; give real numbers")
    return array


def namespace_of(values: list[Any]) -> Namespace:
    """The library of those values that are arrays: torch or JAX where one of them is, else NumPy.

    Its arrays are as wide as the widest floating-point one among these; where there is none, float64.
    """
    tensors = [value for value in values if library_of(type(value)) == "torch"]
    traced = [value for value in values if is_jax(value)]
    if tensors and traced:
        raise SpecError("arrays of torch and of JAX in one call; give those of one library")
    if tensors:
        torch = sys.modules["torch"]
        kinds = [tensor.dtype for tensor in tensors if tensor.dtype.is_floating_point]
        devices = {tensor.device for tensor in tensors}
        if len(devices) > 1:
            raise SpecError(f"tensors on several devices, {', '.join(sorted(map(str, devices)))}; move them to one")
        wide = torch.float32 if kinds and all(kind != torch.float64 for kind in kinds) else torch.float64
        return _Torch(wide, devices.pop())
    arrays = traced or [value for value in values if hasattr(value, "dtype")]
    kinds = [array.dtype for array in arrays if array.dtype in (np.float32, np.float64)]
    narrow = bool(kinds) and all(kind == np.float32 for kind in kinds)
    if traced:
        x64 = bool(sys.modules["jax"].config.jax_enable_x64)
        return _Jax(np.dtype(np.float32 if narrow or not x64 else np.float64))
    return Namespace(np.dtype(np.float32 if narrow else np.float64))
