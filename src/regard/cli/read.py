"""regard "A sentence": the attention of the shipped model while it translates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.io import HeadNumber, notice, show_json, show_text, text_argument
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.experiments.because import ScoreDecomposition
    from regard.experiments.effects import Effects
    from regard.experiments.experiment import Experiment
    from regard.transformer.reading import Reading


EXAMPLE = "it:food"

RedirectOption = Annotated[
    str | None,
    typer.Option(help="Put a word's row on another word, WORD:WORD, in --head 3.6 or in all."),
]

KnockOutOption = Annotated[
    list[str] | None, typer.Option(help="Word that no head may look at; may be repeated.")
]

AblateOption = Annotated[
    list[str] | None,
    typer.Option(help="Head that writes nothing, as 3.6 or cross.3.6; may be repeated."),
]

CompareOption = Annotated[str | None, typer.Option(help="Another sentence to compare with.")]

BecauseOption = Annotated[
    str | None,
    typer.Option(help="Why a head scores a word on another, WORD:WORD, or on a third less, :WORD."),
]

EffectsOption = Annotated[
    str | None,
    typer.Option(help="Effect of every head on a French word, WORD or WORD:WORD."),
]


@dataclass(frozen=True)
class ExperimentOptions:
    """The options that were given; ``asked`` is False where there are none."""

    redirect: str | None = None
    knock_out: Sequence[str] = ()
    ablate: Sequence[str] = ()
    compare: str | None = None
    because: str | None = None
    effects: str | None = None

    @property
    def changes(self) -> bool:
        """Whether something is to be changed."""
        return any((self.redirect, self.knock_out, self.ablate, self.compare))

    @property
    def asked(self) -> bool:
        """Whether anything else than the plain reading was asked for."""
        return self.changes or bool(self.because or self.effects)

    def check(self) -> None:
        """Raise where one is empty, or where two of them cannot be answered at once."""
        for name in ("redirect", "compare", "because", "effects"):
            text = getattr(self, name)
            if text is not None and not text.strip():
                raise ArgumentError(f"--{name} needs words in quotes, but what came is empty.")
        if self.because and self.effects:
            raise ArgumentError("--because and --effects need a call each: they print two pages.")

    def result(self, reading: Reading, at: HeadNumber) -> Experiment | Effects | ScoreDecomposition:
        """Run what was asked for."""
        experiment = self._experiment(reading, at)
        after = reading if experiment is None else experiment.after
        if self.because:
            return _decomposition(after, self.because, at)
        if self.effects:
            of, _, against = text_argument("--effects", self.effects).partition(":")
            return after.effects(_word(after.translation_words, of), against or None)
        if experiment is None:
            raise ArgumentError("an experiment needs something to change.")
        return experiment

    def _experiment(self, reading: Reading, at: HeadNumber) -> Experiment | None:
        if not self.changes:
            return None
        experiment = reading._experiment()
        if self.compare is not None:
            experiment = experiment.compare(text_argument("--compare", self.compare))
        words = experiment.plain.words
        if self.knock_out:
            hidden = [text_argument("--knock-out", word) for word in self.knock_out]
            experiment = experiment.knock_out(*(_word(words, word) for word in hidden))
        for text in self.ablate:
            head = HeadNumber.parse("--ablate", text)
            if head.layer is None:
                raise ArgumentError(f"--ablate needs a layer and a head, but it is {text!r}.")
            experiment = experiment.ablate(head.layer, head.head, head.part)
        if self.redirect is not None:
            word, to = _pair("--redirect", self.redirect)
            queries, keys = (x.words for x in experiment.plain.texts(at.part))
            experiment = experiment.redirect(
                _word(queries, word), _word(keys, to), at.layer, at.head, at.part
            )
        return experiment


def show_experiment(
    result: Experiment | Effects | ScoreDecomposition,
    at: HeadNumber,
    *,
    json: bool,
    save: Path | None,
    kind: str | None,
    by: str,
) -> None:
    """Print the result for people or as JSON, and save its picture."""
    if save is not None:
        _save(result, at, save, kind, by, quiet=json)
    if json:
        show_json(result.to_dict())
    elif save is None:
        from regard.view.terminal.experiment_text import page_of
        from regard.view.terminal.style import terminal_style

        print(page_of(result, terminal_style()))


def _save(
    result: Experiment | Effects | ScoreDecomposition,
    at: HeadNumber,
    save: Path,
    kind: str | None,
    by: str,
    *,
    quiet: bool,
) -> None:
    from regard.experiments.effects import Effects
    from regard.experiments.experiment import Experiment

    if isinstance(result, Experiment):
        part = {} if at.head is None else {"part": at.part}
        picture = result.picture(at.layer, at.head, kind=kind, by=by, **part)
    elif isinstance(result, Effects):
        picture = result.picture()
    else:
        raise ArgumentError("--because has no picture: leave --save out, or take --json.")
    picture.save(save)
    report = notice if quiet else show_text
    report(f"{picture.title}. {picture.caption} Saved as {save}.")


def _decomposition(reading: Reading, text: str, at: HeadNumber) -> ScoreDecomposition:
    """In the head that was named, or in the one with the largest weight."""
    word, others = _pair("--because", text)
    other, _, third = others.partition(":")
    queries, keys = (x.words for x in reading.texts(at.part))
    query, key = _word(queries, word), _word(keys, other)
    against = _word(keys, third) if third else None
    if at.layer is not None and at.head is not None:
        return reading.because(query, key, at.layer, at.head, at.part, against=against)
    if at.head is not None:
        raise ArgumentError("head needs a layer: say which layer's head it is.")
    links = [x for x in reading.find(query, key, at.part) if at.layer in (None, x.layer)]
    if not links:
        raise ArgumentError(f"layer {at.layer} needs to be a layer of the model, but it is none.")
    return reading.because(query, key, links[0].layer, links[0].head, at.part, against=against)


def _pair(option: str, text: str) -> tuple[str, str]:
    one, colon, other = text_argument(option, text).partition(":")
    if not colon or not one.strip() or not other.strip():
        raise ArgumentError(
            f"{option} needs two words with a colon between them, as in {EXAMPLE}, but it is "
            f"{text!r}."
        )
    return one.strip(), other.strip()


def _word(words: Sequence[str], word: str) -> str | int:
    """A number is the position of a word, unless the sentence has it as a word."""
    return int(word) if word.isdecimal() and word not in words else word


HeadOption = Annotated[str | None, typer.Option(help="Head of that layer, or both, as in 3.6.")]

WeightedOption = Annotated[
    str | None, typer.Option(help="norm: weights times the length of what they carry.")
]


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
    from regard.transformer.reader import read

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
    from regard.view.terminal.reading import Selection, page
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
    from regard.view.figure.picture import check_kind, check_savable

    check_kind(kind or "lines")
    check_savable(save)
