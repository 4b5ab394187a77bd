"""Experiments: a sentence read again with something changed, heads' effects, a score's terms."""

from __future__ import annotations

from typing import Any

from regard.errors import ArgumentError
from regard.experiments.effects import Choice
from regard.experiments.selection import PARTS
from regard.transformer.experiment import (
    direct_effects,
    find_choice,
    logit_difference,
    without_each_head,
)
from regard.transformer.reading import Reading
from regard.view.page.answers import Answer, AnswerTable, Fields, Sources, Stop, json_answer
from regard.view.page.readings import as_page, experiment_outcome, integer_field, text_field

MAX_TERMS = 12


def answers(sources: Sources) -> AnswerTable:
    """experiment, effects, because."""

    def requested_reading(fields: Fields, stop: Stop) -> Reading:
        return sources.readings.read(text_field(fields, "sentence"), stop.check)

    def experiment(fields: Fields, stop: Stop) -> Answer:
        changes = fields.get("changes")
        sentence = requested_reading(fields, stop).sentence
        made = sources.readings.experiment(sentence, changes, stop.check)
        reading = as_page(made.after) | {"changes": changes}
        return json_answer({"reading": reading, **experiment_outcome(made)})

    def effects(fields: Fields, stop: Stop) -> Answer:
        reading, (of, rival) = requested_reading(fields, stop), _words(fields)
        if "layer" in fields:
            return json_answer(_layer_effects(reading, fields))
        if fields.get("choice") is True:
            return json_answer(_choice(reading, find_choice(reading, of, rival)))
        made = reading.effects(of, rival, progress=lambda *_: stop.check())
        return json_answer(made.to_dict())

    def because(fields: Fields, stop: Stop) -> Answer:
        return json_answer(_because(requested_reading(fields, stop), fields))

    return {"/api/experiment": experiment, "/api/effects": effects, "/api/because": because}


def _words(fields: Fields) -> tuple[int, str | None]:
    """The number of a French word, and the word that it is compared with, if one is named."""
    against = fields.get("against")
    return integer_field(fields, "of"), against if isinstance(against, str) else None


def _choice(reading: Reading, choice: Choice) -> dict[str, Any]:
    """Both words with what the formula says of every head: what is there before any run."""
    direct_mlh = direct_effects(reading, choice)
    return {
        "of": choice.of,
        "against": choice.against,
        "prefix": list(choice.prefix_words),
        "logit_difference": logit_difference(reading, choice),
        "direct": dict(zip(PARTS, direct_mlh.tolist(), strict=True)),
    }


def _layer_effects(reading: Reading, fields: Fields) -> dict[str, Any]:
    """Effects of the heads of one layer: the page asks for a layer at a time, to show progress."""
    choice = find_choice(reading, *_words(fields))
    part, layer = text_field(fields, "part", "encoder"), integer_field(fields, "layer")
    without_h = without_each_head(reading, choice, part, layer)
    return {"effect": (logit_difference(reading, choice) - without_h).tolist()}


def _because(reading: Reading, fields: Fields) -> dict[str, Any]:
    """The largest terms of a score; ``path`` opens a term of each level in turn."""
    query, key, layer, head = (integer_field(fields, x) for x in ("query", "key", "layer", "head"))
    made = reading.because(query, key, layer, head, part=text_field(fields, "part", "encoder"))
    path = fields.get("path", [])
    if not isinstance(path, list):
        raise ArgumentError(f"path must be a list of term numbers, got {path!r}.")
    for term in path:
        made = made.because(term)
    shown = [x.to_dict() | {"opens": x.opens()} for x in made.terms[:MAX_TERMS]]
    rest = sum(x.value for x in made.terms[MAX_TERMS:])
    return made.to_dict() | {"terms": shown, "count": len(made.terms), "rest": rest}
