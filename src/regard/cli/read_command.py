"""regard "A sentence": the attention of the shipped model while it translates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.argument_checks import text_argument
from regard.cli.experiment_options import (
    AblateOption,
    BecauseOption,
    CompareOption,
    EffectsOption,
    ExperimentOptions,
    HeadNumber,
    KnockOutOption,
    RedirectOption,
    show_experiment,
)
from regard.cli.output import notice, show_json, show_text
from regard.errors import ArgumentError

HeadOption = Annotated[str | None, typer.Option(help="Head of that layer, or both, as in 3.6.")]
WeightedOption = Annotated[
    str | None, typer.Option(help="norm: weights times the length of what they carry.")
]

if TYPE_CHECKING:
    from regard.transformer.reading import Reading


def read_sentence(
    sentence: Annotated[str, typer.Argument(help="An English sentence in quotes.")],
    *,
    layer: Annotated[int | None, typer.Option(help="Layer to show.")] = None,
    head: HeadOption = None,
    word: Annotated[
        str | None, typer.Option("--from", help="Word whose attention to show.")
    ] = None,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Show sub-words instead of words.")
    ] = False,
    weighted: WeightedOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    save: Annotated[
        Path | None,
        typer.Option(help="File to save: .svg .pdf .html .json .csv; .png needs matplotlib."),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Picture: lines, heatmap or card.")] = None,
    model: Annotated[Path | None, typer.Option(help="Folder of another model.")] = None,
    redirect: RedirectOption = None,
    knock_out: KnockOutOption = None,
    ablate: AblateOption = None,
    compare: CompareOption = None,
    because: BecauseOption = None,
    effects: EffectsOption = None,
) -> None:
    """Translate a sentence and show what one head attends to, the most unusual by default.

    Layers and heads count from 0. Write the#2 for the second 'the'. The last six options change
    something and read again, or say why: regard "A dog ate the food because it was hungry"
    --redirect it:food --head 5.6
    """
    from regard.transformer.checkpoint import load_model
    from regard.transformer.reading import read

    _check_save(save, kind)
    options = ExperimentOptions(redirect, knock_out or (), ablate or (), compare, because, effects)
    options.check()
    at = (HeadNumber() if head is None else HeadNumber.parse("--head", head)).with_layer(layer)
    sentence = text_argument("sentence", sentence)
    word = None if word is None else text_argument("--from", word)
    reading = read(sentence, model=load_model(model))
    by = "tokens" if tokens else "words"
    if options.asked:
        result = options.result(reading, at)
        show_experiment(result, at, json=json, save=save, kind=kind, by=by)
        return
    if save is not None:
        picture = reading.picture(
            at.layer, at.head, part=at.part, word=word, by=by, kind=kind, weighted=weighted
        )
        picture.save(save)
        report = notice if json else show_text
        report(f"{picture.title}. {picture.caption} Saved as {save}.")
    if json:
        show_json(reading.to_dict(by, weighted))
    if not json and save is None:
        _show_page(reading, word, at, by, weighted)


def _show_page(
    reading: Reading, word: str | None, at: HeadNumber, by: str, weighted: str | None
) -> None:
    from regard.view.terminal.reading_text import Selection, page
    from regard.view.terminal.style import terminal_style

    if at.part != "encoder":
        raise ArgumentError(
            f"the page needs a head of the encoder, but --head names one of {at.part!r}: add "
            "--save FILE for its picture."
        )
    selection = Selection(word, at.layer, at.head, by, weighted)
    print(page(reading, selection, terminal_style()))


def _check_save(save: Path | None, kind: str | None) -> None:
    """Refuse a file that cannot be saved before anything is computed."""
    if save is None:
        if kind is not None:
            raise ArgumentError(f"--kind {kind} needs --save FILE: it says how to draw the file.")
        return
    from regard.view.figure.figure import check_kind, check_savable

    check_kind(kind or "lines")
    check_savable(save)
