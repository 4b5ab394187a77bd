"""The experiments that a reading offers, and that an experiment offers again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.errors import ArgumentError
from regard.transformer.translation import readable

if TYPE_CHECKING:
    from regard.experiments.experiment import Experiment
    from regard.transformer.reading import Reading

Numbers = int | Sequence[int] | None


class Changeable:
    """Mix-in of what can be run again with something changed: a reading, or an experiment on it.

    Every method gives an Experiment, on which they can be called again: changes add up. A word is
    given as it is written, as 'the#2' where it is there twice, or by its number from 0. ``layer``
    and ``head`` are numbers from 0, lists of them, or None for all.
    """

    def knock_out(
        self,
        *words: str | int,
        part: str | None = None,
        layer: Numbers = None,
        head: Numbers = None,
    ) -> Experiment:
        """Hide words as keys: no head may look at them, or not those of some layers.

        Parameters
        ----------
        *words : str or int
            Words of the sentence; with part='decoder' words of the translation.
        part : str, optional
            'encoder', 'cross' or 'decoder'. The encoder and cross-attention where nothing else is
            given; the encoder where a layer or a head is.
        layer, head : int or sequence of int, optional
            All where not given.
        """
        from regard.experiments.changes import KnockOut

        both = part is None and layer is None and head is None
        parts = ("encoder", "cross") if both else (part or "encoder",)
        return self._experiment().with_change(KnockOut(words, parts, layer, head))

    def ablate(
        self,
        layer: Numbers = None,
        head: Numbers = None,
        part: str = "encoder",
        *,
        to: str = "zero",
        over: Sequence[str] = (),
    ) -> Experiment:
        """Take away what heads write: zero, or their mean over other sentences.

        Parameters
        ----------
        layer, head : int or sequence of int, optional
            All where not given.
        part : str
            'encoder', 'decoder' or 'cross'.
        to : str
            'zero', or 'mean': the mean output of the head over all words of ``over``.
        over : sequence of str
            Sentences to take the mean over; a few dozen of everyday English where none are given.
        """
        from regard.experiments.changes import Ablate

        return self._experiment().with_change(Ablate(layer, head, part, to, tuple(over)))

    def redirect(
        self,
        word: str | int,
        to: str | int,
        layer: Numbers = None,
        head: Numbers = None,
        part: str = "encoder",
        *,
        weight: float = 1.0,
    ) -> Experiment:
        """Put the row of one word on another word, in one head or in several.

        Parameters
        ----------
        word, to : str or int
            The word that looks and the one to be looked at.
        layer, head : int or sequence of int, optional
            All where not given.
        part : str
            'encoder', 'decoder' or 'cross'; the last two act at the position that the French word
            has in the translation before the change.
        weight : float
            The weight on ``to``, from 0 to 1; the other weights of the row are scaled to the rest.
        """
        from regard.experiments.changes import Redirect

        return self._experiment().with_change(Redirect(word, to, layer, head, part, weight))

    def patch(
        self,
        other: Reading | str,
        layer: Numbers = None,
        head: Numbers = None,
        part: str = "encoder",
        *,
        word: str | int | None = None,
    ) -> Experiment:
        """Let heads write what they wrote in another sentence.

        Parameters
        ----------
        other : Reading or str
            The other sentence, with as many tokens as this one unless ``word`` is given.
        layer, head : int or sequence of int, optional
            All where not given.
        part : str
            'encoder', 'decoder' or 'cross'.
        word : str or int, optional
            A word of both sentences: its position alone is patched.
        """
        from regard.experiments.changes import Patch

        experiment = self._experiment()
        change = Patch(experiment.other_reading(other), layer, head, part, word)
        return experiment.with_change(change)

    def replace(self, word: str | int, by: str) -> Experiment:
        """Read the sentence with one word replaced by another, or by several."""
        return self._experiment().with_word(word, by)

    def compare(self, other: str) -> Experiment:
        """Read another sentence in place of this one."""
        experiment = self._experiment()
        if readable(other) == readable(experiment.plain.sentence):
            raise ArgumentError("compare needs another sentence, but it is the same one.")
        return experiment.with_sentence(other, "the sentence is another one")

    def _experiment(self) -> Experiment:
        """The experiment to add to: one in which nothing is changed where this is a reading."""
        raise NotImplementedError
