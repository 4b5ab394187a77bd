"""Data of the Steps view around one head: a layer from its input on, and the next words.

The page works the stages out itself (web/steps/layer_path.js), as it does for one head. The bytes
are those of ``steps_data``, with parameters after the float64 matrices: int8 with a float32 scale
for each output where the model stores them so, else float32, each at a multiple of 8 bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.blas import one_blas_thread
from regard.engine.int8_matrix import Int8Matrix
from regard.text.tokens import SPACE, Tokenizer, special_name
from regard.transformer.config import END, NORM_EPSILON, positions
from regard.transformer.layers import FeedForward, Matrix, Norm, in_dtype, join_heads
from regard.transformer.model import Transformer
from regard.transformer.residual import ResidualRun
from regard.transformer.roles import check_number, check_part
from regard.typing import Array

LIKELIEST = 10  # next tokens that are shown at each position
VOCABULARY_BLOCK = 4096  # rows of the embedding in float64 at a time


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
        for name, matrix in self.parameters.items():
            kind, numbers = _stored(matrix)
            starts = []
            for block in numbers:
                starts.append(start)
                blocks.append(block + bytes(-len(block) % 8))
                start += len(blocks[-1])
            parameters[name] = {"shape": list(matrix.shape), "kind": kind, "starts": starts}
        fields = {**self.header, "matrices": shapes, "parameters": parameters}
        header = json.dumps(fields, allow_nan=False).encode()
        header += b" " * (-(4 + len(header)) % 8)
        return struct.pack("<I", len(header)) + header + b"".join(blocks)


def data_of_layer(run: ResidualRun, part: str, layer: int) -> PathData:
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
        "part": part, "layer": layer, "layers": model.config.layers, "heads": model.config.heads,
        "tokens": list(texts[0].tokens), "words": list(texts[0].words),
        "word_of_token": list(texts[0].word_of_token), "ids": list(map(int, ids)),
        "vocabulary": model.config.vocabulary, "positions": run.reading.positions,
        "error": run.reading.vectors(part, layer).error, "epsilon": NORM_EPSILON,
    }  # fmt: skip
    return PathData(header, matrices, parameters | _first_vectors(model, ids))


def data_of_next_words(run: ResidualRun) -> PathData:
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
        _with_chosen(np.argsort(-logits_v, kind="stable")[:LIKELIEST], token)
        for logits_v, token in zip(logits_tv, chosen, strict=True)
    ]
    shown = sorted({token for row in candidates for token in row})
    header = {
        "tokens": list(run.reading.target.tokens),
        "vocabulary": model.config.vocabulary, "finished": run.reading.translated.finished,
        "ids": shown, "names": [token_name(model.tokenizer, token) for token in shown],
        "candidates": [[shown.index(token) for token in row] for row in candidates],
        "chosen": [shown.index(token) for token in chosen],
        "logsumexp": (highest_t + np.log(sums_t)).tolist(),
        "error": run.reading.vectors("cross", model.config.layers - 1).error,
        "epsilon": NORM_EPSILON, "given": len(tokens),
    }  # fmt: skip
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
    """The likeliest tokens; the one that the translation went on with is last if it is none."""
    tokens = [int(x) for x in likeliest_v]
    return tokens if token in tokens else [*tokens, token]


@one_blas_thread()
def _logits(model: Transformer, final_te: Array) -> Array:
    vocabulary = model.config.vocabulary
    blocks = [
        final_te @ np.asarray(model.embedding_ve[np.arange(start, end)], np.float64).T
        for start in range(0, vocabulary, VOCABULARY_BLOCK)
        for end in [min(vocabulary, start + VOCABULARY_BLOCK)]
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
