"""A small untrained model, a client of the page's server with it, and its reading."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from regard.transformer.model import Transformer
from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"


@pytest.fixture(scope="session")
def connect() -> Callable[..., AbstractContextManager[Any]]:
    """A function that opens a client which knows a context's token."""
    from starlette.testclient import TestClient

    from regard.view.page.server import app

    @contextmanager
    def opened(context: Any) -> Iterator[Any]:
        with TestClient(app(context, 80), base_url="http://127.0.0.1:80") as made:
            made.headers["host"] = "127.0.0.1:80"
            made.headers["authorization"] = f"Bearer {context.token}"
            yield made

    return opened


@pytest.fixture(scope="session")
def small_model() -> Transformer:
    return Transformer.random(SENTENCE, layers=2, heads=2, width=16)


@pytest.fixture(scope="module")
def client(
    connect: Callable[..., AbstractContextManager[Any]], small_model: Transformer
) -> Iterator[Any]:
    """A client of a server with the small model."""
    from regard.view.page.jobs import Context
    from regard.view.page.readings import Readings

    with connect(Context(readings=Readings(small_model))) as made:
        yield made


@pytest.fixture(scope="session")
def reading(small_model: Transformer) -> Any:
    """The small model's reading of the sentence."""
    return read(SENTENCE, model=small_model)
