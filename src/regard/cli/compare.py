"""regard compare: two watched runs, head by head."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.io import check_bounds, show_json
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.watcher.seen import Seen


_ONE = typer.Argument(help="A file that `regard watch --save` wrote.")

_OTHER = typer.Argument(help="Another: the same model on another text, or another checkpoint.")

_SENTENCE = typer.Option(help="Sentence of a batch, from 0, where a file holds several.")


def compare(
    one: Annotated[Path, _ONE],
    other: Annotated[Path, _OTHER],
    *,
    heads: Annotated[int, typer.Option(help="Number of heads to show.")] = 12,
    sentence: Annotated[int, _SENTENCE] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print all heads as JSON.")] = False,
) -> None:
    """Show which heads attend otherwise in one run than in another, the most changed first.

    Tokens of the two texts are aligned; layers and heads count from 0.
    """
    check_bounds("--heads", heads, 1)
    comparison = _seen(one, sentence).compare(_seen(other, sentence))
    if json:
        show_json(comparison.to_dict())
        return
    from regard.view.terminal.style import terminal_style
    from regard.view.terminal.watch import comparison_page

    print(comparison_page(comparison, terminal_style(), heads))


def _seen(path: Path, sentence: int) -> Seen:
    from regard.watcher.files.watched_file import load
    from regard.watcher.seen import Seen

    seen = load(path)
    if not isinstance(seen, Seen):
        raise ArgumentError(
            f"compare needs files of watched models, but {path} is an observation: save one with "
            "regard watch FOLDER TEXT --save x.regard."
        )
    return seen.sentence(sentence)
