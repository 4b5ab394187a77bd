"""What the tests of the Read view share."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

SENTENCE = "A dog ate the food because it was hungry"


@pytest.fixture
def open_read() -> Callable[..., None]:
    """Open the sentence at a state, all ways to look unfolded, and wait for what is drawn."""

    def open_at(page: Any, **state: Any) -> None:
        page.goto(f"/#read?{urlencode({'sentence': SENTENCE, 'more': 'yes', **state})}")
        page.wait_for_selector(".french:not(.waiting) .word")
        page.wait_for_selector(".picture canvas")
        page.wait_for_selector(".statement:not(:empty)")

    return open_at


@pytest.fixture
def word() -> Callable[..., Any]:
    """One word of a side, 'query' or 'key', by its place."""
    return lambda page, side, place: page.locator(f'[data-side="{side}"][data-position="{place}"]')
