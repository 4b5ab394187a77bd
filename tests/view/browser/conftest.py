"""What the tests of a sentence share: opened in Look, and in the Map."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

SENTENCE = "A dog ate the food because it was hungry"


@pytest.fixture
def open_read() -> Callable[..., None]:
    """Open the sentence in Look at a state, and wait for what is drawn."""

    def open_at(page: Any, **state: Any) -> None:
        page.goto(f"/#read?{urlencode({'sentence': SENTENCE, **state})}")
        page.wait_for_selector(".french:not(.waiting) .word", state="attached")
        page.wait_for_selector(".arcs path", state="attached")
        page.wait_for_selector(".head-said span:not(:empty)", state="attached")

    return open_at


@pytest.fixture
def open_map() -> Callable[..., None]:
    """Open the sentence in the Map at a state, and wait for what is drawn."""

    def open_at(page: Any, **state: Any) -> None:
        page.goto(f"/#map?{urlencode({'sentence': SENTENCE, **state})}")
        page.wait_for_selector(".view.map:not(.loading) .row-list li")
        page.wait_for_selector(".ranked button")

    return open_at
