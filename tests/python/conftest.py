import faulthandler
import os
import sys
from pathlib import Path

import pytest

os.environ["XDG_DATA_HOME"] = "/nowhere"  # where no wisdom of the user is
sys.path.insert(0, str(Path(__file__).parent))
SECONDS = int(os.environ.get("TRIFOLD_TEST_SECONDS", "300"))  # that a test on a device may take


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures time, so that no other test may run at the same time")


def pytest_collection_modifyitems(config, items):
    """TRIFOLD_TEST_SHARE=2/8: the third of eight processes that share the tests, each of which takes every eighth."""
    share, _, processes = os.environ.get("TRIFOLD_TEST_SHARE", "0/1").partition("/")
    items[:] = items[int(share) :: int(processes)]


@pytest.fixture
def time_limit(request):
    """Ends the process where a test takes too long, as when a kernel hangs: its stack names it. Python itself may then be stuck in a
    driver."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        to = os.dup(2)
    faulthandler.dump_traceback_later(SECONDS, exit=True, file=to)
    yield
    faulthandler.cancel_dump_traceback_later()
    os.close(to)
