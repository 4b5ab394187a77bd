"""Steps: self-attention from vectors to output, every intermediate under its name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.blas import one_blas_thread
from regard.display import NotebookDisplay, render
from regard.errors import ArgumentError, expect, refuse_masked_array
from regard.textbook.options import (
    AttentionOptions,
    MaskRule,
    Window,
    band,
    check_dtypes,
    check_finite,
    check_lengths,
    check_mask,
    check_offset,
    check_positive,
    check_products,
    check_shapes,
)
from regard.textbook.stages import SPECIFICATION, AttentionInputs, run, scale_of
from regard.textbook.why import Why, read_row, why
from regard.typing import Float64Array

if TYPE_CHECKING:
    from regard.view.figure.picture import Picture
    from regard.view.worksheet.worksheet import Worksheet


def floats(name: str, array: ArrayLike) -> Float64Array:
    """Numbers as float64; the error for one that is not finite names its index."""
    refuse_masked_array(name, array)
    try:
        plain = np.asarray(array)
        numbers = np.asarray(plain.real, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} needs numbers in rows of equal length.") from None
    if np.iscomplexobj(plain):
        raise ArgumentError(f"{name} needs real numbers, but it has complex ones.")
    if not np.isfinite(numbers).all():
        index = [int(i) for i in np.argwhere(~np.isfinite(numbers))[0]]
        raise ArgumentError(
            f"{name} has {numbers[tuple(index)]} at {index}: it needs finite numbers."
        )
    return numbers


def projections(
    parameters: dict[str, ArrayLike], width: int, heads: int
) -> dict[str, Float64Array]:
    """w_query, w_key and w_value, each (e, h * d), as float64."""
    matrices = {name: floats(name, matrix) for name, matrix in parameters.items()}
    for name, matrix in matrices.items():
        expect(name, matrix, "e hd", e=width)
        if heads < 1 or matrix.shape[1] % heads:
            raise ArgumentError(
                f"heads needs to divide the {matrix.shape[1]} columns of {name}, but it is {heads}."
            )
    expect("w_key", matrices["w_key"], "e hd", hd=matrices["w_query"].shape[1])
    return matrices


def named(words: Any, x_te: Float64Array) -> Any:
    """A tuple of words a sentence, one word for each row of x; numbers where none are given.

    >>> named(None, np.zeros((3, 8)))
    ('0', '1', '2')
    """
    tokens = x_te.shape[-2]
    sentences = [words] if x_te.ndim == 2 else words
    if words is None:
        numbers = tuple(str(i) for i in range(tokens))
        return numbers if x_te.ndim == 2 else (numbers,) * x_te.shape[0]
    if len(sentences) != math.prod(x_te.shape[:-2]) or any(len(s) != tokens for s in sentences):
        raise ArgumentError(
            f"words needs one word for each of the {tokens} rows of x"
            + ("" if x_te.ndim == 2 else f", for each of its {x_te.shape[0]} sentences")
            + f", but it has {[len(s) for s in sentences]}."
        )
    tuples = tuple(tuple(str(word) for word in sentence) for sentence in sentences)
    return tuples[0] if x_te.ndim == 2 else tuples


PARAMETERS = ("w_query", "w_key", "w_value", "w_output", "scale", "softcap")


def to_dict(steps: Steps) -> dict[str, Any]:
    """Words, parameters, and every stage with its shape; -inf is the string "-inf".

    JSON has no infinities, so a reader of any language can take this as it is.

    Examples
    --------
    >>> from regard.textbook.steps import attend
    >>> plain = to_dict(attend(np.eye(2), np.eye(2), np.eye(2), causal=True))
    >>> plain["stages"]["masked"]
    [[0.7071067811865475, '-inf'], [0.0, 0.7071067811865475]]
    """
    stages = steps.stages()
    return {
        "words": [list(w) if isinstance(w, tuple) else w for w in steps.words],
        "parameters": {x: lists(getattr(steps, x)) for x in PARAMETERS if _is_present(steps, x)},
        "shapes": {name: list(stage.shape) for name, stage in stages.items()},
        "stages": {name: lists(stage) for name, stage in stages.items()},
    }


def lists(value: NDArray[Any] | float) -> Any:
    """An array as nested lists of numbers that JSON can hold.

    >>> lists(np.array([0.5, -np.inf]))
    [0.5, '-inf']
    """
    if isinstance(value, np.ndarray):
        return [lists(part) for part in value] if value.ndim else lists(float(value))
    return float(value) if math.isfinite(value) else str(float(value))


def _is_present(steps: Steps, name: str) -> bool:
    return getattr(steps, name) is not None


STAGES = ("x", "query", "key", "value", "scores", "scaled", "capped", "masked", "weights", "sums",
          "output")  # fmt: skip


@dataclass(frozen=True)
class Steps(NotebookDisplay):
    """Every stage of one self-attention under its name; absent stages are None.

    Shapes without a batch; with one, a leading axis b is added to each.

    x (t, e); query, key, value (h, t, d); scores, scaled, capped, masked, weights (h, q, k);
    sums (h, q, d): the weighted sums of each head; output (t, e'): the sums of all heads side by
    side, times w_output where given. With one head and no w_output there is no ``sums`` stage,
    the axis h is left out everywhere, and the output is the weighted sum.

    ``x_error`` says how far the numbers of x may lie from the exact ones, where they were computed:
    ``why`` shows no digit that this leaves open.
    """

    words: tuple[str, ...] | tuple[tuple[str, ...], ...]
    query: Float64Array
    key: Float64Array
    value: Float64Array
    scores: Float64Array
    scaled: Float64Array
    weights: Float64Array
    output: Float64Array
    scale: float
    x: Float64Array | None = None
    capped: Float64Array | None = None
    masked: Float64Array | None = None
    sums: Float64Array | None = None
    w_query: Float64Array | None = None
    w_key: Float64Array | None = None
    w_value: Float64Array | None = None
    w_output: Float64Array | None = None
    softcap: float | None = None
    x_error: float = 0.0

    def stages(self) -> dict[str, Float64Array]:
        """The stages that this computation has, in the order they were made."""
        return {x: getattr(self, x) for x in STAGES if getattr(self, x) is not None}

    def why(self, stage: str, row: str | int, column: str | int, **where: int) -> Why:
        """The arithmetic of a cell; ``head``, ``sentence`` and ``digits`` by keyword."""
        return why(self, stage, row, column, **where)

    def picture(self, stage: str = "weights", head: int = 0, **options: Any) -> Picture:
        """One stage of one head to look at and to save; ``kind`` is 'lines' or 'heatmap'."""
        picture: Picture = render("picture", self, stage, head, options)
        return picture

    def worksheet(self, row: str | int | None = None, **options: Any) -> Worksheet:
        """The numbers of one row as blanks to fill in by hand, with a key; ``.save(path)`` it.

        ``every_row``, ``head``, ``sentence`` and ``digits`` by keyword.
        """
        worksheet: Worksheet = render("worksheet", self, row, **options)
        return worksheet

    def read(self, row: str | int, *, head: int = 0, sentence: int = 0) -> str:
        """The row of one word, in words."""
        return read_row(self, row, head=head, sentence=sentence)

    def to_dict(self) -> dict[str, Any]:
        """Words, parameters and every stage as plain lists, unrounded; -inf as "-inf"."""
        return to_dict(self)


@one_blas_thread()
def self_attention(
    x: ArrayLike,
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    *,
    words: Any = None,
    heads: int = 1,
    w_output: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    causal: bool = False,
) -> Steps:
    """Self-attention of the words of a sentence, with every intermediate step.

    Parameters
    ----------
    x : (t, e) or (b, t, e)
        One vector a word.
    w_query, w_key : (e, h * d), w_value : (e, h * d_v)
        The parameters that make queries, keys and values.
    words : names for rows and columns; one list, or one list a sentence. Numbers unless given.

    Examples
    --------
    >>> x = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2]])
    >>> words = ["Smart", "robots", "perform", "complex", "tasks"]
    >>> steps = self_attention(x, np.eye(2), np.eye(2), np.eye(2), words=words)
    >>> steps.weights[1].round(3)
    array([0.098, 0.199, 0.199, 0.098, 0.404])
    """
    x_te = floats("x", x)
    if x_te.ndim not in (2, 3):
        expect("x", x_te, "t e")
    parameters = {"w_query": w_query, "w_key": w_key, "w_value": w_value}
    matrices: dict[str, Any] = projections(parameters, x_te.shape[-1], heads)
    query, key, value = (_split_heads(x_te @ matrix, heads) for matrix in matrices.values())
    steps = attend(query, key, value, mask=mask, causal=causal)
    single = heads == 1 and w_output is None
    output_te = _join_heads(steps.output)
    if w_output is not None:
        w_output = floats("w_output", w_output)
        expect("w_output", w_output, "hd e", hd=output_te.shape[-1])
        output_te = output_te @ w_output
    stages: dict[str, Any] = steps.stages()
    del stages["output"]
    if single:
        stages = {name: stage.squeeze(-3) for name, stage in stages.items()}
    return Steps(
        words=named(words, x_te),
        **stages,
        x=x_te,
        sums=None if single else steps.output,
        output=output_te,
        scale=steps.scale,
        **matrices,
        w_output=w_output,
    )


@one_blas_thread()
def attend(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    mask: ArrayLike | MaskRule | None = None,
    causal: bool = False,
    offset: int | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    lengths: ArrayLike | None = None,
) -> Steps:
    """Attention of query, key and value with every step: what ``attention`` must equal.

    The arguments are those of ``attention``; every stage keeps the leading axes of ``query``.

    Examples
    --------
    >>> x = np.eye(2)
    >>> attend(x, x, x, causal=True).masked
    array([[0.70710678,       -inf],
           [0.        , 0.70710678]])
    """
    inputs = _validated(
        query,
        key,
        value,
        mask=mask,
        causal=causal,
        offset=offset,
        window=window,
        softcap=softcap,
        scale=scale,
        lengths=lengths,
    )
    trace = run(SPECIFICATION, inputs)
    changed = not trace.visible.all() or not np.array_equal(trace.masked, trace.capped)
    return Steps(
        words=(),
        query=trace.query,
        key=trace.key,
        value=trace.value,
        scores=trace.scores,
        scaled=trace.scaled,
        capped=trace.capped if softcap else None,
        masked=trace.masked if changed else None,
        weights=trace.weights,
        output=trace.output,
        scale=scale_of(inputs),
        softcap=inputs.softcap,
    )


def _validated(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, **options: Unpack[AttentionOptions]
) -> AttentionInputs:
    """The inputs of the specification, refused in the words in which the fast paths refuse them."""
    arrays = {"query": np.asarray(query), "key": np.asarray(key), "value": np.asarray(value)}
    check_dtypes(arrays)
    leading = check_shapes(**arrays)
    for name, array in arrays.items():
        check_finite(name, array)
    queries, keys = arrays["query"].shape[-2], arrays["key"].shape[-2]
    left, right = band(options["causal"], options["window"])
    banded = left is not None or right is not None
    scale = check_positive("scale", options["scale"])
    inputs = AttentionInputs(
        **arrays,
        mask=check_mask(options["mask"], (*leading, queries, keys)),
        causal=options["causal"],
        offset=check_offset(options["offset"], queries, keys, banded),
        window=options["window"],
        softcap=check_positive("softcap", options["softcap"]),
        scale=scale,
        lengths=check_lengths(options["lengths"], leading, keys),
    )
    norms = [float(np.abs(arrays[x]).max(initial=0)) for x in ("query", "key")]
    check_products(scale_of(inputs) * math.prod(norms) * arrays["query"].shape[-1] / math.log(2))
    return inputs


def _split_heads(array_te: Float64Array, heads: int) -> Float64Array:
    """(..., t, h * d) to (..., h, t, d): cut each row into heads, then put the heads in front."""
    *batch, tokens, width = array_te.shape
    return array_te.reshape(*batch, tokens, heads, width // heads).swapaxes(-2, -3)


def _join_heads(array_htd: Float64Array) -> Float64Array:
    """(..., h, t, d) to (..., t, h * d): the heads of each word side by side."""
    *batch, heads, tokens, width = array_htd.shape
    return array_htd.swapaxes(-2, -3).reshape(*batch, tokens, heads * width)
