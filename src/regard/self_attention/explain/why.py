"""Why a cell holds the number it holds: the expression that made it, with its operands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import ArgumentError
from regard.self_attention.explain.cells import EXPRESSIONS, Cell
from regard.self_attention.explain.digits import show, write
from regard.self_attention.explain.expressions import Expression
from regard.self_attention.explain.places import (
    BETWEEN_WORDS,
    find,
    find_feature,
    matrix,
    sizes,
    words_of,
)

if TYPE_CHECKING:
    from regard.self_attention.steps import Steps

EXACT = 18  # more digits than any float64 has


@dataclass(frozen=True)
class Why:
    """One cell: what it is called, the formula, the operands as shown, the value as stored.

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
    steps: "Steps",
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
    >>> from regard.self_attention.steps import self_attention
    >>> steps = self_attention(*[np.eye(2)] * 4, words=["yes", "no"])
    >>> print(why(steps, "weights", "yes", "no"))
    weights[yes, no] = e^0.000 / (e^0.707 + e^0.000) = 1.000 / 3.028 = 0.330
    """
    if not isinstance(digits, int | np.integer) or not 0 <= digits <= 15:
        raise ArgumentError(f"digits needs a whole number from 0 to 15, but it is {digits!r}.")
    cell = _find_cell(steps, stage, row, column, head, sentence)
    value = float(cell.of(stage)[cell.row, cell.column])
    expression = EXPRESSIONS[stage](cell)
    shown = show(value, digits, expression.noise)
    # What a reader works out may differ from the rule by as much again as the noise.
    room = shown.tolerance - expression.noise
    operands, text = _settle(expression, value, room, digits)
    links = [text]
    if expression.then is not None:
        links.append(_settle(expression.then, value, room, digits)[1])
    line = _line(str(cell), links, shown.text, expression.note)
    return Why(
        str(cell), expression.formula, operands, value, shown.tolerance, line, expression.rule
    )


def _line(cell: str, links: list[str], shown: str, note: str) -> str:
    """cell = link = link = value (note); a number that is its own value is not said twice."""
    parts = [cell, *(link for link in links if link and link != shown), shown]
    return " = ".join(parts) + (f" ({note})" if note else "")


def _settle(
    expression: Expression, value: float, room: float, digits: int
) -> tuple[tuple[float, ...], str]:
    """Round the operands as far as the value recomputed from them still holds."""
    for places in range(digits, EXACT + 1):
        texts = [repr(x) if places == EXACT else write(x, places) for x in expression.operands]
        rounded = tuple(float(text) for text in texts)
        if places == EXACT or _agrees(expression, rounded, value, room):
            break
    return rounded, expression.arithmetic(texts)


def _agrees(expression: Expression, operands: tuple[float, ...], value: float, room: float) -> bool:
    try:
        found = expression.rule(operands)
    except (ZeroDivisionError, OverflowError):  # an operand rounded to 0, or up past the largest
        return False
    return found == value or abs(found - value) <= room


def _find_cell(
    steps: "Steps", stage: str, row: str | int, column: str | int, head: int, sentence: int
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
