"""regard.distributed.observe: exact facts about a sequence that is split over ranks.

The ranks first agree on the arguments, so that a difference is an error on all of them.
"""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch.distributed as dist
from numpy.typing import ArrayLike
from torch.distributed import distributed_c10d

from regard.arguments import suggest_keywords
from regard.engine.call import Extent, Requested, gather_options
from regard.engine.observe import from_zero
from regard.engine.ring.facts import RankObservation, build_rank_observation
from regard.engine.ring.failures import FailureMonitor
from regard.engine.ring.layout import build_layout, check_layout, positions
from regard.engine.ring.rank_slice import ON_CPU, ON_DEVICE, ArrayKind, Arrays, RankSlice
from regard.engine.ring.transport import Transport
from regard.engine.tensors import as_array, cast_like, is_tensor, on_device
from regard.engine.threads import threads, using_threads
from regard.errors import ArgumentError, BackendError, RankError
from regard.textbook.options import AttentionOptions, MaskRule, Window
from regard.typing import Array


@suggest_keywords
def observe(  # noqa: PLR0913 (the options of attention, and what to report)
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    mask: ArrayLike | MaskRule | None = None,
    causal: bool = False,
    offset: int | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    lengths: ArrayLike | None = None,
    group: Any = None,
    layout: str = "contiguous",
    timeout: float = 300.0,
    top: int = 16,
    map: int = 256,
    entropy: bool = True,
    received: bool = True,
    profile: bool = True,
) -> RankObservation:
    """``regard.observe`` of a sequence that is split over the ranks of a process group.

    Every rank makes this call with its own slice of query, key and value and otherwise the same
    arguments.

    Parameters
    ----------
    query, key, value : this rank's slice, as for ``regard.observe``.
    mask, causal, offset, window, softcap, scale, lengths : as for ``regard.attention``; mask,
        lengths and offset are those of the whole sequence.
    group : a process group of torch.distributed, by default that of all ranks.
    layout : the tokens of a rank: 'contiguous', its slice following that of the rank before it, or
        'zigzag', cut by ``regard.distributed.cut``, which balances causal work.
    timeout : seconds after which a rank that does not arrive, stops or falls behind is named in a
        RankError on every other rank; after that the process group cannot be used again.
    top, map, entropy, received, profile : as for ``regard.observe``.

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
    mask, lengths = (kind.convert_option(x) for x in (mask, lengths))
    options = gather_options(mask, causal, offset, window, softcap, scale, lengths)
    facts = {"top": top, "map": map, "entropy": entropy, "received": received, "profile": profile}
    call = RankCall(kind, {x: kind.convert(a) for x, a in arrays.items()}, options, layout, facts)
    seen = _observe_on_rank(call, requested, group_or_world(group), timeout)
    same = kind is ON_DEVICE or not is_tensor(query)
    return seen if same else replace(seen, _tensor=cast_like(seen.output, query))


def _observe_on_rank(
    call: RankCall, requested: Requested, group: Any, timeout: float
) -> RankObservation:
    monitor = new_monitor(group, timeout)
    begin = time.monotonic()
    with _reporting_failures(monitor):
        rank_slice = _agreed_slice(monitor, call)
        retire_previous_call(group, monitor)
        with using_threads(threads_per_rank()):
            return build_rank_observation(rank_slice, requested, Transport(group, monitor), begin)


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
        arguments = {"layout": self.layout, **self.facts, **self.options}
        summary = argument_summary(self.arrays, arguments)
        return Header(self.kind.measure_extent(self.arrays), summary)


def _agreed_slice(monitor: FailureMonitor, call: RankCall) -> RankSlice:
    """This rank's validated slice, in the sequence that all ranks agree on."""
    extent, extents = agree(monitor, call.header())
    if callable(call.options["mask"]):
        agree_on_mask(monitor, call.options["mask"], extent)
    queries = build_layout(call.layout, [part.queries for part in extents], "queries")
    keys = build_layout(call.layout, [part.keys for part in extents], "keys")
    problem = call.kind.build(call.arrays, extent, call.options)
    return call.kind.rank_slice(problem, queries, keys, monitor.rank)


_calls: dict[Any, int] = {}  # by group; equal on every rank, since every rank makes every call
_last: dict[Any, FailureMonitor] = {}  # by group


def group_or_world(group: Any) -> Any:
    """The group, or that of all ranks if it is None; raise where it cannot serve."""
    if not dist.is_available() or not dist.is_initialized():
        raise BackendError(
            "regard.distributed must run in a process group: start with torchrun, and call "
            "torch.distributed.init_process_group('gloo') first."
        )
    group = group or dist.group.WORLD
    if dist.get_rank(group) < 0:
        raise ArgumentError(
            f"group must include this rank, got one without rank {dist.get_rank()}."
        )
    if "cpu" not in str(dist.get_backend_config(group)):
        raise BackendError(
            f"the process group must also send from the CPU, got {dist.get_backend_config(group)}: "
            "init_process_group('cpu:gloo,cuda:nccl')."
        )
    return group


def new_monitor(group: Any, timeout: float) -> FailureMonitor:
    """A failure monitor for the next call of the group."""
    if not timeout > 0:
        raise ArgumentError(f"timeout must be a number of seconds above 0, got {timeout!r}.")
    call = _calls[group] = _calls.get(group, 0) + 1
    # torch has no public function for a group's store; its own elastic agent uses this one.
    store = distributed_c10d._get_process_group_store(group)
    names = dist.get_process_group_ranks(group)
    return FailureMonitor(store, dist.get_rank(group), names, timeout, f"regard/{call}")


def threads_per_rank() -> int:
    """This rank's share of the cores, where torchrun gave all of them to each of its ranks."""
    local_ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return max(1, threads() // local_ranks) if threads() == os.cpu_count() else threads()


def retire_previous_call(group: Any, monitor: FailureMonitor) -> None:
    """Delete the keys of the previous call: every rank has left it."""
    before = _last.pop(group, None)
    if before is not None:
        before.delete_keys()
    _last[group] = monitor


def cut(array: Array, *, group: Any = None, layout: str = "contiguous", axis: int = -2) -> Array:
    """This rank's slice of an array of the whole sequence.

    Parameters
    ----------
    array : the whole array; ``axis`` is the axis of its tokens.
    group : a process group, that of all ranks unless given.
    layout : 'contiguous' or 'zigzag', as for ``observe``.
    """
    group = group_or_world(group)
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    index = positions(array.shape[axis], rank, ranks, layout=layout)
    return np.take(np.asarray(array), index, axis=axis)


MASK_SAMPLE_POSITIONS = 64  # queries, and keys, at which mask functions are compared


@dataclass(frozen=True)
class Header:
    """A rank's summary of its call: the extent of its arrays, and every argument as text."""

    extent: Extent
    arguments: dict[str, str]


def agree(monitor: FailureMonitor, header: Header) -> tuple[Extent, list[Extent]]:
    """The extent of the sequence and of each slice; raise where arguments differ."""
    gathered = monitor.all_gather("header", pickle.dumps(header))
    headers: list[Header] = [pickle.loads(x) for x in gathered]  # noqa: S301 (from our own ranks)
    _check_same(monitor, [other.arguments for other in headers])
    extents = [other.extent for other in headers]
    return _joint_extent(extents), extents


def agree_on_mask(monitor: FailureMonitor, rule: MaskRule, extent: Extent) -> None:
    """Raise if the ranks' mask functions differ at some sampled positions."""
    sizes = extent.queries, extent.keys
    at_q, at_k = (np.linspace(0, n - 1, min(n, MASK_SAMPLE_POSITIONS)).astype(int) for n in sizes)
    sampled = np.asarray(rule(at_q[:, None], at_k[None, :]))
    summary = f"a function ({_digest(sampled)})"
    gathered = monitor.all_gather("rule", summary.encode())
    _check_same(monitor, [{"mask": other.decode()} for other in gathered])


def _joint_extent(extents: list[Extent]) -> Extent:
    sizes = {x: max(part.sizes[x] for part in extents) for x in ("query", "key")}
    sizes["value"] = math.hypot(*(part.sizes["value"] for part in extents))
    return replace(
        extents[0],
        queries=sum(part.queries for part in extents),
        keys=sum(part.keys for part in extents),
        sizes=sizes,
    )


def _check_same(monitor: FailureMonitor, summaries: list[dict[str, str]]) -> None:
    """Raise for arguments that differ: 'causal is True on ranks 0, 1 and False on rank 2'."""
    differences = []
    for name in summaries[0]:
        ranks: dict[str, list[int]] = {}
        for rank, summary in enumerate(summaries):
            ranks.setdefault(summary[name], []).append(rank)
        if len(ranks) > 1:
            parts = [f"{value} on {monitor.rank_names(*some)}" for value, some in ranks.items()]
            differences.append(f"{name} is {' and '.join(parts)}")
    if differences:
        raise ArgumentError(
            f"the ranks were called with different arguments: {'; '.join(differences)}. "
            "Give every rank the same."
        )


def argument_summary(arrays: dict[str, Array], arguments: dict[str, Any]) -> dict[str, str]:
    """Every argument as a short text, to compare and to print; token counts may differ."""
    summary = {f"{x} dtype": str(array.dtype) for x, array in arrays.items()}
    summary |= {
        f"{x} shape": f"({', '.join([*map(str, a.shape[:-2]), 'tokens', str(a.shape[-1])])})"
        for x, a in arrays.items()
    }
    return summary | {name: _as_text(name, argument) for name, argument in arguments.items()}


def _as_text(name: str, argument: Any) -> str:
    if callable(argument):
        return "a function"
    if name in ("mask", "lengths") and argument is not None:
        array = as_array(argument)
        return f"{array.dtype} of shape {array.shape} ({_digest(array)})"
    return f"{tuple(argument)}" if isinstance(argument, list) else f"{argument}"


def _digest(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:8]
