"""regard "A sentence": the attention of the shipped model while it translates."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.io import HeadNumber, notice, sentence_argument, show_json, show_text, text_argument
from regard.errors import ArgumentError

# Neither typer nor NumPy is imported here: `regard "A sentence"` takes a quarter of a second, and
# each would add to it (typer) or fix the number of BLAS threads too early (NumPy).
if TYPE_CHECKING:
    from regard.experiments.because import ScoreDecomposition
    from regard.experiments.effects import Effects
    from regard.experiments.experiment import Experiment
    from regard.transformer.reading import Reading


def read(
    sentence: str,
    *,
    layer: int | None = None,
    head: str | None = None,
    word: str | None = None,
    tokens: bool = False,
    weighted: str | None = None,
    json: bool = False,
    save: Path | None = None,
    kind: str | None = None,
    model: Path | None = None,
    redirect: str | None = None,
    knock_out: list[str] | None = None,
    ablate: list[str] | None = None,
    compare: str | None = None,
    because: str | None = None,
    effects: str | None = None,
) -> None:
    """Translate a sentence and show what one head attends to, the most unusual by default.

    Layers and heads count from 0. Write the#2 for the second 'the'. An experiment changes something
    and reads the sentence again: regard "A dog ate the food because it was hungry" --redirect
    it:food --head 5.6
    """
    _check_save(save, kind)
    options = ExperimentOptions(redirect, knock_out or (), ablate or (), compare, because, effects)
    options.check()
    at = (HeadNumber() if head is None else HeadNumber.parse("--head", head)).with_layer(layer)
    sentence = sentence_argument(sentence)
    word = None if word is None else text_argument("--from", word)
    by = "tokens" if tokens else "words"
    if not options.asked:
        _prepare_short_process()
    reading = _reading(sentence, model)
    if options.asked:
        result = options.result(reading, at)
        show_experiment(result, at, json=json, save=save, kind=kind, by=by)
        return
    if save is not None:
        picture = reading.picture(
            at.layer, at.head, part=_part(at), word=word, by=by, kind=kind, weighted=weighted
        )
        picture.save(save)
        report = notice if json else show_text
        report(f"{picture.title}. {picture.caption} Saved as {save}.")
    if json:
        show_json(reading.to_dict(by, weighted))
    if not json and save is None:
        _show_page(reading, word, at, by, weighted)


def command() -> Callable[..., None]:
    """The typer command of ``read``, with the help of its options."""
    import typer

    from regard.cli.app import with_options

    def option(section: str, *names: str, help: str) -> Any:
        return typer.Option(*names, help=help, rich_help_panel=section)

    shown, output, experiment = "Options", "Output", "Experiments"
    return with_options(
        read,
        sentence=typer.Argument(help="An English sentence in quotes; - reads the standard input."),
        layer=option(shown, help="Layer to show."),
        head=option(shown, help="Head to show: 3.6 is layer 3, head 6; or 6 with --layer 3."),
        word=option(shown, "--from", help="Word whose attention to show."),
        tokens=option(shown, "--tokens", help="Show sub-words instead of words."),
        weighted=option(shown, help="norm: each weight times the norm of the vector it carries."),
        model=option(shown, help="Folder of another model."),
        json=option(output, "--json", help="Print everything as JSON."),
        save=option(output, help="Save as .svg, .html, .json, .csv or (matplotlib) .png, .pdf."),
        kind=option(output, help="Kind of picture to save: lines, heatmap or card."),
        redirect=option(
            experiment, help="Move a word's attention to another, as it:food; in --head or in all."
        ),
        knock_out=option(experiment, help="Hide a word from every head; repeatable."),
        ablate=option(experiment, help="Zero a head's output, as 3.6 or cross.3.6; repeatable."),
        compare=option(experiment, help="Compare with another sentence."),
        because=option(
            experiment, help="Explain a score, as it:dog, or one minus another, as it:dog:food."
        ),
        effects=option(experiment, help="Effect of every head on a French word, or on two: a:b."),
    )


def _prepare_short_process() -> None:
    """Save time where this process starts, reads one sentence, and ends."""
    if "numpy" not in sys.modules:
        # In a fifth of a second no garbage is worth a collection, and the threads of NumPy's BLAS,
        # which wait for work in a loop, are never used.
        gc.disable()
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _reading(sentence: str, model: Path | None) -> Reading:
    from regard.transformer.checkpoint import load_model
    from regard.transformer.reading import read as read_sentence

    return read_sentence(sentence, model=load_model(model))


def _show_page(
    reading: Reading, word: str | None, at: HeadNumber, by: str, weighted: str | None
) -> None:
    from regard.view.terminal.reading import Selection, page
    from regard.view.terminal.style import terminal_style

    if _part(at) != "encoder":
        raise ArgumentError(
            f"--head must be in the encoder for a page of text, got {at.part!r}: add --save FILE "
            "for a picture."
        )
    selection = Selection(word, at.layer, at.head, by, weighted)
    print(page(reading, selection, terminal_style()))


def _check_save(save: Path | None, kind: str | None) -> None:
    """Refuse a file that cannot be saved before anything is computed."""
    if save is None:
        if kind is not None:
            raise ArgumentError(f"--kind {kind} applies to a saved picture: add --save FILE.")
        return
    from regard.view.figure.picture import check_kind, check_savable

    check_kind(kind or "lines")
    check_savable(save)


@dataclass(frozen=True)
class ExperimentOptions:
    """Options that change something and read again, or ask why."""

    redirect: str | None = None
    knock_out: Sequence[str] = ()
    ablate: Sequence[str] = ()
    compare: str | None = None
    because: str | None = None
    effects: str | None = None

    @property
    def changes(self) -> bool:
        return any((self.redirect, self.knock_out, self.ablate, self.compare))

    @property
    def asked(self) -> bool:
        return self.changes or bool(self.because or self.effects)

    def check(self) -> None:
        """Raise where an option is empty, or where two of them exclude each other."""
        for name in ("redirect", "compare", "because", "effects"):
            text = getattr(self, name)
            if text is not None and not text.strip():
                raise ArgumentError(f"--{name} must not be empty.")
        if self.because and self.effects:
            raise ArgumentError("--because and --effects cannot be combined: run one at a time.")

    def result(self, reading: Reading, at: HeadNumber) -> Experiment | Effects | ScoreDecomposition:
        """Run the experiment; --because and --effects are about the changed reading."""
        experiment = self._experiment(reading, at)
        after = reading if experiment is None else experiment.after
        if self.because:
            return _decomposition(after, self.because, at)
        if self.effects:
            word, _, against = text_argument("--effects", self.effects).partition(":")
            return after.effects(_word(after.translation_words, word), against or None)
        if experiment is None:
            raise ArgumentError("an experiment needs something to change.")
        return experiment

    def _experiment(self, reading: Reading, at: HeadNumber) -> Experiment | None:
        if not self.changes:
            return None
        experiment = reading.experiment
        if self.compare is not None:
            experiment = experiment.replace_sentence(text_argument("--compare", self.compare))
        words = experiment.plain.words
        if self.knock_out:
            hidden = [text_argument("--knock-out", word) for word in self.knock_out]
            experiment = experiment.knock_out(*(_word(words, word) for word in hidden))
        for text in self.ablate:
            layer, head, part = HeadNumber.parse_with_layer("--ablate", text)
            experiment = experiment.ablate(layer, head, part=part or "encoder")
        if self.redirect is not None:
            word, to = _pair("--redirect", self.redirect)
            queries, keys = (x.words for x in experiment.plain.texts(_part(at)))
            experiment = experiment.redirect(
                _word(queries, word), _word(keys, to), at.layer, at.head, part=_part(at)
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
        _save_experiment(result, at, save, kind, by, quiet=json)
    if json:
        show_json(result.to_dict())
    elif save is None:
        from regard.view.terminal.experiment_text import page_of
        from regard.view.terminal.style import terminal_style

        print(page_of(result, terminal_style()))


def _save_experiment(
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
        part = {} if at.head is None else {"part": _part(at)}
        picture = result.picture(at.layer, at.head, kind=kind, by=by, **part)
    elif isinstance(result, Effects):
        picture = result.picture()
    else:
        raise ArgumentError("--because has no picture: leave out --save, or use --json.")
    picture.save(save)
    report = notice if quiet else show_text
    report(f"{picture.title}. {picture.caption} Saved as {save}.")


def _decomposition(reading: Reading, text: str, at: HeadNumber) -> ScoreDecomposition:
    """In the head that was named, or in the one with the largest weight."""
    word, others = _pair("--because", text)
    other, _, third = others.partition(":")
    queries, keys = (x.words for x in reading.texts(_part(at)))
    query, key = _word(queries, word), _word(keys, other)
    against = _word(keys, third) if third else None
    if at.layer is not None and at.head is not None:
        return reading.because(query, key, at.layer, at.head, part=_part(at), against=against)
    if at.head is not None:
        raise ArgumentError(f"--head {at.head} needs its layer: write --head 3.{at.head}.")
    links = [x for x in reading.find(query, key, part=_part(at)) if at.layer in (None, x.layer)]
    if not links:
        last = reading.model.config.layers - 1
        raise ArgumentError(f"layer must be 0-{last}, got {at.layer}.")
    best = links[0]
    return reading.because(query, key, best.layer, best.head, part=_part(at), against=against)


def _part(at: HeadNumber) -> str:
    return at.part or "encoder"


def _pair(option: str, text: str) -> tuple[str, str]:
    one, colon, other = text_argument(option, text).partition(":")
    if not colon or not one.strip() or not other.strip():
        raise ArgumentError(f"{option} must be two words such as it:food, got {text!r}.")
    return one.strip(), other.strip()


def _word(words: Sequence[str], word: str) -> str | int:
    """A number is the position of a word, unless the sentence has it as a word."""
    return int(word) if word.isdecimal() and word not in words else word
