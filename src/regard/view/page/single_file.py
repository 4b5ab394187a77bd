"""HTML documents in one file: bundled modules, inlined style and data, a content policy."""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

# The page's own letters, under the licence beside them: family, file, weights, slant.
FONTS = (
    ("Source Serif 4", "serif", "400", "normal"),
    ("Source Serif 4", "serif-italic", "400", "italic"),
    ("Source Sans 3", "sans", "200 900", "normal"),
)
STYLES = ("style.css", "read/read.css", "steps/steps.css", "run/run.css", "learn/learn.css",
          "monitor/monitor.css")  # fmt: skip
SUFFIXES = (".html", ".css", ".js", ".svg")
IMPORT = re.compile(r'^import (\{[^}]*\}) from "([./\w-]+)";[ \t]*\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async function|function|const|class) (\w+))", re.MULTILINE)
COMMENT = re.compile(
    r"^[ \t]*/\*\*(?:(?!\*/).)*\*/[ \t]*\n|^[ \t]*//[^\n]*\n", re.MULTILINE | re.DOTALL
)
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
POLICY = "default-src 'none'; font-src data:; base-uri 'none'; form-action 'none'"


def single_file(
    template: str,
    *,
    style: str,
    script: str = "",
    script_sources: Sequence[str] = (),
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
    script_sources : sequence of str
        Further sources of scripts that the content policy allows.
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
    allowed = " ".join([_source_hash(script), *script_sources])
    sources += [f"script-src {allowed}"] if script else []
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
    # UTF-8 has no half of a character; JSON writes it as an escape.
    text = text.encode("utf-8", "backslashreplace").decode()
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
def page_style(*, fonts: bool = True, without: tuple[str, ...] = ()) -> str:
    """The style of the explorer: fonts, the shared language of ``style.css``, then each view's.

    ``without`` names folders of views that the page does not hold.
    """
    faces = map(_font_face, FONTS) if fonts else ()
    held = [name for name in STYLES if name.partition("/")[0] not in without]
    return "\n".join([*faces, *(web_files()[name] for name in held)])


def _font_face(font: tuple[str, str, str, str]) -> str:
    """A font inside the style: letters are there with the first words, which then do not move."""
    family, name, weight, slant = font
    data = (files("regard.view") / "web" / "fonts" / f"{name}.woff2").read_bytes()
    source = f"url(data:font/woff2;base64,{base64.b64encode(data).decode()})"
    return (
        f'@font-face {{ font-family: "{family}"; font-weight: {weight}; font-style: {slant}; '
        f'src: {source} format("woff2"); }}'
    )


def bundle(modules: Mapping[str, str], entry: str) -> str:
    """One script of the module ``entry`` and all that it imports, comments left out.

    Each module is a function that returns what it exports: two modules may use one name.
    """
    order = modules_in_order(modules, entry)
    variables = {name: f"${number}" for number, name in enumerate(order)}
    parts = [_as_function(name, modules[name], variables) for name in order]
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
    return [posixpath.normpath(posixpath.join(folder, path)) for _, path in IMPORT.findall(module)]


def exported_names(module: str) -> list[str]:
    """Names that a module exports.

    >>> exported_names("export const A = 1;\\nfunction b() {}\\nexport async function c() {}\\n")
    ['A', 'c']
    """
    return EXPORT.findall(module)


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(SUFFIXES):
            yield f"{prefix}{entry.name}", entry.read_text(encoding="utf-8")


def _as_function(name: str, module: str, variables: Mapping[str, str]) -> str:
    """A module as a function that is called once, its exports in a variable of its own."""
    listed = [names for names, _ in IMPORT.findall(module)]
    needed = [variables[path] for path in module_imports(name, module)]
    imports = "".join(f"const {x} = {y};\n" for x, y in zip(listed, needed, strict=True))
    body = INDENT.sub("", COMMENT.sub("", EXPORT.sub("", IMPORT.sub("", module))))
    returned = ", ".join(exported_names(module))
    return f"const {variables[name]} = (() => {{\n{imports}{body}return {{ {returned} }};\n}})();\n"


def _source_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
