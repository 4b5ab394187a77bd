"""SENTENCE -> READING for the page: the model kept loaded, the latest readings kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.transformer.model import Transformer
from regard.transformer.reader import reading_of, shipped_model
from regard.transformer.reading import Reading
from regard.transformer.translation import Translation, source_tokens, translate
from regard.typing import Array

MOST_NUMBERS = 60_000_000  # weights kept in all, 8 bytes each


@dataclass(frozen=True)
class Interruptible(Transformer):
    """A transformer that asks before every step whether it should go on."""

    ask: Callable[[], None] = field(default=lambda: None, repr=False)

    def vectors(self, tokens_bt: NDArray[np.integer[Any]], first: int = 0) -> Array:
        """The vectors of the tokens; every step of a translation begins with them."""
        self.ask()
        return super().vectors(tokens_bt, first)


@dataclass(frozen=True)
class Unplaced(Transformer):
    """A transformer that is not told where its words stand."""

    def vectors(self, tokens_bt: NDArray[np.integer[Any]], first: int = 0) -> Array:
        """embedding * sqrt(width), and no position."""
        x_bte: Array = self.embedding_ve[tokens_bt] * np.float32(self.config.width**0.5)
        return x_bte


class Readings:
    """Readings of the shipped model, or of the one given; the least used are forgotten first."""

    def __init__(self, model: Transformer | None = None) -> None:
        self._given, self._lock = model, Lock()
        self._kept: OrderedDict[tuple[str, bool], Reading] = OrderedDict()

    @property
    def is_shipped(self) -> bool:
        """Whether these are readings of the model that comes with the package."""
        return self._given is None

    @property
    def model(self) -> Transformer:
        """The model, loaded when first asked for and then kept."""
        with self._lock:
            return shipped_model() if self._given is None else self._given

    def of(self, sentence: str, ask: Callable[[], None], *, quick: bool = False) -> Reading:
        """The reading of a sentence; ``quick`` is the English side alone, without translation.

        ``ask`` is called before every step and may raise to end it.
        """
        wanted = (sentence, quick)
        with self._lock:
            if wanted in self._kept:
                self._kept.move_to_end(wanted)
                return self._kept[wanted]
        model = self.model
        made = glance(model, sentence) if quick else _read(model, sentence, ask)
        with self._lock:
            self._kept[wanted] = made
            while len(self._kept) > 1 and sum(map(_numbers, self._kept.values())) > MOST_NUMBERS:
                self._kept.popitem(last=False)
        return made


def glance(model: Transformer, sentence: str) -> Reading:
    """What the encoders see, before any word of the translation is said.

    The encoders do not know of the translation, so these are the same numbers as in the reading.
    """
    source = tuple(source_tokens(model, sentence))
    return reading_of(model, Translation(sentence, "", source, (), 0.0, True))


def without_position(reading: Reading) -> Reading:
    """The same sentence and translation through a model that is not told where words stand."""
    return reading_of(Unplaced(**vars(reading.model)), reading.translated)


def _read(model: Transformer, sentence: str, ask: Callable[[], None]) -> Reading:
    translated = translate(Interruptible(**vars(model), ask=ask), [sentence])[0]
    return reading_of(model, translated)


def _numbers(reading: Reading) -> int:
    """How many weights a reading holds, by tokens and by words."""
    source, target = len(reading.tokens), len(reading.target.tokens)
    sizes = reading.model.config
    return 2 * sizes.layers * sizes.heads * (source**2 + target**2 + source * target)
