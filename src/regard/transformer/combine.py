"""Tables combined from many heads: average, rollout and value-weighted attention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.blas import one_blas_thread
from regard.display import TextDisplay, render
from regard.errors import ArgumentError
from regard.text.words import TokenizedText, to_words
from regard.typing import Array

if TYPE_CHECKING:
    from regard.transformer.reading import Reading
    from regard.view.figure.picture import Picture


@dataclass(frozen=True, repr=False)
class Mixed(TextDisplay):
    """A table made of weights: its name, what it is and is not, and both views of it.

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
    weights_qk = reading.weights(part, layer=layer, by="tokens")
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
    if layer is not None or not heads or any(np.shape(pair) != (2,) for pair in heads):
        raise ArgumentError(
            "heads needs (layer, head) of one head at least and no layer besides, as in "
            f"heads=[(3, 6), (4, 4)], but heads is {heads!r} and layer is {layer!r}."
        )
    tables = [reading.weights(part, layer=at, head=head, by="tokens") for at, head in heads]
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
    if part == "cross":
        raise ArgumentError(
            "rollout needs rows and columns of the same words, 'encoder' or 'decoder', but part "
            "is 'cross': use average or alignment."
        )
    mixed_qk = rolled_out(reading.weights(part, by="tokens").mean(axis=1))
    return Mixed(
        "rollout",
        "The mean over heads, followed from the last layer down to the words, with half of every "
        "vector taken as coming straight from below (the residual path). It takes mixing for "
        "adding up shares, which the layers between do not.",
        *reading.texts(part),
        mixed_qk,
    )


def rolled_out(means_lqk: Iterable[Array]) -> Array:
    """Mean weights of the layers, the first first, multiplied with half the identity added.

    >>> rolled_out([np.array([[1.0, 0.0], [1.0, 0.0]])]).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    mixed_qk: Array = np.eye(1)
    for number, mean_qk in enumerate(means_lqk):
        identity = np.eye(len(mean_qk))
        mixed_qk = (0.5 * mean_qk + 0.5 * identity) @ (mixed_qk if number else identity)
    return mixed_qk


def value_weighted(reading: Reading, part: str, layer: int, head: int) -> Mixed:
    """Each weight times the length of the vector it brings, as shares of the row."""
    carried_qk = reading.weights(part, layer=layer, head=head, by="tokens", weighted="norm")
    return Mixed(
        f"value-weighted, layer {layer}, head {head}",
        "Each weight times the length of what it brings (the value through w_output), as a share "
        "of the row. A large weight on a short vector moves little; but lengths say nothing of "
        "directions, and parts can cancel.",
        *reading.texts(part),
        carried_qk,
    )
