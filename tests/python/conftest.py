import faulthandler
import os
import sys
from pathlib import Path

import pytest

os.environ["XDG_DATA_HOME"] = "/nowhere"  # where no wisdom of the user is
sys.path.insert(0, str(Path(__file__).parent))
SECONDS = int(os.environ.get("TRIFOLD_TEST_SECONDS", "300"))  # that a test on a device may take


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
