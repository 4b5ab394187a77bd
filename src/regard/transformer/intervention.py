"""Interventions: changes of attention weights or head outputs while a transformer runs.

An intervention is a function that is given every attention of a run, encoders and decoders, whole
sequences and single decoding steps alike, and returns it changed or as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regard.engine.dense import dense_attention
from regard.typing import Array


@dataclass(frozen=True)
class AttentionResult:
    """Inputs, weights and head outputs of one attention, as an intervention gets and returns them.

    ``part`` is 'encoder', 'decoder' or 'cross'; layers count from 0. ``first`` is the position of
    the first query: 0 for a whole sequence, the step's number in decoding, where there is one query
    and a row of the batch is one beam. ``sentence_b`` is the sentence of each row among those that
    were encoded. ``visible`` is True where a query may look at a key, None where all may.
    """

    part: str
    layer: int
    first: int
    sentence_b: NDArray[np.int64]
    query_bhqd: Array
    key_bhkd: Array
    value_bhkd: Array
    weights_bhqk: Array
    output_bhqd: Array
    visible: NDArray[np.bool_] | None = None

    @property
    def positions_q(self) -> NDArray[np.int64]:
        """The position of each query in its text."""
        return np.arange(self.first, self.first + self.weights_bhqk.shape[2])

    def with_weights(self, weights_bhqk: Array) -> AttentionResult:
        """The attention with these weights; outputs are computed again only in rows that differ."""
        changed = np.nonzero((weights_bhqk != self.weights_bhqk).any(axis=-1))
        if not len(changed[0]):
            return self
        output_bhqd = self.output_bhqd.copy()
        value_rkd = self.value_bhkd[changed[0], changed[1]]
        output_bhqd[changed] = np.matmul(weights_bhqk[changed][:, None], value_rkd)[:, 0]
        return replace(self, weights_bhqk=weights_bhqk, output_bhqd=output_bhqd)

    def with_output(self, output_bhqd: Array) -> AttentionResult:
        """The attention with these outputs of its heads, before w_output; the weights stay."""
        return replace(self, output_bhqd=output_bhqd)

    def weights_without(self, hidden: NDArray[np.bool_]) -> Array:
        """weights_bhqk with some keys masked before the softmax; 0 for a row that sees no key.

        ``hidden`` broadcasts to (b, h, q, k), True where a query may no longer look at a key; rows
        in which nothing is hidden stay as they are.
        """
        weights_bhqk = dense_attention(
            self.query_bhqd, self.key_bhkd, self.value_bhkd, self._visible_without(hidden)
        )[1]
        touched = hidden.any(axis=-1, keepdims=True)
        return np.where(touched, weights_bhqk, self.weights_bhqk)

    def without_keys(self, hidden: NDArray[np.bool_]) -> AttentionResult:
        """The attention with some keys masked, for the interventions that follow too."""
        changed = self.with_weights(self.weights_without(hidden))
        return replace(changed, visible=self._visible_without(hidden))

    def _visible_without(self, hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
        visible: NDArray[np.bool_] = ~hidden if self.visible is None else self.visible & ~hidden
        return visible


Intervention = Callable[[AttentionResult], AttentionResult]


@dataclass(frozen=True)
class InTurn:
    """Several interventions as one, the first first. A class, so that it can be pickled."""

    interventions: tuple[Intervention, ...]

    def __call__(self, result: AttentionResult) -> AttentionResult:
        for intervention in self.interventions:
            result = intervention(result)
        return result


def in_turn(interventions: Sequence[Intervention]) -> Intervention | None:
    """One intervention that applies several, the first first; None where there are none."""
    return InTurn(tuple(interventions)) if interventions else None
