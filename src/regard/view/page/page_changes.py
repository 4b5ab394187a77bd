"""Experiments that the page asks for: changes of a reading as JSON values, and their outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regard.errors import ArgumentError
from regard.experiments.experiment import CAUTION, Experiment
from regard.transformer.reading import Reading

MOST_CHANGES = 8
Build = Callable[[Reading | Experiment, Mapping[str, Any]], Experiment]


def _cover(reading: Reading | Experiment, fields: Mapping[str, Any]) -> Experiment:
    return reading.knock_out(integer_field(fields, "word"))


def _off(reading: Reading | Experiment, fields: Mapping[str, Any]) -> Experiment:
    return reading.ablate(
        integer_field(fields, "layer"), integer_field(fields, "head"), part=_part(fields)
    )


def _redirect(reading: Reading | Experiment, fields: Mapping[str, Any]) -> Experiment:
    word, to, layer, head = (integer_field(fields, x) for x in ("word", "to", "layer", "head"))
    return reading.redirect(word, to, layer, head, part=_part(fields))


BUILDERS: dict[str, Build] = {"knock_out": _cover, "ablate": _off, "redirect": _redirect}


def experiment_of(reading: Reading, changes: object) -> Experiment:
    """The experiment that a list of changes describes.

    Parameters
    ----------
    reading : Reading
        The sentence as it is.
    changes : list of dict
        ``change`` is 'knock_out' (``word``), 'ablate' (``part``, ``layer``, ``head``) or 'redirect'
        (``word``, ``to``, ``part``, ``layer``, ``head``); words by number.
    """
    experiment: Reading | Experiment = reading
    for change in checked_changes(changes):
        experiment = BUILDERS[change["change"]](experiment, change)
    if not isinstance(experiment, Experiment):
        raise ArgumentError("an experiment needs at least one change, but none is given.")
    return experiment


def checked_changes(changes: object) -> Sequence[Mapping[str, Any]]:
    """The changes of a request, each of a known kind."""
    if not isinstance(changes, list) or len(changes) > MOST_CHANGES:
        raise ArgumentError(
            f"changes needs a list of at most {MOST_CHANGES} changes, but it is {_short(changes)}."
        )
    for change in changes:
        if not isinstance(change, dict) or change.get("change") not in BUILDERS:
            raise ArgumentError(
                f"a change needs to be one of {', '.join(BUILDERS)}, but it is {_short(change)}."
            )
    return changes


def outcome_of(experiment: Experiment) -> dict[str, Any]:
    """What changed, both translations with the words that differ, and the odds where they part."""
    return {
        "changed": list(experiment.changed),
        "same": experiment.same,
        "before": {
            "translation": experiment.before.translation,
            "words": list(experiment.before.translation_words),
            "differing": list(experiment.differing[0]),
        },
        "after": {
            "translation": experiment.after.translation,
            "words": list(experiment.after.translation_words),
            "differing": list(experiment.differing[1]),
        },
        "prefix": list(experiment.parting.prefix),
        "candidates": [x.to_dict() for x in experiment.parting.candidates],
        "caution": CAUTION,
    }


def integer_field(fields: Mapping[str, Any], name: str) -> int:
    """A number of a request, checked to be one."""
    number = fields.get(name)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ArgumentError(f"{name} needs a whole number from 0, but it is {_short(number)}.")
    return number


def _part(fields: Mapping[str, Any]) -> str:
    part = fields.get("part", "encoder")
    if not isinstance(part, str):
        raise ArgumentError(f"part needs to be text, but it is {_short(part)}.")
    return part


def _short(thing: object) -> str:
    text = repr(thing)
    return text if len(text) <= 60 else f"{text[:60]} ..."
