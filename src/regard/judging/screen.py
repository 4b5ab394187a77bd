"""A first look at a call, in little time: errors in a unit that is at most the whole one.

What is right by it is right by the whole unit, so that only the rest is redone with care. 16-bit
calls are looked at in float32, whose own rounding is then less than a tenth of the unit.
"""

from __future__ import annotations

import math
from typing import Any

from regard.judging import rounding as r
from regard.judging.asked import Asked, at_rows, sink_rows, visibility
from regard.judging.rounding import Rounding

AT_ONCE = 2**20  # scores held at once
LONG = 1024  # keys from which on causal rows are looked at in parts, each up to its last key
PARTS = 2
# A score in float32 is off by about 2^-22 of its size. Times the step of the weights this is the
# largest score with which that is a tenth of what casting the weights does.
FINE = 0.1 * r.RELATIVE * 2.0**22


def screen(asked: Asked, rows_bga: Any, rounding: Rounding) -> tuple[Any, Any]:
    """(b, g, heads, a) root mean square errors of rows in units, and which rows see nothing."""
    import torch

    b, h, g, _, k = asked.shape
    ahead = k if asked.ahead is None else asked.ahead
    trimmed = asked.ahead is not None and k >= LONG
    parts = rows_bga.split(-(-rows_bga.shape[-1] // PARTS), -1) if trimmed else (rows_bga,)
    found = []
    for rows in parts:
        last = int(rows.max()) + asked.position + ahead + 1 if trimmed else k
        found.append(_errors(asked, rows, rounding, min(k, max(1, last))))
    off, dead = (
        torch.cat([x.view(b, g, h // g, -1) for x in each], -1) for each in zip(*found, strict=True)
    )
    return off, dead


def _errors(asked: Asked, rows: Any, rounding: Rounding, keys: int) -> tuple[Any, Any]:
    """The same of some rows, which see no key from ``keys`` on."""
    import torch

    query, given = (at_rows(x, rows).flatten(0, 1) for x in (asked.query, asked.output))
    key, value = (x[:, :, :keys].flatten(0, 1) for x in (asked.key, asked.value))
    seen, bias = visibility(asked, rows)
    extras = [None if x is None else x.flatten(0, 1) for x in (seen, bias, sink_rows(asked, rows))]
    some = max(1, AT_ONCE // max(1, query.shape[1] * keys))
    found = []
    for first in range(0, len(query), some):
        own = slice(first, first + some)
        seen, bias, sink = (None if x is None else x[own] for x in extras)
        seen, bias = (None if x is None else x[..., :keys] for x in (seen, bias))
        tensors = query[own], key[own], value[own], given[own]
        found.append(_some_errors(asked, rounding, tensors, seen, bias, sink))
    off, dead = (torch.cat(each) for each in zip(*found, strict=True))
    return off, dead


def _some_errors(
    asked: Asked, rounding: Rounding, tensors: tuple[Any, ...], seen: Any, bias: Any, sink: Any
) -> tuple[Any, Any]:
    """(n, rows) of some heads of keys; scores are computed and used in place."""
    import torch

    query, key, value, given = tensors
    wide = torch.float32 if rounding.low else torch.float64
    scores = torch.baddbmm(query.new_empty(1, dtype=wide), query.to(wide), key.to(wide).mT,
                           beta=0, alpha=asked.scale)  # fmt: skip
    if asked.softcap:
        scores.div_(asked.softcap).tanh_().mul_(asked.softcap)
    if bias is not None:
        scores.add_(bias)
    if seen is not None:
        scores.masked_fill_(~seen, -math.inf)
    top = scores.amax(-1, keepdim=True)
    if sink is not None:
        top = top.maximum(sink)
    dead = (top == -math.inf)[..., 0]
    top = top.masked_fill(dead[..., None], 0.0)
    if rounding.low and float(top.abs().max()) > FINE * r.step(rounding.weights):
        exact = Rounding(rounding.output, torch.float64)
        return _some_errors(asked, exact, tensors, seen, bias, sink)
    held = None if rounding.low else scores.to(_narrow(rounding))
    weights = scores.sub_(top).exp_()
    total = weights.sum(-1, keepdim=True)
    if sink is not None:
        total += (sink - top).exp()
    total.clamp_min_(1e-30)
    output = torch.bmm(weights, value.to(wide)) / total
    noise = (2 * r.RELATIVE * rounding.half_step) ** 2
    variance = r.ulp(output, rounding.output).square_() / 12
    variance += noise * ((top.abs() + total.log().abs()) ** 2 + 4) * output**2
    if held is None:
        variance += _cast(rounding, weights.div_(total), value)
    else:
        held.clamp_min_(r.HIDDEN)
        # The products of a score are taken as equal: by Cauchy and Schwarz they are no less.
        part = held.square().mul_(2.5 + query.shape[-1] / 2)
        part.addcmul_(held.sub_(top), held).add_(4).mul_(noise)
        variance += _kept(noise, output, weights.div_(total), part, value)
    if rounding.half_step == 2.0**-53:
        variance *= 2
    ratio = (given.to(wide) - output).square_().div_(variance)
    off = ratio.nan_to_num_(nan=1e30, posinf=1e30).clamp_max_(1e30).mean(-1)
    return off.sqrt_().masked_fill_(dead, 0.0).double(), dead


def _narrow(rounding: Rounding) -> Any:
    import torch

    return torch.float64 if rounding.half_step == 2.0**-53 else torch.float32


def _cast(rounding: Rounding, weights: Any, value: Any) -> Any:
    """Variance of weights that are cast, without the noise of their scores; they are used up."""
    import torch

    relative = (r.RELATIVE * r.step(rounding.weights)) ** 2
    return relative * torch.bmm(weights.square_(), value.to(weights.dtype).square())


def _kept(noise: float, output: Any, weights: Any, by_score: Any, value: Any) -> Any:
    """Variance of weights that are not cast: of their scores, which is used up, and of sums."""
    import torch

    squared, own = weights.to(by_score.dtype).square_(), value.to(by_score.dtype)
    sums = noise / 2 * squared.count_nonzero(-1)[..., None]
    by_key = by_score.mul_(squared)
    mixed = 2 * output * torch.bmm(by_key, own) - output**2 * by_key.sum(-1, keepdim=True)
    carried = torch.bmm(by_key.addcmul_(squared, sums.to(by_key.dtype)), own.square())
    return (carried - mixed).clamp_min_(0) + sums * output**2
