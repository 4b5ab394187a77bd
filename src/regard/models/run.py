"""One text through a model, all forwards of it: the tracks of its layers and its tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import BackendError
from regard.models.track import Track

if TYPE_CHECKING:
    from regard.models.doubts import Doubts
    from regard.models.stretches import Stretch
    from regard.models.waiting import Waiting

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

    fine: Any
    passed: bool = False

    def speak(self) -> None:
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
