"""Worksheet: self-attention of a small sentence with blanks to fill in, questions, and the key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np

from regard.atomic_write import write_text
from regard.errors import ArgumentError
from regard.text.vectors import split
from regard.textbook.stages import softmax
from regard.textbook.steps import Steps, self_attention
from regard.textbook.why import BETWEEN_WORDS, find, sentence_words
from regard.typing import Float64Array
from regard.view.page.single_file import single_file
from regard.view.worksheet.arithmetic import PrintedNumbers, check_words, half_up, round_steps, text

WORKED_STAGES = (
    *("query", "key", "value", "scores", "scaled", "exponentials", "totals", "weights", "output"),
)
CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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
    stages = WORKED_STAGES[WORKED_STAGES.index(printed.start) :]
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


MAX_DRAWS = 500
MAX_SCORE = 4.0  # e^4 is 55, the largest number on a sheet
CLEAR_WEIGHT_RANGE = (0.4, 0.85)  # of a row's largest weight: neither flat nor all on one word


def by_hand(sentence: str, width: int = 2, seed: int = 0) -> Steps:
    """Whole numbers drawn at random until they make scores that are neither flat nor huge.

    A word that occurs twice has the same vector twice.

    >>> by_hand("I am good").x
    array([[1., 1.],
           [2., 1.],
           [1., 0.]])
    """
    words = split(sentence)
    check_words(len(words))
    if not 1 <= width <= 4:
        raise ArgumentError(f"width must be 1 to 4, to be worked out by hand, got {width}.")
    if seed < 0:
        raise ArgumentError(f"seed must be at least 0, got {seed}.")
    random = np.random.default_rng(seed)
    tries = (_draw(words, width, random) for _ in range(MAX_DRAWS))
    best, fewest = next(tries), len(words) * 100
    for steps in tries:
        faults = _faults(steps)
        if faults < fewest:
            best, fewest = steps, faults
        if fewest == 0:
            break
    return best


def _draw(words: tuple[str, ...], width: int, random: np.random.Generator) -> Steps:
    """Draw a vector for each word, all different and none 0 while there are enough of them."""
    kinds = list(dict.fromkeys(words))
    top = 2 + int(len(kinds) > 3) + int(len(kinds) > 7)
    vectors = np.array(list(product(range(top + 1), repeat=width))[1:])
    chosen = random.permutation(len(vectors))
    of = {word: vectors[chosen[i % len(chosen)]] for i, word in enumerate(kinds)}
    matrices = [_matrix(width, random) for _ in range(3)]
    return self_attention([of[word] for word in words], *matrices, words=words)


def _matrix(width: int, random: np.random.Generator) -> Float64Array:
    """Entries -1, 0 and 1, with a determinant that is not 0, so that no information is lost."""
    while True:
        matrix = random.integers(-1, 2, (width, width)).astype(np.float64)
        if abs(np.linalg.det(matrix)) > 0.5:
            return matrix


def _faults(steps: Steps) -> int:
    largest_q = steps.weights.max(axis=1)
    dull = (largest_q < CLEAR_WEIGHT_RANGE[0]) | (largest_q > CLEAR_WEIGHT_RANGE[1])
    return int((np.abs(steps.scaled) > MAX_SCORE).sum() + dull.sum())


@dataclass(frozen=True)
class Question:
    """A question about the numbers, and its answer."""

    asks: str
    answer: str


@dataclass(frozen=True)
class Worksheet:
    """Content of a printed sheet: the numbers, which of them are blank, and the questions."""

    title: str
    printed: PrintedNumbers
    rows: tuple[int, ...]
    blanks: tuple[Blank, ...]
    questions: tuple[Question, ...]
    width: int
    note: str = ""

    def html(self, *, answers: bool = True) -> str:
        """One HTML document that prints on A4; the key, if wanted, begins a page of its own."""
        return document(self, answers=answers)

    def save(self, path: str | Path, *, answers: bool = True) -> Path:
        path = Path(path)
        write_text(path, self.html(answers=answers))
        return path

    def _repr_html_(self) -> str:
        from regard.view.page.notebook import framed

        return framed(self.html(), f"Worksheet: {self.title}")


def worksheet(
    steps: Steps,
    row: str | int | None = None,
    *,
    every_row: bool = False,
    head: int = 0,
    sentence: int = 0,
    digits: int = 2,
    note: str = "",
) -> Worksheet:
    """Leave out the numbers of one word's row, or of every row, and ask for them.

    Without ``row`` it is the row whose largest weight stands out most. Each number of the key
    follows from the printed ones: every result is rounded before it is used again.

    Examples
    --------
    >>> from regard.textbook.examples import run_example
    >>> sheet = worksheet(run_example("robots").steps, "robots")
    >>> print(sheet.blanks[10].cell, "=", sheet.blanks[10].expression, "=", sheet.blanks[10].answer)
    scores[robots, tasks] = 0 · 0 + 1 · 2 = 2
    """
    printed = round_steps(steps, head, sentence, digits)
    words = sentence_words(steps, sentence)
    chosen = _clearest_row(printed) if row is None else find("row", row, words, len(printed.names))
    rows = tuple(range(len(printed.names))) if every_row else (chosen,)
    return Worksheet(
        " ".join(words) or f"{len(printed.names)} words",
        printed,
        rows,
        find_blanks(printed, rows),
        (_sum(printed, chosen), _most(printed, chosen), _undivided(printed, chosen)),
        steps.query.shape[-1],
        note,
    )


def _clearest_row(printed: PrintedNumbers) -> int:
    weights = printed.steps.weights
    if weights.shape[1] < 2:
        return 0
    ordered = np.sort(weights, axis=1)
    # A word that may look at one word only has nothing to weigh.
    seen = (weights > 0).sum(axis=1) > 1
    return int(np.argmax(np.where(seen, ordered[:, -1] - ordered[:, -2], -1).round(9)))


def _sum(printed: PrintedNumbers, row: int) -> Question:
    weights = printed.steps.weights[row]
    total = text(float(half_up(weights.sum(), printed.digits)), printed.digits)
    why = "" if float(total) == 1 else " Rounding moved it; unrounded, it is 1."
    return Question(
        f"Add up the weights of “{printed.names[row]}”. What should come out, and why?",
        f"{' + '.join(text(w, printed.decimals_of['weights']) for w in weights)} = {total}. "
        f"Each weight is a share of the row's sum, so together they are 1.{why}",
    )


def _most(printed: PrintedNumbers, row: int) -> Question:
    weights = printed.steps.weights[row]
    names = [printed.names[k] for k in np.flatnonzero(weights == weights.max())]
    share = text(float(weights.max()), printed.decimals_of["weights"])
    return Question(
        f"Whom does “{printed.names[row]}” look at most?",
        f"{' and '.join(names)}: {share}{' each' if len(names) > 1 else ''} of its attention.",
    )


def _undivided(printed: PrintedNumbers, row: int) -> Question:
    scores = printed.steps.scores[row]
    if printed.steps.masked is not None:
        scores = np.where(np.isfinite(printed.steps.masked[row]), scores, -np.inf)
    weights = half_up(softmax(scores[None])[0], printed.digits)
    before = text(float(printed.steps.weights[row].max()), printed.digits)
    after = text(float(weights.max()), printed.digits)
    listed = " ".join(text(w, printed.digits) for w in weights)
    return Question(
        "Leave out the division. Does the largest weight grow or shrink? Guess first.",
        f"The weights become {listed}: the largest goes from {before} to {after}.",
    )


def document(sheet: Worksheet, *, answers: bool) -> str:
    """The worksheet in one HTML file, with or without its key."""
    folder = files("regard.view.worksheet")
    steps = f"<main>{''.join(_steps(sheet))}</main>"
    body = [_head(sheet), steps, _questions(sheet), *([_key(sheet)] if answers else [])]
    html = single_file(
        (folder / "worksheet.html").read_text(encoding="utf-8"),
        style=(folder / "style.css").read_text(encoding="utf-8"),
        body="\n".join(body),
        title=f"Self-attention by hand: {sheet.title}",
    )
    # HTML has no control characters, and a terminal, where it may be printed, would obey them.
    return CONTROL_CHARACTER.sub(lambda x: x[0].encode("unicode_escape").decode("ascii"), html)


def _head(sheet: Worksheet) -> str:
    blanks = len(sheet.blanks)
    note = f"<p>{escape(sheet.note)}</p>" if sheet.note else ""
    return (
        '<header><p class="who">Name <span></span> Date <span></span></p>'
        f'<h1>Self-attention by hand</h1><p class="sentence" dir="auto">{escape(sheet.title)}</p>'
        f"{note}<p>Fill in the {blanks} numbered boxes, in order; a calculator helps with e and √. "
        f"{_rounding(sheet)} Go on with the rounded number: then your results are those of the "
        "key, to the last digit. Rows are queries (who looks), columns are keys (who is looked at)."
        "</p></header>"
    )


def _rounding(sheet: Worksheet) -> str:
    digits, finer = sheet.printed.digits, sheet.printed.highest_q is not None
    rest = f", but powers of e to {digits + 1}" if finer else ""
    return (
        f"Round each result to {_decimals(digits)}{rest} (a final 5 goes up, away from zero); "
        "whole numbers stay whole."
    )


def _decimals(digits: int) -> str:
    return f"{digits} decimal{'s' if digits > 1 else ''}"


def _steps(sheet: Worksheet) -> list[str]:
    """One numbered step after the other, each with the tables it needs."""
    printed, width = sheet.printed, sheet.width
    by = f"√{width}" if abs(printed.steps.scale - width**-0.5) < 1e-9 else ""
    scaled = f"Divide each score by {by}." if by else f"Multiply each by {printed.steps.scale:g}."
    steps = [
        ("Query, key and value", "Multiply x by each matrix.", ("query", "key", "value")),
        ("Scores", "query · key: multiply number by number and add up.", ("scores",)),
        ("Scaled", scaled, ("scaled",)),
        ("Powers of e", _powers(sheet), ("exponentials", "totals")),
        ("Weights", "Divide each power by its row's sum.", ("weights",)),
        ("Output", "weights · value, column by column.", ("output",)),
    ]
    given = {
        "query": ("x", "w_query", "w_key", "w_value"),
        "scores": ("query", "key", "value"),
        "scaled": ("scores", "value"),
    }[printed.start]
    why = ""
    if printed.start == "scaled":
        why = (
            f"Queries and keys have {width} numbers each here, too many to multiply by hand. So "
            "the scores are given, and of the values the first columns."
        )
    parts = [_section("Given", why, [_table(sheet, stage) for stage in given])]
    done = WORKED_STAGES.index(printed.start)
    for title, how, stages in steps:
        if WORKED_STAGES.index(stages[0]) >= done:
            tables = [_table(sheet, stage) for stage in stages if stage != "totals"]
            parts.append(_section(title, how, tables, len(parts)))
    return parts


def _powers(sheet: Worksheet) -> str:
    hidden_too = " A hidden word gets nothing: its power is 0." if _has_mask(sheet) else ""
    if sheet.printed.highest_q is None:
        return f"e to the power of each scaled score, then the sum of the row.{hidden_too}"
    return (
        "First take the row's highest scaled score away from each (the weights stay the same, and "
        f"no number gets huge), then e to that power, then the sum of the row.{hidden_too}"
    )


def _has_mask(sheet: Worksheet) -> bool:
    return sheet.printed.steps.masked is not None


def _section(title: str, how: str, tables: Iterable[str], number: int = 0) -> str:
    label = f"{number}. {title}" if number else title
    about = f"<p>{escape(how)}</p>" if how else ""
    return f"<section><h2>{escape(label)}</h2>{about}<div>{''.join(tables)}</div></section>"


def _table(sheet: Worksheet, stage: str) -> str:
    """A stage as a table: boxes to fill in, and the row's sum next to the powers of e."""
    printed = sheet.printed
    array, boxes = printed.array(stage), {(b.stage, b.row, b.column): b for b in sheet.blanks}
    between = stage in (*BETWEEN_WORDS, "exponentials")
    columns = printed.names if between else tuple(str(c) for c in range(array.shape[1]))
    rows = tuple(str(r) for r in range(len(array))) if stage[:2] == "w_" else printed.names
    with_sum = stage == "exponentials"
    heading = "".join(f'<th scope="col" dir="auto">{escape(c)}</th>' for c in columns)
    lines = []
    for r, name in enumerate(rows):
        cells = [_cell(sheet, boxes, stage, r, c) for c in range(len(columns))]
        cells += [_cell(sheet, boxes, "totals", r, 0)] if with_sum else []
        lines.append(f'<tr><th scope="row" dir="auto">{escape(name)}</th>{"".join(cells)}</tr>')
    return (
        f"<table><caption>{escape(_caption(sheet, stage))}</caption><thead><tr><td></td>{heading}"
        f"{'<th scope=col>sum</th>' if with_sum else ''}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _cell(
    sheet: Worksheet, boxes: dict[tuple[str, int, int], Blank], stage: str, row: int, column: int
) -> str:
    if (stage, row, column) in boxes:
        return f'<td class="box"><small>{boxes[stage, row, column].number}</small></td>'
    if hidden(sheet.printed, stage, row, column):
        return '<td class="hidden">hidden</td>'
    value = float(sheet.printed.array(stage)[row, column])
    return f"<td>{text(value, sheet.printed.decimals_of[stage])}</td>"


def _caption(sheet: Worksheet, stage: str) -> str:
    return f"e^{sheet.printed.last}" if stage == "exponentials" else stage


def _questions(sheet: Worksheet) -> str:
    lines = "".join(f'<li>{escape(q.asks)}<span class="line"></span></li>' for q in sheet.questions)
    return f'<section><h2>And then</h2><ol type="a">{lines}</ol></section>'


def _key(sheet: Worksheet) -> str:
    """Every blank with the expression that makes it, and the error of rounding."""
    lines = "".join(
        f'<li value="{b.number}"><span dir="auto">{escape(b.cell)}</span> = '
        f"{escape(b.expression)} = <b>{escape(b.answer)}</b></li>"
        for b in sheet.blanks
    )
    asked = "".join(f"<li>{escape(question.answer)}</li>" for question in sheet.questions)
    drift = sheet.printed.drift
    return (
        f'<article><h1>Key</h1><p class="sentence" dir="auto">{escape(sheet.title)}</p>'
        f'<ol class="key">{lines}</ol><ol type="a">{asked}</ol>'
        "<p>Each number follows from those printed on the sheet, rounded as the sheet says. "
        f"Computed without rounding, weights differ by at most {drift['weights']:.3f} from these, "
        f"outputs by at most {drift['output']:.3f}.</p></article>"
    )
