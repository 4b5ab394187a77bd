"""Sentence to reading: its translation with every attention weight."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np

from regard.blas import one_blas_thread
from regard.errors import ArgumentError
from regard.text.english import foreign_words
from regard.text.tokens import unknown_characters
from regard.text.words import TokenizedText, tokenized_text
from regard.transformer.config import START
from regard.transformer.intervention import Intervention
from regard.transformer.model import Encoded, Transformer
from regard.transformer.reading import Reading
from regard.transformer.search import OnStep, Search, encode_sources, search_encoded
from regard.transformer.translation import Translation, run_batches, translate_one

ENGLISH = "English"


def read(
    sentence: str,
    *,
    model: Transformer | None = None,
    beams: int = 4,
    on_step: OnStep | None = None,
) -> Reading:
    """Translate a sentence and keep every attention weight; the shipped model unless given.

    ``on_step`` is called before every step of the model; it may raise to cancel.
    """
    model = shipped_model() if model is None else model
    translated, encoded = translate_one(model, sentence, Search(beams), progress=on_step)
    with one_blas_thread():
        return _reading(model, translated, encoded, beams=beams)


def read_all(
    sentences: Sequence[str],
    *,
    model: Transformer | None = None,
    beams: int = 4,
    on_step: OnStep | None = None,
) -> list[Reading]:
    """Read many sentences, in batches of like length."""
    model = shipped_model() if model is None else model
    finish = partial(_reading, model, beams=beams)
    return run_batches(model, sentences, Search(beams), finish, on_step)


def reading_of(model: Transformer, translated: Translation, *, positions: bool = True) -> Reading:
    """The reading of a sentence whose translation is given.

    With ``positions=False`` the vectors carry no positions.
    """
    with one_blas_thread():
        encoded = model.encode(np.array([translated.source]), positions=positions)
        return _reading(model, translated, encoded, positions=positions)


@one_blas_thread()
def read_changed(
    reading: Reading, intervention: Intervention | None, *, encoder_only: bool = False
) -> Reading:
    """The sentence of a reading translated again, its attentions changed in every step.

    Where only encoders are changed the search is the same as without, to the bit.
    """
    model, source = reading.model, reading.translated.source
    if not reading.positions:
        raise ArgumentError(
            "an experiment needs a reading with positions, but this one was made without: read the "
            "sentence with regard.read."
        )
    encoded = encode_sources(model, [source], intervention=intervention)
    search = Search(reading.beams)
    in_search = None if encoder_only else intervention
    best = search_encoded(model, encoded, search, intervention=in_search)[0]
    translated = Translation.from_hypothesis(model, reading.sentence, source, best)
    return _reading(model, translated, encoded, beams=reading.beams, intervention=intervention)


def _reading(
    model: Transformer,
    translated: Translation,
    encoded: Encoded,
    *,
    positions: bool = True,
    beams: int = 4,
    intervention: Intervention | None = None,
) -> Reading:
    """One pass of the decoders over the translation, on the encoder's run that it came from."""
    given = (START, *translated.tokens)
    source = tokenized_text(model.tokenizer, translated.source)
    return Reading(
        translated=translated,
        source=source,
        target=tokenized_text(model.tokenizer, given, elisions=True),
        notes=tuple(_notes(model, translated, source)),
        model=model,
        encoded=encoded,
        decoded=model.decode(
            encoded, np.array([given]), positions=positions, intervention=intervention
        ),
        positions=positions,
        beams=beams,
        intervention=intervention,
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
    unknown = unknown_characters(source.pieces, translated.sentence)
    if unknown:
        listed = " ".join(unknown[:20]) + (" ..." if len(unknown) > 20 else "")
        notes.append(
            f"Training never met {listed}: such characters are spelled out in bytes, which the "
            "model can hardly read."
        )
    foreign = foreign_words(source.words) if model.about.get("source") == ENGLISH else ()
    if foreign:
        notes.append(
            f"This does not look like English ({', '.join(foreign[:4])}), and the model was "
            "trained on English alone: its translation may mean nothing."
        )
    return notes
