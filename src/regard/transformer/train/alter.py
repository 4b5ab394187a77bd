"""Small changes to pairs, so that a model also meets what people type and files lack.

Corpora are sentences: each alone, capitalised, with its full stop. People leave the stop out, or
the capitals, or write two sentences.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from regard.transformer.train.files import Pair


@dataclass(frozen=True)
class Alterations:
    """The share of pairs that each change is made to."""

    joined: float = 0.05
    unstopped: float = 0.08
    lowered: float = 0.03
    titled: float = 0.02


NONE = Alterations(joined=0.0, unstopped=0.0, lowered=0.0, titled=0.0)


def alter(pairs: Sequence[Pair], shares: Alterations, seed: int) -> list[Pair]:
    """Change a share of the pairs, the same ones for the same seed.

    >>> shares = Alterations(joined=0.0, unstopped=1.0, lowered=1.0, titled=0.0)
    >>> alter([("I am good.", "Je suis bon.")], shares, seed=0)
    [('i am good', 'Je suis bon')]
    """
    rng = random.Random(seed)
    return [_altered(pair, pairs, shares, rng) for pair in pairs]


def _altered(pair: Pair, pairs: Sequence[Pair], shares: Alterations, rng: random.Random) -> Pair:
    source, target = pair
    if rng.random() < shares.joined:
        second = pairs[rng.randrange(len(pairs))]
        source, target = f"{source} {second[0]}", f"{target} {second[1]}"
    if rng.random() < shares.unstopped and source.endswith(".") and target.endswith("."):
        source, target = source.rstrip("."), target.rstrip(".")
    if rng.random() < shares.lowered:
        source = source.lower()
    elif rng.random() < shares.titled:
        source = " ".join(word[:1].upper() + word[1:] for word in source.split())
    return (source, target) if source and target else pair
