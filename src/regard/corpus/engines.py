"""Who does the work: this process, other processes, or Ray Data. All give the same shards."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for
from typing import Protocol

from regard.corpus.batching import Batch
from regard.corpus.shards import Shard, packed
from regard.corpus.windows import Measured
from regard.errors import BackendError

TRIES = 3
NOTHING_BEGAN = (
    "the worker processes ended before they finished anything. In a script, call regard.survey "
    'under `if __name__ == "__main__":`; if memory ran out, use fewer --workers; workers=1 needs '
    "no other processes."
)


class Task(Protocol):
    """What is done to a batch, and what stands for a batch that cannot be done."""

    def __call__(self, batch: Batch) -> Measured:
        """Batch in, arrays out."""

    def lost(self, batch: Batch, reason: str) -> Measured:
        """The same for a batch of which nothing came back."""


def in_this_process(task: Task, batches: Iterable[Batch]) -> Iterator[Shard]:
    """A plain loop."""
    return (packed(task(batch)) for batch in batches)


def in_processes(task: Task, batches: Iterable[Batch], workers: int) -> Iterator[Shard]:
    """A pool of processes; one that dies is replaced and its batch done again.

    Every worker is a pool of its own, so that it is known whose batch was lost.
    """
    waiting = iter(batches)
    pool = _Pool(task, workers)
    try:
        for worker in range(workers):
            pool.give(worker, next(waiting, None))
        while pool.running:
            for worker, shard in pool.finished():
                pool.give(worker, next(waiting, None))
                yield shard
    finally:
        pool.close()


class _Pool:
    """Workers and what each of them is doing."""

    def __init__(self, task: Task, workers: int) -> None:
        self.task = task
        self.executors = [_worker() for _ in range(workers)]
        self.running: dict[Future[Shard], tuple[int, Batch, int]] = {}
        self.began = False

    def give(self, worker: int, batch: Batch | None, tried: int = 0) -> None:
        """Let a worker do a batch, if there is one."""
        if batch is not None:
            with _left_alone():
                future = self.executors[worker].submit(_do, self.task, batch)
            self.running[future] = (worker, batch, tried + 1)

    def finished(self) -> Iterator[tuple[int, Shard]]:
        """Wait for some; what died with its worker starts anew."""
        for future in wait(self.running, return_when=FIRST_COMPLETED).done:
            worker, batch, tried = self.running.pop(future)
            try:
                shard = future.result()
            except BrokenProcessPool:
                self._replace(worker)
                if tried < TRIES:
                    self.give(worker, batch, tried)
                    continue
                shard = self._lost(batch)
            self.began = True
            yield worker, shard

    def _replace(self, worker: int) -> None:
        self.executors[worker].shutdown(wait=False)
        self.executors[worker] = _worker()

    def _lost(self, batch: Batch) -> Shard:
        """A batch that ends every worker: its documents are recorded, and the run goes on."""
        if not self.began:
            raise BackendError(NOTHING_BEGAN)
        return packed(self.task.lost(batch, f"the worker ended {TRIES} times on its batch"))

    def close(self) -> None:
        """End every worker, at work or not: a batch that is not finished does not count."""
        for executor in self.executors:
            for process in list((executor._processes or {}).values()):
                process.terminate()
            executor.shutdown(wait=True, cancel_futures=True)


def _worker() -> ProcessPoolExecutor:
    # A fresh interpreter: a fork would inherit locks that BLAS threads hold.
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_settle)


@contextlib.contextmanager
def _left_alone() -> Iterator[None]:
    """Ctrl-C waits; a process that starts meanwhile never hears it, and leaves it to its parent."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _settle() -> None:
    """In the worker: leave Ctrl-C to the parent, and go when the parent goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    with contextlib.suppress(OSError):
        wait_for([sentinel])
    os._exit(1)


def _do(task: Task, batch: Batch) -> Shard:
    return packed(task(batch))
