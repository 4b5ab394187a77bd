"""What attention that looks at some keys alone gives up: a window, a sparse mask, blocks."""

from __future__ import annotations

from typing import Any

from regard.judging.asked import (
    HALF_HIDDEN,
    HIDDEN,
    Asked,
    at_rows,
    attend,
    sink_rows,
    visibility,
)


def dense_shares(asked: Asked, rows_bga: Any) -> tuple[Any, Any]:
    """(b, h) mean share of the dense weight on the keys seen, and on the best as many keys.

    Dense attention has the same queries and keys, and sees every key that some query of the call
    sees, up to its own position where no query sees a later one. Keys that a cache has no more are
    not known.
    """
    import torch

    b, h, g, q, k = asked.shape
    seen, bias = visibility(asked, rows_bga)
    if seen is None:
        return torch.ones(b, h), torch.ones(b, h)
    aligned = asked.position if (asked.ahead, asked.behind) != (None, None) else k - q
    place = (rows_bga + aligned)[..., None].repeat(1, 1, h // g, 1)
    later = torch.arange(k, device=place.device) > place
    there = _some_query_sees(asked, rows_bga.shape[-1])
    if not bool((seen & later).any()):
        there = there & ~later
    dense = attend(
        at_rows(asked.query, rows_bga).double(), asked.key.double(), asked.value.double(),
        asked.scale, seen=there, bias=bias, softcap=asked.softcap, sink=sink_rows(asked, rows_bga),
    )  # fmt: skip
    number = (seen & there).sum(-1, keepdim=True)
    ordered = dense.weights.sort(-1, descending=True).values.cumsum(-1)
    best = ordered.gather(-1, (number - 1).clamp_min(0))[..., 0]
    kept = (dense.weights * seen).sum(-1)
    live = ~dense.dead & (number[..., 0] > 0)
    kept, best = (
        (_by_head(x * live, h // g) / _by_head(live.double(), h // g).clamp_min(1)).cpu()
        for x in (kept, best)
    )
    return kept, best


def _by_head(rows: Any, heads: int) -> Any:
    """Sums (b, h) of numbers (b, g, rows of each head in turn)."""
    return rows.unflatten(-1, (heads, -1)).sum(-1).flatten(1)


def _some_query_sees(asked: Asked, rows: int) -> Any:
    """Keys that are no padding, as far as the mask says: it broadcasts to (b, g, rows, k)."""
    import torch

    b, h, g, _, k = asked.shape
    if asked.mask is None:
        return torch.ones(1, dtype=torch.bool, device=asked.value.device)
    mask = asked.mask.reshape((1,) * (4 - asked.mask.ndim) + tuple(asked.mask.shape))
    if mask.dtype != torch.bool:
        mask = mask > (HALF_HIDDEN if mask.dtype == torch.float16 else HIDDEN)
    any_bhk = mask.any(2).expand(b, h, k)
    return any_bhk.unflatten(1, (g, -1))[:, :, :, None].expand(-1, -1, -1, rows, -1).flatten(2, 3)
