"""Options of `regard "A sentence"` that change something and read again, or ask why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.argument_checks import text_argument
from regard.cli.output import notice, show_json, show_text
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
class HeadNumber:
    """A head as it is written on the command line: part, layer and head, where given."""

    part: str = "encoder"
    layer: int | None = None
    head: int | None = None

    @classmethod
    def parse(cls, option: str, text: str) -> HeadNumber:
        """'3.6', 'cross.3.6', or the number of a head alone.

        >>> HeadNumber.parse("--head", "cross.3.6")
        HeadNumber(part='cross', layer=3, head=6)
        """
        *front, last = text.strip().split(".")
        part = front.pop(0) if front and not front[0].isdecimal() else "encoder"
        numbers = [*front, last]
        if not all(x.isdecimal() for x in numbers) or len(numbers) > 2:
            raise ArgumentError(
                f"{option} needs a layer and a head, as in 3.6 or cross.3.6, but it is {text!r}."
            )
        layer = int(numbers[0]) if len(numbers) == 2 else None
        return cls(part, layer, int(numbers[-1]))

    def with_layer(self, layer: int | None) -> HeadNumber:
        """The head of --layer; both must not say something different."""
        if layer is None:
            return self
        if self.layer not in (None, layer):
            raise ArgumentError(
                f"--layer {layer} and --head {self.layer}.{self.head} need to name the same layer."
            )
        return HeadNumber(self.part, layer, self.head)


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
        experiment = reading.experiment
        if self.compare is not None:
            experiment = experiment.replace_sentence(text_argument("--compare", self.compare))
        words = experiment.plain.words
        if self.knock_out:
            hidden = [text_argument("--knock-out", word) for word in self.knock_out]
            experiment = experiment.knock_out(*(_word(words, word) for word in hidden))
        for text in self.ablate:
            head = HeadNumber.parse("--ablate", text)
            if head.layer is None:
                raise ArgumentError(f"--ablate needs a layer and a head, but it is {text!r}.")
            experiment = experiment.ablate(head.layer, head.head, part=head.part)
        if self.redirect is not None:
            word, to = _pair("--redirect", self.redirect)
            queries, keys = (x.words for x in experiment.plain.texts(at.part))
            experiment = experiment.redirect(
                _word(queries, word), _word(keys, to), at.layer, at.head, part=at.part
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
        part = None if at.head is None else at.part
        picture = result.picture(at.layer, at.head, part=part, kind=kind, by=by)
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
        return reading.because(query, key, at.layer, at.head, part=at.part, against=against)
    if at.head is not None:
        raise ArgumentError("head needs a layer: say which layer's head it is.")
    links = [x for x in reading.find(query, key, part=at.part) if at.layer in (None, x.layer)]
    if not links:
        raise ArgumentError(f"layer {at.layer} needs to be a layer of the model, but it is none.")
    layer, head = links[0].layer, links[0].head
    return reading.because(query, key, layer, head, part=at.part, against=against)


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
