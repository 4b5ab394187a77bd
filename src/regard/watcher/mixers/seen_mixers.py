"""seen.mixers: the layers of a block that mix positions without a softmax, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from regard.errors import ArgumentError, BackendError, count
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.watcher.measures.links import only_position, word_tokens
from regard.watcher.mixers.inputs import KeptMixer, MixerInputs, wide
from regard.watcher.mixers.mixer_table import MEASURES, MOST_DRAWN, MixerFacts, evenly, table
from regard.watcher.mixers.module_call import ModuleCall, apart
from regard.watcher.mixers.proven import (
    Proofs,
    ProvenMixer,
    RowMeasures,
    influence,
)
from regard.watcher.mixers.replay import Stream
from regard.watcher.mixers.stream import NoStreamError, find_stream
from regard.watcher.mixers.texts import Groups, JoinedText, MixerTexts, joined_call, returned_rows
from regard.watcher.options import Span, Spans, resolved_spans


class Mixer:
    """One layer without a softmax on one sentence.

    Its weights are signed: no attention. Each number needs the proofs of ``proofs``; where one does
    not hold, ``problem`` is the reason, and only ``influence`` is there.
    """

    def __init__(self, mixers: Mixers, kept: KeptMixer) -> None:
        self._mixers, self._kept = mixers, kept
        self.path, self.kind, self.layer = kept.path, type(kept.module).__name__, kept.layer

    @cached_property
    def problem(self) -> str:
        """Why nothing is shown; empty where everything was proven."""
        try:
            self._proven  # noqa: B018 (its error is the answer)
        except BackendError as error:
            return str(error)
        return ""

    @property
    def _proven(self) -> ProvenMixer:
        return self._mixers.proven(self._kept)

    def _known(self) -> ProvenMixer:
        if self.problem:
            raise BackendError(
                f"{self.path or self.kind}: no weights are shown, since {self.problem}. "
                "influence(...) estimates what each position changes."
            )
        return self._proven

    @cached_property
    def text(self) -> TokenizedText:
        """The tokens of rows and columns."""
        return self._mixers.words(self._kept)

    @cached_property
    def proofs(self) -> Proofs:
        """The five comparisons, each as a part of the sizes."""
        return self._known().proofs

    @cached_property
    def heads(self) -> int:
        """Rows of weights for each token: a head's, or a channel's where ``width`` is 1."""
        return self._known().stream.heads

    @cached_property
    def width(self) -> int:
        """Neighbouring channels that share their weights."""
        return self._known().stream.width

    @cached_property
    def columns(self) -> str:
        """What a column is: a token, or only a position of the value, made of several tokens."""
        return "positions of the value" if self.proofs.elsewhere else "tokens"

    @cached_property
    def convolved(self) -> bool:
        """Whether a short convolution stands before the value; tokens are followed through it."""
        return self._known().stream.source is not None

    @cached_property
    def measured(self) -> RowMeasures:
        """Measures of all rows of a short text, of 64 evenly spaced ones of a longer text."""
        return self._known().measures(evenly(len(self.text.tokens)))

    @property
    def reach(self) -> Array:
        """The mean distance to what a row takes, for each head, by shares of |w v|."""
        return np.asarray(self.measured.reach_ga.mean(axis=1))

    @property
    def spread(self) -> Array:
        """On how many columns a row is spread, for each head: 1 / sum of squared shares."""
        return np.asarray(self.measured.spread_ga.mean(axis=1))

    @property
    def cancelled(self) -> Array:
        """How much of a row's weights cancels, for each head: 1 - |sum w| / sum |w|."""
        return np.asarray(self.measured.cancelled_ga.mean(axis=1))

    @property
    def negative(self) -> Array:
        """The part of sum |w| that is negative, for each head."""
        return np.asarray(self.measured.negative_ga.mean(axis=1))

    @property
    def itself(self) -> Array:
        """The share of a row's own column, for each head; with a skip connection inside."""
        return np.asarray(self.measured.itself_ga.mean(axis=1))

    @cached_property
    def received(self) -> Array:
        """The signed sum (h, t) of what all rows take from each position of the value."""
        return np.asarray(self._known().replay.received().cpu().numpy())

    def taken(self, word: str | int, *, signed: bool = False) -> Array:
        """What a word's tokens take: the share of |w v| of each token, (heads, tokens).

        Parameters
        ----------
        word : a word of the text ('the#2' is the second), or the number of a token from 0.
        signed : the weights themselves instead, by position of the value, which a short convolution
            before it makes of several tokens.

        Notes
        -----
        Shares of a row add up to 1 by definition; ``cancelled`` says how much of them is taken back
        by weights of the other sign. A layer whose every channel has weights of its own has eight
        groups of channels instead of heads, in the order of their reach.
        """
        rows = list(range(len(self.text.tokens)))[self._rows(word)]
        if signed:
            return np.asarray(self._known().weights(rows).mean(dim=1).cpu().numpy())
        return np.asarray(self.shares(rows).mean(axis=1))

    def shares(self, rows: Sequence[int]) -> Array:
        """The share of |w v| of each token in some rows, (heads, rows, tokens)."""
        return self._known().measures(rows).share_gat

    def span(self, row: str | Span, column: str | Span, *, signed: bool = False) -> Array:
        """What the rows of a span take from another, on average: a share of |w v| for each head.

        With ``signed`` the weights on the positions of the value, exact from one forward.
        """
        rows, columns = self._span(row), self._span(column)
        if signed:
            sums_ht = self._known().replay.span_sums(*columns)
            return np.asarray(sums_ht[:, slice(*rows)].mean(dim=1).detach().cpu().numpy())
        share_gat = self.shares(range(*rows))
        return np.asarray(share_gat[..., slice(*columns)].sum(axis=-1).mean(axis=-1))

    @cached_property
    def drawn(self) -> Array | None:
        """As ``drawn`` of the layers together says."""
        tokens = 0 if self.problem else len(self.text.tokens)
        if not 0 < tokens <= MOST_DRAWN:
            return None
        shares_gat = self.measured.share_gat * self._known().signs(evenly(tokens))
        return np.asarray(shares_gat, np.float32)

    def influence(self, word: str | int) -> Array:
        """An estimate (tokens,) of how much each position changes a word's output, by every path.

        The size of the Jacobian of the whole layer, from 16 random directions: no weights, and they
        add up to nothing.
        """
        rows = list(range(len(self.text.tokens)))[self._rows(word)]
        return influence(self._mixers.call(self._kept), rows)

    def to_dict(self) -> dict[str, Any]:
        """Measures for each head with the error of the proofs, or the problem, as JSON values."""
        facts: dict[str, Any] = {"path": self.path, "kind": self.kind, "layer": self.layer}
        if self.problem:
            return facts | {"problem": self.problem}
        return facts | {
            "heads": self.heads, "width": self.width, "columns": self.columns,
            "convolved": self.convolved, "error": self.proofs.error,
            **{name: getattr(self, name).tolist() for name in MEASURES},
        }  # fmt: skip

    def _rows(self, word: str | int) -> slice:
        tokens = len(self.text.tokens)
        if isinstance(word, str):
            return word_tokens(self.text, only_position(self.text, word))
        if not -tokens <= word < tokens:
            raise ArgumentError(f"a token must be one of {tokens}, counted from 0, got {word}.")
        return slice(word % tokens, word % tokens + 1)

    def _span(self, span: str | Span) -> tuple[int, int]:
        if isinstance(span, str):
            return self._mixers.spans(self.text).get(span) or self.text.span(span)
        if not 0 <= span[0] < span[1] <= len(self.text.tokens):
            raise ArgumentError(
                f"a span must be (start, stop) in {len(self.text.tokens)} tokens, got {span}."
            )
        return span

    def __str__(self) -> str:
        return table([self.to_dict()])

    def __repr__(self) -> str:
        return f"<Mixer {self.path!r}: {self.kind}>"


class Mixers(MixerFacts, Sequence[Mixer]):
    """The layers of one sentence that mix without a softmax, in the order in which they ran.

    ``seen.mixers[0]``, or by the path of the module. ``print`` it for a table with the error of
    each; a layer of which nothing can be proven says why.
    """

    def __init__(
        self,
        inputs: MixerInputs,
        tokenized: Callable[[Any, int], TokenizedText],
        spans: Spans | None = None,
        number: int | None = None,
        sentence: int | None = None,
    ) -> None:
        self._inputs, self._tokenized, self._spans = inputs, tokenized, spans
        self._number, self._sentence = -1 if number is None else number, sentence or 0
        self._texts = MixerTexts(inputs)
        self._each = [Mixer(self, x) for x in inputs.mixers.values()]
        self._last: tuple[str, ProvenMixer] | None = None  # the graph of one layer at a time

    @cached_property
    def _groups(self) -> Groups:
        return self._texts.groups()

    def __len__(self) -> int:
        return len(self._each)

    def __iter__(self) -> Iterator[Mixer]:
        return iter(self._each)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            found = next((x for x in self._each if x.path == key), None)
            if found is None:
                paths = ", ".join(x.path for x in self._each[:8])
                raise ArgumentError(f"a mixer must be one of {paths or 'none'}, got {key!r}.")
            return found
        if isinstance(key, slice) or -len(self) <= key < len(self):
            return self._each[key]
        raise ArgumentError(
            f"{count(len(self), 'layer')} without a softmax ran, counted from 0, got {key}."
        )

    @property
    def facts(self) -> tuple[dict[str, Any], ...]:
        """The measures of each layer, as JSON values."""
        return tuple(x.to_dict() for x in self._each)

    def drawn(self, number: int) -> Array | None:
        return self._each[number].drawn

    def spans(self, text: TokenizedText) -> Mapping[str, Span]:
        return {} if self._spans is None else resolved_spans(self._spans, text)

    def words(self, kept: KeptMixer) -> TokenizedText:
        text = self._text(kept)
        return self._tokenized(text.ids, text.stop - text.first)

    def call(self, kept: KeptMixer) -> ModuleCall:
        return joined_call(kept, self._text(kept))

    def _text(self, kept: KeptMixer) -> JoinedText:
        if not kept.calls:
            raise BackendError(kept.problem)
        groups = self._groups
        if not -len(groups) <= self._number < len(groups):
            raise ArgumentError(f"{count(len(groups), 'text')} ran, so none is {self._number}.")
        numbers = groups[self._number]
        if numbers[-1] >= len(kept.calls):
            raise BackendError("it did not run in every forward of this text")
        return self._texts.text(kept, numbers, self._sentence)

    def proven(self, kept: KeptMixer) -> ProvenMixer:
        """The replay of a layer with its proofs; raises BackendError with the reason."""
        if self._last is not None and self._last[0] == kept.path:
            return self._last[1]
        text = self._text(kept)
        dtype = kept.calls[0].hidden.dtype
        with apart():
            call = joined_call(kept, text)
            try:
                proven = ProvenMixer(call, self._stream(kept), returned_rows(kept, text), dtype)
            except BackendError:
                raise
            except RuntimeError as error:
                reason = " ".join(str(error).split())[:200]
                raise BackendError(f"running it again failed: {reason}") from error
        self._last = kept.path, proven
        return proven

    def _stream(self, kept: KeptMixer) -> Stream:
        """The stream of a module's class, found once; in float64 where float32 shows none."""
        shapes = tuple((name, tuple(x.shape)) for name, x in kept.module.named_parameters())
        key = type(kept.module), shapes
        streams = self._inputs.streams
        if key not in streams:
            streams[key] = self._search(kept)
        found = streams[key]
        if isinstance(found, str):
            raise NoStreamError(found)
        return found

    @staticmethod
    def _search(kept: KeptMixer) -> Stream | str:
        reason = ""
        for dtype in dict.fromkeys((wide(kept.calls[0].hidden.dtype), torch.float64)):
            try:
                return find_stream(kept.call_of(dtype))
            except (BackendError, RuntimeError) as error:
                reason = reason or " ".join(str(error).split())[:200]
        return reason

    def __repr__(self) -> str:
        return self.report()
