"""One HTML file that holds the page and its data: works from disk, asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache, singledispatch
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from regard.errors import ArgumentError, FileError
from regard.models.seen import Seen
from regard.self_attention.observation import Observation
from regard.self_attention.steps import Steps
from regard.transformer.reading import Reading
from regard.view.explorer.joined import joined
from regard.view.explorer.opened import Opened, opened_observation
from regard.view.explorer.packed import Packed

CHARSET = '<meta charset="utf-8">'
STYLE = '<link rel="stylesheet" href="style.css">'
SCRIPT = '<script type="module" src="app.js"></script>'
ICON = '<link rel="icon" href="icon.svg" type="image/svg+xml">'


def offline_page(thing: Any, state: Mapping[str, Any] | None = None) -> str:
    """The page of a reading, steps or an observation, opened at ``state``."""
    packed = Packed()
    held = hold(thing, packed, state or {})
    at = dict(held.pop("at", state or {}))
    view = at.pop("view", held["views"][0])
    return page_of(held | {"address": address(view, at)}, packed)


def save_page(thing: Any, path: Path) -> None:
    """Write the page of a thing into a file."""
    page = offline_page(thing)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror}.") from None


def hold_opened(opened: Opened) -> str:
    """The page of a file's maps."""
    from regard.view.explorer.hold_map import hold_map

    packed = Packed()
    return page_of(hold_map(opened, packed) | {"address": "#map"}, packed)


@singledispatch
def hold(thing: Any, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    """What the page's source answers from (static/kept.js); numbers go into ``packed``."""
    raise ArgumentError(
        "a page needs a reading, steps, an observation or what watch saw, but this is "
        f"{type(thing).__name__}."
    )


@hold.register
def _(thing: Reading, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    from regard.view.explorer.hold_reading import hold_reading

    return hold_reading(thing, packed, state)


@hold.register
def _(thing: Steps, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    from regard.view.explorer.steps_data import data_of_steps

    chosen = {x: state[x] for x in ("head", "sentence") if x in state}
    return {
        "views": ["steps"],
        "at": {},
        "steps": {"": packed.add(data_of_steps(thing, **chosen).to_bytes())},
    }


@hold.register
def _(thing: Observation, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    from regard.view.explorer.hold_map import hold_map

    return hold_map(opened_observation(thing), packed)


@hold.register
def _(thing: Seen, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    from regard.view.explorer.hold_seen import hold_seen

    return hold_seen(thing, packed)


def address(view: str, state: Mapping[str, Any]) -> str:
    """The place in the page, as its address has it.

    >>> address("read", {"layer": 3, "head": 6, "word": None})
    '#read?layer=3&head=6'
    """
    given = {name: value for name, value in state.items() if value is not None}
    return f"#{view}" + (f"?{urlencode(given)}" if given else "")


def page_of(held: Mapping[str, Any], packed: Packed) -> str:
    """The shell with style, script and data inside, and a policy that lets nothing else in."""
    from regard import __version__

    style, script = style_and_script()
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; "
        f"script-src {_hash(script)}; style-src {_hash(style)}"
    )
    data = json.dumps({"version": __version__, **held}, ensure_ascii=False, allow_nan=False)
    data = data.replace("<", "\\u003c")  # in JSON a < stands inside text alone: it says the same
    blocks = (
        f'<script type="application/json" id="kept">{data}</script>\n'
        f'<script type="text/plain" id="numbers">{packed.text}</script>\n'
        f"<script>{script}</script>\n</body>"
    )
    page = static_text()["index.html"]
    for old, new in (
        ('<html lang="en">', '<html lang="en" data-source="kept">'),
        (CHARSET, f'{CHARSET}\n<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        (ICON + "\n", ""),
        (STYLE, f"<style>{style}</style>"),
        (SCRIPT + "\n", ""),
        ("</body>", blocks),
    ):
        before, found, after = page.partition(old)
        if not found:
            raise ArgumentError(f"index.html needs the line {old} for a page in one file.")
        page = before + new + after
    return page


@cache
def style_and_script() -> tuple[str, str]:
    """The page's style sheet, and its modules as one script."""
    texts = static_text()
    return texts["style.css"], joined(
        {x: t for x, t in texts.items() if x.endswith(".js")}, "kept.js"
    )


@cache
def static_text() -> dict[str, str]:
    """The files of the page by name."""
    folder = files("regard.view.explorer") / "static"
    return {x.name: x.read_text(encoding="utf-8") for x in folder.iterdir() if "." in x.name}


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
