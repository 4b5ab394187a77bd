"""The process group of a call: who is in it, its store, and how often it was called."""

import os
from typing import Any

import numpy as np
import torch.distributed as dist
from torch.distributed import distributed_c10d

from regard.errors import ArgumentError, BackendError
from regard.self_attention.backends.ring.layout import positions
from regard.self_attention.backends.ring.watch import Watch
from regard.self_attention.tiles.problem import Array
from regard.self_attention.tiles.threads import threads

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
