"""The libraries of arrays, each with one set of names for what tests do with it."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import trifold


def close(mine, theirs, tolerance=1e-9):
    """Relative to the largest number, and of the same shape."""
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    assert mine.shape == theirs.shape
    assert np.abs(mine - theirs).max(initial=0) <= tolerance * np.abs(theirs).max(initial=0)


def all_close(mine, theirs, tolerance=1e-9):
    for one, other in zip(mine, theirs, strict=True):
        close(one, other, tolerance)


def stepped(function, arrays, changes, step=1e-5):
    """The derivatives of all results of a function along changes of its arrays, by differences."""
    ends = [function(*(array + sign * step * change for array, change in zip(arrays, changes))) for sign in (1, -1)]
    return [(ahead - behind) / (2 * step) for ahead, behind in zip(*ends)]


def tolerances(dtype):
    return dict(rtol=1e-9, atol=1e-11) if dtype == np.float64 else dict(rtol=2e-3, atol=2e-4)


class Numpy:
    name, device, kind, accepted = "numpy", "cpu", np.ndarray, {"check": False}
    library = module = None

    def __init__(self):
        self.module = trifold

    def give(self, array):
        """The library's array of NumPy's; what is none stays."""
        return array

    def get(self, array):
        return np.asarray(array)

    def generator(self, seed):
        return np.random.default_rng(seed)


class Cupy(Numpy):
    name, device = "cupy", "cuda"

    def __init__(self, device="cuda"):
        super().__init__()
        self.library = pytest.importorskip("cupy")
        self.kind = self.library.ndarray

    def give(self, array):
        return self.library.asarray(array) if isinstance(array, np.ndarray) else array

    def get(self, array):
        return self.library.asnumpy(array)


class Torch:
    """Tensors, and trifold.torch with its derivatives."""

    name, unchecked, accepted = "torch", {"check": False}, {"check": False}

    def __init__(self, device="cpu"):
        self.library, self.device = pytest.importorskip("torch"), device
        if device != "cpu" and not self.library.cuda.is_available():
            pytest.skip("this torch has no CUDA")
        self.module, self.kind = importlib.import_module("trifold.torch"), self.library.Tensor

    def give(self, array):
        return self.library.from_numpy(np.array(array, order="C")).to(self.device) if isinstance(array, np.ndarray) else array

    def get(self, array):
        return array.detach().cpu().numpy() if isinstance(array, self.library.Tensor) else np.asarray(array)

    def sparse(self, A):
        """The matrix A, csr or bsr."""
        make = self.library.sparse_csr_tensor if A.data.ndim == 1 else self.library.sparse_bsr_tensor
        return make(*(self.give(part.astype(np.int64)) for part in (A.indptr, A.indices)), self.give(A.data), A.shape)

    def generator(self, seed):
        return self.library.Generator(self.device).manual_seed(seed)

    def leaves(self, arrays):
        return [self.give(array).requires_grad_() for array in arrays]

    def values_and_gradients(self, function, arrays, weights, some=None, graph=False):
        """Results, and the gradients of the sum of their products with weights, by all arrays or by those that are named."""
        arrays = [self.give(array) for array in arrays]
        leaves = [arrays[k].requires_grad_() for k in (range(len(arrays)) if some is None else some)]
        results = function(*arrays)
        given = [self.give(np.asarray(weight)).to(result.dtype).expand_as(result) for weight, result in zip(weights, results, strict=True)]
        moved, given = zip(*((result, weight) for result, weight in zip(results, given) if result.requires_grad))
        gradients = self.library.autograd.grad(moved, leaves, given, materialize_grads=True, create_graph=graph)
        return [self.get(result) for result in results], [self.get(gradient) for gradient in gradients]

    def along(self, function, arrays, weights, changes):
        """Derivatives of those gradients along changes."""
        torch, leaves = self.library, self.leaves(arrays)
        weights, changes = ([self.give(np.asarray(one)) for one in many] for many in (weights, changes))
        gradients = torch.autograd.grad(function(*leaves), leaves, weights, create_graph=True, materialize_grads=True)
        return [self.get(one) for one in torch.autograd.grad(gradients, leaves, changes, materialize_grads=True)]

    def vmap(self, function, axes=0, out=0):
        return self.library.vmap(function, axes, out)

    def compiled(self, function):
        return function

    def grad(self, function, places):
        return self.library.func.grad(function, places)

    def jacobian(self, function, place):
        return self.library.func.jacrev(function, place)


class Jax:
    """Arrays of JAX, and trifold.jax with its derivatives."""

    name, unchecked, accepted = "jax", {}, {"accept_nearly_singular": True}

    def __init__(self, device="cpu"):
        self.library, self.device = pytest.importorskip("jax"), device
        if not trifold.info()["jax"]:
            pytest.skip("built without the headers of XLA's FFI")
        if device != "cpu" and self.library.default_backend() != "gpu":
            pytest.skip("this JAX has no CUDA")
        self.library.config.update("jax_enable_x64", True)
        self.module, self.kind = importlib.import_module("trifold.jax"), self.library.Array

    def give(self, array):
        return self.library.numpy.asarray(array) if isinstance(array, np.ndarray) else array

    def get(self, array):
        return np.asarray(array)

    def sparse(self, A, data=None):
        """The matrix A, csr or bsr, or one of its pattern."""
        shape = A.shape if A.data.ndim == 1 else (len(A.indptr) - 1, A.shape[1] // A.data.shape[1], *A.data.shape[1:])
        parts = A.data if data is None else data, A.indices, A.indptr
        return importlib.import_module("jax.experimental.sparse").BCSR(tuple(map(self.library.numpy.asarray, parts)), shape=shape)

    def generator(self, seed):
        return self.library.random.key(seed)

    def values_and_gradients(self, function, arrays, weights, some=None):
        jax, some = self.library, range(len(arrays)) if some is None else some

        @jax.jit
        def both(arrays, weights):
            def of_some(*given):
                whole = list(arrays)
                for k, array in zip(some, given):
                    whole[k] = array
                return tuple(function(*whole))

            results, back = jax.vjp(of_some, *(arrays[k] for k in some))
            given = zip(weights, results, strict=True)
            return results, back(tuple(jax.numpy.broadcast_to(w.astype(result.dtype), result.shape) for w, result in given))

        return both(list(arrays), [np.asarray(weight) for weight in weights])

    def along(self, function, arrays, weights, changes):
        """Backward and forward over backward, which must be the same."""
        jax = self.library

        def total(arrays):
            return sum(jax.numpy.vdot(weight, result) for weight, result in zip(weights, function(*arrays), strict=True))

        @jax.jit
        def both(arrays, changes):
            gradient = jax.grad(total)
            backward = jax.grad(lambda arrays: sum(map(jax.numpy.vdot, changes, gradient(arrays))))(arrays)
            return backward, jax.jvp(gradient, (arrays,), (changes,))[1]

        backward, forward = both(list(arrays), list(changes))
        all_close(backward, forward)
        return forward

    def vmap(self, function, axes=0, out=0):
        return self.library.vmap(function, axes, out)

    def compiled(self, function):
        return self.library.jit(function)

    def grad(self, function, places):
        return self.library.grad(function, places)

    def jacobian(self, function, place):
        return self.library.jit(self.library.jacrev(function, place))


class JaxArrays(Jax):
    """Arrays of JAX, given to trifold itself."""

    accepted = {"check": False}

    def __init__(self, device="cpu"):
        super().__init__(device)
        if device != "cpu":
            pytest.importorskip("cupy")  # reads and makes the arrays
        self.module = trifold


class TorchTensors(Torch):
    """Tensors, given to trifold itself."""

    def __init__(self, device="cpu"):
        super().__init__(device)
        self.module = trifold
