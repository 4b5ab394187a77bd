"""Jobs of the page: a thread pool with a bounded queue, cancelled when their client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from regard.view.page.access import RefusedError, json_fields, new_token
from regard.view.page.readings import Readings

T = TypeVar("T")
WORKERS = 2
MAX_QUEUED_JOBS = 100
POLL_SECONDS = 0.05  # between checks that the client is still connected


class ClientLeftError(Exception):
    """Raised inside a job whose client has disconnected."""


class Stop:
    """A cancellation flag that a job checks from time to time."""

    def __init__(self) -> None:
        self._event = Event()

    def set(self) -> None:
        self._event.set()

    def check(self) -> None:
        if self._event.is_set():
            raise ClientLeftError


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


Fields = Mapping[str, Any]
Answer = Callable[[Fields, Stop], Response]


@dataclass(frozen=True)
class Context:
    """State that the routes share: readings, workers, the files of the command line, the token.

    A request names a file by its index in ``files``, never by a path.
    """

    readings: Readings = field(default_factory=Readings)
    workers: WorkerPool = field(default_factory=WorkerPool)
    files: tuple[Path, ...] = ()
    token: str = field(default_factory=new_token, repr=False)

    def post(self, path: str, answer: Answer) -> Route:
        """A route whose response is computed by a worker.

        ``answer(fields, stop)`` gets the fields of the request's JSON; it calls ``stop.check()``
        from time to time, which ends it when the client has left.
        """

        async def endpoint(request: Request) -> Response:
            fields = json_fields(await request.body())
            return await self.workers.run(request, lambda stop: answer(fields, stop))

        run: Callable[[Request], Awaitable[Response]] = endpoint
        return Route(path, run, methods=["POST"])


def numbers(array: NDArray[Any], kind: str = "<f4") -> Response:
    """An array as its bytes, little endian, C order; its shape travels in a header."""
    shape = ",".join(str(size) for size in array.shape)
    content = np.ascontiguousarray(array, dtype=kind).tobytes()
    return Response(
        content, media_type="application/octet-stream", headers={"X-Regard-Shape": shape}
    )
