"""I am good: X 3 x 512, Q, K, V 3 x 64, and scores that give the document's percentages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.textbook.digits import tidy
from regard.textbook.examples.story import Claim, Example, compare
from regard.textbook.stages import softmax
from regard.textbook.steps import Steps, self_attention
from regard.typing import Float64Array

SENTENCE = "I am good"
WORDS = tuple(SENTENCE.split())
WIDTH, HEAD_WIDTH, SEED = 512, 64, 0

# The document writes the first two and the last number of each word's vector and calls them
# arbitrary; the 509 between are drawn here from the same range.
ENDS = ((1.76, 2.22, 6.66), (7.77, 0.631, 5.35), (11.44, 10.10, 3.33))
PERCENTAGES = ("90 7 3", "2.5 95 2.5", "21 3 76")
# Its scores are in pictures, not in its text; these are scores that lead to its percentages.
SCORES_QK = np.array([[110, 90, 83], [70, 99, 70], [89.7, 74, 100]])


@dataclass(frozen=True)
class Start:
    """The document's input: x (t, e) and three random matrices (e, d)."""

    x_te: Float64Array
    w_query: Float64Array
    w_key: Float64Array
    w_value: Float64Array


def good() -> Example:
    """The document's computation at its sizes, with W^Q solved for.

    >>> [claim.agrees for claim in good().claims]
    [True, True, True, True, True, True, True, False]
    """
    start = random_start()
    w_query = solve_query(start, SCORES_QK)
    steps = self_attention(start.x_te, w_query, start.w_key, start.w_value, words=WORDS)
    return Example(
        name="good",
        title="Transformers: Self Attention Mechanism",
        sentence=SENTENCE,
        computes=(
            "Three words as vectors of 512 numbers; W^Q, W^K, W^V of 512 x 64 make Q, K and V of "
            "3 x 64; scores are divided by √64 = 8, softmax turns them into percentages, and each "
            "output row is the sum of the values in these proportions."
        ),
        steps=steps,
        claims=(*_sizes(steps), *_percentages(steps), _itself(steps), _summary(steps)),
        remarks=(
            _solved(start, w_query, steps),
            *(steps.read(word) for word in WORDS),
            str(steps.why("output", "I", 0)),
        ),
        data={"w_query before": start.w_query, "w_query after": w_query},
    )


def random_start() -> Start:
    """The document's numbers where it gives them, random ones elsewhere."""
    random = np.random.default_rng(SEED)
    x_te = random.uniform(0, 12, (len(WORDS), WIDTH))
    ends = np.array(ENDS)
    x_te[:, :2], x_te[:, -1] = ends[:, :2], ends[:, 2]
    matrices = (random.normal(0, WIDTH**-0.5, (WIDTH, HEAD_WIDTH)) for _ in range(3))
    return Start(x_te, *matrices)


def solve_query(start: Start, scores_qk: Float64Array) -> Float64Array:
    """W^Q, changed by the least amount (in norm) that makes x W^Q K^T the wanted scores.

    >>> start = random_start()
    >>> scores = start.x_te @ solve_query(start, SCORES_QK) @ (start.x_te @ start.w_key).T
    >>> bool(np.allclose(scores, SCORES_QK))
    True
    """
    key_kd = start.x_te @ start.w_key
    missing_qk = scores_qk - start.x_te @ start.w_query @ key_kd.T
    change = np.linalg.pinv(start.x_te) @ missing_qk @ np.linalg.pinv(key_kd.T)
    return start.w_query + change


def _sizes(steps: Steps) -> tuple[Claim, ...]:
    x, query = steps.stages()["x"], steps.query
    root = float(np.sqrt(query.shape[-1]))
    return (
        Claim("size of X", "3 x 512", _by(x), _by(x) == "3 x 512"),
        Claim("size of Q, K, V", "3 x 64", _by(query), _by(query) == "3 x 64"),
        compare("what scores are divided by", "8", [root]),
    )


def _percentages(steps: Steps) -> tuple[Claim, ...]:
    return tuple(
        compare(f"percentages of {word}", printed, 100 * steps.weights[row])
        for row, (word, printed) in enumerate(zip(WORDS, PERCENTAGES, strict=True))
    )


def _itself(steps: Steps) -> Claim:
    best = [WORDS[k] for k in steps.scores.argmax(axis=-1)]
    return Claim(
        about="whom each word is most related to",
        printed="itself",
        true="itself" if tuple(best) == WORDS else ", ".join(best),
        agrees=tuple(best) == WORDS,
    )


def _summary(steps: Steps) -> Claim:
    """The summary divides after the softmax, which its own step 2 does before."""
    misplaced = softmax(steps.scores) / np.sqrt(HEAD_WIDTH)
    sums = misplaced.sum(axis=-1)
    return Claim(
        about="the formula in its summary",
        printed="softmax(Q K^T) / √d_k",
        true="softmax(Q K^T / √d_k)",
        agrees=bool(np.allclose(misplaced, steps.weights)),
        because=(
            "Divided after the softmax, the rows no longer sum to 1: here they sum to "
            f"{sums[0]:g} = 1/8. And softmax of undivided scores is all but one-hot: the row of I "
            f"becomes {_row_text(misplaced[0])}, not {_row_text(steps.weights[0])}. The formula "
            "that the document gives before its summary is the right one."
        ),
        follows=("which gives rows that sum to", tuple(sums.tolist())),
    )


def _solved(start: Start, w_query: Float64Array, steps: Steps) -> str:
    """The claim that names what was solved for to get the document's scores."""
    moved = float(np.linalg.norm(w_query - start.w_query) / np.linalg.norm(start.w_query))
    before = (start.x_te @ start.w_query @ steps.key.T)[0]
    return (
        f"W^Q was solved for. With W^Q random the scores of I were {_row_text(before, 1)}. It was "
        f"then changed by the smallest amount, {tidy(100 * moved):.1f} % of its norm, that makes "
        f"Q K^T have the rows {'; '.join(_row_text(row, 1) for row in steps.scores)}: training "
        "would move it in the same way, by many small steps. The document gives these scores only "
        "as pictures, and says that its numbers are arbitrary."
    )


def _by(array: Float64Array) -> str:
    return " x ".join(str(n) for n in array.shape)


def _row_text(row: Float64Array, digits: int = 3) -> str:
    return " ".join(f"{tidy(x):.{digits}f}" for x in row)
