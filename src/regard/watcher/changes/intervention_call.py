"""Attention calls with changes: the model's own output, with the changed rows computed again.

What no change touches is the model's own to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, BackendError
from regard.text.words import TokenizedText, tokenized_ids
from regard.watcher.capture.masks import MaskSpec
from regard.watcher.capture.model_call import ModelCall
from regard.watcher.capture.numbering import CallRelation, LayerCall
from regard.watcher.capture.runs import LayerKey
from regard.watcher.capture.segments import Segment
from regard.watcher.capture.segments import call_segments as segments_of
from regard.watcher.changes.model_changes import ModelChange, SentenceCall

if TYPE_CHECKING:
    import torch

    from regard.watcher.capture.interface import InterfaceSource as Recorder


@dataclass(frozen=True)
class ChangedCall(ModelCall):
    """A call whose output is given: the model's own, with what was changed."""

    output: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, call: ModelCall) -> ChangedCall:
        """A call with the model's own output."""
        own = ChangedCall(call.module, call.query, call.key, call.value, call.mask, call.options,
                          call.implementation, call.cross, call.rows)  # fmt: skip
        return replace(own, output=call.own()[0])

    @property
    def must_be_own(self) -> bool:
        """The model gets the output that is given."""
        return True

    def own(self) -> tuple[torch.Tensor, Any]:
        """The output that is given."""
        return self.output, None

    def some_rows(self, rows: list[int]) -> ModelCall:
        """The same call for a few queries."""
        part = super().some_rows(rows)
        return replace(part, output=self.output[:, rows])  # type: ignore[call-arg]

    def with_bias(self, bias_bhqk: torch.Tensor) -> ChangedCall:
        """The call with a bias on its scores, and the rows computed again that it touches."""
        import torch

        options = dict(self.options)
        earlier = self.bias
        options["position_bias"] = bias_bhqk if earlier is None else earlier + bias_bhqk
        output = self.output.clone()
        for sentence, head in torch.nonzero((bias_bhqk != 0).flatten(2).any(-1)).tolist():
            bias_qk = bias_bhqk[sentence, head]
            rows = torch.nonzero((bias_qk != 0).any(-1))[:, 0].cpu().numpy()
            scores_qk = scores_of(self, sentence, np.array([head]), rows)[0]
            visible = (scores_qk > -np.inf) & (bias_qk[rows] != 0)
            changed = visible.any(-1)  # a key that was hidden before changes nothing
            weights_qk = (scores_qk + bias_qk[rows])[changed].softmax(-1)
            value_kd = self.value[sentence, head // self.group].float()
            new = weights_qk.nan_to_num(0) @ value_kd
            output[sentence, rows[changed.cpu().numpy()], head] = new.to(output.dtype)
        return replace(self, output=output, options=options)

    @property
    def group(self) -> int:
        """The number of heads that share a key."""
        return int(self.query.shape[1] // self.key.shape[1])


def scores_of(
    call: ModelCall, sentence: int, heads: NDArray[np.int64], rows: NDArray[np.int64]
) -> torch.Tensor:
    """scores_hqk of some heads and queries of one sentence, masked, in float32."""
    import torch

    group = call.query.shape[1] // call.key.shape[1]
    query_hqd = call.query[sentence][np.ix_(heads, rows)].detach().float()
    key_hkd = call.key[sentence, heads // group].detach().float()
    scale = call.query.shape[-1] ** -0.5 if call.scale is None else call.scale
    scores_hqk = torch.matmul(query_hqd, key_hkd.transpose(1, 2)) * scale
    if call.softcap is not None:
        scores_hqk = call.softcap * torch.tanh(scores_hqk / call.softcap)
    for added_bhqk in (call.bias, mask_of(call)):
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


def mask_of(call: ModelCall) -> Any:
    """The mask of a call as a tensor, (b, 1, q, k) of bool or added; None where all is visible."""
    import torch

    if isinstance(call.mask, MaskSpec):
        return call.mask.dense()
    queries, keys = call.query.shape[2], call.key.shape[2]
    if call.mask is None and call.causal and queries > 1:
        at_k = torch.arange(keys, device=call.query.device)
        return (at_k <= at_k.new_tensor(range(queries))[:, None])[None, None]
    return call.mask


@dataclass
class ModelIntervention:
    """The changes of one watched model, with the tokens of the text that they name words of.

    ``acted`` are the numbers of the changes that came to act.
    """

    changes: Sequence[ModelChange]
    tokenizer: Any = None
    acted: set[int] = field(default_factory=set)
    heads: dict[LayerKey, int] = field(default_factory=dict)
    _ids: dict[tuple[str, int], Any] = field(default_factory=dict)
    _texts: dict[tuple[str, int], TokenizedText] = field(default_factory=dict)

    def change_scores(self, call: ChangedCall, layer_call: LayerCall, ids_bq: Any) -> ChangedCall:
        """The call with the biases of all changes that act on this layer."""
        layer, segments = layer_call.layer, segments_of(call)
        self.heads[layer] = call.query.shape[1]
        self._take_tokens(layer, segments, ids_bq, call)
        active = [change for change in self.changes if change.heads.covers(layer)]
        if not active:
            return call
        _check_relation(call, layer_call)
        bias_bhqk = call.query.new_zeros(
            (*call.query.shape[:3], call.key.shape[2]), dtype=_float32()
        )
        for sentence, part in self._sentences(call, layer, segments):
            for change in active:
                change.add_bias(bias_bhqk[sentence], part)
        return call.with_bias(bias_bhqk) if bool((bias_bhqk != 0).any()) else call

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        """The output of a layer after all changes."""
        for number, change in enumerate(self.changes):
            if change.heads.covers(layer):
                self.acted.add(number)
                output_bqhd = change.change_output(output_bqhd, layer)
        return output_bqhd

    def check_acted(self) -> None:
        """Raise where a change names a layer that the model does not have."""
        for number, change in enumerate(self.changes):
            if number not in self.acted:
                names = ", ".join(str(layer) for layer in sorted(self.heads))
                raise ArgumentError(
                    f"{change.heads} needs layers that ran, counted from 0, which are: "
                    f"{names or 'none'}."
                )

    def _sentences(
        self, call: ChangedCall, layer: LayerKey, segments: list[Segment]
    ) -> Iterator[tuple[int, SentenceCall]]:
        cross = layer.part.split()[0] == "cross"
        for segment in segments:
            for sentence in segment.sentences:
                keys = self._text("encoder" if cross else layer.part, sentence, call.key.shape[2])
                queries = keys if not cross else self._text("decoder", sentence, segment.rows.stop)

                def scores(heads: Any, rows: Any, sentence: int = sentence) -> torch.Tensor:
                    return scores_of(call, sentence, heads, rows)

                start = self._query_start(segment, cross)
                yield sentence, SentenceCall(
                    call, sentence, layer, segment.rows, segment.columns, start,
                    segment.column_start, queries, keys, scores,
                )  # fmt: skip

    def _query_start(self, segment: Segment, cross: bool) -> int:
        """The position of the first query; in cross attention that of the decoder's last call."""
        return self._last_start if cross else segment.row_start

    _last_start: int = 0

    def _take_tokens(
        self, layer: LayerKey, segments: list[Segment], ids_bq: Any, call: ModelCall
    ) -> None:
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


def attend_changed(call: ModelCall, recorders: Sequence[Recorder]) -> torch.Tensor:
    """The output (b, q, h, d) of a call for a model with changes, recorded after them."""
    located = [
        (recorder, recorder.numbering.locate(call))
        for recorder in recorders
        if recorder.numbering.counts_calls_of(call.module)
    ]
    if not located:
        return call.own()[0]
    call.check()
    _check_dropout(call, located[0][1].layer)
    changed = ChangedCall.of(call)
    for recorder, layer_call in located:
        if recorder.intervention is not None:
            changed = _as_cross(changed, recorder, layer_call)
            ids_bq = recorder.ids_for(changed)
            changed = recorder.intervention.change_scores(changed, layer_call, ids_bq)
    for recorder, layer_call in located:
        same = layer_call.relation is CallRelation.SAME
        if not same and recorder.options.watches(layer_call.layer.layer):
            recorder.numbering.check(layer_call, call.module)
            recorder.take(_as_cross(changed, recorder, layer_call), layer_call)
    output_bqhd: torch.Tensor = changed.output
    for recorder, layer_call in located:
        if recorder.intervention is not None:
            output_bqhd = recorder.intervention.change_output(output_bqhd, layer_call.layer)
    return output_bqhd


def _as_cross(call: ChangedCall, recorder: Recorder, layer_call: LayerCall) -> ChangedCall:
    if layer_call.layer.part.split()[0] != "cross":
        return call
    return replace(call, cross=True, rows=recorder.query_rows(call.query.shape[0]))


def _check_relation(call: ModelCall, layer_call: LayerCall) -> None:
    """Raise where an attention cannot be changed."""
    if layer_call.relation not in (CallRelation.FIRST, CallRelation.OUTSIDE):
        raise BackendError(
            f"{layer_call.layer}: {type(call.module).__name__} attends several times in one call, "
            "so what a head writes is not one output: it cannot be changed. Choose other layers."
        )


def _check_dropout(call: ModelCall, layer: LayerKey) -> None:
    if call.options.get("dropout"):
        raise BackendError(
            f"{layer}: {type(call.module).__name__} has dropout, so two runs differ by chance: "
            "call model.eval() first."
        )


def _float32() -> Any:
    import torch

    return torch.float32
