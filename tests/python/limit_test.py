"""The time limit of tests on a device: one that hangs fails, and is named."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HANGS = """
import time
import pytest

@pytest.mark.usefixtures("time_limit")
def test_that_hangs():
    time.sleep(60)
"""


def test_a_test_that_hangs(tmp_path):
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "hangs_test.py").write_text(HANGS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(tmp_path / "hangs_test.py")]
    done = subprocess.run(
        command, env={**os.environ, "TRIFOLD_TEST_SECONDS": "1"}, cwd=tmp_path, capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 1
    assert "Timeout" in done.stderr and "in test_that_hangs" in done.stderr
