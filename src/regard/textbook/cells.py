"""Cells of Steps: addressed by stage, row and column, each with the expression that made it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError, count
from regard.textbook import expressions as make
from regard.textbook.bounds import error_bounds
from regard.textbook.expressions import Bounded, Expression
from regard.typing import Float64Array

if TYPE_CHECKING:
    from regard.textbook.steps import Steps


BETWEEN_WORDS = ("scores", "scaled", "capped", "masked", "weights")


def matrix(steps: Steps, stage: str, head: int = 0, sentence: int = 0) -> Float64Array:
    """The two-dimensional array of a stage, for one head of one sentence.

    >>> from regard.textbook.steps import attend
    >>> matrix(attend(np.eye(2), np.eye(2), np.eye(2)), "scores")
    array([[1., 0.],
           [0., 1.]])
    """
    present = steps.stages()
    if stage not in present:
        raise ArgumentError(
            f"stage needs to be one of {', '.join(present)}, but it is {stage!r}"
            + (": this computation has no such stage." if hasattr(steps, stage) else ".")
        )
    return of_head(steps, stage, present[stage], head, sentence)


def of_head(
    steps: Steps, stage: str, array: Float64Array, head: int, sentence: int
) -> Float64Array:
    """The two-dimensional part of an array of a stage's shape, for one head of one sentence."""
    array_bhtx = _by_head(steps, stage, array)
    sentences, heads = sizes(steps)
    at = _check_index("sentence", sentence, sentences)
    of = _check_index("head", head, heads)
    result: Float64Array = array_bhtx[at, of if array_bhtx.shape[1] > 1 else 0]
    return result


def sizes(steps: Steps) -> tuple[int, int]:
    """The number of sentences and of heads."""
    sentences, heads = _by_head(steps, "weights", steps.weights).shape[:2]
    return int(sentences), int(heads)


def has_heads(steps: Steps, stage: str) -> bool:
    """Whether a stage has an axis of heads."""
    if steps.x is None:
        return steps.query.ndim > 2
    return steps.sums is not None and stage not in ("x", "output")


def labels(steps: Steps, size: int, sentence: int = 0) -> tuple[str, ...]:
    """A name for each position: its word, with its index where the word occurs twice."""
    words = words_of(steps, sentence)
    if len(words) != size:
        return tuple(str(i) for i in range(size))
    return tuple(f"{w} ({i})" if words.count(w) > 1 else w for i, w in enumerate(words))


def words_of(steps: Steps, sentence: int = 0) -> tuple[str, ...]:
    """The words of one sentence; none where none were given."""
    words: Any = steps.words
    chosen: tuple[str, ...] = words[sentence] if words and isinstance(words[0], tuple) else words
    return chosen


def find(name: str, key: str | int, words: tuple[str, ...], size: int) -> int:
    """The index of a word or of an index; a word that is not there once is an error that helps.

    >>> find("row", "cat", ("the", "cat"), 2), find("row", -1, ("the", "cat"), 2)
    (1, 1)
    """
    if not isinstance(key, str):
        return _check_index(name, key, size)
    positions = [i for i, word in enumerate(words) if word == key]
    if len(positions) == 1:
        return positions[0]
    if positions:
        listed = ", ".join(str(i) for i in positions)
        raise ArgumentError(f"{name} {key!r} occurs {len(positions)} times: say which of {listed}.")
    if not words:
        raise ArgumentError(
            f"{name} needs an index from 0 to {size - 1}, since no words were given, "
            f"but it is {key!r}."
        )
    raise ArgumentError(f"{name} needs one of the words {', '.join(words)}, but it is {key!r}.")


def find_feature(name: str, key: str | int, size: int, stage: str) -> int:
    """The index of a feature; features have no words."""
    if isinstance(key, str):
        raise ArgumentError(
            f"{name} of {stage} needs a feature's index from 0 to {size - 1}, but it is {key!r}."
        )
    return _check_index(name, key, size)


def _by_head(steps: Steps, stage: str, array: Float64Array) -> Float64Array:
    """Any stage as (b, h, rows, columns); an axis that it does not have counts 1."""
    heads = array.shape[-3] if has_heads(steps, stage) else 1
    return array.reshape(
        array.size // max(1, heads * array.shape[-2] * array.shape[-1]), heads, *array.shape[-2:]
    )


def _check_index(name: str, key: Any, size: int) -> int:
    if not isinstance(key, int | np.integer) or not -size <= key < size:
        raise ArgumentError(
            f"{name} needs an index into {count(size, 'position')} (0 to {size - 1}), "
            f"but it is {key!r}."
        )
    return int(key) % size


@dataclass(frozen=True)
class Cell:
    """One cell of one matrix of Steps, by its row and column."""

    steps: Steps
    stage: str
    row: int
    column: int
    head: int
    sentence: int

    def of(self, stage: str) -> Float64Array:
        """The matrix of another stage, of the same head and sentence."""
        return matrix(self.steps, stage, self.head, self.sentence)

    def bounded(self, stage: str) -> Bounded:
        """The matrix of a stage, and how far each of its numbers may lie from the exact one."""
        bounds = error_bounds(self.steps, stage)
        return Bounded(self.of(stage), of_head(self.steps, stage, bounds, self.head, self.sentence))

    @property
    def names(self) -> tuple[str, str]:
        """The names of the row and the column."""
        rows, columns = self.of(self.stage).shape
        row = labels(self.steps, rows, self.sentence)[self.row]
        if self.stage not in BETWEEN_WORDS:
            return row, str(self.column)
        return row, labels(self.steps, columns, self.sentence)[self.column]

    def __str__(self) -> str:
        sentences, heads = sizes(self.steps)
        spot = f"head {self.head}" if heads > 1 and has_heads(self.steps, self.stage) else ""
        spot += (", " if spot else "") + f"sentence {self.sentence}" if sentences > 1 else ""
        name = f"{self.stage}[{', '.join(self.names)}]"
        return f"{name} ({spot})" if spot else name


def _stored(cell: Cell) -> Expression:
    value, noise = _number(cell, cell.stage)
    return make.stored(value, "given", "given", noise)


def _number(cell: Cell, stage: str) -> tuple[float, float]:
    """The number of a stage of the cell itself, and how far it may be off."""
    value, bound = cell.bounded(stage).at(cell.row, cell.column)
    return float(value), float(bound)


def _projected(cell: Cell) -> Expression:
    """A word's vector times one column of the parameters, the head's own column."""
    name = f"w_{cell.stage}"
    parameters = getattr(cell.steps, name)
    if cell.steps.x is None or parameters is None:
        return _stored(cell)
    column = parameters[:, cell.head * cell.of(cell.stage).shape[1] + cell.column]
    return make.dot(cell.bounded("x").at(cell.row), make.exact(column), f"x · {name}")


def _score(cell: Cell) -> Expression:
    query, key = cell.bounded("query").at(cell.row), cell.bounded("key").at(cell.column)
    return make.dot(query, key, "query · key")


def _scaled(cell: Cell) -> Expression:
    return make.scaled(*_number(cell, "scores"), cell.steps.scale, cell.of("query").shape[1])


def _capped(cell: Cell) -> Expression:
    return make.capped(*_number(cell, "scaled"), cell.steps.softcap or 1.0)


def _masked(cell: Cell) -> Expression:
    before = "capped" if cell.steps.capped is not None else "scaled"
    score, noise = _number(cell, before)
    value = float(cell.of("masked")[cell.row, cell.column])
    if value == -np.inf:
        return make.fixed(value, "hidden", _hidden(cell))
    if value == score:
        return make.stored(value, before, f"as {before}: visible, nothing added", noise)
    return make.added(score, noise, value - score, f"{before} + mask")


def _weights(cell: Cell) -> Expression:
    before = _last_scores(cell)
    scores = cell.bounded(before).at(cell.row)
    if not np.isfinite(scores.values).any():
        return make.fixed(0.0, "nothing to look at", f"{cell.names[0]} may look at nothing")
    if scores.values[cell.column] == -np.inf:
        return make.fixed(0.0, "hidden", _hidden(cell))
    return make.share(scores, cell.column, f"e^{before} / sum of e^{before} over the row")


def _sums(cell: Cell) -> Expression:
    weights, value = cell.bounded("weights").at(cell.row), cell.bounded("value")
    return make.dot(weights, value.at(slice(None), cell.column), "weights · value")


def _output(cell: Cell) -> Expression:
    """The weighted sum itself, a head's part of it, or all heads times w_output."""
    steps = cell.steps
    if steps.sums is None:
        return _sums(cell)
    sums = [replace(cell, head=head).bounded("sums") for head in range(sizes(steps)[1])]
    if steps.w_output is not None:
        values, bounds = (
            np.concatenate(x) for x in zip(*(one.at(cell.row) for one in sums), strict=True)
        )
        column = make.exact(steps.w_output[:, cell.column])
        return make.dot(Bounded(values, bounds), column, "sums of all heads · w_output")
    head, column = divmod(cell.column, sums[0].values.shape[1])
    value, noise = sums[head].at(cell.row, column)
    note = f"sums[{cell.names[0]}, {column}] of head {head}"
    return make.stored(float(value), "sums", note, float(noise))


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
    "x": _stored,
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
