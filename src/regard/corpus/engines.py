"""Engines on this machine: a loop in this process, or a pool of processes; both give shards."""

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

from regard.corpus.batches import BatchMeasures, DocumentBatch
from regard.corpus.shards import Shard, pack
from regard.errors import BackendError

MAX_TRIES = 3
NO_WORKER_MESSAGE = (
    "the worker processes ended before they finished anything. In a script, call regard.survey "
    'under `if __name__ == "__main__":`; if memory ran out, use fewer --workers; workers=1 needs '
    "no other processes."
)


class Task(Protocol):
    """A job on a batch, such as BatchJob."""

    def __call__(self, batch: DocumentBatch) -> BatchMeasures:
        """The measures of a batch."""

    def failed(self, batch: DocumentBatch, reason: str) -> BatchMeasures:
        """Measures of a batch whose documents all failed."""


def in_this_process(task: Task, batches: Iterable[DocumentBatch]) -> Iterator[Shard]:
    """A plain loop."""
    return (pack(task(batch)) for batch in batches)


def in_processes(task: Task, batches: Iterable[DocumentBatch], workers: int) -> Iterator[Shard]:
    """A pool of processes; one that dies is replaced and its batch done again.

    Every worker is a pool of its own, so that it is known whose batch was lost.
    """
    pending = iter(batches)
    pool = _WorkerPool(task, workers)
    try:
        for worker in range(workers):
            pool.submit(worker, next(pending, None))
        while pool.running:
            for worker, shard in pool.finished():
                pool.submit(worker, next(pending, None))
                yield shard
    finally:
        pool.close()


class _WorkerPool:
    """Worker processes and the batch that each of them runs."""

    def __init__(self, task: Task, workers: int) -> None:
        self.task = task
        self.executors = [_worker() for _ in range(workers)]
        self.running: dict[Future[Shard], tuple[int, DocumentBatch, int]] = {}
        self.any_finished = False

    def submit(self, worker: int, batch: DocumentBatch | None, tried: int = 0) -> None:
        if batch is not None:
            with _sigint_deferred():
                future = self.executors[worker].submit(_run, self.task, batch)
            self.running[future] = (worker, batch, tried + 1)

    def finished(self) -> Iterator[tuple[int, Shard]]:
        """Shards as they come; the batch of a worker that died is submitted again."""
        for future in wait(self.running, return_when=FIRST_COMPLETED).done:
            worker, batch, tried = self.running.pop(future)
            try:
                shard = future.result()
            except BrokenProcessPool:
                self._replace(worker)
                if tried < MAX_TRIES:
                    self.submit(worker, batch, tried)
                    continue
                shard = self._give_up(batch)
            self.any_finished = True
            yield worker, shard

    def _replace(self, worker: int) -> None:
        self.executors[worker].shutdown(wait=False)
        self.executors[worker] = _worker()

    def _give_up(self, batch: DocumentBatch) -> Shard:
        """A batch that ends every worker: its documents are recorded as failed."""
        if not self.any_finished:
            raise BackendError(NO_WORKER_MESSAGE)
        return pack(self.task.failed(batch, f"the worker ended {MAX_TRIES} times on its batch"))

    def close(self) -> None:
        """Terminate every worker; a batch that is not finished does not count."""
        for executor in self.executors:
            for process in list((executor._processes or {}).values()):
                process.terminate()
            executor.shutdown(wait=True, cancel_futures=True)


def _worker() -> ProcessPoolExecutor:
    # A fresh interpreter: a fork would inherit locks that BLAS threads hold.
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_start_worker)


@contextlib.contextmanager
def _sigint_deferred() -> Iterator[None]:
    """Ctrl-C waits until the end, and a process started meanwhile leaves it to its parent.

    A process inherits that SIGINT is blocked. Another thread may still receive the signal, and
    Python would then raise here, in the middle of starting a process.
    """
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    if not main or handler is None or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
    if received:
        signal.raise_signal(signal.SIGINT)


def _start_worker() -> None:
    """In the worker: ignore Ctrl-C, and end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    with contextlib.suppress(OSError):
        wait_for([sentinel])
    os._exit(1)


def _run(task: Task, batch: DocumentBatch) -> Shard:
    return pack(task(batch))
