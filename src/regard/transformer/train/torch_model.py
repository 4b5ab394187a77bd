"""The transformer of `config` in PyTorch, with gradients, under the same parameter names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.transformer.config import NORM_EPSILON, PAD, Config, positions

Tensors = dict[str, Tensor]


def to_torch(parameters: Mapping[str, np.ndarray], device: str = "cpu") -> Tensors:
    """The parameters of a NumPy model, for `logits` and everything else here."""
    return {name: torch.tensor(array, device=device) for name, array in parameters.items()}


def to_numpy(parameters: Tensors) -> dict[str, np.ndarray]:
    """The parameters as NumPy arrays in float32, the inverse of `to_torch`."""
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in parameters.items()}


def part(parameters: Tensors, prefix: str) -> Tensors:
    """The parameters of one layer, the prefix taken off their names."""
    return {k.removeprefix(prefix): p for k, p in parameters.items() if k.startswith(prefix)}


def norm(x_bte: Tensor, layer: Tensors, name: str) -> Tensor:
    """Layer normalisation: mean 0 and variance 1 over e, then gain and bias."""
    gain, bias = layer[f"{name}.gain"].to(x_bte.dtype), layer[f"{name}.bias"].to(x_bte.dtype)
    return F.layer_norm(x_bte, gain.shape, gain, bias, NORM_EPSILON)


def times(x_bte: Tensor, matrix: Tensor) -> Tensor:
    """x @ matrix, in the precision of x."""
    return x_bte @ matrix.to(x_bte.dtype)


def drop(x_bte: Tensor, share: float) -> Tensor:
    """Set a share of the features to 0 and scale up the others; nothing at share 0."""
    return F.dropout(x_bte, share) if share else x_bte


def split_heads(x_bte: Tensor, heads: int) -> Tensor:
    """(b, t, h x d) to (b, h, t, d)."""
    return x_bte.unflatten(-1, (heads, -1)).transpose(1, 2)


def feed_forward(x_bte: Tensor, layer: Tensors, dropout: float) -> Tensor:
    """relu(x w_in + b_in) w_out + b_out."""
    b_in, b_out = (layer[f"feed_forward.{name}"].to(x_bte.dtype) for name in ("b_in", "b_out"))
    inner_btf = drop(F.relu(times(x_bte, layer["feed_forward.w_in"]) + b_in), dropout)
    return times(inner_btf, layer["feed_forward.w_out"]) + b_out


@dataclass(frozen=True)
class AttentionMode:
    """Name, heads and mask of one attention."""

    name: str
    heads: int
    mask: Tensor | None = None
    causal: bool = False


def attention(x_bte: Tensor, memory_bke: Tensor, layer: Tensors, mode: AttentionMode) -> Tensor:
    """Multi-head attention of x over memory."""
    query_bhqd = split_heads(times(x_bte, layer[f"{mode.name}.w_query"]), mode.heads)
    key_bhkd = split_heads(times(memory_bke, layer[f"{mode.name}.w_key"]), mode.heads)
    value_bhkd = split_heads(times(memory_bke, layer[f"{mode.name}.w_value"]), mode.heads)
    output_bhqd = F.scaled_dot_product_attention(
        query_bhqd, key_bhkd, value_bhkd, attn_mask=mode.mask, is_causal=mode.causal
    )
    return times(output_bhqd.transpose(1, 2).flatten(2), layer[f"{mode.name}.w_output"])


def encoder_layer(
    x_bte: Tensor, layer: Tensors, heads: int, dropout: float, mask: Tensor | None = None
) -> Tensor:
    """One encoder: self-attention and feed-forward, each added to what came in."""
    mode = AttentionMode("self_attention", heads, mask)
    normed_bte = norm(x_bte, layer, "self_attention_norm")
    x_bte = x_bte + drop(attention(normed_bte, normed_bte, layer, mode), dropout)
    normed_bte = norm(x_bte, layer, "feed_forward_norm")
    return x_bte + drop(feed_forward(normed_bte, layer, dropout), dropout)


def decoder_layer(
    x_bte: Tensor,
    memory_bke: Tensor,
    layer: Tensors,
    heads: int,
    dropout: float,
    mask: Tensor | None = None,
) -> Tensor:
    """One decoder: an encoder that sees no later token, with cross-attention in the middle."""
    normed_bte = norm(x_bte, layer, "self_attention_norm")
    mode = AttentionMode("self_attention", heads, causal=True)
    x_bte = x_bte + drop(attention(normed_bte, normed_bte, layer, mode), dropout)
    normed_bte = norm(x_bte, layer, "cross_attention_norm")
    mode = AttentionMode("cross_attention", heads, mask)
    x_bte = x_bte + drop(attention(normed_bte, memory_bke, layer, mode), dropout)
    normed_bte = norm(x_bte, layer, "feed_forward_norm")
    return x_bte + drop(feed_forward(normed_bte, layer, dropout), dropout)


def token_loss(x_ne: Tensor, embedding_ve: Tensor, labels_n: Tensor, smoothing: float) -> Tensor:
    """Mean cross-entropy of the labels, padding left out."""
    logits_nv = times(x_ne, embedding_ve.t()).float()
    return F.cross_entropy(logits_nv, labels_n, ignore_index=PAD, label_smoothing=smoothing)


@dataclass(frozen=True)
class RunMode:
    """Precision, dropout and label smoothing of a run."""

    dtype: torch.dtype = torch.float32
    dropout: float = 0.0
    smoothing: float = 0.0


def embed(parameters: Tensors, tokens_bt: Tensor, mode: RunMode, first: int = 0) -> Tensor:
    """Vectors of tokens at positions `first` and after."""
    embedding_ve = parameters["embedding"]
    width = embedding_ve.shape[1]
    end = first + tokens_bt.shape[1]
    positions_te = _positions(end, width, tokens_bt.device)[first:]
    x_bte = F.embedding(tokens_bt, embedding_ve) * width**0.5 + positions_te
    return drop(x_bte.to(mode.dtype), mode.dropout)


def run_encoder(
    parameters: Tensors,
    config: Config,
    source_bt: Tensor,
    mode: RunMode,
    mask: Tensor | None = None,
) -> Tensor:
    """memory_bke: the source after all encoders."""
    x_bte = embed(parameters, source_bt, mode)
    for number in range(config.layers):
        layer = part(parameters, f"encoder.{number}.")
        x_bte = encoder_layer(x_bte, layer, config.heads, mode.dropout, mask)
    return norm(x_bte, parameters, "encoder.norm")


def run_decoder(
    parameters: Tensors, config: Config, given_bt: Tensor, memory: tuple[Tensor, Any], mode: RunMode
) -> Tensor:
    """The given target tokens after all decoders, each position knowing those before it."""
    x_bte = embed(parameters, given_bt, mode)
    for number in range(config.layers):
        layer = part(parameters, f"decoder.{number}.")
        x_bte = decoder_layer(x_bte, memory[0], layer, config.heads, mode.dropout, memory[1])
    return norm(x_bte, parameters, "decoder.norm")


def logits(parameters: Tensors, config: Config, source_bt: Tensor, given_bt: Tensor) -> Tensor:
    """logits_btv: how likely each vocabulary entry is to follow, before the softmax."""
    mode = RunMode(dtype=parameters["embedding"].dtype)
    mask = source_mask(source_bt)
    memory_bke = run_encoder(parameters, config, source_bt, mode, mask)
    x_bte = run_decoder(parameters, config, given_bt, (memory_bke, mask), mode)
    return x_bte @ parameters["embedding"].t()


def source_mask(source_bt: Tensor) -> Tensor:
    """True where a key is a token and not padding; axes (b, 1, 1, k)."""
    return (source_bt != PAD)[:, None, None, :]


def batch_loss(
    parameters: Tensors, config: Config, batch: tuple[Tensor, Tensor, Tensor], mode: RunMode
) -> Tensor:
    """Mean loss over the labels of a batch whose sources have no padding."""
    source_bt, given_bt, labels_bt = batch
    memory_bke = run_encoder(parameters, config, source_bt, mode)
    x_bte = run_decoder(parameters, config, given_bt, (memory_bke, None), mode)
    return token_loss(
        x_bte.flatten(0, 1), parameters["embedding"], labels_bt.flatten(), mode.smoothing
    )


@lru_cache(maxsize=512)
def _positions(length: int, width: int, device: torch.device) -> Tensor:
    return torch.from_numpy(positions(length, width)).to(device)
