"""Steps and published examples in a terminal: each formula next to its matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderResult
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from regard.errors import count
from regard.textbook.digits import tidy
from regard.textbook.examples.story import Claim, Example, Numbers
from regard.textbook.steps import Steps
from regard.textbook.why import BETWEEN_WORDS, has_heads, labels, matrix, sentence_words, sizes
from regard.typing import Float64Array
from regard.view.terminal.style import ELLIPSIS, shorten

MAX_ROWS = 12


@dataclass(frozen=True)
class Matrix:
    """Numbers with a name for each row and column."""

    array: Float64Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def draw_matrix(matrix: Matrix, max_width: int) -> Table:
    """As many columns as fit into ``max_width``, from both ends; all rows of a short matrix."""
    rows = _chosen(len(matrix.rows), MAX_ROWS)
    names = [shorten(matrix.rows[i]) if i is not None else ELLIPSIS for i in rows]
    room = max_width - max(map(len, names), default=0)
    # Only what may be shown is written: a number and its blank take two characters at least.
    near = [j for j in _chosen(len(matrix.columns), max(2, room // 2)) if j is not None]
    form = number_form(matrix.array)
    texts = {
        i: {j: number_text(matrix.array[i, j], form) for j in near} for i in rows if i is not None
    }
    columns = _columns_that_fit(matrix, texts, near, room)
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    for _ in columns:
        table.add_column(justify="right", no_wrap=True)
    headings = [shorten(matrix.columns[j]) if j is not None else ELLIPSIS for j in columns]
    table.add_row("", *(Text(x, style="bold") for x in headings))
    for i, name in zip(rows, names, strict=True):
        cells = [ELLIPSIS if i is None or j is None else texts[i][j] for j in columns]
        table.add_row(Text(name), *(Text(cell, style=_style(cell)) for cell in cells))
    return table


def number_form(array: Float64Array, digits: int = 3) -> str:
    """One format for every number of a matrix, so that a column of them can be compared.

    >>> number_form(np.array([[0.5, -np.inf], [1.0, 2.0]])), number_form(np.array([2e7]))
    ('.3f', '.2e')
    """
    finite = np.abs(array[np.isfinite(array)])
    largest = float(finite.max(initial=0))
    if largest >= 1e5 or 0 < largest < 0.01:
        return ".2e"
    return f".{max(0, digits - max(0, len(str(int(largest))) - 3))}f"


def number_text(number: float, form: str) -> str:
    """A number in this form, zero without a sign."""
    text = f"{tidy(float(number)):{form}}"
    return text[1:] if text.startswith("-") and not text.strip("-0.e+") else text


def _columns_that_fit(
    matrix: Matrix, texts: dict[int, dict[int, str]], near: list[int], room: int
) -> list[int | None]:
    """Try ever fewer columns, half of them from each end."""
    width = {
        j: 1 + max([len(shorten(matrix.columns[j])), *(len(row[j]) for row in texts.values())])
        for j in near
    }
    for most in range(len(near), 1, -1):
        columns = _chosen(len(matrix.columns), most)
        if sum(2 if j is None else width[j] for j in columns) <= room:
            return columns
    return _chosen(len(matrix.columns), 2)


def _chosen(size: int, most: int) -> list[int | None]:
    """All indices, or those of both ends with None for what is between.

    >>> _chosen(3, 4), _chosen(9, 4)
    ([0, 1, 2], [0, 1, None, 7, 8])
    """
    if size <= most:
        return list(range(size))
    front = (most + 1) // 2
    return [*range(front), None, *range(size - most + front, size)]


def _style(cell: str) -> str:
    return "dim" if cell in (ELLIPSIS, "-inf") else ""


LABEL_COLUMNS = 20  # columns for the formula
MAX_HEADS = 4
MAX_SENTENCES = 4


class Stage:
    """A formula on the left, its matrix on the right in the width that is left."""

    def __init__(self, label: Text, numbers: Matrix) -> None:
        self.label, self.numbers = label, numbers

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Two columns; the blank one between them belongs to the left."""
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=LABEL_COLUMNS, overflow="fold")
        table.add_column()
        table.add_row(self.label, draw_matrix(self.numbers, options.max_width - LABEL_COLUMNS - 2))
        yield Padding(table, (0, 0, 1, 0))


def draw_steps(steps: Steps) -> Group:
    """Every stage in the order it was made, for each sentence and head."""
    sentences, heads = sizes(steps)
    parts: list[ConsoleRenderable] = [Padding(Text(_opening(steps)), (0, 0, 1, 0))]
    for sentence in range(min(sentences, MAX_SENTENCES)):
        if sentences > 1:
            words = " ".join(sentence_words(steps, sentence))
            parts.append(Padding(Text(f"sentence {sentence}: {words}", "bold"), (0, 0, 1, 0)))
        parts += _stages(steps, sentence, min(heads, MAX_HEADS))
    omitted = _omitted(sentences, heads)
    return Group(*parts, *([Text(omitted)] if omitted else []))


def formulas(steps: Steps) -> dict[str, str]:
    """Formula of each stage, in the names of the others.

    >>> import numpy as np
    >>> from regard.textbook.steps import attend
    >>> formulas(attend(np.eye(2), np.eye(2), np.eye(2)))["scaled"]
    'scores / √2'
    """
    width = steps.query.shape[-1]
    by_root = math.isclose(steps.scale, 1 / math.sqrt(max(1, width)), rel_tol=1e-12)
    last = next(x for x in ("masked", "capped", "scaled") if getattr(steps, x) is not None)
    before_mask = "scaled" if steps.capped is None else "capped"
    sums = "weights · value"
    joined = "sums, heads side by side" + (" · w_output" if steps.w_output is not None else "")
    made = {x: f"x · w_{x}" if steps.x is not None else "given" for x in ("query", "key", "value")}
    return made | {
        "x": "one row a word",
        "scores": "query · keyᵀ",
        "scaled": f"scores / √{width}{_root(width)}" if by_root else f"scores · {steps.scale:.4g}",
        "capped": f"c · tanh(scaled / c), c = {steps.softcap}",
        "masked": f"{before_mask} + mask, -inf where hidden",
        "weights": f"softmax({last}): each row sums to 1",
        "sums": sums,
        "output": sums if steps.sums is None else joined,
    }


def _stages(steps: Steps, sentence: int, heads: int) -> Iterator[Stage]:
    for name in steps.stages():
        for head in range(heads if has_heads(steps, name) else 1):
            array = matrix(steps, name, head, sentence)
            rows = labels(steps, len(array), sentence)
            columns = tuple(str(i) for i in range(array.shape[1]))
            if name in BETWEEN_WORDS:
                columns = labels(steps, array.shape[1], sentence)
            yield Stage(_stage_label(steps, name, head, array.shape), Matrix(array, rows, columns))


def _stage_label(steps: Steps, name: str, head: int, shape: tuple[int, ...]) -> Text:
    """The stage's name, its formula, its shape, and what rows and columns are."""
    of_head = f", head {head}" if has_heads(steps, name) else ""
    text = Text().append(name + of_head, "bold")
    text.append(f"\n{'' if name == 'x' else '= '}{formulas(steps)[name]}")
    text.append(f"\n{shape[0]} × {shape[1]}", "dim")
    if name in BETWEEN_WORDS:
        text.append("\nrows are queries,\ncolumns are keys", "dim")
    return text


def _opening(steps: Steps) -> str:
    sentences, heads = sizes(steps)
    words = sentence_words(steps)
    listed = f"tokens ({len(words)}): {' '.join(words)}\n" if words and sentences == 1 else ""
    shapes = ", ".join(f"{name} {stage.shape}" for name, stage in steps.stages().items())
    return f"{listed}{count(sentences, 'sentence')}, {count(heads, 'head')}; shapes: {shapes}"


def _root(width: int) -> str:
    """The root in brackets where it is a whole number."""
    root = math.isqrt(width)
    return f" (= {root})" if root > 1 and root * root == width else ""


def _omitted(sentences: int, heads: int) -> str:
    parts = [
        f"{size - most} more {what}"
        for size, most, what in (
            (sentences, MAX_SENTENCES, "sentences"),
            (heads, MAX_HEADS, "heads"),
        )
        if size > most
    ]
    return f"Not shown: {' and '.join(parts)}; --json or to_dict() has everything." if parts else ""


def draw_example(example: Example) -> Group:
    """The document's computation, recomputed step by step, and its claims corrected."""
    wrong = sum(not claim.agrees for claim in example.claims)
    return Group(
        Rule(Text(f"{example.name}: {example.sentence}", "bold"), characters="═"),
        Text(f"Document: {example.title}"),
        Text(),
        *_section("What the document computes", _paragraph(example.computes)),
        *_section("The steps, computed here from its inputs", draw_steps(example.steps)),
        *_section(
            "What the document prints, what is true, where they differ",
            *(_draw_claim(claim) for claim in example.claims),
        ),
        *_section("What it means", *(_paragraph(remark) for remark in example.remarks)),
        Text(
            f"{count(len(example.claims), 'claim')} weighed: {len(example.claims) - wrong} hold, "
            f"{wrong} {'does' if wrong == 1 else 'do'} not.",
            "bold",
        ),
    )


def _section(title: str, *parts: ConsoleRenderable) -> list[ConsoleRenderable]:
    return [Rule(Text(title), align="left"), *parts]


def _draw_claim(claim: Claim) -> Padding:
    """The numbers under each other, so that the eye can compare them."""
    verdict = Text("agrees", "green") if claim.agrees else Text("DIFFERS", "bold red")
    lines = [("the document prints", claim.printed), ("true", claim.true)]
    if claim.follows is not None:
        lines.insert(1, claim.follows)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for (label, _), text in zip(lines, aligned([value for _, value in lines]), strict=True):
        table.add_row(Text(f"  {label}"), Text(text))
    title = Text.assemble((claim.about, "bold"), ": ", verdict)
    why = [Padding(Text(claim.because), (0, 0, 0, 2))] if claim.because else []
    return Padding(Group(title, table, *why), (0, 0, 1, 0))


def aligned(values: list[Numbers | str]) -> list[str]:
    """Rows of numbers with each number under its like; text stays as it is.

    >>> aligned([(0.0, 0.19), (0.0983, 0.2)])
    ['0      0.19', '0.098  0.2']
    """
    rows = [[_short(x) for x in value] for value in values if not isinstance(value, str)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=False)]
    texts = iter("  ".join(f"{x:<{w}}" for x, w in zip(r, widths, strict=False)) for r in rows)
    return [value if isinstance(value, str) else next(texts).rstrip() for value in values]


def _short(x: float) -> str:
    """A printed 0.19 stays 0.19; a computed number gets three decimals."""
    x = tidy(x)
    return f"{x:g}" if x == round(x, 2) else f"{x:.3f}"


def _paragraph(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 1, 0))
