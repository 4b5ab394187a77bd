"""What every route of the page stands on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from regard.view.explorer.guard import asked
from regard.view.explorer.readings import Readings
from regard.view.explorer.work import Stop, Work

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
