"""Explanations of Steps: a cell by its expression, a row of weights in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regard.display import TextDisplay
from regard.errors import ArgumentError
from regard.textbook.cells import (
    BETWEEN_WORDS,
    EXPRESSIONS,
    Cell,
    find,
    find_feature,
    labels,
    matrix,
    sizes,
    words_of,
)
from regard.textbook.digits import operand, show, tidy
from regard.textbook.expressions import Expression
from regard.typing import Float64Array

if TYPE_CHECKING:
    from regard.textbook.steps import Steps


NAMED = 5  # keys named before the rest are taken together


class Share(NamedTuple):
    """A part of a query's attention: the key's name, its name among the values, the weight."""

    name: str
    value: str
    weight: float


def read_row(steps: Steps, row: str | int, *, head: int = 0, sentence: int = 0) -> str:
    """A row of weights in words: the keys that a word attends to, and its output.

    Examples
    --------
    >>> from regard.textbook.steps import self_attention
    >>> steps = self_attention(*[np.eye(2)] * 4, words=["yes", "no"])
    >>> read_row(steps, "yes")
    'yes looks at itself 67 %, at no 33 %; its output is 0.67 of v(yes) + 0.33 of v(no).'
    """
    weights_qk = matrix(steps, "weights", head, sentence)
    at = find("row", row, words_of(steps, sentence), len(weights_qk))
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
    """The largest weights first, what remains of a long row together."""
    # Equal weights may differ in their last bit; rounded, they keep the order of the sentence.
    largest_first = np.argsort(-weights_k.round(12), kind="stable")
    order = [int(k) for k in largest_first if weights_k[k] > 0]
    all_named = len(order) <= NAMED + 1
    shares = [
        Share("itself" if names[k] == query else names[k], f"v({names[k]})", float(weights_k[k]))
        for k in (order if all_named else order[:NAMED])
    ]
    if not all_named:
        rest = order[NAMED:]
        label = f"{len(rest)} others together"
        shares.append(Share(label, f"the {len(rest)} others", float(weights_k[rest].sum())))
    return shares


def _percent(weight: float) -> str:
    share = tidy(100 * weight)
    return f"{share:.0f} %" if share > 0.5 else "less than 1 %"


EXACT = 18  # more digits than any float64 has
WIDEST = 20  # steps from the last digit of a float64 to where a value counts as 0


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
        raise ArgumentError(f"digits needs a whole number from 0 to 15, but it is {digits!r}.")
    cell = _find_cell(steps, stage, row, column, head, sentence)
    expression = EXPRESSIONS[stage](cell)
    value, noise = (float(x) for x in cell.bounded(stage).at(cell.row, cell.column))
    expressions = [expression] if expression.then is None else [expression, expression.then]
    for wider in count():  # as many digits as both the value and its operands can support
        shown = show(value, digits, noise * 10.0**wider)
        # What a reader works out may differ from the rule by as much again as the noise.
        rounded = [_round_operands(x, value, shown.tolerance - noise, digits) for x in expressions]
        if wider == WIDEST or all(x.agrees for x in rounded):
            break
    line = _line(str(cell), [x.text for x in rounded], shown.text, expression.note)
    operands = rounded[0].operands
    return Why(
        str(cell), expression.formula, operands, value, shown.tolerance, line, expression.rule
    )


def _line(cell: str, links: list[str], shown: str, note: str) -> str:
    """cell = link = link = value (note); a number that is its own value is not said twice."""
    parts = [cell, *(link for link in links if link and link != shown), shown]
    return " = ".join(parts) + (f" ({note})" if note else "")


class Rounded(NamedTuple):
    """An expression with its operands rounded, and whether these still lead to its value."""

    operands: tuple[float, ...]
    text: str
    agrees: bool


def _round_operands(expression: Expression, value: float, allowed: float, digits: int) -> Rounded:
    """Round the operands as far as the value recomputed from them still holds.

    None is written with more digits than are sure.
    """
    noise = expression.noise or (0.0,) * len(expression.operands)
    for decimals in range(digits, EXACT + 1):
        texts = [
            repr(x) if decimals == EXACT and sure == 0 else operand(x, decimals, sure)
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
    words = words_of(steps, sentence)
    at = find("row", row, words, rows)
    if stage in BETWEEN_WORDS:
        to = find("column", column, words, columns)
    else:
        to = find_feature("column", column, columns, stage)
    sentences, heads = sizes(steps)
    return Cell(steps, stage, at, to, head % heads, sentence % sentences)
