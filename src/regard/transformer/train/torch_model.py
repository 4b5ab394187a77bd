"""The transformer of `config` in PyTorch, with gradients, under the same parameter names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
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


Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class AttentionMode:
    """Name and heads of one attention, and the function of query, key and value behind it."""

    name: str
    heads: int
    attend: Attend = F.scaled_dot_product_attention


def attention(
    x_bte: Tensor, memory_bke: Tensor | None, layer: Tensors, mode: AttentionMode
) -> Tensor:
    """Multi-head attention of x over memory, or over itself where there is none."""
    query, key, value = (layer[f"{mode.name}.w_{name}"] for name in ("query", "key", "value"))
    # One product of a wide matrix is faster than two or three of narrow ones.
    if memory_bke is None:
        inputs = times(x_bte, torch.cat([query, key, value], dim=1)).chunk(3, dim=-1)
    else:
        memory = times(memory_bke, torch.cat([key, value], dim=1)).chunk(2, dim=-1)
        inputs = (times(x_bte, query), *memory)
    output_bhqd = mode.attend(*(split_heads(x, mode.heads) for x in inputs))
    return times(output_bhqd.transpose(1, 2).flatten(2), layer[f"{mode.name}.w_output"])


def attention_sublayer(
    x_bte: Tensor, memory_bke: Tensor | None, layer: Tensors, mode: AttentionMode, dropout: float
) -> tuple[Tensor, Tensor]:
    """x with its attention added, and the normed x that the queries were made of."""
    normed_bte = norm(x_bte, layer, f"{mode.name}_norm")
    return x_bte + drop(attention(normed_bte, memory_bke, layer, mode), dropout), normed_bte


def feed_forward_sublayer(x_bte: Tensor, layer: Tensors, dropout: float) -> Tensor:
    """x with its feed-forward layer added."""
    normed_bte = norm(x_bte, layer, "feed_forward_norm")
    return x_bte + drop(feed_forward(normed_bte, layer, dropout), dropout)


def encoder_layer(x_bte: Tensor, layer: Tensors, heads: int, mask: Tensor | None = None) -> Tensor:
    """One encoder: self-attention and feed-forward, each added to what came in."""
    attend = partial(F.scaled_dot_product_attention, attn_mask=mask)
    mode = AttentionMode("self_attention", heads, attend)
    x_bte, _ = attention_sublayer(x_bte, None, layer, mode, 0.0)
    return feed_forward_sublayer(x_bte, layer, 0.0)


def decoder_layer(
    x_bte: Tensor, memory_bke: Tensor, layer: Tensors, heads: int, mask: Tensor | None = None
) -> Tensor:
    """One decoder: an encoder that sees no later token, with cross-attention in the middle."""
    attend = partial(F.scaled_dot_product_attention, is_causal=True)
    mode = AttentionMode("self_attention", heads, attend)
    x_bte, _ = attention_sublayer(x_bte, None, layer, mode, 0.0)
    attend = partial(F.scaled_dot_product_attention, attn_mask=mask)
    mode = AttentionMode("cross_attention", heads, attend)
    x_bte, _ = attention_sublayer(x_bte, memory_bke, layer, mode, 0.0)
    return feed_forward_sublayer(x_bte, layer, 0.0)


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
    positions_te = position_table(end, width, tokens_bt.device)[first:]
    x_bte = F.embedding(tokens_bt, embedding_ve) * width**0.5 + positions_te
    return x_bte.to(mode.dtype)


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
        x_bte = encoder_layer(x_bte, layer, config.heads, mask)
    return norm(x_bte, parameters, "encoder.norm")


def run_decoder(
    parameters: Tensors, config: Config, given_bt: Tensor, memory: tuple[Tensor, Any], mode: RunMode
) -> Tensor:
    """The given target tokens after all decoders, each position knowing those before it."""
    x_bte = embed(parameters, given_bt, mode)
    for number in range(config.layers):
        layer = part(parameters, f"decoder.{number}.")
        x_bte = decoder_layer(x_bte, memory[0], layer, config.heads, memory[1])
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


@lru_cache(maxsize=512)
def position_table(length: int, width: int, device: torch.device) -> Tensor:
    """Vectors of the positions from 0 up, made once for a device."""
    return torch.from_numpy(positions(length, width)).to(device)
