"""One rank of a ring in which something goes wrong; writes what it was told, and after how long.

As ring_start forks it; its words name what goes wrong.
"""

import json
import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch.distributed as dist

from regard import distributed
from regard.engine.ring import failures, passes
from regard.errors import RegardError

TIMEOUT = 3.0  # seconds; on a busy machine a rank that is well may be late by one
X = np.random.default_rng(0).standard_normal((2, 6, 4))


def at_the_second_slice(do: Callable[[], Any]) -> Callable[..., np.ndarray]:
    """A mask that does something once it is asked about another rank's keys, around or at once."""

    def mask(at_q: np.ndarray, at_k: np.ndarray) -> np.ndarray:
        rank = dist.get_rank()
        if at_q.size == X.shape[1] and (at_k // X.shape[1] != rank).any():
            do()
        return at_k <= at_q + 1000

    return mask


def plain(at_q: np.ndarray, at_k: np.ndarray) -> np.ndarray:
    return at_k <= at_q + 1000


def fail() -> None:
    raise ValueError("the mask's own mistake")


def different_arguments(rank: int, group: Any) -> None:
    distributed.observe(X, X, X, group=group, causal=rank < 2, top=8 if rank == 1 else 16)


def different_shapes(rank: int, group: Any) -> None:
    x = X[..., :3] if rank == 2 else X
    distributed.observe(x, x, x, group=group)


def different_functions(rank: int, group: Any) -> None:
    mask = (lambda at_q, at_k: at_k < at_q) if rank == 1 else plain
    distributed.observe(X, X, X, group=group, mask=mask)


def bad_numbers(rank: int, group: Any) -> None:
    x = np.where(np.arange(4) == 1, np.nan, X) if rank == 1 else X
    distributed.observe(X, x, X, group=group)


def bad_slices(rank: int, group: Any) -> None:
    x = X[:, : 3 + rank]
    distributed.observe(x, x, x, group=group, layout="zigzag")


def bad_mask(rank: int, group: Any) -> None:
    mask = (lambda at_q, at_k: fail()) if rank == 3 else plain
    distributed.observe(X, X, X, group=group, mask=mask, timeout=60)


def raises(rank: int, group: Any) -> None:
    mask = at_the_second_slice(fail) if rank == 1 else plain
    distributed.observe(X, X, X, group=group, mask=mask, timeout=60)


def absent(rank: int, group: Any) -> None:
    if rank != 2:
        distributed.observe(X, X, X, group=group, timeout=TIMEOUT)


def sleeps(rank: int, group: Any) -> None:
    mask = at_the_second_slice(lambda: time.sleep(2 * TIMEOUT)) if rank == 1 else plain
    distributed.observe(X, X, X, group=group, mask=mask, timeout=TIMEOUT)


def dies(rank: int, group: Any) -> None:
    mask = at_the_second_slice(lambda: os._exit(9)) if rank == 2 else plain
    distributed.observe(X, X, X, group=group, mask=mask, timeout=60)


def keeper_dies(rank: int, group: Any) -> None:
    mask = at_the_second_slice(lambda: os._exit(9)) if rank == 0 else plain
    distributed.observe(X, X, X, group=group, mask=mask, timeout=60)


def keeper_stops(rank: int, group: Any) -> None:
    stop = at_the_second_slice(lambda: os.kill(os.getpid(), signal.SIGSTOP))
    mask = stop if rank == 0 else plain
    distributed.observe(X, X, X, group=group, mask=mask, timeout=TIMEOUT)


def main(rank: int, ranks: int, port: int, folder: Path, what: list[str]) -> None:
    """Each in a group of its own: after a failure a group cannot be used again."""
    failures.STORE_SECONDS = TIMEOUT
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks,
        timeout=timedelta(seconds=60),
    )  # fmt: skip
    groups = [dist.new_group(list(range(ranks))) for _ in what]
    reported = {}
    for name, group in zip(what, groups, strict=True):
        passes.MAX_GATHERED_BYTES = 2**28 if name.startswith("keeper") else -1
        dist.barrier()
        begin = time.monotonic()
        try:
            globals()[name](rank, group)
            reported[name] = ("nothing", 0.0)
        except (RegardError, ValueError) as error:
            reported[name] = (f"{type(error).__name__}: {error}", time.monotonic() - begin)
        (folder / f"{rank}.json").write_text(json.dumps(reported))
    os._exit(0)  # not by way of destroy_process_group, which waits for ranks that are gone
