"""What all tests of the ring share: four ranks, started once."""

import pickle
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.ring_start import finish, start


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the ranks, if a test is going to ask for them: they work beside the other tests."""
    if any("answers" in getattr(item, "fixturenames", ()) for item in session.items):
        folder = tempfile.TemporaryDirectory()
        ranks = start("ring_worker", 4, Path(folder.name))
        session.config.add_cleanup(folder.cleanup)
        for rank in ranks:
            session.config.add_cleanup(rank.wait)
            session.config.add_cleanup(rank.kill)  # the last to be added is the first to run
        session.config.ring = ranks, Path(folder.name)  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def answers(request) -> list[dict[Any, Any]]:
    """What each of four ranks found, by size of the group and name of the case."""
    ranks, folder = request.config.ring
    finish(ranks, folder)
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(4)]  # noqa: S301
