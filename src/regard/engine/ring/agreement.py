"""The process group of a call.

The agreement of all ranks on its arguments before the first step.
"""

import hashlib
import math
import os
import pickle
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch.distributed as dist
from torch.distributed import distributed_c10d

from regard.engine.ring.failures import Watch
from regard.engine.ring.token_layout import positions
from regard.engine.tensors import as_array
from regard.engine.tiles.arguments import Extent
from regard.engine.tiles.threads import threads
from regard.engine.visibility import MaskRule
from regard.errors import ArgumentError, BackendError
from regard.typing import Array

_calls: dict[Any, int] = {}  # by group; the same on every rank, for every rank calls alike


_last: dict[Any, Watch] = {}


def group_or_world(group: Any) -> Any:
    """The group given, or that of all ranks."""
    if not dist.is_available() or not dist.is_initialized():
        raise BackendError(
            "regard.distributed needs a process group: start with torchrun, and call "
            "torch.distributed.init_process_group('gloo') first."
        )
    found = group or dist.group.WORLD
    if dist.get_rank(found) < 0:
        raise ArgumentError(
            f"group needs to have this rank in it, but rank {dist.get_rank()} is not."
        )
    if "cpu" not in str(dist.get_backend_config(found)):
        raise BackendError(
            "regard.distributed needs a process group that can also send from the CPU, but this "
            f"one is {dist.get_backend_config(found)}: init_process_group('cpu:gloo,cuda:nccl')."
        )
    return found


def watch_of(group: Any, timeout: float) -> Watch:
    """A watch over one more call of the group."""
    if not timeout > 0:
        raise ArgumentError(f"timeout needs a number of seconds above 0, but it is {timeout!r}.")
    call = _calls[group] = _calls.get(group, 0) + 1
    # There is no public way to a group's store; torch's own elastic agent takes this one.
    store = distributed_c10d._get_process_group_store(group)
    names = dist.get_process_group_ranks(group)
    return Watch(store, dist.get_rank(group), names, timeout, f"regard/{call}")


def fair_threads() -> int:
    """This rank's share of the cores, where torchrun left all of them to each of its ranks."""
    ranks_here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return max(1, threads() // ranks_here) if threads() == os.cpu_count() else threads()


def all_have_come(group: Any, watch: Watch) -> None:
    """What ranks told each other in the call before this one is no longer needed."""
    before = _last.pop(group, None)
    if before is not None:
        before.forget()
    _last[group] = watch


def cut(array: Array, *, group: Any = None, layout: str = "contiguous", axis: int = -2) -> Array:
    """This rank's slice of a whole array, of whose tokens ``axis`` is the axis."""
    group = group_or_world(group)
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    own = positions(array.shape[axis], rank, ranks, layout=layout)
    return np.take(np.asarray(array), own, axis=axis)


SAMPLE = 64  # positions a side at which mask functions are compared


@dataclass(frozen=True)
class Header:
    """What a rank says of its call: how much it holds, and every argument in a few words."""

    extent: Extent
    said: dict[str, str]


def agreed(watch: Watch, header: Header) -> tuple[Extent, list[Extent]]:
    """The extent of the whole and of each rank's slice, or an error that says who differs."""
    met = watch.meet("header", pickle.dumps(header))
    headers: list[Header] = [pickle.loads(words) for words in met]  # noqa: S301 (from our own ranks)
    _check_same(watch, [other.said for other in headers])
    extents = [other.extent for other in headers]
    return _joint(extents), extents


def agree_on_rule(watch: Watch, rule: MaskRule, whole: Extent) -> None:
    """Mask functions cannot be compared, but what they say of some positions can."""
    sides = (np.linspace(0, n - 1, min(n, SAMPLE)).astype(int) for n in (whole.queries, whole.keys))
    at_q, at_k = sides
    said = np.asarray(rule(at_q[:, None], at_k[None, :]))
    words = f"a function that says {_digest(said)}"
    met = watch.meet("rule", words.encode())
    _check_same(watch, [{"mask": other.decode()} for other in met])


def _joint(extents: list[Extent]) -> Extent:
    sizes = {x: max(part.sizes[x] for part in extents) for x in ("query", "key")}
    sizes["value"] = math.hypot(*(part.sizes["value"] for part in extents))
    return replace(
        extents[0],
        queries=sum(part.queries for part in extents),
        keys=sum(part.keys for part in extents),
        sizes=sizes,
    )


def _check_same(watch: Watch, said: list[dict[str, str]]) -> None:
    """For each argument that differs: 'causal is True on ranks 0, 1 and False on rank 2'."""
    found = []
    for name in said[0]:
        ranks: dict[str, list[int]] = {}
        for rank, words in enumerate(said):
            ranks.setdefault(words[name], []).append(rank)
        if len(ranks) > 1:
            parts = [f"{value} on {watch.named(*who)}" for value, who in ranks.items()]
            found.append(f"{name} is {' and '.join(parts)}")
    if found:
        raise ArgumentError(
            f"the ranks were called with different arguments: {'; '.join(found)}. "
            "Give every rank the same."
        )


def in_words(arrays: dict[str, Array], arguments: dict[str, Any]) -> dict[str, str]:
    """Every argument, short enough to compare and to print; tokens may differ in number."""
    said = {f"{x} dtype": str(array.dtype) for x, array in arrays.items()}
    said |= {
        f"{x} shape": f"({', '.join([*map(str, a.shape[:-2]), 'tokens', str(a.shape[-1])])})"
        for x, a in arrays.items()
    }
    return said | {name: _word(name, argument) for name, argument in arguments.items()}


def _word(name: str, argument: Any) -> str:
    if callable(argument):
        return "a function"
    if name in ("mask", "lengths") and argument is not None:
        array = as_array(argument)
        return f"{array.dtype} of shape {array.shape} ({_digest(array)})"
    return f"{tuple(argument)}" if isinstance(argument, list) else f"{argument}"


def _digest(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:8]
