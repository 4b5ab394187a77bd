"""Access token of the page's server: made at start, exchanged for a cookie by the browser.

Other users of the machine can connect to a loopback port, but not without the token. It stands in
the address that the command prints; the page takes it out of the browser's address bar again, and
the cookie that replaces it is out of reach of scripts and of other sites.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import Scope

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
