"""regard compare: two watched runs, head by head."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.io import check_bounds, show_json
from regard.errors import ArgumentError, FileError
from regard.view.terminal.style import terminal_style
from regard.view.terminal.watch import comparison_page

if TYPE_CHECKING:
    from regard.watcher.seen import Seen

_ONE = typer.Argument(help="A file that `regard watch --save` wrote.")
_OTHER = typer.Argument(help="Another: a different text or a different checkpoint.")
_SENTENCE = typer.Option(help="Sentence of a batch, counted from 0.")


def compare(
    one: Annotated[Path, _ONE],
    other: Annotated[Path, _OTHER],
    *,
    heads: Annotated[int, typer.Option(help="Number of heads to list.")] = 12,
    sentence: Annotated[int, _SENTENCE] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print all heads as JSON.")] = False,
) -> None:
    """Compare two runs head by head, the most changed heads first.

    Tokens of the two texts are aligned; layers and heads count from 0.
    """
    check_bounds("--heads", heads, 1)
    comparison = _seen(one, sentence).compare(_seen(other, sentence))
    if json:
        show_json(comparison.to_dict())
        return
    print(comparison_page(comparison, terminal_style(), heads))


def _seen(path: Path, sentence: int) -> Seen:
    from regard.watcher.files.watched_file import load
    from regard.watcher.seen import Seen

    if not path.exists():
        raise FileError(f"No such file: {path}")
    seen = load(path)
    if not isinstance(seen, Seen):
        raise ArgumentError(
            f"compare needs runs of watched models, got an observation: {path}. Save a run with "
            "regard watch FOLDER TEXT --save x.regard."
        )
    return seen.sentence(sentence)
