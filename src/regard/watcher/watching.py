"""A block of ``watch``, with the changes that act in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ContextDecorator, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError, BackendError
from regard.experiments.selection import Numbers
from regard.watcher.changes.model_changes import (
    HeadAblation,
    HiddenWords,
    ModelChange,
    RedirectedRow,
    WatchedHeads,
    Words,
    check_weight,
)

if TYPE_CHECKING:
    from types import TracebackType

    from regard.text.link_file import LinkedSentence
    from regard.watcher.measures.link_agreement import LinkAgreement
    from regard.watcher.measures.needle import NeedleReport
    from regard.watcher.seen import Seen

NEEDLE = "The number of the lighthouse is seven nine four to this day."
QUESTION = "What is the number of the lighthouse? The number of the lighthouse is"
ANSWER = "seven nine four"
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
NOT_CHANGEABLE = (
    "cannot be changed while it runs: it does not attend through the attention interface of "
    "transformers, so its heads cannot be told apart before they are mixed. Take a model class of "
    "transformers that does."
)


@dataclass(frozen=True)
class Watching(AbstractContextManager["Seen"], ContextDecorator):
    """The block of ``with regard.watch(model) as seen:``; ``seen`` has what the model attended to.

    ``ablate``, ``knock_out`` and ``redirect`` give another block, inside which the model runs with
    that change; they add up. Nothing of the model is altered: after the block it is as it was.
    """

    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    block: Callable[[], AbstractContextManager[Seen]] = field(repr=False)
    changes: tuple[ModelChange, ...] = ()
    _entered: list[ExitStack] = field(default_factory=list, repr=False, compare=False)

    def ablate(
        self,
        layer: Numbers = None,
        head: Numbers = None,
        *,
        part: str | None = None,
        to: str = "zero",
        over: Sequence[str] | None = None,
    ) -> Watching:
        """Heads whose output is zero, or their mean over other texts; None stands for all.

        Parameters
        ----------
        layer, head : numbers from 0, or lists of them.
        part : 'encoder', 'decoder' or 'cross', where a model has several.
        to, over : 'zero', or 'mean' over all tokens of these texts, our own if None.
        """
        heads = WatchedHeads.of(self._parts(part), layer, head)
        if check_ablation(to) == "zero":
            return self.changed(HeadAblation(heads))
        from regard.watcher.changes.head_outputs import MeanAblation, mean_outputs_of

        return self.changed(MeanAblation(heads, *mean_outputs_of(self, over)))

    def patch(
        self, other: Seen, layer: Numbers = None, head: Numbers = None, *, part: str | None = None
    ) -> Watching:
        """Heads that write what they wrote in another run; None stands for all.

        Texts of as many tokens are patched position by position, others where their tokens align;
        what ``generate`` adds is not patched.

        Parameters
        ----------
        other : the other run, whose text is run once more for its outputs.
        layer, head : numbers from 0, or lists of them.
        part : 'encoder' or 'decoder', where a model has several.
        """
        from regard.watcher.changes.head_outputs import patch_from

        return self.changed(patch_from(other, WatchedHeads.of(self._parts(part), layer, head)))

    def knock_out(
        self, *words: Words, layer: Numbers = None, head: Numbers = None, part: str | None = None
    ) -> Watching:
        """Words that no other token may look at, from some heads or from all.

        Parameters
        ----------
        words : a word (needs the tokenizer; 'the#2' is the second), its number, or (start, stop) in
            tokens of the text that the model begins with. A word's own tokens may still see it.
        layer, head : numbers from 0, or lists of them; None stands for all.
        part : 'encoder' (and cross-attention with it) where a model has an encoder and a decoder.
        """
        if not words:
            raise ArgumentError("knock_out needs at least one word, but none is given.")
        parts = ("encoder", "cross") if part is None and self._two_sided else self._parts(part)
        return self.changed(HiddenWords(WatchedHeads.of(parts, layer, head), words))

    def redirect(
        self,
        word: Words,
        to: Words,
        layer: Numbers = None,
        head: Numbers = None,
        *,
        part: str | None = None,
        weight: float = 1.0,
    ) -> Watching:
        """The row of one word put on another, with a weight; the rest is scaled to what is left."""
        heads = WatchedHeads.of(self._parts(part), layer, head)
        return self.changed(RedirectedRow(heads, word, to, check_weight(weight)))

    def needle(
        self,
        haystack: str = "",
        *,
        needle: str = NEEDLE,
        question: str = QUESTION,
        answer: str = ANSWER,
        depths: Sequence[float] = DEPTHS,
    ) -> NeedleReport:
        """Retrieval heads: a needle at several depths of a long text, and who looks at it.

        Parameters
        ----------
        haystack : the long text; without one, sentences of our own, as many as the model can read.
        needle, question, answer : a sentence, what is asked at the end of the text, and its answer
            as it stands in the needle.
        depths : where the needle stands, from 0 (first) to 1 (last).
        """
        from regard.watcher.measures.needle import NeedleTask, find_retrieval_heads

        task = NeedleTask(haystack, needle, question, answer, tuple(depths))
        return find_retrieval_heads(self, task)

    def links(self, source: str | Path | Sequence[LinkedSentence]) -> LinkAgreement:
        """Agreement of every head with links between words: dependencies, coreference.

        Parameters
        ----------
        source : a file in CoNLL-U, or with '# text = ...' and two words a line; or its sentences.
        """
        from regard.text.link_file import read_links
        from regard.watcher.measures.link_agreement import measure_agreement

        sentences = read_links(source) if isinstance(source, str | Path) else source
        return measure_agreement(self, sentences)

    def changed(self, *changes: ModelChange) -> Watching:
        """The block with further changes."""
        return replace(self, changes=(*self.changes, *changes), _entered=[])

    def __enter__(self) -> Seen:
        with ExitStack() as stack:
            seen = stack.enter_context(self.block())
            if self.changes:
                stack.enter_context(intervened(seen, self))
            self._entered.append(stack.pop_all())
        return seen

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._entered.pop().__exit__(kind, error, trace)

    @property
    def _two_sided(self) -> bool:
        return bool(getattr(getattr(self.model, "config", None), "is_encoder_decoder", False))

    def _parts(self, part: str | None) -> tuple[str, ...] | None:
        if part is not None:
            return (part,)
        if self._two_sided:
            raise ArgumentError(
                "this model has an encoder, a decoder and cross-attention, so say which: "
                "part='encoder', 'decoder' or 'cross'."
            )
        return None


def check_ablation(to: str) -> str:
    """'zero' or 'mean'."""
    if to not in ("zero", "mean"):
        raise ArgumentError(f"to needs to be 'zero' or 'mean', but it is {to!r}.")
    return to


@contextmanager
def intervened(seen: Seen, watching: Watching) -> Iterator[None]:
    """Let the changes act in the block, and record what went in and came out of the model."""
    from regard.watcher.capture.recorder import Recorder
    from regard.watcher.changes.intervention_call import ModelIntervention
    from regard.watcher.changes.rerun import RunCapture

    recorder = seen.recorder
    if not isinstance(recorder, Recorder):
        model = watching.model
        name = "a program" if model is None else type(model).__name__
        raise BackendError(f"{name} {NOT_CHANGEABLE}")
    recorder.intervention = ModelIntervention(watching.changes, watching.tokenizer)
    capture = RunCapture(watching.model)
    with capture.attached():
        yield
    recorder.capture = capture
    if recorder.forwards.count:
        recorder.intervention.check_acted()
