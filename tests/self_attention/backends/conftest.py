"""The cases lie in modules one folder up, which import-mode=importlib does not make visible."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
