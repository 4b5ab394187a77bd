"""regard "A sentence": what the shipped model looks at while it translates it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def read_sentence(
    sentence: Annotated[str, typer.Argument(help="An English sentence, in quotes.")],
    *,
    layer: Annotated[int | None, typer.Option(help="Show this layer.")] = None,
    head: Annotated[int | None, typer.Option(help="Show this head of the layer.")] = None,
    word: Annotated[str | None, typer.Option("--from", help="Show where this word looks.")] = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Sub-words, not words.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Everything, for programs.")] = False,
    save: Annotated[
        Path | None, typer.Option(help="Keep it: a name in .svg .png .pdf .html .json or .csv.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="What to save: lines or heatmap.")] = None,
    model: Annotated[Path | None, typer.Option(help="Folder of another model.")] = None,
) -> None:
    """Translate a sentence and show what the most telling head looks at.

    Layers and heads count from 0. Write the#2 for the second 'the'.
    """
    from regard.transformer.checkpoint import load_model
    from regard.transformer.reader import read

    if save is not None:
        _check_save(save, kind)
    reading = read(sentence, model=load_model(model))
    by = "tokens" if tokens else "words"
    if json:
        from regard.cli.output import show_json

        show_json(reading.to_dict(by))
        return
    if save is not None:
        picture = reading.picture(layer, head, word=word, by=by, kind=kind)
        print(f"{picture.title}. {picture.caption} Saved as {picture.save(save)}.")
        return
    from regard.view.terminal.reading_text import Selection, page
    from regard.view.terminal.style import terminal_style

    print(page(reading, Selection(word, layer, head, by), terminal_style()))


def _check_save(save: Path, kind: str | None) -> None:
    """Say what is wrong with the file before anything is computed."""
    from regard.view.figure.figure import check_ending, check_kind

    check_ending(save.suffix.lower())
    check_kind(kind or "lines")
