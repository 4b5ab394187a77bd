"""One cell of Steps, and the expression that made it, stage by stage."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.self_attention.explain import expressions as make
from regard.self_attention.explain.expressions import Expression
from regard.self_attention.explain.places import BETWEEN_WORDS, has_heads, labels, matrix, sizes

if TYPE_CHECKING:
    from regard.self_attention.steps import Steps


@dataclass(frozen=True)
class Cell:
    """One cell of one matrix of Steps, its row and column found."""

    steps: "Steps"
    stage: str
    row: int
    column: int
    head: int
    sentence: int

    def of(self, stage: str) -> make.Array:
        """The matrix of another stage, of the same head and sentence."""
        return matrix(self.steps, stage, self.head, self.sentence)

    @property
    def names(self) -> tuple[str, str]:
        """What the row and the column are called."""
        rows, columns = self.of(self.stage).shape
        row = labels(self.steps, rows, self.sentence)[self.row]
        if self.stage not in BETWEEN_WORDS:
            return row, str(self.column)
        return row, labels(self.steps, columns, self.sentence)[self.column]

    def __str__(self) -> str:
        sentences, heads = sizes(self.steps)
        place = f"head {self.head}" if heads > 1 and has_heads(self.steps, self.stage) else ""
        place += (", " if place else "") + f"sentence {self.sentence}" if sentences > 1 else ""
        name = f"{self.stage}[{', '.join(self.names)}]"
        return f"{name} ({place})" if place else name


def _given(cell: Cell) -> Expression:
    return make.given(float(cell.of(cell.stage)[cell.row, cell.column]), "given", "given")


def _projected(cell: Cell) -> Expression:
    """A word's vector times one column of the parameters, the head's own column."""
    name = f"w_{cell.stage}"
    parameters = getattr(cell.steps, name)
    if cell.steps.x is None or parameters is None:
        return _given(cell)
    column = cell.head * cell.of(cell.stage).shape[1] + cell.column
    return make.dot(cell.of("x")[cell.row], parameters[:, column], f"x · {name}")


def _score(cell: Cell) -> Expression:
    return make.dot(cell.of("query")[cell.row], cell.of("key")[cell.column], "query · key")


def _scaled(cell: Cell) -> Expression:
    score = float(cell.of("scores")[cell.row, cell.column])
    return make.scaled(score, cell.steps.scale, cell.of("query").shape[1])


def _capped(cell: Cell) -> Expression:
    score = float(cell.of("scaled")[cell.row, cell.column])
    return make.capped(score, cell.steps.softcap or 1.0)


def _masked(cell: Cell) -> Expression:
    before = "capped" if cell.steps.capped is not None else "scaled"
    score = float(cell.of(before)[cell.row, cell.column])
    value = float(cell.of("masked")[cell.row, cell.column])
    if value == -np.inf:
        return make.fixed(value, "hidden", _hidden(cell))
    if value == score:
        return make.given(value, before, f"as {before}: visible, nothing added")
    return make.added(score, value - score, f"{before} + mask")


def _weights(cell: Cell) -> Expression:
    before = _last_scores(cell)
    scores = cell.of(before)[cell.row]
    if not np.isfinite(scores).any():
        return make.fixed(0.0, "nothing to look at", f"{cell.names[0]} may look at nothing")
    if scores[cell.column] == -np.inf:
        return make.fixed(0.0, "hidden", _hidden(cell))
    return make.share(scores, cell.column, f"e^{before} / sum of e^{before} over the row")


def _sums(cell: Cell) -> Expression:
    return make.dot(
        cell.of("weights")[cell.row], cell.of("value")[:, cell.column], "weights · value"
    )


def _output(cell: Cell) -> Expression:
    """The weighted sum itself, a head's part of it, or all heads times w_output."""
    steps = cell.steps
    if steps.sums is None:
        return _sums(cell)
    sums = [matrix(steps, "sums", head, cell.sentence) for head in range(sizes(steps)[1])]
    if steps.w_output is not None:
        side_by_side = np.concatenate([sums_qd[cell.row] for sums_qd in sums])
        return make.dot(
            side_by_side, steps.w_output[:, cell.column], "sums of all heads · w_output"
        )
    head, column = divmod(cell.column, sums[0].shape[1])
    value = float(sums[head][cell.row, column])
    return make.given(value, "sums", f"sums[{cell.names[0]}, {column}] of head {head}")


def _last_scores(cell: Cell) -> str:
    return next(x for x in ("masked", "capped", "scaled") if getattr(cell.steps, x) is not None)


def _hidden(cell: Cell) -> str:
    row, column = cell.names
    masked = cell.of("masked")
    later = np.triu(np.ones(masked.shape, bool), 1)
    if (
        cell.column > cell.row
        and masked.shape[0] == masked.shape[1]
        and (masked[later] == -np.inf).all()
    ):
        return f"hidden: {column} comes after {row}"
    return f"hidden: the mask does not let {row} look at {column}"


EXPRESSIONS: dict[str, Callable[[Cell], Expression]] = {
    "x": _given,
    "query": _projected,
    "key": _projected,
    "value": _projected,
    "scores": _score,
    "scaled": _scaled,
    "capped": _capped,
    "masked": _masked,
    "weights": _weights,
    "sums": _sums,
    "output": _output,
}
