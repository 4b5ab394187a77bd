"""The check of a sheet worked by hand: each claimed row against the step before and the truth."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np

from regard.checker.check_report import RIGHT, STATUS, WRONG
from regard.checker.claims import NOISE, Claimed, Interval, claimed_row
from regard.checker.slips import explain_step
from regard.display import TextDisplay
from regard.errors import FileError, count
from regard.text.sheet import Sheet, SheetFile, WrittenFloat, is_finite_number
from regard.textbook.steps import Steps, self_attention

STAGES = ("query", "key", "value", "scores", "scaled", "weights", "output")
Claims = dict[str, dict[str, Claimed]]


def read_sheet(path: Path) -> tuple[Sheet, Claims]:
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
    return sheet, _claims(path, sheet.words, claimed)


def _claims(path: Path, words: tuple[str, ...], claimed: dict[str, Any]) -> Claims:
    claims: Claims = {}
    for stage, rows in claimed.items():
        name = f"claimed.{stage}"
        if stage not in STAGES:
            raise FileError(f"{path}: {name} is not known; there are {', '.join(STAGES)}.")
        if isinstance(rows, list) and len(rows) == len(words):
            rows = dict(zip(words, rows, strict=True))
        if not isinstance(rows, dict):
            raise FileError(
                f"{path}: {name} needs rows by word, or a list of {count(len(words), 'row')}, one "
                "for each word."
            )
        claims[stage] = {
            word: _claimed_row(path, f"{name}.{word}", word, row, words)
            for word, row in rows.items()
        }
    return claims


def _claimed_row(path: Path, name: str, word: str, row: Any, words: tuple[str, ...]) -> Claimed:
    if word not in words:
        raise FileError(f"{path}: {name} needs one of the words {', '.join(words)}.")
    if isinstance(row, list) and all(map(is_finite_number, row)):
        with contextlib.suppress(InvalidOperation):  # an exponent that no decimal has
            return claimed_row([Decimal(x.text) if isinstance(x, WrittenFloat) else x for x in row])
    raise FileError(f"{path}: {name} needs a row of numbers, such as [0, 0.19].")


@dataclass(frozen=True)
class Step:
    """One claimed row: whether it follows from the author's last step, and whether it is true.

    ``follows`` is None where the author wrote nothing that it could follow from.
    """

    stage: str
    word: str
    claimed: tuple[float, ...]
    due: tuple[float, ...]  # what the author's last step leads to
    true: tuple[float, ...]
    follows: bool | None
    is_true: bool
    cut: bool = False  # digits were cut off, not rounded
    source: str = ""
    arithmetic: str = ""
    instead: str = ""

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
        return {
            "sheet": self.path,
            "verdict": self.verdict,
            "status": self.status,
            "first wrong": None if first is None else {"stage": first.stage, "word": first.word},
            "steps": [vars(step) | {"right": step.right} for step in self.steps],
        }

    def __str__(self) -> str:
        from regard.view.terminal.check_text import draw_sheet
        from regard.view.terminal.render import as_text

        return as_text(draw_sheet(self))


def check_sheet(path: str | Path) -> SheetReport:
    """Check what a sheet claims.

    The sheet has words, x and matrices as for ``regard steps --vectors``, and a table ``claimed``
    with any of query, key, value, scores, scaled, weights and output: rows by word, or all rows.
    """
    sheet, claims = read_sheet(Path(path))
    if sheet.heads != 1 or sheet.w_output is not None:
        raise FileError(f"{path}: a sheet that is checked needs one head and no w_output.")
    true = self_attention(
        sheet.x, sheet.w_query, sheet.w_key, sheet.w_value, words=sheet.words, causal=sheet.causal
    )
    steps = [
        _judge_row(stage, word, row, claims, true)
        for stage in STAGES
        for word, row in claims.get(stage, {}).items()
    ]
    return SheetReport(str(path), sheet.words, tuple(steps))


def _judge_row(stage: str, word: str, row: Claimed, claims: Claims, true: Steps) -> Step:
    """The judgement of one row, against the author's step before and against the truth."""
    index = true.words.index(word)
    exact = Interval.exactly(_stage(true, stage)[index : index + 1])
    if row.numbers.shape != exact.low.shape:
        raise FileError(
            f"claimed.{stage}.{word} needs {exact.low.size} numbers, but has {row.numbers.size}."
        )
    due, centre, source = _due(stage, word, claims, true)
    is_true = bool(row.either.overlaps(exact).all())
    follows = None if due is None else bool(row.either.overlaps(due).all())
    shown = exact if due is None else due
    cut = (follows is not False) and not row.rounded.overlaps(shown).all() and is_true
    step = Step(
        stage=stage,
        word=word,
        claimed=tuple(row.numbers[0].tolist()),
        due=tuple((exact.low if centre is None else centre)[0].tolist()),
        true=tuple(exact.low[0].tolist()),
        follows=follows,
        is_true=is_true,
        cut=bool(cut),
        source=source,
    )
    return step if step.right else explain_step(step, row, claims, true)


def _due(stage: str, word: str, claims: Claims, true: Steps) -> tuple[Interval | None, Any, str]:
    """The interval, its middle and its source that follow from the author's last written step."""
    at = true.words.index(word)
    exact = _stage(true, stage)[at : at + 1]
    if stage in ("query", "key", "value"):
        return Interval.exactly(exact), exact, "x"
    if stage == "scores":
        query, key = _rows(claims, true, "query"), _rows(claims, true, "key")
        due = Interval(query.low[at : at + 1], query.high[at : at + 1]).times(key.transposed)
        return due, _middle(due), "the vectors"
    for source, forward in _predecessors(at, claims, true)[stage].items():
        row = claims.get(source, {}).get(word)
        if row is not None:
            interval = _interval_of(source, word, row, claims, true)
            middle = _middle(forward(Interval.exactly(row.numbers)))
            return forward(interval), middle, NAMES[source]
    return None, None, ""


NAMES = {"scores": "its scores", "scaled": "its scaled scores", "weights": "its weights"}


Forward = Callable[[Interval], Interval]


def _predecessors(at: int, claims: Claims, true: Steps) -> dict[str, dict[str, Forward]]:
    """The earlier stages that a stage of one row can follow from, the nearest first, and how."""
    masked = true.scaled if true.masked is None else true.masked
    seen_k = np.isfinite(masked[at])
    value = _rows(claims, true, "value")
    return {
        "scaled": {"scores": lambda scores: scores.scaled(true.scale)},
        "weights": {
            "scaled": lambda scaled: scaled.softmax(seen_k),
            "scores": lambda scores: scores.scaled(true.scale).softmax(seen_k),
        },
        "output": {"weights": lambda weights: weights.times(value)},
    }


def _interval_of(stage: str, word: str, row: Claimed, claims: Claims, true: Steps) -> Interval:
    """The interval of a claimed row; a number that is exact as written was never rounded."""
    due, _, _ = _due(stage, word, claims, true)
    at = true.words.index(word)
    due = due or Interval.exactly(_stage(true, stage)[at : at + 1])
    sure = (due.high - due.low < NOISE) & (np.abs(row.numbers - due.low) < NOISE)
    low, high = row.either.low, row.either.high
    return Interval(np.where(sure, row.numbers, low), np.where(sure, row.numbers, high))


def _middle(between: Interval) -> Any:
    return (between.low + between.high) / 2


def _rows(claims: Claims, true: Steps, stage: str) -> Interval:
    """All rows of query, key or value: as claimed where they are, true elsewhere."""
    exact = _stage(true, stage)
    low, high = exact.copy(), exact.copy()
    for word, row in claims.get(stage, {}).items():
        at = true.words.index(word)
        interval = _interval_of(stage, word, row, claims, true)
        low[at], high[at] = interval.low[0], interval.high[0]
    return Interval(low, high)


def _stage(true: Steps, stage: str) -> Any:
    return np.asarray(getattr(true, stage))
