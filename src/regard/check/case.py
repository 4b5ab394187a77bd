"""One input of attention, with everything that may be asked of it; drawn from a fixed seed."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Window = tuple[int | None, int | None]


class Sizes(NamedTuple):
    """How long every axis is: b, h, q, k, d, v (features of a value), and g, the heads of key."""

    b: int
    h: int
    q: int
    k: int
    d: int
    v: int
    g: int = 0

    @property
    def text(self) -> str:
        """For a report.

        >>> Sizes(1, 1, 2, 3, 4, 4).text
        'b=1 h=1 q=2 k=3 d=4 v=4'
        """
        shown = self._asdict()
        if not self.g:
            del shown["g"]
        return " ".join(f"{axis}={size}" for axis, size in shown.items())


@dataclass(frozen=True)
class Case:
    """query (b, h, q, d), key (b, g, k, d), value (b, g, k, v) and how to attend.

    Where the function under test starts from vectors, ``x`` (b, t, e) and ``matrices``
    (each (e, h * d)) are what the three were made from.
    """

    query: Array
    key: Array
    value: Array
    mask: Array | None = None
    causal: bool = False
    offset: int = 0
    window: Window | None = None
    softcap: float | None = None
    scale: float | None = None
    lengths: Array | None = None
    x: Array | None = None
    matrices: tuple[Array, ...] = ()

    @property
    def sizes(self) -> Sizes:
        """The length of every axis."""
        (b, h, q, d), (g, k), v = self.query.shape, self.key.shape[1:3], self.value.shape[-1]
        return Sizes(b, h, q, k, d, v, 0 if g == h else g)

    def options(self) -> dict[str, Any]:
        """The arguments of ``attend`` beside the three arrays."""
        names = ("mask", "causal", "offset", "window", "softcap", "scale", "lengths")
        return {name: getattr(self, name) for name in names}

    def with_projections(self, matrices: tuple[Array, ...], x: Array) -> "Case":
        """The same question about query, key and value made from x."""
        heads = self.query.shape[1]
        query, key, value = (split_heads(x @ matrix, heads) for matrix in matrices)
        return replace(self, query=query, key=key, value=value, x=x, matrices=matrices)


def draw(sizes: Sizes, seed: int = 0, spread: float = 1.0) -> Case:
    """Random normal query, key and value; ``spread`` makes scores large.

    >>> draw(Sizes(2, 3, 5, 7, 4, 6)).value.shape
    (2, 3, 7, 6)
    """
    random = np.random.default_rng([seed, *sizes])
    b, h, q, k, d, v, g = sizes
    query = random.standard_normal((b, h, q, d)) * spread
    key = random.standard_normal((b, g or h, k, d)) * spread
    value = random.standard_normal((b, g or h, k, v))
    # Three decimals: a report can print an input in full.
    return Case(query.round(3), key.round(3), value.round(3))


def draw_projected(case: Case, seed: int = 0) -> Case:
    """As many words and heads, but query, key and value are made from x of width 8."""
    sizes = case.sizes
    random = np.random.default_rng([seed, 8, *sizes])
    x = random.standard_normal((sizes.b, sizes.k, 8)).round(3)
    size = float(np.abs(case.query).mean()) / 0.8
    widths = (sizes.d, sizes.d, sizes.v)
    factors = (0.4 * size, 0.4 * size, 0.4)
    matrices = tuple(
        (random.standard_normal((8, sizes.h * width)) * factor).round(3)
        for width, factor in zip(widths, factors, strict=True)
    )
    return case.with_projections(matrices, x)


def split_heads(array_bte: Array, heads: int) -> Array:
    """(b, t, h * d) to (b, h, t, d)."""
    b, t, width = array_bte.shape
    return array_bte.reshape(b, t, heads, width // heads).swapaxes(1, 2)


def join_heads(array_bhtd: Array) -> Array:
    """(b, h, t, d) to (b, t, h * d)."""
    b, h, t, width = array_bhtd.shape
    return array_bhtd.swapaxes(1, 2).reshape(b, t, h * width)
