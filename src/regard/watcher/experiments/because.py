"""One score of a watched model as a sum over what was written into its query and its key.

With the norms frozen query and key are sums over the components of the residual stream, a rotary
embedding turns each of them alike, and the score is a sum over pairs. Known are the layers of
Llama, GPT-2 and BERT and of models built like them. That the terms sum to the model's own score is
checked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.errors import ArgumentError, BackendError
from regard.experiments.because import (
    NORM_BIAS,
    Component,
    FrozenNorm,
    ScoreDecomposition,
    ScoreFactor,
    ScoreTerm,
    TokenComponent,
    pair_terms,
    sorted_terms,
)
from regard.experiments.selection import Word, check_number, word_tokens
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments.intervention_call import Probe, SentenceCall
from regard.watcher.experiments.output_projection import linear_map
from regard.watcher.experiments.rerun import TextRerun, float_dtype

# Relative to the length of the vector of all terms: the model rounds its sums at every layer.
SUM_TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}


@dataclass(frozen=True)
class ResidualBlock:
    """One layer: norm and attention, norm and feed-forward; after each of them where ``post``.

    ``query`` and ``key`` are linear functions of the stream.
    """

    attention: Any = field(repr=False)
    attention_norm: Any = field(repr=False)
    projection: Any = field(repr=False)
    feed_forward: Any = field(repr=False)
    feed_forward_norm: Any = field(repr=False)
    query: Callable[[Any], Any] = field(repr=False)
    key: Callable[[Any], Any] = field(repr=False)


@dataclass(frozen=True)
class ResidualLayout:
    """Embeddings by name, whose outputs are added, and the blocks; BERT's norms come after."""

    embeddings: dict[str, Any] = field(repr=False)
    blocks: tuple[ResidualBlock, ...] = field(repr=False)
    embedding_norm: Any = None
    post: bool = False


def residual_layout(model: Any) -> ResidualLayout:
    """The layout of a model, by the names of its modules; raises BackendError if it is unknown."""
    base = getattr(model, getattr(model, "base_model_prefix", ""), model)
    for names, make in (("layers", _llama), ("h", _gpt2), ("encoder", _bert)):
        if hasattr(base, names):
            try:
                return make(base)
            except AttributeError:
                break
    raise BackendError(
        f"the residual stream of {type(model).__name__} cannot be followed: regard knows how the "
        "layers of Llama, GPT-2 and BERT and of models built like them add up, and these differ."
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
                layer.post_attention_layernorm, attention.q_proj, attention.k_proj,
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
                own.query, own.key,
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


def matrix_and_bias(module: Any, width: int, like: Any) -> tuple[Array, Array]:
    """Matrix (in, out) and bias (out) of a linear module, from what it does to unit vectors."""
    matrix, bias_e = linear_map(module, like.new_zeros(width))
    return in_float64(matrix), in_float64(bias_e)


def _third(module: Any, number: int) -> Callable[[Any], Any]:
    """A third of what a module returns: GPT-2 makes query, key and value at once."""
    return lambda x_te: module(x_te).chunk(3, dim=-1)[number]


@dataclass
class StreamCapture:
    """What every module wrote in one run: embeddings, inputs of projections, feed-forwards."""

    layout: ResidualLayout = field(repr=False)
    embedded: dict[str, Array] = field(default_factory=dict, repr=False)
    heads: dict[int, Array] = field(default_factory=dict, repr=False)
    feed_forwards: dict[int, Array] = field(default_factory=dict, repr=False)
    rotary: dict[int, Any] = field(default_factory=dict, repr=False)
    stream: Any = field(default=None, repr=False)  # a tensor of the model's dtype and device

    def attach(self, stack: ExitStack) -> None:
        """Hooks for the time of the stack."""
        for name, module in self.layout.embeddings.items():
            stack.callback(module.register_forward_hook(self._output(self.embedded, name)).remove)
        for number, block in enumerate(self.layout.blocks):
            hooks = (
                block.projection.register_forward_pre_hook(self._input(number)),
                block.feed_forward.register_forward_hook(self._output(self.feed_forwards, number)),
                block.attention.register_forward_pre_hook(self._turn(number), with_kwargs=True),
            )
            for hook in hooks:
                stack.callback(hook.remove)

    def _output(self, store: dict[Any, Array], name: Any) -> Any:
        def take(module: Any, arguments: Any, output: Any) -> None:
            # Positions are often embedded once for all sentences of a batch, or without its axis.
            array = in_float64(output)
            store[name] = array.reshape(-1, *array.shape[-2:])[0]

        return take

    def _input(self, number: int) -> Any:
        def take(module: Any, arguments: Any) -> None:
            self.stream = arguments[0].detach()
            array = in_float64(arguments[0])
            self.heads[number] = array.reshape(-1, *array.shape[-2:])[0]

        return take

    def _turn(self, number: int) -> Any:
        def take(module: Any, arguments: Any, keywords: dict[str, Any]) -> None:
            self.rotary[number] = keywords.get("position_embeddings")

        return take


@dataclass(frozen=True)
class ScorePair:
    """Two tokens, the score between them in one head, and the number of heads that share a key."""

    key: LayerKey
    names: tuple[str, str]
    positions: tuple[int, int]
    score: float
    scale: float
    weight: float
    heads: int
    group: int


def because(
    rerun: TextRerun,
    word: Word,
    other: Word,
    layer: int,
    head: int,
    *,
    part: str | None,
    against: Word | None,
) -> ScoreDecomposition:
    """The score of one word on another in one head, as a sum over pairs of components."""
    layout = residual_layout(rerun.model)
    layer = check_number("layer", layer, len(layout.blocks))
    capture, pairs = StreamCapture(layout), []

    def look(call: SentenceCall) -> None:
        if call.layer == layer and part in (None, call.part):
            check_number("head", head, call.call.query.shape[1])
            pair = score_pair(call, word, other, head)
            pairs.append(pair)
            if against is not None:
                query = (pair.positions[0], pair.positions[0] + 1)
                pairs.append(score_pair(call, query, against, head))

    with ExitStack() as stack:
        capture.attach(stack)
        rerun.run(Probe(look))
    if not pairs:
        parts = sorted({key.part for key in rerun.heads})
        raise ArgumentError(f"part must be one of {', '.join(parts)}, got {part!r}.")
    terms: list[ScoreTerm] = []
    for sign, pair in zip((1, -1), pairs[: 1 if against is None else 2], strict=False):
        factors = _factors(capture, layer, head, pair, pairs[0].names[0])
        of_pair = [x for x in pair_terms(*factors, sign * pair.scale) if x.value != 0]
        _check_sum(rerun, sign * pair.score, of_pair)
        terms += of_pair
    one, rival = pairs[0], None if against is None else pairs[1]
    return ScoreDecomposition(
        part=one.key.part,
        layer=layer,
        head=head,
        query=one.names[0],
        key=one.names[1],
        positions=one.positions,
        score=one.score,
        weight=one.weight,
        total=float(sum(x.value for x in terms)),
        terms=sorted_terms(terms),
        against="" if rival is None else rival.names[1],
        score_against=0.0 if rival is None else rival.score,
        sentence=" ".join(rerun.seen.texts(one.key.part)[0].words),
    )


def _factors(
    capture: StreamCapture, layer: int, head: int, pair: ScorePair, query_name: str
) -> tuple[ScoreFactor, ScoreFactor]:
    """Query and key of the two tokens by components, the projection's bias last."""
    components, written_nte = stream_before(capture, layer, pair.positions, pair.heads)
    block = capture.layout.blocks[layer]
    sides = (
        (block.query, head, pair.heads, query_name),
        (block.key, head // pair.group, pair.heads // pair.group, pair.names[1]),
    )
    factors = []
    for side, (project, number, heads, name) in enumerate(sides):
        matrix, bias = matrix_and_bias(project, written_nte.shape[-1], capture.stream)
        width = len(bias) // heads
        at = slice(number * width, (number + 1) * width)
        vectors_nd = np.vstack([written_nte[:, side] @ matrix[:, at], bias[at]])
        position = pair.positions[side]
        turned_nd = turned(block, capture.rotary.get(layer), vectors_nd, position)
        projection_bias = Component(("query bias", "key bias")[side])
        sources = tuple(
            TokenComponent("text", position, name, x) for x in (*components, projection_bias)
        )
        factors.append(ScoreFactor(sources, turned_nd))
    return factors[0], factors[1]


def score_pair(call: SentenceCall, word: Word, other: Word, head: int) -> ScorePair:
    """The tokens of two words with the largest weight between them, their score and weight."""
    (name, rows), (target, columns) = (
        word_tokens(call.query_text, word),
        word_tokens(call.key_text, other),
    )
    weights_qk = call.scores(np.array([head]), rows)[0].softmax(-1)[:, columns].cpu().numpy()
    row, column = np.unravel_index(int(weights_qk.argmax()), weights_qk.shape)
    query, key = int(rows[row]), int(columns[column])
    if weights_qk[row, column] == 0 and key > query:
        raise ArgumentError(
            f"{name} can only look at words before it, but {target} comes later: it is hidden."
        )
    inner = call.call
    group = inner.query.shape[1] // inner.key.shape[1]
    scale = inner.query.shape[-1] ** -0.5 if inner.scale is None else inner.scale
    query_d = in_float64(inner.query[call.row, head, query])
    key_d = in_float64(inner.key[call.row, head // group, key])
    score, weight = float(query_d @ key_d) * scale, float(weights_qk[row, column])
    return ScorePair(
        call.key, (name, target), (query, key), score, scale, weight, inner.query.shape[1], group
    )


def stream_before(
    capture: StreamCapture, layer: int, positions: tuple[int, int], heads: int
) -> tuple[list[Component], Array]:
    """Components and what each wrote (n, 2, e) at two tokens, through the norm before a layer."""
    layout, at = capture.layout, list(positions)
    components = [Component(name) for name in capture.embedded]
    written = [x[[min(i, len(x) - 1) for i in at]] for x in capture.embedded.values()]
    if layout.embedding_norm is not None:
        components, written = normed(layout.embedding_norm, components, written)
    for number, block in enumerate(layout.blocks[:layer]):
        inputs = capture.heads[number].shape[-1]
        matrix, bias = matrix_and_bias(block.projection, inputs, capture.stream)
        width = inputs // heads
        for head in range(heads):
            part = slice(head * width, (head + 1) * width)
            components.append(Component("head", layer=number, head=head))
            written.append(capture.heads[number][at][:, part] @ matrix[part])
        if bias.any():
            components.append(Component(f"output bias {number}"))
            written.append(np.tile(bias, (2, 1)))
        if layout.post:
            components, written = normed(block.attention_norm, components, written)
        components.append(Component("feed-forward", layer=number))
        written.append(capture.feed_forwards[number][at])
        if layout.post:
            components, written = normed(block.feed_forward_norm, components, written)
    if not layout.post:
        components, written = normed(layout.blocks[layer].attention_norm, components, written)
    return components, np.stack(written)


def normed(
    module: Any, components: list[Component], written: list[Array]
) -> tuple[list[Component], list[Array]]:
    """Every component through a norm with its scale frozen, and the norm's bias as one more."""
    norm = frozen_norm(module, np.sum(written, axis=0))
    through = list(norm.apply(np.stack(written)))
    if not norm.bias_e.any():
        return components, through
    return [*components, NORM_BIAS], [*through, np.tile(norm.bias_e, (2, 1))]


def frozen_norm(module: Any, x_te: Array) -> FrozenNorm:
    """A norm of torch as it acts on these vectors; RMSNorm does not remove the mean."""
    if module.weight.is_meta:
        raise BackendError(
            f"the weights of {type(module).__name__} are offloaded, and because needs them: load "
            "the model into memory, without a device_map that leaves parts on the disk or the CPU."
        )
    gain_e = in_float64(module.weight)
    bias = getattr(module, "bias", None)
    bias_e = np.zeros(len(gain_e)) if bias is None else in_float64(bias)
    epsilon = next(
        float(getattr(module, x)) for x in ("eps", "variance_epsilon") if hasattr(module, x)
    )
    centred = "RMS" not in type(module).__name__
    return FrozenNorm.from_run(gain_e, bias_e, x_te, epsilon=epsilon, centred=centred)


def turned(block: ResidualBlock, rotary: Any, vectors_nd: Array, position: int) -> Array:
    """Vectors with the rotary embedding of a position, by the model's own function."""
    if rotary is None:
        return vectors_nd
    import torch

    apply = getattr(sys.modules[type(block.attention).__module__], "apply_rotary_pos_emb", None)
    if apply is None:
        raise BackendError(
            f"{type(block.attention).__name__} turns query and key in a way of its own: its score "
            "cannot be divided."
        )
    cos, sin = (x[:1, position : position + 1].double().cpu() for x in rotary)
    vectors = torch.from_numpy(vectors_nd)[None, :, None]
    return np.asarray(apply(vectors, vectors, cos, sin)[0][0, :, 0].numpy())


def _check_sum(rerun: TextRerun, score: float, terms: list[ScoreTerm]) -> None:
    """Raise where the terms do not sum to the model's own score."""
    values_n = np.array([x.value for x in terms])
    total = float(values_n.sum())
    dtype = float_dtype(rerun.model)
    allowed = SUM_TOLERANCE[dtype] * max(1.0, float(np.sqrt((values_n**2).sum())))
    if not abs(total - score) <= allowed:
        raise BackendError(
            f"the terms sum to {total:.4g}, but the model's score is {score:.4g}: "
            f"{type(rerun.model).__name__} does something in its layers that regard does not know, "
            "so they are not shown."
        )
