"""Other programs' own tests, with Trifold in them. The folder that a variable names is theirs: TRIFOLD_SOCU_TESTS, TRIFOLD_CUPIQP_TESTS,
TRIFOLD_TURBOMPC_TESTS. Without it there is nothing to test. PYTEST_ADDOPTS chooses among them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("peer", ["socu", "cupiqp", "turbompc"])
def test_their_own_tests(peer):
    folder = os.environ.get(f"TRIFOLD_{peer.upper()}_TESTS")
    if not folder:
        pytest.skip(f"TRIFOLD_{peer.upper()}_TESTS names no folder")
    pytest.importorskip(peer)
    paths = [str(Path(__file__).parent), folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "exchange", "."],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
