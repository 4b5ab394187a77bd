"""Smart robots perform complex tasks: two dimensions, identity matrices, a softmax gone wrong."""

from __future__ import annotations

import numpy as np

from regard.textbook.digits import tidy
from regard.textbook.examples.story import Claim, Example, Numbers, compare, numbers, rounds_to
from regard.textbook.steps import Steps, self_attention
from regard.typing import Float64Array

SENTENCE = "Smart robots perform complex tasks"
X_TE = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2]], np.float64)

# What the document prints, word for word; only compared with, never computed from, except where
# a claim says that its own numbers are followed.
SCORES = "0 1 1 0 2"
SCALED = "0 0.71 0.71 0 1.41"
WEIGHTS = "0 0.19 0.19 0 0.62"
OUTPUTS = {
    "robots": "0.19 1.43",
    "Smart": "1.28 0.24",
    "perform": "0.87 0.87",
    "complex": "1.64 0.12",
    "tasks": "0.12 1.64",
}


def robots() -> Example:
    """All five rows, computed from the document's vectors.

    >>> [claim.agrees for claim in robots().claims]
    [True, True, False, False, False, False, False, False, False]
    """
    words = SENTENCE.split()
    identity = np.eye(2)
    steps = self_attention(X_TE, identity, identity, identity, words=words)
    return Example(
        name="robots",
        title='Understanding the math behind "Self Attention Mechanism"',
        sentence=SENTENCE,
        computes=(
            "Five words as vectors of two numbers. Query, key and value matrices are the identity, "
            "so q = k = v = x. The document works out the row of 'robots': scores, division by √2, "
            "softmax, weighted sum; for the other four words it prints only the outputs."
        ),
        steps=steps,
        claims=(*_row_of_robots(steps), *_outputs(steps), _mirror(steps)),
        remarks=tuple(steps.read(word) for word in words),
    )


def _row_of_robots(steps: Steps) -> tuple[Claim, ...]:
    """The row that the document works out, step by step."""
    of_robots = str(steps.why("weights", "robots", "tasks"))
    return (
        compare("scores of robots", SCORES, steps.scores[1]),
        compare("scaled scores of robots", SCALED, steps.scaled[1]),
        compare(
            "weights of robots",
            WEIGHTS,
            steps.weights[1],
            "No softmax gives 0: a score of 0 still counts e^0 = 1, so Smart and complex get their "
            f"share, {tidy(steps.weights[1, 0]):.3f} each. {of_robots}.",
        ),
        _weighted_sum(steps),
    )


def _weighted_sum(steps: Steps) -> Claim:
    """The document's weighted sum, against what its own weights give."""
    printed = OUTPUTS["robots"]
    printed_weights_k = np.array(numbers(WEIGHTS))
    followed = printed_weights_k @ X_TE
    terms = " + ".join(
        f"{w:g}·{v:g}" for w, v in zip(printed_weights_k, X_TE[:, 1], strict=True) if w
    )
    return Claim(
        about="weighted sum (output) of robots",
        printed=numbers(printed),
        true=tuple(steps.output[1].tolist()),
        agrees=rounds_to(printed, steps.output[1]),
        because=(
            f"Two slips. Even its own weights give {tidy(followed[1]):.2f} in the second place "
            f"({terms} = {tidy(followed[1]):.2f}), not {numbers(printed)[1]:.2f}; and the weights "
            "were wrong already."
        ),
        follows=("its own weights give", tuple(followed.tolist())),
    )


def _outputs(steps: Steps) -> tuple[Claim, ...]:
    """The four outputs that the document prints without showing how."""
    claims = []
    for row, word in enumerate(steps.words):
        if word != "robots":
            printed = OUTPUTS[str(word)]
            because = _gap(numbers(printed), steps.output[row], steps.weights[row])
            claims.append(compare(f"output of {word}", printed, steps.output[row], because))
    return tuple(claims)


def _gap(printed: Numbers, output_e: Float64Array, weights_k: Float64Array) -> str:
    """The error of a printed output in words, and the weights that lead to the true one."""
    gap = float(np.abs(np.array(printed) - output_e).max())
    size = "Off only in its last digit" if gap < 0.01 else f"Off by up to {tidy(gap):.2f}"
    return f"{size}; the true weights are {' '.join(f'{tidy(w):.3f}' for w in weights_k)}."


def _mirror(steps: Steps) -> Claim:
    """Swapping the two features swaps Smart with robots and complex with tasks."""
    printed = numbers(OUTPUTS["Smart"])
    mirrored = numbers(OUTPUTS["robots"])[::-1]
    return Claim(
        about="Smart mirrors robots",
        printed=printed,
        true=tuple(steps.output[0].tolist()),
        agrees=bool(np.allclose(printed, mirrored)),
        because=(
            "Swap the two features and Smart becomes robots, complex becomes tasks, perform stays: "
            "the outputs of Smart and robots must be each other's mirror image. Computed, they "
            "are; printed, they are not."
        ),
        follows=("its robots, mirrored", mirrored),
    )
