"""regard worksheet: self-attention to work out by hand, with a key, as a page to print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.io import check_output_file, show, text_argument, write_standard_output
from regard.errors import ArgumentError
from regard.textbook.steps import Steps, self_attention

if TYPE_CHECKING:
    from regard.view.worksheet.worksheet import Worksheet


OUT = Path("worksheet.html")

INVENTED = (
    "The vectors and matrices are small whole numbers, invented so that you can do this by hand: "
    "the mechanism is real, but who looks at whom means nothing."
)

OF_MODEL = "These are the numbers of layer {layer}, head {head} of the shipped model, rounded."

WORKED_OUT = {"robots": "robots", "good": "I", "cat": "The"}  # the rows that the documents read


def worksheet(
    sentence: Annotated[str, typer.Argument(help="A short sentence in quotes.")] = "",
    *,
    example: Annotated[
        str, typer.Option(help="A published example instead: robots, good or cat.")
    ] = "",
    vectors: Annotated[
        Path | None, typer.Option(help="TOML or JSON file with your own numbers.")
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Numbers of the shipped model: layer.")] = None,
    head: Annotated[int | None, typer.Option(help="Head of that layer.")] = None,
    word: Annotated[str, typer.Option(help="Leave this word's row blank.")] = "",
    every_row: Annotated[bool, typer.Option("--all", help="Leave every row blank.")] = False,
    width: Annotated[int, typer.Option(help="Numbers in each word's vector, 1 to 4.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    answers: Annotated[bool, typer.Option(help="Add the key, on a page of its own.")] = True,
    out: Annotated[Path, typer.Option(help="HTML file to write; - prints it.")] = OUT,
) -> None:
    """Self-attention to work out by hand: blanks, questions and a key, as HTML to print.

    Every number of the key follows from the printed ones, rounded as the sheet says.
    """
    if sum((bool(sentence), bool(example), vectors is not None)) != 1:
        raise ArgumentError(
            "worksheet needs one of: a sentence, --example NAME, --vectors FILE; try "
            'regard worksheet "I am good".'
        )
    if word and every_row:
        raise ArgumentError("worksheet needs --word or --all, but both came: choose one.")
    if str(out) != "-":
        check_output_file("--out", out, (".html", ".htm"))
    sentence, word = text_argument("sentence", sentence), text_argument("--word", word)
    if vectors is not None:
        steps, note = _from_file(vectors), ""
    elif example:
        steps, note = _example(example), ""
    elif layer is not None or head is not None:
        steps, note = _of_model(sentence, layer, head), OF_MODEL.format(layer=layer, head=head)
    else:
        from regard.view.worksheet.worksheet import by_hand

        steps, note = by_hand(sentence, width, seed), INVENTED
    row = word or WORKED_OUT.get(example) or None
    _write(steps.worksheet(row, every_row=every_row, note=note), out, answers)


def _write(sheet: Worksheet, out: Path, answers: bool) -> None:
    if str(out) == "-":
        # As bytes: the page declares UTF-8, whatever the terminal takes.
        write_standard_output(sheet.html(answers=answers))
        return
    sheet.save(out, answers=answers)
    key = "with its key" if answers else "without the key"
    show(f"Wrote {out}: {len(sheet.blanks)} blanks, {key}. Open it in a browser and print it.")


def _example(name: str) -> Steps:
    from regard.textbook.examples import EXAMPLES, run_example

    if name not in EXAMPLES:
        raise ArgumentError(f"example needs one of {', '.join(EXAMPLES)}, but it is {name!r}.")
    return run_example(name).steps


def _of_model(sentence: str, layer: int | None, head: int | None) -> Steps:
    from regard.transformer.reader import read

    if layer is None or head is None:
        raise ArgumentError("worksheet needs --layer and --head together, but one is missing.")
    return read(sentence).steps(layer, head)


def _from_file(path: Path) -> Steps:
    from regard.text.sheet import load_sheet

    sheet = load_sheet(path)
    return self_attention(
        sheet.x, sheet.w_query, sheet.w_key, sheet.w_value, words=sheet.words, heads=sheet.heads,
        w_output=sheet.w_output, causal=sheet.causal, mask=sheet.mask,
    )  # fmt: skip
