"""regard.distributed.observe: exact facts about a sequence that is split over ranks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Unpack

from numpy.typing import ArrayLike

from regard.engine.observe import from_zero
from regard.engine.ring.agreement import (
    Header,
    agree,
    agree_on_mask,
    argument_summary,
    group_or_world,
    monitor_of,
    retire_previous_call,
    threads_per_rank,
)
from regard.engine.ring.failures import FailureMonitor
from regard.engine.ring.rank_observation import RankObservation
from regard.engine.ring.rank_slice import ON_CPU, ON_DEVICE, ArrayKind, Arrays, RankSlice
from regard.engine.ring.ring_facts import build_rank_observation
from regard.engine.ring.token_layout import check_layout, layout_of
from regard.engine.ring.transport import Transport
from regard.engine.tensors import cast_like, is_tensor, on_device
from regard.engine.tiles.rows import Requested
from regard.engine.tiles.threads import using_threads
from regard.errors import RankError
from regard.textbook.options import AttentionOptions, with_defaults


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
    """Observe one sequence of which every rank of a process group has a slice of the tokens.

    Every rank makes this call with its own slice of query, key and value and otherwise the same
    arguments.

    Parameters
    ----------
    query, key, value : this rank's slice, as for ``regard.observe``.
    group : a process group of torch.distributed, that of all ranks unless given.
    layout : the tokens of a rank: 'contiguous', its slice following that of the rank before it, or
        'zigzag', cut by ``regard.distributed.cut``, which balances causal work.
    timeout : seconds after which a rank that does not arrive, stops or stays behind is named in a
        RankError on every other rank; after that the process group cannot be used again.
    top, map, entropy, received, profile : as for ``regard.observe``.
    **options : as for ``regard.attention``; mask, lengths and offset are those of the sequence.

    Returns
    -------
    RankObservation
        Facts of this rank's queries and of its keys; the map and the small figures of the profile
        are those of the sequence, the same on every rank.
    """
    check_layout(layout)
    requested = Requested(
        True, entropy, from_zero("top", top), from_zero("map", map), received, profile
    )
    arrays = {"query": query, "key": key, "value": value}
    kind = ON_DEVICE if on_device(**arrays) else ON_CPU
    complete = with_defaults(**options)
    complete["mask"] = kind.convert_option(complete["mask"])
    complete["lengths"] = kind.convert_option(complete["lengths"])
    facts = {"top": top, "map": map, "entropy": entropy, "received": received, "profile": profile}
    group = group_or_world(group)
    monitor = monitor_of(group, timeout)
    begin = time.monotonic()
    call = RankCall(kind, {x: kind.convert(a) for x, a in arrays.items()}, complete, layout, facts)
    with _reporting_failures(monitor):
        rank_slice = _agreed_slice(monitor, call)
        retire_previous_call(group, monitor)
        with using_threads(threads_per_rank()):
            seen = build_rank_observation(rank_slice, requested, Transport(group, monitor), begin)
    same = kind is ON_DEVICE or not is_tensor(query)
    return seen if same else replace(seen, _tensor=cast_like(seen.output, query))


@contextmanager
def _reporting_failures(monitor: FailureMonitor) -> Iterator[None]:
    """Report whatever stops this rank to the others, and raise it."""
    try:
        yield
    except RankError:
        raise
    except BaseException as error:
        stopped = f"{monitor.rank_names(monitor.rank)} stopped: {type(error).__name__}: {error}"
        monitor.report_failure(monitor.rank, stopped)
        raise


@dataclass(frozen=True)
class RankCall:
    """The arguments of one rank's call."""

    kind: ArrayKind
    arrays: Arrays
    options: AttentionOptions
    layout: str
    facts: dict[str, Any]

    def header(self) -> Header:
        """The summary that all ranks compare."""
        arguments = {"layout": self.layout, **self.facts, **self.options}
        summary = argument_summary(self.arrays, arguments)
        return Header(self.kind.extent_of(self.arrays), summary)


def _agreed_slice(monitor: FailureMonitor, call: RankCall) -> RankSlice:
    """This rank's validated slice, in the sequence that all ranks agree on."""
    extent, extents = agree(monitor, call.header())
    if callable(call.options["mask"]):
        agree_on_mask(monitor, call.options["mask"], extent)
    queries = layout_of(call.layout, [part.queries for part in extents], "queries")
    keys = layout_of(call.layout, [part.keys for part in extents], "keys")
    problem = call.kind.build(call.arrays, extent, call.options)
    return call.kind.rank_slice(problem, queries, keys, monitor.rank)
