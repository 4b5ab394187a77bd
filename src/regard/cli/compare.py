"""regard compare: two watched runs, head by head."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.io import check_bounds, show_json
from regard.errors import ArgumentError, FileError
from regard.view.terminal.style import terminal_style
from regard.view.terminal.watch import comparison_page, parting_page
from regard.watcher.trace import Parting
from regard.watcher.verdict import Verdict

if TYPE_CHECKING:
    from regard.watcher.measures.run_comparison import RunComparison
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

    Two runs of `regard judge --save` on one text are also told apart from rounding: where they
    part, and which of them is wrong. Tokens are aligned; layers and heads count from 0.
    """
    check_bounds("--heads", heads, 1)
    compared = _compared(*(_run(path, sentence) for path in (one, other)))
    style = terminal_style()
    if json:
        show_json(compared.to_dict())
    elif isinstance(compared, Parting):
        print(parting_page(compared, style))
    else:
        print(comparison_page(compared, style, heads))


def _run(path: Path, sentence: int) -> Seen | Verdict:
    from regard.watcher.files.watched_file import load
    from regard.watcher.seen import Seen

    if not path.exists():
        raise FileError(f"No such file: {path}")
    run = load(path)
    if isinstance(run, Seen):
        return run.sentence(sentence)
    if isinstance(run, Verdict):
        return run
    raise ArgumentError(
        f"compare needs runs of watched models, got an observation: {path}. Save a run with "
        "regard watch FOLDER TEXT --save x.regard."
    )


def _compared(one: Seen | Verdict, other: Seen | Verdict) -> RunComparison | Parting:
    """Two watched runs head by head; where one of them has a verdict alone, their verdicts."""
    if not isinstance(one, Verdict) and not isinstance(other, Verdict):
        return one.compare(other)
    first, second = (run if isinstance(run, Verdict) else run.verdict for run in (one, other))
    found = None if first is None or second is None else first.compare(second)
    if found is None:
        raise ArgumentError(
            "compare needs two runs on one text, saved by regard judge FOLDER TEXT --save x.regard."
        )
    return found
