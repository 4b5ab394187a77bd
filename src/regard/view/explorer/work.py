"""Bounded work: few threads, a bounded queue, and an end to work that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

from regard.view.explorer.guard import RefusedError

T = TypeVar("T")
WORKERS = 2
MOST_WAITING = 100
LOOK_EVERY = 0.05  # seconds between looks at whether the client is still there


class LeftError(Exception):
    """Raised inside work whose client has left."""


class Stop:
    """What work asks from time to time: does anybody still wait for it?"""

    def __init__(self) -> None:
        self._event = Event()

    def set(self) -> None:
        """Nobody waits any more."""
        self._event.set()

    def check(self) -> None:
        """Raise LeftError where nobody waits."""
        if self._event.is_set():
            raise LeftError


class Work:
    """Runs functions beside the server's own thread, a bounded number at a time."""

    def __init__(self, workers: int = WORKERS, most_waiting: int = MOST_WAITING) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="regard-explorer")
        self._most = most_waiting
        self._under_way: set[Stop] = set()
        self._ended = False

    @property
    def under_way(self) -> int:
        """How many pieces of work run or wait."""
        return len(self._under_way)

    async def run(self, request: Request, function: Callable[[Stop], T]) -> T:
        """Run it in a worker; when the client leaves, tell it to stop."""
        if self._ended:
            raise RefusedError(503, "The explorer is being stopped.")
        if len(self._under_way) >= self._most:
            raise RefusedError(503, "The page is busy with many requests: try again in a moment.")
        stop = Stop()

        def start() -> T:
            stop.check()
            return function(stop)

        self._under_way.add(stop)
        future = asyncio.get_running_loop().run_in_executor(self._pool, start)
        watching = asyncio.ensure_future(_watch(request, stop))
        try:
            return await future
        except LeftError:
            raise ClientDisconnect from None
        finally:
            stop.set()
            self._under_way.discard(stop)
            watching.cancel()

    def end(self) -> None:
        """Stop everything; called when the server ends."""
        self._ended = True
        for stop in tuple(self._under_way):
            stop.set()  # what still waits ends as soon as it begins
        self._pool.shutdown(wait=False)


async def _watch(request: Request, stop: Stop) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(LOOK_EVERY)
    stop.set()
