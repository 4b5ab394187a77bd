"""One text through a model over all its forwards.

Its records and tokens, and the memory they hold.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.engine.tiles.plan import blocks
from regard.errors import BackendError
from regard.watcher.record import Track

if TYPE_CHECKING:
    from regard.watcher.attention_call import Call
    from regard.watcher.deferred import Doubts, Waiting
    from regard.watcher.segments import Stretch
    from regard.watcher.watch import Options


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


UNKNOWN = -1  # the token of a place that was filled before anybody watched


class Place(NamedTuple):
    """A layer of a part: 'encoder', 'decoder' or 'cross', or a name of the model's own; from 0."""

    part: str
    layer: int

    def __str__(self) -> str:
        return f"{self.part} layer {self.layer}"


@dataclass
class Moved:
    """A doubt whether the sentences stand where they stood."""

    ok: Any
    passed: bool = False

    def raise_error(self) -> None:
        """Raise what is wrong."""
        raise BackendError(
            "the sentences changed places between two tokens, as beam search makes them: "
            "generate with num_beams=1 while watching."
        )


@dataclass
class Run:
    """Tracks by place, one for each sentence; tokens by part; the real queries of each forward."""

    tracks: dict[Place, list[Track]] = field(default_factory=dict)
    tokens: dict[str, list[NDArray[np.int64] | None]] = field(default_factory=dict)
    rows: dict[str, list[slice]] = field(default_factory=dict)
    last_keys: dict[Place, tuple[int, Any]] = field(default_factory=dict)
    waiting: dict[Place, Waiting] = field(default_factory=dict)

    def take_tokens(self, part: str, stretch: Stretch, ids_bq: Any, sentences: int) -> None:
        """The tokens of a stretch's queries; the layers after the first bring nothing new."""
        known = self.tokens.setdefault(part, [None] * sentences)
        if ids_bq is None:
            return
        for sentence in stretch.sentences:
            before = known[sentence]
            length = 0 if before is None else len(before)
            if stretch.row_start < length:
                continue
            gap = np.full(stretch.row_start - length, UNKNOWN, np.int64)
            new = ids_bq[sentence, stretch.rows].astype(np.int64)
            parts = [gap, new] if before is None else [before, gap, new]
            known[sentence] = np.concatenate(parts)

    def check_order(self, place: Place, stretch: Stretch, key: Any, doubts: Doubts) -> None:
        """Sentences must stay where they were between calls; beam search moves them."""
        first, columns = stretch.sentences[0], stretch.columns
        end = stretch.column_start + columns.stop - columns.start
        queries = stretch.rows.stop - stretch.rows.start
        before = self.last_keys.get(place)
        old = columns.stop - queries - 1
        if before is not None and before[0] == end - queries - 1 and old >= 0:
            doubts.add(Moved((key[:, :, old] == before[1]).all()))
        if first == 0:
            self.last_keys[place] = (end - 1, key[:, :, columns.stop - 1].clone())

    def check_follows(self, place: Place, track: Track, stretch: Stretch, waiting: int = 0) -> None:
        """A call's queries must come right after those before, and after those that wait."""
        expected = track.first_row + track.queries + waiting
        if track.queries and stretch.row_start != expected:
            raise BackendError(
                f"{place}: token {stretch.row_start} came where token {expected} was due. watch "
                "follows one text token by token; a cache that was cut or moved is another text."
            )
