"""The vectors that each attention of a reading is given, worked out once more in float64.

A model runs in float32, whose last digits differ from one BLAS to the next. What is shown digit by
digit starts from these vectors instead, which agree on every machine to a dozen digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from regard.transformer.model import Decoded, Encoded, Looked, Transformer
from regard.transformer.translation import few_cores
from regard.typing import Array

# The same operations err 2^29 times less in float64; eight times that leaves room for chance.
_ERROR = 8 * 2.0**-29


@dataclass(frozen=True)
class Vectors:
    """Vectors that ask and vectors that answer, the same ones in self-attention, both float64.

    ``error`` says how far their numbers may lie from the exact ones.
    """

    x_qe: Array
    memory_ke: Array
    error: float

    @classmethod
    def of(cls, exact: Looked, run: Looked) -> Vectors:
        """The vectors of an attention in float64; its run in float32 tells how sure they are."""
        pairs = [(exact.x_bqe, run.x_bqe), (exact.memory_bke, run.memory_bke)]
        error = max(_float32_error(x, seen) for x, seen in pairs)
        return cls(exact.x_bqe[0], exact.memory_bke[0], _ERROR * error)


@dataclass(frozen=True)
class ExactRun:
    """One sentence through a model in float64, its encoders and decoders when first asked for.

    ``encoded`` and ``decoded`` are the run in float32. The vectors are held, nothing else.
    """

    model: Transformer
    source: Sequence[int]
    given: Sequence[int]
    encoded: Encoded = field(repr=False)
    decoded: Decoded = field(repr=False)

    @property
    def encoder(self) -> tuple[Vectors, ...]:
        """Of each encoder's self-attention."""
        return self._encoder[1]

    @property
    def decoder(self) -> tuple[Vectors, ...]:
        """Of each decoder's self-attention."""
        return self._decoder[0]

    @property
    def cross(self) -> tuple[Vectors, ...]:
        """Of each decoder's attention to the source."""
        return self._decoder[1]

    @cached_property
    def _encoder(self) -> tuple[Encoded, tuple[Vectors, ...]]:
        with few_cores():
            exact = self.model.encode(np.array([self.source]), dtype=np.float64)
        held = Encoded(exact.memory_bke, exact.lengths_b, ())
        return held, tuple(map(Vectors.of, exact.looked, self.encoded.looked))

    @cached_property
    def _decoder(self) -> tuple[tuple[Vectors, ...], tuple[Vectors, ...]]:
        with few_cores():
            exact = self.model.decode(self._encoder[0], np.array([self.given]))
        return (
            tuple(map(Vectors.of, exact.looked, self.decoded.looked)),
            tuple(map(Vectors.of, exact.looked_cross, self.decoded.looked_cross)),
        )


def _float32_error(exact: Array, seen: Array) -> float:
    """How far float32 was off; never less than its rounding of the largest number."""
    return float(max(np.abs(exact - seen).max(), np.abs(exact).max() * np.finfo(np.float32).eps))
