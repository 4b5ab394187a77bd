"""Contrast pairs: one sentence, two endings; the noun that *it* stands for turns on the ending.

    The dog ate the food because it was hungry.      it: the dog
    The dog ate the food because it was delicious.   it: the food

Each noun is right once in every pair, so always taking the first noun, or always the nearest, is
right in exactly half of the sentences and in no whole pair. contrast_frames has the sentences,
contrast_judge the measures of one head under changes; this file compares all heads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.text.english import content_before
from regard.transformer.contrast_frames import ContrastPair, ContrastSentence, forms
from regard.transformer.highlight import surest
from regard.transformer.reading import Reading
from regard.typing import Array

Head = tuple[int, int]


@dataclass(frozen=True)
class NounRow:
    """A French noun's row of cross-attention, and the position of its English noun.

    weights_lhk is the row at the step where the noun is the decoder's input, earlier_lhk the one
    where it is predicted; (end) is left out.
    """

    english: int
    weights_lhk: Array
    earlier_lhk: Array


@dataclass(frozen=True)
class ItemFacts:
    """The rows of a reading that the judge needs; a reading itself takes megabytes."""

    item: ContrastSentence
    words: tuple[str, ...]
    query: int
    weights_lhk: Array
    nouns: tuple[NounRow, ...]
    translation: str

    @property
    def noun_weights_lhn(self) -> Array:
        """The weight of the pronoun on the right noun and on the wrong one."""
        keys = [self.words.index(self.item.right), self.words.index(self.item.wrong)]
        return self.weights_lhk[..., keys]


def item_facts(reading: Reading, item: ContrastSentence) -> ItemFacts:
    """The pronoun's row in every encoder head, and the rows of the French nouns."""
    words = tuple(word.lower() for word in reading.words)
    query = words.index(item.pronoun)
    weights_lhk = reading.weights()[:, :, query].copy()
    rows = []
    cross_lhqk = reading.weights(part="cross")[..., :-1]
    for noun in (item.right, item.wrong):
        french = forms(noun)
        steps = [i for i, word in enumerate(reading.target.words) if word.lower() in french]
        if steps:
            at = cross_lhqk[:, :, steps[0]].copy(), cross_lhqk[:, :, steps[0] - 1].copy()
            rows.append(NounRow(words.index(noun), *at))
    return ItemFacts(item, words, query, weights_lhk, tuple(rows), reading.translation)


def unseen(pairs: Iterable[ContrastPair], training: Iterable[str]) -> list[ContrastPair]:
    """The pairs of which no sentence is in the training text, punctuation and case aside."""
    candidates = {normal(item.sentence) for pair in pairs for item in pair.items}
    met = {text for text in map(normal, training) if text in candidates}
    return [x for x in pairs if not any(normal(item.sentence) in met for item in x.items)]


def normal(sentence: str) -> str:
    """A sentence in lower case without punctuation."""
    return " ".join(re.findall(r"\w+", sentence.casefold()))


def right_heads(weights_plhn: Array) -> dict[str, Array]:
    """Shares of each head, (l, h), for the pronoun and the nouns; p counts sentences, by pairs.

    pronouns: share of sentences with more weight on the right noun than on the wrong one
    pronoun_pairs: share of pairs right in both sentences
    pronoun_shift: share of pairs whose ending moves weight towards the noun it makes right
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


def rule(facts: Sequence[ItemFacts], heads: tuple[Head, ...]) -> Array:
    """The noun that the surest of these heads points to: 1 right, -1 wrong, 0 neither.

    This is the rule by which the command chooses its highlight.
    """
    verdicts = []
    for fact in facts:
        nouns = content_before(fact.words, fact.query)
        layer, head = heads[surest(fact.weights_lhk, nouns, heads)]
        word = fact.words[nouns[int(fact.weights_lhk[layer, head, nouns].argmax())]]
        verdicts.append((word == fact.item.right) - (word == fact.item.wrong))
    return np.array(verdicts)


def choose_heads(
    facts: Sequence[ItemFacts], shares: dict[str, Array], most: int = 6
) -> tuple[Head, ...]:
    """Of the heads through which a pronoun looks at nouns, those that make the rule right most.

    One is added at a time, as long as that helps. Where no head is right more often than chance
    may be (two standard deviations), there is nothing to choose by: the two that look at nouns
    most are taken.
    """
    weight_lh, right_lh = shares["pronoun_weight"], shares["pronouns"]
    on_nouns = [x for x in ranked(weight_lh) if float(weight_lh[x]) >= 0.25]
    chance = 0.5 + 1 / np.sqrt(len(facts))
    pool = [x for x in on_nouns if float(right_lh[x]) > chance]
    if not pool:
        return tuple(on_nouns[:2])
    chosen: tuple[Head, ...] = ()
    best = -1.0
    while pool and len(chosen) < most:
        scores = {x: (rule(facts, (*chosen, x)) == 1).mean() for x in pool}
        head = max(scores, key=lambda x: scores[x])
        if scores[head] <= best:
            break
        best, chosen = float(scores[head]), (*chosen, head)
        pool.remove(head)
    return chosen


def ranked(share_lh: Array) -> list[Head]:
    """All heads as (layer, head), the largest share first."""
    order = np.argsort(-share_lh, axis=None, kind="stable").tolist()
    return [divmod(i, share_lh.shape[1]) for i in order]


def aligned(facts: Sequence[ItemFacts], *, earlier: bool = False) -> Array:
    """right_lh: the share of French nouns that each head sends back to their English noun.

    Read at the step where the noun is the decoder's input, or ``earlier``, where it is predicted.
    """
    right = [
        (row.earlier_lhk if earlier else row.weights_lhk).argmax(axis=-1) == row.english
        for fact in facts
        for row in fact.nouns
    ]
    return np.mean(right, axis=0) if right else np.zeros(facts[0].weights_lhk.shape[:2])


def mean_aligned(facts: Sequence[ItemFacts], heads: Sequence[Head]) -> float:
    """The share of French nouns that the mean over these heads sends back to their English noun."""
    right = [
        np.mean([row.weights_lhk[head] for head in heads], axis=0).argmax() == row.english
        for fact in facts
        for row in fact.nouns
    ]
    return float(np.mean(right)) if right else 0.0


def sentences_of(pairs: Sequence[ContrastPair]) -> list[ContrastSentence]:
    """All sentences, the two of a pair side by side."""
    return [item for pair in pairs for item in pair.items]
