"""A sheet worked by hand: each claimed step against the author's own last step, and the truth."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regard.check.claims import NOISE, Between, Claimed
from regard.check.habits import what_was_done
from regard.check.report import RIGHT, STATUS, WRONG
from regard.check.sheet_file import STAGES, Claims, read_sheet
from regard.errors import FileError
from regard.self_attention.steps import Steps, self_attention


@dataclass(frozen=True)
class Step:
    """One claimed row: does it follow from the author's last step, and is it true?

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
        """Nothing to say: it follows from the step before, or is true where there is none."""
        return self.is_true if self.follows is None else self.follows


@dataclass(frozen=True)
class SheetReport:
    """Every claimed row in the order of the steps."""

    path: str
    words: tuple[str, ...]
    steps: tuple[Step, ...] = field(default=())

    @property
    def first_wrong(self) -> Step | None:
        """The first step that does not follow."""
        return next((step for step in self.steps if not step.right), None)

    @property
    def verdict(self) -> str:
        """right where everything follows and is true."""
        return RIGHT if all(s.right and s.is_true for s in self.steps) else WRONG

    @property
    def status(self) -> int:
        """0 right, 1 wrong."""
        return STATUS[self.verdict]

    def as_dict(self) -> dict[str, Any]:
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
        from regard.view.check_sheet import draw_sheet
        from regard.view.terminal import as_text

        return as_text(draw_sheet(self))


def check_sheet(path: str | Path) -> SheetReport:
    """Check what a sheet claims.

    The sheet has words, x and matrices as for ``regard steps --vectors``, and a table ``claimed``
    with any of query, key, value, scores, scaled, weights and output: rows by word, or all rows.
    """
    sheet, claims = read_sheet(Path(path))
    if sheet.heads != 1 or sheet.w_output is not None:
        raise FileError(f"{path}: a sheet that is checked needs one head and no w_output.")
    true = self_attention(sheet.x, sheet.w_query, sheet.w_key, sheet.w_value, words=sheet.words,
                          causal=sheet.causal)  # fmt: skip
    steps = [
        _weigh(stage, word, row, claims, true)
        for stage in STAGES
        for word, row in claims.get(stage, {}).items()
    ]
    return SheetReport(str(path), sheet.words, tuple(steps))


def _weigh(stage: str, word: str, row: Claimed, claims: Claims, true: Steps) -> Step:
    """One row, twice: against the step before as the author has it, and against the truth."""
    index = true.words.index(word)
    exact = Between.exactly(_stage(true, stage)[index : index + 1])
    if row.numbers.shape != exact.low.shape:
        raise FileError(
            f"claimed.{stage}.{word} needs {exact.low.size} numbers, but has {row.numbers.size}."
        )
    due, centre, source = _due(stage, word, claims, true)
    is_true = bool(row.either.meets(exact).all())
    follows = None if due is None else bool(row.either.meets(due).all())
    shown = exact if due is None else due
    cut = (follows is not False) and not row.rounded.meets(shown).all() and is_true
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
    return step if step.right else what_was_done(step, row, claims, true)


def _due(stage: str, word: str, claims: Claims, true: Steps) -> tuple[Between | None, Any, str]:
    """What the author's last written step leads to: the range, its middle, and which it was."""
    at = true.words.index(word)
    exact = _stage(true, stage)[at : at + 1]
    if stage in ("query", "key", "value"):
        return Between.exactly(exact), exact, "x"
    if stage == "scores":
        query, key = _rows(claims, true, "query"), _rows(claims, true, "key")
        due = Between(query.low[at : at + 1], query.high[at : at + 1]).times(key.transposed)
        return due, _middle(due), "the vectors"
    for source, forward in _ways(at, claims, true)[stage].items():
        row = claims.get(source, {}).get(word)
        if row is not None:
            known = _known(source, word, row, claims, true)
            given = _middle(forward(Between.exactly(row.numbers)))
            return forward(known), given, NAMES[source]
    return None, None, ""


NAMES = {"scores": "its scores", "scaled": "its scaled scores", "weights": "its weights"}
Forward = Callable[[Between], Between]


def _ways(at: int, claims: Claims, true: Steps) -> dict[str, dict[str, Forward]]:
    """From which earlier steps a stage of one row can follow, the nearest first, and how."""
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


def _known(stage: str, word: str, row: Claimed, claims: Claims, true: Steps) -> Between:
    """What a claimed row stands for; a number that is exact as it is written was never rounded."""
    due, _, _ = _due(stage, word, claims, true)
    at = true.words.index(word)
    due = due or Between.exactly(_stage(true, stage)[at : at + 1])
    sure = (due.high - due.low < NOISE) & (np.abs(row.numbers - due.low) < NOISE)
    low, high = row.either.low, row.either.high
    return Between(np.where(sure, row.numbers, low), np.where(sure, row.numbers, high))


def _middle(between: Between) -> Any:
    return (between.low + between.high) / 2


def _rows(claims: Claims, true: Steps, stage: str) -> Between:
    """All rows of query, key or value: as claimed where they are, true elsewhere."""
    exact = _stage(true, stage)
    low, high = exact.copy(), exact.copy()
    for word, row in claims.get(stage, {}).items():
        at = true.words.index(word)
        known = _known(stage, word, row, claims, true)
        low[at], high[at] = known.low[0], known.high[0]
    return Between(low, high)


def _stage(true: Steps, stage: str) -> Any:
    return np.asarray(getattr(true, stage))
