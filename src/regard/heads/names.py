"""Names of the head measures, in one table, and the name of a head in plain English.

The terminal, the survey's report and its page, and the roles of the shipped model's heads take
their words from MEASURES.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from regard.display import percent

NAMING_SHARE = 0.4  # smallest share of a head's attention that names it
MIN_QUERIES = 5  # smallest number of queries whose mean can name a head


class MeasureName(NamedTuple):
    """A head measure in words: heading of a column, short name, its key in words, definition.

    ``target`` is what the weight lies on; entropy has none.
    """

    heading: str
    short: str
    target: str
    definition: str


MEASURES = {
    "entropy": MeasureName(
        "entropy", "entropy", "", "how spread out a query's weights are, in nats"
    ),
    "first": MeasureName("first", "first token", "the first token", "weight on the first token"),
    "itself": MeasureName("self", "itself", "the token itself", "weight on the token itself"),
    "previous": MeasureName(
        "prev", "token before", "the token before", "weight on the token before"
    ),
    "next": MeasureName("next", "token after", "the token after", "weight on the token after"),
    "duplicate": MeasureName(
        "dup", "same token", "the same token elsewhere",
        "weight on the same token elsewhere, over queries that see one",
    ),
    "induction": MeasureName(
        "induct", "after the same token", "what follows the same token elsewhere",
        "weight on what follows the same token elsewhere, over queries that see one",
    ),
}  # fmt: skip
TARGETS = {key: name.target for key, name in MEASURES.items() if name.target}
RARE = ("previous", "next", "duplicate", "induction")  # what idle heads do not do
RARE_SHARE, RARE_TIMES = 0.2, 5  # of a head's attention, and of its baseline
REPEATS = ("duplicate", "induction")  # means over the queries that see such a key at all


class Resting(NamedTuple):
    """The token that gets most of a head's attention, its position, and its share."""

    token: str
    position: int
    share: float


def looks_at(measure: str, unit: str = "token") -> str:
    """The sentence of a head that gives most of its weight to a measure's target.

    >>> looks_at("previous"), looks_at("previous", unit="word")
    ('looks at the token before', 'looks at the word before')
    """
    return f"looks at {TARGETS[measure].replace('token', unit)}"


def head_name(
    measured: Mapping[str, float],
    baseline: Mapping[str, float],
    queries: Mapping[str, int],
    rests: Resting,
    *,
    cross: bool = False,
) -> str:
    """Name of a head: the target with most weight above its baseline, else how spread it is.

    Most heads rest on one token when they have nothing to do. What a head does besides, and few
    others do, names it from a smaller share on, and its resting is said behind it.

    >>> flat = {"entropy": 2.0, "first": 0.1, "itself": 0.1, "previous": 0.8, "next": 0.0,
    ...         "duplicate": 0.0, "induction": 0.0}
    >>> uniform = dict.fromkeys(flat, 0.1) | {"entropy": 3.0}
    >>> head_name(flat, uniform, dict.fromkeys(flat, 9), Resting("a", 3, 0.2))
    'looks at the token before: 80 % (evenly 10 %)'
    >>> idle = flat | {"previous": 0.0, "first": 0.57, "induction": 0.34}
    >>> even = uniform | {"induction": 0.01}
    >>> head_name(idle, even, dict.fromkeys(flat, 9), Resting("<s>", 0, 0.57))
    'looks at what follows the same token elsewhere: 34 % (evenly 1 %); first token 57 %'
    """
    names = ("first",) if cross else tuple(TARGETS)
    excess = {
        x: measured[x] - baseline[x] for x in names if queries[x] >= MIN_QUERIES or x == "first"
    }
    # Where a repeat is visible, the weight on it says more than where the head rests otherwise.
    repeats = [
        x for x in REPEATS if excess.get(x, 0.0) >= NAMING_SHARE / 2 and measured[x] >= NAMING_SHARE
    ]
    best = max(repeats or excess, key=lambda x: excess[x])
    resting = rests.share - baseline["itself" if not cross else "first"]
    rare = [
        x for x in RARE
        if measured[x] >= max(RARE_SHARE, RARE_TIMES * baseline[x]) and excess.get(x, 0.0) > 0
    ]  # fmt: skip
    if rare and not repeats and max(rests.share, measured["first"]) >= NAMING_SHARE:
        best = max(rare, key=lambda x: excess[x])
        where = f"{rests.token!r}" if rests.position else MEASURES["first"].short
        figures = f"{percent(measured[best])} (evenly {percent(baseline[best])})"
        return f"{looks_at(best)}: {figures}; {where} {percent(rests.share)}"
    if not repeats and rests.position and rests.share >= NAMING_SHARE and resting > excess[best]:
        return f"rests on {rests.token!r} (token {rests.position}): {percent(rests.share)}"
    if measured[best] >= NAMING_SHARE and excess[best] >= NAMING_SHARE / 2:
        figures = f"{percent(measured[best])} (evenly {percent(baseline[best])})"
        sentence = f"rests on {TARGETS[best]}" if best == "first" else looks_at(best)
        return f"{sentence}: {figures}"
    return _spread(measured["entropy"], baseline["entropy"])


WORDS = {
    "looks at what follows the same": "induction",
    "looks at the same": "same token",
    "looks at the token before": "previous",
    "looks at the token after": "next",
    "looks at the token itself": "itself",
    "rests on the first": "first token",
    "spreads": "even",
    "picks": "few",
    "mixes": "mixed",
}


def telling_word(name: str) -> str:
    """One word for a head that ``head_name`` named, for a label under a small picture.

    >>> telling_word("looks at the token before: 80 % (evenly 10 %)")
    'previous'
    >>> telling_word("rests on '.' (token 5): 61 %")
    "on '.'"
    """
    known = next((word for start, word in WORDS.items() if name.startswith(start)), None)
    return known or name.removeprefix("rests ").partition(" (")[0]


def _spread(entropy: float, uniform: float) -> str:
    share = entropy / uniform if uniform > 0 else 0.0
    figures = f"{entropy:.2f} nats (evenly {uniform:.2f})"
    if share >= 0.85:
        return f"spreads its attention evenly: {figures}"
    return f"picks a few tokens: {figures}" if share <= 0.5 else f"mixes: {figures}"
