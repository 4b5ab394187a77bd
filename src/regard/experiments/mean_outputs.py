"""Mean outputs of every head over a few dozen sentences: what a head writes whatever the words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from regard.transformer.model import AttentionCall, Transformer
from regard.transformer.reader import read_all
from regard.transformer.roles import PARTS
from regard.typing import Array

# Written for this purpose; none of them is a line of the training text.
SENTENCES = (
    "My neighbour sold her old piano to a student from Lisbon.",
    "The train was late, so we walked along the canal instead.",
    "Nobody on the committee had read the last page of the report.",
    "After the storm the lighthouse stood alone on its rock.",
    "He keeps three clocks in the kitchen and none of them agree.",
    "Could you tell me which of these two keys opens the cellar?",
    "The orchestra tuned while the last guests were finding their seats.",
    "In winter the lake freezes and children skate to school.",
    "She wrote the letter twice and posted neither version.",
    "A green van has been parked outside the bakery since Monday.",
    "We counted eleven herons on the way to the mill.",
    "Their youngest son repairs violins in a shed behind the house.",
    "If the bridge is closed, take the ferry at noon.",
    "The recipe asks for saffron, but turmeric will do.",
    "I had forgotten how quiet the library is in August.",
    "Two lawyers argued about a fence for nine years.",
    "The cat brought us a glove that belonged to the postman.",
    "Put the lantern where everybody can see it.",
    "Before the exam they shared a single bar of chocolate.",
    "The engineer explained why the second valve had failed.",
    "Rain fell on the market and the sellers covered their cloth.",
    "You should never trust a map drawn by a thirsty man.",
    "The queen's gardener grew pears against the southern wall.",
    "What did the doctor say about your shoulder?",
)


def mean_outputs(model: Transformer, sentences: Sequence[str] = SENTENCES) -> dict[str, Array]:
    """outputs_lhd by part: the mean over all tokens of all sentences, translated by the model."""
    return _mean_outputs(_ByIdentity(model), tuple(sentences))


class _ByIdentity:
    """A model as the key of a cache; its arrays cannot be compared."""

    def __init__(self, model: Transformer) -> None:
        self.model = model

    def __hash__(self) -> int:
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and other.model is self.model


@lru_cache(maxsize=4)
def _mean_outputs(key: _ByIdentity, sentences: tuple[str, ...]) -> dict[str, Array]:
    readings = read_all(sentences, model=key.model)
    layers = range(key.model.config.layers)
    means = {}
    for part in PARTS:
        outputs = [
            np.concatenate([_outputs(x.attention_call(part, layer)) for x in readings], axis=1)
            for layer in layers
        ]
        means[part] = np.stack([output_htd.mean(axis=1) for output_htd in outputs])
    return means


def _outputs(call: AttentionCall) -> Array:
    """output_hqd in float64."""
    outputs: Array = np.matmul(call.weights()[0], call.value_bhkd[0], dtype=np.float64)
    return outputs
