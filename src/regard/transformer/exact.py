"""Input vectors of every attention of a reading, computed a second time in float64.

A model runs in float32, whose last digits differ from one BLAS to the next. Numbers shown digit by
digit start from these vectors instead, which agree on every machine to a dozen digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regard.blas import one_blas_thread
from regard.transformer.intervention import Intervention
from regard.transformer.model import AttentionCall, Encoded, Transformer
from regard.typing import Array


@dataclass(frozen=True)
class Vectors:
    """Input vectors of the queries and of the keys, the same in self-attention, in float64.

    ``error`` bounds the distance of their numbers from the exact ones.
    """

    x_qe: Array
    memory_ke: Array
    error: float

    @classmethod
    def of(cls, call: AttentionCall, layers: int) -> Vectors:
        """The vectors of an attention that was computed in float64, in a model of so many layers.

        A sum errs by the unit roundoff times the root of its terms, and errors of layers add up as
        roots do. What runs really err by, about a tenth of that, differs from one BLAS to the
        next, and the digits that are shown must not.
        """
        x_qe, memory_ke = call.x_bqe[0], call.memory_bke[0]
        largest = max(float(np.abs(x).max()) for x in (x_qe, memory_ke))
        return cls(x_qe, memory_ke, 2.0**-53 * math.sqrt(layers * x_qe.shape[-1]) * largest)


@dataclass(frozen=True)
class ExactRun:
    """One sentence through a model in float64, encoders and decoders lazily.

    Of this second run the vectors alone stay. An ``intervention`` acts in it as it did in the
    first.
    """

    model: Transformer
    source: Sequence[int]
    given: Sequence[int]
    positions: bool = True
    intervention: Intervention | None = None

    @property
    def encoder(self) -> tuple[Vectors, ...]:
        """Vectors of each encoder's self-attention."""
        return self._encoder[1]

    @property
    def decoder(self) -> tuple[Vectors, ...]:
        """Vectors of each decoder's self-attention."""
        return self._decoder[0]

    @property
    def cross(self) -> tuple[Vectors, ...]:
        """Vectors of each decoder's cross-attention."""
        return self._decoder[1]

    @cached_property
    def _encoder(self) -> tuple[Encoded, tuple[Vectors, ...]]:
        with one_blas_thread():
            exact = self.model.encode(
                np.array([self.source]),
                dtype=np.float64,
                positions=self.positions,
                intervention=self.intervention,
            )
        memory = Encoded(exact.memory_bke, exact.lengths_b, ())
        return memory, self._vectors(exact.calls)

    @cached_property
    def _decoder(self) -> tuple[tuple[Vectors, ...], tuple[Vectors, ...]]:
        with one_blas_thread():
            exact = self.model.decode(
                self._encoder[0],
                np.array([self.given]),
                positions=self.positions,
                intervention=self.intervention,
            )
        return self._vectors(exact.calls), self._vectors(exact.cross_calls)

    def _vectors(self, calls: Iterable[AttentionCall]) -> tuple[Vectors, ...]:
        return tuple(Vectors.of(call, self.model.config.layers) for call in calls)
