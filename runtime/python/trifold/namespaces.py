"""The array operations that models are made of, in the library that the caller's arrays came from: NumPy, CuPy, torch or JAX."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from typing import Any

import numpy

from .arrays import adapt, expect_real, is_jax, library_of
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
        if type(value) is np.ndarray and value.dtype == self.dtype:
            return value
        return np.asarray(_real(value, name), self.dtype)

    def constant(self, value: Any) -> Any:
        """An array of NumPy in this library."""
        return np.asarray(value, self.dtype)

    def inverse_factor(self, matrix: Any) -> Any:
        """The inverses of lower Cholesky factors; not a number, or an error of NumPy, where there are none.

        Matrices are scaled to a diagonal of 1 on the way, so that units do not matter for the rounding.
        """
        scale, unit = self._units(matrix)
        return np.linalg.inv(np.linalg.cholesky(unit)) / scale

    def diagonal(self, matrix: Any) -> Any:
        return self.xp.diagonal(matrix, 0, -2, -1)

    def _units(self, matrix: Any) -> tuple[Any, Any]:
        """Roots of the diagonals, as rows, and the matrices divided by them on both sides."""
        scale = self.xp.sqrt(self.diagonal(matrix))
        return scale[..., None, :], matrix / (scale[..., :, None] * scale[..., None, :])

    def at_least(self, function: Any, parameters: Any, x: Any) -> Any:
        """function(parameters, x), where no other x gives less. So first derivatives need not go through x, which JAX makes use of."""
        return function(parameters, x)

    def spread(self, array: Any, shape: tuple[int, ...]) -> Any:
        """Repeated along axes of length 1, without gaps in memory."""
        return np.ascontiguousarray(np.broadcast_to(array, shape))

    def fixed(self, array: Any) -> Any:
        """A constant to derivatives."""
        return array

    def symmetric(self, blocks: Any) -> Any:
        """The blocks that their lower triangles stand for, with symmetric gradients."""
        return self.xp.tril(blocks) + self.xp.tril(blocks, -1).swapaxes(-1, -2)

    def known(self, condition: Any) -> bool | None:
        """Whether an array of truth values is all true; None where that cannot be told, or only by waiting for a GPU."""
        return bool(condition.all())

    def exact(self) -> contextlib.AbstractContextManager[Any]:
        """Within it, products of matrices are of full precision."""
        return contextlib.nullcontext()


class _Cupy(Namespace):
    name = "cupy"

    def __init__(self, dtype: Any) -> None:
        super().__init__(dtype)
        self.xp = sys.modules["cupy"]

    def array(self, value: Any, name: str) -> Any:
        return self.xp.asarray(expect_real(value, name) if library_of(type(value)) == "cupy" else _real(value, name), self.dtype)

    def constant(self, value: Any) -> Any:
        return self.xp.asarray(value, self.dtype)

    def inverse_factor(self, matrix: Any) -> Any:
        scale, unit = self._units(matrix)
        return self.xp.linalg.inv(self.xp.linalg.cholesky(unit)) / scale

    def spread(self, array: Any, shape: tuple[int, ...]) -> Any:
        return self.xp.ascontiguousarray(self.xp.broadcast_to(array, shape))

    def known(self, condition: Any) -> bool | None:
        return None


class _Torch(Namespace):
    name = "torch"

    def __init__(self, dtype: Any, device: Any) -> None:
        self.xp = sys.modules["torch"]
        self.dtype = dtype
        self.device = device
        self.epsilon = float(self.xp.finfo(dtype).eps)

    def array(self, value: Any, name: str) -> Any:
        value = expect_real(value, name) if library_of(type(value)) == "torch" else np.array(_real(value, name), order="C")
        return self.xp.as_tensor(value, dtype=self.dtype, device=self.device)

    def constant(self, value: Any) -> Any:
        return self.xp.as_tensor(value, dtype=self.dtype, device=self.device)

    def inverse_factor(self, matrix: Any) -> Any:
        scale, unit = self._units(matrix)
        factor, failed = self.xp.linalg.cholesky_ex(unit)
        one = self.xp.eye(matrix.shape[-1], dtype=self.dtype, device=self.device)
        inverse = self.xp.linalg.solve_triangular(factor, one.expand_as(matrix), upper=False)
        return self.xp.where((failed == 0)[..., None, None], inverse / scale, float("nan"))

    def spread(self, array: Any, shape: tuple[int, ...]) -> Any:
        return self.xp.broadcast_to(array, shape).contiguous()

    def fixed(self, array: Any) -> Any:
        return array.detach()

    def symmetric(self, blocks: Any) -> Any:
        value = blocks.detach()
        change = (blocks - value).nan_to_num()  # zeros, with the gradient
        return super().symmetric(value) + (change + change.mT) / 2

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
        return self.xp.asarray(expect_real(value, name) if is_jax(value) else _real(value, name), self.dtype)

    def constant(self, value: Any) -> Any:
        return self.xp.asarray(value, self.dtype)

    def inverse_factor(self, matrix: Any) -> Any:
        return _of_jax()[0](self, matrix)

    def diagonal(self, matrix: Any) -> Any:
        """A sum goes into one kernel with others, and so does its derivative; jnp.diagonal is a gather, and then a scatter."""
        return self.xp.where(np.eye(matrix.shape[-1], dtype=bool), matrix, 0).sum(-1)

    def at_least(self, function: Any, parameters: Any, x: Any) -> Any:
        return _of_jax()[1](function, parameters, x)

    def spread(self, array: Any, shape: tuple[int, ...]) -> Any:
        return self.xp.broadcast_to(array, shape)

    def fixed(self, array: Any) -> Any:
        return self.jax.lax.stop_gradient(array)

    def symmetric(self, blocks: Any) -> Any:
        return importlib.import_module("trifold._jax_primitives").blocks(blocks)

    def known(self, condition: Any) -> bool | None:
        if isinstance(condition, self.jax.core.Tracer) or any(device.platform != "cpu" for device in condition.devices()):
            return None
        return bool(condition.all())

    def exact(self) -> contextlib.AbstractContextManager[Any]:
        return self.jax.default_matmul_precision("highest")


@functools.cache
def _of_jax() -> tuple[Any, Any]:
    """Two functions with derivatives of their own: inverse_factor and at_least."""
    jax: Any = sys.modules["jax"]
    jnp: Any = jax.numpy

    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def inverse_factor(space: Any, matrix: Any) -> Any:
        scale, unit = space._units(matrix)
        one = jnp.broadcast_to(jnp.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)
        return jax.lax.linalg.triangular_solve(jnp.linalg.cholesky(unit), one, left_side=True, lower=True) / scale

    @inverse_factor.defjvp
    def _(space: Any, primals: Any, tangents: Any) -> Any:
        """With W M W' = 1 follows dW = -T W, where T + T' is W dM W'. Two products, and no other solution."""
        (change,) = tangents
        W = inverse_factor(space, *primals)
        with jax.default_matmul_precision("highest"):  # rules may run when exact() is over
            both = W @ (0.5 * (change + change.swapaxes(-1, -2))) @ W.swapaxes(-1, -2)
            half = np.tril(np.ones(both.shape[-2:])) - 0.5 * np.eye(both.shape[-1])
            return W, -(jnp.asarray(half, both.dtype) * both) @ W

    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def at_least(function: Any, parameters: Any, x: Any) -> Any:
        return function(parameters, x)

    @at_least.defjvp
    def _(function: Any, primals: Any, tangents: Any) -> Any:
        parameters, x = primals
        with jax.default_matmul_precision("highest"):
            change = jax.jvp(functools.partial(function, x=x), (parameters,), (tangents[0],))[1]
            return at_least(function, parameters, x), change

    return inverse_factor, at_least


def _real(value: Any, name: str) -> Any:
    return expect_real(np.asarray(adapt(value, name)), name)


def namespace_of(values: list[Any]) -> Namespace:
    """The library of those values that are arrays: torch, JAX or CuPy where one of them is, else NumPy.

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
    if any(library_of(type(value)) == "cupy" for value in values):
        return _Cupy(np.dtype(np.float32 if narrow else np.float64))
    return Namespace(np.dtype(np.float32 if narrow else np.float64))
