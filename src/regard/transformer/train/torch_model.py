"""The transformer of `config`, in PyTorch: the same names, the same numbers, with gradients."""

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
    """The way back from `to_torch`, in float32."""
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
class Looking:
    """How one attention looks: its name, its heads, and what it may see."""

    name: str
    heads: int
    mask: Tensor | None = None
    causal: bool = False


def attention(x_bte: Tensor, memory_bke: Tensor, layer: Tensors, how: Looking) -> Tensor:
    """Multi-head attention of x over memory."""
    query_bhqd = split_heads(times(x_bte, layer[f"{how.name}.w_query"]), how.heads)
    key_bhkd = split_heads(times(memory_bke, layer[f"{how.name}.w_key"]), how.heads)
    value_bhkd = split_heads(times(memory_bke, layer[f"{how.name}.w_value"]), how.heads)
    output_bhqd = F.scaled_dot_product_attention(
        query_bhqd, key_bhkd, value_bhkd, attn_mask=how.mask, is_causal=how.causal
    )
    return times(output_bhqd.transpose(1, 2).flatten(2), layer[f"{how.name}.w_output"])


def encoder_layer(
    x_bte: Tensor, layer: Tensors, heads: int, dropout: float, mask: Tensor | None = None
) -> Tensor:
    """One encoder: self-attention and feed-forward, each added to what came in."""
    how = Looking("self_attention", heads, mask)
    normed_bte = norm(x_bte, layer, "self_attention_norm")
    x_bte = x_bte + drop(attention(normed_bte, normed_bte, layer, how), dropout)
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
    how = Looking("self_attention", heads, causal=True)
    x_bte = x_bte + drop(attention(normed_bte, normed_bte, layer, how), dropout)
    normed_bte = norm(x_bte, layer, "cross_attention_norm")
    how = Looking("cross_attention", heads, mask)
    x_bte = x_bte + drop(attention(normed_bte, memory_bke, layer, how), dropout)
    normed_bte = norm(x_bte, layer, "feed_forward_norm")
    return x_bte + drop(feed_forward(normed_bte, layer, dropout), dropout)


def token_loss(x_ne: Tensor, embedding_ve: Tensor, wanted_n: Tensor, smoothing: float) -> Tensor:
    """Mean cross-entropy of the wanted tokens, padding left out."""
    logits_nv = times(x_ne, embedding_ve.t()).float()
    return F.cross_entropy(logits_nv, wanted_n, ignore_index=PAD, label_smoothing=smoothing)


@dataclass(frozen=True)
class Running:
    """How to run the model: precision, and what only training does."""

    dtype: torch.dtype = torch.float32
    dropout: float = 0.0
    smoothing: float = 0.0


def embed(parameters: Tensors, tokens_bt: Tensor, how: Running, first: int = 0) -> Tensor:
    """Vectors of tokens at positions `first` and after."""
    embedding_ve = parameters["embedding"]
    width = embedding_ve.shape[1]
    end = first + tokens_bt.shape[1]
    positions_te = _positions(end, width, tokens_bt.device)[first:]
    x_bte = F.embedding(tokens_bt, embedding_ve) * width**0.5 + positions_te
    return drop(x_bte.to(how.dtype), how.dropout)


def run_encoder(
    parameters: Tensors,
    config: Config,
    source_bt: Tensor,
    how: Running,
    mask: Tensor | None = None,
) -> Tensor:
    """memory_bke: the source after all encoders."""
    x_bte = embed(parameters, source_bt, how)
    for number in range(config.layers):
        layer = part(parameters, f"encoder.{number}.")
        x_bte = encoder_layer(x_bte, layer, config.heads, how.dropout, mask)
    return norm(x_bte, parameters, "encoder.norm")


def run_decoder(
    parameters: Tensors, config: Config, given_bt: Tensor, memory: tuple[Tensor, Any], how: Running
) -> Tensor:
    """The given target tokens after all decoders, each position knowing those before it."""
    x_bte = embed(parameters, given_bt, how)
    for number in range(config.layers):
        layer = part(parameters, f"decoder.{number}.")
        x_bte = decoder_layer(x_bte, memory[0], layer, config.heads, how.dropout, memory[1])
    return norm(x_bte, parameters, "decoder.norm")


def logits(parameters: Tensors, config: Config, source_bt: Tensor, given_bt: Tensor) -> Tensor:
    """logits_btv: how likely each vocabulary entry is to follow, before the softmax."""
    how = Running(dtype=parameters["embedding"].dtype)
    mask = source_mask(source_bt)
    memory_bke = run_encoder(parameters, config, source_bt, how, mask)
    x_bte = run_decoder(parameters, config, given_bt, (memory_bke, mask), how)
    return x_bte @ parameters["embedding"].t()


def source_mask(source_bt: Tensor) -> Tensor:
    """True where a key is a token and not padding; axes (b, 1, 1, k)."""
    return (source_bt != PAD)[:, None, None, :]


def batch_loss(
    parameters: Tensors, config: Config, batch: tuple[Tensor, Tensor, Tensor], how: Running
) -> Tensor:
    """Mean loss over the wanted tokens of a batch whose sources have no padding."""
    source_bt, given_bt, wanted_bt = batch
    memory_bke = run_encoder(parameters, config, source_bt, how)
    x_bte = run_decoder(parameters, config, given_bt, (memory_bke, None), how)
    return token_loss(
        x_bte.flatten(0, 1), parameters["embedding"], wanted_bt.flatten(), how.smoothing
    )


@lru_cache(maxsize=512)
def _positions(length: int, width: int, device: torch.device) -> Tensor:
    return torch.from_numpy(positions(length, width)).to(device)
