"""Jobs of the page: a thread pool with a bounded queue, cancelled when their client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

from regard.view.page.access import RefusedError, new_token
from regard.view.page.answers import ClientLeftError, Sources, Stop

T = TypeVar("T")
WORKERS = 2
MAX_QUEUED_JOBS = 100
POLL_SECONDS = 0.05  # between checks that the client is still connected


class WorkerPool:
    """Worker threads, apart from the server's own, with a bounded queue of jobs."""

    def __init__(self, workers: int = WORKERS, most_queued: int = MAX_QUEUED_JOBS) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="regard-explorer")
        self._most = most_queued
        self._running: set[Stop] = set()
        self._closed = False

    @property
    def running(self) -> int:
        return len(self._running)

    async def run(self, request: Request, function: Callable[[Stop], T]) -> T:
        """Run a job in a thread, and cancel it when its client disconnects."""
        if self._closed:
            raise RefusedError(503, "The explorer is being stopped.")
        if len(self._running) >= self._most:
            raise RefusedError(503, "The page is busy with many requests: try again in a moment.")
        stop = Stop()

        def start() -> T:
            stop.check()
            return function(stop)

        self._running.add(stop)
        future = asyncio.get_running_loop().run_in_executor(self._pool, start)
        watching = asyncio.ensure_future(_watch(request, stop))
        try:
            return await future
        except ClientLeftError:
            raise ClientDisconnect from None
        finally:
            stop.set()
            self._running.discard(stop)
            watching.cancel()

    def close(self) -> None:
        self._closed = True
        for stop in tuple(self._running):
            stop.set()  # a waiting job ends as soon as it starts
        self._pool.shutdown(wait=False)


async def _watch(request: Request, stop: Stop) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(POLL_SECONDS)
    stop.set()


@dataclass(frozen=True)
class Context(Sources):
    """Sources of a server, with the workers that compute its answers and its token."""

    workers: WorkerPool = field(default_factory=WorkerPool)
    token: str = field(default_factory=new_token, repr=False)
