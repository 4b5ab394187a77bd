"""Which numbers the reader fills in, and for each of them the expression that makes it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from regard.textbook.cells import BETWEEN_WORDS
from regard.view.worksheet.arithmetic import Paper, text

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


def find_blanks(paper: Paper, rows: Iterable[int]) -> tuple[Blank, ...]:
    """The chosen rows of every stage that is worked out, in the order in which they are."""
    rows = tuple(rows)
    stages = WORKED[WORKED.index(paper.start) :]
    places = [(s, r, c) for s in stages for r in rows for c in _open_columns(paper, s, r)]
    return tuple(
        Blank(
            number,
            stage,
            row,
            column,
            _name(paper, stage, row, column),
            expression(paper, stage, row, column),
            text(float(paper.array(stage)[row, column]), paper.places[stage]),
        )
        for number, (stage, row, column) in enumerate(places, start=1)
    )


def hidden(paper: Paper, stage: str, row: int, column: int) -> bool:
    """Whether a mask leaves this cell without a number of its own."""
    if paper.steps.masked is None or stage not in ("exponentials", "weights"):
        return False
    return bool(paper.steps.masked[row, column] == -np.inf)


def _open_columns(paper: Paper, stage: str, row: int) -> Iterator[int]:
    return (c for c in range(paper.array(stage).shape[1]) if not hidden(paper, stage, row, c))


def _name(paper: Paper, stage: str, row: int, column: int) -> str:
    """As Steps.why names a cell; the two stages of the softmax by what they are."""
    if stage == "totals":
        return f"sum of the row of {paper.names[row]}"
    across = stage in (*BETWEEN_WORDS, "exponentials")
    name = "e^" + paper.last if stage == "exponentials" else stage
    return f"{name}[{paper.names[row]}, {paper.names[column] if across else column}]"


def expression(paper: Paper, stage: str, row: int, column: int) -> str:
    """What to work out, in the numbers that stand on the paper.

    The operands are those of ``Steps.why``, asked of the rounded stages.
    """
    if stage == "exponentials":
        return _exponential(paper, row, column)
    if stage == "totals":
        return " + ".join(_texts(paper, "exponentials", _seen(paper, row)))
    if stage == "weights":
        part = paper.exponentials_qk[row, column], paper.totals_q[row]
        return (
            f"{text(part[0], paper.places['exponentials'])} / "
            f"{text(part[1], paper.places['totals'])}"
        )
    operands = paper.steps.why(stage, row, column, digits=paper.digits).operands
    if stage == "scaled":
        return f"{text(operands[0], paper.places['scores'])} {_by(paper)}"
    return _products(paper, stage, operands)


def _products(paper: Paper, stage: str, operands: tuple[float, ...]) -> str:
    of = {"scores": ("query", "key"), "output": ("weights", "value")}
    left, right = of.get(stage, ("x", f"w_{stage}"))
    pairs = zip(
        _texts(paper, left, operands[::2]), _texts(paper, right, operands[1::2]), strict=True
    )
    return " + ".join(f"{a} · {b}" for a, b in pairs)


def _exponential(paper: Paper, row: int, column: int) -> str:
    places = paper.places[paper.last]
    power = text(float(paper.array(paper.last)[row, column]), places)
    if paper.highest_q is None:
        return f"e^{power}"
    return f"e^({power} − {_bracketed(text(float(paper.highest_q[row]), places))})"


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("−") else number


def _by(paper: Paper) -> str:
    width = paper.steps.query.shape[1]
    usual = bool(np.isclose(paper.steps.scale, width**-0.5, rtol=1e-12))
    return f"/ √{width}" if usual else f"· {paper.steps.scale:g}"


def _seen(paper: Paper, row: int) -> list[float]:
    columns = _open_columns(paper, "exponentials", row)
    return [float(paper.exponentials_qk[row, c]) for c in columns] or [0.0]


def _texts(paper: Paper, stage: str, numbers: Iterable[float]) -> list[str]:
    return [text(number, paper.places[stage]) for number in numbers]
