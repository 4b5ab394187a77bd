"""Inputs of the Steps view: names and matrices as computed, serialised into one buffer.

The page works the stages out itself (web/steps/attend.js), so that switches and the reader's own
numbers need no answer from anybody; here are only what they start from. The bytes are: how long the
header is (uint32), the header (JSON, padded with spaces to a multiple of 8 with the first four),
then the matrices, float64, little endian, row after row.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.textbook.examples import EXAMPLES, run_example
from regard.textbook.examples.story import Example
from regard.textbook.steps import Steps
from regard.textbook.why import matrix, sentence_words
from regard.transformer.reading import Reading
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
        """As the page takes it."""
        shapes, blocks, start = {}, [], 0
        for name, array in self.matrices.items():
            shapes[name] = [*array.shape, start]
            blocks.append(np.ascontiguousarray(array, "<f8").tobytes())
            start += array.size
        plain = {x: y for x, y in asdict(self).items() if x not in ("matrices", "more")}
        header = json.dumps({**plain, **self.more, "matrices": shapes}, allow_nan=False).encode()
        header += b" " * (-(4 + len(header)) % 8)
        return struct.pack("<I", len(header)) + header + b"".join(blocks)


def data_of_reading(
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
        more={"part": part, "layer": layer, "head": head, "layers": sizes.layers,
              "heads": sizes.heads},
    )  # fmt: skip


def data_of_steps(steps: Steps, title: str = "", *, head: int = 0, sentence: int = 0) -> StepsData:
    """One head of any steps, from x and the parameters where there are any."""
    words = sentence_words(steps, sentence)
    queries, keys = (len(matrix(steps, x, head, sentence)) for x in ("query", "key"))
    names = {n: words if len(words) == n else tuple(map(str, range(n))) for n in (queries, keys)}
    matrices = {x: matrix(steps, x, head, sentence) for x in ("query", "key", "value")}
    if steps.x is not None and steps.w_query is not None:
        matrices = {"x": matrix(steps, "x", head, sentence)} | {
            x: _of_head(getattr(steps, x), head, matrices[x.removeprefix("w_")].shape[1])
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


def data_of_example(name: str) -> StepsData:
    """A document's example, with what it claims beside what is true."""
    example = run_example(name)
    data = data_of_steps(example.steps, example.title)
    return StepsData(
        **{**vars(data), "about": example.computes, "more": {"example": example_summary(example)}}
    )


def example_summary(example: Example) -> dict[str, Any]:
    """Claims of a document's example beside the truth, without the numbers in between."""
    plain = example.to_dict()
    return {x: plain[x] for x in ("name", "title", "sentence", "computes", "claims", "remarks")}


def example_summaries() -> list[dict[str, Any]]:
    """Every document's example."""
    return [example_summary(run_example(name)) for name in EXAMPLES]


def _of_head(parameters: Array, head: int, width: int) -> Array:
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
