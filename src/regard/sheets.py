"""The check of a sheet worked by hand: each claimed row against the step before and the truth.

Every claimed number is an interval: 0.19 stands for 0.185 to 0.195. The intervals are carried
through the next step, so that rounding is never called a mistake; a row that does not follow is
compared with what known slips give.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np

from regard.checker.cases import Case
from regard.checker.mistakes import single_mistakes, wrong_step
from regard.checker.mistakes.entry import run_stages
from regard.checker.report import RIGHT, STATUS, WRONG
from regard.display import TextDisplay
from regard.errors import FileError, count
from regard.text.sheet import Sheet, SheetFile, WrittenFloat, is_finite_number
from regard.textbook.stages import softmax
from regard.textbook.steps import Steps, self_attention
from regard.typing import Array

VECTOR_STAGES = ("query", "key", "value")
SCORE_STAGES = ("scores", "scaled", "masked", "weights", "output")
STAGES = (*VECTOR_STAGES, *SCORE_STAGES)
SOURCE_NAMES = {
    "scores": "its scores",
    "scaled": "its scaled scores",
    "masked": "its masked scores",
    "weights": "its weights",
}
# Two exact computations in float64 differ by less, and every digit that is written is larger.
ROUNDING_NOISE = 1e-9
# People write a large negative number for minus infinity.
HIDDEN_SCORE_LIMIT = -1e4


@dataclass(frozen=True)
class Interval:
    """Numbers that lie in [low, high], element by element."""

    low: Array
    high: Array

    @classmethod
    def exactly(cls, array: Array) -> Interval:
        return cls(array, array)

    def overlaps(self, other: Interval) -> Array:
        """The elements in which the intervals have a number in common."""
        return np.asarray(
            (self.low <= other.high + ROUNDING_NOISE) & (other.low <= self.high + ROUNDING_NOISE)
        )

    def times(self, other: Interval) -> Interval:
        corners = np.stack(
            [
                a[..., :, None] * b[None, :, :]
                for a in (self.low, self.high)
                for b in (other.low, other.high)
            ]
        )
        return Interval(corners.min(axis=0).sum(axis=-2), corners.max(axis=0).sum(axis=-2))

    @property
    def transposed(self) -> Interval:
        return Interval(self.low.T, self.high.T)

    def scaled(self, factor: float) -> Interval:
        return Interval(self.low * factor, self.high * factor)

    def hidden(self, visible_k: Array) -> Interval:
        return Interval(
            np.where(visible_k, self.low, -np.inf), np.where(visible_k, self.high, -np.inf)
        )

    def softmax(self, visible_k: Array) -> Interval:
        """The interval of the softmax of each row; 0 for hidden keys.

        A weight is smallest with its own score lowest and all others highest.
        """
        low, high = np.zeros_like(self.low), np.zeros_like(self.high)
        seen_low, seen_high = self.low[:, visible_k], self.high[:, visible_k]
        low[:, visible_k] = _weights(seen_low, seen_high)
        high[:, visible_k] = _weights(seen_high, seen_low)
        return Interval(low, high)


@dataclass(frozen=True)
class Claimed:
    """One row or more of numbers with the digits they were written with."""

    numbers: Array
    decimals: Array

    @property
    def rounded(self) -> Interval:
        """The interval of numbers that round to these: 0.185 to 0.195 for 0.19."""
        half = 0.5 * 10.0**-self.decimals
        return Interval(self.numbers - half, self.numbers + half)

    @property
    def cut(self) -> Interval:
        """The interval of numbers cut to these: 0.19 to 0.20 for 0.19, -0.20 to -0.19 for -0.19."""
        unit = 10.0**-self.decimals
        below = np.where(self.numbers < 0, unit, 0)
        above = np.where(self.numbers >= 0, unit, 0)
        return Interval(self.numbers - below, self.numbers + above)

    @property
    def either(self) -> Interval:
        one, other = self.rounded, self.cut
        return Interval(np.minimum(one.low, other.low), np.maximum(one.high, other.high))


def claimed_row(row: list[Any]) -> Claimed:
    """The claim of a row; a whole number among decimals gets the fewest digits of any of them.

    >>> claimed_row([0, Decimal("0.19"), Decimal("0.620")]).decimals
    array([[2., 2., 3.]])
    >>> claimed_row([0, 1]).decimals
    array([[0., 0.]])
    """
    written = [max(0, -int(Decimal(x).as_tuple().exponent)) for x in row]
    fewest = min(
        (n for n, x in zip(written, row, strict=True) if isinstance(x, Decimal)), default=0
    )
    decimals = [n if isinstance(x, Decimal) else fewest for n, x in zip(written, row, strict=True)]
    return Claimed(np.array([[float(x) for x in row]]), np.array([decimals], np.float64))


def _weights(scores: Array, others: Array) -> Array:
    """Softmax weights, each from its own score in ``scores`` and all others in ``others``."""
    with np.errstate(over="ignore"):
        gaps = others[..., None, :] - scores[..., :, None]
        e = np.exp(gaps)
    diagonal = np.arange(scores.shape[-1])
    e[..., diagonal, diagonal] = 1.0
    return np.asarray(1 / e.sum(axis=-1))


Claims = dict[str, dict[int, Claimed]]


@dataclass(frozen=True)
class SheetClaims:
    """The claims about each head, with its weighted sums as output, and about all heads joined."""

    heads: tuple[Claims, ...]
    joined: dict[int, Claimed]


def read_sheet(path: Path) -> tuple[Sheet, SheetClaims]:
    """The sheet of a file and its table ``claimed``, each number with its digits."""
    file = SheetFile.read(path)
    fields = file.fields()
    claimed = fields.pop("claimed", None)
    if not isinstance(claimed, dict):
        raise FileError(
            f"{path}: table claimed is missing; it holds any of {', '.join(STAGES)}, such as "
            "[claimed.weights] with a row for each word."
        )
    sheet = file.sheet(fields)
    return sheet, ClaimReader(file, sheet).read(claimed)


@dataclass(frozen=True)
class ClaimReader:
    """The reader of a table ``claimed``; errors name the file, the line and the entry."""

    file: SheetFile
    sheet: Sheet

    def wrong(self, what: str, *names: str, in_text: int | None = None) -> FileError:
        """The error about an entry; ``in_text``: how many of its names the file has."""
        line = self.file.line_within("claimed", *names[:in_text])
        return FileError(f"{self.file.path} line {line}: {'.'.join(('claimed', *names))} {what}")

    def read(self, claimed: dict[str, Any]) -> SheetClaims:
        heads: list[Claims] = [{} for _ in range(self.sheet.heads)]
        joined: dict[int, Claimed] = {}
        for name, rows in claimed.items():
            head = re.fullmatch(r"head_(\d+)", name)
            if head:
                heads[self._head(name, int(head[1]), rows)] |= self._stages(name, rows)
            elif name == "output" and self._has_sums:
                joined = self.rows((name,), rows, name)
            elif self.sheet.heads > 1 and name in (*STAGES, "sums"):
                raise self.wrong(
                    f"must name a head, such as [claimed.head_0.{name}]: there are "
                    f"{self.sheet.heads} heads.",
                    name,
                )
            else:
                heads[0] |= self._stages("", {name: rows})
        return SheetClaims(tuple(heads), joined)

    @property
    def _has_sums(self) -> bool:
        """Whether the output is more than the weighted sums of one head."""
        return self.sheet.heads > 1 or self.sheet.w_output is not None

    @property
    def stages(self) -> tuple[str, ...]:
        return (*STAGES[:-1], "sums" if self._has_sums else "output")

    def _head(self, name: str, head: int, rows: Any) -> int:
        if head >= self.sheet.heads:
            heads = count(self.sheet.heads, "head")
            raise self.wrong(f"is no head: the sheet has {heads}, from 0.", name)
        if not isinstance(rows, dict):
            raise self.wrong(f"must hold tables, such as {name}.weights.", name)
        return head

    def _stages(self, head: str, tables: dict[str, Any]) -> Claims:
        """The claims of one head; its weighted sums count as its output."""
        claims: Claims = {}
        for stage, rows in tables.items():
            names = (head, stage) if head else (stage,)
            if stage not in self.stages:
                known = ", ".join((*self.stages, *(["output"] if self._has_sums else [])))
                raise self.wrong(f"is unknown; there are {known}.", *names)
            claims["output" if stage == "sums" else stage] = self.rows(names, rows, stage)
        return claims

    def rows(self, names: tuple[str, ...], rows: Any, stage: str) -> dict[int, Claimed]:
        """The claimed rows of one stage, by the number of their word."""
        words = self.sheet.words
        if isinstance(rows, list) and len(rows) == len(words):
            pairs = list(zip(words, rows, strict=True))
            unlabelled = len(names)
            return {i: self.row((*names, w), row, stage, unlabelled)
                    for i, (w, row) in enumerate(pairs)}  # fmt: skip
        if not isinstance(rows, dict):
            raise self.wrong(
                f"must be rows by word, or a list of {count(len(words), 'row')}, one for each "
                "word.",
                *names,
            )
        unknown = [word for word in rows if word not in words]
        if unknown:
            raise self.wrong(f"must be one of the words {', '.join(words)}.", *names, unknown[0])
        return {words.index(w): self.row((*names, w), row, stage) for w, row in rows.items()}

    def _width(self, stage: str) -> int:
        """How many numbers a row of a stage has."""
        sheet = self.sheet
        if stage == "output" and sheet.w_output is not None:
            return int(sheet.w_output.shape[1])
        matrix = {"query": sheet.w_query, "key": sheet.w_key}.get(stage, sheet.w_value)
        if stage in (*VECTOR_STAGES, "sums"):
            return int(matrix.shape[1]) // sheet.heads
        return int(matrix.shape[1]) if stage == "output" else len(sheet.words)

    def row(
        self, names: tuple[str, ...], row: Any, stage: str, in_text: int | None = None
    ) -> Claimed:
        """One row of numbers with their digits; masked scores may be minus infinity."""
        if isinstance(row, list):
            hidden = [stage == "masked" and _is_hidden(x) for x in row]
            numbers = [0 if is_hidden else x for x, is_hidden in zip(row, hidden, strict=True)]
            if all(map(is_finite_number, numbers)):
                with contextlib.suppress(InvalidOperation):  # an exponent that no decimal has
                    claim = claimed_row(
                        [Decimal(x.text) if isinstance(x, WrittenFloat) else x for x in numbers]
                    )
                    if len(row) != self._width(stage):
                        what = f"must have {self._width(stage)} numbers, got {len(row)}."
                        raise self.wrong(what, *names, in_text=in_text)
                    return replace(claim, numbers=np.where(hidden, -np.inf, claim.numbers))
        raise self.wrong("must be a row of numbers, such as [0, 0.19].", *names, in_text=in_text)


def _is_hidden(x: Any) -> bool:
    """Whether a masked score is written as minus infinity, or as a large negative number."""
    return x == "-inf" or (
        isinstance(x, int | float) and not isinstance(x, bool) and bool(x <= HIDDEN_SCORE_LIMIT)
    )


Due = tuple[Interval | None, Any, str]
Forward = Callable[[Interval], Interval]
Slips = Iterator[tuple[str, Array]]


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
        return next((step for step in self.steps if not step.right), None)

    @property
    def verdict(self) -> str:
        """The verdict: right where everything follows from the step before.

        What follows and is not true was worked from digits that were rounded or cut before.
        """
        return RIGHT if self.first_wrong is None else WRONG

    @property
    def status(self) -> int:
        return STATUS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
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
    for head, head_claims in enumerate(claims.heads):
        judged = _judge_head(head_claims, _single_head(true, head))
        if true.sums is not None:
            number = head if sheet.heads > 1 else None
            judged = [
                replace(s, head=number, stage="sums" if s.stage == "output" else s.stage)
                for s in judged
            ]
        steps += judged
    steps += [_judge_joined(at, row, claims, true) for at, row in claims.joined.items()]
    return SheetReport(str(path), sheet.words, tuple(steps))


def _single_head(true: Steps, head: int) -> Steps:
    """The steps of one head as if there were no other."""
    if true.sums is None:
        return true
    names = ("query", "key", "value", "scores", "scaled", "weights")
    stages: dict[str, Any] = {name: getattr(true, name)[head] for name in names}
    masked = None if true.masked is None else true.masked[head]
    return replace(true, **stages, masked=masked, output=true.sums[head], sums=None, w_output=None)


def _judge_head(claims: Claims, true: Steps) -> list[Step]:
    return [
        _judge_row(stage, at, row, claims, true)
        for stage in STAGES
        for at, row in claims.get(stage, {}).items()
    ]


def _judge_row(stage: str, at: int, row: Claimed, claims: Claims, true: Steps) -> Step:
    """One row, judged against the author's previous step and against the truth."""
    exact = Interval.exactly(_stage(true, stage)[at : at + 1])
    due = _due(stage, at, claims, true)
    step = _judged(stage, at, row, exact, due, str(true.words[at]))
    return step if step.right else _explain_step(step, row, claims, true)


def _judge_joined(at: int, row: Claimed, claims: SheetClaims, true: Steps) -> Step:
    """An output of all heads, judged from the weighted sums of each."""
    exact = Interval.exactly(true.output[at : at + 1])
    sums = [
        _head_sums(head_claims, _single_head(true, h), at)
        for h, head_claims in enumerate(claims.heads)
    ]
    due: Due = (None, None, "")
    if any(head_claims.get("output", {}).get(at) for head_claims in claims.heads):
        joined = _side_by_side(sums)
        if true.w_output is not None:
            joined = joined.times(Interval.exactly(np.asarray(true.w_output)))
        due = (joined, _middle(joined), "the sums of the heads")
    step = _judged("output", at, row, exact, due, str(true.words[at]))
    return step if step.right else _explain_joined(step, row, sums, true)


def _head_sums(claims: Claims, true: Steps, at: int) -> Interval:
    """The weighted sums of one head: as claimed where they are, else true."""
    row = claims.get("output", {}).get(at)
    exact = Interval.exactly(_stage(true, "output")[at : at + 1])
    return exact if row is None else row.either


def _judged(stage: str, at: int, row: Claimed, exact: Interval, due: Due, word: str) -> Step:
    between, centre, source = due
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


def _due(stage: str, at: int, claims: Claims, true: Steps) -> Due:
    """The interval, its middle and its source that follow from the author's last written step.

    Steps between that were left out are worked out; where nothing was written there is none.
    """
    exact = _stage(true, stage)[at : at + 1]
    if stage in VECTOR_STAGES:
        return Interval.exactly(exact), exact, "x"
    for source in reversed(SCORE_STAGES[: SCORE_STAGES.index(stage)]):
        row = claims.get(source, {}).get(at)
        if row is not None:
            seen_k = np.isfinite(row.numbers[0]) if source == "masked" else _seen(true, at)
            forward = _forward(source, stage, seen_k, claims, true)
            interval = _claimed_interval(source, at, row, claims, true)
            return (
                forward(interval),
                _middle(forward(Interval.exactly(row.numbers))),
                SOURCE_NAMES[source],
            )
    if stage == "scores" or any(claims.get(name) for name in VECTOR_STAGES):
        query, key = _rows(claims, true, "query"), _rows(claims, true, "key")
        scores = Interval(query.low[at : at + 1], query.high[at : at + 1]).times(key.transposed)
        due = _forward("scores", stage, _seen(true, at), claims, true)(scores)
        return due, _middle(due), "the vectors"
    return None, None, ""


def _forward(source: str, stage: str, seen_k: Any, claims: Claims, true: Steps) -> Forward:
    """The function that takes a row from one stage to a later one."""
    value = _rows(claims, true, "value")
    step_by_stage: dict[str, Forward] = {
        "scaled": lambda scores: scores.scaled(true.scale),
        "masked": lambda scaled: scaled.hidden(seen_k),
        "weights": lambda masked: masked.softmax(seen_k),
        "output": lambda weights: weights.times(value),
    }
    names = SCORE_STAGES[SCORE_STAGES.index(source) + 1 : SCORE_STAGES.index(stage) + 1]

    def forward(row: Interval) -> Interval:
        for name in names:
            row = step_by_stage[name](row)
        return row

    return forward


def _seen(true: Steps, at: int) -> Any:
    return np.isfinite((true.scaled if true.masked is None else true.masked)[at])


def _claimed_interval(stage: str, at: int, row: Claimed, claims: Claims, true: Steps) -> Interval:
    """The interval of a claimed row; a number that is exact as written was never rounded."""
    due, _, _ = _due(stage, at, claims, true)
    due = due or Interval.exactly(_stage(true, stage)[at : at + 1])
    with np.errstate(invalid="ignore"):  # minus infinity less minus infinity
        sure = (due.high - due.low < ROUNDING_NOISE) & (
            np.abs(row.numbers - due.low) < ROUNDING_NOISE
        )
    low, high = row.either.low, row.either.high
    return Interval(np.where(sure, row.numbers, low), np.where(sure, row.numbers, high))


def _middle(between: Interval) -> Any:
    return (between.low + between.high) / 2


def _rows(claims: Claims, true: Steps, stage: str) -> Interval:
    """All rows of query, key or value: as claimed where they are, true elsewhere."""
    exact = _stage(true, stage)
    low, high = exact.copy(), exact.copy()
    for at, row in claims.get(stage, {}).items():
        interval = _claimed_interval(stage, at, row, claims, true)
        low[at], high[at] = interval.low[0], interval.high[0]
    return Interval(low, high)


def _stage(true: Steps, stage: str) -> Any:
    if stage == "masked" and true.masked is None:
        stage = "scaled"
    return np.asarray(getattr(true, stage))


# Slips: the arithmetic of a wrong step, and a known slip that gives the wrong numbers.


def _explain_step(step: Step, row: Claimed, claims: Claims, true: Steps) -> Step:
    """The step with its arithmetic, and the known slip that gives its numbers."""
    before = {stage: _row(stage, step.row, claims, true) for stage in ("scores", "scaled")}
    plain_k = before["scaled"]
    masks: Slips = iter(())
    if true.masked is not None:
        seen_k = np.isfinite(true.masked[step.row])
        before = {stage: np.where(seen_k, row, -np.inf) for stage, row in before.items()}
        masks = _mask_slips(step.stage, plain_k, seen_k)
    before["weights"] = _row("weights", step.row, claims, true)
    value = np.asarray(true.value)
    slips_by_stage: dict[str, Any] = {
        "scaled": lambda: _scaling_slips(before["scores"], true),
        "weights": lambda: _softmax_slips(before["scores"], before["scaled"], true),
        "output": lambda: _sum_slips(before["weights"], before["scores"], value, true),
    }
    slips = chain(
        masks,
        slips_by_stage.get(step.stage, lambda: iter(()))(),
        _exchanges(step),
        _other_vectors(step, true),
        _catalogue_slips(step, true),
    )
    instead = _best(row, _misread(row, claims, step, true), slips)
    if not instead and step.stage == "weights":
        instead = _oddities(row, before["scaled"])
    return replace(step, arithmetic=_arithmetic(step, before, value), instead=instead)


def _explain_joined(step: Step, row: Claimed, sums: list[Interval], true: Steps) -> Step:
    """The output of all heads with its arithmetic, and the known slip that gives its numbers."""
    w_output = None if true.w_output is None else np.asarray(true.w_output)
    for name, interval in _joining_slips(sums, w_output):
        if interval.low.size == len(step.due) and row.either.overlaps(interval).all():
            return replace(step, arithmetic=_number_off(step), instead=name)
    return replace(step, arithmetic=_number_off(step))


def _joining_slips(sums: list[Interval], w_output: Array | None) -> Iterator[tuple[str, Interval]]:
    """What heads that are joined in another way give."""
    backwards = _side_by_side(sums[::-1])
    if w_output is not None:
        yield "w_output was left out", _side_by_side(sums)
        if w_output.shape[0] == w_output.shape[1]:
            turned = Interval.exactly(w_output.T)
            yield "w_output was transposed", _side_by_side(sums).times(turned)
        backwards = backwards.times(Interval.exactly(w_output))
    if len(sums) > 1:
        yield "the heads were joined in the opposite order", backwards
        total = Interval(
            np.sum([s.low for s in sums], axis=0), np.sum([s.high for s in sums], axis=0)
        )
        yield "the heads were added, not put side by side", total
        yield "the mean of the heads was taken", total.scaled(1 / len(sums))


def _side_by_side(sums: list[Interval]) -> Interval:
    lows, highs = [s.low for s in sums], [s.high for s in sums]
    return Interval(np.concatenate(lows, axis=1), np.concatenate(highs, axis=1))


def _mask_slips(stage: str, scaled_k: Array, seen_k: Array) -> Slips:
    """What a mask that is forgotten, inverted, made of zeros or late gives."""
    turned_k = np.where(seen_k, -np.inf, scaled_k)
    zeros_k = np.where(seen_k, scaled_k, 0)
    names = ("the mask was not applied", "the mask was applied the other way round",
             "hidden scores became 0, not minus infinity: e^0 is 1")  # fmt: skip
    for name, array_k in zip(names, (scaled_k, turned_k, zeros_k), strict=True):
        if stage == "masked":
            yield name, array_k
        elif stage == "weights" and np.isfinite(array_k).any():
            yield name, softmax(array_k)
    if stage == "weights":
        yield "the mask was applied after the softmax", softmax(scaled_k) * seen_k


def _best(row: Claimed, spread: Array, slips: Slips) -> str:
    """The slip whose numbers are nearest to a row, of those that its digits allow; '' for none.

    ``spread``: how far the digits of the step before leave each number open.
    """
    found: list[tuple[float, str]] = []
    for name, array in slips:
        numbers = np.atleast_2d(array)
        given = Interval(numbers - spread, numbers + spread)
        if numbers.shape == row.numbers.shape and row.either.overlaps(given).all():
            with np.errstate(invalid="ignore"):  # minus infinity less minus infinity
                found.append((float(np.nan_to_num(np.abs(numbers - row.numbers)).max()), name))
    return min(found, key=lambda slip: round(slip[0], 9))[1] if found else ""


def _misread(row: Claimed, claims: Claims, step: Step, true: Steps) -> Array:
    """Half the width of what the author's digits leave open."""
    due, _, _ = _due(step.stage, step.row, claims, true)
    if due is None:
        return np.zeros(row.numbers.shape)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num((due.high - due.low) / 2)


def _exchanges(step: Step) -> Slips:
    """A row with the numbers of two words exchanged, or the row of another word."""
    if step.stage in ("scores", "scaled", "weights"):
        for i, j in combinations(range(len(step.due)), 2):
            row = np.array(step.due)
            row[[i, j]] = row[[j, i]]
            if row[i] != row[j]:
                yield f"numbers {i} and {j} were exchanged", row


def _other_vectors(step: Step, true: Steps) -> Slips:
    """A vector made with the matrix of another, or with its own turned over."""
    if step.stage not in VECTOR_STAGES:
        return
    for other in VECTOR_STAGES:
        if other != step.stage:
            yield f"w_{other} took the place of w_{step.stage}", _stage(true, other)[step.row]
    x, matrix = true.x, getattr(true, f"w_{step.stage}")
    if x is not None and matrix is not None and matrix.shape[0] == matrix.shape[1]:
        yield f"w_{step.stage} was transposed", x[step.row] @ matrix.T


def _catalogue_slips(step: Step, true: Steps) -> Slips:
    """What each mistake of the catalogue for code makes of this row."""
    if step.stage in VECTOR_STAGES or true.x is None:
        return
    visible = None if true.masked is None else np.isfinite(true.masked)
    query, key, value = (_stage(true, name)[None, None] for name in VECTOR_STAGES)
    case = Case(query, key, value, mask=visible, sources=(true.x[None],))
    for (mistake,), stages in single_mistakes():
        if mistake.unnamed or wrong_step(mistake) in ("heads", "causal mask"):
            continue
        try:
            with np.errstate(all="ignore"):
                made = getattr(run_stages(stages, case), step.stage)
        except ValueError:  # this mistake cannot be made with these sizes
            continue
        if made.ndim == 4 and step.row < made.shape[2]:
            yield mistake.name, made[0, 0, step.row]


def _row(stage: str, at: int, claims: Claims, true: Steps) -> Array:
    """The author's numbers, or the true ones where there are none."""
    claimed = claims.get(stage, {}).get(at)
    if claimed is not None:
        return np.asarray(claimed.numbers[0])
    return np.asarray(getattr(true, stage)[at])


def _scaling_slips(scores_k: Array, true: Steps) -> Slips:
    width = true.query.shape[-1]
    yield "the scores were left as they are", scores_k
    yield f"the scores were divided by {width}, not by its square root", scores_k / width
    yield "the scores were multiplied by the square root", scores_k * np.sqrt(width)


def _softmax_slips(scores_k: Array, scaled_k: Array, true: Steps) -> Slips:
    width = true.query.shape[-1]
    yield "the softmax was taken of the unscaled scores", softmax(scores_k)
    yield f"the scores were divided by {width}, not by its square root", softmax(scores_k / width)
    with np.errstate(all="ignore"):
        yield (
            "the scaled scores were divided by their sum: no exponential",
            scaled_k / scaled_k.sum(),
        )
        yield "the scores were divided by their sum: no exponential", scores_k / scores_k.sum()
        squares_k = scores_k**2
        yield "squares took the place of exponentials", squares_k / squares_k.sum()
    yield "powers of 2 took the place of powers of e", softmax(scaled_k * np.log(2))
    for name, some_k in (("scaled scores", scaled_k), ("unscaled scores", scores_k)):
        hidden_k = np.where(some_k == 0, -np.inf, some_k)
        yield (
            f"words with a score of 0 were left out of the softmax of the {name}",
            softmax(hidden_k),
        )
    yield "the exponentials were not divided by their sum", np.exp(scaled_k)
    less_k = np.exp(scaled_k) - 1
    yield "1 was taken from every exponential", less_k / max(less_k.sum(), 1e-300)


def _sum_slips(weights_k: Array, scores_k: Array, value_kv: Array, true: Steps) -> Slips:
    for size in (1, 2):
        for omitted in combinations(range(len(weights_k)), size):
            some_k = weights_k.copy()
            some_k[list(omitted)] = 0
            names = " and ".join(repr(str(true.words[i])) for i in omitted)
            what = "the terms of" if size > 1 else "the term of"
            verb = "were" if size > 1 else "was"
            yield f"{what} {names} {verb} left out of the sum", some_k @ value_kv
    yield "the values were added without weights", value_kv.sum(axis=0)
    yield "the mean of all values was taken", value_kv.mean(axis=0)
    yield "the scores were never scaled", softmax(scores_k) @ value_kv
    width = true.query.shape[-1]
    yield f"the scores were divided by {width}", softmax(scores_k / width) @ value_kv


def _oddities(row: Claimed, scaled_k: Array) -> str:
    """What is odd about a row that no known slip gives."""
    claimed_k = row.numbers[0]
    oddities = []
    if ((claimed_k == 0) & np.isfinite(scaled_k)).any():
        zero = bool(((claimed_k == 0) == (scaled_k == 0)).all())
        oddities.append(
            "a score of 0 got weight 0, but e^0 is 1"
            if zero
            else "a softmax gives no weight of exactly 0"
        )
    if not row.either.low.sum() <= 1 <= row.either.high.sum():
        oddities.append(f"the row sums to {claimed_k.sum():g}, not to 1")
    how = "; ".join(oddities)
    return how + ("; " if how else "") + "no known slip gives all of these numbers"


def _arithmetic(step: Step, before: dict[str, Array], value_kv: Array) -> str:
    """The number that is furthest off, worked out from the author's previous step."""
    at = _furthest_index(step)
    end = f"= {step.due[at]:.4g}, not {step.claimed[at]:g}"
    if step.stage == "scaled":
        ratio = before["scores"][at]
        return f"{ratio:g} / √{_step_width(step, before):g} {end}"
    if step.stage == "weights":
        scaled_k = before["scaled"]
        total = np.exp(scaled_k).sum()
        terms = " + ".join(f"e^{x:.2f}" for x in scaled_k if np.isfinite(x))
        exponential = np.exp(scaled_k[at])
        return f"e^{scaled_k[at]:.2f} / ({terms}) = {exponential:.3f} / {total:.3f} {end}"
    if step.stage == "output":
        pairs = zip(before["weights"], value_kv[:, at], strict=True)
        terms = " + ".join(f"{w:.3g}·{v:g}" for w, v in pairs if w and v)
        return f"{terms} {end}"
    return _number_off(step)


def _number_off(step: Step) -> str:
    at = _furthest_index(step)
    return f"number {at} is {step.due[at]:.4g}, not {step.claimed[at]:g}"


def _furthest_index(step: Step) -> int:
    with np.errstate(invalid="ignore"):  # minus infinity less minus infinity
        gap = np.abs(np.array(step.claimed) - np.array(step.due))
    return int(np.nan_to_num(gap, nan=0.0, posinf=np.inf).argmax())


def _step_width(step: Step, before: dict[str, Array]) -> float:
    """The width whose root the true scaling divides by."""
    scores_k, true_k = before["scores"], np.array(step.due)
    ratios = scores_k[true_k != 0] / true_k[true_k != 0]
    return round(float(ratios[0] ** 2)) if ratios.size else 1.0
