"""Blanks of a worksheet, each with the expression that gives its answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from regard.textbook.why import BETWEEN_WORDS
from regard.view.worksheet.arithmetic import PrintedNumbers, text

WORKED = ("query", "key", "value", "scores", "scaled", "exponentials", "totals", "weights",
          "output")  # fmt: skip


@dataclass(frozen=True)
class Blank:
    """A number to fill in: which one, the expression that makes it, and the answer."""

    number: int
    stage: str
    row: int
    column: int
    cell: str
    expression: str
    answer: str


def find_blanks(printed: PrintedNumbers, rows: Iterable[int]) -> tuple[Blank, ...]:
    """The chosen rows of every stage that is worked out, in the order in which they are."""
    rows = tuple(rows)
    stages = WORKED[WORKED.index(printed.start) :]
    cells = [(s, r, c) for s in stages for r in rows for c in _open_columns(printed, s, r)]
    return tuple(
        Blank(
            number,
            stage,
            row,
            column,
            _name(printed, stage, row, column),
            expression(printed, stage, row, column),
            text(float(printed.array(stage)[row, column]), printed.decimals_of[stage]),
        )
        for number, (stage, row, column) in enumerate(cells, start=1)
    )


def hidden(printed: PrintedNumbers, stage: str, row: int, column: int) -> bool:
    """True where a mask leaves this cell without a number."""
    if printed.steps.masked is None or stage not in ("exponentials", "weights"):
        return False
    return bool(printed.steps.masked[row, column] == -np.inf)


def _open_columns(printed: PrintedNumbers, stage: str, row: int) -> Iterator[int]:
    return (c for c in range(printed.array(stage).shape[1]) if not hidden(printed, stage, row, c))


def _name(printed: PrintedNumbers, stage: str, row: int, column: int) -> str:
    """As Steps.why names a cell; the two stages of the softmax by what they are."""
    if stage == "totals":
        return f"sum of the row of {printed.names[row]}"
    across = stage in (*BETWEEN_WORDS, "exponentials")
    name = "e^" + printed.last if stage == "exponentials" else stage
    return f"{name}[{printed.names[row]}, {printed.names[column] if across else column}]"


def expression(printed: PrintedNumbers, stage: str, row: int, column: int) -> str:
    """The expression to work out, in the numbers that are printed.

    The operands are those of ``Steps.why``, asked of the rounded stages.
    """
    if stage == "exponentials":
        return _exponential(printed, row, column)
    if stage == "totals":
        return " + ".join(_texts(printed, "exponentials", _seen(printed, row)))
    if stage == "weights":
        part = printed.exponentials_qk[row, column], printed.totals_q[row]
        return (
            f"{text(part[0], printed.decimals_of['exponentials'])} / "
            f"{text(part[1], printed.decimals_of['totals'])}"
        )
    operands = printed.steps.why(stage, row, column, digits=printed.digits).operands
    if stage == "scaled":
        return f"{text(operands[0], printed.decimals_of['scores'])} {_by(printed)}"
    return _products(printed, stage, operands)


def _products(printed: PrintedNumbers, stage: str, operands: tuple[float, ...]) -> str:
    of = {"scores": ("query", "key"), "output": ("weights", "value")}
    left, right = of.get(stage, ("x", f"w_{stage}"))
    pairs = zip(
        _texts(printed, left, operands[::2]), _texts(printed, right, operands[1::2]), strict=True
    )
    return " + ".join(f"{a} · {b}" for a, b in pairs)


def _exponential(printed: PrintedNumbers, row: int, column: int) -> str:
    digits = printed.decimals_of[printed.last]
    power = text(float(printed.array(printed.last)[row, column]), digits)
    if printed.highest_q is None:
        return f"e^{power}"
    return f"e^({power} − {_bracketed(text(float(printed.highest_q[row]), digits))})"


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("−") else number


def _by(printed: PrintedNumbers) -> str:
    width = printed.steps.query.shape[1]
    usual = bool(np.isclose(printed.steps.scale, width**-0.5, rtol=1e-12))
    return f"/ √{width}" if usual else f"· {printed.steps.scale:g}"


def _seen(printed: PrintedNumbers, row: int) -> list[float]:
    columns = _open_columns(printed, "exponentials", row)
    return [float(printed.exponentials_qk[row, c]) for c in columns] or [0.0]


def _texts(printed: PrintedNumbers, stage: str, numbers: Iterable[float]) -> list[str]:
    return [text(number, printed.decimals_of[stage]) for number in numbers]
