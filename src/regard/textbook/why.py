"""Explanations of Steps: a cell by the expression that made it, a row of weights in words.

A cell is shown with only the digits that its rounding error leaves certain, so the file has four
parts: addressing a cell, a bound on its error, the expression behind it, and the text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.display import TextDisplay
from regard.errors import ArgumentError
from regard.textbook.digits import operand, show, tidy
from regard.typing import Float64Array

if TYPE_CHECKING:
    from regard.textbook.steps import Steps

BETWEEN_WORDS = ("scores", "scaled", "capped", "masked", "weights")
EPSILON = 2.0**-52  # twice the unit roundoff: the stored number errs, and so does a recomputation
SUBNORMAL_ERROR = 1e-321  # below about this, float64 has no relative precision left
MAX_WRITTEN_SCORE = 50.0  # larger scores are written less the highest of their row
MAX_WRITTEN_TERMS = 8  # longer sums are written with their middle left out
MAX_NAMED_KEYS = 5  # keys of a row that are named before the rest are summed up
MAX_FLOAT64_DIGITS = 18  # more digits than any float64 has
MAX_WIDENINGS = 20  # powers of ten from the last digit of a float64 to where a value counts as 0


# Addressing: one head of one sentence, then a row and a column.


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
            f"stage must be one of {', '.join(present)}, got {stage!r}"
            + (": this computation has no such stage." if hasattr(steps, stage) else ".")
        )
    return head_matrix(steps, stage, present[stage], head, sentence)


def head_matrix(
    steps: Steps, stage: str, array: Float64Array, head: int, sentence: int
) -> Float64Array:
    """The two-dimensional part of an array of a stage's shape, for one head of one sentence."""
    array_bhtx = _by_head(steps, stage, array)
    sentences, heads = sizes(steps)
    sentence = _check_index("sentence", sentence, sentences)
    head = _check_index("head", head, heads)
    result: Float64Array = array_bhtx[sentence, head if array_bhtx.shape[1] > 1 else 0]
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
    words = sentence_words(steps, sentence)
    if len(words) != size:
        return tuple(str(i) for i in range(size))
    return tuple(f"{w} ({i})" if words.count(w) > 1 else w for i, w in enumerate(words))


def sentence_words(steps: Steps, sentence: int = 0) -> tuple[str, ...]:
    """The words of one sentence; none where none were given."""
    words: Any = steps.words
    chosen: tuple[str, ...] = words[sentence] if words and isinstance(words[0], tuple) else words
    return chosen


def find(name: str, key: str | int, words: tuple[str, ...], size: int) -> int:
    """The position of a word, or of an index; a word must occur exactly once.

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
        raise ArgumentError(
            f"{name} must be a word that occurs once, got {key!r}, which occurs "
            f"{len(positions)} times: give its index, one of {listed}."
        )
    if not words:
        raise ArgumentError(
            f"{name} must be an index from 0 to {size - 1}, since no words were given, got {key!r}."
        )
    raise ArgumentError(f"{name} must be one of the words {', '.join(words)}, got {key!r}.")


def find_feature(name: str, key: str | int, size: int, stage: str) -> int:
    """The index of a feature; features have no words."""
    if isinstance(key, str):
        raise ArgumentError(
            f"{name} of {stage} must be a feature's index from 0 to {size - 1}, got {key!r}."
        )
    return _check_index(name, key, size)


def _by_head(steps: Steps, stage: str, array: Float64Array) -> Float64Array:
    """Any stage as (b, h, rows, columns), with size 1 for an axis that it does not have."""
    heads = array.shape[-3] if has_heads(steps, stage) else 1
    return array.reshape(
        array.size // max(1, heads * array.shape[-2] * array.shape[-1]), heads, *array.shape[-2:]
    )


def _check_index(name: str, key: Any, size: int) -> int:
    if not isinstance(key, int | np.integer) or not -size <= key < size:
        raise ArgumentError(f"{name} must be an index from 0 to {size - 1}, got {key!r}.")
    return int(key) % size


# Error bounds: a sum of n products errs by at most n u times the sum of their sizes, with u the
# unit roundoff, in whatever order it is added up (Higham, Accuracy and Stability of Numerical
# Algorithms, section 3.1): so the bounds hold for every BLAS. Errors of operands are carried along.


def error_bounds(steps: Steps, stage: str) -> Float64Array:
    """A bound on the error of each number of a stage, in the shape of the stage.

    >>> from regard.textbook.steps import attend
    >>> steps = attend(np.eye(2), np.eye(2), np.eye(2))
    >>> query, weights = (error_bounds(steps, stage).max() for stage in ("query", "weights"))
    >>> query == 0 < weights < 1e-14
    np.True_
    """
    with np.errstate(all="ignore"):
        return np.nan_to_num(_BOUNDS[stage](steps, stage), nan=np.inf, posinf=np.inf)


def _input_bound(steps: Steps, stage: str) -> Float64Array:
    array: Float64Array = getattr(steps, stage)
    return np.full(array.shape, steps.x_error if stage == "x" else 0.0)


def _projected_bound(steps: Steps, stage: str) -> Float64Array:
    """The bound of x times the parameters, cut into heads as the stage is."""
    parameters: Float64Array | None = getattr(steps, f"w_{stage}")
    if steps.x is None or parameters is None:
        return _input_bound(steps, stage)
    bound_te = _product_bound(
        steps.x, _input_bound(steps, "x"), parameters, np.zeros_like(parameters)
    )
    array: Float64Array = getattr(steps, stage)
    *batch, tokens, _ = bound_te.shape
    by_head = bound_te.reshape(*batch, tokens, -1, array.shape[-1]).swapaxes(-2, -3)
    return by_head.reshape(array.shape)


def _scores_bound(steps: Steps, stage: str) -> Float64Array:
    query, key = (error_bounds(steps, x) for x in ("query", "key"))
    return _product_bound(steps.query, query, steps.key.swapaxes(-1, -2), key.swapaxes(-1, -2))


def _scaled_bound(steps: Steps, stage: str) -> Float64Array:
    return (
        abs(steps.scale) * error_bounds(steps, "scores")
        + 4 * EPSILON * abs(steps.scaled)
        + SUBNORMAL_ERROR
    )


def _capped_bound(steps: Steps, stage: str) -> Float64Array:
    """The bound of capped scores: tanh never widens a difference."""
    size = np.minimum(abs(steps.scaled), steps.softcap or np.inf)
    return error_bounds(steps, "scaled") + 8 * EPSILON * size + SUBNORMAL_ERROR


def _masked_bound(steps: Steps, stage: str) -> Float64Array:
    before = "scaled" if steps.capped is None else "capped"
    masked, score = (steps.stages()[x] for x in ("masked", before))
    added = np.where(masked == score, 0.0, abs(score) + abs(masked - score))
    bound: Float64Array = error_bounds(steps, before) + 2 * EPSILON * added
    return np.where(np.isfinite(masked), bound, 0.0)


def _weights_bound(steps: Steps, stage: str) -> Float64Array:
    """p / (1 - p) changes by the factor e^(change of two scores), so p by p (1 - p) times that."""
    last = _last_scores(steps)
    scores, bound = steps.stages()[last], error_bounds(steps, last)
    sizes = np.where(np.isfinite(scores), abs(scores), 0.0)
    size = np.minimum(sizes.max(axis=-1, keepdims=True, initial=0.0), MAX_WRITTEN_SCORE)
    rounding = 4 * EPSILON * (np.isfinite(scores).sum(axis=-1, keepdims=True) + 8 + 2 * size)
    others = np.maximum(1 - steps.weights, 0.0) + rounding
    moved = np.expm1(2 * bound.max(axis=-1, keepdims=True, initial=0.0)) * others
    seen = np.where(np.isfinite(scores), SUBNORMAL_ERROR, 0.0)
    bound_qk: Float64Array = np.fmin(steps.weights * (rounding + moved) + seen, 1.0)
    return bound_qk


def _sums_bound(steps: Steps, stage: str) -> Float64Array:
    return _product_bound(
        steps.weights, error_bounds(steps, "weights"), steps.value, error_bounds(steps, "value")
    )


def _output_bound(steps: Steps, stage: str) -> Float64Array:
    """The weighted sums of all heads side by side, times w_output where given."""
    bound_htd = _sums_bound(steps, "sums")
    if steps.sums is None:
        return bound_htd
    sums_te, bound_te = (
        x.swapaxes(-2, -3).reshape(*x.shape[:-3], x.shape[-2], -1) for x in (steps.sums, bound_htd)
    )
    if steps.w_output is None:
        return bound_te
    return _product_bound(sums_te, bound_te, steps.w_output, np.zeros_like(steps.w_output))


def _product_bound(
    left: Float64Array, left_bound: Float64Array, right: Float64Array, right_bound: Float64Array
) -> Float64Array:
    """The bound of left @ right: the rounding of each sum, and the errors of its operands."""
    terms = left.shape[-1]
    rounding = EPSILON * (terms + 2) * (abs(left) @ abs(right)) + SUBNORMAL_ERROR * (terms + 1)
    inherited = left_bound @ (abs(right) + right_bound) + abs(left) @ right_bound
    bound: Float64Array = rounding + inherited
    return bound


_BOUNDS: dict[str, Callable[[Steps, str], Float64Array]] = {
    "x": _input_bound,
    "query": _projected_bound,
    "key": _projected_bound,
    "value": _projected_bound,
    "scores": _scores_bound,
    "scaled": _scaled_bound,
    "capped": _capped_bound,
    "masked": _masked_bound,
    "weights": _weights_bound,
    "sums": _sums_bound,
    "output": _output_bound,
}


# Expressions: the operands of a cell and the rule that joins them.


class Bounded(NamedTuple):
    """Numbers, and a bound on the error of each."""

    values: Float64Array
    bounds: Float64Array

    def at(self, *index: int | slice) -> Bounded:
        """The numbers and bounds at an index."""
        return Bounded(self.values[index], self.bounds[index])


def _exact(values: Float64Array) -> Bounded:
    """Numbers without error."""
    return Bounded(values, np.zeros(values.shape))


@dataclass(frozen=True)
class Expression:
    """Operands of a value, the rule that computes it, and how to write it.

    ``noise`` bounds the error of each operand; it is empty where all are exact. ``then`` writes
    the same value a second time, one step further worked out.
    """

    formula: str
    operands: tuple[float, ...]
    rule: Callable[[Sequence[float]], float]
    arithmetic: Callable[[Sequence[str]], str]
    noise: tuple[float, ...] = ()
    note: str = ""
    then: Expression | None = None


def _stored_value(
    value: float, formula: str = "", note: str = "", noise: float = 0.0
) -> Expression:
    """The expression of a number that was not computed."""
    return Expression(formula, (value,), lambda o: o[0], lambda o: o[0], (noise,), note)


def _constant(value: float, formula: str, note: str) -> Expression:
    """The expression of a constant: a hidden key, or a row that sees nothing."""
    return Expression(formula, (), lambda o: value, lambda o: "", note=note)


def _dot(left: Bounded, right: Bounded, formula: str) -> Expression:
    """A sum of products; the operands are the pairs, one after the other."""
    pairs, noise = (
        tuple(np.stack([a, b], axis=-1).ravel().tolist()) for a, b in zip(left, right, strict=True)
    )
    return Expression(formula, pairs, _sum_of_products, _write_products, noise)


@dataclass(frozen=True)
class Cell:
    """One cell of one matrix of Steps, by its row and column."""

    steps: Steps
    stage: str
    row: int
    column: int
    head: int
    sentence: int

    def matrix(self, stage: str) -> Float64Array:
        """The matrix of another stage, of the same head and sentence."""
        return matrix(self.steps, stage, self.head, self.sentence)

    def bounded(self, stage: str) -> Bounded:
        """The matrix of a stage, with a bound on the error of each number."""
        bounds = error_bounds(self.steps, stage)
        return Bounded(
            self.matrix(stage), head_matrix(self.steps, stage, bounds, self.head, self.sentence)
        )

    @property
    def names(self) -> tuple[str, str]:
        rows, columns = self.matrix(self.stage).shape
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
    return _stored_value(value, "given", "given", noise)


def _number(cell: Cell, stage: str) -> tuple[float, float]:
    """The number of a stage at this cell, and a bound on its error."""
    value, bound = cell.bounded(stage).at(cell.row, cell.column)
    return float(value), float(bound)


def _projected(cell: Cell) -> Expression:
    """A word's vector times one column of the parameters, the head's own column."""
    name = f"w_{cell.stage}"
    parameters = getattr(cell.steps, name)
    if cell.steps.x is None or parameters is None:
        return _stored(cell)
    column = parameters[:, cell.head * cell.matrix(cell.stage).shape[1] + cell.column]
    return _dot(cell.bounded("x").at(cell.row), _exact(column), f"x · {name}")


def _score(cell: Cell) -> Expression:
    query, key = cell.bounded("query").at(cell.row), cell.bounded("key").at(cell.column)
    return _dot(query, key, "query · key")


def _scaled(cell: Cell) -> Expression:
    """A score divided by the root of the head's width, or multiplied by the caller's scale."""
    score, noise = _number(cell, "scores")
    scale, width = cell.steps.scale, cell.matrix("query").shape[1]
    if math.isclose(scale, 1 / math.sqrt(max(1, width)), rel_tol=1e-12):
        return Expression(
            f"scores / √{width}",
            (score, float(width)),
            lambda o: o[0] / math.sqrt(o[1]),
            lambda o: f"{o[0]} / √{width}",
            (noise, 0.0),
        )
    return Expression(
        "scores · scale",
        (score, scale),
        lambda o: o[0] * o[1],
        lambda o: f"{o[0]} · {o[1]}",
        (noise, 0.0),
    )


def _capped(cell: Cell) -> Expression:
    score, noise = _number(cell, "scaled")
    return Expression(
        "softcap · tanh(scaled / softcap)",
        (score, cell.steps.softcap or 1.0),
        lambda o: o[1] * math.tanh(o[0] / o[1]),
        lambda o: f"{o[1]} · tanh({o[0]} / {o[1]})",
        (noise, 0.0),
    )


def _masked(cell: Cell) -> Expression:
    before = "capped" if cell.steps.capped is not None else "scaled"
    score, noise = _number(cell, before)
    value = float(cell.matrix("masked")[cell.row, cell.column])
    if value == -np.inf:
        return _constant(value, "hidden", _hidden(cell))
    if value == score:
        return _stored_value(value, before, f"as {before}: visible, nothing added", noise)
    bias = value - score  # what a float mask adds, worked out from the sum
    return Expression(
        f"{before} + mask",
        (score, bias),
        lambda o: o[0] + o[1],
        lambda o: f"{o[0]} + ({o[1]})" if bias < 0 else f"{o[0]} + {o[1]}",
        (noise, 2 * EPSILON * (abs(score) + abs(bias))),
    )


def _weights(cell: Cell) -> Expression:
    before = _last_scores(cell.steps)
    scores = cell.bounded(before).at(cell.row)
    if not np.isfinite(scores.values).any():
        return _constant(0.0, "nothing to look at", f"{cell.names[0]} may look at nothing")
    if scores.values[cell.column] == -np.inf:
        return _constant(0.0, "hidden", _hidden(cell))
    return _softmax_share(scores, cell.column, f"e^{before} / sum of e^{before} over the row")


def _sums(cell: Cell) -> Expression:
    weights, value = cell.bounded("weights").at(cell.row), cell.bounded("value")
    return _dot(weights, value.at(slice(None), cell.column), "weights · value")


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
        column = _exact(steps.w_output[:, cell.column])
        return _dot(Bounded(values, bounds), column, "sums of all heads · w_output")
    head, column = divmod(cell.column, sums[0].values.shape[1])
    value, noise = sums[head].at(cell.row, column)
    note = f"sums[{cell.names[0]}, {column}] of head {head}"
    return _stored_value(float(value), "sums", note, float(noise))


def _last_scores(steps: Steps) -> str:
    return next(x for x in ("masked", "capped", "scaled") if getattr(steps, x) is not None)


def _hidden(cell: Cell) -> str:
    row, column = cell.names
    masked = cell.matrix("masked")
    later = np.triu(np.ones(masked.shape, bool), 1)
    if (
        cell.column > cell.row
        and masked.shape[0] == masked.shape[1]
        and (masked[later] == -np.inf).all()
    ):
        return f"hidden: {column} comes after {row}"
    return f"hidden: the mask does not let {row} look at {column}"


def _softmax_share(scores: Bounded, at: int, formula: str) -> Expression:
    """e^score over the sum of e^score; -inf scores are left out of the sum.

    e^710 overflows, so scores beyond 50 are written less the highest of the row, as in softmax.
    """
    seen = np.flatnonzero(np.isfinite(scores.values))
    index = int(np.searchsorted(seen, at))
    visible, noise = scores.values[seen], scores.bounds[seen]
    top = int(visible.argmax())
    far = float(np.abs(visible).max()) > MAX_WRITTEN_SCORE
    notes = []
    if far:
        highest = show(float(visible[top]), 3, float(noise[top])).text
        notes = [f"each score less the row's highest, {highest}"]
        noise = noise + noise[top] + 2 * EPSILON * (np.abs(visible) + abs(visible[top]))
        noise[top], visible = 0.0, visible - visible[top]
    notes += (
        [f"{len(scores.values) - len(visible)} hidden"] if len(visible) < len(scores.values) else []
    )
    return Expression(
        formula,
        tuple(visible.tolist()),
        lambda o: math.exp(o[index]) / math.fsum(math.exp(x) for x in o),
        lambda o: f"e^{o[index]} / ({joined_terms([f'e^{x}' for x in o])})",
        tuple(noise.tolist()),
        note=", ".join(notes),
        then=_quotient(Bounded(visible, noise), index),
    )


def _quotient(scores: Bounded, index: int) -> Expression | None:
    """e^score over the sum of e^score, with the errors of the scores and of the exponentials.

    None where no digit of one of the two is certain.
    """
    e = np.exp(scores.values)
    with np.errstate(over="ignore", invalid="ignore"):
        rounding = 4 * EPSILON * (np.abs(scores.values) + len(e) + 2)
        bounds = np.nan_to_num(e * (np.expm1(scores.bounds) + rounding), nan=np.inf)
    parts, noise = (float(e[index]), math.fsum(e.tolist())), (bounds[index], bounds.sum())
    if any(n > part / 40 for part, n in zip(parts, noise, strict=True)):
        return None
    return Expression(
        "",
        parts,
        lambda o: o[0] / o[1],
        lambda o: f"{o[0]} / {o[1]}",
        (float(noise[0]), float(noise[1])),
    )


def joined_terms(terms: Sequence[str]) -> str:
    """A sum as text, without the middle of a long one.

    >>> joined_terms(["1", "2"]), joined_terms([str(i) for i in range(64)])
    ('1 + 2', '0 + 1 + 2 + 3 + ... 58 more ... + 62 + 63')
    """
    if len(terms) <= MAX_WRITTEN_TERMS:
        return " + ".join(terms)
    return " + ".join([*terms[:4], f"... {len(terms) - 6} more ...", *terms[-2:]])


def _sum_of_products(operands: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(operands[::2], operands[1::2], strict=True))


def _write_products(operands: Sequence[str]) -> str:
    pairs = zip(operands[::2], operands[1::2], strict=True)
    return joined_terms([f"{a} · {b}" for a, b in pairs]) or "0"


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


# Text: the line of a cell, and a row of weights in words.


@dataclass(frozen=True, repr=False)
class Why(TextDisplay):
    """The explanation of a cell: its name, formula, operands as shown, and value as stored.

    ``str()`` is the whole line. ``recomputed()`` applies the formula to the operands shown, and
    lies within ``tolerance`` (half a unit of the last digit shown) of ``value``.
    """

    cell: str
    formula: str
    operands: tuple[float, ...]
    value: float
    tolerance: float
    line: str = field(repr=False)
    rule: Callable[[Sequence[float]], float] = field(repr=False, compare=False)

    def recomputed(self) -> float:
        """The value that follows from the operands shown."""
        return self.rule(self.operands)

    def __str__(self) -> str:
        return self.line


def why(
    steps: Steps,
    stage: str,
    row: str | int,
    column: str | int,
    *,
    head: int = 0,
    sentence: int = 0,
    digits: int = 3,
) -> Why:
    """The expression that made a cell, with as many digits as its value needs.

    Examples
    --------
    >>> from regard.textbook.steps import self_attention
    >>> steps = self_attention(*[np.eye(2)] * 4, words=["yes", "no"])
    >>> print(why(steps, "weights", "yes", "no"))
    weights[yes, no] = e^0.000 / (e^0.707 + e^0.000) = 1.000 / 3.028 = 0.330
    """
    if not isinstance(digits, int | np.integer) or not 0 <= digits <= 15:
        raise ArgumentError(f"digits must be a whole number from 0 to 15, got {digits!r}.")
    cell = _find_cell(steps, stage, row, column, head, sentence)
    expression = EXPRESSIONS[stage](cell)
    value, noise = (float(x) for x in cell.bounded(stage).at(cell.row, cell.column))
    expressions = [expression] if expression.then is None else [expression, expression.then]
    for wider in count():  # as many digits as both the value and its operands can support
        shown = show(value, digits, noise * 10.0**wider)
        # A reader who computes the line by hand may be off by the noise once more.
        rounded = [_round_operands(x, value, shown.tolerance - noise, digits) for x in expressions]
        if wider == MAX_WIDENINGS or all(x.agrees for x in rounded):
            break
    line = _line(str(cell), [x.text for x in rounded], shown.text, expression.note)
    operands = rounded[0].operands
    return Why(
        str(cell), expression.formula, operands, value, shown.tolerance, line, expression.rule
    )


def _line(cell: str, links: list[str], shown: str, note: str) -> str:
    """cell = link = link = value (note), without a link that repeats the value."""
    parts = [cell, *(link for link in links if link and link != shown), shown]
    return " = ".join(parts) + (f" ({note})" if note else "")


class Rounded(NamedTuple):
    """An expression with its operands rounded, and whether these still lead to its value."""

    operands: tuple[float, ...]
    text: str
    agrees: bool


def _round_operands(expression: Expression, value: float, allowed: float, digits: int) -> Rounded:
    """Round the operands as far as the value recomputed from them still agrees.

    No operand is written with more digits than are certain.
    """
    noise = expression.noise or (0.0,) * len(expression.operands)
    for decimals in range(digits, MAX_FLOAT64_DIGITS + 1):
        texts = [
            repr(x) if decimals == MAX_FLOAT64_DIGITS and sure == 0 else operand(x, decimals, sure)
            for x, sure in zip(expression.operands, noise, strict=True)
        ]
        rounded = tuple(float(text) for text in texts)
        agrees = _agrees(expression, rounded, value, allowed)
        if agrees:
            break
    return Rounded(rounded, expression.arithmetic(texts), agrees)


def _agrees(
    expression: Expression, operands: tuple[float, ...], value: float, allowed: float
) -> bool:
    try:
        recomputed = expression.rule(operands)
    except (ZeroDivisionError, OverflowError):  # an operand rounded to 0, or up past the largest
        return False
    return recomputed == value or abs(recomputed - value) <= allowed


def _find_cell(
    steps: Steps, stage: str, row: str | int, column: str | int, head: int, sentence: int
) -> Cell:
    rows, columns = matrix(steps, stage, head, sentence).shape
    words = sentence_words(steps, sentence)
    at = find("row", row, words, rows)
    if stage in BETWEEN_WORDS:
        to = find("column", column, words, columns)
    else:
        to = find_feature("column", column, columns, stage)
    sentences, heads = sizes(steps)
    return Cell(steps, stage, at, to, head % heads, sentence % sentences)


class Share(NamedTuple):
    """A part of a query's attention: the key's name, its name among the values, the weight."""

    name: str
    value: str
    weight: float


def read_row(steps: Steps, row: str | int, *, head: int = 0, sentence: int = 0) -> str:
    """A row of weights as a sentence: the keys that a word looks at, and its output.

    Examples
    --------
    >>> from regard.textbook.steps import self_attention
    >>> steps = self_attention(*[np.eye(2)] * 4, words=["yes", "no"])
    >>> read_row(steps, "yes")
    'yes looks at itself 67 %, at no 33 %; its output is 0.67 of v(yes) + 0.33 of v(no).'
    """
    weights_qk = matrix(steps, "weights", head, sentence)
    at = find("row", row, sentence_words(steps, sentence), len(weights_qk))
    name = labels(steps, len(weights_qk), sentence)[at]
    several = sizes(steps)[1] > 1
    start = f"In head {head}, {name}" if several else name
    result = "its sum in this head" if several else "its output"
    if steps.w_output is not None and not several:
        result = "its output, before w_output,"
    shares = _shares(weights_qk[at], labels(steps, weights_qk.shape[1], sentence), name)
    if not shares:
        return f"{start} may look at nothing; {result} is 0."
    targets = ", ".join(f"at {x.name} {_percent(x.weight)}" for x in shares)
    made = " + ".join(f"{tidy(x.weight):.2f} of {x.value}" for x in shares)
    return f"{start} looks {targets}; {result} is {made}."


def _shares(weights_k: Float64Array, names: tuple[str, ...], query: str) -> list[Share]:
    """The largest weights first, and the rest of a long row as one share."""
    # Equal weights may differ in their last bit; rounded, they keep the order of the sentence.
    largest_first = np.argsort(-weights_k.round(12), kind="stable")
    order = [int(k) for k in largest_first if weights_k[k] > 0]
    all_named = len(order) <= MAX_NAMED_KEYS + 1
    shares = [
        Share("itself" if names[k] == query else names[k], f"v({names[k]})", float(weights_k[k]))
        for k in (order if all_named else order[:MAX_NAMED_KEYS])
    ]
    if not all_named:
        rest = order[MAX_NAMED_KEYS:]
        label = f"{len(rest)} others together"
        shares.append(Share(label, f"the {len(rest)} others", float(weights_k[rest].sum())))
    return shares


def _percent(weight: float) -> str:
    share = tidy(100 * weight)
    return f"{share:.0f} %" if share > 0.5 else "less than 1 %"
