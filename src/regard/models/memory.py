"""How much memory a watch will hold, said before it holds it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from regard.self_attention.tiles.plan import blocks

if TYPE_CHECKING:
    from regard.models.call import Call
    from regard.models.options import Options
    from regard.models.stretches import Stretch

LARGE = 2**30


@dataclass(frozen=True)
class Memory:
    """Bytes that one layer's facts take, and its query and key where they are kept."""

    facts: int = 0
    kept: int = 0

    @classmethod
    def of(cls, call: Call, stretch: Stretch, options: Options, keep: bool) -> Memory:
        """From the shapes of a call: what grows with n, and the map."""
        sentences, heads = len(stretch.sentences), call.query.shape[1]
        queries = stretch.rows.stop - stretch.rows.start
        keys = stretch.columns.stop - stretch.columns.start
        rows = queries * (8 + 4 + 12 * options.top)  # log-sum-exp, entropy, best weights and keys
        columns = keys * 8 + (queries + keys) * 8  # received, distances
        sides = (len(blocks(side, options.map)) - 1 for side in (queries, keys))
        cells = prod(sides) if options.map else 0
        width = call.query.shape[3]
        held = (queries * heads + keys * call.key.shape[1]) * width * 4 if keep else 0
        return cls(sentences * heads * (rows + columns + 4 * cells), sentences * held)

    def larger(self, other: Memory) -> Memory:
        """What the larger of two layers takes."""
        return Memory(max(self.facts, other.facts), max(self.kept, other.kept))

    def total(self, layers: int) -> int:
        """All layers alike."""
        return layers * (self.facts + self.kept)


def warn_if_large(before: Memory, memory: Memory, layers: int) -> None:
    """Say it once, at the first layer that shows it."""
    total = memory.total(layers)
    if before.total(layers) <= LARGE < total:
        warnings.warn(
            f"watch will hold about {total / 1e9:.1f} GB: {layers} layers, each "
            f"{memory.facts / 1e6:,.0f} MB of facts and {memory.kept / 1e6:,.0f} MB of query and "
            "key. A smaller map, fewer layers or a shorter keep make it less.",
            UserWarning,
            stacklevel=2,
        )
