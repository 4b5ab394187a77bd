"""Attention calls with changes: the model's own output, with the changed rows computed again.

Hidden keys and redirected rows are a bias on the scores of some heads; ablated and patched heads
are overwritten in the output. What no change touches is the model's own to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, BackendError
from regard.experiments.changes import Change, HeadOutputs, acting
from regard.experiments.selection import EVERY_HEAD, HeadSelection, Positions, Word, word_tokens
from regard.text.words import TokenizedText, tokenized_ids
from regard.watcher.capture.model_call import ModelCall
from regard.watcher.capture.numbering import CallRelation, LayerCall
from regard.watcher.capture.runs import LayerKey
from regard.watcher.capture.segments import Segment, call_segments
from regard.watcher.measures.run_comparison import aligned_positions

if TYPE_CHECKING:
    import torch

    from regard.experiments.experiment import ModelAdapter
    from regard.watcher.capture.interface import InterfaceSource
    from regard.watcher.seam.call import AttentionCall

# Of the largest output: two products of the same factors in another order.
PRODUCT_ROUNDING = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}
ATTENDS_OTHERWISE = (
    "its heads cannot be told apart in what it computed, so they cannot be changed. "
    "Dropout is one reason (call model.eval()), sinks, mixed heads and nested tensors are others."
)
ATTENDS_BY_HAND = (
    "in attention written by hand changed weights have no gradients, only ablated and patched "
    "heads: run it inside `with torch.no_grad():`."
)

TakeOutput = Callable[["torch.Tensor", LayerKey], None]


@dataclass
class PendingChanges:
    """What the changes of one attention call amount to, for all sentences of its batch.

    ``writes`` are (row, heads, queries or None for all, output_hqd or a number). ``takers`` are
    given the output after them.
    """

    call: ModelCall = field(repr=False)
    writes: list[tuple[int, Positions, Positions | None, Any]] = field(default_factory=list)
    takers: list[TakeOutput] = field(default_factory=list)
    bias_bhqk: torch.Tensor | None = field(default=None, repr=False)

    def bias(self, row: int) -> torch.Tensor:
        import torch

        if self.bias_bhqk is None:
            query, keys = self.call.query, self.call.key.shape[2]
            self.bias_bhqk = query.new_zeros((*query.shape[:3], keys), dtype=torch.float32)
        return self.bias_bhqk[row]

    def written(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        import torch

        if self.writes:
            output_bqhd = output_bqhd.clone()
        for row, heads, queries, output in self.writes:
            target_qhd = output_bqhd[row]
            if isinstance(output, int | float):
                values: Any = output
            else:
                values = torch.as_tensor(output).to(target_qhd).transpose(0, 1)
            if queries is None:
                target_qhd[:, heads.tolist()] = values
            else:
                target_qhd[np.ix_(queries, heads)] = values
        for take in self.takers:
            take(output_bqhd, layer)
        return output_bqhd


@dataclass(frozen=True)
class SentenceCall:
    """One sentence of an attention call, as changes see it.

    ``rows`` and ``columns`` are those of its queries and keys in the call, ``row_start`` and
    ``column_start`` the positions of the first ones in their texts. ``scores`` gives the masked
    scores (h, q, k) of some heads and some queries of the call.
    """

    call: ModelCall = field(repr=False)
    row: int
    key: LayerKey
    rows: slice
    columns: slice
    row_start: int
    column_start: int
    query_text: TokenizedText
    key_text: TokenizedText
    pending: PendingChanges = field(repr=False)

    @property
    def part(self) -> str:
        return self.key.part

    @property
    def layer(self) -> int:
        return self.key.layer

    @property
    def is_cross(self) -> bool:
        return self.key.part.split()[0] == "cross"

    def scores(self, heads: Positions, rows: Positions) -> torch.Tensor:
        """Masked scores_hqk of some heads and queries, in float32."""
        return masked_scores(self.call, self.row, heads, rows).detach()

    def index(self, heads: HeadSelection) -> Positions:
        return heads.index(self.call.query.shape[1], str(self.key))

    def queries_at(self, positions: Positions) -> Positions:
        """Numbers of the queries of the call that have some of these positions."""
        at: Positions = positions - self.row_start + self.rows.start
        inside: Positions = at[(at >= self.rows.start) & (at < self.rows.stop)]
        return inside

    def keys_at(self, positions: Positions) -> Positions:
        """Numbers of the keys of the call that have some of these positions."""
        at: Positions = positions - self.column_start + self.columns.start
        inside: Positions = at[(at >= self.columns.start) & (at < self.columns.stop)]
        return inside

    def hide(self, heads: Positions, keys: Positions) -> None:
        """-inf for the keys, but not from the words themselves.

        The first token of a causal model sees nothing else.
        """
        columns = self.keys_at(keys)
        own = np.zeros(0, np.int64) if self.is_cross else self.queries_at(keys)
        rows = np.setdiff1d(np.arange(self.rows.start, self.rows.stop), own)
        if self.is_cross and len(columns) == self.columns.stop - self.columns.start:
            raise ArgumentError(
                f"{self.key} needs a key that is left to look at, but knock_out hides all "
                f"{len(columns)}: hide fewer words."
            )
        if len(rows) and len(columns):
            self.pending.bias(self.row)[np.ix_(heads, rows, columns)] = -np.inf

    def redirect(
        self,
        heads: Positions,
        query: tuple[str, Positions],
        key: tuple[str, Positions],
        weight: float,
    ) -> None:
        """The constants for the keys of the word and for the others that give the weights."""
        rows, columns = self.queries_at(query[1]), self.keys_at(key[1])
        if not len(rows):
            return
        scores_hqk = masked_scores(self.call, self.row, heads, rows)
        inside = np.zeros(scores_hqk.shape[-1], bool)
        inside[columns] = True
        if not len(columns) or (scores_hqk[..., inside] == -np.inf).any():
            raise ArgumentError(
                f"{query[0]} must look at a word that it can see in {self.key}, but {key[0]} is "
                "hidden from it, as words that come later are: redirect it to another."
            )
        on, rest = (scores_hqk[..., x].logsumexp(-1) for x in (inside, ~inside))
        if weight < 1 and (rest == -np.inf).any():
            raise ArgumentError(
                f"weight {weight:g} leaves a rest, but {query[0]} sees no other word in a head: "
                "use weight=1."
            )
        bias_hqk = self.pending.bias(self.row)
        bias_hqk[np.ix_(heads, rows, np.flatnonzero(inside))] = (_log(weight) - on)[..., None]
        rest = rest.nan_to_num(neginf=0)
        others = np.flatnonzero(~inside)
        bias_hqk[np.ix_(heads, rows, others)] = (_log(1 - weight) - rest)[..., None]

    def write(self, heads: Positions, queries: Positions | None, output: Any) -> None:
        """Overwrite head outputs at some positions, or of the whole row, its padding included."""
        rows = None if queries is None else self.queries_at(queries)
        self.pending.writes.append((self.row, heads, rows, output))

    def matching_positions(
        self, other: HeadOutputs, word: Word | None
    ) -> tuple[Positions, Positions]:
        """Positions of the same tokens in both texts; what ``generate`` adds has none."""
        if len(self.call.query) > 1 or self.rows != slice(0, self.call.query.shape[2]):
            raise ArgumentError(
                "patch needs one sentence without padding, but the model got several: call it once "
                "for each."
            )
        if self.row_start:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        text, other_text = self.query_text, other.query_text(self.part)
        if word is not None:
            rows, sources = word_tokens(text, word)[1], word_tokens(other_text, word)[1]
            if len(rows) != len(sources):
                raise ArgumentError(
                    f"patch needs the same number of tokens in both words, got {len(rows)} and "
                    f"{len(sources)}."
                )
            return rows, sources
        tokens = text.tokens[: self.call.query.shape[2]]
        if len(tokens) == len(other_text.tokens):
            return np.arange(len(tokens)), np.arange(len(tokens))
        positions = aligned_positions(tokens, other_text.tokens)
        if not len(positions[0]):
            raise ArgumentError("patch needs texts with tokens in common, got two without any.")
        return positions


@dataclass(frozen=True)
class Probe:
    """No change: a function that is given every attention, sentence by sentence."""

    look: Callable[[SentenceCall], None] | None = field(default=None, repr=False)
    heads: HeadSelection = EVERY_HEAD
    order: ClassVar[int] = 9

    def act(self, attention: Any) -> None:
        if self.look is not None:
            self.look(attention)

    def describe(self, adapter: ModelAdapter, run: Any) -> str:
        return "nothing"

    def to_dict(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class AblateByRow(Probe):
    """In row n of the batch head ``first`` + n of one layer writes zero.

    Only the first ``rows`` rows are changed. With ``means`` (h, d) a head writes its mean.
    """

    first: int = 0
    rows: int | None = None
    means: Any = field(default=None, repr=False)

    def act(self, attention: Any) -> None:
        head = self.first + attention.row
        if head >= attention.call.query.shape[1]:
            return
        if self.rows is None or attention.row < self.rows:
            output = 0 if self.means is None else self.means[[head]][:, None]
            attention.write(np.array([head]), None, output)


def with_bias(call: ModelCall, bias_bhqk: torch.Tensor) -> ModelCall:
    """The call with a bias on its scores, and the rows of its output computed again."""
    import torch

    assert call.output is not None  # it is given where something is changed
    options = dict(call.options)
    earlier = call.bias
    options["position_bias"] = bias_bhqk if earlier is None else earlier + bias_bhqk
    output = call.output.clone()
    for sentence, head in torch.nonzero((bias_bhqk != 0).flatten(2).any(-1)).tolist():
        bias_qk = bias_bhqk[sentence, head]
        rows = torch.nonzero((bias_qk != 0).any(-1))[:, 0].cpu().numpy()
        scores_qk = masked_scores(call, sentence, np.array([head]), rows)[0]
        visible = (scores_qk > -np.inf) & (bias_qk[rows] != 0)
        changed = visible.any(-1)  # a key that was hidden before changes nothing
        weights_qk = (scores_qk + bias_qk[rows])[changed].softmax(-1)
        value_kd = call.value[sentence, head // call.group].float()
        new = weights_qk.nan_to_num(0) @ value_kd
        output[sentence, rows[changed.cpu().numpy()], head] = new.to(output.dtype)
    return replace(call, output=output, options=options)


def masked_scores(
    call: ModelCall, sentence: int, heads: NDArray[np.int64], rows: NDArray[np.int64]
) -> torch.Tensor:
    """scores_hqk of some heads and queries of one sentence, masked, in float32."""
    import torch

    if call.weights is not None:  # written by hand: their logarithms differ by a constant a row
        weights_hqk = call.weights[sentence][np.ix_(heads, rows)]
        return weights_hqk.to(call.value.device).log()
    query_hqd = call.query[sentence][np.ix_(heads, rows)].float()
    key_hkd = call.key[sentence, heads // call.group].float()
    scale = call.query.shape[-1] ** -0.5 if call.scale is None else call.scale
    scores_hqk = torch.matmul(query_hqd, key_hkd.transpose(1, 2)) * scale
    if call.softcap is not None:
        scores_hqk = call.softcap * torch.tanh(scores_hqk / call.softcap)
    for added_bhqk in (call.bias, _dense_mask(call)):
        if added_bhqk is None:
            continue
        some = added_bhqk[min(sentence, len(added_bhqk) - 1)]
        some = some[heads] if len(some) > 1 else some
        some = some[:, rows] if some.shape[1] > 1 else some
        some = some[..., : scores_hqk.shape[-1]]
        if some.dtype == torch.bool:
            scores_hqk = scores_hqk.masked_fill(~some, -np.inf)
        else:
            hidden = some <= torch.finfo(some.dtype).min / 2  # what models add to hide a key
            scores_hqk = scores_hqk + some.float().masked_fill(hidden, -np.inf)
    return scores_hqk


def _dense_mask(call: ModelCall) -> Any:
    """The mask of a call as a tensor, (b, 1, q, k) of bool or added; None where all is visible."""
    import torch

    if call.spec is not None and not call.spec.changed:
        return call.spec.dense()
    queries, keys = call.query.shape[2], call.key.shape[2]
    if call.mask is None and call.causal and queries > 1:
        at_k = torch.arange(keys, device=call.query.device)
        return (at_k <= at_k.new_tensor(range(queries))[:, None])[None, None]
    return call.mask


@dataclass
class ModelIntervention:
    """The changes of one watched model, with the tokens of the text that they name words of.

    ``acted`` are the numbers of the changes that came to act, ``heads`` the numbers of heads by
    layer.
    """

    changes: Sequence[Change]
    tokenizer: Any = None
    acted: set[int] = field(default_factory=set)
    heads: dict[LayerKey, int] = field(default_factory=dict)
    _ids: dict[tuple[str, int], Any] = field(default_factory=dict)
    _texts: dict[tuple[str, int], TokenizedText] = field(default_factory=dict)
    _pending: dict[LayerKey, PendingChanges] = field(default_factory=dict)
    _last_start: int = 0

    def change_scores(
        self,
        call: ModelCall,
        layer_call: LayerCall,
        ids_bq: Any,
        segments: list[Segment] | None = None,
    ) -> ModelCall:
        """The call with the biases of all changes that act on this layer."""
        layer, segments = layer_call.layer, segments or call_segments(call)
        self.heads[layer] = call.query.shape[1]
        self._take_tokens(layer, segments, ids_bq)
        active = acting(self.changes, *layer)
        if not active:
            return call
        if any(type(change) is not Probe for change in active):
            _check_relation(call, layer_call)
        self.acted.update(n for n, x in enumerate(self.changes) if x.heads.covers(*layer))
        pending = self._pending[layer] = PendingChanges(call)
        for sentence in self._sentences(pending, layer, segments):
            for change in active:
                change.act(sentence)
        bias_bhqk = pending.bias_bhqk
        if bias_bhqk is None or not bool((bias_bhqk != 0).any()):
            return call
        return with_bias(call, bias_bhqk)

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        pending = self._pending.pop(layer, None)
        return output_bqhd if pending is None else pending.written(output_bqhd, layer)

    def check_acted(self) -> None:
        """Raise where a change names a layer that the model does not have."""
        for number, change in enumerate(self.changes):
            if number not in self.acted:
                names = ", ".join(str(layer) for layer in sorted(self.heads))
                raise ArgumentError(
                    f"{change.heads} must be among the layers that ran, counted from 0, which are: "
                    f"{names or 'none'}."
                )

    def _sentences(
        self, pending: PendingChanges, layer: LayerKey, segments: list[Segment]
    ) -> Iterator[SentenceCall]:
        call, cross = pending.call, layer.part.split()[0] == "cross"
        for segment in segments:
            # In cross-attention the position of the first query is that of the decoder's last call.
            start = self._last_start if cross else segment.row_start
            for row in segment.sentences:
                keys = self._text("encoder" if cross else layer.part, row, call.key.shape[2])
                queries = keys if not cross else self._text("decoder", row, segment.rows.stop)
                yield SentenceCall(
                    call, row, layer, segment.rows, segment.columns, start,
                    segment.column_start, queries, keys, pending,
                )  # fmt: skip

    def _take_tokens(self, layer: LayerKey, segments: list[Segment], ids_bq: Any) -> None:
        """Remember the tokens at the beginning of a text, whose words the changes name."""
        if layer.part.split()[0] == "cross":
            return
        for segment in segments:
            self._last_start = segment.row_start
            if segment.row_start != 0:
                continue
            for sentence in segment.sentences:
                ids = None if ids_bq is None else ids_bq[sentence, segment.rows]
                known = self._ids.get((layer.part, sentence))
                if ids is None or known is None or not np.array_equal(known, ids):
                    length = segment.rows.stop - segment.rows.start
                    self._ids[layer.part, sentence] = ids
                    self._texts[layer.part, sentence] = tokenized_ids(self.tokenizer, ids, length)

    def _text(self, part: str, sentence: int, length: int) -> TokenizedText:
        text = self._texts.get((part, sentence))
        return tokenized_ids(None, None, length) if text is None else text


def attend_changed(call: ModelCall, sources: Sequence[InterfaceSource]) -> torch.Tensor:
    """The output (b, q, h, d) of a call for a model with changes, recorded after them."""
    located = [
        (source, source.numbering.locate(call))
        for source in sources
        if source.numbering.counts_calls_of(call.module)
    ]
    if not located:
        return call.own()[0]
    _check_sinks(call, located[0][1].layer)
    _check_dropout(call, located[0][1].layer)
    changed = replace(call, output=call.own()[0])
    for source, layer_call in located:
        if source.intervention is not None:
            changed = source.as_cross(changed, layer_call)
            ids_bq = source.ids_for(changed)
            changed = source.intervention.change_scores(changed, layer_call, ids_bq)
    for source, layer_call in located:
        same = layer_call.relation is CallRelation.SAME
        if not same and source.options.watches(layer_call.layer.layer):
            source.numbering.check(layer_call, call.module)
            source.take(source.as_cross(changed, layer_call), layer_call)
    output_bqhd = changed.own()[0]
    for source, layer_call in located:
        if source.intervention is not None:
            output_bqhd = source.intervention.change_output(output_bqhd, layer_call.layer)
    return output_bqhd


def changed_call(
    call: ModelCall,
    seen: AttentionCall,
    intervention: ModelIntervention,
    layer: LayerKey,
    segments: list[Segment],
    ids_bq: Any,
) -> tuple[ModelCall, torch.Tensor]:
    """The call as it is after the changes, for the record, and its output for the program."""
    if not _is_separable(seen):
        raise BackendError(f"{type(call.module).__name__}: {ATTENDS_OTHERWISE}")
    assert seen.output is not None
    assert seen.value is not None
    given: dict[str, Any] = {"value": seen.value, "output": seen.output.transpose(1, 2)}
    if call.weights is None and seen.key is not None:  # with their gradients
        given |= {"query": seen.query, "key": seen.key[:, :, : call.key.shape[2]]}
    before = replace(call, **given)
    located = LayerCall(layer, CallRelation.FIRST)
    after = intervention.change_scores(before, located, ids_bq, segments)
    assert after.output is not None  # it was given
    output_bqhd = intervention.change_output(after.output, layer)
    if after is not before and before.weights is not None:
        if seen.output.requires_grad:
            raise BackendError(f"{type(call.module).__name__}: {ATTENDS_BY_HAND}")
        added_bhqk = after.options["position_bias"].to(before.weights)
        shown = (before.weights.log() + added_bhqk).softmax(-1).nan_to_num(0)
        changed = (added_bhqk != 0).any(-1, keepdim=True)
        after = replace(after, weights=shown.where(changed, before.weights), options={})
    if after is not before:
        after = replace(after, logsumexp=None, own_logsumexp=None)
    recorded = {"query": after.query.detach(), "key": after.key.detach()}
    return replace(after, output=None, **recorded), output_bqhd.transpose(1, 2)


def _is_separable(seen: AttentionCall) -> bool:
    """Whether the output of every head is known, and is that of its weights and values."""
    import torch

    unknown = seen.output is None or seen.value is None
    if unknown or seen.dropout_p or seen.mixed or seen.kernel in ("nested", "fast path"):
        return False
    if seen.weights is None:
        return True
    with torch.no_grad():
        shared = seen.weights.shape[1] // seen.value.shape[1]  # type: ignore[union-attr]
        value = seen.value.repeat_interleave(shared, dim=1)  # type: ignore[union-attr]
        return _is_product(seen.weights, value, seen.output)


def _is_product(weights: Any, value: Any, result: Any) -> bool:
    """Whether every matrix of a result is that of its weights and values."""
    sizes = (len(weights), weights.shape[-2]), (len(result), result.shape[-2])
    if sizes[0] != sizes[1] or weights.shape[-1] != value.shape[-2]:
        return False
    difference = (weights.to(value) @ value - result).abs().max()
    dtype = str(result.dtype).removeprefix("torch.")
    return bool(difference <= PRODUCT_ROUNDING.get(dtype, 0.0) * (1 + result.abs().max()))


def _check_relation(call: ModelCall, layer_call: LayerCall) -> None:
    """Raise where an attention cannot be changed."""
    if layer_call.relation not in (CallRelation.FIRST, CallRelation.OUTSIDE):
        raise BackendError(
            f"{layer_call.layer}: {type(call.module).__name__} attends several times in one call, "
            "so what a head writes is not one output: it cannot be changed. Choose other layers."
        )


def _check_sinks(call: ModelCall, layer: LayerKey) -> None:
    if call.has_sinks:
        raise BackendError(
            f"{layer}: {type(call.module).__name__} has sinks in its softmax, which a changed row "
            "would leave out: its attention cannot be changed."
        )


def _check_dropout(call: ModelCall, layer: LayerKey) -> None:
    if call.options.get("dropout"):
        raise BackendError(
            f"{layer}: {type(call.module).__name__} has dropout, so two runs differ by chance: "
            "call model.eval() first."
        )


def _log(weight: float) -> float:
    return log(weight) if weight > 0 else -np.inf
