"""A page and its data in one HTML file that works from disk: bundled script, styles, policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache, singledispatch
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from regard.engine.observation import Observation
from regard.errors import ArgumentError, FileError
from regard.textbook.steps import Steps
from regard.transformer.reading import Reading
from regard.view.page.blobs import Packed
from regard.view.page.map_source import Opened, opened_observation
from regard.watcher.seen import Seen

IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.-]+)";[ \t]*\n', re.MULTILINE)


EXPORT = re.compile(r"^export (?=async function|function|const|class|let)", re.MULTILINE)


ASIDE = re.compile(r"^[ \t]*//.*\n|^[ \t]+", re.MULTILINE)  # comments and indents stay behind


NAME = re.compile(
    r"^(?:export )?(?:async function\*?|function\*?|const|let|class) "
    r"(?:(\w+)|\{([^}]*)\}|\[([^\]]*)\])",
    re.MULTILINE,
)


def joined(modules: Mapping[str, str], first: str) -> str:
    """One script of the module ``first`` and all that it needs."""
    parts = [_plain(modules[name]) for name in in_order(modules, first)]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def in_order(modules: Mapping[str, str], first: str) -> list[str]:
    """The names of the modules needed, each after those that it needs itself.

    >>> in_order({"a.js": 'import { b } from "./b.js";\\n', "b.js": "", "c.js": ""}, "a.js")
    ['b.js', 'a.js']
    """
    done: list[str] = []
    begun: set[str] = set()

    def visit(name: str) -> None:
        if name in begun:
            return
        begun.add(name)
        for needed in IMPORT.findall(modules[name]):
            visit(needed)
        done.append(name)

    visit(first)
    return done


def names_of(module: str) -> list[str]:
    """The top-level names of a module.

    >>> names_of("export const A = 1;\\nfunction b() {\\n  const c = 2;\\n}\\nconst [d, e] = f;\\n")
    ['A', 'b', 'd', 'e']
    """
    found = []
    for single, braces, brackets in NAME.findall(module):
        listed = [single] if single else re.findall(r"\w+", braces or brackets)
        found += listed
    return found


def _plain(module: str) -> str:
    return ASIDE.sub("", EXPORT.sub("", IMPORT.sub("", module)))


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
    from regard.view.page.embed import hold_map

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
    from regard.view.page.embed import hold_reading

    return hold_reading(thing, packed, state)


@hold.register
def _(thing: Steps, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    from regard.view.page.steps_data import data_of_steps

    chosen = {x: state[x] for x in ("head", "sentence") if x in state}
    return {
        "views": ["steps"],
        "at": {},
        "steps": {"": packed.add(data_of_steps(thing, **chosen).to_bytes())},
    }


@hold.register
def _(thing: Observation, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    from regard.view.page.embed import hold_map

    return hold_map(opened_observation(thing), packed)


@hold.register
def _(thing: Seen, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    from regard.view.page.embed import hold_seen

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
    folder = files("regard.view") / "web"
    return {x.name: x.read_text(encoding="utf-8") for x in folder.iterdir() if "." in x.name}


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
