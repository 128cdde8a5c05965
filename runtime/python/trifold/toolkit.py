"""Where NVRTC is: in a CUDA toolkit, or in a wheel of PyPI (nvidia-cuda-nvrtc for CUDA 13, nvidia-cuda-nvrtc-cu12)."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
from pathlib import Path


def nvrtc_path() -> str | None:
    """The file; None where it is in neither."""
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
        return pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path
    except Exception:  # not installed, or it found nothing: each version has errors of its own
        return _in_wheels()


def _in_wheels() -> str | None:
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for name in ("cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"):
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
