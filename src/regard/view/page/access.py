"""Access to the page's server: its token, and the checks of every request."""

from __future__ import annotations

import json
import logging
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import ArgumentError, RegardError

BYTES = 24

LAUNCH_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>regard</title>
<a href="{address}">Open the explorer</a>
"""


def new_token() -> str:
    """A token that nobody can guess, in letters that an address may hold."""
    return secrets.token_urlsafe(BYTES)


class Access:
    """Whether a request carries the token: in its cookie, as a bearer, or in the first address."""

    def __init__(self, token: str, port: int) -> None:
        self._token, self.cookie = token, f"regard-{port}"  # cookies know hosts, but not ports

    def allows(self, scope: Scope) -> bool:
        """Whether a request may be served."""
        return self.is_first_visit(scope) or any(map(self._matches, self._tokens(scope)))

    def is_first_visit(self, scope: Scope) -> bool:
        """Whether a request is for the page itself, with the token in its address."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        is_page = scope["method"] == "GET" and scope["path"] == "/"
        return is_page and any(map(self._matches, query.get("token", ())))

    def set_cookie(self) -> str:
        """The header that gives the browser its cookie."""
        return f"{self.cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"

    def _tokens(self, scope: Scope) -> Iterator[str]:
        headers = Headers(scope=scope)
        yield cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        kind, _, token = headers.get("authorization", "").partition(" ")
        yield token if kind.lower() == "bearer" else ""

    def _matches(self, token: str) -> bool:
        # In constant time: how long a refusal takes says nothing about the token.
        return secrets.compare_digest(token.encode(), self._token.encode())


@contextmanager
def launch_page(address: str) -> Iterator[str]:
    """The URL of a private file that leads the browser to ``address``.

    Arguments of a process can be read by every user of a machine; so the browser is started with
    the name of this file, and not with the token.
    """
    text = LAUNCH_PAGE.format(address=escape(address))
    path = _private_file(text)
    try:
        yield path.as_uri()
    finally:
        path.unlink(missing_ok=True)


def _private_file(text: str) -> Path:
    """A file that its owner alone can read; in the home folder, where confined browsers see it."""
    home = os.path.expanduser("~")
    folder = home if os.access(home, os.W_OK) else None
    handle, name = tempfile.mkstemp(prefix="regard-open-", suffix=".html", dir=folder)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(name)


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
