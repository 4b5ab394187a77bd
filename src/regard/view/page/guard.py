"""Checks of every request: host, origin, token and size; errors as sentences.

The guard wraps the whole application, so that no route can forget it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import ArgumentError, RegardError
from regard.view.page.access import Access

LARGEST_BODY = 256 * 1024  # a sentence has at most 256 tokens, a table of one's own a few kB
NAMES = ("127.0.0.1", "localhost")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
TOO_LARGE = (
    "This is too much at once: the page takes up to {most} kB in one request, and {received} came. "
    "Give one sentence, or open a long text as a file: regard open FILE.regard."
)
STRANGER = (
    "This page belongs to whoever started it: open the address that regard open printed, "
    "with its token."
)
BROKEN = "Something went wrong inside regard; the window where it was started says what."
log = logging.getLogger("regard")


class RefusedError(Exception):
    """A request that is refused, with a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Guard:
    """ASGI middleware that serves the page's own requests only, with safe headers."""

    def __init__(self, app: ASGIApp, port: int, access: Access) -> None:
        self.app, self.access = app, access
        self.hosts = frozenset(f"{name}:{port}" for name in NAMES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # no websockets; lifespan goes through
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        started = False

        async def safe_send(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if message["status"] == 200 and self.access.is_first_visit(scope):
                    headers["Set-Cookie"] = self.access.set_cookie()
            await send(message)

        try:
            self.check(scope)
            # With an app in its scope the router raises what it cannot find, for us to say.
            await self.app({**scope, "app": self}, _limited(receive), safe_send)
        except Exception as error:  # the last place where an error can become a sentence
            if started:
                raise
            await response_to(error)(scope, receive, safe_send)

    def check(self, scope: Scope) -> None:
        """Refuse what does not come from this page, on this machine, by its user."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.hosts:
            raise RefusedError(421, f"This page answers to {self._names()}, not to {host[:80]!r}.")
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            raise RefusedError(403, "Another site asked for this; the page answers only to itself.")
        if not _is_same_origin(headers) and not _is_navigation(scope, headers):
            raise RefusedError(403, "Another site asked for this; the page answers only to itself.")
        if not self.access.allows(scope):
            raise RefusedError(403, STRANGER)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            raise too_large(int(length) if length.isdecimal() else 0)

    def _names(self) -> str:
        return " or ".join(sorted(self.hosts))


def response_to(error: Exception) -> JSONResponse:
    """Any error as a status and one sentence."""
    if isinstance(error, ClientDisconnect):  # where it is still there, it is we who leave
        return error_response("The explorer is being stopped.", 503)
    if isinstance(error, RefusedError):
        return error_response(error.sentence, error.status)
    if isinstance(error, RegardError):
        return error_response(str(error), 400)
    if isinstance(error, HTTPException):
        return error_response(f"There is nothing here ({error.detail}).", error.status_code)
    log.error("an error in the explorer", exc_info=error)
    return error_response(BROKEN, 500)


def error_response(sentence: str, status: int) -> JSONResponse:
    """An error for the page to show; the connection ends where its request was cut short."""
    close = {"Connection": "close"} if status == 413 else None
    return JSONResponse({"error": sentence}, status, headers=close)


def too_large(size: int) -> RefusedError:
    """A body beyond the limit."""
    received = f"{size / 1024:,.0f} kB" if size else "more"
    return RefusedError(413, TOO_LARGE.format(most=LARGEST_BODY // 1024, received=received))


def json_fields(body: bytes) -> Mapping[str, Any]:
    """The fields of a request's JSON."""
    try:
        fields = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ArgumentError("a request needs a JSON object, but it is none.")
    if _has_surrogate(fields):
        raise ArgumentError(
            "a request needs text in whole characters, but it holds half of one (a lone "
            "surrogate): take it out."
        )
    return fields


def _has_surrogate(fields: Mapping[str, Any]) -> bool:
    """Whether any text holds half of a UTF-16 pair, which no encoding can carry further."""
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_same_origin(headers: Headers) -> bool:
    """Whether the browser says that the page itself sent it; other programs say nothing."""
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def _is_navigation(scope: Scope, headers: Headers) -> bool:
    """Whether it is a link to the page itself, followed from elsewhere."""
    to_page = scope["method"] == "GET" and scope["path"] == "/"
    return to_page and headers.get("sec-fetch-mode") == "navigate"


def _limited(receive: Receive) -> Receive:
    """Receive with a limit on the body, whose length a request need not declare."""
    received = 0

    async def counting() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > LARGEST_BODY:
            raise too_large(received)
        return message

    return counting
