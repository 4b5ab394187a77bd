"""The expression behind a cell of each stage: its operands and the rule that joins them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from regard.textbook.bounds import EPSILON, FAR
from regard.textbook.digits import show
from regard.typing import Float64Array

WHOLE = 8  # terms of a sum that are written in full


class Bounded(NamedTuple):
    """Numbers, and how far each may lie from the exact one."""

    values: Float64Array
    bounds: Float64Array

    def at(self, *index: int | slice) -> Bounded:
        """The numbers and bounds at an index."""
        return Bounded(self.values[index], self.bounds[index])


def exact(values: Float64Array) -> Bounded:
    """Numbers without error."""
    return Bounded(values, np.zeros(values.shape))


@dataclass(frozen=True)
class Expression:
    """Operands, the rule that makes the value of them, and how to write it down.

    ``noise`` says how far each operand may lie from the exact one, none where it is exact;
    ``then`` is a second way to write the same value, nearer to the end.
    """

    formula: str
    operands: tuple[float, ...]
    rule: Callable[[Sequence[float]], float]
    arithmetic: Callable[[Sequence[str]], str]
    noise: tuple[float, ...] = ()
    note: str = ""
    then: Expression | None = None


def stored(value: float, formula: str = "", note: str = "", noise: float = 0.0) -> Expression:
    """The expression of a number that was not computed."""
    return Expression(formula, (value,), lambda o: o[0], lambda o: o[0], (noise,), note)


def fixed(value: float, formula: str, note: str) -> Expression:
    """The expression of a constant: a hidden key, or a row that sees nothing."""
    return Expression(formula, (), lambda o: value, lambda o: "", note=note)


def dot(left: Bounded, right: Bounded, formula: str) -> Expression:
    """A sum of products; the operands are the pairs, one after the other."""
    pairs, noise = (
        tuple(np.stack([a, b], axis=-1).ravel().tolist()) for a, b in zip(left, right, strict=True)
    )
    return Expression(formula, pairs, _sum_of_products, _write_products, noise)


def scaled(score: float, noise: float, scale: float, width: int) -> Expression:
    """A score divided by the root of the head's width, or multiplied by the caller's scale."""
    if math.isclose(scale, 1 / math.sqrt(max(1, width)), rel_tol=1e-12):
        return Expression(
            f"scores / √{width}",
            (score, float(width)),
            lambda o: o[0] / math.sqrt(o[1]),
            lambda o: f"{o[0]} / √{width}",
            (noise, 0.0),
        )
    return Expression(
        "scores · scale",
        (score, scale),
        lambda o: o[0] * o[1],
        lambda o: f"{o[0]} · {o[1]}",
        (noise, 0.0),
    )


def capped(score: float, noise: float, softcap: float) -> Expression:
    """The expression of softcap: cap * tanh(score / cap)."""
    return Expression(
        "softcap · tanh(scaled / softcap)",
        (score, softcap),
        lambda o: o[1] * math.tanh(o[0] / o[1]),
        lambda o: f"{o[1]} · tanh({o[0]} / {o[1]})",
        (noise, 0.0),
    )


def added(score: float, noise: float, bias: float, formula: str) -> Expression:
    """A score and what a float mask adds to it; the bias is worked out from their sum."""
    return Expression(
        formula,
        (score, bias),
        lambda o: o[0] + o[1],
        lambda o: f"{o[0]} + ({o[1]})" if bias < 0 else f"{o[0]} + {o[1]}",
        (noise, 2 * EPSILON * (abs(score) + abs(bias))),
    )


def share(scores: Bounded, at: int, formula: str) -> Expression:
    """e^score over the sum of e^score; -inf scores are left out of the sum.

    e^710 overflows, so scores beyond 50 are written less the highest of the row, as softmax does.
    """
    seen = np.flatnonzero(np.isfinite(scores.values))
    index = int(np.searchsorted(seen, at))
    visible, noise = scores.values[seen], scores.bounds[seen]
    top = int(visible.argmax())
    far = float(np.abs(visible).max()) > FAR
    notes = []
    if far:
        highest = show(float(visible[top]), 3, float(noise[top])).text
        notes = [f"each score less the row's highest, {highest}"]
        noise = noise + noise[top] + 2 * EPSILON * (np.abs(visible) + abs(visible[top]))
        noise[top], visible = 0.0, visible - visible[top]
    notes += (
        [f"{len(scores.values) - len(visible)} hidden"] if len(visible) < len(scores.values) else []
    )
    return Expression(
        formula,
        tuple(visible.tolist()),
        lambda o: math.exp(o[index]) / math.fsum(math.exp(x) for x in o),
        lambda o: f"e^{o[index]} / ({joined([f'e^{x}' for x in o])})",
        tuple(noise.tolist()),
        note=", ".join(notes),
        then=_quotient(Bounded(visible, noise), index),
    )


def _quotient(scores: Bounded, index: int) -> Expression | None:
    """e^score and the sum of them, each off by what its scores are off by, and its own rounding.

    None where one of the two has no digit that is sure.
    """
    e = np.exp(scores.values)
    with np.errstate(over="ignore", invalid="ignore"):
        rounding = 4 * EPSILON * (np.abs(scores.values) + len(e) + 2)
        bounds = np.nan_to_num(e * (np.expm1(scores.bounds) + rounding), nan=np.inf)
    parts, noise = (float(e[index]), math.fsum(e.tolist())), (bounds[index], bounds.sum())
    if any(n > part / 40 for part, n in zip(parts, noise, strict=True)):
        return None
    return Expression(
        "",
        parts,
        lambda o: o[0] / o[1],
        lambda o: f"{o[0]} / {o[1]}",
        (float(noise[0]), float(noise[1])),
    )


def joined(terms: Sequence[str]) -> str:
    """A sum as text, its middle left out where it is long.

    >>> joined(["1", "2"]), joined([str(i) for i in range(64)])
    ('1 + 2', '0 + 1 + 2 + 3 + ... 58 more ... + 62 + 63')
    """
    if len(terms) <= WHOLE:
        return " + ".join(terms)
    return " + ".join([*terms[:4], f"... {len(terms) - 6} more ...", *terms[-2:]])


def _sum_of_products(operands: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(operands[::2], operands[1::2], strict=True))


def _write_products(operands: Sequence[str]) -> str:
    pairs = zip(operands[::2], operands[1::2], strict=True)
    return joined([f"{a} · {b}" for a, b in pairs]) or "0"
