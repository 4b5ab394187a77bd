"""Records whose decode steps are joined last: beams share them, a wrong draft loses them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial

from regard.watcher.capture.record import LayerRecord, Pending, SentenceFacts


@dataclass(frozen=True)
class DecodeStep:
    """Facts of one call, linked to the step before; several records may share a step."""

    facts: SentenceFacts
    before: DecodeStep | None

    @property
    def row(self) -> int:
        """The position of its first query."""
        return self.facts.row_start

    @property
    def keys(self) -> int:
        """The number of keys of the sentence with this step."""
        return self.facts.column_start + self.facts.seen.keys


@dataclass(eq=False)
class SteppedRecord(LayerRecord):
    """A record as far as it went before, ``base``, and the decode steps since then."""

    base: LayerRecord | None = field(default=None, repr=False)
    last: DecodeStep | None = field(default=None, repr=False)

    @classmethod
    def after(cls, record: LayerRecord) -> SteppedRecord:
        """Steps that follow a record; of a stepped record one that shares all its steps."""
        record.resolve()
        counts = {x: getattr(record, x) for x in ("first_row", "queries", "keys", "smallest_sum")}
        if isinstance(record, SteppedRecord):
            return cls(record.most, **counts, base=record.base, last=record.last)
        return cls(record.most, **counts, base=record if record.queries else None)

    def cut(self, row: int) -> None:
        """Drop the steps from a row on."""
        self.resolve()
        while self.last is not None and self.last.row >= row:
            self.queries -= self.last.facts.seen.queries
            self.last = self.last.before
        ends = [x.keys for x in (self.base, self.last) if x is not None]
        self.keys = max(ends, default=0)

    def complete(self) -> LayerRecord:
        """A plain record of the base and every step."""
        self.resolve()
        record = LayerRecord(self.most) if self.base is None else copied(self.base)
        for facts in reversed(self._steps):
            starts = facts.row_start, facts.column_start
            make = partial(_given, facts)
            record.expect(Pending(facts.seen.queries, facts.seen.keys, *starts, make))
            record.resolve()
        record.note_sinks(self.smallest_sum)
        return record

    @property
    def nbytes(self) -> int:
        """Bytes of the base and of every step, which other records may share."""
        base = 0 if self.base is None else self.base.nbytes
        return base + sum(x.nbytes for step in self._steps for x in step.seen.facts.values())

    @property
    def query_key_bytes(self) -> int:
        """Bytes of query and key of the base and of every step."""
        base = 0 if self.base is None else self.base.query_key_bytes
        problems = [step.problem for step in self._steps if step.problem is not None]
        return base + sum(x.query_hqd.nbytes + x.key_gkd.nbytes for x in problems)

    @property
    def _steps(self) -> list[SentenceFacts]:
        """Facts of every step, the last first."""
        steps, step = [], self.last
        while step is not None:
            steps.append(step.facts)
            step = step.before
        return steps

    def _add(self, new: SentenceFacts) -> None:
        self.last = DecodeStep(new, self.last)


def _given(facts: SentenceFacts) -> SentenceFacts:
    return facts


def copied(record: LayerRecord) -> LayerRecord:
    """A record that can grow apart; arrays are shared, since none is written in place."""
    rows = {name: list(arrays) for name, arrays in record.rows.items()}
    grown, query_keys = copy(record.map), list(record.query_keys)
    return replace(record, pending=[], rows=rows, map=grown, query_keys=query_keys)
