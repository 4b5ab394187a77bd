"""HTML documents in one file: bundled modules, inlined style and data, a content policy."""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, singledispatch
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from regard.atomic_write import write_text
from regard.corpus.survey import Survey
from regard.engine.observation import Observation
from regard.errors import ArgumentError
from regard.heads.links import CAUTION
from regard.textbook.steps import Steps
from regard.transformer.reading import Reading
from regard.view.page.embed import Blobs, embed_map, embed_reading
from regard.view.page.maps import MapSource, observation_source
from regard.view.page.runs import embed_watched
from regard.view.page.steps import steps_data
from regard.watcher.seen import Seen

STYLES = ("style.css", "read/read.css", "steps/steps.css", "map/map.css", "learn/learn.css")

SUFFIXES = (".html", ".css", ".js", ".svg")

IMPORT = re.compile(r'^import \{[^}]*\} from "([./\w-]+)";[ \t]*\n', re.MULTILINE)

EXPORT = re.compile(r"^export (?=async function|function|const|class|let)", re.MULTILINE)

COMMENT = re.compile(r"^[ \t]*/\*\*.*?\*/[ \t]*\n|^[ \t]*//[^\n]*\n", re.MULTILINE | re.DOTALL)

INDENT = re.compile(r"^[ \t]+", re.MULTILINE)

DECLARATION = re.compile(
    r"^(?:export )?(?:async function\*?|function\*?|const|let|class) "
    r"(?:(\w+)|\{([^}]*)\}|\[([^\]]*)\])",
    re.MULTILINE,
)

POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'"


def single_file(
    template: str,
    *,
    style: str,
    script: str = "",
    blocks: Sequence[str] = (),
    body: str = "",
    policy: Sequence[str] = (),
    **text: str,
) -> str:
    """One HTML document with its style, data and script inside.

    Parameters
    ----------
    template : str
        Markup with ``{head}`` right after its charset, ``{foot}`` at the end of its body, and the
        other fields by name.
    style, script : str
        What stands in the one style and the one script; only these two may run, by their hashes.
    blocks : sequence of str
        Data blocks, from :func:`json_block` and :func:`text_block`.
    body : str
        Markup for ``{body}``, put in as it is.
    policy : sequence of str
        Further directives of the content policy.
    **text : str
        Fields of plain text, escaped.
    """
    sources = [f"style-src {_source_hash(style)}"]
    sources += [f"script-src {_source_hash(script)}"] if script else []
    content = "; ".join([POLICY, *policy, *sources])
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{content}">\n<style>{style}</style>'
    )
    foot = "\n".join([*blocks, *([f"<script>{script}</script>"] if script else [])])
    escaped = {name: escape(value) for name, value in text.items()}
    return template.format_map({"head": head, "foot": foot, "body": body, **escaped})


def json_block(name: str, data: Any) -> str:
    """Data for a script, found by its id; a ``<`` in a text cannot end the block.

    >>> json_block("report", {"text": "</script>"})
    '<script type="application/json" id="report">{"text": "\\\\u003c/script>"}</script>'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    # In JSON a < stands inside strings alone, where the escape means the same.
    text = text.replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def text_block(name: str, text: str) -> str:
    """Base64 text for a script, found by its id."""
    return f'<script type="text/plain" id="{name}">{text}</script>'


@cache
def web_files() -> dict[str, str]:
    """The files of the page by their path in ``view/web``, such as ``lib/dom.js``."""
    return dict(_walk(files("regard.view") / "web", ""))


@cache
def page_style() -> str:
    """The style of the explorer: the shared language of ``style.css``, then that of each view."""
    return "\n".join(web_files()[name] for name in STYLES)


def bundle(modules: Mapping[str, str], entry: str) -> str:
    """One script of the module ``entry`` and all that it imports, comments left out."""
    parts = [_without_module_syntax(modules[name]) for name in modules_in_order(modules, entry)]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def modules_in_order(modules: Mapping[str, str], entry: str) -> list[str]:
    """Paths of the modules that are needed, each after its own imports.

    >>> modules_in_order({"a.js": 'import { b } from "./lib/b.js";\\n', "lib/b.js": ""}, "a.js")
    ['lib/b.js', 'a.js']
    """
    done: list[str] = []
    visited: set[str] = set()

    def visit(name: str) -> None:
        if name in visited:
            return
        visited.add(name)
        for imported in module_imports(name, modules[name]):
            visit(imported)
        done.append(name)

    visit(entry)
    return done


def module_imports(name: str, module: str) -> list[str]:
    """Paths of the modules that a module imports.

    >>> module_imports("read/read.js", 'import { element } from "../lib/dom.js";\\n')
    ['lib/dom.js']
    """
    folder = posixpath.dirname(name)
    return [posixpath.normpath(posixpath.join(folder, path)) for path in IMPORT.findall(module)]


def top_level_names(module: str) -> list[str]:
    """Names that a module declares at its top level.

    >>> top_level_names("export const A = 1;\\nfunction b() {\\n  let c;\\n}\\nlet [d, e] = f;\\n")
    ['A', 'b', 'd', 'e']
    """
    names = []
    for single, braces, brackets in DECLARATION.findall(module):
        names += [single] if single else re.findall(r"\w+", braces or brackets)
    return names


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(SUFFIXES):
            yield f"{prefix}{entry.name}", entry.read_text(encoding="utf-8")


def _without_module_syntax(module: str) -> str:
    return INDENT.sub("", COMMENT.sub("", EXPORT.sub("", IMPORT.sub("", module))))


def _source_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


ENTRY = "lib/embedded.js"


def offline_page(thing: Any, state: Mapping[str, Any] | None = None) -> str:
    """The page of a reading, steps, an observation or a watched model, opened at ``state``."""
    blobs = Blobs()
    data = embed(thing, blobs, state or {})
    at = dict(data.pop("at", state or {}))
    view = at.pop("view", data["views"][0])
    return page_with(data | {"address": address(view, at)}, blobs)


def offline_map(source: MapSource) -> str:
    """The page of the maps of one file."""
    blobs = Blobs()
    return page_with(embed_map(source, blobs) | {"address": "#map"}, blobs)


def save_page(thing: Any, path: Path) -> None:
    """Write the page of a thing into a file."""
    write_text(path, offline_page(thing))


@singledispatch
def embed(thing: Any, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    """Data for ``web/lib/embedded.js``; arrays go into ``blobs``."""
    raise ArgumentError(
        "a page can show a reading, steps, an observation or a watched model, got "
        f"{type(thing).__name__}."
    )


@embed.register
def _(thing: Reading, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    return embed_reading(thing, blobs, state)


@embed.register
def _(thing: Steps, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {x: state[x] for x in ("head", "sentence") if x in state}
    data = steps_data(thing, **chosen).to_bytes()
    return {"views": ["steps"], "at": {}, "steps": {"": blobs.add(data)}}


@embed.register
def _(thing: Observation, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    return embed_map(observation_source(thing), blobs)


@embed.register
def _(thing: Seen, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    return embed_watched(thing, blobs)


def address(view: str, state: Mapping[str, Any]) -> str:
    """The fragment of an address: a view and its state.

    >>> address("read", {"layer": 3, "head": 6, "word": None})
    '#read?layer=3&head=6'
    """
    fields = {name: value for name, value in state.items() if value is not None}
    return f"#{view}" + (f"?{urlencode(fields)}" if fields else "")


def page_with(data: Mapping[str, Any], blobs: Blobs) -> str:
    """The explorer with these data embedded."""
    from regard import __version__

    return single_file(
        web_files()["page.html"],
        style=page_style(),
        script=_script(),
        blocks=[
            json_block("embedded", {"version": __version__, **data}),
            text_block("numbers", blobs.text),
        ],
        policy=["img-src data: blob:"],
    )


@cache
def _script() -> str:
    return bundle(web_files(), ENTRY)


def survey_page(survey: Survey) -> str:
    """The report of a survey; text of documents is shown as text, never as markup."""
    from regard import __version__

    texts = web_files()
    return single_file(
        texts["survey/survey.html"],
        style=page_style() + texts["survey/survey.css"],
        script=bundle(texts, "survey/survey.js"),
        blocks=[json_block("report", survey.report)],
        version=__version__,
        caution=CAUTION,
    )
