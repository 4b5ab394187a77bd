"""Steps: self-attention from vectors to output, every intermediate under its name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.arguments import named_arguments, suggest_keywords
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
from regard.textbook.stages import SPECIFICATION, AttentionInputs, run, score_scale
from regard.textbook.why import Why, read_row, why
from regard.typing import Float64Array

if TYPE_CHECKING:
    from regard.view.figure.picture import Picture
    from regard.view.worksheet.worksheet import Worksheet


def floats(name: str, array: ArrayLike) -> Float64Array:
    """Numbers as float64; an error names the index of the first that is not finite."""
    refuse_masked_array(name, array)
    try:
        plain = np.asarray(array)
        numbers = np.asarray(plain.real, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be numbers in rows of equal length.") from None
    if np.iscomplexobj(plain):
        raise ArgumentError(f"{name} must be real numbers, got complex ones.")
    if not np.isfinite(numbers).all():
        index = [int(i) for i in np.argwhere(~np.isfinite(numbers))[0]]
        raise ArgumentError(
            f"{name} must be finite numbers, got {numbers[tuple(index)]} at {index}."
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
                f"heads must divide the {matrix.shape[1]} columns of {name}, got {heads}."
            )
    expect("w_key", matrices["w_key"], "e hd", hd=matrices["w_query"].shape[1])
    return matrices


def named(words: Any, x_te: Float64Array) -> Any:
    """Words of each sentence, one for each row of x; numbers where none are given.

    >>> named(None, np.zeros((3, 8)))
    ('0', '1', '2')
    """
    tokens = x_te.shape[-2]
    sentences = [words] if x_te.ndim == 2 else words
    if words is None:
        numbers = tuple(str(i) for i in range(tokens))
        return numbers if x_te.ndim == 2 else (numbers,) * x_te.shape[0]
    if len(sentences) != math.prod(x_te.shape[:-2]) or any(len(s) != tokens for s in sentences):
        given = " and ".join(str(len(sentence)) for sentence in sentences)
        raise ArgumentError(
            f"words must be one word for each of the {tokens} rows of x"
            + (
                ""
                if x_te.ndim == 2
                else f", for each of its {math.prod(x_te.shape[:-2])} sentences"
            )
            + f", got {given} words."
        )
    tuples = tuple(tuple(str(word) for word in sentence) for sentence in sentences)
    return tuples[0] if x_te.ndim == 2 else tuples


PARAMETERS = ("w_query", "w_key", "w_value", "w_output", "scale", "softcap")


def to_dict(steps: Steps) -> dict[str, Any]:
    """Words, parameters, and every stage with its shape, as JSON values.

    JSON has no infinities: -inf is the string "-inf".

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
        "parameters": {x: lists(y) for x in PARAMETERS if (y := getattr(steps, x)) is not None},
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


STAGES = ("x", "query", "key", "value", "scores", "scaled", "capped", "masked", "weights", "sums",
          "output")  # fmt: skip


@named_arguments
@dataclass(frozen=True)
class Steps(NotebookDisplay):
    """Every stage of one self-attention under its name; absent stages are None.

    Shapes without a batch; with one, a leading axis b is added to each.

    x (t, e); query, key, value (h, t, d); scores, scaled, capped, masked, weights (h, q, k);
    sums (h, q, d): the weighted sums of each head; output (t, e'): the sums of all heads side by
    side, times w_output where given. With one head and no w_output there is no ``sums`` stage,
    the axis h is left out everywhere, and the output is the weighted sum.

    ``x_error`` bounds the error of the numbers of x where these were computed themselves; ``why``
    shows only the digits that it leaves certain.
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

    @suggest_keywords
    def why(
        self,
        stage: str,
        row: str | int,
        column: str | int,
        *,
        head: int = 0,
        sentence: int = 0,
        digits: int = 3,
    ) -> Why:
        """Arithmetic of one cell: the formula, its operands and the value, to ``digits`` digits."""
        return why(self, stage, row, column, head=head, sentence=sentence, digits=digits)

    @suggest_keywords
    def picture(
        self,
        stage: str = "weights",
        head: int = 0,
        *,
        sentence: int = 0,
        kind: str | None = None,
        chosen: tuple[int, ...] = (),
        threshold: float = 0.01,
    ) -> Picture:
        """One stage of one head as a picture to show or to save.

        Parameters
        ----------
        kind : str, optional
            'lines' (weights only) or 'heatmap'; lines where they suit the weights.
        chosen : tuple of int
            Rows that stand out.
        threshold : float
            Weights below it are not drawn as lines.
        """
        options = {"sentence": sentence, "kind": kind, "chosen": chosen, "threshold": threshold}
        picture: Picture = render("picture", self, stage, head, options)
        return picture

    @suggest_keywords
    def worksheet(
        self,
        row: str | int | None = None,
        *,
        every_row: bool = False,
        head: int = 0,
        sentence: int = 0,
        digits: int = 2,
        note: str = "",
    ) -> Worksheet:
        """Worksheet of one row: its numbers as blanks to fill in by hand, with an answer key.

        Without ``row`` it is the row whose largest weight stands out most. ``note`` is printed
        below the title; ``save(path)`` writes the sheet.
        """
        worksheet: Worksheet = render(
            "worksheet", self, row,
            every_row=every_row, head=head, sentence=sentence, digits=digits, note=note,
        )  # fmt: skip
        return worksheet

    @suggest_keywords
    def read(self, row: str | int, *, head: int = 0, sentence: int = 0) -> str:
        """The weights of one word as a sentence, as in: robots looks at tasks 40 %, ..."""
        return read_row(self, row, head=head, sentence=sentence)

    def to_dict(self) -> dict[str, Any]:
        """Words, parameters and every stage as plain lists, unrounded; -inf as "-inf"."""
        return to_dict(self)


@one_blas_thread()
@suggest_keywords
def self_attention(
    x: ArrayLike,
    w_query: ArrayLike,
    w_key: ArrayLike,
    w_value: ArrayLike,
    *,
    words: Sequence[str] | Sequence[Sequence[str]] | None = None,
    heads: int = 1,
    w_output: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    causal: bool = False,
) -> Steps:
    """Self-attention of the words of a sentence, with every intermediate step.

    Parameters
    ----------
    x : array_like, (t, e) or (b, t, e)
        One vector per word.
    w_query, w_key : array_like, (e, h * d)
        Parameters that make the queries and the keys.
    w_value : array_like, (e, h * d_v)
        Parameters that make the values.
    words : list of str, or one list per sentence
        Names of rows and columns; numbers unless given.
    heads : int
        Number of heads that the columns of the three matrices are cut into.
    w_output : array_like, (h * d_v, e'), optional
        Multiplies the outputs of all heads side by side.
    mask : array_like, optional
        Bool, True where a word may look at another; or float, added to the scores.
    causal : bool
        Whether each word sees only itself and the words before it.

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
@suggest_keywords
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
        scale=score_scale(inputs),
        softcap=inputs.softcap,
    )


def _validated(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, **options: Unpack[AttentionOptions]
) -> AttentionInputs:
    """Validated inputs of the specification; errors are worded as those of the fast paths."""
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
    check_products(score_scale(inputs) * math.prod(norms) * arrays["query"].shape[-1] / math.log(2))
    return inputs


def _split_heads(array_te: Float64Array, heads: int) -> Float64Array:
    """(..., t, h * d) to (..., h, t, d): cut each row into heads, then put the heads in front."""
    *batch, tokens, width = array_te.shape
    return array_te.reshape(*batch, tokens, heads, width // heads).swapaxes(-2, -3)


def _join_heads(array_htd: Float64Array) -> Float64Array:
    """(..., h, t, d) to (..., t, h * d): the heads of each word side by side."""
    *batch, heads, tokens, width = array_htd.shape
    return array_htd.swapaxes(-2, -3).reshape(*batch, tokens, heads * width)
