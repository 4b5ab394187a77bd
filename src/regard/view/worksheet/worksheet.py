"""A worksheet: tables with blanks, questions, and the key; ``steps.worksheet()`` makes one."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.errors import FileError
from regard.self_attention.explain.places import find, words_of
from regard.self_attention.steps import Steps, softmax
from regard.view.worksheet.blanks import Blank, find_blanks
from regard.view.worksheet.paper import Paper, to_paper
from regard.view.worksheet.rounding import half_up, text


@dataclass(frozen=True)
class Question:
    """Something to think about once the numbers are there."""

    asks: str
    answer: str


@dataclass(frozen=True)
class Worksheet:
    """Everything that is printed: the numbers, which of them are blank, and what is asked."""

    title: str
    paper: Paper
    rows: tuple[int, ...]
    blanks: tuple[Blank, ...]
    questions: tuple[Question, ...]
    width: int
    note: str = ""

    def html(self, *, answers: bool = True) -> str:
        """One HTML document that prints on A4; the key, if wanted, begins a page of its own."""
        from regard.view.worksheet.document import document

        return document(self, answers=answers)

    def save(self, path: str | Path, *, answers: bool = True) -> Path:
        """Write the document; a browser prints it."""
        path = Path(path)
        try:
            path.write_text(self.html(answers=answers), encoding="utf-8")
        except OSError as error:
            raise FileError(f"{path} cannot be written: {error.strerror or error}.") from None
        return path

    def _repr_html_(self) -> str:
        from regard.view.notebook import framed

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
    >>> from regard.self_attention.examples import run_example
    >>> sheet = worksheet(run_example("robots").steps, "robots")
    >>> print(sheet.blanks[10].cell, "=", sheet.blanks[10].expression, "=", sheet.blanks[10].answer)
    scores[robots, tasks] = 0 · 0 + 1 · 2 = 2
    """
    paper = to_paper(steps, head, sentence, digits)
    words = words_of(steps, sentence)
    chosen = _telling_row(paper) if row is None else find("row", row, words, len(paper.names))
    rows = tuple(range(len(paper.names))) if every_row else (chosen,)
    return Worksheet(
        " ".join(words) or f"{len(paper.names)} words",
        paper,
        rows,
        find_blanks(paper, rows),
        (_sum(paper, chosen), _most(paper, chosen), _undivided(paper, chosen)),
        steps.query.shape[-1],
        note,
    )


def _telling_row(paper: Paper) -> int:
    """The row whose largest weight is furthest above its second; the first such."""
    weights = paper.steps.weights
    if weights.shape[1] < 2:
        return 0
    ordered = np.sort(weights, axis=1)
    # A word that may look at one word only has nothing to weigh.
    seen = (weights > 0).sum(axis=1) > 1
    return int(np.argmax(np.where(seen, ordered[:, -1] - ordered[:, -2], -1).round(9)))


def _sum(paper: Paper, row: int) -> Question:
    weights = paper.steps.weights[row]
    total = text(float(half_up(weights.sum(), paper.digits)), paper.digits)
    why = "" if float(total) == 1 else " Rounding moved it; unrounded, it is 1."
    return Question(
        f"Add up the weights of “{paper.names[row]}”. What should come out, and why?",
        f"{' + '.join(text(w, paper.places['weights']) for w in weights)} = {total}. "
        f"Each weight is a share of the row's sum, so together they are 1.{why}",
    )


def _most(paper: Paper, row: int) -> Question:
    weights = paper.steps.weights[row]
    names = [paper.names[k] for k in np.flatnonzero(weights == weights.max())]
    share = text(float(weights.max()), paper.places["weights"])
    return Question(
        f"Whom does “{paper.names[row]}” look at most?",
        f"{' and '.join(names)}: {share}{' each' if len(names) > 1 else ''} of its attention.",
    )


def _undivided(paper: Paper, row: int) -> Question:
    scores = paper.steps.scores[row]
    if paper.steps.masked is not None:
        scores = np.where(np.isfinite(paper.steps.masked[row]), scores, -np.inf)
    weights = half_up(softmax(scores[None])[0], paper.digits)
    before = text(float(paper.steps.weights[row].max()), paper.digits)
    after = text(float(weights.max()), paper.digits)
    listed = " ".join(text(w, paper.digits) for w in weights)
    return Question(
        "Leave out the division. Does the largest weight grow or shrink? Guess first.",
        f"The weights become {listed}: the largest goes from {before} to {after}.",
    )
