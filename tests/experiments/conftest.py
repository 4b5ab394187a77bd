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


@pytest.fixture(scope="session")
def word_reading() -> Reading:
    """A reading in which every word is one token."""
    text = "A dog ate the food because it was hungry . il elle chien avait faim"
    model = Transformer.random(  # as wide as its heads need, no wider
        text, layers=3, heads=4, width=32, feed_forward_width=48, seed=3
    )
    return read("A dog ate the food because it was hungry .", model=model)
