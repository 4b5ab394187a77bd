"""regard steps: self-attention on a sentence or on the user's own numbers, step by step."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.io import check_bounds, sentence_argument, show, show_json
from regard.errors import ArgumentError
from regard.text.sheet import Sheet, load_sheet
from regard.text.vectors import random_start, split
from regard.textbook.steps import Steps, self_attention
from regard.textbook.why import matrix

MAX_WIDTH = 4_096  # whose three square matrices take 400 MB
MAX_WEIGHTS = 2**24  # of all heads: each stage of them takes 128 MB
RANDOM_NOTE = (
    "These vectors and parameters are random (seed {seed}): the mechanism is real, but who looks "
    "at whom means nothing yet. Meaning comes from training."
)


def steps(
    sentence: Annotated[
        str, typer.Argument(help="A sentence in quotes; - reads the standard input.")
    ] = "",
    *,
    width: Annotated[int, typer.Option(help="Size of each word's vector.")] = 8,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    heads: Annotated[int | None, typer.Option(help="Number of heads.", show_default="1")] = None,
    causal: Annotated[
        bool, typer.Option("--causal", help="Each word sees only itself and earlier words.")
    ] = False,
    vectors: Annotated[
        Path | None, typer.Option(help="TOML or JSON file with your own words, x and matrices.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print every number as JSON.")] = False,
) -> None:
    """Compute self-attention on a sentence and show every intermediate.

    Vectors and parameters are random, or your own with --vectors FILE: words, x, w_query, w_key,
    w_value, and optionally w_output, heads, causal (see examples/robots.toml).
    """
    if bool(sentence) == (vectors is not None):
        raise ArgumentError(
            "steps takes either a sentence or --vectors FILE, "
            + ("not both." if sentence else 'got neither: try regard steps "The cat sat".')
        )
    check_bounds("--width", width, 1, MAX_WIDTH)
    if heads is not None:
        check_bounds("--heads", heads, 1)
    if vectors is not None:
        computed, note = _file_steps(vectors, heads, causal), ""
    else:
        computed = _random_steps(sentence_argument(sentence), width, seed, heads or 1, causal)
        note = RANDOM_NOTE.format(seed=seed)
    if json:
        show_json({**computed.to_dict(), "note": note})
        return
    show([computed, *_worked_row(computed), *([note] if note else [])])


def _worked_row(computed: Steps) -> list[str]:
    """One row in words and one number in full, as examples of how to read the rest."""
    best = int(matrix(computed, "weights")[-1].argmax())
    return [computed.read(-1), f"One number in full: {computed.why('weights', -1, best)}"]


def _check_words(words: int, heads: int) -> None:
    """Refuse what would take too long and too much memory before anything is computed."""
    most = math.isqrt(MAX_WEIGHTS // heads)
    if words > most:
        of = f" with {heads:,} heads" if heads > 1 else ""
        raise ArgumentError(
            f"steps must have at most {most:,} words{of}, got {words:,}: choose a shorter text."
        )


def _random_steps(sentence: str, width: int, seed: int, heads: int, causal: bool) -> Steps:
    _check_words(len(split(sentence)), heads)
    start = random_start(sentence, width, seed)
    return self_attention(
        start.x,
        start.w_query,
        start.w_key,
        start.w_value,
        words=start.words,
        heads=heads,
        causal=causal,
    )


def _file_steps(path: Path, heads: int | None, causal: bool) -> Steps:
    sheet = load_sheet(path)
    _check_words(len(sheet.words), heads or sheet.heads)
    return sheet_steps(sheet, heads, causal)


def sheet_steps(sheet: Sheet, heads: int | None = None, causal: bool = False) -> Steps:
    """Steps of a sheet; the command line overrides what the file says."""
    return self_attention(
        sheet.x,
        sheet.w_query,
        sheet.w_key,
        sheet.w_value,
        words=sheet.words,
        heads=heads or sheet.heads,
        w_output=sheet.w_output,
        causal=causal or sheet.causal,
        mask=sheet.mask,
    )
