"""What all tests of the ring share: four ranks, started once."""

import pickle
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.ring_start import Job, finish, start, stop


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the ranks, if a test is going to ask for them: they work beside the other tests."""
    asking = [item for item in session.items if "answers" in getattr(item, "fixturenames", ())]
    if asking:
        folder = tempfile.TemporaryDirectory()
        repeats = any(item.get_closest_marker("nightly") for item in asking)
        ranks = start(Job("ring_worker", 4, folder.name, ["repeats"] if repeats else []))
        session.config.add_cleanup(folder.cleanup)
        session.config.add_cleanup(lambda: stop(ranks))  # the last added is the first to run
        session.config.ring = ranks, Path(folder.name)  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def answers(request) -> list[dict[Any, Any]]:
    """What each of four ranks found, by size of the group and name of the case."""
    ranks, folder = request.config.ring
    finish(ranks)
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(4)]  # noqa: S301
