"""The programs of several processes on the pages for users run by the command in their first line, and print what the page says."""

import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trifold

PAGES = Path(__file__).parents[2] / "docs/users"
BLOCK = re.compile(r"\(needs (\w+)\)\n```python\n(# (.*?)\n.*?)```\n\nIt prints:\n```text\n(.*?)```", re.DOTALL)
PAGES_WITH_PROGRAMS = "ranks.md", "batches.md", "ranks-gpu.md"
BLOCKS = [(page, *block) for page in PAGES_WITH_PROGRAMS for block in BLOCK.findall((PAGES / page).read_text(encoding="utf-8"))]
GPU = re.compile(r'f"cuda:{.*?}"')  # a rank's; without GPUs the program runs on processors
HAS_GPUS = len(trifold.info()["devices"]["cuda"]["devices"]) >= 2
# Open MPI refuses to start more processes than there are processors, or as root, unless it is told to.
ENVIRONMENT = {
    **os.environ,
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def test_there_are_programs():
    assert len(BLOCKS) == 9
    assert sum(bool(GPU.search(code)) for _, _, code, _, _ in BLOCKS) == 3


@pytest.mark.parametrize(("page", "library", "code", "command", "printed"), BLOCKS)
def test_program(tmp_path, page, library, code, command, printed):
    pytest.importorskip(library.lower())
    words = shlex.split(command)
    environment = dict(ENVIRONMENT)
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if words[0] == "torchrun":
        words[:1] = ["python", "-m", "torch.distributed.run"]
    if shutil.which(words[0]) is None and words[0] != "python":
        pytest.skip(f"no {words[0]}")
    if library == "JAX" and not hasattr(importlib.import_module("jax"), "shard_map"):
        pytest.skip("this JAX has no jax.shard_map")
    (tmp_path / words[-1]).write_text(code if HAS_GPUS else GPU.sub('"cpu"', code))
    words = [sys.executable if word == "python" else word for word in words]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
