"""Single tokens of a generation, observed several at a time.

A step of one token is too small to observe by itself: most of its cost would be Python's. So while
nothing but the order of tokens decides what is seen, the model's own attention makes the output,
and the queries wait until there are enough of them; the newest key tensor holds all keys.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from regard.models.call import Call
from regard.models.stretches import Stretch

TOGETHER = 32
PLAIN = (None, (None, 0), (None, None))


@dataclass
class Waiting:
    """Calls of one layer that nobody has observed yet."""

    queries: list[Any] = field(default_factory=list)
    first: list[Stretch] = field(default_factory=list)
    last: list[Stretch] = field(default_factory=list)
    call: Call | None = None

    def fits(self, call: Call, cut: list[Stretch]) -> bool:
        """Whether a call can wait, after those that do."""
        if call.bias is not None or call.query.shape[2] != 1:
            return False
        same = not self.first or [x.sentences for x in cut] == [x.sentences for x in self.first]
        return bool(cut) and same and all(_is_plain(stretch, call) for stretch in cut)

    def add(self, call: Call, cut: list[Stretch]) -> None:
        """One more token; of the keys only the newest tensor is held."""
        self.queries.append(call.query.detach())
        self.first = self.first or cut
        self.last, self.call = cut, call

    def joined(self) -> tuple[Call, list[Stretch]]:
        """All that waited, as one call."""
        import torch

        assert self.call is not None  # asked only where something waits
        call = replace(self.call, query=torch.cat(self.queries, dim=2), mask=None)
        rows = slice(0, len(self.queries))
        pairs = zip(self.first, self.last, strict=True)
        return call, [
            replace(first, rows=rows, columns=last.columns, row_start=first.row_start)
            for first, last in pairs
        ]


def _is_plain(stretch: Stretch, call: Call) -> bool:
    """No mask, no window, and no keys that are still to be filled in."""
    arguments = stretch.arguments
    whole = stretch.columns.stop == call.key.shape[2] and stretch.column_start == 0
    return whole and "mask" not in arguments and arguments.get("window") in PLAIN
