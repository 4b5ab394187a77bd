"""What heads do, counted: where they look in text, whom *it* is taken for, which words align."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from contrast import Contrast, Item, forms
from numpy.typing import NDArray

from regard.text.english import content_before
from regard.transformer.highlight import surest
from regard.transformer.reading import Reading

Array = NDArray[Any]
Head = tuple[int, int]


def usual_shares(readings: Sequence[Reading], part: str) -> dict[str, Array]:
    """For each head, (l, h): mean share on each place over all words that have such a place."""
    sums: dict[str, Array] = {}
    counts: dict[str, int] = {}
    for reading in readings:
        weights_lhqk = reading.weights(part)
        for name, (rows, columns) in _cells(weights_lhqk.shape, part).items():
            picked = weights_lhqk[:, :, rows, columns].sum(axis=-1)
            sums[name] = sums.get(name, 0) + picked
            counts[name] = counts.get(name, 0) + len(rows)
        entropy_lhq = -(weights_lhqk * np.log(np.maximum(weights_lhqk, 1e-30))).sum(axis=-1)
        sums["entropy"] = sums.get("entropy", 0) + entropy_lhq.sum(axis=-1)
        counts["entropy"] = counts.get("entropy", 0) + entropy_lhq.shape[-1]
    return {name: total / counts[name] for name, total in sums.items()}


def _cells(shape: tuple[int, ...], part: str) -> dict[str, tuple[Array, Array]]:
    """Rows and columns of every place; words before (end), which asks nothing of its own."""
    queries, keys = shape[-2:]
    rows = np.arange(queries - (part == "encoder"))
    cells = {"first": (rows, np.zeros_like(rows))}
    if part != "decoder":
        cells["end"] = (rows, np.full_like(rows, keys - 1))
    if part != "cross":
        cells |= {"same": (rows, rows), "previous": (rows[1:], rows[1:] - 1)}
    if part == "encoder":
        cells["next"] = (rows, rows + 1)
    return cells


def pronoun_weights(reading: Reading, item: Item) -> Array:
    """weights_lhn of *it* on the right noun and on the wrong one."""
    words = [word.lower() for word in reading.words]
    row, right, wrong = (words.index(x) for x in ("it", item.right, item.wrong))
    return reading.weights("encoder")[:, :, row][..., [right, wrong]]


def right_heads(weights_plhn: Array) -> dict[str, Array]:
    """For each head, (l, h), how *it* looks at the nouns; p counts sentences, pair by pair.

    pronouns: share of sentences with more weight on the right noun than on the wrong one
    pronoun_pairs: share of pairs right in both sentences
    pronoun_shift: share of pairs whose last word moves weight towards the noun it makes right
    pronoun_weight: mean weight on both nouns together
    """
    lead_plh = weights_plhn[..., 0] - weights_plhn[..., 1]
    right_plh = lead_plh > 0
    return {
        "pronouns": right_plh.mean(axis=0),
        "pronoun_pairs": (right_plh[::2] & right_plh[1::2]).mean(axis=0),
        "pronoun_shift": (lead_plh[::2] > -lead_plh[1::2]).mean(axis=0),
        "pronoun_weight": weights_plhn.sum(axis=-1).mean(axis=0),
    }


def rule(readings: Sequence[Reading], items: Sequence[Item], heads: tuple[Head, ...]) -> Array:
    """Where the command's rule, the surest of these heads, points: 1 right, -1 wrong, 0 neither."""
    found = []
    for reading, item in zip(readings, items, strict=True):
        words = tuple(word.lower() for word in reading.words)
        place = words.index("it")
        nouns = content_before(words, place)
        weights_lhk = reading.weights("encoder")[:, :, place]
        layer, head = heads[surest(weights_lhk, nouns, heads)]
        word = words[nouns[int(weights_lhk[layer, head, nouns].argmax())]]
        found.append((word == item.right) - (word == item.wrong))
    return np.array(found)


def choose_heads(
    readings: Sequence[Reading], items: Sequence[Item], found: dict[str, Array], most: int = 6
) -> tuple[Head, ...]:
    """Of the heads through which *it* looks at nouns, those that make the rule right most often.

    One is added at a time, as long as that helps. Where no head is right more often than chance
    may be (two standard deviations), there is nothing to choose by: the two that look at nouns
    most are taken.
    """
    looking = [
        x for x in ranked(found["pronoun_weight"]) if _at(found["pronoun_weight"], x) >= 0.25
    ]
    chance = 0.5 + 1 / np.sqrt(len(items))
    pool = [x for x in looking if _at(found["pronouns"], x) > chance]
    if not pool:
        return tuple(looking[:2])
    chosen: tuple[Head, ...] = ()
    best = -1.0
    while pool and len(chosen) < most:
        scores = {x: (rule(readings, items, (*chosen, x)) == 1).mean() for x in pool}
        head = max(scores, key=lambda x: scores[x])
        if scores[head] <= best:
            break
        best, chosen = float(scores[head]), (*chosen, head)
        pool.remove(head)
    return chosen


def _at(share_lh: Array, head: Head) -> float:
    return float(share_lh[head])


def ranked(share_lh: Array) -> list[Head]:
    """All heads as (layer, head), the largest share first."""
    order = np.argsort(-share_lh, axis=None, kind="stable").tolist()
    return [divmod(i, share_lh.shape[1]) for i in order]


def gender(translation: str, item: Item) -> str:
    """What the French pronoun says: right, wrong, both (nouns alike), other, or noun unknown."""
    words = re.findall(r"\w+", translation.lower())
    genders = [_gender_in(words, noun) for noun in (item.right, item.wrong)]
    said = [{"il": "m", "elle": "f"}[word] for word in words if word in ("il", "elle")]
    if None in genders:
        return "noun unknown"
    if not said:
        return "other"
    if genders[0] == genders[1]:
        return "alike, right" if said[-1] == genders[0] else "alike, wrong"
    return "right" if said[-1] == genders[0] else "wrong"


def _gender_in(words: Sequence[str], noun: str) -> str | None:
    return next((g for french, g in forms(noun).items() if french in words), None)


def aligned(readings: Sequence[Reading], items: Sequence[Item], shift: int = 0) -> Array:
    """right_nlh: whether each head sends a French noun back to its English one.

    Read at the step where the noun is the decoder's input; with shift -1 where it is said.
    """
    found = []
    for reading, item in zip(readings, items, strict=True):
        english = [word.lower() for word in reading.words]
        french = [word.lower() for word in reading.target.words]
        weights_lhqk = reading.weights("cross")
        for noun in (item.right, item.wrong):
            rows = [i for i, word in enumerate(french) if word in forms(noun)]
            if rows:
                best_lh = weights_lhqk[:, :, rows[0] + shift, :-1].argmax(axis=-1)
                found.append(best_lh == english.index(noun))
    return np.array(found) if found else np.zeros((1, *readings[0].weights("cross").shape[:2]))


def mean_aligned(
    readings: Sequence[Reading], items: Sequence[Item], heads: Sequence[Head]
) -> float:
    """The share of nouns that the mean over these heads sends back rightly."""
    right = []
    for reading, item in zip(readings, items, strict=True):
        english = [word.lower() for word in reading.words]
        weights_lhqk = reading.weights("cross")
        mean_qk = np.mean([weights_lhqk[head] for head in heads], axis=0)
        for row, word in enumerate(reading.target.words):
            for noun in (item.right, item.wrong):
                if word.lower() in forms(noun):
                    right.append(mean_qk[row, :-1].argmax() == english.index(noun))
    return float(np.mean(right)) if right else 0.0


def items_of(pairs: Sequence[Contrast]) -> list[Item]:
    """All sentences, the two of a pair side by side."""
    return [item for pair in pairs for item in pair.items]
