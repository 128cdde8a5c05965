"""A plugin of pytest that puts Trifold where other programs have a solver of their own, so that their tests try it:

    PYTHONPATH=tests/python python -m pytest -p exchange THEIR_FOLDER/tests

It knows socu, cuPIQP and TurboMPC, and exchanges in those that are installed, unless TRIFOLD_EXCHANGE is 0.
"""

import importlib
import importlib.util
import os
import sys
import types
from pathlib import Path


def exchange_in_socu():
    socu = importlib.import_module("trifold.socu")
    importlib.import_module("socu")
    sys.modules["socu.block_tridiag_solver"] = socu


def exchange_in_cupiqp():
    importlib.import_module("trifold.socu").exchange_in_cupiqp()


def exchange_in_turbompc():
    backend = types.ModuleType("turbompc.solvers.linear_systems_solvers.cudss_ffi_backend")
    backend.cudss_ffi_solve = importlib.import_module("trifold.jax").solve_rows
    sys.modules[backend.__name__] = backend
    if Path("tests/helpers/backend_utils.py").exists():  # it looks for a GPU and for a build of the solver that is exchanged
        importlib.import_module("tests.helpers.backend_utils")._AVAIL_CACHE["cudss_ffi"] = True
        # Its tests make solvers whose default has a second library, of sparse matrices, for gradients. None is needed to make them.
        importlib.import_module("turbompc.solvers.turbompc_solver")._HAS_CUDSS_FFI = True


def pytest_configure(config):
    if os.environ.get("TRIFOLD_EXCHANGE") == "0":
        return
    if importlib.util.find_spec("socu"):
        exchange_in_socu()
    if importlib.util.find_spec("cupiqp"):
        exchange_in_cupiqp()
    if importlib.util.find_spec("turbompc"):
        exchange_in_turbompc()
