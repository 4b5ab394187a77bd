"""Calls of attention drawn at random: shapes, masks, dtypes and extreme numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray
# Scores reach 1e4 (1e2 times 1e2); 1e-40 is subnormal in float32 and 0 in float16.
SIZES = (0.0, 1e-40, 1e-3, 1.0, 10.0, 1e2)
DTYPES = (np.float16, np.float32, np.float64)
LEADING = ((), (1,), (2,), (4,), (2, 2), (2, 1, 2))


@dataclass(frozen=True)
class Call:
    """The arrays and the arguments of one call."""

    query: Array
    key: Array
    value: Array
    arguments: dict[str, Any]

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """In the order attention takes them."""
        return self.query, self.key, self.value

    @property
    def eps(self) -> float:
        """A rounding of what the engine computes in."""
        return float(np.finfo(np.result_type(self.query, np.float32)).eps)

    def keys_from(self, start: int, stop: int) -> "Call":
        """The same queries over some of the keys: masks are cut, and positions move with them."""
        changed = dict(self.arguments)
        changed["offset"] = changed["offset"] - start
        if changed.get("mask") is not None and changed["mask"].shape[-1] > 1:
            changed["mask"] = changed["mask"][..., start:stop]
        if changed.get("lengths") is not None:
            changed["lengths"] = np.clip(changed["lengths"], start, stop) - start
        return Call(
            self.query, self.key[..., start:stop, :], self.value[..., start:stop, :], changed
        )


@st.composite
def calls(draw: Any, bands: bool = True, masks: bool = True) -> Call:
    """Any call; without ``bands`` no key's position matters."""
    leading, group = draw(st.sampled_from(LEADING)), 1
    if leading and leading[-1] > 1 and draw(st.booleans()):
        group = leading[-1]
    queries, keys, width = (
        draw(st.integers(0, 40)),
        draw(st.integers(0, 40)),
        draw(st.integers(1, 6)),
    )
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shared = (*leading[:-1], leading[-1] // group) if leading else ()
    dtype = draw(st.sampled_from(DTYPES))

    def array(*shape: int) -> Array:
        return (random.standard_normal(shape) * draw(st.sampled_from(SIZES))).astype(dtype)

    query, key = array(*leading, queries, width), array(*shared, keys, width)
    value = array(*shared, keys, draw(st.integers(1, 3)))
    if draw(st.booleans()):
        key = np.broadcast_to(key[..., :1, :], key.shape)
    arguments = draw(_arguments(leading, queries, keys, random, bands, masks))
    return Call(query, key, value, arguments)


@st.composite
def _arguments(
    draw: Any,
    leading: tuple[int, ...],
    queries: int,
    keys: int,
    random: Any,
    bands: bool,
    masks: bool,
) -> dict[str, Any]:
    sides = st.one_of(st.none(), st.integers(0, 45))
    drawn = {
        "offset": draw(st.integers(-45, 45)) if bands else 0,
        "causal": bands and draw(st.booleans()),
        "window": draw(st.tuples(sides, sides)) if bands else None,
        "softcap": draw(st.sampled_from((None, 0.5, 30.0))),
        "scale": draw(st.sampled_from((None, 0.1, 2.0))),
    }
    if masks:
        drawn["mask"] = draw(_masks(leading, queries, keys, random))
    if bands and draw(st.booleans()):
        drawn["lengths"] = random.integers(0, keys + 1, leading[:-1])
    return drawn


@st.composite
def _masks(
    draw: Any, leading: tuple[int, ...], queries: int, keys: int, random: Any
) -> Array | None:
    full = (*leading, queries, keys)
    shape = draw(st.sampled_from((full, (queries, keys), (keys,), (queries, 1))))
    visible = random.random(shape) < draw(st.sampled_from((0.1, 0.9)))
    bias = random.standard_normal(shape) * 5
    low = draw(st.sampled_from((-np.inf, -1e9, -1e4)))
    return draw(st.sampled_from((None, visible, bias, np.where(visible, bias, low))))
