"""One score of a watched model as a sum over what was written into its query and its key.

With the norms frozen query and key are sums over the components of the residual stream, a rotary
embedding turns each of them alike, and the score is a sum over pairs. That the terms sum to the
model's own score is checked.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.display import TextDisplay
from regard.errors import ArgumentError, BackendError
from regard.experiments.because import ScoreTerm, TokenComponent, sorted_terms
from regard.experiments.residual import Component
from regard.transformer.roles import check_number
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.changes.model_changes import AttentionProbe, SentenceCall, Words, tokens_of
from regard.watcher.changes.residual_layout import (
    FrozenModelNorm,
    ResidualBlock,
    ResidualLayout,
    in_float64,
    layout_of,
    matrix_of,
)
from regard.watcher.changes.text_rerun import TextRerun

# Of the length of the vector of all terms: the model's own sums are rounded at every layer.
ALLOWED = {"float64": 1e-6, "float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}


@dataclass(frozen=True, repr=False)
class ModelScore(TextDisplay):
    """A score of a watched model and its terms, the largest first; ``total`` is their sum.

    ``score`` is the model's own product of query and key, scaled, before any mask or bias.
    """

    layer: LayerKey
    head: int
    query: str
    key: str
    positions: tuple[int, int]
    score: float
    weight: float
    total: float
    terms: tuple[ScoreTerm, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The score and its terms as JSON values."""
        names = ("head", "query", "key", "score", "weight", "total")
        return {
            "part": self.layer.part,
            "layer": self.layer.layer,
            **{name: getattr(self, name) for name in names},
            "positions": list(self.positions),
            "terms": [term.to_dict() for term in self.terms],
            "counting": "layers and heads count from 0",
        }


@dataclass
class StreamCapture:
    """What every module wrote in one run: embeddings, inputs of projections, feed-forwards."""

    layout: ResidualLayout = field(repr=False)
    embedded: dict[str, Array] = field(default_factory=dict, repr=False)
    heads: dict[int, Array] = field(default_factory=dict, repr=False)
    feed_forwards: dict[int, Array] = field(default_factory=dict, repr=False)
    rotary: dict[int, Any] = field(default_factory=dict, repr=False)

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

    layer: LayerKey
    names: tuple[str, str]
    positions: tuple[int, int]
    score: float
    scale: float
    weight: float
    heads: int
    group: int


def model_because(rerun: TextRerun, word: Words, other: Words, layer: int, head: int) -> ModelScore:
    """The score of one word on another in one head, as a sum over pairs of components."""
    layout = layout_of(rerun.model)
    layer = check_number("layer", layer, len(layout.blocks))
    capture, pairs = StreamCapture(layout), []

    def look(call: SentenceCall) -> None:
        if call.layer.layer == layer:
            check_number("head", head, call.call.query.shape[1])
            pairs.append(_pair(call, word, other, head))

    with ExitStack() as stack:
        capture.attach(stack)
        rerun.run(AttentionProbe(look))
    pair = pairs[0]
    components, written_nte = stream_before(capture, layer, pair.positions, pair.heads)
    one_nd, other_nd = _factors(capture, layer, head, pair, written_nte)
    values_nm = one_nd @ other_nd.T * pair.scale
    both = [
        [
            TokenComponent("text", pair.positions[i], pair.names[i], x)
            for x in (*components, _bias(i))
        ]
        for i in range(2)
    ]
    terms = sorted_terms(
        ScoreTerm(float(values_nm[n, m]), both[0][n], both[1][m])
        for n, m in np.ndindex(*values_nm.shape)
        if values_nm[n, m] != 0
    )
    total = float(values_nm.sum())
    _check_sum(rerun, total, pair.score, values_nm)
    return ModelScore(pair.layer, head, pair.names[0], pair.names[1], pair.positions, pair.score,
                      pair.weight, total, terms)  # fmt: skip


def _factors(
    capture: StreamCapture, layer: int, head: int, pair: ScorePair, written_nte: Array
) -> list[Array]:
    """Query and key of the two tokens by components (n, d), the projection's bias last."""
    block, factors = capture.layout.blocks[layer], []
    for side, (project, number, heads) in enumerate((
        (block.query, head, pair.heads),
        (block.key, head // pair.group, pair.heads // pair.group),
    )):  # fmt: skip
        matrix, bias = project()
        width = len(bias) // heads
        at = slice(number * width, (number + 1) * width)
        vectors_nd = np.vstack([written_nte[:, side] @ matrix[:, at], bias[at]])
        rotary = capture.rotary.get(layer)
        factors.append(turned(block, rotary, vectors_nd, pair.positions[side]))
    return factors


def _bias(side: int) -> Component:
    return Component(("query bias", "key bias")[side])


def _pair(call: SentenceCall, word: Words, other: Words, head: int) -> ScorePair:
    """The tokens of two words with the largest weight between them, their score and weight."""
    (name, rows), (target, columns) = (
        tokens_of(call.query_text, word),
        tokens_of(call.key_text, other),
    )
    weights_qk = call.scores(np.array([head]), rows)[0].softmax(-1)[:, columns].cpu().numpy()
    row, column = np.unravel_index(int(weights_qk.argmax()), weights_qk.shape)
    query, key = int(rows[row]), int(columns[column])
    if weights_qk[row, column] == 0 and key > query:
        raise ArgumentError(
            f"{name} needs a word before it to look at, but {target} comes later: it is hidden."
        )
    inner = call.call
    group = inner.query.shape[1] // inner.key.shape[1]
    scale = inner.query.shape[-1] ** -0.5 if inner.scale is None else inner.scale
    query_d = in_float64(inner.query[call.sentence, head, query])
    key_d = in_float64(inner.key[call.sentence, head // group, key])
    score, weight = float(query_d @ key_d) * scale, float(weights_qk[row, column])
    return ScorePair(call.layer, (name, target), (query, key), score, scale, weight,
                     inner.query.shape[1], group)  # fmt: skip


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
        matrix, bias = matrix_of(block.projection)
        width = len(matrix) // heads
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
    norm = FrozenModelNorm.at(module, np.sum(written, axis=0))
    through = list(norm.apply(np.stack(written)))
    if not norm.bias_e.any():
        return components, through
    return [*components, Component("norm bias")], [*through, np.tile(norm.bias_e, (2, 1))]


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


def _check_sum(rerun: TextRerun, total: float, score: float, values_nm: Array) -> None:
    """Raise where the terms do not sum to the model's own score."""
    dtype = str(next(rerun.model.parameters()).dtype).removeprefix("torch.")
    allowed = ALLOWED[dtype] * max(1.0, float(np.sqrt((values_nm**2).sum())))
    if not abs(total - score) <= allowed:
        raise BackendError(
            f"the terms sum to {total:.4g}, but the model's score is {score:.4g}: "
            f"{type(rerun.model).__name__} does something in its layers that regard does not know, "
            "so they are not shown."
        )
