"""What compiling is shared between calls: counted in a process with an empty cache."""

import json
import os
import re
import subprocess
import sys

PROGRAM = """
import json, numpy as np, trifold
D, E, b = np.zeros((90, 5, 5)), np.zeros((89, 5, 5)), np.ones((90, 5))
D[:] = 4 * np.eye(5)
E[:] = np.eye(5)
for N in range(50, 90):
    x = trifold.solve(D[:N], E[: N - 1], b[:N])
assert abs(4 * x[0, 0] + x[1, 0] - 1) < 1e-14
info = trifold.info()
assert "this process compiled" in str(info)
print(json.dumps(info["process"]))
"""


def test_forty_horizons_are_one_compilation(tmp_path):
    environment = {**os.environ, "TRIFOLD_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    process = json.loads(run.stdout)
    assert process["compilations"] == 1
    assert process["compile_seconds"] > 0
    assert process["plans"] == 40
    assert process["modules"] == 1 and process["module_bytes"] > 0
    assert process["binaries"] == 1 and process["binary_bytes"] > 0


def test_the_log_has_a_line_for_each_compilation(tmp_path):
    environment = {**os.environ, "TRIFOLD_CACHE_DIR": str(tmp_path), "TRIFOLD_LOG": "info"}
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    lines = re.findall(r"compiled \S+ for cpu:\S+ in \d+ ms", run.stderr)
    assert len(lines) == json.loads(run.stdout)["compilations"]
