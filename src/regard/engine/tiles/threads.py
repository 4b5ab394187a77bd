"""Units of work on a thread pool, committed in order, so that any number of threads agrees."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

Unit = TypeVar("Unit")
Result = TypeVar("Result")

KEPT_BYTES = 2**22

_local = threading.local()
_chosen: list[int] = []
_blas_lock = threading.Lock()
_blas_users = 0
_blas_before: Any = None


def threads() -> int:
    """How many threads a call uses: what using_threads says, else every core this process has."""
    return _chosen[-1] if _chosen else _cores()


@contextlib.contextmanager
def using_threads(number: int) -> Iterator[None]:
    """Use this many threads inside the block; results are the same bits with any number."""
    _chosen.append(max(1, number))
    try:
        yield
    finally:
        _chosen.pop()


@contextlib.contextmanager
def _scratch() -> Iterator[dict[str, Any]]:
    """This thread's buffers. Small ones live on: touching fresh memory costs more than a tile.

    They are taken away while in use: a mask function may call attention again on this thread.
    """
    scratch: dict[str, Any] = _local.__dict__.pop("scratch", {})
    yield scratch
    _local.scratch = {x: held for x, held in scratch.items() if held.nbytes <= KEPT_BYTES}


@cache
def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="regard")


@cache
def blas() -> ThreadpoolController:
    """The BLAS libraries NumPy has loaded; looking for them takes a millisecond, so once only."""
    return ThreadpoolController().select(user_api="blas")


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread for each of ours, so that its sums have one order.

    The limit belongs to the whole process: the first user sets it, the last one lifts it.
    """
    global _blas_users, _blas_before
    with _blas_lock:
        if _blas_users == 0:
            _blas_before = blas().limit(limits=1)
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_before.restore_original_limits()


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
        futures = [_pool(_cores()).submit(queue.drain) for _ in range(helpers)]
        try:
            queue.drain()
        finally:
            queue.close()  # Ctrl-C between two units must not leave the helpers at work
        for future in futures:
            # A helper that never started has nothing left to do; the pool may be busy elsewhere.
            if not future.cancel():
                future.result()
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
        self.error: BaseException | None = None

    def drain(self) -> None:
        """Take units until none is left."""
        with _scratch() as scratch, np.errstate(all="ignore"):
            while (taken := self._take()) is not None:
                index, unit = taken
                try:
                    self._hand_in(index, self.work(unit, scratch))
                except BaseException as error:
                    self.close(error)

    def close(self, error: BaseException | None = None) -> None:
        """Hand out nothing more."""
        with self.lock:
            self.error = self.error or error
            self.waiting = iter(())

    def _take(self) -> tuple[int, Any] | None:
        with self.lock:
            return next(self.waiting, None)

    def _hand_in(self, index: int, result: Any) -> None:
        with self.lock:
            self.done[index] = result
            while self.next in self.done:
                self.commit(self.units[self.next], self.done.pop(self.next))
                self.next += 1
