"""What all tests of the ring share: four ranks, started once."""

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

# The cases lie in modules beside the tests, which import-mode=importlib does not make visible.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[3] / "docs"))

from ring_start import finish, start


@pytest.fixture(scope="session")
def answers(tmp_path_factory) -> list[dict[Any, Any]]:
    """What each of four ranks found, by size of the group and name of the case."""
    folder = tmp_path_factory.mktemp("ring")
    finish(start("ring_worker.py", 4, folder), folder)
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(4)]  # noqa: S301
