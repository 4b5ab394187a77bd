"""Access to the page's server: its token, and the checks of every request."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import RegardError
from regard.view.page.answers import Answer, error_answer

TOKEN_BYTES = 24
LAUNCH_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>regard</title>
<a href="{address}">Open the explorer</a>
"""


def new_token() -> str:
    """A random token, safe in a URL."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class Access:
    """Whether a request carries the token: in its cookie, as a bearer, or in the first address."""

    def __init__(self, token: str, port: int) -> None:
        self._token, self.cookie = (
            token,
            f"regard-{port}",
        )  # cookies are shared by all ports of a host

    def allows(self, scope: Scope) -> bool:
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
        # In constant time, so that the time of a refusal reveals nothing about the token.
        return secrets.compare_digest(token.encode(), self._token.encode())


@contextmanager
def launch_page(address: str) -> Iterator[str]:
    """The URL of a private file that leads the browser to ``address``.

    Every user of a machine can read the arguments of a process, so the browser is started with
    the name of this file instead of the token.
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


MAX_DISCARDED_BYTES, MAX_DISCARDING_SECONDS = 64 * 2**20, 5.0  # of a body that was refused
MAX_BODY_BYTES = 256 * 1024  # a sentence has at most 256 tokens, a user's own table a few kB
HOST_NAMES = ("127.0.0.1", "localhost")
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
TOO_LARGE_MESSAGE = (
    "This is too long: the page takes up to {most} kB in one request, got {received}. "
    "Enter one sentence, or open a long text as a file: regard open FILE.regard."
)
NOT_ALLOWED_MESSAGE = (
    "This page is private: open the address that `regard open` printed, with its token."
)
INTERNAL_ERROR_MESSAGE = (
    "Something went wrong inside regard; see the terminal where it was started."
)
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
        self.hosts = frozenset(f"{name}:{port}" for name in HOST_NAMES)

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
                headers.update(SECURITY_HEADERS)
                if message["status"] == 200 and self.access.is_first_visit(scope):
                    headers["Set-Cookie"] = self.access.set_cookie()
            await send(message)

        try:
            self.check(scope)
            # With an app in its scope the router raises for an unknown path, which is handled here.
            await self.app({**scope, "app": self}, _limited(receive), safe_send)
        except Exception as error:  # the last place where an error can become a message
            if started:
                raise
            answer = response_to(error)
            if answer.status_code == 413:
                await _answer_and_read_on(answer, scope, receive, safe_send)
            else:
                await answer(scope, receive, safe_send)

    def check(self, scope: Scope) -> None:
        """Refuse what does not come from this page, on this machine, by its user."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.hosts:
            raise RefusedError(421, f"This page answers to {self._names()}, not to {host[:80]!r}.")
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            raise RefusedError(403, "Requests from other sites are refused.")
        if not _is_same_origin(headers) and not _is_navigation(scope, headers):
            raise RefusedError(403, "Requests from other sites are refused.")
        if not self.access.allows(scope):
            raise RefusedError(403, NOT_ALLOWED_MESSAGE)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            raise too_large(int(length) if length.isdecimal() else 0)

    def _names(self) -> str:
        return " or ".join(sorted(self.hosts))


def response_to(error: Exception) -> Response:
    """Any error as a status and one sentence; a request that was cut short is the last one."""
    made = as_response(_answer_to(error))
    if made.status_code == 413:
        made.headers["Connection"] = "close"
    return made


def as_response(answer: Answer) -> Response:
    """An answer in Starlette's form."""
    return Response(answer.content, answer.status, answer.headers, answer.media_type)


def _answer_to(error: Exception) -> Answer:
    if isinstance(error, ClientDisconnect):  # or the server is being stopped
        return error_answer("The explorer is being stopped.", 503)
    if isinstance(error, RefusedError):
        return error_answer(error.sentence, error.status)
    if isinstance(error, RegardError):
        return error_answer(str(error), 400)
    if isinstance(error, HTTPException):
        return error_answer(f"Not found ({error.detail}).", error.status_code)
    log.error("an error in the explorer", exc_info=error)
    return error_answer(INTERNAL_ERROR_MESSAGE, 500)


def too_large(size: int) -> RefusedError:
    """A body beyond the limit."""
    received = f"{size / 1024:,.0f} kB" if size else "more"
    return RefusedError(
        413, TOO_LARGE_MESSAGE.format(most=MAX_BODY_BYTES // 1024, received=received)
    )


async def _answer_and_read_on(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer at once, and end the connection when the rest of the body has come, or not for long.

    A connection that is closed over bytes nobody read is reset, and the answer is lost with it.
    """

    async def keep_open(message: Message) -> None:
        await send({**message, "more_body": True} if "body" in message else message)

    await answer(scope, receive, keep_open)
    left = MAX_DISCARDED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_DISCARDING_SECONDS):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    break
    await send({"type": "http.response.body", "body": b""})


def _is_same_origin(headers: Headers) -> bool:
    """Whether the page itself sent the request; programs other than browsers send no header."""
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


def _is_navigation(scope: Scope, headers: Headers) -> bool:
    """Whether a link to the page was followed from elsewhere."""
    to_page = scope["method"] == "GET" and scope["path"] == "/"
    return to_page and headers.get("sec-fetch-mode") == "navigate"


def _limited(receive: Receive) -> Receive:
    """Receive with a limit on the body, whose length a request need not declare."""
    received = 0

    async def counting() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY_BYTES:
            raise too_large(received)
        return message

    return counting
