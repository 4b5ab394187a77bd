"""Arithmetic as done by hand: each result rounded half up before it is used again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.textbook.steps import Steps
from regard.textbook.why import labels, matrix, sentence_words
from regard.typing import Float64Array

MINUS = "−"


def half_up(array: Float64Array | float, digits: int) -> Float64Array:
    """Rounded as one does by hand: a final 5 goes away from zero.

    What float64 adds to a number that has a short decimal form is cleared away first.

    >>> half_up(np.array([0.125, -0.125, 0.374999]), 2)
    array([ 0.13, -0.13,  0.37])
    """
    moved = np.abs(np.asarray(array, np.float64)) * 10.0**digits
    rounded = np.floor(np.round(moved, 6) + 0.5) / 10.0**digits
    return np.sign(array) * rounded + 0.0  # + 0.0: no minus zero


def decimals(array: Float64Array, digits: int) -> int:
    """None for whole numbers, else all of them, so that a table has one form.

    >>> decimals(np.array([1.0, -2.0]), 2), decimals(np.array([1.0, 0.5]), 2)
    (0, 2)
    """
    finite = array[np.isfinite(array)]
    return 0 if bool((finite == np.round(finite)).all()) else digits


def text(value: float, digits: int) -> str:
    """A number with a true minus sign.

    >>> text(-0.5, 2), text(3.0, 0)
    ('−0.50', '3')
    """
    return f"{value:.{digits}f}".replace("-", MINUS)


MAX_WORDS = 12  # columns that fit across A4
MAX_TERMS = 4  # products to add up by hand
MAX_FEATURES = 3  # columns of the value that are worked out
MAX_EXPONENT = 5.0  # e^5 is 148: beyond it the row's highest score is subtracted first


@dataclass(frozen=True)
class PrintedNumbers:
    """Every number of a worksheet, as printed.

    ``steps`` holds the rounded stages of one head, so that ``steps.why`` explains them;
    ``exponentials_qk`` is e^scores (less ``highest_q``, where they are large), ``totals_q`` its
    row sums. ``start`` is the first stage that is worked out, ``drift`` how far the rounded weights
    and outputs are from the unrounded ones.
    """

    steps: Steps
    names: tuple[str, ...]
    start: str
    last: str
    exponentials_qk: Float64Array
    highest_q: Float64Array | None
    totals_q: Float64Array
    digits: int
    drift: dict[str, float]
    decimals_of: dict[str, int] = field(default_factory=dict)

    def array(self, stage: str) -> Float64Array:
        """A stage by its name, the two that only a worksheet has included."""
        worksheet_only = {"exponentials": self.exponentials_qk, "totals": self.totals_q[:, None]}
        array: Float64Array = (
            worksheet_only[stage] if stage in worksheet_only else getattr(self.steps, stage)
        )
        return array


def round_steps(steps: Steps, head: int, sentence: int, digits: int) -> PrintedNumbers:
    """Round the inputs, then each stage from the rounded one before it."""
    _check(steps, digits)
    weights_qk = matrix(steps, "weights", head, sentence)
    first = _first_stage(steps, head, sentence)
    vectors: dict[str, Any] = _vectors(steps, first, head, sentence, digits)
    query, key, value = vectors["query"], vectors["key"], vectors["value"]
    given = matrix(steps, "scores", head, sentence)
    scores = half_up(given if first == "scaled" else query @ key.T, digits)
    scale = _scale(steps, query.shape[1])
    scaled = half_up(scores * scale, digits)
    masked = _masked(steps, scaled, head, sentence, digits)
    last = scaled if masked is None else masked
    e_qk, highest_q = _exponentials(last, digits)
    totals_q = half_up(e_qk.sum(axis=1), digits + 1)  # exact: a sum of rounded numbers
    rounded = half_up(e_qk / np.where(totals_q > 0, totals_q, 1)[:, None], digits)
    output = half_up(rounded @ value, digits)
    true = matrix(steps, "output" if steps.sums is None else "sums", head, sentence)
    rounded_steps = Steps(
        words=sentence_words(steps, sentence),
        **vectors,
        scores=scores,
        scaled=scaled,
        masked=masked,
        weights=rounded,
        output=output,
        scale=scale,
    )
    printed = PrintedNumbers(
        rounded_steps,
        labels(steps, len(weights_qk), sentence),
        first,
        "scaled" if masked is None else "masked",
        e_qk,
        highest_q,
        totals_q,
        digits,
        {"weights": _gap(rounded, weights_qk), "output": _gap(output, true[:, : output.shape[1]])},
    )
    stages = [
        "exponentials",
        "totals",
        *rounded_steps.stages(),
        *(x for x in vectors if x[0] == "w"),
    ]
    finer = digits if highest_q is None else digits + 1
    printed.decimals_of.update({x: decimals(printed.array(x), digits) for x in stages})
    printed.decimals_of.update({x: decimals(printed.array(x), finer) for x in stages[:2]})
    return printed


def _check(steps: Steps, digits: int) -> None:
    if not isinstance(digits, int) or not 1 <= digits <= 4:
        raise ArgumentError(f"digits must be 1 to 4, got {digits!r}.")
    if steps.softcap:
        raise ArgumentError("a worksheet cannot show a softcap: leave it out.")
    queries, keys = steps.weights.shape[-2:]
    if queries != keys:
        raise ArgumentError(f"a worksheet needs as many queries as keys, got {queries} and {keys}.")
    check_words(keys)


def check_words(words: int) -> None:
    """Raise where a worksheet has no room for this many words."""
    if words > MAX_WORDS:
        raise ArgumentError(
            f"a worksheet has room for {MAX_WORDS} words, got {words}: choose a shorter sentence."
        )


def _first_stage(steps: Steps, head: int, sentence: int) -> str:
    """The first stage to work out: vectors of 64 numbers are too long to multiply by hand."""
    width = matrix(steps, "query", head, sentence).shape[1]
    if width > MAX_TERMS:
        return "scaled"
    small = steps.x is not None and steps.x.shape[-1] <= MAX_TERMS
    return "query" if small and steps.w_query is not None else "scores"


def _vectors(
    steps: Steps, first: str, head: int, sentence: int, digits: int
) -> dict[str, Float64Array]:
    """Rounded query, key and value; with x and the parameters where these are worked out too."""
    if first != "query":
        query, key, value = (matrix(steps, x, head, sentence) for x in ("query", "key", "value"))
        # Queries and keys that are not printed stay as they are: only their width is used.
        if first == "scores":
            query, key = half_up(query, digits), half_up(key, digits)
        few = value if value.shape[1] <= MAX_TERMS else value[:, :MAX_FEATURES]
        return {"query": query, "key": key, "value": half_up(few, digits)}
    x = half_up(matrix(steps, "x", head, sentence), digits)
    vectors = {"x": x}
    for name in ("query", "key", "value"):
        width = matrix(steps, name, head, sentence).shape[1]
        parameters = getattr(steps, f"w_{name}")
        vectors[f"w_{name}"] = half_up(parameters[:, head * width : (head + 1) * width], digits)
        vectors[name] = half_up(x @ vectors[f"w_{name}"], digits)
    return vectors


def _scale(steps: Steps, width: int) -> float:
    """1 / √d as it is; any other scale as it will be printed."""
    usual = width**-0.5
    return usual if np.isclose(steps.scale, usual, rtol=1e-12) else float(f"{steps.scale:.4g}")


def _masked(
    steps: Steps, scaled: Float64Array, head: int, sentence: int, digits: int
) -> Float64Array | None:
    if steps.masked is None:
        return None
    masked = matrix(steps, "masked", head, sentence)
    seen = np.isfinite(masked)
    bias = np.where(seen, masked, 0) - np.where(seen, matrix(steps, "scaled", head, sentence), 0)
    return np.where(seen, half_up(scaled + half_up(bias, digits), digits), -np.inf)


def _exponentials(scores: Float64Array, digits: int) -> tuple[Float64Array, Float64Array | None]:
    """e^scores; less the row's highest where e^scores would be large, or vanish.

    None of those is above 1, so they get one digit more.
    """
    finite = np.isfinite(scores)
    if float(np.abs(scores[finite]).max(initial=0)) <= MAX_EXPONENT:
        return half_up(np.exp(scores), digits), None
    highest = np.where(finite.any(axis=1), scores.max(axis=1), 0.0)
    return half_up(np.exp(scores - highest[:, None]), digits + 1), highest


def _gap(rounded: Float64Array, true: Float64Array) -> float:
    return float(np.abs(rounded - true).max(initial=0))
