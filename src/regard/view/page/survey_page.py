"""A survey's report as one HTML file: works from disk, asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from regard.heads.links import CAUTION

SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Survey · regard</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#view">Skip to the report</a>
<header id="top"><p class="name"><span>regard</span></p><p class="quiet">survey</p></header>
<main id="view" tabindex="-1"><noscript>The report needs JavaScript, which this browser has
switched off; report.json holds the same numbers.</noscript></main>
<footer id="foot">Made by regard {version}. {caution}</footer>
<div id="said" class="only-read" role="status" aria-live="polite"></div>
<script type="application/json" id="report">{report}</script>
<script>{script}</script>
</body>
</html>
"""


def page(report: dict[str, Any]) -> str:
    """The page with its data inside; text of documents is put in as text, never as markup."""
    from regard import __version__

    style, script = style_and_script()
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_hash(script)}; style-src {_hash(style)}"
    )
    data = json.dumps(report, ensure_ascii=False, allow_nan=False)
    data = data.replace("<", "\\u003c")  # in JSON a < stands inside text alone: it says the same
    parts = {
        "policy": policy, "style": style, "version": __version__, "caution": CAUTION,
        "report": data, "script": script,
    }  # fmt: skip
    return _filled(SHELL, parts)


@cache
def style_and_script() -> tuple[str, str]:
    """The explorer's style and elements, and the survey's own on top."""
    from regard.view.page.single_file import joined

    texts = _texts("web") | _texts("web", "survey")
    modules = {name: text for name, text in texts.items() if name.endswith(".js")}
    return texts["style.css"] + texts["survey.css"], joined(modules, "survey.js")


def _texts(*path: str) -> dict[str, str]:
    folder = files("regard.view").joinpath(*path)
    kinds = (".js", ".css")
    found = (x for x in folder.iterdir() if x.name.endswith(kinds))
    return {x.name: x.read_text(encoding="utf-8") for x in found}


def _filled(shell: str, parts: dict[str, str]) -> str:
    """Put each part in its place; what a part says is not looked at again."""
    pieces = []
    for piece in shell.split("{"):
        name, closed, rest = piece.partition("}")
        pieces.append(parts[name] + rest if closed and name in parts else piece)
    return "".join(pieces)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
