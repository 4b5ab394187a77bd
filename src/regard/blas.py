"""Limit NumPy's BLAS to one thread while regard computes.

With another number of threads BLAS adds in another order, and the last bits change. Workers that
each started several BLAS threads would also wait for each other.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from weakref import WeakSet

_lock = threading.RLock()  # a garbage-collected call may release on this very thread
_limits: list[Limit] | None = None  # found by the first call, which takes a millisecond


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the block, for the calling thread at least.

    Blocks may be nested, and may overlap on any threads: the limit begins with the first and ends
    with the last. Also a decorator.
    """
    call = _Call()
    try:
        with _lock:
            for limit in _all_limits():
                limit.acquire(call)
        yield
    finally:
        with _lock:
            for limit in _all_limits():
                limit.release(call)


class _Call:
    """A block that needs one thread, and the Python thread that entered it."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()


class _State:
    """The active calls, and the number to go back to; None where nothing has to be restored."""

    def __init__(self) -> None:
        # Weak, so that a call which Ctrl-C kept from leaving is forgotten with its frame.
        self.calls: WeakSet[_Call] = WeakSet()
        self.before: int | None = None


class _ThreadState(_State, threading.local):
    """The same for each thread."""


class Limit:
    """One thread in one BLAS library while any call is active, and its own number afterwards.

    The library's number belongs to the process or, with ``each_thread``, to the thread that asks.
    Not thread-safe: callers hold the lock.
    """

    def __init__(
        self,
        get_threads: Callable[[], int],
        set_threads: Callable[[int], object],
        *,
        each_thread: bool,
    ) -> None:
        self.get_threads, self.set_threads = get_threads, set_threads
        self.state = _ThreadState() if each_thread else _State()

    def acquire(self, call: _Call) -> None:
        self.state.calls.add(call)
        number = self.get_threads()
        # A number other than one means that this is the first call, or that other code has set it
        # since: that number is restored at the end.
        if self.state.before is None or number != 1:
            self.state.before = number
        if number != 1:
            self.set_threads(1)

    def release(self, call: _Call) -> None:
        """Count a call out; twice does no harm."""
        self.state.calls.discard(call)
        before = self.state.before
        if self.state.calls or before is None:
            return
        if self.get_threads() == 1:  # otherwise other code has set it since
            self.set_threads(before)
        self.state.before = None

    def drop_other_threads(self) -> None:
        """Forget the calls of threads that a fork has left behind in the parent."""
        alive = threading.get_ident()
        self.state.calls = WeakSet(x for x in self.state.calls if x.thread == alive)


def open_limits(libraries: Iterable[Any]) -> list[Limit]:
    """A limit for each of the libraries that threadpoolctl lists and that tell their number.

    Accelerate is not among them: it shares out its work in a way of its own.
    """
    limits = (_limit(library) for library in libraries)
    return [limit for limit in limits if limit.get_threads() is not None]


def _all_limits() -> list[Limit]:
    global _limits
    if sys.platform == "emscripten":  # in a browser NumPy has no BLAS, and there is one thread
        return []
    if _limits is None:
        import numpy  # noqa: F401  # only libraries that are loaded are listed
        from threadpoolctl import ThreadpoolController

        _limits = open_limits(ThreadpoolController().select(user_api="blas").lib_controllers)
    return _limits


def _limit(library: Any) -> Limit:
    """Where OpenBLAS has threads of its own, its number belongs to the process.

    From version 3.8 on threadpoolctl lets only one Python thread change that number and ignores
    the others, so OpenBLAS is called directly. MKL and OpenMP keep a number for each thread.
    """
    if library.internal_api != "openblas":
        each_thread = library.internal_api == "mkl"
        return Limit(library.get_num_threads, library.set_num_threads, each_thread=each_thread)
    openmp = library.threading_layer == "openmp"
    getter, setter = _openmp(library.dynlib) if openmp else _openblas(library.dynlib)
    return Limit(
        getter or library.get_num_threads, setter or library.set_num_threads, each_thread=openmp
    )


def _openmp(dynlib: Any) -> tuple[Any, Any]:
    return _symbol(dynlib, "omp_get_max_threads"), _symbol(dynlib, "omp_set_num_threads")


def _openblas(dynlib: Any) -> tuple[Any, Any]:
    """openblas_get_num_threads and openblas_set_num_threads, with the affixes of the build."""
    for prefix, suffix in itertools.product(("", "scipy_"), ("", "64_", "_64")):
        getter = _symbol(dynlib, f"{prefix}openblas_get_num_threads{suffix}")
        setter = _symbol(dynlib, f"{prefix}openblas_set_num_threads{suffix}")
        if getter and setter:
            return getter, setter
    return None, None


def _symbol(dynlib: Any, name: str) -> Any:
    try:
        return dynlib[name]
    except AttributeError:
        return None


def _after_fork() -> None:
    """Give the child a lock of its own, which no thread of the parent can be holding."""
    global _lock
    _lock = threading.RLock()
    for limit in _limits or ():
        limit.drop_other_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
