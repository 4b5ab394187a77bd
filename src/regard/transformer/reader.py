"""SENTENCE -> READING: translate it, then run it once more and keep everything."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from regard.text.tokens import unknown_characters
from regard.text.words import TokenizedText, tokenized_text
from regard.transformer.config import START
from regard.transformer.model import Transformer
from regard.transformer.reading import Reading
from regard.transformer.search import Search
from regard.transformer.translation import Translation, few_cores, translate


def read(sentence: str, *, model: Transformer | None = None, beams: int = 4) -> Reading:
    """Translate a sentence and keep what every head looked at; the shipped model unless given."""
    model = shipped_model() if model is None else model
    return read_all([sentence], model=model, beams=beams)[0]


def read_all(
    sentences: Sequence[str], *, model: Transformer | None = None, beams: int = 4
) -> list[Reading]:
    """Read many sentences; the translations are made in batches."""
    model = shipped_model() if model is None else model
    return [reading_of(model, one) for one in translate(model, sentences, Search(beams))]


def reading_of(model: Transformer, translated: Translation) -> Reading:
    """Run a sentence and its translation through the model once more, and keep it all."""
    given = (START, *translated.tokens)
    with few_cores():
        encoded = model.encode(np.array([translated.source]))
        decoded = model.decode(encoded, np.array([given]))
    source, target = (
        tokenized_text(model.tokenizer, translated.source),
        tokenized_text(model.tokenizer, given, elisions=True),
    )
    return Reading(
        translated=translated,
        source=source,
        target=target,
        notes=tuple(_notes(model, translated, source)),
        model=model,
        encoded=encoded,
        decoded=decoded,
    )


@lru_cache(maxsize=1)
def shipped_model() -> Transformer:
    """The shipped model, loaded once."""
    from regard.transformer.checkpoint import load_model

    return load_model()


def _notes(model: Transformer, translated: Translation, source: TokenizedText) -> list[str]:
    notes = []
    if model.untrained:
        notes.append("The model is untrained: its parameters are random and mean nothing.")
    if not translated.finished:
        notes.append(
            f"The translation was cut at {len(translated.tokens)} tokens, its limit for this "
            "sentence: the model had not come to an end."
        )
    if any(not (x.isprintable() or x.isspace()) for x in translated.sentence):
        notes.append(
            "Characters that cannot be seen were left out, and bytes that are no text were read "
            "as '?'."
        )
    strange = unknown_characters(source.pieces, translated.sentence)
    if strange:
        notes.append(
            f"Training never met {strange[:20]!r}: it is spelled out in bytes, which the model "
            "can hardly read."
        )
    return notes
