"""The transformer of `config` in PyTorch, with gradients, and the training loss of packed batches.

Parameters have the same names as in NumPy. The functions of packed batches have static shapes, so
that torch.compile can fuse them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.transformer.config import NORM_EPSILON, PAD, Config, positions
from train.recipe import TaughtHead

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


def logits(parameters: Tensors, config: Config, source_bt: Tensor, given_bt: Tensor) -> Tensor:
    """logits_btv: how likely each vocabulary entry is to follow, before the softmax."""
    mode, mask = RunMode(dtype=parameters["embedding"].dtype), source_mask(source_bt)
    memory_bke = run_encoder(parameters, config, source_bt, mode, mask)
    causal = partial(F.scaled_dot_product_attention, is_causal=True)
    masked = partial(F.scaled_dot_product_attention, attn_mask=mask)
    self_attention = AttentionMode("self_attention", config.heads, causal)
    cross_attention = AttentionMode("cross_attention", config.heads, masked)
    x_bte = embed(parameters, given_bt, mode)
    for number in range(config.layers):
        layer = part(parameters, f"decoder.{number}.")
        x_bte, _ = attention_sublayer(x_bte, None, layer, self_attention, 0.0)
        x_bte, _ = attention_sublayer(x_bte, memory_bke, layer, cross_attention, 0.0)
        x_bte = feed_forward_sublayer(x_bte, layer, 0.0)
    return norm(x_bte, parameters, "decoder.norm") @ parameters["embedding"].t()


def source_mask(source_bt: Tensor) -> Tensor:
    """True where a key is a token and not padding; axes (b, 1, 1, k)."""
    return (source_bt != PAD)[:, None, None, :]


@lru_cache(maxsize=512)
def position_table(length: int, width: int, device: torch.device) -> Tensor:
    """Vectors of the positions from 0 up, made once for a device."""
    return torch.from_numpy(positions(length, width)).to(device)


# Added to the score of a key of another pair. Finite, so that padding without keys has no NaN.
_HIDDEN_SCORE = -30_000.0


class SideTensors(NamedTuple):
    """The arrays of a `packing.PackedSide` on a device, axes (b, t)."""

    tokens: Tensor
    segments: Tensor
    positions: Tensor
    start: Tensor
    stop: Tensor


class PackedTensors(NamedTuple):
    """A `packing.PackedBatch` on a device."""

    source: SideTensors
    given: SideTensors
    labels_bt: Tensor


@dataclass(frozen=True)
class PackedMode(RunMode):
    """How a packed batch is computed: the attention kernel, compiled or not."""

    kernel: str = "efficient"
    compiled: bool = False


class Masks(NamedTuple):
    """Keys that each query may see (b, q, k): of its own pair; in the decoder none later."""

    encoder: Tensor
    decoder: Tensor
    cross: Tensor


class TaughtLoss(NamedTuple):
    """Mean -log weight on the right span, and the share of rows with their largest weight in it."""

    loss: Tensor
    right: Tensor


def attend(
    query_bhqd: Tensor, key_bhkd: Tensor, value_bhkd: Tensor, mask_bqk: Tensor, kernel: str
) -> Tensor:
    """Attention under a mask of `packed_masks`, by one of `ATTENTION_KERNELS`."""
    if kernel in ("efficient", "cudnn"):
        return F.scaled_dot_product_attention(
            query_bhqd, key_bhkd, value_bhkd, attn_mask=mask_bqk[:, None]
        )
    scores_bhqk = (query_bhqd * query_bhqd.shape[-1] ** -0.5) @ key_bhkd.transpose(-1, -2)
    weights_bhqk = (_wide(scores_bhqk) + mask_bqk[:, None]).softmax(-1)
    return weights_bhqk.to(value_bhkd.dtype) @ value_bhkd


def _wide(x: Tensor) -> Tensor:
    """x in float32 at least: sums of exponentials lose too much below."""
    return x.float() if x.dtype.itemsize < 4 else x


def packed_masks(source_bt: Tensor, target_bt: Tensor, dtype: torch.dtype) -> Masks:
    """Masks of these segments, to add to scores."""
    later_qk = torch.ones(target_bt.shape[1], target_bt.shape[1], device=target_bt.device).triu(1)
    encoder = source_bt[:, :, None] != source_bt[:, None, :]
    decoder = (target_bt[:, :, None] != target_bt[:, None, :]) | later_qk.bool()
    cross = target_bt[:, :, None] != source_bt[:, None, :]
    return Masks(*(hidden.to(dtype) * _HIDDEN_SCORE for hidden in (encoder, decoder, cross)))


def packed_embed(embedding_ve: Tensor, side: SideTensors, mode: PackedMode) -> Tensor:
    """Vectors of the tokens at their positions."""
    width = embedding_ve.shape[1]
    table_te = position_table(side.tokens.shape[1], width, embedding_ve.device)
    x_bte = F.embedding(side.tokens, embedding_ve) * width**0.5
    return drop((x_bte + table_te.to(x_bte.dtype)[side.positions]).to(mode.dtype), mode.dropout)


def packed_encoder_layer(
    x_bte: Tensor, layer: Tensors, mask_bqk: Tensor, heads: int, mode: PackedMode
) -> tuple[Tensor, Tensor]:
    """One encoder, and the normed vectors that its queries and keys are made of."""
    attention = _attention_mode("self_attention", heads, mask_bqk, mode)
    x_bte, normed_bte = attention_sublayer(x_bte, None, layer, attention, mode.dropout)
    return feed_forward_sublayer(x_bte, layer, mode.dropout), normed_bte


def packed_decoder_layer(
    x_bte: Tensor, memory_bke: Tensor, layer: Tensors, masks: tuple[Tensor, Tensor],
    heads: int, mode: PackedMode,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One decoder, and the normed vectors that its cross-attention's queries are made of."""
    attention = _attention_mode("self_attention", heads, masks[0], mode)
    x_bte, _ = attention_sublayer(x_bte, None, layer, attention, mode.dropout)
    attention = _attention_mode("cross_attention", heads, masks[1], mode)
    x_bte, normed_bte = attention_sublayer(x_bte, memory_bke, layer, attention, mode.dropout)
    return feed_forward_sublayer(x_bte, layer, mode.dropout), normed_bte


def _attention_mode(name: str, heads: int, mask_bqk: Tensor, mode: PackedMode) -> AttentionMode:
    return AttentionMode(name, heads, partial(attend, mask_bqk=mask_bqk, kernel=mode.kernel))


def token_loss(x_bte: Tensor, embedding_ve: Tensor, labels_bt: Tensor, smoothing: float) -> Tensor:
    """Mean cross-entropy of the labels, smoothed, padding left out."""
    logits_btv = _wide(times(x_bte, embedding_ve.t()))
    labels_bt = labels_bt.long()
    logsumexp_bt = logits_btv.logsumexp(-1)
    right_bt = logits_btv.gather(-1, labels_bt[..., None])[..., 0]
    expected_bt = (1 - smoothing) * right_bt + smoothing * logits_btv.mean(-1)
    real_bt = labels_bt != PAD
    return ((logsumexp_bt - expected_bt) * real_bt).sum() / real_bt.sum().clamp(min=1)


def taught_loss(
    vectors: tuple[Tensor, Tensor], matrices: tuple[Tensor, Tensor], queries: SideTensors,
    keys: SideTensors,
) -> TaughtLoss:  # fmt: skip
    """The loss of one head's rows of weights on the spans they are taught.

    Vectors are those of queries and of keys; the matrices are the head's part of w_query, w_key.
    """
    query_bqd, key_bkd = (times(x, matrix) for x, matrix in zip(vectors, matrices, strict=True))
    scores_bqk = (query_bqd * query_bqd.shape[-1] ** -0.5) @ key_bkd.transpose(-1, -2)
    hidden_bqk = queries.segments[:, :, None] != keys.segments[:, None, :]
    scores_bqk = _wide(scores_bqk).masked_fill(hidden_bqk, _HIDDEN_SCORE)
    position_k = torch.arange(scores_bqk.shape[-1], device=scores_bqk.device)
    start_bq1, stop_bq1 = queries.start[..., None], queries.stop[..., None]
    inside_bqk = (position_k >= start_bq1) & (position_k < stop_bq1)
    in_span_bq = scores_bqk.masked_fill(~inside_bqk, _HIDDEN_SCORE).logsumexp(-1)
    taught_bq = queries.start < queries.stop
    count = taught_bq.sum().clamp(min=1)
    loss = ((scores_bqk.logsumexp(-1) - in_span_bq) * taught_bq).sum() / count
    best_bq = scores_bqk.argmax(-1)
    right_bq = (best_bq >= queries.start) & (best_bq < queries.stop)
    return TaughtLoss(loss, right_bq.sum() / count)


@dataclass(frozen=True)
class LossFunctions:
    """The parts of the loss, compiled or as they are."""

    masks: Callable[..., Masks] = packed_masks
    embed: Callable[..., Tensor] = packed_embed
    encoder_layer: Callable[..., tuple[Tensor, Tensor]] = packed_encoder_layer
    decoder_layer: Callable[..., tuple[Tensor, Tensor]] = packed_decoder_layer
    token_loss: Callable[..., Tensor] = token_loss
    taught_loss: Callable[..., TaughtLoss] = taught_loss


@lru_cache(maxsize=2)
def loss_functions(compiled: bool) -> LossFunctions:
    """The parts of the loss; a layer is compiled once and serves for all layers like it."""
    plain = LossFunctions()
    if not compiled:
        return plain
    functions: dict[str, Any] = vars(plain)
    compiled_functions = {
        name: torch.compile(function, dynamic=False, fullgraph=True)
        for name, function in functions.items()
    }
    return LossFunctions(**compiled_functions)


def packed_loss(
    parameters: Tensors,
    config: Config,
    batch: PackedTensors,
    mode: PackedMode,
    taught: Sequence[TaughtHead] = (),
    *,
    translated: bool = True,
) -> tuple[Tensor, list[TaughtLoss]]:
    """Mean loss over the labels of a packed batch, and the loss of each taught head.

    Without translation the first is 0, and no decoder runs that no taught head needs.
    """
    run = loss_functions(mode.compiled)
    masks = run.masks(batch.source.segments, batch.given.segments, mode.dtype)
    taught_losses: dict[TaughtHead, TaughtLoss] = {}
    embedding_ve = parameters["embedding"]
    x_bte = run.embed(embedding_ve, batch.source, mode)
    for number in range(config.layers):
        layer = part(parameters, f"encoder.{number}.")
        x_bte, normed_bte = run.encoder_layer(x_bte, layer, masks.encoder, config.heads, mode)
        for head in _layer_heads(taught, "encoder", number):
            matrices = _head_matrices(layer, "self_attention", head.head, config)
            vectors = (normed_bte, normed_bte)
            taught_losses[head] = run.taught_loss(vectors, matrices, batch.source, batch.source)
    if not translated and all(head.part == "encoder" for head in taught):
        return x_bte.new_zeros(()), [taught_losses[head] for head in taught]
    memory_bke = norm(x_bte, parameters, "encoder.norm")
    x_bte = run.embed(embedding_ve, batch.given, mode)
    for number in range(config.layers):
        layer = part(parameters, f"decoder.{number}.")
        x_bte, normed_bte = run.decoder_layer(
            x_bte, memory_bke, layer, masks[1:], config.heads, mode
        )
        for head in _layer_heads(taught, "cross", number):
            matrices = _head_matrices(layer, "cross_attention", head.head, config)
            vectors = (normed_bte, memory_bke)
            taught_losses[head] = run.taught_loss(vectors, matrices, batch.given, batch.source)
    x_bte = norm(x_bte, parameters, "decoder.norm")
    loss = run.token_loss(x_bte, embedding_ve, batch.labels_bt, mode.smoothing)
    return loss, [taught_losses[head] for head in taught]


def _layer_heads(taught: Sequence[TaughtHead], attention: str, layer: int) -> list[TaughtHead]:
    return [head for head in taught if head.part == attention and head.layer == layer]


def _head_matrices(layer: Tensors, name: str, head: int, config: Config) -> tuple[Tensor, Tensor]:
    columns = slice(head * config.head_width, (head + 1) * config.head_width)
    return layer[f"{name}.w_query"][:, columns], layer[f"{name}.w_key"][:, columns]


def attention_kernel(kernel: str, device: torch.device) -> AbstractContextManager[None]:
    """On a GPU, the one implementation of PyTorch's attention that the name asks for."""
    if device.type != "cuda" or kernel not in ("efficient", "cudnn"):
        return nullcontext()
    backend = {"efficient": SDPBackend.EFFICIENT_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
    kernels: AbstractContextManager[None] = sdpa_kernel([backend[kernel], SDPBackend.MATH])
    return kernels
