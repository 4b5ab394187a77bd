"""Batched translation with the torch model: decoding steps on the device, ranking shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sentencepiece
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.transformer.config import PAD, Config
from regard.transformer.decoding import Numbers
from regard.transformer.search import (
    DEFAULT_SEARCH,
    IMPOSSIBLE,
    Hypothesis,
    Search,
    longest_target,
    run_search,
)
from regard.typing import Array
from train.data import Ragged, encode, tagged
from train.model import (
    RunMode,
    Tensors,
    embed,
    feed_forward,
    norm,
    part,
    run_encoder,
    source_mask,
    split_heads,
    times,
)


@dataclass(frozen=True)
class SourceTensors:
    """One decoder layer's parameters, and its keys and values of the source, made once."""

    layer: Tensors
    key_bhkd: Tensor
    value_bhkd: Tensor


@dataclass
class TensorCache:
    """Keys and values of one layer's self-attention for the tokens so far; n = b x beams."""

    key_nhkd: Tensor
    value_nhkd: Tensor


class TorchStepDecoder:
    """The decoders of one model on one batch, step by step, on the model's device."""

    def __init__(self, parameters: Tensors, config: Config, source_bt: Tensor, beams: int) -> None:
        self.parameters, self.config, self.beams, self.position = parameters, config, beams, 0
        self.mode = RunMode(dtype=parameters["embedding"].dtype)
        self.mask = source_mask(source_bt)
        memory_bke = run_encoder(parameters, config, source_bt, self.mode, self.mask)
        self.source = [self._source_tensors(number, memory_bke) for number in range(config.layers)]
        empty = memory_bke.new_zeros(len(source_bt) * beams, config.heads, 0, config.head_width)
        self.caches = [TensorCache(empty, empty) for _ in range(config.layers)]

    def _source_tensors(self, number: int, memory_bke: Tensor) -> SourceTensors:
        layer = part(self.parameters, f"decoder.{number}.")
        key_bke = times(memory_bke, layer["cross_attention.w_key"])
        value_bke = times(memory_bke, layer["cross_attention.w_value"])
        heads = self.config.heads
        return SourceTensors(layer, split_heads(key_bke, heads), split_heads(value_bke, heads))

    def next_scores(self, token_n: Tensor) -> Tensor:
        """scores_nv: log-probabilities of what follows `token_n`, at the position reached."""
        x_n1e = embed(self.parameters, token_n[:, None], self.mode, first=self.position)
        for source, cache in zip(self.source, self.caches, strict=True):
            x_n1e = self._layer(x_n1e, source, cache)
        self.position += 1
        x_ne = norm(x_n1e, self.parameters, "decoder.norm")[:, 0]
        logits_nv = x_ne @ self.parameters["embedding"].t()
        return F.log_softmax(logits_nv.float(), dim=-1)

    def _layer(self, x_n1e: Tensor, source: SourceTensors, cache: TensorCache) -> Tensor:
        normed_n1e = norm(x_n1e, source.layer, "self_attention_norm")
        x_n1e = x_n1e + self._self_attention(normed_n1e, source.layer, cache)
        normed_n1e = norm(x_n1e, source.layer, "cross_attention_norm")
        x_n1e = x_n1e + self._cross_attention(normed_n1e, source)
        normed_n1e = norm(x_n1e, source.layer, "feed_forward_norm")
        return x_n1e + feed_forward(normed_n1e, source.layer, 0.0)

    def _self_attention(self, x_n1e: Tensor, layer: Tensors, cache: TensorCache) -> Tensor:
        query, key, value = (
            split_heads(times(x_n1e, layer[f"self_attention.{name}"]), self.config.heads)
            for name in ("w_query", "w_key", "w_value")
        )
        cache.key_nhkd = torch.cat([cache.key_nhkd, key], dim=2)
        cache.value_nhkd = torch.cat([cache.value_nhkd, value], dim=2)
        output_nh1d = F.scaled_dot_product_attention(query, cache.key_nhkd, cache.value_nhkd)
        return times(output_nh1d.transpose(1, 2).flatten(2), layer["self_attention.w_output"])

    def _cross_attention(self, x_n1e: Tensor, source: SourceTensors) -> Tensor:
        """Cross-attention, the beams of a sentence side by side as queries on the same keys."""
        query_n1e = times(x_n1e, source.layer["cross_attention.w_query"])
        query_bhqd = split_heads(query_n1e.view(-1, self.beams, x_n1e.shape[-1]), self.config.heads)
        output_bhqd = F.scaled_dot_product_attention(
            query_bhqd, source.key_bhkd, source.value_bhkd, attn_mask=self.mask
        )
        output_n1e = output_bhqd.transpose(1, 2).reshape(x_n1e.shape)
        return times(output_n1e, source.layer["cross_attention.w_output"])

    def reorder(self, rows_n: Tensor) -> None:
        for cache in self.caches:
            cache.key_nhkd, cache.value_nhkd = cache.key_nhkd[rows_n], cache.value_nhkd[rows_n]
        active_b = rows_n[:: self.beams] // self.beams
        if len(active_b) == len(self.mask):
            return
        self.mask = self.mask[active_b]
        self.source = [
            SourceTensors(x.layer, x.key_bhkd[active_b], x.value_bhkd[active_b])
            for x in self.source
        ]


class Ensemble:
    """Models that decode together by the mean of their log-probabilities."""

    def __init__(
        self, models: Sequence[Tensors], config: Config, source_bt: Tensor, beams: int
    ) -> None:
        self.decoders = [TorchStepDecoder(model, config, source_bt, beams) for model in models]
        self.device = source_bt.device

    def scores(self, token_n: Numbers) -> Tensor:
        """scores_nv of what follows, PAD left out."""
        tokens = torch.from_numpy(token_n).to(self.device)
        scores_nv = torch.stack([x.next_scores(tokens) for x in self.decoders]).mean(dim=0)
        scores_nv[:, PAD] = float(IMPOSSIBLE)
        return scores_nv

    def best_next(self, token_n: Numbers, number: int) -> tuple[Array, Numbers]:
        best_nk, token_nk = self.scores(token_n).topk(number)
        return best_nk.cpu().numpy(), token_nk.cpu().numpy()

    def reorder(self, rows_n: Numbers) -> None:
        rows = torch.from_numpy(rows_n).to(self.device)
        for decoder in self.decoders:
            decoder.reorder(rows)


def beam_search(
    models: Sequence[Tensors], config: Config, source_bt: Tensor, search: Search = DEFAULT_SEARCH
) -> list[Hypothesis]:
    """The best translation of each source; padding follows its END."""
    ensemble = Ensemble(models, config, source_bt, search.beams)
    return run_search(ensemble, _limits(source_bt, config), search)


def _limits(source_bt: Tensor, config: Config) -> list[int]:
    return [longest_target(length, config) for length in (source_bt != PAD).sum(dim=1).tolist()]


Choose = Callable[[Sequence[Tensors], Config, Tensor], list[Hypothesis]]


@dataclass(frozen=True)
class Translator:
    """Models that decode together, with their tokens; `choose` picks the translations."""

    models: tuple[Tensors, ...]
    config: Config
    tokens: sentencepiece.SentencePieceProcessor
    choose: Choose = beam_search
    tokens_per_batch: int = 4_096

    def __call__(self, sentences: Sequence[str], tag: str = "") -> list[tuple[str, float]]:
        """Each sentence's translation and the mean log-probability of its tokens."""
        sources = encode(self.tokens, sentences)
        if tag:
            sources = tagged(sources, self.tokens.piece_to_id(tag))
        translated: list[tuple[str, float]] = [("", 0.0)] * len(sources)
        for rows in _by_length(sources, self.tokens_per_batch, self.config.max_length):
            for row, answer in zip(rows, self._batch(sources.take(rows)), strict=True):
                translated[row] = answer
        return translated

    def _batch(self, sources: Ragged) -> Iterator[tuple[str, float]]:
        device = self.models[0]["embedding"].device
        source_bt = torch.from_numpy(sources.padded(PAD)).to(device)
        with torch.no_grad():
            chosen = self.choose(self.models, self.config, source_bt)
        texts = self.tokens.decode([list(one.tokens) for one in chosen])
        return zip(texts, (one.score for one in chosen), strict=True)


def fast_copy(parameters: Tensors) -> Tensors:
    """The same parameters in the precision a device decodes fastest in."""
    if not parameters["embedding"].is_cuda:
        return parameters
    return {name: parameter.to(torch.bfloat16) for name, parameter in parameters.items()}


def _by_length(sources: Ragged, tokens_per_batch: int, longest: int) -> Iterator[np.ndarray]:
    order = np.argsort(sources.lengths, kind="stable")
    order = order[sources.lengths[order] <= longest]
    start = 0
    while start < len(order):
        window = sources.lengths[order[start : start + tokens_per_batch]]
        sizes = np.arange(1, len(window) + 1) * window
        count = max(1, int(np.searchsorted(sizes, tokens_per_batch, side="right")))
        yield order[start : start + count]
        start += count
