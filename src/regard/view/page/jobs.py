"""Bounded work behind the page.

A small thread pool with a bounded queue, and what every route shares.
"""

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

from regard.view.page.guard import RefusedError, asked
from regard.view.page.readings import Readings

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


Fields = Mapping[str, Any]


Answer = Callable[[Fields, Stop], Response]


@dataclass(frozen=True)
class Context:
    """The readings, the workers, and the files that the command line named, and no others.

    A request names a file by its place in ``files``, never by a path.
    """

    readings: Readings = field(default_factory=Readings)
    work: Work = field(default_factory=Work)
    files: tuple[Path, ...] = ()

    def post(self, path: str, answer: Answer) -> Route:
        """A route whose answer is worked out beside the server's thread.

        ``answer(fields, stop)`` gets the fields of the request's JSON; it calls ``stop.check()``
        from time to time, which ends it when the client has left.
        """

        async def endpoint(request: Request) -> Response:
            fields = asked(await request.body())
            return await self.work.run(request, lambda stop: answer(fields, stop))

        run: Callable[[Request], Awaitable[Response]] = endpoint
        return Route(path, run, methods=["POST"])


def numbers(array: NDArray[Any], kind: str = "<f4") -> Response:
    """An array as its bytes, little endian, C order; its shape travels in a header."""
    shape = ",".join(str(size) for size in array.shape)
    content = np.ascontiguousarray(array, dtype=kind).tobytes()
    return Response(
        content, media_type="application/octet-stream", headers={"X-Regard-Shape": shape}
    )
