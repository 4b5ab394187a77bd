"""One rank of the tests, as ring_start forks it. Runs every case that a test asks about."""

import gc
import pickle
import tracemalloc
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from tests.helpers.attention_cases import Case
from tests.helpers.attention_facts import MAP, TOP
from tests.helpers.ring_cases import RINGS, SLICE, Slices, cases_of, taken
from tests.helpers.ring_start import PATIENCE

from regard import distributed
from regard.engine.ring import observe as ring_observe
from regard.engine.ring import passes
from regard.engine.threads import using_threads
from regard.engine.tiles import plan
from regard.errors import RegardError

# Two ranks may share one GPU: the group's gloo sends what was moved to the CPU.
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def facts(seen: distributed.RankObservation) -> dict[str, Any]:
    """Everything that this rank can say."""
    profile = seen.profile
    return seen.facts | {
        "received_mean": seen.received_mean,
        "first": profile.first,
        "back": profile.back,
        "shares": profile.weight,
        "itself": profile.itself,
        "previous": profile.previous,
        "next": profile.next,
        "histogram": profile.histogram(),
        "sent_bytes": seen.traffic.sent_bytes,
    }


def observed(case: Case, slices: Slices, ranks: int, group: Any) -> dict[str, Any] | str:
    """The facts of one case, or the error it raised."""
    rank = dist.get_rank(group)
    passes.MAX_GATHERED_BYTES = 2**28 if slices.gathered else -1
    query, key, value = case.arrays()
    ring_observe.on_device = lambda **_: slices.device
    if slices.device:
        arrays = (np.ascontiguousarray(x) for x in (query, key, value))
        query, key, value = (torch.from_numpy(x).to(DEVICE) for x in arrays)
    own_q, own_k = (taken(slices, len_, rank, ranks) for len_ in (query.shape[-2], key.shape[-2]))
    try:
        return facts(
            distributed.observe(
                query[..., own_q, :], key[..., own_k, :], value[..., own_k, :], group=group,
                layout=slices.layout, timeout=PATIENCE, top=TOP, map=MAP, **case.arguments,
            )
        )  # fmt: skip
    except RegardError as error:
        return f"{type(error).__name__}: {error}"


def peak_bytes(tokens: int, group: Any) -> int:
    """What a rank with so many tokens of its own holds at most, beside them, in small tiles.

    The least of three runs: the first also fills what is kept from call to call.
    """
    passes.MAX_GATHERED_BYTES = -1
    ring_observe.on_device = lambda **_: False
    x = np.random.default_rng(dist.get_rank()).standard_normal((1, tokens, 2))
    peaks = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "TILE_ROWS", 64)
        patch.setattr(plan, "TILE_COLUMNS", 64)
        for _ in range(3):
            gc.collect()
            tracemalloc.start()
            distributed.observe(x, x, x, group=group, top=2, map=8)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    return min(peaks)


def main(rank: int, ranks: int, port: int, folder: Path, words: list[str]) -> None:
    """Groups of one, two, three and four ranks, one after the other; the repeats, where asked."""
    with using_threads(1):
        run(rank, ranks, port, folder, repeats="repeats" in words)


def run(rank: int, ranks: int, port: int, folder: Path, *, repeats: bool) -> None:
    """All cases of every size of group; what they gave goes to a file."""
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks,
        timeout=timedelta(seconds=PATIENCE),  # the last rank waits for the smaller groups
    )  # fmt: skip
    results = {}
    for size in RINGS:
        group = dist.new_group(list(range(size)))
        if rank < size:
            for name, case, slices, repeat in cases_of(size):
                if repeats or not repeat:
                    results[size, name] = observed(case, slices, size, group)
        if rank < size in (2, 4):
            results[size, "peak bytes"] = peak_bytes(SLICE, group)
    (folder / f"{rank}.pickle").write_bytes(pickle.dumps(results))
    dist.barrier()
    dist.destroy_process_group()
