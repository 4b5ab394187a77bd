"""Selections that a change acts on: heads of a part, and the tokens of a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError
from regard.heads.links import single_word
from regard.text.words import TokenizedText
from regard.transformer.config import Config
from regard.transformer.intervention import AttentionResult
from regard.transformer.roles import check_number, check_part

Numbers = int | Sequence[int] | None


@dataclass(frozen=True)
class HeadSelection:
    """Some heads of some layers of some parts; None stands for all."""

    parts: tuple[str, ...]
    layers: tuple[int, ...] | None
    heads: tuple[int, ...] | None

    @classmethod
    def of(
        cls, config: Config, parts: Sequence[str], layer: Numbers, head: Numbers
    ) -> HeadSelection:
        """A selection that the model has; says what is wrong with one that it has not."""
        for part in parts:
            check_part(part)
        layers = _numbers("layer", layer, config.layers)
        return cls(tuple(parts), layers, _numbers("head", head, config.heads))

    def covers(self, result: AttentionResult) -> bool:
        """Whether some of the heads belong to this attention."""
        return result.part in self.parts and (self.layers is None or result.layer in self.layers)

    def index(self, heads: int) -> NDArray[np.int64]:
        """The numbers of the heads of one layer that has so many."""
        return np.arange(heads) if self.heads is None else np.array(self.heads, np.int64)

    def mask_lh(self, part: str, config: Config) -> NDArray[np.bool_]:
        """True for the heads of one part that are selected."""
        mask_lh = np.zeros((config.layers, config.heads), bool)
        if part in self.parts:
            layers = np.arange(config.layers) if self.layers is None else np.array(self.layers)
            mask_lh[np.ix_(layers, self.index(config.heads))] = True
        return mask_lh

    def __str__(self) -> str:
        parts = " and ".join(self.parts)
        if self.layers is None and self.heads is None:
            return f"every head ({parts})"
        layers = "every layer" if self.layers is None else _listed("layer", self.layers)
        heads = "every head" if self.heads is None else _listed("head", self.heads)
        return f"{parts} {layers}, {heads}"


def word_tokens(text: TokenizedText, word: str | int) -> tuple[str, NDArray[np.int64]]:
    """A word as it is written, and the positions of its tokens."""
    number = single_word(text.words, word)
    return text.words[number], np.flatnonzero(np.equal(text.word_of_token, number))


def _numbers(name: str, number: Numbers, total: int) -> tuple[int, ...] | None:
    if number is None:
        return None
    given = number if isinstance(number, Sequence) and not isinstance(number, str) else (number,)
    numbers = tuple(sorted({check_number(name, x, total) for x in given}))
    if not numbers:
        raise ArgumentError(f"{name} needs at least one number, but the list is empty.")
    return numbers


def _listed(name: str, numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"{name} {numbers[0]}"
    return f"{name}s {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
