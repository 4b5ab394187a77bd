"""Attention followed through the layers of a watched model: rollout and flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from regard.blas import one_blas_thread
from regard.errors import ArgumentError, NotAskedError
from regard.heads.rollout import ROLLOUT_EXPLANATION, flow_row, rolled_out
from regard.transformer.combine import Mixed
from regard.typing import Array
from regard.watcher.layer import LayerObservation
from regard.watcher.measures.links import word_tokens

if TYPE_CHECKING:
    from regard.watcher.seen import Seen

MAX_ROLLOUT_TOKENS = 4096  # a table of 134 MB in float64
MAX_FLOW_TOKENS = 64  # the flows of one word take ten seconds there in twelve layers


@one_blas_thread()
def rollout(seen: Seen, *, part: str | None = None) -> Mixed:
    """Attention rollout: mean weights followed from the last layer down to the tokens.

    Parameters
    ----------
    part : the part of the model, where it has several; cross-attention has no rollout.
    """
    layers = _layers_of_one_text(seen, part, "rollout", MAX_ROLLOUT_TOKENS)
    mixed_qk = rolled_out(layer.mean_weights() for layer in layers)
    return Mixed("rollout", ROLLOUT_EXPLANATION, *seen.texts(part), mixed_qk)


def flow(seen: Seen, word: str | int, *, part: str | None = None) -> Array:
    """Attention flow: the most that can flow from a word to each token of the text, (k,).

    The mean weights of the layers are capacities, with half of every vector coming straight
    from below; the maximal flow from the word after the last layer to a token before the first.
    Of a word of several tokens the mean.

    Parameters
    ----------
    word : a word of the text ('the#2' is the second), or its number from 0.
    part : the part of the model, where it has several; cross-attention has no flow.
    """
    layers = _layers_of_one_text(seen, part, "flow", MAX_FLOW_TOKENS)
    rows = word_tokens(seen.texts(part)[0], word)
    means = [layer.mean_weights() for layer in layers]
    flows = [flow_row(means, row) for row in range(rows.start, rows.stop)]
    return np.asarray(np.mean(flows, axis=0))


def _layers_of_one_text(
    seen: Seen, part: str | None, method: str, max_tokens: int
) -> list[LayerObservation]:
    """Every layer of a part whose queries and keys are one text, with all its weights."""
    chosen = seen._one_part(part, method)
    keys, layers = zip(*seen._part_layers(chosen), strict=True)
    first = layers[0]
    if chosen.split()[0] == "cross" or any(x.queries != x.keys for x in layers):
        raise ArgumentError(
            f"{method} needs layers whose queries and keys are the same tokens, and those of "
            f"{chosen!r} are not."
        )
    if [key.layer for key in keys] != list(range(len(keys))):
        numbers = ", ".join(str(key.layer) for key in keys)
        raise NotAskedError(
            f"{method} needs every layer from 0 on, and those that were watched are {numbers}: "
            "watch with layers='all'."
        )
    if first.keys > max_tokens:
        raise ArgumentError(
            f"{method} takes texts of at most {max_tokens:,} tokens, got {first.keys:,}."
        )
    for layer in layers:
        layer.check_weights(method)
    return list(layers)
