"""observe_paged: facts about the attention of a serving engine, from its paged cache of keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regard.arguments import suggest_keywords
from regard.engine.observation import Observation
from regard.engine.observe import observe, observe_from_logsumexp
from regard.engine.tensors import as_array
from regard.errors import ArgumentError
from regard.textbook.options import Window


@suggest_keywords
def observe_paged(
    query: ArrayLike,
    key_cache: ArrayLike,
    block_table: ArrayLike,
    lengths: ArrayLike,
    *,
    starts: ArrayLike | None = None,
    logsumexp: ArrayLike | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    top: int = 16,
    map: int = 256,
) -> tuple[Observation, ...]:
    """Facts of every sequence of a batch whose keys lie in the blocks of a cache.

    One sequence at a time is put together, so memory grows with the longest. The last query of a
    sequence has the position of its last key, and none looks ahead.

    Parameters
    ----------
    query : (t, h, d), the queries of all sequences one after the other.
    key_cache : (blocks, size, h_kv, d); or (slots, h_kv, d), where a block is one key.
    block_table : (b, n), the blocks of each sequence in order; entries behind its keys are ignored.
    lengths : (b,), the number of keys of each sequence, those of its queries included.
    starts : (b + 1,), where the queries of each sequence begin and end; one each if not given.
    logsumexp : (t, h), natural, of the engine's own kernel; computed where it is not given.
    window, softcap, scale, top, map : as for ``observe``.

    Examples
    --------
    >>> cache = np.arange(24.0).reshape(4, 3, 1, 2) / 10      # four blocks of three keys
    >>> seen, = observe_paged(np.ones((1, 1, 2)), cache, [[2, 0]], [4])
    >>> seen.top(1).keys.item(), seen.keys                    # block 2 holds the first three keys
    (2, 4)
    """
    arrays = {"block_table": as_array(block_table), "lengths": as_array(lengths)}
    table_bn, lengths_b = (_integers(name, x) for name, x in arrays.items())
    edges = (
        np.arange(len(lengths_b) + 1) if starts is None else _integers("starts", as_array(starts))
    )
    queries, cache = _indexable(query), _indexable(key_cache)
    _check(queries.shape, cache.shape, table_bn, lengths_b, edges)
    options: dict[str, Any] = {"window": window, "softcap": softcap, "scale": scale}
    options |= {"top": top, "map": map, "causal": True}
    seen = []
    for number, key_hkd in enumerate(_keys(cache, table_bn, lengths_b)):
        rows = slice(int(edges[number]), int(edges[number + 1]))
        query_hqd = queries[rows].swapaxes(0, 1)
        offset = int(lengths_b[number]) - len(queries[rows])
        if logsumexp is None:
            seen.append(observe(query_hqd, key_hkd, key_hkd[..., :0], offset=offset, **options))
            continue
        total_hq = _indexable(logsumexp)[rows].swapaxes(0, 1)
        seen.append(observe_from_logsumexp(query_hqd, key_hkd, total_hq, offset=offset, **options))
    return tuple(seen)


def _keys(cache: Any, table_bn: Any, lengths_b: Any) -> Iterator[Any]:
    """The keys (h_kv, k, d) of each sequence, in order."""
    size = cache.shape[1] if cache.ndim == 4 else 1
    for blocks, length in zip(table_bn, lengths_b, strict=True):
        own = cache[blocks[: -(-int(length) // size)]]
        yield own.reshape(-1, *cache.shape[-2:])[: int(length)].swapaxes(0, 1)


def _indexable(array: Any) -> Any:
    """An array or a tensor as it is, lists as an array."""
    return array if hasattr(array, "shape") else np.asarray(array)


def _integers(name: str, array: Any) -> Any:
    if array.dtype.kind not in "iu":
        raise ArgumentError(f"{name} must be whole numbers, got {array.dtype}.")
    return array.astype(np.int64)


def _check(
    queries: tuple[int, ...], cache: tuple[int, ...], table_bn: Any, lengths_b: Any, edges: Any
) -> None:
    if len(queries) != 3 or len(cache) not in (3, 4):
        raise ArgumentError(
            "query must be (t, h, d) and key_cache (blocks, size, h_kv, d) or (slots, h_kv, d), "
            f"got {tuple(queries)} and {tuple(cache)}."
        )
    sequences, size = len(lengths_b), cache[1] if len(cache) == 4 else 1
    if table_bn.ndim != 2 or len(table_bn) != sequences or edges.shape != (sequences + 1,):
        raise ArgumentError(
            f"block_table must be (b, n) and starts (b + 1,) for {sequences} lengths, got "
            f"{table_bn.shape} and {edges.shape}."
        )
    counts = np.diff(edges)
    if edges[0] != 0 or edges[-1] != queries[0] or (counts < 1).any() or (counts > lengths_b).any():
        raise ArgumentError(
            f"starts must rise from 0 to {queries[0]}, the number of queries, and a sequence must "
            "have as many keys as queries, or more."
        )
    needed_b = -(-lengths_b // size)
    if (needed_b > table_bn.shape[1]).any():
        raise ArgumentError(
            f"block_table must have {int(needed_b.max())} blocks of {size} for {lengths_b.max()} "
            f"keys, got {table_bn.shape[1]}."
        )
    used = np.concatenate([row[:n] for row, n in zip(table_bn, needed_b, strict=True)])
    if not ((used >= 0) & (used < cache[0])).all():
        raise ArgumentError(f"block_table must name blocks from 0 to {cache[0] - 1}.")
