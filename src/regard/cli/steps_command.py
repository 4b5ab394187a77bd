"""regard steps: a sentence or the reader's own numbers in, every step of self-attention out."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.output import show, show_json
from regard.errors import ArgumentError
from regard.text.sheet import load_sheet
from regard.text.vectors import random_start
from regard.textbook.cells import matrix
from regard.textbook.steps import Steps, self_attention

MEANS_NOTHING = (
    "These vectors and parameters are random (seed {seed}): the mechanism is real, but who looks "
    "at whom means nothing yet. Training is what gives it meaning."
)


def steps(
    sentence: Annotated[str, typer.Argument(help="The sentence, in quotes.")] = "",
    *,
    width: Annotated[int, typer.Option(help="Numbers in each word's vector.")] = 8,
    seed: Annotated[int, typer.Option(help="Another seed, other random numbers.")] = 0,
    heads: Annotated[int, typer.Option(help="Heads that look side by side.", show_default="1")] = 0,
    causal: Annotated[
        bool, typer.Option("--causal", help="Let no word look at what comes after it.")
    ] = False,
    vectors: Annotated[
        Path | None, typer.Option(help="TOML or JSON with your own words, x and matrices.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Everything, unrounded.")] = False,
) -> None:
    """Self-attention on a sentence, every intermediate shown.

    Vectors and parameters are random, or your own with --vectors FILE: words, x, w_query, w_key,
    w_value, and if you like w_output, heads, causal (see examples/robots.toml).
    """
    if bool(sentence) == (vectors is not None):
        raise ArgumentError(
            "steps needs either a sentence or --vectors FILE, but "
            + ("both came." if sentence else 'neither came: try regard steps "The cat sat".')
        )
    if vectors is not None:
        found, note = _from_file(vectors, heads, causal), ""
    else:
        found = _at_random(sentence, width, seed, heads, causal)
        note = MEANS_NOTHING.format(seed=seed)
    if json:
        show_json({**found.as_dict(), "note": note})
        return
    show([found, *_one_row(found), *([note] if note else [])])


def _one_row(found: Steps) -> list[str]:
    """A row in words and a number in full, so that the reader sees how to read the rest."""
    best = int(matrix(found, "weights")[-1].argmax())
    return [found.read(-1), f"One number in full: {found.why('weights', -1, best)}"]


def _at_random(sentence: str, width: int, seed: int, heads: int, causal: bool) -> Steps:
    start = random_start(sentence, width, seed)
    return self_attention(
        start.x,
        start.w_query,
        start.w_key,
        start.w_value,
        words=start.words,
        heads=heads or 1,
        causal=causal,
    )


def _from_file(path: Path, heads: int, causal: bool) -> Steps:
    """What the command line says goes before what the file says."""
    sheet = load_sheet(path)
    return self_attention(
        sheet.x,
        sheet.w_query,
        sheet.w_key,
        sheet.w_value,
        words=sheet.words,
        heads=heads or sheet.heads,
        w_output=sheet.w_output,
        causal=causal or sheet.causal,
    )
