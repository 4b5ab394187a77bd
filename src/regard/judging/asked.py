"""What one call of attention was asked for, and chosen rows of it redone in float64.

Axes: b sentences, h heads, g key heads (each shared by h / g heads), q queries, k keys, d and v
features, a chosen rows: those of all heads that share a key head, one head after another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

HIDDEN = -1e30  # an added mask below this hides; no bias of a model comes near it, -65504 is apart
HALF_HIDDEN = -65503.0  # the least number of float16, which hides too


@dataclass(frozen=True)
class Asked:
    """One call: its tensors, and which keys each query may see.

    Query i has the position ``i + position`` among the keys and sees keys from ``behind`` before it
    to ``ahead`` after it (None: no limit); ``mask`` is added, or hides where it is False.
    ``scores`` are those that a program which writes its attention out gave to its softmax, and
    ``weights`` what that softmax gave, in the dtype they were multiplied in.
    """

    query: Any = field(repr=False)  # (b, h, q, d); None where only scores and weights are known
    key: Any = field(repr=False)  # (b, g, k, d), or None
    value: Any = field(repr=False)  # (b, g, k, v)
    output: Any = field(repr=False)  # (b, h, q, v)
    scale: float
    position: int = 0
    behind: int | None = None
    ahead: int | None = None
    mask: Any = field(default=None, repr=False)  # broadcasts to (b, h, q, k)
    softcap: float | None = None
    sinks: Any = field(default=None, repr=False)  # (h,) logits that meet no value
    dropout: float = 0.0
    scores: Any = field(default=None, repr=False)  # (b, h, q, k and sinks)
    weights: Any = field(default=None, repr=False)  # (b, h, q, k)
    written: bool = False  # in torch's operators, not by a fused kernel
    contract: bool = True  # query, key and mask are what was asked for, not read off the scores
    kernel: str = ""
    path: str = ""

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """(b, h, g, q, k)."""
        b, h, q, _ = self.output.shape
        return b, h, self.value.shape[1], q, self.value.shape[2]


@dataclass(frozen=True)
class Redone:
    """Rows of attention in float64, with what their rounding depends on."""

    query: Any  # (..., a, d)
    key: Any  # (..., k, d)
    value: Any  # (..., k, v)
    scale: float
    scores: Any  # (..., a, k), -inf where hidden
    top: Any  # (..., a, 1), the greatest score, or the sink
    total: Any  # (..., a, 1), sum of exp(score - top)
    weights: Any  # (..., a, k)
    output: Any  # (..., a, v)

    @property
    def dead(self) -> Any:
        """Rows that may see nothing: (..., a)."""
        return self.total[..., 0] == 0


def attend(
    query_ad: Any, key_kd: Any, value_kv: Any, scale: float, *, seen: Any = None,
    bias: Any = None, softcap: float | None = None, sink: Any = None,
) -> Redone:  # fmt: skip
    """Attention of float64 rows, the definition; any leading axes.

    ``sink``: (..., a, 1), a logit of the softmax that meets no value.
    """
    scores = query_ad @ key_kd.mT
    scores *= scale
    if softcap:
        scores = softcap * (scores / softcap).tanh()
    if bias is not None:
        scores = scores + bias
    if seen is not None:
        scores.masked_fill_(~seen, -math.inf)
    return from_scores(query_ad, key_kd, value_kv, scale, scores, sink)


def from_scores(
    query: Any, key: Any, value: Any, scale: float, scores: Any, sink: Any = None
) -> Redone:
    """The rest of it, from the masked scores."""
    top = scores.amax(-1, keepdim=True)
    if sink is not None:
        top = top.maximum(sink)
    top = top.masked_fill(top == -math.inf, 0.0)
    weights = (scores - top).exp_()
    total = weights.sum(-1, keepdim=True)
    if sink is not None:
        total = total + (sink - top).exp()
    weights /= total.clamp_min(1e-300)
    return Redone(query, key, value, scale, scores, top, total, weights, weights @ value)


def draw_rows(asked: Asked, rows: int, seed: int, call: int) -> Any:
    """(b, g, a) queries to redo, one from each equal slice: others for each key head and call."""
    import torch

    b, _, g, q, _ = asked.shape
    if rows >= q:
        return torch.arange(q).expand(b, g, q)
    generator = torch.Generator().manual_seed((seed * 1_000_003 + call) % 2**63)
    starts = torch.arange(rows) * q / rows
    drawn = starts + torch.rand(b, g, rows, generator=generator) * (q / rows)
    drawn[..., -1] = q - 1  # the newest query sees every key that a cache holds
    return drawn.long().clamp_(0, q - 1)


def at_rows(tensor_bhqx: Any, rows_bga: Any) -> Any:
    """(b, g, a, x) of a tensor at the chosen rows, in its own dtype; heads of a group in turn."""
    import torch

    b, g, _ = rows_bga.shape
    grouped = tensor_bhqx.unflatten(1, (g, -1))
    sentences = torch.arange(b, device=grouped.device)[:, None, None]
    groups = torch.arange(g, device=grouped.device)[None, :, None]
    picked = grouped[sentences, groups, :, rows_bga]  # (b, g, a, heads of the group, x)
    return picked.transpose(2, 3).flatten(2, 3)


def visibility(asked: Asked, rows_bga: Any) -> tuple[Any, Any]:
    """Which keys the rows see (None: all), and what is added to their scores (None: nothing)."""
    import torch

    b, h, g, q, k = asked.shape
    seen, bias = None, None
    if asked.behind is not None or asked.ahead is not None:
        keys = torch.arange(k, device=rows_bga.device)
        position = (rows_bga + asked.position)[..., None]
        if asked.ahead is not None:
            seen = keys <= position + asked.ahead
        if asked.behind is not None:
            near = keys >= position - asked.behind
            seen = near if seen is None else seen & near
        seen = seen.repeat(1, 1, h // g, 1)  # type: ignore[union-attr]
    if asked.mask is not None:
        mask = _mask_rows(asked.mask, rows_bga, (b, h, q, k))
        if mask.dtype == torch.bool:
            seen = mask if seen is None else seen & mask
        else:
            bias = mask.double()
            open_ = bias > (HALF_HIDDEN if mask.dtype == torch.float16 else HIDDEN)
            seen = open_ if seen is None else seen & open_
            bias = bias.masked_fill(~open_, 0.0)
            if not bias.any():
                bias = None
    return seen, bias


def _mask_rows(mask: Any, rows_bga: Any, shape: tuple[int, int, int, int]) -> Any:
    b, h, q, k = shape
    g = rows_bga.shape[1]
    mask = mask.reshape((1,) * (4 - mask.ndim) + tuple(mask.shape))
    if mask.shape[1] == 1:
        picked = at_rows(mask.expand(b, g, q, k), rows_bga)
        return picked.repeat(1, 1, h // g, 1)
    return at_rows(mask.expand(b, h, q, k), rows_bga)


def redo(asked: Asked, rows_bga: Any) -> Redone:
    """The chosen rows of a call as its arguments ask for them."""
    seen, bias = visibility(asked, rows_bga)
    return attend(
        at_rows(asked.query, rows_bga).double(), asked.key.double(), asked.value.double(),
        asked.scale, seen=seen, bias=bias, softcap=asked.softcap, sink=sink_rows(asked, rows_bga),
    )  # fmt: skip


def sink_rows(asked: Asked, rows_bga: Any) -> Any:
    """(b, g, a, 1) sinks of the chosen rows, None without any."""
    if asked.sinks is None:
        return None
    b, h, _, q, _ = asked.shape
    return at_rows(asked.sinks.double()[None, :, None, None].expand(b, h, q, 1), rows_bga)
