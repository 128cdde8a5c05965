"""Facts of this installation: what it can compile and run, and what this process holds."""

from __future__ import annotations

from typing import Any

from ._core import devices, jax_handlers, layers, process, tools, version
from .toolkit import load_nvrtc


class Info(dict[str, Any]):
    """version, devices, compilers and process; as text a short report."""

    def __str__(self) -> str:
        lines = [f"trifold {self['version']}", f"cpu: {self['devices']['cpu']}"]
        for backend in ("cuda", "hip"):
            found = self["devices"][backend]
            lines.append(f"{backend}: " + (", ".join(found["devices"]) or f"none ({found['problem']})"))
        for name, tool in self["compilers"].items():
            lines.append(f"{name}: " + (f"{tool['version']}, {tool['path']}" if tool["found"] else f"none ({tool['advice']})"))
        lines += [f"prebuilt kernels: {folder}" for folder in self["layers"]]
        held = self["process"]
        lines.append(f"this process compiled {held['compilations']} units in {held['compile_seconds']:.2f} s")
        lines.append(f"it holds {held['plans']} plans with {held['modules']} loaded units ({held['module_bytes'] >> 10} KiB)")
        lines.append("trifold.jax: " + ("built" if self["jax"] else "not built (run tools/jax_headers, and build again)"))
        return "\n".join(lines)


def info() -> Info:
    """Looks for devices and compilers, which takes a while: print(trifold.info()).

    ``info()["compilers"]`` has found, version, path and advice for each compiler, ``info()["devices"]`` the processor and, for CUDA and
    HIP, driver, devices and problem; ``info()["jax"]`` whether trifold.jax was built. ``info()["process"]`` counts what this process has
    compiled (compilations, compile_seconds) and holds: plans and solvers, also those that wait for the next call of their kind,
    workspace_bytes, and of compiled units modules with module_bytes, which are loaded, and binaries with binary_bytes, which need not be
    read again. ``info()["layers"]`` lists folders of kernels that ``trifold pack`` made. Never raises for what is missing.
    """
    load_nvrtc()
    return Info(version=version, devices=devices(), compilers=tools(), process=process(), jax=bool(jax_handlers()), layers=layers())
