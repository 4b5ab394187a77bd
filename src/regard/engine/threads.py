"""Units of work on a thread pool, committed in order: results do not depend on the threads."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar, copy_context
from functools import cache, partial
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from regard.blas import one_blas_thread

Unit = TypeVar("Unit")
Result = TypeVar("Result")
MAX_KEPT_SCRATCH_BYTES = 2**22  # the largest buffer that outlives a call
_local = threading.local()
_chosen: ContextVar[int | None] = ContextVar("threads", default=None)


def threads() -> int:
    """Number of threads of a call: as set by using_threads, else every core of this process."""
    return _chosen.get() or _cores()


@contextlib.contextmanager
def using_threads(number: int) -> Iterator[None]:
    """Use this many threads inside the block; results are the same bits with any number."""
    token = _chosen.set(max(1, number))
    try:
        yield
    finally:
        _chosen.reset(token)


@contextlib.contextmanager
def _scratch() -> Iterator[dict[str, Any]]:
    """This thread's buffers. Small ones are kept: touching fresh memory costs more than a tile.

    They are removed while in use: a mask function may call attention again on this thread.
    """
    scratch: dict[str, Any] = _local.__dict__.pop("scratch", {})
    yield scratch
    _local.scratch = {
        x: buffer for x, buffer in scratch.items() if buffer.nbytes <= MAX_KEPT_SCRATCH_BYTES
    }


@cache
def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def run_in_order(
    units: Sequence[Unit],
    work: Callable[[Unit, dict[str, Any]], Result],
    commit: Callable[[Unit, Result], None] = lambda unit, result: None,
) -> None:
    """Work on units in parallel; commit each result in the order of the units.

    ``work`` also gets its thread's scratch, a dict of buffers. The calling thread works too.
    The first error stops everybody and is raised here.
    """
    queue = _Queue(units, work, commit)
    helpers = min(threads(), len(units)) - 1
    with one_blas_thread():
        try:
            for _ in range(helpers):
                _pool().submit(partial(copy_context().run, queue.help))
            queue.drain()
        finally:
            queue.close()  # Ctrl-C must not leave the helpers at work
            queue.join()
    if queue.error is not None:
        raise queue.error


class _Queue:
    """Units waiting, and results waiting for their turn."""

    def __init__(
        self,
        units: Sequence[Unit],
        work: Callable[[Unit, dict[str, Any]], Result],
        commit: Callable[[Unit, Result], None],
    ) -> None:
        self.waiting: Iterator[tuple[int, Any]] = iter(enumerate(units))
        self.units, self.work, self.commit = units, work, commit
        self.done: dict[int, Any] = {}
        self.next = 0
        self.lock = threading.Lock()
        self.idle = threading.Condition(self.lock)
        self.helpers, self.closed = 0, False
        self.error: BaseException | None = None

    def help(self) -> None:
        """Drain the queue on a helper thread; the calling thread raises any error."""
        with self.lock:
            if self.closed:
                return
            self.helpers += 1
        try:
            self.drain()
        except BaseException as error:
            self.close(error)
        finally:
            with self.lock:
                self.helpers -= 1
                self.idle.notify_all()

    def join(self) -> None:
        """Wait for the helpers at work; the queue is closed, so that no other starts."""
        with self.lock:
            while self.helpers:
                self.idle.wait()

    def drain(self) -> None:
        # On every worker: MKL and OpenMP have a number of threads for each Python thread.
        with one_blas_thread(), _scratch() as scratch, np.errstate(all="ignore"):
            while (entry := self._take()) is not None:
                index, unit = entry
                try:
                    self._hand_in(index, self.work(unit, scratch))
                except BaseException as error:
                    self.close(error)

    def close(self, error: BaseException | None = None) -> None:
        with self.lock:
            self.error = self.error or error
            self.waiting, self.closed = iter(()), True

    def _take(self) -> tuple[int, Any] | None:
        with self.lock:
            return next(self.waiting, None)

    def _hand_in(self, index: int, result: Any) -> None:
        with self.lock:
            self.done[index] = result
            while self.next in self.done:
                self.commit(self.units[self.next], self.done.pop(self.next))
                self.next += 1


class _Pool:
    """Daemon threads that call what is submitted.

    Unlike ThreadPoolExecutor: Ctrl-C while that starts a thread leaves one that it does not know
    of, and the interpreter then waits for it at exit forever.
    """

    def __init__(self, workers: int) -> None:
        self.workers, self.started = workers, 0
        self.tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.lock = threading.Lock()

    def submit(self, task: Callable[[], None]) -> None:
        """Call a function, which raises no error, as soon as a thread is free."""
        self.tasks.put(task)
        with self.lock:
            missing = self.started < self.workers
            self.started += missing
        if missing:
            threading.Thread(target=self._run, name="regard", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.tasks.get()()  # a variable would keep its arrays alive until the next task


@cache
def _pool() -> _Pool:
    return _Pool(_cores())


# Threads do not survive a fork: the child's first call makes a pool of its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
