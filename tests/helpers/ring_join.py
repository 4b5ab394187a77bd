"""The slices of all ranks, put together into what one process would have said."""

from typing import Any

import numpy as np
from tests.helpers.ring_cases import Slices, taken

ROWS = {"output": -2, "logsumexp": -1, "entropy": -1, "top_weights": -2, "top_keys": -2}
COLUMNS = {"received": -1, "received_mean": -1}
SHARED = ("map", "first", "itself", "previous", "next")


def joined(
    parts: list[dict[str, Any]], slices: Slices, queries: int, keys: int
) -> dict[str, np.ndarray]:
    """Facts of the whole; what all ranks share must be the same bits on each."""
    merged = {}
    for tokens, facts in ((queries, ROWS), (keys, COLUMNS)):
        at = np.concatenate([taken(slices, tokens, r, len(parts)) for r in range(len(parts))])
        assert sorted(at) == list(range(tokens))
        for name, axis in facts.items():
            together = np.concatenate([part[name] for part in parts], axis=axis)
            merged[name] = np.take(together, np.argsort(at), axis=axis)
    for name in SHARED:
        merged[name] = parts[0][name]
        assert all(np.array_equal(part[name], merged[name]) for part in parts)
    # Rank 0 holds the farthest back.
    for name in ("shares", "back"):
        merged[name] = np.concatenate([part[name] for part in reversed(parts)], axis=-1)
    return merged
