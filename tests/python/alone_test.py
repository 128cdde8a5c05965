"""The suite in an environment with NumPy and pytest alone."""

import os
import subprocess
import sys
from pathlib import Path

BLOCKED = """
import sys
for name in ("scipy", "torch", "jax", "mpi4py", "matplotlib", "lineax", "cupy", "warp"):
    sys.modules[name] = None
import pytest
sys.exit(pytest.main(["-q", "--collect-only", "-p", "no:cacheprovider", sys.argv[1]]))
"""


def test_it_is_collected_without_other_libraries():
    """No file imports one before it asks for it. What a test imports when it runs is not seen here."""
    done = subprocess.run([sys.executable, "-c", BLOCKED, str(Path(__file__).parent)], env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
