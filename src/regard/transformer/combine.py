"""Tables combined from many heads: average, rollout and value-weighted attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.blas import one_blas_thread
from regard.display import TextDisplay, render
from regard.errors import ArgumentError, check_choice
from regard.experiments.selection import PARTS
from regard.heads.rollout import ROLLOUT_EXPLANATION, rolled_out
from regard.text.words import TokenizedText, to_words
from regard.typing import Array

if TYPE_CHECKING:
    from regard.transformer.reading import Reading
    from regard.view.figure.picture import Picture


@dataclass(frozen=True, repr=False)
class Mixed(TextDisplay):
    """A table combined from many heads, with an explanation of what it does and does not show.

    weights_qk is between words, tokens_qk between tokens; every row sums to 1.
    """

    name: str
    explanation: str
    queries: TokenizedText
    keys: TokenizedText
    tokens_qk: Array

    @property
    def weights_qk(self) -> Array:
        """Between words: added over the pieces of a key, averaged over those of a query."""
        return to_words(self.tokens_qk, self.queries, self.keys)

    def picture(self, kind: str = "heatmap", by: str = "words") -> Picture:
        """The table to look at and to save, with what it is and is not."""
        picture: Picture = render("picture", self, kind, by)
        return picture


def average(reading: Reading, part: str, layer: int | None) -> Mixed:
    """The plain mean over heads."""
    weights_qk = reading.weights(layer, part=part, by="tokens")
    of = "all layers" if layer is None else f"layer {layer}"
    return Mixed(
        f"average of {of}",
        f"The mean over the heads of {of}. It shows what many heads agree on, and hides the one "
        "head that does something else.",
        *reading.texts(part),
        weights_qk.mean(axis=tuple(range(weights_qk.ndim - 2))),
    )


def average_of_heads(
    reading: Reading, part: str, layer: int | None, heads: Sequence[tuple[int, int]]
) -> Mixed:
    """The plain mean over chosen heads."""
    try:
        are_pairs = np.shape(heads)[1:] == (2,)
    except ValueError:  # of different lengths
        are_pairs = False
    if layer is not None or not are_pairs:
        raise ArgumentError(
            "heads must be a list of (layer, head), given without layer, as in "
            f"heads=[(3, 6), (4, 4)], got heads={heads!r} and layer={layer!r}."
        )
    tables = [reading.weights(at, head, part=part, by="tokens") for at, head in heads]
    names = ", ".join(f"{at}.{head}" for at, head in heads)
    return Mixed(
        f"average of heads {names}",
        f"The mean over the heads {names} of the {part}. It shows what they agree on, and hides "
        "where they differ.",
        *reading.texts(part),
        np.mean(tables, axis=0),
    )


@one_blas_thread()
def rollout(reading: Reading, part: str) -> Mixed:
    """Follow attention down the layers, half of each vector coming straight from below."""
    if check_choice("part", part, PARTS) == "cross":
        raise ArgumentError(
            "part must be 'encoder' or 'decoder' for rollout, whose rows and columns are the same "
            "words, got 'cross': use average or alignment."
        )
    mixed_qk = rolled_out(reading.weights(part=part, by="tokens").mean(axis=1))
    return Mixed("rollout", ROLLOUT_EXPLANATION, *reading.texts(part), mixed_qk)


def value_weighted(reading: Reading, part: str, layer: int, head: int) -> Mixed:
    """Each weight times the norm of the vector it weights, as shares of the row."""
    carried_qk = reading.weights(layer, head, part=part, by="tokens", weighted="norm")
    return Mixed(
        f"value-weighted, layer {layer}, head {head}",
        "Each weight times the length of what it brings (the value through w_output), as a share "
        "of the row. A large weight on a short vector moves little; but lengths say nothing of "
        "directions, and parts can cancel.",
        *reading.texts(part),
        carried_qk,
    )
