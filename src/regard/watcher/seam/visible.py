"""What a mask hides, read from the mask itself: padding, a band, or a matrix.

One pass over a mask that the program holds anyway; the layers of a forward share it. What is found
is compared with every number of the mask.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.tensors import as_wide_array
from regard.watcher.seam.call import AttentionCall

if TYPE_CHECKING:
    import torch

Rows = tuple[int, int]


@dataclass(frozen=True)
class Visible:
    """Sentences of a call with the same real queries and keys, and what these queries see.

    ``rows`` and ``columns`` are those of the call without padding. ``start`` is the position of the
    first of these queries, counted from the first of these keys. ``options`` are what
    ``regard.observe`` takes for them: offset, window or mask.
    """

    sentences: tuple[int, ...]
    rows: slice
    columns: slice
    start: int
    options: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Band:
    """One sentence of a mask: real rows and columns, and the band between them.

    ``offset`` is the position of query 0 among the keys of the call. ``left`` and ``right`` are as
    in ``window``; where the mask is not ``exact`` the band, it has to say itself what is hidden.
    """

    rows: Rows
    columns: Rows
    offset: int = 0
    left: int | None = None
    right: int | None = None
    exact: bool = True


NOTHING = Band((0, 0), (0, 0))


def visible(call: AttentionCall, real_rows: list[Rows] | None = None) -> list[Visible]:
    """The sentences of a call without their padding; those that are alike together.

    Parameters
    ----------
    call : AttentionCall
    real_rows : the unpadded queries of each sentence in cross attention, whose mask describes its
        keys alone.
    """
    crossed, (sentences, _, queries, keys) = call.place.crossed, call.shape
    bands = _bands_of(call)
    bands = bands * sentences if len(bands) == 1 else bands
    if not all(x.exact for x in bands) and not crossed:
        bands = _by_padding(bands, call, queries, keys)
    has_bias = call.mask is not None and call.query is not None and _is_bias(call.mask)
    groups: dict[Any, list[int]] = {}
    for sentence, band in enumerate(bands):
        rows = band.rows if real_rows is None or not crossed else real_rows[sentence]
        alone = -1 if band.exact and not has_bias else sentence
        groups.setdefault((replace(band, rows=rows), alone), []).append(sentence)
    return [
        _seen(call, band, tuple(group), has_bias)
        for (band, _), group in groups.items()
        if band.rows[1] > band.rows[0]
    ]


def _bands_of(call: AttentionCall) -> list[Band]:
    """A band for each sentence, or one for all."""
    crossed, (_, _, queries, keys) = call.place.crossed, call.shape
    if call.mask is not None and call.query is not None:
        bands = mask_bands(call.mask, queries, keys, crossed)
        return [replace(x, exact=False) for x in bands] if call.causal else bands
    if call.query is None and call.weights is not None and not crossed:
        bands = mask_bands(call.weights > 0, queries, keys, crossed)
        return [replace(x, left=None, right=None) for x in bands]
    reach = (0, min(queries, keys)) if call.causal and not crossed else (0, keys)
    offset = 0 if call.causal or crossed or queries >= keys else keys - queries
    right = 0 if call.causal and queries > 1 else None
    return [Band((0, queries), reach, offset, None, right)]


_read: dict[tuple[str, int], tuple[Any, Any]] = {}  # by id: weak reference, what it says


def _remembered(mask: torch.Tensor, kind: str, read: Any) -> Any:
    """What was read from a mask, once for all layers that share it."""
    if mask.is_inference():  # whether it was changed in place is not known then
        return read()
    kind = f"{kind} {mask._version}"
    known = _read.get((kind, id(mask)))
    if known is not None and known[0]() is mask:
        return known[1]
    found = read()
    for key in [key for key, (held, _) in tuple(_read.items()) if held() is None]:
        _read.pop(key, None)
    _read[kind, id(mask)] = weakref.ref(mask), found
    return found


def mask_bands(mask: torch.Tensor, queries: int, keys: int, crossed: bool = False) -> list[Band]:
    """The bands of the sentences of a mask that broadcasts to (b, h, q, k)."""

    def read() -> list[Band]:
        return [_band(x, queries, keys, crossed) for x in _visible(mask, queries, keys)]

    return list(_remembered(mask, f"bands {crossed}", read))


def hidden_by(mask: torch.Tensor) -> torch.Tensor:
    """True where a key is hidden: False in a mask of bool, next to the lowest number in others."""
    import torch

    if mask.dtype == torch.bool:
        return ~mask
    return mask <= torch.finfo(mask.dtype).min / 2


def _visible(mask: torch.Tensor, queries: int, keys: int) -> NDArray[np.bool_]:
    """(b, q, k): what any head sees."""
    mask_bhqk = mask.detach()
    while mask_bhqk.ndim < 4:
        mask_bhqk = mask_bhqk[None]
    seen_bhqk = ~hidden_by(mask_bhqk)
    seen_bqk = seen_bhqk.any(dim=1) if seen_bhqk.shape[1] > 1 else seen_bhqk[:, 0]
    found: NDArray[np.bool_] = seen_bqk.expand(-1, queries, keys).cpu().numpy()
    return found


def _band(seen_qk: NDArray[np.bool_], queries: int, keys: int, crossed: bool) -> Band:
    """The band of a matrix of bool, compared with all of it."""
    count_q = seen_qk.sum(axis=1)
    live = np.flatnonzero(count_q)
    if not live.size:
        return NOTHING
    first_q, last_q = seen_qk.argmax(axis=1), keys - seen_qk[:, ::-1].argmax(axis=1)
    low, high = int(first_q[live].min()), int(last_q[live].max())
    # Queries are the last keys that any of them sees; with as many keys they are these.
    offset = 0 if crossed or queries == keys else high - queries
    rows = _real_rows(count_q, offset, (low, high), crossed)
    if rows is None:
        return NOTHING
    part = slice(*rows)
    at_q = np.arange(*rows) + offset
    ends, begins = last_q[part] - at_q - 1, at_q - first_q[part]
    same_end = (last_q[part] == high).all() and (queries > 1 or crossed)
    right = None if same_end else int(ends.max())
    left = None if (first_q[part] == low).all() else int(begins.max())
    last = np.full(len(at_q), high) if right is None else np.minimum(at_q + right + 1, high)
    first = np.full(len(at_q), low) if left is None else np.maximum(at_q - left, low)
    exact = (last_q[part] == last).all() and (first_q[part] == first).all()
    filled = (count_q[part] == last_q[part] - first_q[part]).all()
    return Band(rows, (low, high), offset, left, right, bool(exact and filled))


def _real_rows(count_q: Any, offset: int, columns: Rows, crossed: bool) -> Rows | None:
    """The queries between the first and the last that see a key and are real keys themselves."""
    real = count_q > 0
    if not crossed:
        own = np.arange(len(count_q)) + offset
        real = real & (own >= columns[0]) & (own < columns[1])
    at = np.flatnonzero(real)
    return (int(at[0]), int(at[-1]) + 1) if at.size else None


def _by_padding(bands: list[Band], call: AttentionCall, queries: int, keys: int) -> list[Band]:
    """Bands whose mask hides more than padding, as of a sparse index: by what the model was given.

    Without a mask of padding only queries that see nothing are left out.
    """
    real = call.place.real
    if real is None or real.shape[0] != len(bands) or not queries <= real.shape[1] <= keys:
        return [x if x.exact else replace(x, columns=(0, keys)) for x in bands]
    # Weights of a query that may see nothing are spread over all keys, padding too.
    spread = call.query is None and real.shape[1] == keys
    offset, found = real.shape[1] - queries, []
    for band, real_k in zip(bands, real.bool().cpu().numpy(), strict=True):
        at = np.flatnonzero(real_k)
        low, high = (int(at[0]), int(at[-1]) + 1) if at.size else (0, 0)
        rows = max(low - offset, 0), max(high - offset, 0)
        other = replace(band, rows=rows, columns=(low, high), offset=offset)
        inside = low <= band.columns[0] <= band.columns[1] <= high
        if not (spread or inside):  # keys of another text besides
            other = replace(band, columns=(0, keys))
        found.append(band if band.exact else other)
    return found


def _seen(call: AttentionCall, band: Band, sentences: tuple[int, ...], has_bias: bool) -> Visible:
    rows, columns = slice(*band.rows), slice(*band.columns)
    start = 0 if call.place.crossed else rows.start + band.offset - columns.start
    options: dict[str, Any] = {} if call.place.crossed else {"offset": start}
    if call.query is None:
        pass  # its weights say it
    elif has_bias or not band.exact:
        options["mask"] = _matrix(call, sentences, rows, columns)
    elif (band.left, band.right) != (None, None):
        options["window"] = (band.left, band.right)
    return Visible(sentences, rows, columns, start, options)


def _is_bias(mask: torch.Tensor) -> bool:
    """Whether a mask has other numbers than 0 for keys that it does not hide."""

    def read() -> bool:
        return bool((mask.detach().masked_fill(hidden_by(mask), 0) != 0).any())

    return mask.is_floating_point() and bool(_remembered(mask, "bias", read))


def _matrix(call: AttentionCall, sentences: tuple[int, ...], rows: slice, columns: slice) -> Any:
    """The mask of some sentences as ``observe`` takes it; a view of the program's own if it can."""
    import torch

    mask: Any = call.mask
    while mask.ndim < 4:
        mask = mask[None]
    queries, keys = call.shape[2:]
    mask = mask.detach().expand(-1, -1, queries, keys)
    mask = mask[list(sentences)] if mask.shape[0] > 1 else mask
    part = mask[..., rows, columns]
    if call.causal:
        at_k = torch.arange(keys, device=mask.device)
        later = (at_k[None] > at_k[:queries, None])[rows, columns]
        part = part & ~later if part.dtype == torch.bool else part.masked_fill(later, -torch.inf)
    if part.dtype == torch.bool:
        return part.cpu().numpy()
    hidden = hidden_by(part)
    hidden = hidden & ~hidden.all(dim=-1, keepdim=True)  # such a row is spread evenly
    return as_wide_array(part.masked_fill(hidden, -torch.inf))
