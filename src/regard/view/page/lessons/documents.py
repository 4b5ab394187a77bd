"""Facts of the course pages on the three documents: their claims and the correct numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from regard.textbook.examples import run_example
from regard.textbook.examples.cat import OTHER
from regard.textbook.examples.story import Claim, Example
from regard.textbook.stages import softmax

Facts = dict[str, Any]
ROBOTS, SMART = "robots", "Smart"


@cache
def example(name: str) -> Example:
    """Computed once: its inputs never change."""
    return run_example(name)


def claim_about(story: Example, about: str) -> Claim:
    """A claim by what it is about."""
    return next(claim for claim in story.claims if claim.about == about)


def shares() -> Facts:
    """The document's softmax of *robots*, which gives zero to a score of zero."""
    story = example("robots")
    steps, claim = story.steps, claim_about(story, "weights of robots")
    row, smart = steps.words.index(ROBOTS), steps.words.index(SMART)
    exponentials = np.exp(steps.scaled[row])
    return {
        "word": ROBOTS,
        "words": list(steps.words),
        "scaled": steps.scaled[row].tolist(),
        "exponentials": exponentials.tolist(),
        "total": float(exponentials.sum()),
        "document": claim.printed,
        "true": claim.true,
        "smart": float(steps.weights[row, smart]),
        "why": str(steps.why("weights", row, smart)),
        "right": 1 if steps.weights[row, smart] > 0 else 0,
    }


def printed() -> Facts:
    """The document's row of *robots* and its weighted sum, and the correct numbers."""
    story = example("robots")
    steps, claim = story.steps, claim_about(story, "weighted sum (output) of robots")
    weights = claim_about(story, "weights of robots").printed
    follows = claim.follows[1] if claim.follows else ()
    numbers = (float(x[1]) for x in (claim.printed, follows, claim.true))
    as_printed, followed, true = numbers
    choices = sorted({round(x, 2) for x in (as_printed, followed, true)})
    values = steps.value[:, 1]
    terms = [f"{w:g} · {v:g}" for w, v in zip(weights, values, strict=True)]
    return {
        **shares(),
        "title": story.title,
        "weights": weights,
        "values": values.tolist(),
        "choices": [f"{x:.2f}" for x in choices],
        "right": choices.index(round(followed, 2)),
        "printed": as_printed,
        "followed": followed,
        "correct": true,
        "sum": f"{' + '.join(terms)} = {followed:.2f}",
    }


def order() -> Facts:
    """softmax(scores / √d) compared with softmax(scores) / √d, which a summary has."""
    steps = example("good").steps
    claim = claim_about(example("good"), "the formula in its summary")
    after = softmax(steps.scores) / np.sqrt(steps.query.shape[-1])
    sums = [float(steps.weights[0].sum()), float(after[0].sum())]
    return {
        "words": list(steps.words),
        "word": steps.words[0],
        "before": steps.weights[0].tolist(),
        "after": after[0].tolist(),
        "sum_before": sums[0],
        "sum_after": sums[1],
        "choices": [str(claim.true), str(claim.printed)],
        "right": int(np.argmin(np.abs(np.array(sums) - 1))),
        "formula": str(claim.printed),
        "because": claim.because,
    }


def batch() -> Facts:
    """np.dot on two sentences: the shapes, and the row of weights that should not be there."""
    story = example("cat")
    claim = claim_about(story, "a batch of two sentences")
    mixed = story.data["weights as written, two sentences"]
    sentences, words = mixed.shape[:2]
    meant = (sentences, words, words)
    shapes = [meant, mixed.shape, (sentences, sentences * words, sentences * words)]
    steps = story.steps
    cat = steps.words.index("cat")
    return {
        "title": story.title,
        "words": list(steps.words),
        "others": OTHER.split(),
        "word": steps.words[cat],
        "sentences": sentences,
        "length": words,
        "first": story.sentence,
        "second": OTHER,
        "mend": story.remarks[0],
        "own": steps.weights[cat].tolist(),
        "stray": mixed[0, cat, 1].tolist(),
        "stray_sum": float(mixed[0, cat, 1].sum()),
        "choices": [str(shape) for shape in shapes],
        "right": shapes.index(meant),
        "meant": str(meant),
        "written": str(mixed.shape),
        "because": claim.because,
    }
