"""Steps in a terminal: each stage's formula beside its matrix, words as headings."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.errors import count
from regard.textbook.steps import Steps
from regard.textbook.why import (
    BETWEEN_WORDS,
    has_heads,
    labels,
    matrix,
    sentence_words,
    sizes,
)
from regard.view.terminal.table import Matrix, draw_matrix

LABEL_WIDTH = 20  # columns for the formula
MOST_HEADS = 4
MOST_SENTENCES = 4


class Stage:
    """A formula on the left, its matrix on the right in the width that is left."""

    def __init__(self, label: Text, numbers: Matrix) -> None:
        self.label, self.numbers = label, numbers

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Two columns; the blank one between them belongs to the left."""
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(width=LABEL_WIDTH, overflow="fold")
        table.add_column()
        table.add_row(self.label, draw_matrix(self.numbers, options.max_width - LABEL_WIDTH - 2))
        yield Padding(table, (0, 0, 1, 0))


def draw_steps(steps: Steps) -> Group:
    """Every stage in the order it was made, for each sentence and head."""
    sentences, heads = sizes(steps)
    parts: list[ConsoleRenderable] = [Padding(Text(_opening(steps)), (0, 0, 1, 0))]
    for sentence in range(min(sentences, MOST_SENTENCES)):
        if sentences > 1:
            words = " ".join(sentence_words(steps, sentence))
            parts.append(Padding(Text(f"sentence {sentence}: {words}", "bold"), (0, 0, 1, 0)))
        parts += _stages(steps, sentence, min(heads, MOST_HEADS))
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
    """The sentence, and the true shape of everything."""
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
            (sentences, MOST_SENTENCES, "sentences"),
            (heads, MOST_HEADS, "heads"),
        )
        if size > most
    ]
    return f"Not shown: {' and '.join(parts)}; --json or to_dict() has everything." if parts else ""
