"""Experiment: a reading, the same sentence run again with something changed, and the difference."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.display import NotebookDisplay, render
from regard.errors import ArgumentError
from regard.experiments.changes import Change, KnockOut
from regard.experiments.outcome import (
    Parting,
    WordProbability,
    differing,
    parting,
    word_probabilities,
)
from regard.heads.links import single_word
from regard.transformer.changeable import Changeable
from regard.transformer.intervention import in_turn
from regard.transformer.reader import read, read_changed
from regard.transformer.reading import Reading
from regard.transformer.roles import PARTS
from regard.transformer.translation import readable
from regard.typing import Array

if TYPE_CHECKING:
    from regard.view.figure.picture import Picture

CAUTION = (
    "A real second run in which nothing else was changed. No change in the translation does not "
    "prove that the part is unused: other heads can make up for it."
)


@dataclass(frozen=True, repr=False)
class Experiment(Changeable, NotebookDisplay):
    """A reading before, and after one or more changes; the second run is made when it is needed.

    ``plain`` is the reading of the sentence as it is after words were replaced, with nothing else
    changed: words are looked up in it.
    """

    before: Reading
    plain: Reading
    changes: tuple[Change, ...] = ()
    rewritten: tuple[str, ...] = field(default=())

    @property
    def changed(self) -> tuple[str, ...]:
        """The changes in words, a phrase each."""
        return (*self.rewritten, *(change.describe(self.plain) for change in self.changes))

    @cached_property
    def after(self) -> Reading:
        """The reading after the changes: its translation, and its weights everywhere."""
        ordered = sorted(self.changes, key=lambda change: change.order)
        intervention = in_turn([change.on(self.plain) for change in ordered])
        if intervention is None:
            return self.plain
        parts = {part for change in ordered for part in change.heads(self.plain).parts}
        after = read_changed(self.plain, intervention, encoder_only=parts == {"encoder"})
        note = f"Changed by hand: {'; '.join(self.changed)}. Steps show what a head would do itself"
        return replace(after, notes=(*after.notes, f"{note}."))

    @cached_property
    def same(self) -> bool:
        """Whether the translation stayed as it was."""
        return self.before.translated.tokens == self.after.translated.tokens

    @cached_property
    def differing(self) -> tuple[list[int], list[int]]:
        """Positions of the words of both translations that differ."""
        return differing(self.before.translation_words, self.after.translation_words)

    @cached_property
    def parting(self) -> Parting:
        """First word in which the translations differ, and the probabilities there."""
        return parting(self.before, self.after)

    @cached_property
    def probabilities(self) -> tuple[WordProbability, ...]:
        """Every word of the translation before, with its probability in both runs."""
        return word_probabilities(self.before, self.after)

    def weights(self, part: str = "encoder", **options: Any) -> Array:
        """Weights after the changes, as ``Reading.weights`` gives them."""
        return self.after.weights(part, **options)

    def difference(self, part: str = "encoder", **options: Any) -> Array:
        """Weights after the changes minus those before; both texts need as many words."""
        before, after = (x.weights(part, **options) for x in (self.before, self.after))
        if before.shape != after.shape:
            raise ArgumentError(
                "a difference of weights needs as many words in both runs, but there are "
                f"{before.shape[-2]} x {before.shape[-1]} and "
                f"{after.shape[-2]} x {after.shape[-1]}: compare .before.weights and "
                ".after.weights."
            )
        return after - before

    def with_change(self, change: Change) -> Experiment:
        """One change more; says at once what is wrong with it."""
        changed = replace(self, changes=(*self.changes, change))
        change.on(self.plain)
        _check_visible(changed)
        return changed

    def with_word(self, word: str | int, by: str) -> Experiment:
        """One word of the sentence replaced."""
        words, text = self.plain.words, readable(self.plain.sentence)
        number = single_word(words, word)
        if number == len(words) - 1:
            raise ArgumentError("(end) needs to stay: replace a word of the sentence.")
        start = 0
        for earlier in words[:number]:
            start = text.index(earlier, start) + len(earlier)
        start = text.index(words[number], start)
        sentence = text[:start] + by + text[start + len(words[number]) :]
        return self.with_sentence(sentence, f"{words[number]} replaced by {by or 'nothing'}")

    def with_sentence(self, sentence: str, description: str) -> Experiment:
        """Another sentence, to which the changes made before are applied too."""
        plain = self.other_reading(sentence)
        changed = replace(self, plain=plain, rewritten=(*self.rewritten, description))
        for change in self.changes:
            change.on(plain)
        return changed

    def other_reading(self, other: Reading | str) -> Reading:
        """Another sentence as a reading of the same model."""
        if isinstance(other, Reading):
            if other.model is not self.plain.model:
                raise ArgumentError("the other reading needs the same model, but it has another.")
            return other
        return read(other, model=self.plain.model, beams=self.plain.beams)

    def picture(self, layer: int | None = None, head: int | None = None, **options: Any) -> Picture:
        """One head after the changes, the changed one where none is named, to look at and save.

        ``what`` is 'after' or 'difference'; ``part``, ``word``, ``kind`` and ``by`` as in a
        reading's picture.
        """
        picture: Picture = render("picture", self, layer, head, options)
        return picture

    def to_dict(self, by: str = "words") -> dict[str, Any]:
        """The experiment as JSON values; ``weights`` are those after the changes."""
        return {
            "sentence": self.before.sentence,
            "sentence_after": self.after.sentence,
            "changed": list(self.changed),
            "changes": [change.to_dict() for change in self.changes],
            "translation": self.before.translation,
            "translation_after": self.after.translation,
            "words": list(self.after.words),
            "translation_words": list(self.before.translation_words),
            "translation_words_after": list(self.after.translation_words),
            "differing": list(self.differing[0]),
            "differing_after": list(self.differing[1]),
            "prefix": list(self.parting.prefix),
            "candidates": [vars(x) for x in self.parting.candidates],
            "probabilities": [vars(x) for x in self.probabilities],
            "by": by,
            "weights": {part: self.weights(part, by=by).tolist() for part in PARTS},
            "counting": "layers and heads count from 0",
            "caution": CAUTION,
        }

    def __repr__(self) -> str:
        return f"Experiment({'; '.join(self.changed) or 'nothing is changed'})"

    def _experiment(self) -> Experiment:
        return self


def _check_visible(experiment: Experiment) -> None:
    """Raise where the knock-outs together leave some head without any key to look at."""
    reading, config = experiment.plain, experiment.plain.model.config
    hidden = {
        part: np.zeros((config.layers, config.heads, len(reading.texts(part)[1].tokens)), bool)
        for part in PARTS
    }
    for change in experiment.changes:
        if isinstance(change, KnockOut):
            tokens = change.hidden(reading)[1]
            for part in change.parts:
                mask_lh = change.heads(reading).mask_lh(part, config)
                hidden[part][
                    mask_lh[:, :, None] & np.isin(np.arange(hidden[part].shape[2]), tokens)
                ] = True
    for part, hidden_lhk in hidden.items():
        # The first position of the decoder sees (start) alone.
        seen = hidden_lhk[:, :, :1] if part == "decoder" else hidden_lhk
        if seen.all(axis=-1).any():
            first = reading.texts(part)[1].words[0]
            what = (
                f"{first}, all that its first position sees" if part == "decoder" else "every word"
            )
            raise ArgumentError(
                f"knock_out needs to leave a word to look at, but it hides {what} from a head of "
                f"the {part}: knock out fewer words, or say some layers and heads."
            )
