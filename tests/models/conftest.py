"""What every test of other people's models shares."""

import sys
from pathlib import Path

# The families lie in a module beside the tests, which import-mode=importlib does not make visible.
sys.path.insert(0, str(Path(__file__).parent))
