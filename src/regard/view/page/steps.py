"""Data of the Steps view: the inputs of one head, the layer around it, and the next words."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from regard.blas import one_blas_thread
from regard.engine.int8_matrix import Int8Matrix
from regard.errors import ArgumentError
from regard.experiments.selection import check_number, check_part
from regard.text.tokens import SPACE, Tokenizer, special_name
from regard.textbook.examples import EXAMPLES, run_example
from regard.textbook.examples.story import Example
from regard.textbook.steps import Steps
from regard.textbook.why import matrix, sentence_words
from regard.transformer.config import END, NORM_EPSILON, positions
from regard.transformer.layers import FeedForward, Matrix, Norm, in_dtype, join_heads
from regard.transformer.model import Transformer
from regard.transformer.reading import Reading
from regard.transformer.residual import ResidualRun
from regard.typing import Array

PROJECTIONS = ("w_query", "w_key", "w_value")


@dataclass(frozen=True)
class StepsData:
    """The start of one head's computation; web/steps/attend.js says what each field means."""

    title: str
    queries: Sequence[str]
    keys: Sequence[str]
    matrices: Mapping[str, Array]
    causal: bool = False
    scale: float | None = None
    x_error: float = 0.0
    position: bool = False
    about: str = ""
    note: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        plain = {x: y for x, y in vars(self).items() if x not in ("matrices", "more")}
        return PathData({**plain, **self.more}, self.matrices, {}).to_bytes()


def reading_data(
    reading: Reading, part: str, layer: int | None = None, head: int | None = None
) -> StepsData:
    """One head of a model, with the model's own numbers; the highlight's unless named."""
    link = reading.highlight().link
    first = (link.layer, link.head) if part == "encoder" else (0, 0)
    layer, head = first[0] if layer is None else layer, first[1] if head is None else head
    queries, keys = reading.texts(part)
    vectors, parameters = reading.vectors(part, layer), reading.matrices(part, layer)
    sizes = reading.model.config
    width = sizes.head_width
    reading.weights(part=part, layer=layer, head=head)  # says what is wrong with the head
    of_head = slice(head * width, (head + 1) * width)
    matrices = {"x": vectors.x_qe}
    matrices |= {x: np.asarray(parameters.part(x)[:, of_head]) for x in PROJECTIONS}
    if part == "cross":
        matrices["memory"] = vectors.memory_ke
    roles = reading.model.roles.heads(part)
    role = roles[layer, head].described if (layer, head) in roles else ""
    return StepsData(
        title=f"{part}, layer {layer}, head {head}",
        about=role,
        queries=queries.tokens,
        keys=keys.tokens,
        matrices=matrices,
        causal=part == "decoder",
        x_error=vectors.error,
        position=True,
        more={
            "part": part,
            "layer": layer,
            "head": head,
            "layers": sizes.layers,
            "heads": sizes.heads,
        },
    )


def steps_data(steps: Steps, title: str = "", *, head: int = 0, sentence: int = 0) -> StepsData:
    """One head of any steps, from x and the parameters where there are any."""
    words = sentence_words(steps, sentence)
    queries, keys = (len(matrix(steps, x, head, sentence)) for x in ("query", "key"))
    names = {n: words if len(words) == n else tuple(map(str, range(n))) for n in (queries, keys)}
    matrices = {x: matrix(steps, x, head, sentence) for x in ("query", "key", "value")}
    if steps.x is not None and steps.w_query is not None:
        matrices = {"x": matrix(steps, "x", head, sentence)} | {
            x: _head_columns(getattr(steps, x), head, matrices[x.removeprefix("w_")].shape[1])
            for x in PROJECTIONS
        }
    causal, mask = _mask(steps, head, sentence)
    return StepsData(
        title=title or "Steps",
        queries=names[queries],
        keys=names[keys],
        matrices=matrices if mask is None else matrices | {"mask": mask},
        causal=causal,
        scale=steps.scale,
        x_error=steps.x_error,
    )


def example_data(name: str) -> StepsData:
    """A document's example, with its claims and the correct numbers."""
    example = run_example(name)
    data = steps_data(example.steps, example.title)
    return replace(data, about=example.computes, more={"example": example_summary(example)})


def example_summary(example: Example) -> dict[str, Any]:
    """Claims of a document's example and the correct numbers, without the steps."""
    plain = example.to_dict()
    return {x: plain[x] for x in ("name", "title", "sentence", "computes", "claims", "remarks")}


def example_summaries() -> list[dict[str, Any]]:
    """Every document's example."""
    return [example_summary(run_example(name)) for name in EXAMPLES]


def _head_columns(parameters: Array, head: int, width: int) -> Array:
    return parameters[:, head * width : (head + 1) * width]


def _mask(steps: Steps, head: int, sentence: int) -> tuple[bool, Array | None]:
    """Whether the mask is the causal one, and else the mask itself."""
    if steps.masked is None:
        return False, None
    if steps.softcap is not None:
        raise ArgumentError("the page shows steps without softcap: leave it out.")
    masked_qk = matrix(steps, "masked", head, sentence)
    scaled_qk = matrix(steps, "scaled", head, sentence)
    hidden_qk = np.isneginf(masked_qk)
    above_qk = np.triu(np.ones(masked_qk.shape, bool), 1)
    if (hidden_qk == above_qk).all() and (masked_qk == scaled_qk)[~hidden_qk].all():
        return True, None
    bias_qk = np.where(hidden_qk, -np.inf, np.where(hidden_qk, 0.0, masked_qk) - scaled_qk)
    return False, bias_qk


LIKELIEST_TOKENS = 10  # next tokens that are shown at each position
VOCABULARY_BLOCK_ROWS = 1024  # rows of the embedding in float64 at a time


@dataclass(frozen=True)
class PathData:
    """Names and numbers of one buffer: a header, float64 matrices, and parameters."""

    header: Mapping[str, Any]
    matrices: Mapping[str, Array]
    parameters: Mapping[str, Matrix]

    def to_bytes(self) -> bytes:
        """As the page takes it (web/lib/api.js, decodeLayer)."""
        shapes, parameters, blocks, start = {}, {}, [], 0
        for name, array in self.matrices.items():
            shapes[name] = [*array.shape, start // 8]
            blocks.append(np.ascontiguousarray(array, "<f8").tobytes())
            start += len(blocks[-1])
        for name, parameter in self.parameters.items():
            kind, numbers = _stored(parameter)
            starts = []
            for block in numbers:
                starts.append(start)
                blocks.append(block + bytes(-len(block) % 8))
                start += len(blocks[-1])
            parameters[name] = {"shape": list(parameter.shape), "kind": kind, "starts": starts}
        fields = {**self.header, "matrices": shapes, "parameters": parameters}
        header = json.dumps(fields, allow_nan=False).encode()
        header += b" " * (-(4 + len(header)) % 8)
        return struct.pack("<I", len(header)) + header + b"".join(blocks)


def layer_data(run: ResidualRun, part: str, layer: int) -> PathData:
    """One attention of a layer from the layer's input on, with what comes before the first.

    After the encoder's attention and after cross-attention it is also the feed-forward layer.
    """
    model = run.reading.model
    layer = check_number("layer", layer, model.config.layers)
    check_part(part)
    stream, texts = run.stream(part), run.reading.texts(part)
    ids = run.reading.translated.source if part == "encoder" else run.given
    matrices = {
        "input": stream.x_te(stream.before(part, layer)),
        "joined": join_heads(run.attention(part, layer).output_bhqd)[0],
    }
    stack = "encoder" if part == "encoder" else "decoder"
    block = getattr(model, f"{stack}s")[layer]
    name = "cross_attention" if part == "cross" else "self_attention"
    parameters: dict[str, Matrix] = {"w_output": getattr(block, name).w_output}
    parameters |= _norm_parameters("attention_norm", getattr(block, f"{name}_norm"))
    if part != "decoder":
        parameters |= _feed_forward_parameters(block.feed_forward)
        parameters |= _norm_parameters("feed_forward_norm", block.feed_forward_norm)
    if layer == model.config.layers - 1 and part != "decoder":
        parameters |= _norm_parameters("last_norm", getattr(model, f"{stack}_norm"))
    header = {
        "part": part,
        "layer": layer,
        "layers": model.config.layers,
        "heads": model.config.heads,
        "tokens": list(texts[0].tokens),
        "words": list(texts[0].words),
        "word_of_token": list(texts[0].word_of_token),
        "ids": list(map(int, ids)),
        "vocabulary": model.config.vocabulary,
        "positions": run.reading.positions,
        "error": run.reading.vectors(part, layer).error,
        "epsilon": NORM_EPSILON,
    }
    return PathData(header, matrices, parameters | _first_vectors(model, ids))


def next_words_data(run: ResidualRun) -> PathData:
    """The last decoder's output, and for each position the likeliest next tokens.

    Logits and probabilities are worked out by the page from the tokens' vectors; of the other
    tokens it needs the log-sum-exp alone.
    """
    model, tokens = run.reading.model, run.reading.translated.tokens
    last_te = run.target.x_te()
    final_te = in_dtype(model.decoder_norm, np.float64)(last_te)
    logits_tv = _logits(model, final_te)
    highest_t = logits_tv.max(axis=1)
    sums_t = np.exp(logits_tv - highest_t[:, None]).sum(axis=1)
    chosen = [int(x) for x in (*run.given[1:], END)]
    candidates = [
        _with_chosen(np.argsort(-logits_v, kind="stable")[:LIKELIEST_TOKENS], token)
        for logits_v, token in zip(logits_tv, chosen, strict=True)
    ]
    shown = sorted({token for row in candidates for token in row})
    header = {
        "tokens": list(run.reading.target.tokens),
        "vocabulary": model.config.vocabulary,
        "finished": run.reading.translated.finished,
        "ids": shown,
        "names": [token_name(model.tokenizer, token) for token in shown],
        "candidates": [[shown.index(token) for token in row] for row in candidates],
        "chosen": [shown.index(token) for token in chosen],
        "logsumexp": (highest_t + np.log(sums_t)).tolist(),
        "error": run.reading.vectors("cross", model.config.layers - 1).error,
        "epsilon": NORM_EPSILON,
        "given": len(tokens),
    }
    parameters = _norm_parameters("last_norm", model.decoder_norm)
    vectors: Array = np.asarray(model.embedding_ve[np.array(shown)], np.float32)
    return PathData(header, {"last": last_te}, {**parameters, "vectors": vectors})


def token_name(tokenizer: Tokenizer, token: int) -> str:
    """A token by itself, with a plus where it continues a word."""
    if name := special_name(token):
        return name
    piece = tokenizer.piece(token)
    return piece.removeprefix(SPACE) or SPACE if piece.startswith(SPACE) else f"+{piece}"


def _with_chosen(likeliest_v: Array, token: int) -> list[int]:
    tokens = [int(x) for x in likeliest_v]
    return tokens if token in tokens else [*tokens, token]


@one_blas_thread()
def _logits(model: Transformer, final_te: Array) -> Array:
    vocabulary = model.config.vocabulary
    blocks = [
        final_te @ np.asarray(model.embedding_ve[np.arange(start, end)], np.float64).T
        for start in range(0, vocabulary, VOCABULARY_BLOCK_ROWS)
        for end in [min(vocabulary, start + VOCABULARY_BLOCK_ROWS)]
    ]
    return np.concatenate(blocks, axis=1)


def _first_vectors(model: Transformer, ids: Sequence[int]) -> dict[str, Matrix]:
    """Rows of the embedding, and the positions in float32 as the model adds them."""
    embedding_te = np.asarray(model.embedding_ve[np.array(ids)], np.float32)
    return {"embedding": embedding_te, "position": positions(len(ids), model.config.width)}


def _norm_parameters(name: str, norm: Norm) -> dict[str, Matrix]:
    return {f"{name}_gain": norm.gain[None], f"{name}_bias": norm.bias[None]}


def _feed_forward_parameters(layer: FeedForward) -> dict[str, Matrix]:
    biases = {"b_in": layer.b_in[None], "b_out": layer.b_out[None]}
    return {"w_in": layer.w_in, "w_out": layer.w_out, **biases}


def _stored(matrix: Matrix) -> tuple[str, list[bytes]]:
    """How a parameter is written, and its blocks of bytes."""
    if isinstance(matrix, Int8Matrix) and len(matrix.blocks) == 1 and not matrix.is_transposed:
        (block,) = matrix.blocks
        scale_f = np.asarray(block.scale_f, "<f4")
        return "int8", [np.ascontiguousarray(block.values_ef).tobytes(), scale_f.tobytes()]
    return "float32", [np.ascontiguousarray(matrix, "<f4").tobytes()]
