"""The Ray Data engine: one reader streams batches to a pool of actors; the only file with ray."""

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

from regard.corpus.batches import DocumentBatch
from regard.corpus.engines import MAX_TRIES, NO_WORKER_MESSAGE, Task
from regard.corpus.shards import Shard, pack
from regard.errors import BackendError

BatchStream = Callable[[], Iterable[DocumentBatch]]
CONNECT_TIMEOUT_SECONDS = 10


def on_ray(
    task: Task, batches: BatchStream, workers: int, address: str | None, gpus: float = 0.0
) -> Iterator[Shard]:
    """Shards of batches that actors run; one that dies is restarted and its batch run again.

    Batches missing after a round get another one, until a round finishes none of them: those end
    every actor, and are recorded as failed, so that the survey goes on.
    """
    finished: set[int] = set()
    rounds = _client_round if (address or "").startswith("ray://") else _round
    with _cluster(workers, address), _without_ray_output():
        while True:
            before = len(finished)
            for content in rounds(task, _Remaining(batches, frozenset(finished)), workers, gpus):
                shard = _unpickled(content)
                finished.add(shard.number)
                yield shard
            remaining = _Remaining(batches, frozenset(finished))
            if len(finished) == before or next(remaining(), None) is None:
                break
    for batch in remaining():
        if not finished:
            raise BackendError(NO_WORKER_MESSAGE)
        yield pack(task.failed(batch, f"the worker ended {MAX_TRIES} times on its batch"))


def _round(task: Task, remaining: BatchStream, workers: int, gpus: float) -> Iterator[bytes]:
    """One run of Ray Data over the remaining batches; gives pickled shards."""
    dataset = read_datasource(Batches(remaining), num_cpus=0)  # it mostly waits for the disk
    # A block is a batch, however small: each goes to whichever actor is free.
    dataset.context.target_max_block_size = 1
    dataset.context.max_errored_blocks = -1
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        # Ray means to drop retries as an argument and has no other way to bound them yet.
        shards = dataset.map_batches(
            Actor,
            fn_constructor_args=(task,),
            batch_size=1,
            batch_format="numpy",
            compute=ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
            num_cpus=1,
            num_gpus=gpus or None,
            max_restarts=-1,
            max_task_retries=MAX_TRIES - 1,
        )
    try:
        for row in shards.iter_rows():
            yield row["shard"]
    except ray.exceptions.RayError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise BackendError(
            f"Ray could not do the work: {lines[-1] if lines else type(error).__name__}. Check "
            "that every machine has regard and the model at the same paths."
        ) from None


def _client_round(task: Task, remaining: BatchStream, workers: int, gpus: float) -> Iterator[bytes]:
    """The same through Ray's client, which cannot run Ray Data: an actor on the cluster does."""
    actor = ray.remote(num_cpus=0)(RoundActor).remote(task, remaining, workers, gpus)
    pending = actor.next.remote()
    while (content := ray.get(pending)) is not None:
        pending = actor.next.remote()  # while this one is written
        yield content


class RoundActor:
    """An actor on the cluster that runs a round."""

    def __init__(self, task: Task, remaining: BatchStream, workers: int, gpus: float) -> None:
        self.round = _round(task, remaining, workers, gpus)

    def next(self) -> bytes | None:
        """The next pickled shard or error message; None at the end."""
        try:
            with _without_ray_output():
                return next(self.round, None)
        except BackendError as error:
            return pickle.dumps(str(error))


@dataclass(frozen=True)
class _Remaining:
    """The batches that are not finished; pickled for the reader, so no lambda."""

    batches: BatchStream
    finished: frozenset[int]

    def __call__(self) -> Iterator[DocumentBatch]:
        return (batch for batch in self.batches() if batch.number not in self.finished)


class Batches(Datasource):  # type: ignore[misc]
    """A corpus as a Ray datasource: a stream of batches, read by one process."""

    def __init__(self, batches: BatchStream) -> None:
        super().__init__()
        self.batches = batches

    def get_read_tasks(self, *arguments: Any, **options: Any) -> list[ReadTask]:
        """One task: a compressed file can only be read from its start."""
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(self._read, unknown)]

    def estimate_inmemory_data_size(self) -> int | None:
        return None

    def _read(self) -> Iterator[pa.Table]:
        try:
            for batch in self.batches():
                yield _row(pickle.dumps(batch))
        except Exception as error:  # Ray would drop it, and take the corpus for finished
            yield _row(pickle.dumps(f"the corpus cannot be read there: {error}"))


class Actor:
    """An actor that holds the job, and through it the model, between batches."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        """One pickled batch to one pickled shard, or to an error message."""
        message = pickle.loads(rows["batch"][0])  # noqa: S301 (our own reader wrote it)
        if isinstance(message, DocumentBatch):
            try:
                message = pack(self.task(message))
            except Exception as error:
                message = f"{type(error).__name__}: {error}"
        return {"shard": np.array([pickle.dumps(message)], object)}


def _row(content: bytes) -> pa.Table:
    return pa.table({"batch": pa.array([content], pa.large_binary())})


def _unpickled(content: bytes) -> Shard:
    message = pickle.loads(content)  # noqa: S301 (our own actor wrote it)
    if isinstance(message, Shard):
        return message
    raise BackendError(f"the work failed on Ray: {message}")


@contextlib.contextmanager
def _cluster(workers: int, address: str | None) -> Iterator[None]:
    """The cluster at an address, the one that is connected already, or one on this machine."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves this machine
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # what Ray asks for
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # actors that die are handled here
    local = {"num_cpus": workers, "include_dashboard": False} if address is None else {}
    try:
        _check_reachable(address)
        with _stderr_discarded():
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **local)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        target = "this machine" if address is None else address
        raise BackendError(f"no Ray cluster answers at {target}: {reason}.") from None
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str | None) -> None:
    """Connect once to the address; Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_SECONDS).close()


@contextlib.contextmanager
def _stderr_discarded() -> Iterator[None]:
    """Standard error to nowhere: Ray's core writes there past Python; errors come as exceptions."""
    sys.stderr.flush()
    saved, devnull = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(devnull)


@contextlib.contextmanager
def _without_ray_output() -> Iterator[None]:
    """Ray Data without its progress bars and log messages."""
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
