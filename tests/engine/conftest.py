"""What every test of the engine shares: each plan in turn."""

from collections.abc import Iterator

import pytest
from tests.helpers.attention_plans import ENGINES, Engine


@pytest.fixture(params=ENGINES, ids=str)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every plan in turn, with tiles so small that most cases have several, the last one ragged."""
    with request.param.in_use():
        yield request.param
