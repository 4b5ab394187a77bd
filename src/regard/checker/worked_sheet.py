"""The check of a sheet worked by hand: each claimed row against the step before and the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from regard.checker.check_report import RIGHT, STATUS, WRONG
from regard.checker.claims import NOISE, Claimed, Interval
from regard.checker.sheet_claims import CHAIN, STAGES, VECTORS, Claims, SheetClaims, read_sheet
from regard.checker.slips import explain_joined, explain_step, side_by_side
from regard.display import TextDisplay
from regard.errors import FileError
from regard.textbook.steps import Steps, self_attention

Due = tuple[Interval | None, Any, str]
Forward = Callable[[Interval], Interval]


@dataclass(frozen=True)
class Step:
    """One claimed row: whether it follows from the author's last step, and whether it is true.

    ``follows`` is None where the author wrote nothing that it could follow from.
    """

    stage: str
    word: str
    row: int
    claimed: tuple[float, ...]
    due: tuple[float, ...]  # what the author's last step leads to
    true: tuple[float, ...]
    follows: bool | None
    is_true: bool
    cut: bool = False  # digits were cut off, not rounded
    source: str = ""
    arithmetic: str = ""
    instead: str = ""
    head: int | None = None  # where there are several

    @property
    def name(self) -> str:
        """The stage and the word, and the head where there are several."""
        return f"{self.stage} of {self.word}" + ("" if self.head is None else f", head {self.head}")

    @property
    def right(self) -> bool:
        """Whether it follows from the step before, or is true where there is none."""
        return self.is_true if self.follows is None else self.follows


@dataclass(frozen=True, repr=False)
class SheetReport(TextDisplay):
    """The report on a sheet: every claimed row in the order of the steps."""

    path: str
    words: tuple[str, ...]
    steps: tuple[Step, ...] = field(default=())

    @property
    def first_wrong(self) -> Step | None:
        """The first step that does not follow."""
        return next((step for step in self.steps if not step.right), None)

    @property
    def verdict(self) -> str:
        """The verdict: right where everything follows and is true."""
        return RIGHT if all(s.right and s.is_true for s in self.steps) else WRONG

    @property
    def status(self) -> int:
        """The exit status: 0 right, 1 wrong."""
        return STATUS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        first = self.first_wrong
        where: dict[str, Any] | None = None
        if first is not None:
            head = {} if first.head is None else {"head": first.head}
            where = {"stage": first.stage, "word": first.word, **head}
        return {
            "sheet": self.path,
            "verdict": self.verdict,
            "status": self.status,
            "first wrong": where,
            "steps": [_plain(step) | {"right": step.right} for step in self.steps],
        }


def _plain(step: Step) -> dict[str, Any]:
    """The fields of a step for JSON, which has no infinities."""
    return {
        name: [x if np.isfinite(x) else "-inf" for x in field]
        if isinstance(field, tuple)
        else field
        for name, field in vars(step).items()
    }


def check_sheet(path: str | Path) -> SheetReport:
    """Check what a sheet claims.

    The sheet has words, x and matrices as for ``regard steps --vectors``, and a table ``claimed``
    with any of query, key, value, scores, scaled, masked, weights and output: rows by word, or all
    rows. With several heads each has a table of its own, head_0 and so on, with ``sums`` for its
    weighted sums; ``output`` is then that of all heads.
    """
    sheet, claims = read_sheet(Path(path))
    true = self_attention(
        sheet.x, sheet.w_query, sheet.w_key, sheet.w_value, words=sheet.words, heads=sheet.heads,
        w_output=sheet.w_output, causal=sheet.causal, mask=sheet.mask,
    )  # fmt: skip
    steps: list[Step] = []
    for head, of_head in enumerate(claims.heads):
        some = _steps_of(of_head, _of_head(true, head))
        if true.sums is not None:
            number = head if sheet.heads > 1 else None
            some = [replace(s, head=number, stage=_SUMS.get(s.stage, s.stage)) for s in some]
        steps += some
    steps += [_judge_joined(at, row, claims, true) for at, row in claims.joined.items()]
    return SheetReport(str(path), sheet.words, tuple(steps))


_SUMS = {"output": "sums"}


def _of_head(true: Steps, head: int) -> Steps:
    """The steps of one head as if there were no other."""
    if true.sums is None:
        return true
    names = ("query", "key", "value", "scores", "scaled", "weights")
    stages: dict[str, Any] = {name: getattr(true, name)[head] for name in names}
    masked = None if true.masked is None else true.masked[head]
    return replace(true, **stages, masked=masked, output=true.sums[head], sums=None, w_output=None)


def _steps_of(claims: Claims, true: Steps) -> list[Step]:
    return [
        _judge_row(stage, at, row, claims, true)
        for stage in STAGES
        for at, row in claims.get(stage, {}).items()
    ]


def _judge_row(stage: str, at: int, row: Claimed, claims: Claims, true: Steps) -> Step:
    """The judgement of one row, against the author's step before and against the truth."""
    exact = Interval.exactly(_stage(true, stage)[at : at + 1])
    due = _due(stage, at, claims, true)
    step = _judged(stage, at, row, exact, due, str(true.words[at]))
    return step if step.right else explain_step(step, row, claims, true)


def _judge_joined(at: int, row: Claimed, claims: SheetClaims, true: Steps) -> Step:
    """The judgement of an output of all heads, from the weighted sums of each."""
    exact = Interval.exactly(true.output[at : at + 1])
    sums = [_sums_of(of_head, _of_head(true, h), at) for h, of_head in enumerate(claims.heads)]
    due: Due = (None, None, "")
    if any(of_head.get("output", {}).get(at) for of_head in claims.heads):
        joined = side_by_side(sums)
        if true.w_output is not None:
            joined = joined.times(Interval.exactly(np.asarray(true.w_output)))
        due = (joined, _middle(joined), "the sums of the heads")
    step = _judged("output", at, row, exact, due, str(true.words[at]))
    return step if step.right else explain_joined(step, row, sums, true)


def _sums_of(claims: Claims, true: Steps, at: int) -> Interval:
    """The weighted sums of one head: as claimed where they are, else true."""
    row = claims.get("output", {}).get(at)
    exact = Interval.exactly(_stage(true, "output")[at : at + 1])
    return exact if row is None else row.either


def _judged(stage: str, at: int, row: Claimed, exact: Interval, due: Due, word: str) -> Step:
    between, centre, source = due
    if row.numbers.shape != exact.low.shape:
        raise FileError(
            f"claimed.{stage}.{word} needs {exact.low.size} numbers, but has {row.numbers.size}."
        )
    is_true = bool(row.either.overlaps(exact).all())
    follows = None if between is None else bool(row.either.overlaps(between).all())
    shown = exact if between is None else between
    cut = (follows is not False) and not row.rounded.overlaps(shown).all() and is_true
    return Step(
        stage=stage,
        word=word,
        row=at,
        claimed=tuple(row.numbers[0].tolist()),
        due=tuple((exact.low if centre is None else centre)[0].tolist()),
        true=tuple(exact.low[0].tolist()),
        follows=follows,
        is_true=is_true,
        cut=bool(cut),
        source=source,
    )


NAMES = {"scores": "its scores", "scaled": "its scaled scores", "masked": "its masked scores",
         "weights": "its weights"}  # fmt: skip


def _due(stage: str, at: int, claims: Claims, true: Steps) -> Due:
    """The interval, its middle and its source that follow from the author's last written step.

    Steps between that were left out are worked out; where nothing was written there is none.
    """
    exact = _stage(true, stage)[at : at + 1]
    if stage in VECTORS:
        return Interval.exactly(exact), exact, "x"
    for source in reversed(CHAIN[: CHAIN.index(stage)]):
        row = claims.get(source, {}).get(at)
        if row is not None:
            seen_k = np.isfinite(row.numbers[0]) if source == "masked" else _seen(true, at)
            forward = _forward(source, stage, seen_k, claims, true)
            interval = _interval_of(source, at, row, claims, true)
            return (
                forward(interval),
                _middle(forward(Interval.exactly(row.numbers))),
                NAMES[source],
            )
    if stage == "scores" or any(claims.get(name) for name in VECTORS):
        query, key = _rows(claims, true, "query"), _rows(claims, true, "key")
        scores = Interval(query.low[at : at + 1], query.high[at : at + 1]).times(key.transposed)
        due = _forward("scores", stage, _seen(true, at), claims, true)(scores)
        return due, _middle(due), "the vectors"
    return None, None, ""


def _forward(source: str, stage: str, seen_k: Any, claims: Claims, true: Steps) -> Forward:
    """The way of a row from one stage to a later one."""
    value = _rows(claims, true, "value")
    ways: dict[str, Forward] = {
        "scaled": lambda scores: scores.scaled(true.scale),
        "masked": lambda scaled: scaled.hidden(seen_k),
        "weights": lambda masked: masked.softmax(seen_k),
        "output": lambda weights: weights.times(value),
    }
    names = CHAIN[CHAIN.index(source) + 1 : CHAIN.index(stage) + 1]

    def forward(row: Interval) -> Interval:
        for name in names:
            row = ways[name](row)
        return row

    return forward


def _seen(true: Steps, at: int) -> Any:
    """The keys that a row may see."""
    return np.isfinite((true.scaled if true.masked is None else true.masked)[at])


def _interval_of(stage: str, at: int, row: Claimed, claims: Claims, true: Steps) -> Interval:
    """The interval of a claimed row; a number that is exact as written was never rounded."""
    due, _, _ = _due(stage, at, claims, true)
    due = due or Interval.exactly(_stage(true, stage)[at : at + 1])
    with np.errstate(invalid="ignore"):  # minus infinity less minus infinity
        sure = (due.high - due.low < NOISE) & (np.abs(row.numbers - due.low) < NOISE)
    low, high = row.either.low, row.either.high
    return Interval(np.where(sure, row.numbers, low), np.where(sure, row.numbers, high))


def _middle(between: Interval) -> Any:
    return (between.low + between.high) / 2


def _rows(claims: Claims, true: Steps, stage: str) -> Interval:
    """All rows of query, key or value: as claimed where they are, true elsewhere."""
    exact = _stage(true, stage)
    low, high = exact.copy(), exact.copy()
    for at, row in claims.get(stage, {}).items():
        interval = _interval_of(stage, at, row, claims, true)
        low[at], high[at] = interval.low[0], interval.high[0]
    return Interval(low, high)


def _stage(true: Steps, stage: str) -> Any:
    if stage == "masked" and true.masked is None:
        stage = "scaled"
    return np.asarray(getattr(true, stage))
