"""The modules that write into the residual stream of Llama, GPT-2 and BERT and their like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.errors import BackendError
from regard.typing import Array


@dataclass(frozen=True)
class ResidualBlock:
    """One layer: norm and attention, norm and feed-forward; after each of them where ``post``.

    ``query`` and ``key`` give matrix (e, h d) and bias (h d) of the projections.
    """

    attention: Any = field(repr=False)
    attention_norm: Any = field(repr=False)
    projection: Any = field(repr=False)
    feed_forward: Any = field(repr=False)
    feed_forward_norm: Any = field(repr=False)
    query: Callable[[], tuple[Array, Array]] = field(repr=False)
    key: Callable[[], tuple[Array, Array]] = field(repr=False)


@dataclass(frozen=True)
class ResidualLayout:
    """Embeddings by name, whose outputs are added, and the blocks; BERT's norms come after."""

    embeddings: dict[str, Any] = field(repr=False)
    blocks: tuple[ResidualBlock, ...] = field(repr=False)
    embedding_norm: Any = None
    post: bool = False


def layout_of(model: Any) -> ResidualLayout:
    """The layout of a model, by the names of its modules; raises where it is another one."""
    base = getattr(model, model.base_model_prefix, model)
    for names, make in (("layers", _llama), ("h", _gpt2), ("encoder", _bert)):
        if hasattr(base, names):
            try:
                return make(base)
            except AttributeError:
                break
    raise BackendError(
        f"the residual stream of {type(model).__name__} cannot be followed: regard knows how the "
        "layers of Llama, GPT-2 and BERT and those built like them add up, and these are built "
        "otherwise."
    )


def _llama(base: Any) -> ResidualLayout:
    blocks = []
    for layer in base.layers:
        attention = layer.self_attn
        others = ("pre_feedforward_layernorm", "post_feedforward_layernorm")
        if any(hasattr(layer, x) for x in others) or hasattr(attention, "q_norm"):
            raise AttributeError("another norm inside the layer")
        blocks.append(
            ResidualBlock(
                attention, layer.input_layernorm, attention.o_proj, layer.mlp,
                layer.post_attention_layernorm, _linear(attention.q_proj),
                _linear(attention.k_proj),
            )
        )  # fmt: skip
    return ResidualLayout({"embedding": base.embed_tokens}, tuple(blocks))


def _gpt2(base: Any) -> ResidualLayout:
    blocks = []
    for layer in base.h:
        attention = layer.attn
        blocks.append(
            ResidualBlock(
                attention, layer.ln_1, attention.c_proj, layer.mlp, layer.ln_2,
                _third(attention.c_attn, 0), _third(attention.c_attn, 1),
            )
        )  # fmt: skip
    return ResidualLayout({"embedding": base.wte, "position": base.wpe}, tuple(blocks))


def _bert(base: Any) -> ResidualLayout:
    blocks = []
    for layer in base.encoder.layer:
        own, output = getattr(layer.attention, "self"), layer.attention.output  # noqa: B009
        blocks.append(
            ResidualBlock(
                own, output.LayerNorm, output.dense, layer.output.dense, layer.output.LayerNorm,
                _linear(own.query), _linear(own.key),
            )
        )  # fmt: skip
    table = base.embeddings
    embeddings = {
        "embedding": table.word_embeddings,
        "position": table.position_embeddings,
        "token type": table.token_type_embeddings,
    }
    return ResidualLayout(embeddings, tuple(blocks), table.LayerNorm, post=True)


def in_float64(tensor: Any) -> Array:
    """A tensor as an array in float64."""
    array: Array = tensor.detach().double().cpu().numpy()
    return array


def matrix_of(module: Any) -> tuple[Array, Array]:
    """Matrix (in, out) and bias (out) of a linear layer, or of the Conv1D of GPT-2."""
    weight = in_float64(module.weight)
    matrix = weight if type(module).__name__ == "Conv1D" else weight.T
    bias = getattr(module, "bias", None)
    return matrix, np.zeros(matrix.shape[1]) if bias is None else in_float64(bias)


def _linear(module: Any) -> Callable[[], tuple[Array, Array]]:
    _ = module.weight  # another kind of layer has none
    return lambda: matrix_of(module)


def _third(module: Any, number: int) -> Callable[[], tuple[Array, Array]]:
    def part() -> tuple[Array, Array]:
        matrix, bias = matrix_of(module)
        width = len(bias) // 3
        at = slice(number * width, (number + 1) * width)
        return matrix[:, at], bias[at]

    return part


@dataclass(frozen=True)
class FrozenModelNorm:
    """A norm with the scale that it had for some vectors: linear in what they are a sum of."""

    factor_te: Array
    bias_e: Array
    centred: bool

    @classmethod
    def at(cls, module: Any, x_te: Array) -> FrozenModelNorm:
        """LayerNorm removes the mean, RMSNorm does not."""
        weight_e = in_float64(module.weight)
        bias = getattr(module, "bias", None)
        bias_e = np.zeros(len(weight_e)) if bias is None else in_float64(bias)
        centred = "RMS" not in type(module).__name__
        if centred:
            x_te = x_te - x_te.mean(axis=-1, keepdims=True)
        epsilon = next(
            float(getattr(module, x)) for x in ("eps", "variance_epsilon") if hasattr(module, x)
        )
        scale_t1 = np.sqrt((x_te**2).mean(axis=-1, keepdims=True) + epsilon)
        return cls(weight_e / scale_t1, bias_e, centred)

    def apply(self, written_nte: Array) -> Array:
        """Each component through the norm, without the bias."""
        if self.centred:
            written_nte = written_nte - written_nte.mean(axis=-1, keepdims=True)
        return np.asarray(written_nte * self.factor_te)
