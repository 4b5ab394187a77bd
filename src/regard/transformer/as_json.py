"""A reading as plain lists and numbers, for JSON and for the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.transformer.reading import Reading


def to_dict(reading: Reading, by: str = "words") -> dict[str, Any]:
    """Everything a reading holds; weights are (layer, head, query, key), first layer first."""
    from regard.transformer.naming import PARTS
    from regard.transformer.reading import CAUTION

    told = reading.telling()
    return {
        "sentence": reading.sentence,
        "translation": reading.translation,
        "score": reading.translated.score,
        "finished": reading.translated.finished,
        "words": list(reading.words),
        "tokens": list(reading.tokens),
        "translation_words": list(reading.target.words),
        "translation_tokens": list(reading.target.tokens),
        "by": by,
        "weights": {part: reading.weights(part, by=by).tolist() for part in PARTS},
        "alignment": [pair._asdict() for pair in reading.alignment.pairs],
        "telling": {**asdict(told.look), "sentence": told.sentence, "reason": told.reason},
        "notes": list(reading.notes),
        "counting": "layers and heads count from 0",
        "caution": CAUTION,
    }
