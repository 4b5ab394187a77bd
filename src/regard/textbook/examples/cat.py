"""The cat sat on the mat: np.dot on three-dimensional arrays, and what it does to a batch."""

from __future__ import annotations

import numpy as np

from regard.textbook.digits import tidy
from regard.textbook.examples.story import Claim, Example, numbers
from regard.textbook.stages import softmax
from regard.textbook.steps import Steps, self_attention
from regard.typing import Float64Array

SENTENCE = "The cat sat on the mat"
OTHER = "A dog lay on the rug"
WIDTH = 8
SEED = 0

# What the document prints. Its numbers are random and it sets no seed, so nobody can print the
# same row again; what can be checked is that it sums to 1 and where its largest weight is.
SCORES_SHAPE = "(1, 6, 1, 6)"
OUTPUT_SHAPE = "(1, 6, 1, 8)"
ROW = "0.0129619 0.0088241 0.00291238 0.89626405 0.07590556 0.00313201"


def cat() -> Example:
    """The document's run with a seed, as written and as meant.

    >>> [claim.agrees for claim in cat().claims]
    [True, True, False, False, True, False]
    """
    random = np.random.default_rng(SEED)
    x_bte = random.random((1, 6, WIDTH))
    matrices = tuple(random.random((WIDTH, WIDTH)) for _ in range(3))
    pair_bte = np.concatenate([x_bte, random.random((1, 6, WIDTH))])
    steps = self_attention(x_bte[0], *matrices, words=SENTENCE.split())
    as_written = written_with_dot(x_bte, *matrices)
    pair = written_with_dot(pair_bte, *matrices)
    return Example(
        name="cat",
        title="Self-Attention Mechanism using Numpy",
        sentence=SENTENCE,
        computes=(
            "Six words as random vectors of 8 numbers, three random 8 x 8 matrices, then "
            "self-attention with np.dot on arrays of shape (1, 6, 8). Here the same, with seed "
            f"{SEED} so that it can be repeated."
        ),
        steps=steps,
        claims=(*_shapes(steps, x_bte, as_written), _row(), _batch(pair_bte, matrices, pair)),
        remarks=(
            "What is right: np.matmul(Q, K.transpose(0, 2, 1)), np.einsum('bqd,bkd->bqk', Q, K): "
            "each sentence by itself, whatever the batch.",
            "The parameters are random, so who looks at whom means nothing yet; the document says "
            f"so too. {steps.read(0)}",
        ),
        data={f"{name} as written, two sentences": array for name, array in pair.items()},
    )


def written_with_dot(
    x_bte: Float64Array, w_query: Float64Array, w_key: Float64Array, w_value: Float64Array
) -> dict[str, Float64Array]:
    """The document's steps 5 to 9, as it writes them.

    np.dot sums over the last axis of the first and the last but one of the second, and keeps every
    other axis of both: (b, q, d) with (c, d, k) gives (b, q, c, k), every sentence b with every c.
    """
    query, key, value = np.dot(x_bte, w_query), np.dot(x_bte, w_key), np.dot(x_bte, w_value)
    scores = np.dot(query, np.transpose(key, (0, 2, 1)))
    weights = softmax(scores / np.sqrt(WIDTH))
    return {"query": query, "scores": scores, "weights": weights, "output": np.dot(weights, value)}


def _shapes(
    steps: Steps, x_bte: Float64Array, as_written: dict[str, Float64Array]
) -> tuple[Claim, ...]:
    shapes = {name: str(array.shape) for name, array in as_written.items()}
    scores, output = f"(1, {_sizes(steps.scores)})", f"(1, {_sizes(steps.output)})"
    same = np.allclose(as_written["scores"][:, :, 0], steps.scores, rtol=1e-12)
    return (
        Claim("shape of X", "(1, 6, 8)", str(x_bte.shape), x_bte.shape == (1, 6, 8)),
        Claim("shape of Q, K, V", "(1, 6, 8)", shapes["query"], shapes["query"] == "(1, 6, 8)"),
        Claim(
            "shape of the scores and weights",
            SCORES_SHAPE,
            scores,
            scores == SCORES_SHAPE,
            "np.dot pairs every sentence with every sentence: scores[b, q, c, k] is query q of "
            "sentence b with key k of sentence c. With one sentence the third axis has one entry "
            f"and the numbers are {'right' if same else 'wrong too'}, in a wrong shape.",
            follows=("its code gives", shapes["scores"]),
        ),
        Claim(
            "shape of the output",
            OUTPUT_SHAPE,
            output,
            output == OUTPUT_SHAPE,
            "The stray axis is paired once more with the sentences of V, so there are five axes: "
            "what it prints is not even what its code gives.",
            follows=("its code gives", shapes["output"]),
        ),
    )


def _row() -> Claim:
    """The printed weights of 'The' can be checked for what any such row must be."""
    row = numbers(ROW)
    highest = SENTENCE.split()[int(np.argmax(row))]
    return Claim(
        about="its row of weights for 'The'",
        printed="sums to 1, largest 0.896 on 'on'",
        true=f"sums to {sum(row):.6f}, largest {max(row):.3f} on {highest!r}",
        agrees=abs(sum(row) - 1) < 1e-6 and highest == "on" and round(max(row), 3) == 0.896,
    )


def _batch(
    pair_bte: Float64Array, matrices: tuple[Float64Array, ...], pair: dict[str, Float64Array]
) -> Claim:
    """With two sentences the stray axis is no longer harmless."""
    w_query, w_key, w_value = matrices
    right = self_attention(pair_bte, w_query, w_key, w_value)
    changed_bte = pair_bte.copy()
    changed_bte[1, 1] = 0.0
    changed = written_with_dot(changed_bte, *matrices)["output"]
    corrected = self_attention(changed_bte, w_query, w_key, w_value).output
    across_k = pair["weights"][0, 1, 1]
    at = int(across_k.argmax())
    moved = float(np.abs(changed[0] - pair["output"][0]).max())
    moved_right = float(np.abs(corrected[0] - right.output[0]).max())
    return Claim(
        about="a batch of two sentences",
        printed="nothing: it has one sentence only",
        true=f"scores {right.scores.shape}, output {right.output.shape}",
        agrees=False,
        because=(
            f"Sentences mix. Add {OTHER!r} to the batch: 'cat' of the first sentence gets a "
            f"second row of weights, {_row_text(across_k)}, which sums to "
            f"{tidy(across_k.sum()):.3f} and looks at words of the other sentence, most at "
            f"{OTHER.split()[at]!r}. Set the vector of 'dog' to 0, and what np.dot gives the first "
            "sentence changes by up to "
            f"{tidy(moved):.3f}; done right it changes by {moved_right:g}."
        ),
        follows=("its code gives", f"scores {pair['scores'].shape}, output {pair['output'].shape}"),
    )


def _sizes(array: Float64Array) -> str:
    return ", ".join(str(n) for n in array.shape)


def _row_text(row_k: Float64Array) -> str:
    return " ".join(f"{tidy(w):.3f}" for w in row_k)
