"""Training text that asks what a pronoun stands for: pairs of sentences with their links.

The two sentences of a pair differ in one clause, and its pronoun stands for one noun, then for the
other, so that neither position nor frequency tells which. In a sixth of the sentences *it* stands
for no noun and the link goes to the end of the sentence.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from anaphora.clauses import finished, finished_french
from anaphora.impersonal import (
    AROUND_EVENTS,
    AROUND_NOUNS,
    OPENINGS,
    impersonal_clause,
)
from anaphora.mentions import mention
from anaphora.nouns import members
from anaphora.scenes import Scene, Split, random_noun, scene
from anaphora.variants import Variant, impersonal_variant, variants
from judge.frames import ContrastPair, ContrastSentence
from regard.text.words import split_words
from train.data import AT_END, MarkedPair, WordLink

if TYPE_CHECKING:
    from train.made import TextRequest  # imports torch, which the judge does without

TRAINING = Split(frames=True, words=True)
CELLS = {
    "frame met, words met": TRAINING,
    "frame met, words new": Split(frames=True, words=False),
    "frame new, words met": Split(frames=False, words=True),
    "frame new, words new": Split(frames=False, words=False),
}
_FEWEST_FRAMES = 15  # no frame gives more than this part of a cell's pairs
_STANDALONE = 0.1  # share of the draws that are sentences about no noun
_IMPERSONAL = 0.4  # share of the scenes that also get a clause about no noun


def pairs(request: TextRequest) -> list[MarkedPair]:
    """The sentences that a recipe asks for with `made = "anaphora.generator:pairs"`."""
    return marked_pairs(request.sentences, request.seed)


def marked_pairs(number: int, seed: int) -> list[MarkedPair]:
    """Different training sentences with their translations and links.

    Parameters
    ----------
    number : int
        How many sentences.
    seed : int
        The same seed gives the same sentences.

    Examples
    --------
    >>> len(marked_pairs(100, seed=1)), marked_pairs(5, seed=2) == marked_pairs(5, seed=2)
    (100, True)
    """
    rng = random.Random(seed)
    seen: set[str] = set()
    made: list[MarkedPair] = []
    while len(made) < number:
        group = _group(rng, TRAINING)
        if any(x.source in seen for x in group):
            continue
        seen.update(x.source for x in group)
        made += group
    return made[:number]


def cells(number: int, seed: int) -> dict[str, list[ContrastPair]]:
    """Contrast pairs of four cells: frames and words of the training text, or kept out of it.

    Parameters
    ----------
    number : int
        How many pairs in each cell.
    seed : int
        The same seed gives the same pairs.
    """
    return {cell: _contrasts(number, seed, split) for cell, split in CELLS.items()}


def _group(rng: random.Random, split: Split) -> list[MarkedPair]:
    if rng.random() < _STANDALONE:
        alone = _standalone(rng, split)
        return [alone] if alone else []
    drawn = scene(rng, split)
    if drawn is None:
        return []
    group = [x.pair for x in variants(rng, drawn, split)]
    if group and drawn.event.option not in ("more", "until") and rng.random() < _IMPERSONAL:
        group.append(impersonal_variant(rng, drawn))
    return group


def _contrasts(number: int, seed: int, split: Split) -> list[ContrastPair]:
    rng = random.Random(seed)
    pairs: dict[str, ContrastPair] = {}
    most, counts = max(1, number // _FEWEST_FRAMES), Counter[str]()
    while len(pairs) < number:
        drawn = scene(rng, split)
        both = variants(rng, drawn, split) if drawn else ()
        pair = _contrast(drawn, both) if drawn and both else None
        if pair is None or pair.of_first.sentence in pairs:
            continue
        if counts[pair.of_first.frame] < most:
            counts[pair.of_first.frame] += 1
            pairs[pair.of_first.sentence] = pair
    return list(pairs.values())


def _contrast(drawn: Scene, both: Sequence[Variant]) -> ContrastPair | None:
    """A pair whose pronoun is the same word in both sentences and occurs once."""
    one, two = both
    if one.pronoun != two.pronoun or one.pronoun not in ("it", "they", "them"):
        return None
    for x in both:
        words = [word.lower() for word in split_words(x.pair.source)]
        if words.count(x.pronoun) != 1 or any(words.count(y.right.head) != 1 for y in both):
            return None
    frame = " ".join(drawn.event.english)
    items = [
        ContrastSentence(x.pair.source, x.right.head, y.right.head, x.pronoun, x.of_object, frame)
        for x, y in ((one, two), (two, one))
    ]
    return ContrastPair(*items)


def _standalone(rng: random.Random, split: Split) -> MarkedPair | None:
    kind = rng.random()
    if kind < 0.35:
        return _around_event(rng, split)
    if kind < 0.65:
        return _after_noun(rng, split)
    template = rng.choice([x for x in AROUND_NOUNS if x.in_training == split.frames])
    first = random_noun(rng, members(template.first), split.words)
    second = random_noun(rng, members(template.second), split.words, unlike=first)
    if first is None or second is None:
        return None
    nouns = {"{a}": mention(rng, first, rng.random() < 0.2),
             "{b}": mention(rng, second, rng.random() < 0.2)}  # fmt: skip
    words: list[str] = []
    for word in template.english:
        words += nouns[word].english if word in nouns else [word]
    text = template.french.format(a=nouns["{a}"].french, b=nouns["{b}"].french)
    return _impersonal(rng, words, text)


def _around_event(rng: random.Random, split: Split) -> MarkedPair | None:
    template = rng.choice([x for x in AROUND_EVENTS if x.in_training == split.frames])
    drawn = scene(rng, split)
    if drawn is None or (drawn.tense == "present") != (template.english[1] in ("is", "seems")):
        return None
    if "," in drawn.english or "that" in drawn.english[:4]:
        return None
    words: list[str] = []
    for word in template.english:
        words += drawn.english if word == "{e}" else [word]
    return _impersonal(rng, words, template.french.format(e=drawn.french))


def _after_noun(rng: random.Random, split: Split) -> MarkedPair | None:
    opening, french = rng.choice(OPENINGS)
    noun = random_noun(rng, members("building land waters wood vehicle machine"), split.words)
    if noun is None:
        return None
    item = mention(rng, noun, rng.random() < 0.2)
    clause = impersonal_clause(rng, rng.choice(("past", "present")))
    words = [*opening.split(), *item.english, *clause.english]
    return _impersonal(rng, words, f"{french} {item.french} , {clause.french}")


def _impersonal(rng: random.Random, words: list[str], text: str) -> MarkedPair:
    if words[:2] == ["it", "is"] and rng.random() < 0.35:
        words = ["it's", *words[2:]]
    mark = [] if words[-1] == "?" else ["."]
    words = [words[0][0].upper() + words[0][1:], *words[1:], *mark]
    query = next(i for i, word in enumerate(words) if word.lower() in ("it", "it's"))
    french = finished_french(f"{text} ." if mark else text)
    return MarkedPair(finished(words), french, (WordLink(query, AT_END, AT_END),))
