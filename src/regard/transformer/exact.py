"""Input vectors of every attention of a reading, computed a second time in float64.

A model runs in float32, whose last digits differ from one BLAS to the next. Numbers shown digit by
digit start from these vectors instead, which agree on every machine to a dozen digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from regard.blas import one_blas_thread
from regard.transformer.intervention import Intervention
from regard.transformer.model import AttentionCall, Decoded, Encoded, Transformer
from regard.typing import Array

# The same operations err 2^29 times less in float64; eight times that leaves room for chance.
_ERROR = 8 * 2.0**-29


@dataclass(frozen=True)
class Vectors:
    """Input vectors of the queries and of the keys, the same in self-attention, in float64.

    ``error`` bounds the distance of their numbers from the exact ones.
    """

    x_qe: Array
    memory_ke: Array
    error: float

    @classmethod
    def of(cls, exact: AttentionCall, run: AttentionCall) -> Vectors:
        """The vectors of an attention in float64; its run in float32 gives the error bound."""
        pairs = [(exact.x_bqe, run.x_bqe), (exact.memory_bke, run.memory_bke)]
        error = max(_float32_error(x, rounded) for x, rounded in pairs)
        return cls(exact.x_bqe[0], exact.memory_bke[0], _ERROR * error)


@dataclass(frozen=True)
class ExactRun:
    """One sentence through a model in float64, encoders and decoders lazily.

    ``encoded`` and ``decoded`` are the run in float32. Of the second run the vectors alone stay.
    An ``intervention`` acts in the second run as it did in the first.
    """

    model: Transformer
    source: Sequence[int]
    given: Sequence[int]
    encoded: Encoded = field(repr=False)
    decoded: Decoded = field(repr=False)
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
        return memory, tuple(map(Vectors.of, exact.calls, self.encoded.calls))

    @cached_property
    def _decoder(self) -> tuple[tuple[Vectors, ...], tuple[Vectors, ...]]:
        with one_blas_thread():
            exact = self.model.decode(
                self._encoder[0],
                np.array([self.given]),
                positions=self.positions,
                intervention=self.intervention,
            )
        return (
            tuple(map(Vectors.of, exact.calls, self.decoded.calls)),
            tuple(map(Vectors.of, exact.cross_calls, self.decoded.cross_calls)),
        )


def _float32_error(exact: Array, rounded: Array) -> float:
    """The largest error of the float32 run, at least its rounding of the largest number."""
    return float(max(np.abs(exact - rounded).max(), np.abs(exact).max() * np.finfo(np.float32).eps))
