"""Word alignment between a translation and its sentence, from cross-attention.

A French word is read at the step where it is the decoder's input: one step after it was predicted,
when the heads that look for its source have the word itself as their query.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regard.display import TextDisplay
from regard.experiments.selection import check_number
from regard.text.english import is_content
from regard.text.words import to_words
from regard.typing import Array

if TYPE_CHECKING:
    from regard.transformer.reading import Reading


# A link needs this weight, this share of the largest weight of its row, and this share of the
# largest of its column: where another word of the translation gives a source word much more weight,
# this one did not come from it. Chosen on 100 hand-aligned sentences (docs/model-card.md).
MIN_WEIGHT = 0.25
SHARE_OF_ROW = 0.5
SHARE_OF_COLUMN = 0.8
# A word of the sentence to which no word of the translation gives this weight is not in it.
LEFT_OUT_BELOW = 0.2


class Pair(NamedTuple):
    """A word of the translation, a word of the sentence, and the weight between them."""

    word: str
    source: str
    weight: float


@dataclass(frozen=True, repr=False)
class Alignment(TextDisplay):
    """Links between the words of a translation and those of its sentence; ``print`` it.

    weights_qk: rows are words of the translation, columns words of the sentence, (end) last.
    ``heads`` are the (layer, head) whose mean it is.
    """

    words: tuple[str, ...]
    sources: tuple[str, ...]
    weights_qk: Array
    heads: tuple[tuple[int, int], ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Each word with the words it came from; see ``source_columns``.

        A word that rests on (end), or on words that others rest on more, has no pair.
        """
        return tuple(
            Pair(word, self.sources[key], float(self.weights_qk[row, key]))
            for row, word in enumerate(self.words)
            for key in self.source_columns(row)
        )

    def source_columns(self, row: int) -> list[int]:
        """The columns that one word came from, the strongest first.

        These have at least MIN_WEIGHT, SHARE_OF_ROW of the word's largest weight, and
        SHARE_OF_COLUMN of what any word of the translation gives them.
        """
        weights_k = self.weights_qk[check_number("row", row, len(self.words))]
        enough_k = np.maximum(SHARE_OF_COLUMN * self.weights_qk.max(axis=0), MIN_WEIGHT)
        enough_k = np.maximum(enough_k, SHARE_OF_ROW * weights_k.max())
        order = np.argsort(-weights_k, kind="stable").tolist()
        return [k for k in order if weights_k[k] >= enough_k[k] and self.sources[k] != "(end)"]

    def left_out(self) -> tuple[str, ...]:
        """Phrases of the sentence with two content words or more that nothing looks back at.

        A single word is often left out with reason, as in *go ahead and eat*: *mangeons*.
        """
        runs: list[list[int]] = [[]]
        for k in (k for k, word in enumerate(self.sources) if is_content(word)):
            if self.weights_qk[:, k].max() < LEFT_OUT_BELOW:
                runs[-1].append(k)
            else:
                runs.append([])
        return tuple(" ".join(self.sources[x[0] : x[-1] + 1]) for x in runs if len(x) > 1)


def align(reading: Reading) -> Alignment:
    """Average the heads that align best, as taught or measured; else a whole late layer."""
    heads = alignment_heads(reading)
    calls = reading.decoded.cross_calls
    weights = [calls[layer].weights()[0, head].astype(np.float64) for layer, head in heads]
    mean_qk = np.mean(weights, axis=0)
    by_words_qk = to_words(mean_qk, reading.target, reading.source)[1:]
    return Alignment(reading.translation_words, reading.words, by_words_qk, heads)


def alignment_heads(reading: Reading) -> tuple[tuple[int, int], ...]:
    """The heads to read alignment from: the last layer but one where nothing was measured."""
    measured = reading.model.roles.alignment_heads
    if measured:
        return measured
    sizes = reading.model.config
    layer = max(0, sizes.layers - 2)
    return tuple((layer, head) for head in range(sizes.heads))
