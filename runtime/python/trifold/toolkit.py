"""Places of NVRTC and NCCL: in a CUDA toolkit, or in a wheel of PyPI (nvidia-cuda-nvrtc and nvidia-nccl-cu13 for CUDA 13,
nvidia-cuda-nvrtc-cu12 and nvidia-nccl-cu12)."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
from pathlib import Path


def nvrtc_path() -> str | None:
    """The file; None where it is in neither."""
    return _path_of("nvrtc", "cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12")


def nccl_path() -> str:
    """The file; empty where it is in neither, or where TRIFOLD_NCCL says where it is."""
    return "" if os.environ.get("TRIFOLD_NCCL") else _path_of("nccl", "nccl/lib/libnccl.so.2") or ""


def _path_of(library: str, *in_wheels: str) -> str | None:
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
        return pathfinder.load_nvidia_dynamic_lib(library).abs_path
    except Exception:  # not installed, or it found nothing: each version has errors of its own
        pass
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for name in in_wheels:
        for folder in folders:
            if (path := Path(folder, name)).is_file():
                return str(path)
    return None


def load_nvrtc() -> None:
    """Loads it, so that the library finds it by its name. Does nothing when TRIFOLD_NVRTC says where it is."""
    if os.environ.get("TRIFOLD_NVRTC"):
        return
    path = nvrtc_path()
    if path is None:
        return
    try:
        ctypes.CDLL(path, mode=os.RTLD_LAZY | os.RTLD_LOCAL)
    except OSError:
        return  # the library says what is missing when it needs it
