"""What the package needs of CuPy, over the driver that stands in for CUDA's in tests (tests/support/drivers): its memory is the host's.

install() makes ``import cupy`` find it. The process is to be started with the folder of the stand-ins in LD_LIBRARY_PATH.
"""

import ctypes
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np

driver = ctypes.CDLL("libcuda.so.1")


class Memory:
    device_id = 0

    def __init__(self, size):
        context, address = ctypes.c_void_p(), ctypes.c_uint64()
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        driver.cuCtxPushCurrent_v2(context)
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(size, 1))) == 0
        driver.cuCtxPopCurrent_v2(ctypes.byref(context))
        self.ptr = address.value  # freed with the process


class ndarray:  # noqa: N801
    """An array without gaps in the driver's memory. Slices are copies."""

    flags = SimpleNamespace(c_contiguous=True)

    def __init__(self, values):
        self.data = Memory(values.nbytes)
        buffer = (ctypes.c_char * max(values.nbytes, 1)).from_address(self.data.ptr)
        self.values = np.ndarray(values.shape, values.dtype, buffer)
        self.values[...] = values

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: self.values.ndim)

    def get(self):
        return self.values.copy()

    def astype(self, dtype):
        return ndarray(self.values.astype(dtype))

    def __getitem__(self, index):
        return ndarray(self.values[index])

    def __setitem__(self, index, values):
        self.values[index] = values.values if isinstance(values, ndarray) else values

    def __ne__(self, other):
        return ndarray(self.values != other)

    __hash__ = None


def install():
    cupy = ModuleType("cupy")
    cupy.ndarray = ndarray
    cupy.asarray = lambda values: ndarray(np.asarray(values))
    cupy.empty = lambda shape, dtype: ndarray(np.full(shape, 7, dtype))
    cupy.empty_like = lambda array: cupy.empty(array.shape, array.dtype)
    cupy.ascontiguousarray = lambda array, dtype: array.astype(dtype)
    cupy.cuda = SimpleNamespace(
        Device=lambda ordinal: nullcontext(),
        get_current_stream=lambda: SimpleNamespace(ptr=0, is_capturing=lambda: False),
        runtime=SimpleNamespace(is_hip=False),
    )
    sys.modules["cupy"] = cupy
    return cupy
