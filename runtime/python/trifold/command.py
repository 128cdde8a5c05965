"""Runs the command ``trifold``, which lies in the folder of this file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .toolkit import nvrtc_path


def main() -> None:
    program = Path(__file__).with_name("trifold")
    if not program.is_file():
        sys.exit("trifold: this installation has no command; build it with -DTRIFOLD_TOOLS=ON")
    if "TRIFOLD_NVRTC" not in os.environ and (path := nvrtc_path()):
        os.environ["TRIFOLD_NVRTC"] = path
    os.execv(program, [str(program), *sys.argv[1:]])
