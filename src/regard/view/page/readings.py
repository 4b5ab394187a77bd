"""Readings of sentences for the page: computed once, cached by size, changed on request."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from threading import Lock
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.experiments.experiment import CAUTION as EXPERIMENT_CAUTION
from regard.experiments.experiment import Experiment
from regard.experiments.selection import PARTS
from regard.heads.links import CAUTION
from regard.text.words import TokenizedText
from regard.transformer.model import Transformer
from regard.transformer.reading import Reading, read_translated, shipped_model
from regard.transformer.reading import read as read_sentence
from regard.transformer.roles import Role
from regard.transformer.translation import Translation, source_tokens
from regard.view.page.maps import THUMBNAIL_CELLS

MAX_CHANGES = 8
Build = Callable[[Reading | Experiment, Mapping[str, Any]], Experiment]


def _knock_out(reading: Reading | Experiment, fields: Mapping[str, Any]) -> Experiment:
    return reading.knock_out(integer_field(fields, "word"))


def _ablate(reading: Reading | Experiment, fields: Mapping[str, Any]) -> Experiment:
    return reading.ablate(
        integer_field(fields, "layer"),
        integer_field(fields, "head"),
        part=text_field(fields, "part", "encoder"),
    )


def _redirect(reading: Reading | Experiment, fields: Mapping[str, Any]) -> Experiment:
    word, to, layer, head = (integer_field(fields, x) for x in ("word", "to", "layer", "head"))
    return reading.redirect(word, to, layer, head, part=text_field(fields, "part", "encoder"))


BUILDERS: dict[str, Build] = {"knock_out": _knock_out, "ablate": _ablate, "redirect": _redirect}


def build_experiment(reading: Reading, changes: object) -> Experiment:
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
        raise ArgumentError("an experiment needs at least one change.")
    return experiment


def checked_changes(changes: object) -> Sequence[Mapping[str, Any]]:
    """The changes of a request, each of a known kind."""
    if not isinstance(changes, list) or len(changes) > MAX_CHANGES:
        raise ArgumentError(
            f"changes must be a list of at most {MAX_CHANGES} changes, got {_short(changes)}."
        )
    for change in changes:
        kind = change.get("change") if isinstance(change, dict) else None
        if not isinstance(kind, str) or kind not in BUILDERS:
            raise ArgumentError(
                f"a change must be one of {', '.join(BUILDERS)}, got {_short(change)}."
            )
    return changes


def experiment_outcome(experiment: Experiment) -> dict[str, Any]:
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
        "caution": EXPERIMENT_CAUTION,
    }


def integer_field(fields: Mapping[str, Any], name: str) -> int:
    """A whole number of a request."""
    number = fields.get(name)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ArgumentError(f"{name} must be a whole number, got {_short(number)}.")
    return number


def text_field(fields: Mapping[str, Any], name: str, otherwise: str | None = None) -> str:
    """A text of a request."""
    text = fields.get(name, otherwise)
    if not isinstance(text, str):
        raise ArgumentError(f"{name} must be text, got {_short(text)}.")
    return text


def _short(thing: object) -> str:
    text = repr(thing)
    return text if len(text) <= 60 else f"{text[:60]} ..."


MAX_CACHE_BYTES = 480_000_000  # of readings
MAX_EXPERIMENTS = 4  # in the cache; the page shows one or two at a time
LEAF_TYPES = frozenset([str, bytes, int, float, bool, complex, type(None)])  # they refer to nothing
Key = tuple[str, bool]


class Readings:
    """Cached readings of the shipped model, or of another; the least recently used go first."""

    def __init__(self, model: Transformer | None = None) -> None:
        self._model, self._lock = model, Lock()
        self._cache: OrderedDict[Key, Reading] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self._in_use: set[Key] = set()
        self._of_model: frozenset[int] = frozenset()  # ids of its objects; 50,000, so found once
        self._experiments: OrderedDict[tuple[str, str], Experiment] = OrderedDict()

    @property
    def is_shipped(self) -> bool:
        """Whether these are readings of the model that comes with the package."""
        return self._model is None

    @property
    def model(self) -> Transformer:
        with self._lock:
            return shipped_model() if self._model is None else self._model

    @property
    def bytes(self) -> int:
        """The size of all cached readings as last measured, the model not counted."""
        return sum(self._sizes.values())

    def read(self, sentence: str, on_step: Callable[[], None], *, quick: bool = False) -> Reading:
        """The reading of a sentence; ``quick`` is the English side alone, without translation.

        ``on_step`` is called before every step of the search and may raise to end it.
        """
        key = (sentence, quick)
        with self._lock:
            reading = self._cache.get(key)
        if reading is None:
            model = self.model
            reading = (
                glance(model, sentence)
                if quick
                else read_sentence(sentence, model=model, progress=on_step)
            )
        with self._lock:
            self._cache[key] = reading
            self._cache.move_to_end(key)
            self._in_use.add(key)
            self._trim(reading.model)
        return reading

    def experiment(self, sentence: str, changes: Any, on_step: Callable[[], None]) -> Experiment:
        key = (sentence, json.dumps(changes, sort_keys=True))
        with self._lock:
            experiment = self._experiments.get(key)
        if experiment is None:
            experiment = build_experiment(self.read(sentence, on_step), changes)
            on_step()
        with self._lock:
            self._experiments[key] = experiment
            self._experiments.move_to_end(key)
            while len(self._experiments) > MAX_EXPERIMENTS:
                self._experiments.popitem(last=False)
        return experiment

    def _trim(self, model: Transformer) -> None:
        # A reading grows by what it computes on demand, so those in use are measured again.
        self._of_model = self._of_model or reachable_ids(model)
        for key in self._in_use & self._cache.keys():
            self._sizes[key] = reachable_bytes(self._cache[key], self._of_model)
        self._in_use = {next(reversed(self._cache))}
        while len(self._cache) > 1 and self.bytes > MAX_CACHE_BYTES:
            key, _ = self._cache.popitem(last=False)
            self._sizes.pop(key, None)


def glance(model: Transformer, sentence: str) -> Reading:
    """The reading of the English side alone.

    The encoders do not depend on the translation, so these are the numbers of the full reading.
    """
    source = tuple(source_tokens(model, sentence))
    return read_translated(model, Translation(sentence, "", source, (), 0.0, True))


def without_position(reading: Reading) -> Reading:
    """The same sentence and translation, without positions in the model's vectors."""
    return read_translated(reading.model, reading.translated, positions=False)


def reachable_bytes(thing: Any, shared: Collection[int] = ()) -> int:
    """Bytes of all arrays and objects that an object refers to, without those of shared ids.

    >>> array = np.zeros(1000)
    >>> reachable_bytes([array, array[10:]]) - reachable_bytes([])  > 8000
    True
    >>> reachable_bytes([array], reachable_ids(array)) < 200
    True
    """
    return sum(sys.getsizeof(one) for one in _reachable(thing, shared))


def reachable_ids(thing: Any) -> frozenset[int]:
    """Ids of all objects that an object refers to, and its own."""
    return frozenset(id(one) for one in _reachable(thing, ()))


def _reachable(thing: Any, shared: Collection[int]) -> Iterator[Any]:
    seen, pending = set(), [thing]
    while pending:
        one = pending.pop()
        if id(one) in seen or id(one) in shared:
            continue
        if type(one) not in LEAF_TYPES:  # most objects of a model are the words of its vocabulary
            if isinstance(one, type | ModuleType | FunctionType):
                continue
            pending += _referred(one)
        seen.add(id(one))
        yield one


def _referred(thing: Any) -> list[Any]:
    if isinstance(thing, np.ndarray):
        return [thing.base]  # a view keeps the array that owns its numbers
    if isinstance(thing, tuple | list | set | frozenset):
        return list(thing)
    if isinstance(thing, dict) or isinstance(thing, Mapping):  # noqa: SIM101 (the first is quick)
        return [*thing.keys(), *thing.values()]
    slots = [getattr(thing, name, None) for name in getattr(type(thing), "__slots__", ())]
    return [*slots, *getattr(thing, "__dict__", {}).values()]


TITLES = {
    "encoder": ("encoder", "English looks at English"),
    "decoder": ("decoder", "French looks at the French before it"),
    "cross": ("cross", "French looks at English"),
}


def as_page(reading: Reading, *, quick: bool = False) -> dict[str, Any]:
    """A reading as the page takes it (the shape is written down in web/lib/api.js)."""
    parts = ("encoder",) if quick else PARTS
    return {
        "sentence": reading.sentence,
        "translation": reading.translation,
        "quick": quick,
        "parts": [_part(reading, part) for part in parts],
        "alignment": None if quick else _alignment(reading),
        "highlight": reading.highlight().to_dict(),
        "notes": list(reading.notes),
        "caution": CAUTION,
    }


def _part(reading: Reading, part: str) -> dict[str, Any]:
    queries, keys = reading.texts(part)
    sizes, roles = reading.model.config, reading.model.roles.heads(part)
    title, about = TITLES[part]
    language = {id(reading.source): "English", id(reading.target): "French"}
    return {
        "name": part,
        "title": title,
        "about": about,
        "layers": sizes.layers,
        "heads": sizes.heads,
        "causal": part == "decoder",
        "query": page_side(queries, language[id(queries)]),
        "key": page_side(keys, language[id(keys)]),
        **_roles(roles, sizes.layers, sizes.heads),
        "ways": ["head", "layer", "all", *(() if part == "cross" else ("rollout",))],
        "thumbnail": [
            min(THUMBNAIL_CELLS, len(queries.tokens)),
            min(THUMBNAIL_CELLS, len(keys.tokens)),
        ],
        "steps": True,
    }


def page_side(side: TokenizedText, language: str = "") -> dict[str, Any]:
    """A text in the shape of web/lib/api.js."""
    return {
        "language": language,
        "tokens": list(side.tokens),
        "words": list(side.words),
        "word_of_token": list(side.word_of_token),
    }


def _roles(roles: Mapping[tuple[int, int], Role], layers: int, heads: int) -> dict[str, Any]:
    """The name of each head's role, and the name with the measure that it rests on."""

    def table(attribute: str) -> list[list[str]]:
        return [
            [getattr(roles.get((layer, head)), attribute, "") for head in range(heads)]
            for layer in range(layers)
        ]

    return {"roles": table("name"), "described_roles": table("described")}


def _alignment(reading: Reading) -> dict[str, Any]:
    alignment = reading.alignment
    return {
        "words": list(alignment.words),
        "sources": [
            [
                {"key": key, "weight": float(alignment.weights_qk[row, key])}
                for key in alignment.source_columns(row)
            ]
            for row in range(len(alignment.words))
        ],
        "heads": [list(head) for head in alignment.heads],
    }
