"""Experiment: a run, the same run with something changed, and what differs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.arguments import named_arguments
from regard.display import NotebookDisplay, render
from regard.errors import ArgumentError
from regard.experiments.changes import Change, ChangeableText, HeadOutputs, Replace
from regard.experiments.selection import HeadSelection, Numbers, Word
from regard.typing import Array

if TYPE_CHECKING:
    from regard.view.figure.picture import Picture

CAUTION = (
    "A real second run in which nothing else was changed. No change in the output does not prove "
    "that the part is unused: other heads can make up for it."
)


@dataclass(frozen=True)
class WordProbability:
    """A word or token that may come next, and its probability in both runs.

    ``id`` is the number of the token, or -1 for a word of several tokens.
    """

    word: str
    before: float
    after: float
    id: int = -1

    def to_dict(self) -> dict[str, Any]:
        return {"word": self.word, "before": self.before, "after": self.after}


@dataclass(frozen=True)
class Parting:
    """The first word in which two outputs differ, and the candidates for it.

    ``prefix`` are the words that both begin with. Where the outputs are the same it is the word
    whose probability changed most.
    """

    prefix: tuple[str, ...]
    candidates: tuple[WordProbability, ...]


class ModelAdapter(Protocol):
    """What an experiment needs to know of one kind of model.

    A run is a ``Reading`` of the shipped model, or a ``WatchedRun`` of a torch model.
    """

    @property
    def runs_at_once(self) -> bool:
        """Whether a change is run when it is added, not when its result is first read."""

    def select(
        self, run: Any, part: str | None, layer: Numbers, head: Numbers, *, hides_keys: bool
    ) -> HeadSelection:
        """Heads of the model, with the model's default parts."""

    def mean_outputs(self, run: Any, texts: Sequence[str]) -> Mapping[tuple[str, int], Any]:
        """mean_hd by (part, layer) over all tokens of some texts."""

    def head_outputs(self, run: Any, other: Any) -> HeadOutputs:
        """Outputs of the heads in another run of the same model."""

    @property
    def hides_own_rows(self) -> bool:
        """Whether the tokens of a hidden word cannot look at themselves either."""

    def word_name(self, run: Any, part: str | None, word: Word, *, is_query: bool) -> str:
        """Name of a word, for the description of a change."""

    def weight(
        self, run: Any, part: str, layer: int, head: int, word: Word, to: Word
    ) -> float | None:
        """Weight from one word to another in the run; None where it is not at hand."""

    def check(self, run: Any, changes: Sequence[Change]) -> None:
        """Raise an ArgumentError where changes name what the run does not have."""

    def rerun(self, run: Any, changes: Sequence[Change], changed: Sequence[str]) -> Any:
        """Run the model on the same text, with the changes; ``changed`` describes them."""

    def replaced(self, run: Any, word: str | int | None, by: str) -> tuple[Any, Replace]:
        """Run the model with a word replaced, or without a word on another text."""

    def weights(
        self,
        run: Any,
        layer: int | None,
        head: int | None,
        *,
        part: str | None,
        by: str,
        weighted: str | None,
    ) -> Array:
        """Attention weights of the run."""

    def same(self, before: Any, after: Any) -> bool:
        """Whether the output is the same."""

    def parting(self, before: Any, after: Any) -> Parting:
        """First word in which two runs differ, with the candidates of both for it."""

    def probabilities(self, before: Any, after: Any) -> tuple[WordProbability, ...]:
        """Words of the output before, with their probabilities in both runs."""

    def output_words(self, run: Any) -> tuple[str, ...]:
        """Words that the model wrote."""

    def output_texts(self, run: Any) -> tuple[str, ...]:
        """Text that the model wrote, for each sentence of the batch."""

    def logits(self, run: Any) -> Any:
        """logits_btv of the run."""

    def default_position(self, before: Any, after: Any, sentence: int) -> int | None:
        """The token whose next one is looked at where no position is given; None for the last."""

    def next_probabilities(
        self, run: Any, sentence: int, position: int | None
    ) -> NDArray[np.float64]:
        """probability_v of the token after a position, by default after the last."""

    def token_name(self, run: Any, token: int) -> str:
        """A token as it is written."""

    def to_dict(self, experiment: Experiment, by: str) -> dict[str, Any]:
        """Outputs and probabilities of both runs as JSON values."""


@named_arguments
@dataclass(frozen=True, repr=False)
class Experiment(ChangeableText, NotebookDisplay):
    """A run before, and after one or more changes; the second run is made when it is needed.

    ``before`` and ``after`` are readings of the shipped model, or runs of a watched model with
    ``logits``, ``sequences`` and ``seen``. ``plain`` is the run on the text after words were
    replaced, with nothing else changed: the words of the changes are looked up in it. The methods
    that add a change return another experiment.
    """

    adapter: ModelAdapter = field(repr=False, compare=False)
    before: Any
    plain: Any
    changes: tuple[Change, ...] = ()
    replacements: tuple[Replace, ...] = ()
    finished: Any = field(default=None, repr=False, compare=False)

    @property
    def changed(self) -> tuple[str, ...]:
        """The changes in words, a phrase each."""
        phrases = (change.describe(self.adapter, self.plain) for change in self.changes)
        return (*map(str, self.replacements), *phrases)

    @cached_property
    def after(self) -> Any:
        """The run after the changes."""
        if self.finished is not None:
            return self.finished
        if not self.changes:
            return self.plain
        return self.adapter.rerun(self.plain, self.changes, self.changed)

    @cached_property
    def same(self) -> bool:
        """Whether the output stayed as it was: the translation, or every bit of the logits."""
        return self.adapter.same(self.before, self.after)

    @cached_property
    def differing(self) -> tuple[list[int], list[int]]:
        """Positions of the words of both outputs that differ."""
        words = (self.adapter.output_words(x) for x in (self.before, self.after))
        return differing(*words)

    @cached_property
    def parting(self) -> Parting:
        """First word in which the outputs differ, and the probabilities there."""
        return self.adapter.parting(self.before, self.after)

    @cached_property
    def probabilities(self) -> tuple[WordProbability, ...]:
        """Words of the output before, with their probabilities in both runs."""
        return self.adapter.probabilities(self.before, self.after)

    @property
    def texts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What the model wrote before and after, one text for each sentence of a batch."""
        return self.adapter.output_texts(self.before), self.adapter.output_texts(self.after)

    @property
    def logits(self) -> tuple[Any, Any]:
        """logits_btv before and after."""
        return self.adapter.logits(self.before), self.adapter.logits(self.after)

    def next_tokens(
        self, number: int = 5, *, sentence: int = 0, position: int | None = None
    ) -> tuple[WordProbability, ...]:
        """The likeliest next tokens in either run, with their probabilities in both.

        Parameters
        ----------
        number : how many of each run.
        sentence : sentence of a batch, from 0.
        position : the token whose logits are read, from 0; the last one by default.
        """
        return likeliest_tokens(
            self.adapter, self.before, self.after, number, sentence=sentence, position=position
        )

    def weights(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        part: str | None = None,
        by: str = "words",
        weighted: str | None = None,
    ) -> Array:
        """Weights after the changes, as ``Reading.weights`` gives them."""
        return self.adapter.weights(self.after, layer, head, part=part, by=by, weighted=weighted)

    def difference(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        part: str | None = None,
        by: str = "words",
        weighted: str | None = None,
    ) -> Array:
        """Weights after the changes minus those before; both texts need the same length."""
        before, after = (
            self.adapter.weights(x, layer, head, part=part, by=by, weighted=weighted)
            for x in (self.before, self.after)
        )
        if before.shape != after.shape:
            raise ArgumentError(
                "a difference of weights needs the same number of words in both runs, got "
                f"{before.shape[-2]} x {before.shape[-1]} and "
                f"{after.shape[-2]} x {after.shape[-1]}: compare .before.weights and "
                ".after.weights."
            )
        return after - before

    def picture(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        part: str | None = None,
        what: str = "after",
        kind: str | None = None,
        word: str | int | None = None,
        by: str = "words",
        weighted: str | None = None,
    ) -> Picture:
        """One head after the changes, by default the changed one, to look at and to save.

        ``what`` is 'after' or 'difference'; the other options are those of ``Reading.picture``.
        """
        picture: Picture = render(
            "picture", self, layer, head,
            part=part, what=what, kind=kind, word=word, by=by, weighted=weighted,
        )  # fmt: skip
        return picture

    def to_dict(self, by: str = "words") -> dict[str, Any]:
        """The experiment as JSON values; weights are those after the changes."""
        return {
            "changed": list(self.changed),
            "changes": [change.to_dict() for change in self.changes],
            **self.adapter.to_dict(self, by),
            "counting": "layers and heads count from 0",
            "caution": CAUTION,
        }

    def __repr__(self) -> str:
        return f"Experiment({'; '.join(self.changed) or 'nothing is changed'})"

    @property
    def experiment(self) -> Experiment:
        """The experiment itself: further changes are added to it."""
        return self

    def _add(self, change: Change) -> Experiment:
        """A copy with another change; raises an ArgumentError if it is invalid."""
        changed = replace(self, changes=(*self.changes, change), finished=None)
        self.adapter.check(self.plain, changed.changes)
        if self.adapter.runs_at_once:
            _ = changed.after
        return changed

    def _replaced(self, word: str | int | None, by: str) -> Experiment:
        plain, replacement = self.adapter.replaced(self.plain, word, by)
        self.adapter.check(plain, self.changes)
        replacements = (*self.replacements, replacement)
        return replace(self, plain=plain, replacements=replacements, finished=None)

    def _select(
        self, part: str | None, layer: Numbers, head: Numbers, *, hides_keys: bool = False
    ) -> HeadSelection:
        return self.adapter.select(self.plain, part, layer, head, hides_keys=hides_keys)

    def _mean_outputs(self, texts: Sequence[str]) -> Mapping[tuple[str, int], Any]:
        return self.adapter.mean_outputs(self.plain, texts)

    def _head_outputs(self, other: Any) -> HeadOutputs:
        return self.adapter.head_outputs(self.plain, other)


def likeliest_tokens(
    adapter: ModelAdapter,
    before: Any,
    after: Any,
    number: int = 5,
    *,
    sentence: int = 0,
    position: int | None = None,
) -> tuple[WordProbability, ...]:
    """The likeliest next tokens of either run, with their probabilities in both."""
    if not isinstance(number, int) or number < 1:
        raise ArgumentError(f"number must be a whole number from 1 up, got {number!r}.")
    if position is None:
        position = adapter.default_position(before, after, sentence)
    both_v = [adapter.next_probabilities(run, sentence, position) for run in (before, after)]
    best = [np.argsort(-x, kind="stable")[:number].tolist() for x in both_v]
    chosen = sorted({*best[0], *best[1]}, key=lambda i: -max(x[i] for x in both_v))
    return tuple(
        WordProbability(adapter.token_name(before, i), float(both_v[0][i]), float(both_v[1][i]), i)
        for i in chosen
    )


def differing(words: Sequence[str], others: Sequence[str]) -> tuple[list[int], list[int]]:
    """Positions of the words that differ between two texts, in each of them.

    >>> differing("il avait faim".split(), "elle avait très faim".split())
    ([0], [0, 2])
    """
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    pairs = [x for x in matcher.get_opcodes() if x[0] != "equal"]
    one = [i for _, start, end, _, _ in pairs for i in range(start, end)]
    return one, [i for _, _, _, start, end in pairs for i in range(start, end)]
