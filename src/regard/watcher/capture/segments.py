"""Segments of a padded batch: the unpadded tokens of each sentence, as ``observe`` takes them.

Padding on one side is sliced off, which needs no mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.tensors import as_wide_array, in_host_memory
from regard.errors import BackendError
from regard.watcher.capture.masks import MaskSpec

if TYPE_CHECKING:
    import torch

    from regard.watcher.capture.model_call import ModelCall


@dataclass(frozen=True)
class Segment:
    """Sentences of a call with the same unpadded slice, and the arguments of their mask.

    ``rows`` and ``columns`` are the unpadded queries and keys of the call. The first of them
    have the positions ``row_start`` and ``column_start`` of their sentence. ``arguments`` are
    those of ``observe``.
    """

    sentences: tuple[int, ...]
    rows: slice
    columns: slice
    row_start: int
    column_start: int
    arguments: dict[str, Any] = field(repr=False)
    alone: bool = False  # one sentence without its axis

    @property
    def indices(self) -> tuple[Any, Any]:
        """Indices of queries and of keys: (b, h, q) and (b, h, k)."""
        first, last = self.sentences[0], self.sentences[-1]
        if self.alone:
            return (first, slice(None), self.rows), (first, slice(None), self.columns)
        some: Any = slice(first, last + 1)
        if last - first + 1 != len(self.sentences):
            some = list(self.sentences)
        return (some, slice(None), self.rows), (some, slice(None), self.columns)

    @property
    def queries(self) -> int:
        return int(self.rows.stop - self.rows.start)

    @property
    def keys(self) -> int:
        return int(self.columns.stop - self.columns.start)

    def one_by_one(self, query: torch.Tensor) -> list[Segment]:
        """One segment for each sentence on a device, so that query and key stay there."""
        return [self] if in_host_memory(query) else self.separate()

    def separate(self) -> list[Segment]:
        """One segment for each sentence."""
        parts, mask = [], self.arguments.get("mask")
        for index, sentence in enumerate(self.sentences):
            arguments = dict(self.arguments)
            if isinstance(mask, np.ndarray) and mask.ndim == 4:
                arguments["mask"] = mask[min(index, len(mask) - 1)]
            parts.append(replace(self, sentences=(sentence,), arguments=arguments, alone=True))
        return parts

    def some(self, start: int, stop: int) -> Segment:
        """The same segment for some of its queries."""
        if (start, stop) == (0, self.queries):
            return self
        arguments, mask = dict(self.arguments), self.arguments.get("mask")
        if "offset" in arguments:
            arguments["offset"] += start
        if callable(mask):
            arguments["mask"] = lambda query, key: mask(query + start, key)
        elif mask is not None and mask.shape[-2] > 1:
            arguments["mask"] = mask[..., start:stop, :]
        rows = slice(self.rows.start + start, self.rows.start + stop)
        return replace(self, rows=rows, row_start=self.row_start + start, arguments=arguments)

    def without_last_keys(self, number: int) -> Segment:
        """The same segment without its last keys, which none of its queries sees."""
        arguments, mask = dict(self.arguments), self.arguments.get("mask")
        columns = slice(self.columns.start, self.columns.stop - number)
        if mask is not None and not callable(mask) and mask.shape[-1] > 1:
            arguments["mask"] = mask[..., : mask.shape[-1] - number]
        return replace(self, columns=columns, arguments=arguments)


def call_segments(call: ModelCall) -> list[Segment]:
    """Segments of a call: sentences of the same unpadded slice and band are one."""
    mask = call.mask
    if call.spec is not None:
        return list(_spec_segments(call, call.spec))
    arguments: dict[str, Any] = {}
    queries, keys = call.query.shape[2], call.key.shape[2]
    everything = tuple(range(call.query.shape[0]))
    columns = slice(0, keys)
    if mask is None and call.causal and queries > 1:
        # As in torch, query 0 has the position of key 0, and later keys are hidden.
        columns = slice(0, min(queries, keys))
        arguments = {"causal": True, "offset": 0}
    rows = slice(0, queries)
    start = 0 if call.cross or call.merged or mask is None else keys - queries
    arguments |= _extra(call, mask, everything, rows, columns)
    return [Segment(everything, rows, columns, start, 0, arguments)]


def _spec_segments(call: ModelCall, mask: MaskSpec) -> Iterator[Segment]:
    queries, keys = call.query.shape[2], call.key.shape[2]
    _check_sizes(call, mask)
    bounds = [_real(mask, sentence, keys) for sentence in range(call.query.shape[0])]
    groups: dict[tuple[int, int, bool, int], list[int]] = {}
    as_tensor = mask.changed or mask.band is None
    for sentence, (low, high, contiguous) in enumerate(bounds):
        own = sentence if not contiguous or as_tensor or call.rows is not None else -1
        groups.setdefault((low, high, contiguous, own), []).append(sentence)
    for (low, high, contiguous, _), some in groups.items():
        columns = slice(max(low - mask.key_start, 0), max(min(high - mask.key_start, keys), 0))
        rows = slice(0, queries)
        if not call.cross:
            first, last = (min(max(x - mask.query_start, 0), queries) for x in (low, high))
            rows = slice(first, last)
        elif call.rows is not None:
            rows = call.rows[some[0]]
        if rows.stop <= rows.start:
            continue
        arguments = {} if mask.changed else _band(mask, rows, columns, some[0])
        if not call.cross:
            arguments["offset"] = mask.query_start + rows.start - mask.key_start - columns.start
        if not contiguous and not mask.changed:
            arguments["mask"] = _with_holes(arguments.get("mask"), _holes(mask, some[0], columns))
        hidden = arguments.pop("mask", None)
        if mask.changed and call.mask is not None:  # it alone says what is hidden but padding
            hidden = call.mask[some] if call.mask.shape[0] > 1 else call.mask
        arguments |= _extra(call, hidden, tuple(some), rows, columns)
        row_start = 0 if call.cross else mask.query_start + rows.start - low
        column_start = mask.key_start + columns.start - low
        yield Segment(tuple(some), rows, columns, row_start, column_start, arguments)


def _check_sizes(call: ModelCall, mask: MaskSpec) -> None:
    """Raise where a mask is of another size than the attention, as of a cache it does not know."""
    described, sizes = mask.shape[2:], (call.query.shape[2], call.key.shape[2])
    if described != sizes:
        raise BackendError(
            f"{type(call.module).__name__} attends with (queries, keys) = {tuple(sizes)}, but its "
            f"mask is for {tuple(described)}: which keys it hides is not known, so watch shows "
            "nothing. Leave this layer out with layers=..., or watch one forward "
            "without a cache."
        )


def _real(mask: MaskSpec, sentence: int, keys: int) -> tuple[int, int, bool]:
    """The positions of the first real key and after the last, and whether all between are real.

    Keys that no query can reach yet (a cache made for more tokens than came) are left out.
    """
    stop = mask.key_start + keys
    if mask.band is not None and mask.band[1] is not None:
        stop = min(stop, mask.query_start + mask.shape[2] + mask.band[1])
    if mask.real_bk is None:
        return 0, stop, True
    positions = np.flatnonzero(mask.real_bk[sentence][:stop])
    if not positions.size:
        return 0, 0, True
    low, high = int(positions[0]), int(positions[-1]) + 1
    return low, high, high - low == len(positions)


def _band(mask: MaskSpec, rows: slice, columns: slice, sentence: int) -> dict[str, Any]:
    at_row, at_column = mask.query_start + rows.start, mask.key_start + columns.start
    if mask.band is None:
        rule = mask.rule(sentence)
        return {"mask": lambda query, key: rule(query + at_row, key + at_column)}
    if mask.band == (None, None):
        return {}
    return {"window": mask.band}


def _holes(mask: MaskSpec, sentence: int, columns: slice) -> NDArray[np.bool_]:
    """The mask (1, 1, 1, k) of padding between unpadded tokens."""
    real_bk = mask.real_bk
    start = mask.key_start + columns.start
    width = columns.stop - columns.start
    real_k = np.zeros(width, bool)
    if real_bk is not None:
        real = real_bk[sentence][start : start + width]
        real_k[: len(real)] = real
    return real_k[None, None, None, :]


def _with_holes(rule: Any, real_k: NDArray[np.bool_]) -> Any:
    """The mask of padding between tokens, together with the rule of a mask that is no band."""
    if rule is None:
        return real_k
    return lambda query, key: np.asarray(rule(query, key)) & real_k[0, 0, 0, key]


def _extra(
    call: ModelCall, mask: Any, sentences: tuple[int, ...], rows: slice, columns: slice
) -> dict[str, Any]:
    """A mask as numbers and a position bias, as ``observe`` takes them."""
    if mask is not None and not callable(mask) and not isinstance(mask, np.ndarray):
        mask = added_mask(mask)[..., rows, columns]
    if call.bias is None:
        return {} if mask is None else {"mask": mask}
    bias = as_wide_array(call.bias)[..., rows, columns]
    if bias.shape[0] > 1:
        bias = bias[list(sentences)]
    if callable(mask):
        at_q1 = np.arange(rows.stop - rows.start)[:, None]
        mask = np.asarray(mask(at_q1, np.arange(columns.stop - columns.start)[None]))
    if mask is None:
        return {"mask": bias}
    hidden = np.where(mask, 0, -np.inf) if mask.dtype == bool else mask
    return {"mask": (bias + hidden).astype(bias.dtype)}


def added_mask(tensor: torch.Tensor) -> NDArray[Any]:
    """A mask as an array; the lowest number of a dtype, which models add to hide, means -inf.

    Not in rows that have no other number: there a softmax gives all keys the same weight.
    """
    mask = as_wide_array(tensor)
    if mask.dtype == bool:
        return mask
    hidden = mask <= np.finfo(mask.dtype).min / 2
    hidden &= ~hidden.all(axis=-1, keepdims=True)
    return np.where(hidden, -np.inf, mask).astype(mask.dtype)


def hides_whole_rows(mask: torch.Tensor | None) -> bool:
    """Whether a mask of numbers has a row with nothing but the lowest number of its dtype."""
    if mask is None or not mask.is_floating_point():
        return False
    lowest = np.finfo(np.float32).min / 2  # as in added_mask, where 16-bit numbers are widened
    return bool(((mask <= lowest) & mask.isfinite()).all(dim=-1).any())
