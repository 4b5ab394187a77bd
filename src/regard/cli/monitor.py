"""regard monitor: the summary of a monitored training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.io import show_json, show_text


def monitor(
    folder: Annotated[Path, typer.Argument(help="Folder that regard.monitor(to=...) writes.")],
    *,
    measure: Annotated[str | None, typer.Option(help="One measure, layer by layer.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON.")] = False,
) -> None:
    """Show a monitored training: every measure over its steps, and the alerts.

    The training may still run. Look at every head with `regard open FOLDER`.
    """
    from regard.monitoring.folder import History
    from regard.view.terminal.monitor import summary
    from regard.view.terminal.style import terminal_style

    history = History.load(folder)
    if measure is not None:
        history[measure]  # an unknown name is an error that lists them
    if json:
        show_json(history.to_dict())
        return
    show_text(summary(history, terminal_style(), measure))
