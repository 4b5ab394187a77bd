"""A small untrained model with real sub-words, and a reading of it."""

import pytest
from tests.transformer.conftest import model, one_torch, tokens_path

from regard.transformer import Transformer, read
from regard.transformer.reading import Reading

__all__ = ["model", "one_torch", "reading", "tokens_path"]

SENTENCE = "A dog ate the food because it was hungry."


@pytest.fixture(scope="session")
def reading(model: Transformer) -> Reading:
    return read(SENTENCE, model=model)
