"""Features of the operator suite: the input of every row of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from regard.checker.cases import Case, Sizes, draw, see_some
from regard.typing import Array

CROSS = Sizes(2, 3, 37, 53, 16, 16)


WIDE = Sizes(2, 3, 45, 45, 16, 24)


SQUARE = Sizes(2, 3, 45, 45, 16, 16)


LONG = Sizes(1, 2, 200, 333, 64, 64)


@dataclass(frozen=True)
class Feature:
    """One row of the table; ``cornered``: without an offset both corners are right.

    ``kind``: the returned array that is compared, or "gradients".
    """

    name: str
    needs: tuple[str, ...]
    build: Callable[[], Case]
    kind: str = "output"
    form: str = ""
    cornered: bool = False


def _with(sizes: Sizes, seed: int, **options: object) -> Callable[[], Case]:
    return lambda: replace(draw(sizes, seed=seed), **options)  # type: ignore[arg-type]


def _see(*leading: int) -> Array:
    """A mask that differs between sentences and heads where it has these axes."""
    queries, keys = CROSS.q, CROSS.k
    if not leading:
        return see_some(queries, keys)
    random = np.random.default_rng(31)
    mask = random.random((*leading, queries, keys)) < 0.6
    mask[..., 0] = True
    return mask


def _empty() -> Array:
    mask_qk = _see().copy()
    mask_qk[[0, 7, -1]] = False
    return mask_qk


def _added(*leading: int) -> Array:
    random = np.random.default_rng(32)
    bias = random.standard_normal((*leading, CROSS.q, CROSS.k)).round(2)
    return np.where(_see(*leading), bias, -np.inf)


def _large() -> Case:
    return draw(SQUARE, seed=33, spread=6.0)


GRADIENTS = "gradients"


def _cached() -> Case:
    return replace(draw(CROSS, seed=40), cached=CROSS.k - CROSS.q)


FEATURES = (
    Feature("plain", (), _with(SQUARE, 21)),
    Feature("fewer queries than keys", (), _with(CROSS, 22)),
    Feature("values wider than keys", (), _with(WIDE, 22)),
    Feature("long, 200 queries and 333 keys of width 64", (), _with(LONG, 23)),
    Feature("large scores", (), _large),
    Feature("scale", ("scale",), _with(CROSS, 24, scale=0.11)),
    Feature("causal", ("causal",), _with(SQUARE, 25, causal=True)),
    Feature("causal, fewer queries than keys", ("causal",), _with(CROSS, 26, causal=True),
            cornered=True),
    Feature("causal, offset 9", ("causal", "offset"), _with(CROSS, 26, causal=True, offset=9)),
    Feature("causal, offset -5: empty rows", ("causal", "offset"),
            _with(CROSS, 26, causal=True, offset=-5)),
    Feature("window (5, 2)", ("window",), _with(SQUARE, 27, window=(5, 2))),
    Feature("window (5, unbounded)", ("window",), _with(SQUARE, 27, window=(5, None))),
    Feature("softcap", ("softcap",), _with(CROSS, 28, softcap=0.7)),
    Feature("softcap and causal", ("softcap", "causal"),
            _with(SQUARE, 28, softcap=0.7, causal=True)),
    Feature("lengths", ("lengths",), _with(CROSS, 29, lengths=np.array([11, 40]))),
    Feature("boolean mask", ("mask",), _with(CROSS, 30, mask=_see()), form="bool"),
    Feature("boolean mask, one a sentence and head", ("mask",),
            _with(CROSS, 30, mask=_see(2, 3)), form="bool"),
    Feature("boolean mask, one a sentence (b, 1, q, k)", ("mask",),
            _with(CROSS, 30, mask=_see(2, 1)), form="bool"),
    Feature("added mask", ("mask",), _with(CROSS, 34, mask=_added()), form="added"),
    Feature("added mask, one a sentence and head", ("mask",),
            _with(CROSS, 34, mask=_added(2, 3)), form="added"),
    Feature("empty rows", ("mask",), _with(CROSS, 35, mask=_empty()), form="bool"),
    Feature("mask and causal together", ("mask", "causal"),
            _with(SQUARE, 36, mask=see_some(SQUARE.q, SQUARE.k) | np.eye(SQUARE.q, dtype=bool),
                  causal=True), form="bool"),
    Feature("grouped heads, 6 on 3", (), lambda: draw(CROSS._replace(h=6, g=3), seed=37)),
    Feature("grouped heads, 6 on 1", (), lambda: draw(CROSS._replace(h=6, g=1), seed=38)),
    Feature("dropout 0", ("dropout",), _with(CROSS, 22)),
    Feature("cached keys", ("cache",), _cached),
    Feature("cached keys, causal", ("cache", "causal"),
            lambda: replace(_cached(), causal=True, offset=CROSS.k - CROSS.q)),
    Feature("backward", (), _with(CROSS, 42), kind=GRADIENTS),
    Feature("backward, causal", ("causal",), _with(SQUARE, 25, causal=True), kind=GRADIENTS),
    Feature("backward, scale", ("scale",), _with(CROSS, 24, scale=0.11), kind=GRADIENTS),
    Feature("backward, softcap", ("softcap",), _with(CROSS, 28, softcap=0.7), kind=GRADIENTS),
    Feature("backward, lengths", ("lengths",), _with(CROSS, 29, lengths=np.array([11, 40])),
            kind=GRADIENTS),
    Feature("backward, empty rows", ("mask",), _with(CROSS, 35, mask=_empty()), form="bool",
            kind=GRADIENTS),
    Feature("backward, grouped heads, 6 on 3", (),
            lambda: draw(CROSS._replace(h=6, g=3), seed=37), kind=GRADIENTS),
    Feature("log-sum-exp", (), _with(CROSS, 39), kind="log-sum-exp"),
    Feature("weights", (), _with(CROSS, 39), kind="weights"),
    Feature("column sums (received)", (), _with(CROSS, 39), kind="received"),
)  # fmt: skip


# Queries and keys of each packed sequence.
SEQUENCES = {
    "packed, several lengths": ((7, 7), (45, 45), (1, 1), (23, 23)),
    "packed, other lengths of keys": ((5, 19), (1, 40), (13, 2)),
    "packed, an empty sequence": ((5, 5), (0, 0), (9, 9)),
}
