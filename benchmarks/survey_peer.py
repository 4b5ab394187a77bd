"""Peer of a survey: the same encoder in transformers, eager, returning all weights.

The shipped encoder is a Pegasus encoder without attention biases: pre-norm, relu, the same
sinusoids, a final norm. So the same parameters give the same weights there. From them this module
computes the statistics of a survey, in padded batches, as scripts usually do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from transformers import PegasusConfig
from transformers.models.pegasus.modeling_pegasus import PegasusEncoder

from regard.corpus.windows import COMPARED_TOKENS, MEASURE_NAMES, MOST_RECEIVED_TOKENS
from regard.engine.profile import BANDS
from regard.transformer.model import Transformer


def pegasus(model: Transformer) -> Any:
    """Our encoder as a transformers model with the same parameters."""
    sizes = model.config
    config = PegasusConfig(
        vocab_size=sizes.vocabulary, d_model=sizes.width, encoder_layers=sizes.layers,
        encoder_attention_heads=sizes.heads, encoder_ffn_dim=sizes.feed_forward_width,
        activation_function="relu", scale_embedding=True, dropout=0.0,
        max_position_embeddings=sizes.max_length, pad_token_id=0, attn_implementation="eager",
    )  # fmt: skip
    encoder = PegasusEncoder(config).eval()
    missing, unknown = encoder.load_state_dict(dict(_state(model)), strict=False)
    if unknown or any("embed_positions" not in name for name in missing):
        raise SystemExit(f"parameters do not match: {missing}, {unknown}")
    return encoder


def _state(model: Transformer) -> Iterator[tuple[str, torch.Tensor]]:
    own = {name: torch.tensor(np.ascontiguousarray(x)) for name, x in model.parameters().items()}
    width = model.config.width
    yield "embed_tokens.weight", own["embedding"]
    for layer in range(model.config.layers):
        here, there = f"encoder.{layer}", f"layers.{layer}"
        for mine, theirs in (("w_query", "q_proj"), ("w_key", "k_proj"), ("w_value", "v_proj"),
                             ("w_output", "out_proj")):  # fmt: skip
            yield f"{there}.self_attn.{theirs}.weight", own[f"{here}.self_attention.{mine}"].T
            yield f"{there}.self_attn.{theirs}.bias", torch.zeros(width)
        for mine, theirs in (("in", "fc1"), ("out", "fc2")):
            yield f"{there}.{theirs}.weight", own[f"{here}.feed_forward.w_{mine}"].T
            yield f"{there}.{theirs}.bias", own[f"{here}.feed_forward.b_{mine}"]
        for mine, theirs in (("self_attention_norm", "self_attn_layer_norm"),
                             ("feed_forward_norm", "final_layer_norm")):  # fmt: skip
            yield f"{there}.{theirs}.weight", own[f"{here}.{mine}.gain"]
            yield f"{there}.{theirs}.bias", own[f"{here}.{mine}.bias"]
    yield "layer_norm.weight", own["encoder.norm.gain"]
    yield "layer_norm.bias", own["encoder.norm.bias"]


def eager_statistics(
    encoder: Any, texts: Sequence[Sequence[int]], batch: int, bands: slice
) -> dict[str, np.ndarray]:
    """Sums over queries for every text and head, as in a survey's WindowSums."""
    found: dict[str, list[torch.Tensor]] = {}
    alike = torch.zeros(1, dtype=torch.float64)
    with torch.inference_mode():
        for start in range(0, len(texts), batch):
            ids, real = _padded(texts[start : start + batch])
            weights = encoder(ids, attention_mask=real, output_attentions=True).attentions
            marks = _marks(ids, real, bands)
            layers = [_layer(one, real, marks) for one in weights]
            for name in layers[0]:
                found.setdefault(name, []).append(torch.cat([x[name] for x in layers], dim=1))
            alike = alike + _cosines(weights, real)
    return {name: torch.cat(parts).numpy() for name, parts in found.items()} | {
        "alike": alike.numpy()
    }


def _padded(texts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(map(len, texts))
    ids = torch.tensor([[*text, *[0] * (longest - len(text))] for text in texts])
    real = torch.tensor([[1] * len(text) + [0] * (longest - len(text)) for text in texts])
    return ids, real


def _marks(ids: torch.Tensor, real: torch.Tensor, bands: slice) -> dict[str, torch.Tensor]:
    """Keys that each measure counts, shared by all layers and heads."""
    length = ids.shape[1]
    places = torch.arange(length)
    back = places[:, None] - places
    inside = [(back >= min(band)) & (back <= max(band)) for band in BANDS[bands]]
    both = (real[:, :, None] * real[:, None, :]).bool()
    same = (ids[:, :, None] == ids[:, None, :]) & (back != 0) & both
    after = functional.pad(same, (1, 0))[:, :, :-1] & (back != 0) & both
    repeated = torch.stack([same, after], dim=-1).flatten(1, 2).float()
    return {"bands": torch.stack(inside, -1).flatten(0, 1).float(), "repeated": repeated}


def _layer(
    weights: torch.Tensor, real: torch.Tensor, marks: dict[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    weights = weights * real[:, None, :, None]
    received = weights.sum(dim=-2)
    entropy = -(weights * weights.clamp_min(1e-38).log()).sum(dim=-1)
    distance = weights.flatten(2) @ marks["bands"]
    repeated = weights.flatten(2) @ marks["repeated"]
    middle = distance.shape[-1] // 2
    most = received.topk(min(MOST_RECEIVED_TOKENS, received.shape[-1]))
    kinds = {
        "entropy": entropy.sum(-1), "first": received[..., 0], "itself": distance[..., middle],
        "previous": distance[..., middle - 1], "next": distance[..., middle + 1],
        "duplicate": repeated[..., 0], "induction": repeated[..., 1],
    }  # fmt: skip
    sums = torch.stack([kinds[name] for name in MEASURE_NAMES], dim=-1)
    return {"sums": sums, "distance": distance, "most": most.values, "places": most.indices}


def _cosines(weights: Sequence[torch.Tensor], real: torch.Tensor) -> torch.Tensor:
    first = torch.cat([x[:, :, :COMPARED_TOKENS, :COMPARED_TOKENS] for x in weights], dim=1)
    first = (first * real[:, None, : first.shape[2], None]).flatten(2)
    return (
        (functional.normalize(first, dim=-1) @ functional.normalize(first, dim=-1).mT)
        .double()
        .sum(0)
    )
