"""Outputs of heads taken from other runs: their means over other texts, and patches of one text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError, BackendError
from regard.experiments.mean_outputs import SENTENCES
from regard.watcher.capture.runs import LayerKey
from regard.watcher.changes.model_changes import SentenceCall, WatchedHeads
from regard.watcher.measures.run_comparison import aligned_positions

if TYPE_CHECKING:
    import torch

    from regard.watcher.changes.model_changes import Positions
    from regard.watcher.seen import Seen
    from regard.watcher.watch import Watching


EVERY = WatchedHeads(None, None, None)


@dataclass(frozen=True)
class OutputCapture:
    """No change: the outputs (b, q, h, d) of all layers of one forward."""

    heads: WatchedHeads = EVERY
    outputs: dict[LayerKey, torch.Tensor] = field(default_factory=dict, repr=False)

    def add_bias(self, bias_hqk: torch.Tensor, call: SentenceCall) -> None:
        """The weights stay."""

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        """The output stays."""
        self.outputs[layer] = output_bqhd.detach()
        return output_bqhd

    def __str__(self) -> str:
        return "nothing"


@dataclass(frozen=True)
class MeanAblation:
    """Heads whose output is their mean over other texts, at every position."""

    heads: WatchedHeads
    means: Mapping[LayerKey, torch.Tensor] = field(repr=False)
    texts: int = 0

    def add_bias(self, bias_hqk: torch.Tensor, call: SentenceCall) -> None:
        """The weights stay."""

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        """The means for the heads, in a copy."""
        index = self.heads.index(layer, output_bqhd.shape[2]).tolist()
        output_bqhd = output_bqhd.clone()
        output_bqhd[:, :, index] = outputs_of(self.means, layer, output_bqhd)[index]
        return output_bqhd

    def __str__(self) -> str:
        return f"{self.heads} writes its mean over {self.texts} other texts"


@dataclass(frozen=True)
class PatchedHeads:
    """Heads that write what they wrote in another run; ``outputs`` (q, h, d) of its ``tokens``.

    Texts of the same length are patched position by position, others where their tokens align.
    """

    heads: WatchedHeads
    outputs: Mapping[LayerKey, torch.Tensor] = field(repr=False)
    tokens: tuple[str, ...] = field(repr=False)
    calls: dict[LayerKey, SentenceCall] = field(default_factory=dict, repr=False)

    def add_bias(self, bias_hqk: torch.Tensor, call: SentenceCall) -> None:
        """The weights stay; the call has the tokens of this text."""
        if call.sentence or call.rows != slice(0, call.call.query.shape[2]):
            raise ArgumentError(
                "patch needs one sentence without padding, but the model got several: call it once "
                "for each."
            )
        self.calls[call.layer] = call

    def change_output(self, output_bqhd: torch.Tensor, layer: LayerKey) -> torch.Tensor:
        """The other run's outputs for the heads, in a copy; generated tokens write their own."""
        call = self.calls.pop(layer)
        if call.row_start:
            return output_bqhd
        rows, sources = self._positions(call.query_text.tokens[: output_bqhd.shape[1]])
        index = self.heads.index(layer, output_bqhd.shape[2])
        other_qhd = outputs_of(self.outputs, layer, output_bqhd)
        output_bqhd = output_bqhd.clone()
        output_bqhd[0, rows[:, None], index] = other_qhd[sources[:, None], index]
        return output_bqhd

    def _positions(self, tokens: Sequence[str]) -> tuple[Positions, Positions]:
        if len(tokens) == len(self.tokens):
            return np.arange(len(tokens)), np.arange(len(tokens))
        positions = aligned_positions(tokens, self.tokens)
        if not len(positions[0]):
            raise ArgumentError("patch needs texts with tokens in common, but they have none.")
        return positions

    def __str__(self) -> str:
        return f"{self.heads} writes what it wrote in the other text"


def outputs_of(
    outputs: Mapping[LayerKey, torch.Tensor], layer: LayerKey, like: torch.Tensor
) -> torch.Tensor:
    """The outputs of a layer in the dtype and on the device of another tensor."""
    if layer not in outputs:
        raise BackendError(f"{layer} needs outputs of another run, but it did not run there.")
    return outputs[layer].to(like)


def mean_outputs_of(
    watching: Watching, texts: Iterable[str] | None
) -> tuple[dict[LayerKey, Any], int]:
    """Mean output (h, d) of every head over all tokens of some texts; of our own without any."""
    import torch

    from regard.watcher.watch import watch

    if watching.tokenizer is None:
        raise ArgumentError("to='mean' needs the model's tokenizer: watch(model, tokenizer=...).")
    chosen: Sequence[str] = SENTENCES if texts is None else list(texts)
    if not chosen or isinstance(texts, str):
        raise ArgumentError("over needs a list of texts with at least one in it.")
    if watching._two_sided:
        raise BackendError("to='mean' needs a model with one side: ablate to zero here.")
    sums: dict[LayerKey, Any] = {}
    tokens = 0
    for text in chosen:
        ids = watching.tokenizer(text, return_tensors="pt")["input_ids"]
        capture = OutputCapture()
        plain = watch(watching.model, tokenizer=watching.tokenizer, layers=())
        device = next(watching.model.parameters()).device
        with torch.no_grad(), plain.changed(capture):
            watching.model(ids.to(device))
        tokens += ids.shape[1]
        for layer, output_bqhd in capture.outputs.items():
            sums[layer] = sums.get(layer, 0) + output_bqhd[0].double().sum(0)
    return {layer: sum_hd / tokens for layer, sum_hd in sums.items()}, len(chosen)


def patch_from(other: Seen, heads: WatchedHeads) -> PatchedHeads:
    """The outputs of another run's text, which is run once more."""
    capture = OutputCapture()
    other._rerun().run(capture)
    outputs = {layer: output_bqhd[0] for layer, output_bqhd in capture.outputs.items()}
    return PatchedHeads(heads, outputs, other.texts()[0].tokens)
