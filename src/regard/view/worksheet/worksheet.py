"""Worksheet: self-attention of a small sentence with blanks to fill in, questions, and the key."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from regard.atomic_write import write_text
from regard.errors import ArgumentError
from regard.text.vectors import split
from regard.textbook.stages import softmax
from regard.textbook.steps import Steps, self_attention
from regard.textbook.why import find, sentence_words
from regard.typing import Float64Array
from regard.view.worksheet.arithmetic import PrintedNumbers, half_up, round_steps, text
from regard.view.worksheet.blanks import Blank, find_blanks

TRIES = 500


LARGEST = 4.0  # e^4 is 55: no larger number turns up


CLEAR = (0.4, 0.85)  # a row worth reading: somebody stands out, nobody takes all


def by_hand(sentence: str, width: int = 2, seed: int = 0) -> Steps:
    """Whole numbers drawn at random until they make scores that are neither flat nor huge.

    A word that occurs twice has the same vector twice.

    >>> by_hand("I am good").x
    array([[1., 1.],
           [2., 1.],
           [1., 0.]])
    """
    words = split(sentence)
    if not 1 <= width <= 4:
        raise ArgumentError(
            f"width needs a whole number from 1 to 4, to be done by hand, but it is {width}."
        )
    if seed < 0:
        raise ArgumentError(f"seed needs a whole number from 0 up, but it is {seed}.")
    random = np.random.default_rng(seed)
    tries = (_draw(words, width, random) for _ in range(TRIES))
    best, fewest = next(tries), len(words) * 100
    for steps in tries:
        faults = _faults(steps)
        if faults < fewest:
            best, fewest = steps, faults
        if fewest == 0:
            break
    return best


def _draw(words: tuple[str, ...], width: int, random: np.random.Generator) -> Steps:
    """Different words get different vectors, none of them 0, as long as there are enough."""
    kinds = list(dict.fromkeys(words))
    top = 2 + int(len(kinds) > 3) + int(len(kinds) > 7)
    vectors = np.array(list(product(range(top + 1), repeat=width))[1:])
    chosen = random.permutation(len(vectors))
    of = {word: vectors[chosen[i % len(chosen)]] for i, word in enumerate(kinds)}
    matrices = [_matrix(width, random) for _ in range(3)]
    return self_attention([of[word] for word in words], *matrices, words=words)


def _matrix(width: int, random: np.random.Generator) -> Float64Array:
    """Entries -1, 0 and 1, and nothing lost by it: its determinant is not 0."""
    while True:
        matrix = random.integers(-1, 2, (width, width)).astype(np.float64)
        if abs(np.linalg.det(matrix)) > 0.5:
            return matrix


def _faults(steps: Steps) -> int:
    """Number of scores that are huge and of rows that are too flat or too sharp."""
    largest_q = steps.weights.max(axis=1)
    dull = (largest_q < CLEAR[0]) | (largest_q > CLEAR[1])
    return int((np.abs(steps.scaled) > LARGEST).sum() + dull.sum())


@dataclass(frozen=True)
class Question:
    """A question about the numbers, and its answer."""

    asks: str
    answer: str


@dataclass(frozen=True)
class Worksheet:
    """Everything that is printed: the numbers, which of them are blank, and what is asked."""

    title: str
    printed: PrintedNumbers
    rows: tuple[int, ...]
    blanks: tuple[Blank, ...]
    questions: tuple[Question, ...]
    width: int
    note: str = ""

    def html(self, *, answers: bool = True) -> str:
        """One HTML document that prints on A4; the key, if wanted, begins a page of its own."""
        from regard.view.worksheet.worksheet_html import document

        return document(self, answers=answers)

    def save(self, path: str | Path, *, answers: bool = True) -> Path:
        """Write the document; a browser prints it."""
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
    """The row whose largest weight is furthest above its second; the first such."""
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
