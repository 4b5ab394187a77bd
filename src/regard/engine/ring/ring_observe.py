"""regard.distributed.observe: exact facts about all the weights of a sequence no rank holds."""

import time
from dataclasses import dataclass, replace
from typing import Any, Unpack

from numpy.typing import ArrayLike

from regard.engine.observe import from_zero
from regard.engine.ring.agreement import (
    Header,
    agree_on_rule,
    agreed,
    all_have_come,
    fair_threads,
    group_or_world,
    in_words,
    watch_of,
)
from regard.engine.ring.failures import Watch
from regard.engine.ring.rank_observation import RankObservation
from regard.engine.ring.ring_facts import observation
from regard.engine.ring.shares import ON_CPU, ON_DEVICE, Arrays, Kind, Share
from regard.engine.ring.token_layout import check_layout, laid_out
from regard.engine.ring.transport import Post
from regard.engine.tensors import cast_like, is_tensor, on_device
from regard.engine.tiles.arguments import AttentionOptions, with_defaults
from regard.engine.tiles.rows import Requested
from regard.engine.tiles.threads import using_threads
from regard.errors import RankError


def observe(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    group: Any = None,
    layout: str = "contiguous",
    timeout: float = 300.0,
    top: int = 16,
    map: int = 256,
    entropy: bool = True,
    received: bool = True,
    profile: bool = True,
    **options: Unpack[AttentionOptions],
) -> RankObservation:
    """Observe one sequence of which every rank of a process group holds a slice of the tokens.

    Every rank calls this with its own slice of query, key and value and otherwise the same
    arguments, which mean what they mean to ``regard.observe`` of the whole: ``mask``, ``lengths``
    and ``offset`` are those of the whole sequence. Each rank gets what belongs to its queries and
    to its keys; map and the small figures of the profile are the same on every rank.

    ``layout`` says which tokens a rank holds: 'contiguous', its slice following that of the rank
    before it, or 'zigzag', cut by ``regard.distributed.cut``, which balances causal work.
    A rank that does not come, stops or stays behind for ``timeout`` seconds is named in a
    RankError on every other rank; after that the process group cannot be used again.
    """
    check_layout(layout)
    requested = Requested(
        True, entropy, from_zero("top", top), from_zero("map", map), received, profile
    )
    arrays = {"query": query, "key": key, "value": value}
    kind = ON_DEVICE if on_device(**arrays) else ON_CPU
    complete = with_defaults(**options)
    complete["mask"] = kind.beside(complete["mask"])
    complete["lengths"] = kind.beside(complete["lengths"])
    facts = {"top": top, "map": map, "entropy": entropy, "received": received, "profile": profile}
    group = group_or_world(group)
    watch = watch_of(group, timeout)
    begin = time.monotonic()
    mine = Mine(kind, {x: kind.taken(a) for x, a in arrays.items()}, complete, layout, facts)
    try:
        share = _shared(watch, mine)
        all_have_come(group, watch)
        with using_threads(fair_threads()):
            seen = observation(share, requested, Post(group, watch), begin)
    except RankError:
        raise
    except BaseException as error:  # whatever stops this rank is told to the others
        stopped = f"{watch.named(watch.rank)} stopped: {type(error).__name__}: {error}"
        watch.failed(watch.rank, stopped)
        raise
    same = kind is ON_DEVICE or not is_tensor(query)
    return seen if same else replace(seen, _tensor=cast_like(seen.output, query))


@dataclass(frozen=True)
class Mine:
    """What this rank was called with."""

    kind: Kind
    arrays: Arrays
    options: AttentionOptions
    layout: str
    facts: dict[str, Any]

    def header(self) -> Header:
        """What the other ranks are to know of it."""
        said = in_words(self.arrays, {"layout": self.layout, **self.facts, **self.options})
        return Header(self.kind.extent_of(self.arrays), said)


def _shared(watch: Watch, mine: Mine) -> Share:
    """Check this rank's slice, and agree with the others on what the whole is."""
    whole, extents = agreed(watch, mine.header())
    if callable(mine.options["mask"]):
        agree_on_rule(watch, mine.options["mask"], whole)
    queries = laid_out(mine.layout, [part.queries for part in extents], "queries")
    keys = laid_out(mine.layout, [part.keys for part in extents], "keys")
    held = mine.kind.build(mine.arrays, whole, mine.options)
    return mine.kind.share(held, queries, keys, watch.rank)
