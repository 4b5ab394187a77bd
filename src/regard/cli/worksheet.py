"""regard worksheet: self-attention to work out by hand, with a key, as a page to print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.io import (
    HeadNumber,
    check_output_file,
    sentence_argument,
    show,
    text_argument,
    write_standard_output,
)
from regard.cli.steps import sheet_steps
from regard.errors import ArgumentError
from regard.text.sheet import load_sheet
from regard.text.vectors import split
from regard.textbook.examples import EXAMPLES, run_example
from regard.textbook.steps import Steps
from regard.view.worksheet.arithmetic import check_words
from regard.view.worksheet.worksheet import Worksheet, by_hand

DEFAULT_FILE = Path("worksheet.html")
INVENTED_NOTE = (
    "The vectors and matrices are small whole numbers, invented so that you can do this by hand: "
    "the mechanism is real, but who looks at whom means nothing."
)
MODEL_NOTE = "These are the numbers of layer {layer}, head {head} of the shipped model, rounded."
WORKED_ROWS = {"robots": "robots", "good": "I", "cat": "The"}  # the rows that the documents read


def worksheet(
    sentence: Annotated[
        str, typer.Argument(help="A short sentence in quotes; - reads the standard input.")
    ] = "",
    *,
    example: Annotated[
        str, typer.Option(help="Use a published example: robots, good or cat.")
    ] = "",
    vectors: Annotated[
        Path | None, typer.Option(help="TOML or JSON file with your own numbers.")
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Layer of the shipped model to use.")] = None,
    head: Annotated[
        str | None, typer.Option(help="Head to use, as 3.6; or 6 with --layer 3.")
    ] = None,
    word: Annotated[str, typer.Option(help="Leave this word's row blank.")] = "",
    every_row: Annotated[bool, typer.Option("--all", help="Leave every row blank.")] = False,
    width: Annotated[int, typer.Option(help="Size of each word's vector, 1 to 4.")] = 2,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    answers: Annotated[bool, typer.Option(help="Add the key, on a page of its own.")] = True,
    save: Annotated[Path, typer.Option(help="HTML file to write; - prints it.")] = DEFAULT_FILE,
    out: Annotated[Path | None, typer.Option("--out", hidden=True)] = None,
) -> None:
    """Make a worksheet of self-attention: blanks, questions and a key, as HTML to print.

    Every number of the key follows from the printed ones, rounded as the sheet says.
    """
    if sum((bool(sentence), bool(example), vectors is not None)) != 1:
        raise ArgumentError(
            "worksheet takes one of: a sentence, --example NAME, --vectors FILE; try "
            'regard worksheet "I am good".'
        )
    if word and every_row:
        raise ArgumentError("worksheet takes --word or --all, not both.")
    path = out or save
    if str(path) != "-":
        check_output_file("--save", path, (".html", ".htm"))
    sentence, word = sentence_argument(sentence), text_argument("--word", word)
    if vectors is not None:
        steps, note = _file_steps(vectors), ""
    elif example:
        steps, note = _example_steps(example), ""
    elif layer is not None or head is not None:
        steps, note = _model_steps(sentence, layer, head)
    else:
        steps, note = by_hand(sentence, width, seed), INVENTED_NOTE
    row = word or WORKED_ROWS.get(example) or None
    _write(steps.worksheet(row, every_row=every_row, note=note), path, answers)


def _write(sheet: Worksheet, path: Path, answers: bool) -> None:
    if str(path) == "-":
        # As bytes: the page declares UTF-8, whatever the terminal takes.
        write_standard_output(sheet.html(answers=answers))
        return
    sheet.save(path, answers=answers)
    key = "with its key" if answers else "without the key"
    show(f"Wrote {path}: {len(sheet.blanks)} blanks, {key}. Open it in a browser and print it.")


def _example_steps(name: str) -> Steps:
    if name not in EXAMPLES:
        raise ArgumentError(f"--example must be one of {', '.join(EXAMPLES)}, got {name!r}.")
    return run_example(name).steps


def _model_steps(sentence: str, layer: int | None, head: str | None) -> tuple[Steps, str]:
    from regard.transformer.reading import read

    at = HeadNumber() if head is None else HeadNumber.parse("--head", head)
    at = at.with_layer(layer)
    if at.layer is None or at.head is None:
        raise ArgumentError("worksheet needs a layer and a head, such as --head 3.6.")
    check_words(len(split(sentence)))
    note = MODEL_NOTE.format(layer=at.layer, head=at.head)
    return read(sentence).steps(at.layer, at.head, part=at.part or "encoder"), note


def _file_steps(path: Path) -> Steps:
    sheet = load_sheet(path)
    check_words(len(sheet.words))
    return sheet_steps(sheet)
