"""SENTENCE -> READING for the page: the model kept loaded, the latest readings kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from regard.transformer.model import Transformer
from regard.transformer.reader import read, reading_of, shipped_model
from regard.transformer.reading import Reading
from regard.transformer.translation import Translation, source_tokens

MOST_NUMBERS = 60_000_000  # weights kept in all, 8 bytes each


class Readings:
    """Readings of the shipped model, or of the one given; the least used are forgotten first."""

    def __init__(self, model: Transformer | None = None) -> None:
        self._model, self._lock = model, Lock()
        self._cache: OrderedDict[tuple[str, bool], Reading] = OrderedDict()

    @property
    def is_shipped(self) -> bool:
        """Whether these are readings of the model that comes with the package."""
        return self._model is None

    @property
    def model(self) -> Transformer:
        """The model, loaded when first asked for and then kept."""
        with self._lock:
            return shipped_model() if self._model is None else self._model

    def of(self, sentence: str, ask: Callable[[], None], *, quick: bool = False) -> Reading:
        """The reading of a sentence; ``quick`` is the English side alone, without translation.

        ``ask`` is called before every step and may raise to end it.
        """
        key = (sentence, quick)
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        model = self.model
        reading = glance(model, sentence) if quick else read(sentence, model=model, on_step=ask)
        with self._lock:
            self._cache[key] = reading
            while len(self._cache) > 1 and sum(map(_numbers, self._cache.values())) > MOST_NUMBERS:
                self._cache.popitem(last=False)
        return reading


def glance(model: Transformer, sentence: str) -> Reading:
    """What the encoders see, before any word of the translation is said.

    The encoders do not know of the translation, so these are the same numbers as in the reading.
    """
    source = tuple(source_tokens(model, sentence))
    return reading_of(model, Translation(sentence, "", source, (), 0.0, True))


def without_position(reading: Reading) -> Reading:
    """The same sentence and translation through a model that is not told where words stand."""
    return reading_of(reading.model, reading.translated, positions=False)


def _numbers(reading: Reading) -> int:
    """How many weights a reading holds, by tokens and by words."""
    source, target = len(reading.tokens), len(reading.target.tokens)
    sizes = reading.model.config
    return 2 * sizes.layers * sizes.heads * (source**2 + target**2 + source * target)
