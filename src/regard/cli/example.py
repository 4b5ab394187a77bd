"""regard example: published examples reproduced and corrected."""

from __future__ import annotations

from typing import Annotated

import typer

from regard.cli.io import show, show_json
from regard.textbook.examples import EXAMPLES, run_example
from regard.view.terminal.render import Sections


def example(
    name: Annotated[
        str, typer.Argument(help="robots, good, cat or all; without a name they are listed.")
    ] = "",
    *,
    json: Annotated[bool, typer.Option("--json", help="Print every number as JSON.")] = False,
) -> None:
    """Reproduce published examples: what they print, what is correct, where they differ."""
    if not name:
        _list(json)
        return
    names = list(EXAMPLES) if name == "all" else [name]
    examples = [run_example(each) for each in names]
    if json:
        plain = [each.to_dict() for each in examples]
        show_json(plain if name == "all" else plain[0])
        return
    show(examples)


def _list(json: bool) -> None:
    examples = [run_example(name) for name in EXAMPLES]
    if json:
        show_json([{"name": e.name, "sentence": e.sentence, "title": e.title} for e in examples])
        return
    about = {e.name: f"{e.sentence!r}, from {e.title!r}" for e in examples}
    show(Sections({"examples": {**about, "all": "all of them in turn"}}))
    show("Run one: regard example robots")
