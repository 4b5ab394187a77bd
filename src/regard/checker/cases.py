"""Cases: inputs from fixed seeds that distinguish all mistakes.

Their axes have different sizes; probes add masks, large scores and grouped heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from regard.textbook.stages import AttentionInputs
from regard.typing import Array


class Sizes(NamedTuple):
    """The lengths of the axes b, h, q, k, d, v (features of a value), and g, the heads of key."""

    b: int
    h: int
    q: int
    k: int
    d: int
    v: int
    g: int = 0

    @property
    def text(self) -> str:
        """The sizes as a report shows them.

        >>> Sizes(1, 1, 2, 3, 4, 4).text
        'b=1 h=1 q=2 k=3 d=4 v=4'
        """
        shown = self._asdict()
        if not self.g:
            del shown["g"]
        return " ".join(f"{axis}={size}" for axis, size in shown.items())


@dataclass(frozen=True)
class Case(AttentionInputs):
    """One input: query (b, h, q, d), key (b, g, k, d), value (b, g, k, v) and the options.

    Where the function under test starts from vectors, ``sources``, each (b, t, e), and ``matrices``
    (each (e, h * d)) are what the three were made from.
    """

    mask: Array | None = None  # never a function: the function under test takes arrays
    sources: tuple[Array, ...] = ()
    matrices: tuple[Array, ...] = ()
    bias: Array | None = None  # added to the scores by the function itself, such as by distance
    cached: int = 0  # number of leading keys that are passed as those of earlier calls
    slopes: Array | None = None  # of a bias that grows with the distance, one per head

    @property
    def sizes(self) -> Sizes:
        (b, h, q, d), (g, k), v = self.query.shape, self.key.shape[1:3], self.value.shape[-1]
        return Sizes(b, h, q, k, d, v, 0 if g == h else g)

    @property
    def is_masked(self) -> bool:
        """Whether anything is hidden or added by an argument."""
        return self.mask is not None or self.causal or bool(self.window) or self.lengths is not None

    @cached_property
    def digest(self) -> bytes:
        """A hash of every number and option: equal for cases that are equal."""
        result = blake2b(digest_size=16)
        for field in fields(self):
            value = getattr(self, field.name)
            for entry in value if field.name in ("matrices", "sources") else (value,):
                is_array = isinstance(entry, np.ndarray)
                text = f"{entry.dtype} {entry.shape}" if is_array else repr(entry)
                result.update(f"{field.name} {text} ".encode())
                result.update(entry.tobytes() if is_array else b"")
        return result.digest()

    @cached_property
    def largest_score(self) -> float:
        """An upper bound of the scaled scores."""
        norms = [np.sqrt((x**2).sum(axis=-1)).max(initial=0) for x in (self.query, self.key)]
        scale = 1 / np.sqrt(self.query.shape[-1]) if self.scale is None else self.scale
        return float(norms[0] * norms[1] * scale)

    def with_projections(self, matrices: tuple[Array, ...], x: Array) -> Case:
        heads = self.query.shape[1]
        query, key, value = (split_heads(x @ matrix, heads) for matrix in matrices)
        return replace(self, query=query, key=key, value=value, sources=(x,), matrices=matrices)


_BASE_SEED: ContextVar[int] = ContextVar("base_seed", default=0)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """A context in which the random numbers of cases come from another seed."""
    token = _BASE_SEED.set(seed)
    try:
        yield
    finally:
        _BASE_SEED.reset(token)


def generator(*seeds: int) -> np.random.Generator:
    """Random numbers from these seeds and the one of the context."""
    base = _BASE_SEED.get()
    return np.random.default_rng([*seeds, base] if base else seeds)


def draw(sizes: Sizes, seed: int = 0, spread: float = 1.0) -> Case:
    """Random normal query, key and value; ``spread`` makes scores large.

    >>> draw(Sizes(2, 3, 5, 7, 4, 6)).value.shape
    (2, 3, 7, 6)
    """
    base = _BASE_SEED.get()
    return _drawn(sizes, (seed, base) if base else (seed,), spread)


@lru_cache(maxsize=512)
def _drawn(sizes: Sizes, seeds: tuple[int, ...], spread: float) -> Case:
    random = np.random.default_rng([*seeds, *sizes])
    b, h, q, k, d, v, g = sizes
    query = random.standard_normal((b, h, q, d)) * spread
    key = random.standard_normal((b, g or h, k, d)) * spread
    value = random.standard_normal((b, g or h, k, v))
    # Three decimals: a report can print an input in full.
    case = Case(query.round(3), key.round(3), value.round(3))
    for array in (case.query, case.key, case.value):  # one case serves many calls
        array.flags.writeable = False
    return case


def draw_projected(case: Case, seed: int = 0, width: int = 8) -> Case:
    """A case of the same sizes whose query, key and value are projected from x."""
    sizes = case.sizes
    random = generator(seed, width, *sizes)
    x = random.standard_normal((sizes.b, sizes.k, width)).round(3)
    size = float(np.abs(case.query).mean()) / 0.8
    widths = (sizes.d, sizes.d, sizes.v)
    factors = (0.4 * size, 0.4 * size, 0.4)
    matrices = tuple(
        (random.standard_normal((width, sizes.h * columns)) * factor).round(3)
        for columns, factor in zip(widths, factors, strict=True)
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


CROSS = Sizes(2, 3, 5, 7, 4, 6)
SQUARE = Sizes(2, 3, 5, 5, 4, 6)
NARROW = Sizes(2, 3, 5, 7, 4, 4)
PLAIN = Sizes(2, 3, 5, 5, 4, 4)
# Another width: with d = 4 alone, sqrt(d) twice over is d.
WIDE = Sizes(2, 3, 5, 5, 6, 6)
# As many tokens as features: the only place where a key that was not transposed fits.
TOKENS_AS_FEATURES = Sizes(2, 3, 4, 4, 4, 4)
PROBE_SIZES = (CROSS, SQUARE, NARROW, PLAIN, WIDE, TOKENS_AS_FEATURES)
# Longer than any usual tile, and not a multiple of one.
LONG_SIZES = (Sizes(2, 2, 3, 333, 4, 6), Sizes(2, 1, 333, 333, 4, 4))
# For kernels that take widths, or numbers of tokens, that are multiples of 16, 64 or 128 alone.
KERNEL_SIZES = (
    Sizes(2, 3, 5, 7, 16, 16),
    Sizes(1, 2, 5, 7, 64, 64),
    Sizes(2, 3, 16, 32, 16, 16),
    Sizes(1, 2, 64, 128, 64, 64),
    Sizes(1, 2, 128, 256, 64, 64),
    Sizes(1, 2, 256, 256, 64, 64),
    Sizes(1, 2, 128, 256, 128, 128),
)
SIZES_ASCENDING = (
    Sizes(1, 1, 1, 1, 1, 1),
    Sizes(1, 1, 1, 2, 1, 1),
    Sizes(1, 1, 2, 2, 1, 1),
    Sizes(1, 1, 2, 2, 2, 2),
    Sizes(1, 1, 2, 3, 2, 2),
    Sizes(2, 1, 2, 2, 2, 2),
    Sizes(1, 2, 2, 2, 2, 2),
    Sizes(2, 2, 3, 3, 2, 2),
    *PROBE_SIZES,
)


@dataclass(frozen=True)
class Probe:
    """A kind of input: its name, the arguments that a function needs for it, a case at any size."""

    name: str
    needs: tuple[str, ...]
    build: Callable[[Sizes], Case]
    every_size: bool = False  # asked at every size, not only at the first that fits
    sizes: tuple[Sizes, ...] = PROBE_SIZES

    @property
    def feature(self) -> str:
        """The feature that the probe asks about, '' for plain attention."""
        features = [need for need in self.needs if need not in ("added", "empty rows")]
        if "cache" in features:
            return "cache"
        return features[-1] if features else ""

    @property
    def is_about_empty_rows(self) -> bool:
        return "empty rows" in self.needs


def _build(seed: int, spread: float = 1.0, **options: Any) -> Callable[[Sizes], Case]:
    """A maker of cases with these options, any of which may be a function of the sizes."""

    def build(sizes: Sizes) -> Case:
        values = {name: x(sizes) if callable(x) else x for name, x in options.items()}
        return replace(draw(sizes, seed, spread), **values)

    return build


def _large(sizes: Sizes) -> Case:
    """Scores of thousands, of both signs; one row has large negative ones only."""
    case = draw(sizes, seed=1, spread=30.0)
    query, key = case.query.copy(), case.key.copy()
    key[..., 0] = np.abs(key[..., 0]) + 30
    query[:, :, 0] = 0
    query[:, :, 0, 0] = -60
    return replace(case, query=query, key=key)


def mixed_mask(queries: int, keys: int) -> Array:
    """A mask with at least one True and one False in every row, and no order.

    >>> mixed_mask(3, 5).astype(int)
    array([[1, 1, 0, 1, 0],
           [0, 1, 0, 1, 1],
           [0, 1, 1, 0, 1]])
    """
    number_qk = np.arange(keys) * 2 + np.arange(queries)[:, None] * 4
    return np.asarray(number_qk % 5 < 3) if keys > 2 else np.eye(queries, keys, dtype=bool)


def _mask(sizes: Sizes) -> Array:
    return mixed_mask(sizes.q, sizes.k)


def _mask_with_empty_row(sizes: Sizes) -> Array:
    mask_qk = mixed_mask(sizes.q, sizes.k)
    mask_qk[sizes.q // 2] = False
    return mask_qk


def _mask_with_diagonal(sizes: Sizes) -> Array:
    """A mask in which every query sees itself, so that a causal one on top empties no row."""
    return mixed_mask(sizes.q, sizes.k) | np.eye(sizes.q, sizes.k, dtype=bool)


def _added_mask(sizes: Sizes) -> Array:
    random = generator(5, *sizes)
    mask_qk = random.standard_normal((sizes.q, sizes.k)).round(3)
    mask_qk[:, -1] = -np.inf
    return mask_qk


def _lengths(sizes: Sizes) -> Array:
    return np.minimum(np.arange(sizes.b) * 2 + 2, sizes.k - 1)


def _cached(sizes: Sizes) -> int:
    return max(0, sizes.k - sizes.q)


def _grouped(sizes: Sizes) -> Case:
    return draw(sizes._replace(h=2 * sizes.h, g=sizes.h), seed=12)


# "mask, large scores": scores of hundreds, which a mask of -100 does not hide.
PROBES = (
    Probe("plain", (), draw, every_size=True),
    Probe("large scores", (), _large),
    Probe("long", (), draw, sizes=LONG_SIZES),
    Probe("mask", ("mask",), _build(2, mask=_mask)),
    Probe("mask, large scores", ("mask",), _build(3, 30.0, mask=_mask)),
    Probe("added mask", ("mask", "added"), _build(5, mask=_added_mask)),
    Probe("empty rows", ("mask", "empty rows"), _build(4, mask=_mask_with_empty_row)),
    Probe("causal", ("causal",), _build(6, causal=True), every_size=True),
    Probe("causal, large scores", ("causal",), _build(7, 30.0, causal=True)),
    Probe("causal, offset 2", ("causal", "offset"), _build(6, causal=True, offset=2)),
    Probe("causal, offset 1", ("causal", "offset"), _build(6, causal=True, offset=1)),
    Probe(
        "causal, offset -2",
        ("causal", "offset", "empty rows"),
        _build(6, causal=True, offset=-2),
    ),
    Probe("padding", ("lengths",), _build(8, lengths=_lengths)),
    Probe("softcap", ("softcap",), _build(9, 2.0, softcap=2.0)),
    Probe("softcap and mask", ("softcap", "mask"), _build(9, 2.0, softcap=2.0, mask=_mask)),
    Probe("softcap and causal", ("softcap", "causal"), _build(9, 2.0, softcap=2.0, causal=True)),
    Probe("scale", ("scale",), _build(10, scale=0.3)),
    Probe("window", ("window",), _build(11, window=(2, 1))),
    Probe("mask and causal", ("mask", "causal"), _build(13, mask=_mask_with_diagonal, causal=True)),
    Probe("cached keys", ("cache",), _build(14, cached=_cached)),
    Probe(
        "cached keys, causal",
        ("cache", "causal"),
        _build(14, cached=_cached, causal=True, offset=_cached),
    ),
    Probe("grouped heads", ("grouped heads",), _grouped),
)
PROBE_BY_NAME = {probe.name: probe for probe in PROBES}
