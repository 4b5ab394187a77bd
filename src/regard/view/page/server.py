"""The page's server: a fixed table of files, the table of answers, one port on loopback."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from threading import Thread
from types import FrameType
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.errors import ArgumentError
from regard.view.page.access import Access, Guard, as_response
from regard.view.page.answers import AnswerFunction, json_fields
from regard.view.page.jobs import Context
from regard.view.page.routes import all_answers
from regard.view.page.single_file import bundle, modules_in_order, page_style, web_files

REQUEST_SECONDS = 10.0  # to send a complete request, from its first byte or the last response on
# Beyond the first number connections without a complete request are closed, the oldest first, once
# they had their time to begin; beyond the second without that time.
MAX_INCOMPLETE_CONNECTIONS, MAX_CONNECTIONS = 128, 512
BEGIN_SECONDS = 1.0


class BoundedProtocol(H11Protocol):
    """An HTTP/1.1 connection that has to send each request completely within some seconds."""

    request_seconds = REQUEST_SECONDS
    most_incomplete = MAX_INCOMPLETE_CONNECTIONS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_timer()
        incomplete = [x for x in self.connections if isinstance(x, BoundedProtocol) and x._timer]
        surplus = len(incomplete) - self.most_incomplete
        began = self.loop.time() + self.request_seconds - BEGIN_SECONDS
        for one in sorted(incomplete, key=lambda x: x._deadline)[: max(0, surplus)]:
            if one._deadline < began or len(incomplete) > MAX_CONNECTIONS:
                one.abort()
                incomplete.remove(one)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_complete():
            self._stop_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._is_complete() and not self.transport.is_closing():
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def abort(self) -> None:
        self._stop_timer()
        self.transport.abort()

    def _is_complete(self) -> bool:
        return bool(self.cycle) and not self.cycle.more_body and not self.cycle.response_complete

    @property
    def _deadline(self) -> float:
        return self._timer.when() if self._timer else float("inf")

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.request_seconds, self.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


HOST = "127.0.0.1"
PAGE_HEAD = """<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="style.css">
<script type="module" src="app.js"></script>"""


def static_files() -> dict[str, tuple[bytes, str]]:
    """Table of the files that are served: path -> (content, media type); ``""`` is the page.

    A request can only pick from this table, so no path of a request reaches the file system.
    """
    files = web_files()
    modules = {name: files[name] for name in modules_in_order(files, "app.js")}
    texts = {
        "": (files["page.html"].format_map({"head": PAGE_HEAD, "foot": ""}), "text/html"),
        **{name: (text, "text/javascript") for name, text in modules.items()},
        # One script instead of a request for each of a hundred modules.
        "app.js": (bundle(files, "app.js"), "text/javascript"),
        "style.css": (page_style(), "text/css"),
        "icon.svg": (files["icon.svg"], "image/svg+xml"),
    }
    return {name: (text.encode(), media_type) for name, (text, media_type) in texts.items()}


def app(context: Context, port: int) -> Guard:
    """The whole application, for this port."""

    @asynccontextmanager
    async def lifespan(_: Router) -> AsyncIterator[None]:
        Thread(target=_warm_up, args=(context,), daemon=True).start()
        yield
        context.workers.close()

    answers = [_route(context, *entry) for entry in all_answers(context).items()]
    router = Router([*_static_routes(), *answers], redirect_slashes=False, lifespan=lifespan)
    return Guard(router, port, Access(context.token, port))


def address(port: int, token: str, view: str = "", **state: str) -> str:
    """The address of a view: http://127.0.0.1:8000/?token=...#read?sentence=I+am+good."""
    fragment = view + (f"?{urlencode(state)}" if state else "")
    page = f"http://{HOST}:{port}/?{urlencode({'token': token})}"
    return page + (f"#{fragment}" if fragment else "")


def serve(context: Context, bound: socket.socket, ready: Callable[[], None]) -> None:
    """Serve on a bound socket until Ctrl-C; ``ready`` is called once requests can come."""
    server = make_server(context, bound.getsockname()[1])
    bound.listen(MAX_CONNECTIONS)  # from here on a browser waits instead of being refused
    ready()
    with closing(bound):
        try:
            server.run(sockets=[bound])
        except KeyboardInterrupt:
            return


def make_server(
    context: Context, port: int, protocol: type[BoundedProtocol] = BoundedProtocol
) -> uvicorn.Server:
    """The server of a context, with its limits."""
    config = uvicorn.Config(
        app(context, port),
        http=protocol,
        ws="none",
        lifespan="on",
        log_level="critical",
        access_log=False,  # its lines would contain the token
        server_header=False,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=32 * 1024,
    )
    return _Server(config, context)


class _Server(uvicorn.Server):
    """A server that ends all jobs on Ctrl-C, so that it waits for no request."""

    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self._context = context

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._context.workers.close()
        super().handle_exit(sig, frame)


def bind(port: int = 0) -> socket.socket:
    """A socket on loopback; port 0 is any free one."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
    except (OSError, OverflowError) as error:
        bound.close()
        why = getattr(error, "strerror", None) or str(error)
        raise ArgumentError(
            f"port {port} cannot be used ({why}): leave out --port for a free one."
        ) from None
    return bound


def _static_routes() -> list[Route]:
    return [Route(f"/{path}", _static(*entry)) for path, entry in static_files().items()]


def _static(content: bytes, media_type: str) -> Callable[[Request], Response]:
    compressed = gzip.compress(content, mtime=0)

    def endpoint(request: Request) -> Response:
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(content, media_type=media_type)
        return Response(compressed, media_type=media_type, headers={"Content-Encoding": "gzip"})

    return endpoint


def _route(context: Context, path: str, answer: AnswerFunction) -> Route:
    """A route whose answer is computed by a worker, and ended when the client leaves."""

    async def endpoint(request: Request) -> Response:
        fields = json_fields(await request.body())
        return as_response(await context.workers.run(request, lambda stop: answer(fields, stop)))

    run: Callable[[Request], Awaitable[Response]] = endpoint
    return Route(path, run, methods=["POST"])


def _warm_up(context: Context) -> None:
    """Load the model before the first sentence; the first request reports an error."""
    with suppress(Exception):
        context.readings.read("I am good.", lambda: None)
