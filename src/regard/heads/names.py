"""A head's name in plain English: what it does most, with the figure and the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

SHARE = 0.4  # of a head's attention, to be named by it
FEW = 5  # queries below which a share of them says little
_PLACES = {
    "first": "rests on the first token",
    "itself": "looks at the token itself",
    "previous": "looks at the token before",
    "next": "looks at the token after",
    "duplicate": "looks at the same token elsewhere",
    "induction": "looks at what followed the same token before",
}

_WHERE_THERE = ("duplicate", "induction")  # means over the queries that see such a key at all


class Resting(NamedTuple):
    """The token that gets most of a head's attention, where it stands, and its share."""

    token: str
    position: int
    share: float


def name_of(
    measured: Mapping[str, float],
    baseline: Mapping[str, float],
    queries: Mapping[str, int],
    rests: Resting,
    *,
    cross: bool = False,
) -> str:
    """The place that takes most beyond its baseline, if it takes a good part; else how it spreads.

    >>> flat = {"entropy": 2.0, "first": 0.1, "itself": 0.1, "previous": 0.8, "next": 0.0,
    ...         "duplicate": 0.0, "induction": 0.0}
    >>> even = dict.fromkeys(flat, 0.1) | {"entropy": 3.0}
    >>> name_of(flat, even, dict.fromkeys(flat, 9), Resting("a", 3, 0.2))
    'looks at the token before: 80 % (evenly 10 %)'
    """
    places = ("first",) if cross else tuple(_PLACES)
    beyond = {x: measured[x] - baseline[x] for x in places if queries[x] >= FEW or x == "first"}
    # Where such a key is there to look at, that says more than where the head rests otherwise.
    told = [x for x in _WHERE_THERE if beyond.get(x, 0.0) >= SHARE / 2 and measured[x] >= SHARE]
    best = max(told or beyond, key=lambda x: beyond[x])
    resting = rests.share - baseline["itself" if not cross else "first"]
    if not told and rests.position and rests.share >= SHARE and resting > beyond[best]:
        return f"rests on {rests.token!r} (token {rests.position}): {_percent(rests.share)}"
    if measured[best] >= SHARE and beyond[best] >= SHARE / 2:
        figures = f"{_percent(measured[best])} (evenly {_percent(baseline[best])})"
        return f"{_PLACES[best]}: {figures}"
    return _spread(measured["entropy"], baseline["entropy"])


def _spread(entropy: float, even: float) -> str:
    share = entropy / even if even > 0 else 0.0
    figures = f"{entropy:.2f} nats (evenly {even:.2f})"
    if share >= 0.85:
        return f"spreads its attention evenly: {figures}"
    return f"picks a few tokens: {figures}" if share <= 0.5 else f"mixes: {figures}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
