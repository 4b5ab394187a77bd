"""The work on Ray Data: one reader streams batches to a pool of actors; the only file with ray."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import socket
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext, Datasource, read_datasource
from ray.data.block import BlockMetadata
from ray.data.datasource import ReadTask

from regard.corpus.batching import Batch
from regard.corpus.engines import NOTHING_BEGAN, TRIES, Task
from regard.corpus.shards import Shard, packed
from regard.errors import BackendError

Ahead = Callable[[], Iterable[Batch]]
PATIENCE = 10  # seconds for a cluster to answer


def on_ray(
    task: Task, ahead: Ahead, workers: int, address: str | None, gpus: float = 0.0
) -> Iterator[Shard]:
    """Actors do the batches; one that dies is started anew and its batch done again.

    What is missing after a round gets another one, until a round brings nothing new: then the
    batches that are left end every actor, and are recorded, so that the run goes on.
    """
    found: set[int] = set()
    rounds = _far_round if (address or "").startswith("ray://") else _round
    with _cluster(workers, address), _quiet():
        while True:
            before = len(found)
            for content in rounds(task, _Left(ahead, frozenset(found)), workers, gpus):
                shard = _unpacked(content)
                found.add(shard.number)
                yield shard
            left = _Left(ahead, frozenset(found))
            if len(found) == before or next(left(), None) is None:
                break
    for batch in left():
        if not found:
            raise BackendError(NOTHING_BEGAN)
        yield packed(task.lost(batch, f"the worker ended {TRIES} times on its batch"))


def _round(task: Task, left: Ahead, workers: int, gpus: float) -> Iterator[bytes]:
    """One run of Ray Data over the batches that are left; gives pickled shards."""
    dataset = read_datasource(Batches(left), num_cpus=0)  # it mostly waits
    # A block is a batch, however small: each goes to whichever actor is free.
    dataset.context.target_max_block_size = 1
    dataset.context.max_errored_blocks = -1
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        # Ray means to drop retries as an argument and has no other way to bound them yet.
        done = dataset.map_batches(
            Actor, fn_constructor_args=(task,), batch_size=1, batch_format="numpy",
            compute=ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2), num_cpus=1,
            num_gpus=gpus or None, max_restarts=-1, max_task_retries=TRIES - 1,
        )  # fmt: skip
    try:
        for row in done.iter_rows():
            yield row["shard"]
    except ray.exceptions.RayError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise BackendError(
            f"Ray could not do the work: {lines[-1] if lines else type(error).__name__}. Check "
            "that every machine has regard and the model at the same paths."
        ) from None


def _far_round(task: Task, left: Ahead, workers: int, gpus: float) -> Iterator[bytes]:
    """The same through Ray's client, which cannot run Ray Data: an actor over there does."""
    far = ray.remote(num_cpus=0)(Far).remote(task, left, workers, gpus)
    asked = far.next.remote()
    while (content := ray.get(asked)) is not None:
        asked = far.next.remote()  # while this one is written
        yield content


class Far:
    """Runs a round where the cluster is."""

    def __init__(self, task: Task, left: Ahead, workers: int, gpus: float) -> None:
        self.round = _round(task, left, workers, gpus)

    def next(self) -> bytes | None:
        """The next pickled shard, or why there is none."""
        try:
            with _quiet():
                return next(self.round, None)
        except BackendError as error:
            return pickle.dumps(str(error))


@dataclass(frozen=True)
class _Left:
    """The batches that are not done yet; travels to the reader, so it is no lambda."""

    ahead: Ahead
    done: frozenset[int]

    def __call__(self) -> Iterator[Batch]:
        return (batch for batch in self.ahead() if batch.number not in self.done)


class Batches(Datasource):  # type: ignore[misc]
    """A corpus as a stream of batches, read by one process while others work."""

    def __init__(self, ahead: Ahead) -> None:
        super().__init__()
        self.ahead = ahead

    def get_read_tasks(self, *arguments: Any, **options: Any) -> list[ReadTask]:
        """One task: a compressed file can only be read from its start."""
        nothing = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(self._read, nothing)]

    def estimate_inmemory_data_size(self) -> int | None:
        """Not known, and never in memory."""
        return None

    def _read(self) -> Iterator[pa.Table]:
        try:
            for batch in self.ahead():
                yield _row(pickle.dumps(batch))
        except Exception as error:  # Ray would drop it, and take the corpus for finished
            yield _row(pickle.dumps(f"the corpus cannot be read there: {error}"))


class Actor:
    """Holds the work, and through it the model, between batches."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        """One batch in, one shard out, or what went wrong."""
        held = pickle.loads(rows["batch"][0])  # noqa: S301 (our own reader wrote it)
        if isinstance(held, Batch):
            try:
                held = packed(self.task(held))
            except Exception as error:
                held = f"{type(error).__name__}: {error}"
        return {"shard": np.array([pickle.dumps(held)], object)}


def _row(content: bytes) -> pa.Table:
    return pa.table({"batch": pa.array([content], pa.large_binary())})


def _unpacked(content: bytes) -> Shard:
    held = pickle.loads(content)  # noqa: S301 (our own actor wrote it)
    if isinstance(held, Shard):
        return held
    raise BackendError(f"the work failed on Ray: {held}")


@contextlib.contextmanager
def _cluster(workers: int, address: str | None) -> Iterator[None]:
    """The cluster at an address, the one that is connected already, or one on this machine."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves this machine
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # what Ray asks for
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # actors that die are our business
    local = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
    try:
        _knock(address)
        with _nothing_said():
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **local)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        said = str(error).strip().splitlines()[0].rstrip(".")
        where = "this machine" if address is None else address
        raise BackendError(f"no Ray cluster answers at {where}: {said}.") from None
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str | None) -> None:
    """See whether anybody is there; Ray would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()


@contextlib.contextmanager
def _nothing_said() -> Iterator[None]:
    """Ray's core greets on the error stream itself, past Python; errors come as exceptions."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and reports of Ray's own."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context = DataContext.get_current()  # trips over its own old settings
    logger = logging.getLogger("ray.data")
    before = context.enable_progress_bars, logger.level
    context.enable_progress_bars = False
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        context.enable_progress_bars, level = before
        logger.setLevel(level)
