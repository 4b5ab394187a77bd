"""What every test of the engine shares: each plan in turn."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The cases lie in modules beside the tests, which import-mode=importlib does not make visible.
sys.path.insert(0, str(Path(__file__).parent))

from attention_plans import ENGINES, Engine


@pytest.fixture(params=ENGINES, ids=str)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every plan in turn, with tiles so small that most cases have several, the last one ragged."""
    with request.param.in_use():
        yield request.param
