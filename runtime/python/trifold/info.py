"""What this installation can compile and run."""

from __future__ import annotations

from typing import Any

from ._core import devices, jax_handlers, tools, version
from .toolkit import load_nvrtc


class Info(dict[str, Any]):
    """version, devices and compilers; as text a short report."""

    def __str__(self) -> str:
        lines = [f"trifold {self['version']}", f"cpu: {self['devices']['cpu']}"]
        for backend in ("cuda", "hip"):
            found = self["devices"][backend]
            lines.append(f"{backend}: " + (", ".join(found["devices"]) or f"none ({found['problem']})"))
        for name, tool in self["compilers"].items():
            lines.append(f"{name}: " + (f"{tool['version']}, {tool['path']}" if tool["found"] else f"none ({tool['advice']})"))
        lines.append("trifold.jax: " + ("built" if self["jax"] else "not built (run tools/jax_headers, and build again)"))
        return "\n".join(lines)


def info() -> Info:
    """Looks for devices and compilers, which takes a while: print(trifold.info()).

    ``info()["compilers"]`` has found, version, path and advice for each compiler, ``info()["devices"]`` the processor and, for CUDA and
    HIP, driver, devices and problem; ``info()["jax"]`` whether trifold.jax was built. Never raises for what is missing.
    """
    load_nvrtc()
    return Info(version=version, devices=devices(), compilers=tools(), jax=bool(jax_handlers()))
