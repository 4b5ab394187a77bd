"""Readings of sentences for the page: the model loaded once, recent readings cached by size."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.transformer.model import Transformer
from regard.transformer.reading import Reading, read, read_translated, shipped_model
from regard.transformer.translation import Translation, source_tokens

if TYPE_CHECKING:
    from regard.experiments.experiment import Experiment

MOST_BYTES = 480_000_000  # of all cached readings
MOST_EXPERIMENTS = 4  # cached: the page shows one or two at a time
LEAVES = frozenset([str, bytes, int, float, bool, complex, type(None)])  # they refer to nothing
Key = tuple[str, bool]


class Readings:
    """Cached readings of the shipped model, or of another; the least recently used go first."""

    def __init__(self, model: Transformer | None = None) -> None:
        self._model, self._lock = model, Lock()
        self._cache: OrderedDict[Key, Reading] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self._in_use: set[Key] = set()
        self._experiments: OrderedDict[tuple[str, str], Experiment] = OrderedDict()

    @property
    def is_shipped(self) -> bool:
        """Whether these are readings of the model that comes with the package."""
        return self._model is None

    @property
    def model(self) -> Transformer:
        """The model, loaded on first use."""
        with self._lock:
            return shipped_model() if self._model is None else self._model

    @property
    def bytes(self) -> int:
        """The size of all cached readings as last measured, the model not counted."""
        return sum(self._sizes.values())

    def of(self, sentence: str, on_step: Callable[[], None], *, quick: bool = False) -> Reading:
        """The reading of a sentence; ``quick`` is the English side alone, without translation.

        ``on_step`` is called before every step of the search and may raise to end it.
        """
        key = (sentence, quick)
        with self._lock:
            reading = self._cache.get(key)
        if reading is None:
            model = self.model
            reading = (
                glance(model, sentence) if quick else read(sentence, model=model, progress=on_step)
            )
        with self._lock:
            self._cache[key] = reading
            self._cache.move_to_end(key)
            self._in_use.add(key)
            self._trim(reading.model)
        return reading

    def experiment(self, sentence: str, changes: Any, on_step: Callable[[], None]) -> Experiment:
        """The experiment of a sentence and a list of changes (page_changes.py)."""
        from regard.view.page.page_changes import experiment_of

        key = (sentence, json.dumps(changes, sort_keys=True))
        with self._lock:
            experiment = self._experiments.get(key)
        if experiment is None:
            experiment = experiment_of(self.of(sentence, on_step), changes)
            on_step()
        with self._lock:
            self._experiments[key] = experiment
            self._experiments.move_to_end(key)
            while len(self._experiments) > MOST_EXPERIMENTS:
                self._experiments.popitem(last=False)
        return experiment

    def _trim(self, model: Transformer) -> None:
        # A reading grows while it is used, by what it computes on demand: so it is measured again.
        for key in self._in_use & self._cache.keys():
            self._sizes[key] = reachable_bytes(self._cache[key], shared=[model])
        self._in_use = {next(reversed(self._cache))}
        while len(self._cache) > 1 and self.bytes > MOST_BYTES:
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


def reachable_bytes(thing: Any, shared: Iterable[Any] = ()) -> int:
    """Bytes of all arrays and objects that a thing refers to, without those that it shares.

    >>> array = np.zeros(1000)
    >>> reachable_bytes([array, array[10:]]) - reachable_bytes([])  > 8000
    True
    >>> reachable_bytes([array], shared=[array]) < 200
    True
    """
    counted: set[int] = set()
    for other in shared:
        _count(other, counted)
    return _count(thing, counted)


def _count(thing: Any, counted: set[int]) -> int:
    size, pending = 0, [thing]
    while pending:
        one = pending.pop()
        if id(one) in counted:
            continue
        if type(one) not in LEAVES:  # most objects of a model are the words of its vocabulary
            if isinstance(one, type | ModuleType | FunctionType):
                continue
            pending += _referred(one)
        counted.add(id(one))
        size += sys.getsizeof(one)
    return size


def _referred(thing: Any) -> list[Any]:
    if isinstance(thing, np.ndarray):
        return [thing.base]  # a view keeps the array that owns its numbers
    if isinstance(thing, tuple | list | set | frozenset):
        return list(thing)
    if isinstance(thing, dict) or isinstance(thing, Mapping):  # noqa: SIM101 (the first is quick)
        return [*thing.keys(), *thing.values()]
    slots = [getattr(thing, name, None) for name in getattr(type(thing), "__slots__", ())]
    return [*slots, *getattr(thing, "__dict__", {}).values()]
