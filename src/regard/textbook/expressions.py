"""The expression behind a cell of each stage: its operands and the rule that joins them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.typing import Float64Array

EPSILON = 2.0**-52
TINY = 1e-321  # below about this, float64 has no relative precision left
WHOLE = 8  # terms of a sum that are written in full


@dataclass(frozen=True)
class Expression:
    """Operands, the rule that makes the value of them, and how to write it down.

    ``noise`` bounds the rounding error between the stored value and the rule applied to the exact
    operands; ``then`` is a second way to write the same value, nearer to the end.
    """

    formula: str
    operands: tuple[float, ...]
    rule: Callable[[Sequence[float]], float]
    arithmetic: Callable[[Sequence[str]], str]
    noise: float = 0.0
    note: str = ""
    then: "Expression | None" = None


def given(value: float, formula: str = "", note: str = "") -> Expression:
    """A number that is what it is."""
    return Expression(formula, (value,), lambda o: o[0], lambda o: o[0], note=note)


def fixed(value: float, formula: str, note: str) -> Expression:
    """A value that no arithmetic made: hidden, or nothing to look at."""
    return Expression(formula, (), lambda o: value, lambda o: "", note=note)


def dot(left: Float64Array, right: Float64Array, formula: str) -> Expression:
    """A sum of products; the operands are the pairs, one after the other.

    Both this sum and the stored one err by at most n eps sum |products|.
    """
    pairs = np.stack([left, right], axis=-1).ravel()
    total = float(np.abs(left * right).sum())
    noise = EPSILON * (len(left) + 2) * total + TINY * (len(left) + 1)
    return Expression(formula, tuple(pairs.tolist()), _sum_of_products, _write_products, noise)


def scaled(score: float, scale: float, width: int) -> Expression:
    """A score divided by the root of the head's width, or multiplied by the caller's scale."""
    noise = 4 * EPSILON * abs(score * scale) + TINY
    if math.isclose(scale, 1 / math.sqrt(max(1, width)), rel_tol=1e-12):
        return Expression(
            f"scores / √{width}",
            (score, float(width)),
            lambda o: o[0] / math.sqrt(o[1]),
            lambda o: f"{o[0]} / √{width}",
            noise,
        )
    return Expression(
        "scores · scale",
        (score, scale),
        lambda o: o[0] * o[1],
        lambda o: f"{o[0]} · {o[1]}",
        noise,
    )


def capped(score: float, softcap: float) -> Expression:
    """A score bent so that it never exceeds the cap."""
    return Expression(
        "softcap · tanh(scaled / softcap)",
        (score, softcap),
        lambda o: o[1] * math.tanh(o[0] / o[1]),
        lambda o: f"{o[1]} · tanh({o[0]} / {o[1]})",
        8 * EPSILON * min(abs(score), softcap) + TINY,
    )


def added(score: float, bias: float, formula: str) -> Expression:
    """A score and what a float mask adds to it."""
    return Expression(
        formula,
        (score, bias),
        lambda o: o[0] + o[1],
        lambda o: f"{o[0]} + ({o[1]})" if bias < 0 else f"{o[0]} + {o[1]}",
        2 * EPSILON * (abs(score) + abs(bias)),
    )


def share(scores: Float64Array, at: int, formula: str) -> Expression:
    """e^score over the sum of e^score; -inf scores are left out of the sum.

    e^710 overflows, so scores beyond 50 are written less the highest of the row, as softmax does.
    """
    seen = np.flatnonzero(np.isfinite(scores))
    place = int(np.searchsorted(seen, at))
    kept = scores[seen]
    highest = float(kept.max())
    far = float(np.abs(kept).max()) > 50
    kept = kept - highest if far else kept
    e = np.exp(kept)
    value = float(e[place] / e.sum())
    noise = 4 * EPSILON * value * (len(kept) + 8 + 2 * float(min(np.abs(kept).max(), 50))) + TINY
    notes = [f"each score less the row's highest, {highest:.6g}"] if far else []
    notes += [f"{len(scores) - len(kept)} hidden"] if len(kept) < len(scores) else []
    return Expression(
        formula,
        tuple(kept.tolist()),
        lambda o: math.exp(o[place]) / math.fsum(math.exp(x) for x in o),
        lambda o: f"e^{o[place]} / ({joined([f'e^{x}' for x in o])})",
        noise,
        note=", ".join(notes),
        then=_quotient(float(e[place]), float(e.sum())),
    )


def _quotient(part: float, whole: float) -> Expression:
    return Expression("", (part, whole), lambda o: o[0] / o[1], lambda o: f"{o[0]} / {o[1]}")


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
