"""The page's server: a fixed table of files, the routes of the views, one address on loopback."""

from __future__ import annotations

import gzip
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from importlib.resources import files
from threading import Thread
from types import FrameType
from urllib.parse import urlencode

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router

from regard.errors import ArgumentError
from regard.view.page import routes
from regard.view.page.guard import Guard
from regard.view.page.jobs import Context

HOST = "127.0.0.1"
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


def static_files() -> dict[str, tuple[bytes, str]]:
    """Everything the page is made of, read once: name -> (content, kind).

    A request can only pick from this table, so no path of a request reaches the file system.
    """
    folder = files("regard.view") / "web"
    found = {}
    for entry in folder.iterdir():
        kind = KINDS.get("." + entry.name.rpartition(".")[2])
        if kind:
            found[entry.name] = (entry.read_bytes(), kind)
    return found


def app(context: Context, port: int) -> Guard:
    """The whole application, for this port."""

    @asynccontextmanager
    async def lifespan(_: Router) -> AsyncIterator[None]:
        Thread(target=_load_quietly, args=(context,), daemon=True).start()
        yield
        context.work.end()

    made = [_page_route(context), *_static_routes(), *routes.all_routes(context)]
    return Guard(Router(made, redirect_slashes=False, lifespan=lifespan), port)


def address(port: int, view: str = "", **state: str) -> str:
    """Where a view is: http://127.0.0.1:8000/#read?sentence=I+am+good."""
    fragment = view + (f"?{urlencode(state)}" if state else "")
    return f"http://{HOST}:{port}/" + (f"#{fragment}" if fragment else "")


def serve(context: Context, bound: socket.socket, ready: Callable[[], None]) -> None:
    """Serve on a bound socket until Ctrl-C; ``ready`` is called once requests can come."""
    port = bound.getsockname()[1]
    config = uvicorn.Config(
        app(context, port), log_level="critical", access_log=False, server_header=False,
        timeout_graceful_shutdown=1, limit_concurrency=256, ws="none", lifespan="on",
        h11_max_incomplete_event_size=32 * 1024,
    )  # fmt: skip
    bound.listen(128)  # from here on a browser waits instead of being turned away
    ready()
    with closing(bound):
        try:
            _Server(config, context).run(sockets=[bound])
        except KeyboardInterrupt:
            return


class _Server(uvicorn.Server):
    """Ends all work as soon as Ctrl-C comes, so that no request has to be waited for."""

    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self._context = context

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """What a signal does."""
        self._context.work.end()
        super().handle_exit(sig, frame)


def bind(port: int = 0) -> socket.socket:
    """A socket on loopback; port 0 takes any that is free."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except (OSError, OverflowError) as error:
        bound.close()
        why = getattr(error, "strerror", None) or str(error)
        raise ArgumentError(
            f"port {port} cannot be used ({why}): leave --port out to take a free one."
        ) from None
    return bound


def _static_routes() -> list[Route]:
    table = static_files()

    def get(name: str) -> Callable[[Request], Response]:
        content, kind = table[name]
        squeezed = gzip.compress(content, mtime=0)

        def answer(request: Request) -> Response:
            if "gzip" not in request.headers.get("accept-encoding", ""):
                return Response(content, media_type=kind)
            return Response(squeezed, media_type=kind, headers={"Content-Encoding": "gzip"})

        return answer

    return [
        Route("/", get("index.html")),
        *(Route(f"/{name}", get(name)) for name in table if name != "index.html"),
    ]


def _page_route(context: Context) -> Route:
    from regard import __version__

    def page(_: Request) -> JSONResponse:
        names = [path.name for path in context.files]
        return JSONResponse({"version": __version__, "files": names})

    return Route("/api/page", page)


def _load_quietly(context: Context) -> None:
    """Have the model ready before the first sentence comes; an error is said when one does."""
    with suppress(Exception):
        context.readings.of("I am good.", lambda: None)
