"""Attention of kernels outside aten's own: the flash-attn package, flex attention, nested tensors.

Sequences that are packed one after the other become sentences of a batch; their padding sees
nothing.
"""

from __future__ import annotations

from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Any

from regard.errors import BackendError
from regard.watcher.capture.attention_event import AttentionEvent, usable_logsumexp

if TYPE_CHECKING:
    import torch

# Operators whose arguments have the names of the flash-attn package, or those of aten.
FLASH = frozenset({
    "flash_attn::_flash_attn_forward", "flash_attn::_flash_attn_varlen_forward",
    "aten::_flash_attention_forward",
})  # fmt: skip
ATEN_NAMES = {
    "query": "q", "key": "k", "cum_seq_q": "cu_seqlens_q", "cum_seq_k": "cu_seqlens_k",
    "is_causal": "causal", "scale": "softmax_scale",
}  # fmt: skip
UNREAD = ("block_table", "leftpad_k", "seqused_k")


def named_arguments(
    schema: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    """Arguments of an operator under the names of its schema, as flash-attn calls them."""
    names: list[str] = [argument.name for argument in schema.arguments]
    given: dict[str, Any] = dict(zip(names, arguments, strict=False)) | keywords
    return {ATEN_NAMES.get(name, name): value for name, value in given.items()}


def flash_event(
    schema: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any
) -> AttentionEvent:
    """The event of a flash kernel: query (b, q, h, d), or packed (t, h, d) with its edges."""
    given = named_arguments(schema, arguments, keywords)
    for name in UNREAD:
        if given.get(name) is not None:
            raise BackendError(
                f"{schema.name} reads its keys by {name!r}, which regard does not know: its "
                "weights would be wrong, so watch shows none."
            )
    scaling: dict[str, Any] = {
        "scale": given.get("softmax_scale"),
        "softcap": given.get("softcap") or None,
    }
    query, key = given["q"].detach(), given["k"].detach()
    causal, edges_q, edges_k = (given.get(x) for x in ("causal", "cu_seqlens_q", "cu_seqlens_k"))
    windows = [given.get(f"window_size_{side}") for side in ("left", "right")]
    windowed = given.get("alibi_slopes") is not None or any(
        x is not None and x >= 0 for x in windows
    )
    if edges_q is not None:
        (query, sizes_q), (key, sizes_k) = unpacked(query, edges_q), unpacked(key, edges_k)
    elif windowed or (causal and query.shape[1] != key.shape[1]):
        sizes_q, sizes_k = [query.shape[1]] * len(query), [key.shape[1]] * len(key)
    else:
        query, key = query.transpose(1, 2), key.transpose(1, 2)
        logsumexp = usable_logsumexp(result[1], query)
        return AttentionEvent(query, key, None, logsumexp, causal=bool(causal), **scaling)
    mask = _mask(given, sizes_q, sizes_k, query.device)
    return AttentionEvent(query.transpose(1, 2), key.transpose(1, 2), mask, **scaling)


def _mask(given: dict[str, Any], queries: list[int], keys: list[int], device: Any) -> torch.Tensor:
    """The mask (b, 1, q, k) of sequences of these lengths, with a bias for each head if it has."""
    import torch

    shape, sizes = (max(queries), max(keys)), zip(queries, keys, strict=True)
    mask = torch.stack([_visible(given, q, k, shape, device) for q, k in sizes])[:, None]
    slopes = given.get("alibi_slopes")
    if slopes is None:
        return mask
    return torch.where(mask, _alibi(slopes, queries, keys, mask), -torch.inf)


def unpacked(packed: torch.Tensor, edges: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """Sequences (t, h, d) between edges as (b, t, h, d) with zeros behind, and their lengths."""
    import torch

    parts = [packed[start:stop] for start, stop in pairwise(edges.tolist())]
    return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True), [len(x) for x in parts]


def _visible(
    given: dict[str, Any], queries: int, keys: int, shape: tuple[int, int], device: Any
) -> torch.Tensor:
    """The mask (q, k) of one sequence: the last query has the position of the last key."""
    import torch

    at_q, at_k = (torch.arange(size, device=device) for size in shape)
    back = (at_q + keys - queries)[:, None] - at_k
    visible = (at_q < queries)[:, None] & (at_k < keys)
    left, right = (given.get(f"window_size_{side}") for side in ("left", "right"))
    if given.get("causal"):
        right = 0 if right is None or right < 0 else min(right, 0)
    if left is not None and left >= 0:
        visible &= back <= left
    if right is not None and right >= 0:
        visible &= back >= -right
    return visible


def _alibi(
    slopes: torch.Tensor, queries: list[int], keys: list[int], mask: torch.Tensor
) -> torch.Tensor:
    """The bias (b, h, q, k) of distances with a slope for each head, of all sentences or of one."""
    import torch

    at_q, at_k = (torch.arange(size, device=mask.device) for size in mask.shape[-2:])
    shift = torch.tensor(keys, device=mask.device) - torch.tensor(queries, device=mask.device)
    distance_bqk = ((at_q + shift[:, None])[..., None] - at_k).abs()
    slopes_bh = slopes.expand(len(queries), -1) if slopes.ndim == 1 else slopes
    return -slopes_bh[:, :, None, None] * distance_bqk[:, None]


def flex_event(arguments: tuple[Any, ...], result: tuple[Any, ...]) -> AttentionEvent:
    """The event of flex attention that runs uncompiled: its weights, which torch makes as well."""
    import torch

    query, key, _, score_mod, block_mask, scale, _, of_score, of_mask = arguments
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    query, key = query.detach().to(wide), key.detach().to(wide)
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    scores = query @ key.transpose(-1, -2) * scale
    at = [
        torch.arange(size, device=query.device).view([-1 if x == axis else 1 for x in range(4)])
        for axis, size in enumerate(scores.shape)
    ]
    scores = score_mod(scores, *at, *of_score)
    scores = torch.where(block_mask[-1](*at, *of_mask), scores, -torch.inf)
    own, ours = result[1].detach() * log(2), scores.logsumexp(dim=-1)
    difference = (own - ours).abs()[own.isfinite() & ours.isfinite()]
    if not bool((difference <= 1e-3 * (1 + ours.abs().nan_to_num(0, 0, 0).max())).all()):
        raise BackendError(
            f"flex attention: the log-sum-exp of its kernel is {difference.max():.3g} away from "
            "that of the weights regard would show, so watch shows none."
        )
    return AttentionEvent(weights=scores.softmax(dim=-1).nan_to_num(0))


def nested_event(weights: Any) -> AttentionEvent:
    """The event of a softmax of nested tensors, (h, q, k) for each sentence."""
    return AttentionEvent(weights=weights.detach().to_padded_tensor(0.0))
