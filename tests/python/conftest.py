import os
import sys
from pathlib import Path

os.environ["XDG_DATA_HOME"] = "/nowhere"  # where no wisdom of the user is
sys.path.insert(0, str(Path(__file__).parent))
