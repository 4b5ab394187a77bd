"""One call of attention judged: chosen rows redone, and every head's error in units of rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from regard.judging import rounding as r
from regard.judging.asked import Asked, Redone, at_rows, draw_rows, redo
from regard.judging.rounding import Rounding
from regard.judging.screen import screen
from regard.watcher.verdict import RIGHT, ROUNDED, SKIPPED, WRONG

# Errors of scores in float32 move a whole row along one value, so that single rows of sound kernels
# reach three units: care for each of them would double the cost, and faults there are hundreds.
FIRST_MARGIN = 2.5
NOT_FINITE = "its query, key or value is not finite"


@dataclass
class CallResult:
    """What was found of one call, by sentence and head."""

    path: str
    kernel: str
    dtype: str
    shape: tuple[int, int, int, int, int]
    reason: str = ""  # why no head of it was judged
    rows: Any = None  # (b, g, a) queries redone
    state: Any = None  # (b, h) RIGHT, ROUNDED, WRONG or SKIPPED
    z: Any = None  # (b, h) error of the head in units
    rows_off: Any = None  # (b, h) of its worst row
    wrong_rows: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    names: dict[tuple[int, int], Any] = field(default_factory=dict)  # of wrong heads
    dense: tuple[Any, Any] | None = None  # (b, h) shares of the dense weight: seen, at best

    @property
    def ok(self) -> bool:
        """Whether no head is wrong."""
        return self.state is None or not bool((self.state == WRONG).any())


def judge_call(asked: Asked, rows: int = 32, seed: int = 0, call: int = 0) -> CallResult:
    """Judge every head of a call by so many of its rows; the names of faults come later."""
    import torch

    result = CallResult(asked.path, asked.kernel, str(asked.value.dtype)[6:], asked.shape)
    result.reason = _refusal(asked)
    if result.reason:
        return result
    with torch.no_grad(), torch.autocast(asked.value.device.type, enabled=False):
        rows_bga = draw_rows(asked, rows, seed, call).to(asked.value.device)
        result.rows = rows_bga.cpu()
        _judge_rows(asked, rows_bga, result)
    return result


def _refusal(asked: Asked) -> str:
    import torch

    known = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    for x in (asked.query, asked.key, asked.value, asked.output):
        if x is not None and x.dtype not in known:
            return f"it computes in {str(x.dtype)[6:]}"
    if asked.dropout > 0:
        return f"dropout {asked.dropout:g} is on: its mask of chance is not known"
    if asked.query is None and asked.weights is None:
        return "neither its query and key nor its weights are known"
    if 0 in asked.shape:
        return "it has no queries or no keys"
    return ""


def rounding_of(asked: Asked) -> Rounding:
    """Where the kernel of a call rounds, by what ran."""
    scores = asked.value.dtype if asked.written else None
    if scores is not None and r.step(scores) <= 2.0**-23:
        scores = None
    return Rounding(asked.output.dtype, asked.value.dtype, scores, asked.written)


def _judge_rows(asked: Asked, rows_bga: Any, result: CallResult) -> None:
    rounding = rounding_of(asked)
    if asked.written and asked.weights is not None:
        measured = _written(asked, rows_bga, rounding, result)
    else:
        measured = _screened(asked, rows_bga, rounding, result)
    if measured is None:
        return
    _write(result, measured)
    if asked.written and rounding.scores is not None and asked.query is not None:
        fused = _screened(asked, rows_bga, replace(rounding, scores=None), result)
        if fused is not None:
            rounded = fused.wrong_head.flatten(1).cpu() & (result.state == RIGHT)
            result.state[rounded] = ROUNDED


def _written(
    asked: Asked, rows_bga: Any, rounding: Rounding, result: CallResult
) -> _Measured | None:
    """Errors of attention in torch's operators, whose own weights are known."""
    heads = asked.shape[1] // asked.shape[2]
    given = at_rows(asked.output, rows_bga).double()
    redone = None if asked.query is None else redo(asked, rows_bga)
    centre, kept, broken = _as_written(asked, rows_bga, redone)
    if not bool(centre.output.isfinite().all()):
        result.reason = NOT_FINITE
        return None
    measured = _measure(given, centre, kept, heads)
    if broken is not None and bool(broken.any()):
        # Where scores or weights are not what was asked for, the error is that from what was.
        broken = broken.unflatten(2, (heads, -1))
        measured.wrong_bgha |= broken
        if redone is not None:
            whole = _measure(given, redone, rounding, heads)
            measured.rows = measured.rows.where(~broken, whole.rows.maximum(measured.rows))
            measured.z = measured.z.where(~broken.any(-1), whole.z.maximum(measured.z))
    measured.dead = (redone or centre).dead.unflatten(2, (heads, -1))
    return measured


@dataclass
class _Measured:
    z: Any  # (b, g, heads of the group)
    rows: Any  # (b, g, heads of the group, a)
    wrong_bgha: Any
    wrong_head: Any
    dead: Any


def _screened(
    asked: Asked, rows_bga: Any, rounding: Rounding, result: CallResult
) -> _Measured | None:
    """Errors of all rows, with the whole unit where a first look is not enough.

    None, with the reason in the result, where the call cannot be judged.
    """
    import torch

    heads, width = asked.shape[1] // asked.shape[2], asked.value.shape[-1]
    if rounding.scores is None:
        rows_off, dead = screen(asked, rows_bga, rounding)
    else:  # rounded scores are no first look
        rows_off = torch.full((*rows_bga.shape[:2], heads, rows_bga.shape[-1]), 1e30)
        dead = torch.zeros_like(rows_off, dtype=torch.bool)
    head_off = rows_off.square().mean(-1).sqrt()
    margin = r.MARGIN if rounding.low else FIRST_MARGIN
    row_limit, head_limit = (
        float(r.limit(torch.tensor(float(n)), margin)) for n in (width, width * rows_off.shape[-1])
    )
    wrong, wrong_head = (torch.zeros_like(x, dtype=torch.bool) for x in (rows_off, head_off))
    measured = _Measured(head_off, rows_off, wrong, wrong_head, dead)
    large = (rows_off > row_limit).any(-1) | (head_off > head_limit)
    for b, g in large.any(-1).nonzero().tolist():
        own, rows = _of_group(asked, b, g), rows_bga[b : b + 1, g : g + 1]
        redone = redo(own, rows)
        if not bool(redone.output.isfinite().all()):
            result.reason = NOT_FINITE
            return None
        if r.coarseness(redone, rounding) > r.COARSE:
            result.reason = "its scores are written too coarsely to say what is rounding"
            return None
        part = _measure(at_rows(own.output, rows).double(), redone, rounding, heads)
        for name in ("z", "rows", "wrong_bgha", "wrong_head"):
            getattr(measured, name)[b, g] = getattr(part, name)[0, 0]
        dead[b, g] = part.dead[0, 0]
    return measured


def _of_group(asked: Asked, b: int, g: int) -> Asked:
    """The call of one sentence and one key head."""
    heads = asked.shape[1] // asked.shape[2]
    own, one = slice(g * heads, (g + 1) * heads), slice(b, b + 1)
    mask = asked.mask
    if mask is not None:
        mask = mask.reshape((1,) * (4 - mask.ndim) + tuple(mask.shape))
        mask = mask[one if mask.shape[0] > 1 else slice(None)]
        mask = mask[:, own if mask.shape[1] > 1 else slice(None)]
    return replace(
        asked, query=asked.query[one, own], output=asked.output[one, own], mask=mask,
        key=asked.key[one, g : g + 1], value=asked.value[one, g : g + 1],
        sinks=None if asked.sinks is None else asked.sinks[own],
    )  # fmt: skip


def _measure(given: Any, centre: Redone, rounding: Rounding, heads: int) -> _Measured:
    """Errors in units; where they are large, beside limits of their own."""
    import torch

    units = r.unit(centre, rounding)
    dead = centre.dead.unflatten(2, (heads, -1))
    rows_off, head_off = _sizes(given - centre.output, units, centre.dead, heads)
    a, width = rows_off.shape[-1], given.shape[-1]
    row_limit = float(r.limit(torch.tensor(float(width))))
    head_limit = float(r.limit(torch.tensor(float(width * a))))
    wrong, wrong_head = (torch.zeros_like(x, dtype=torch.bool) for x in (rows_off, head_off))
    large = (rows_off > row_limit).any(-1) | (head_off > head_limit)
    for b, g in large.any(-1).nonzero().tolist():
        part, own = _part(centre, (b, g)), units[b, g]
        error = r.beyond_alike(given[b, g] - part.output, part, own, rounding)
        rows, whole = _sizes(error[None], own[None], part.dead[None], heads)
        rows_off[b, g], head_off[b, g] = rows[0], whole[0]
        for h in large[b, g].nonzero().flatten().tolist():
            if rows_off[b, g, h].max() <= row_limit and head_off[b, g, h] <= head_limit:
                continue
            head = _rows_of(part, slice(h * a, (h + 1) * a))
            free = r.freedom(head, rounding, own[h * a : (h + 1) * a])
            over = head_off[b, g, h] > r.limit(a**2 / (1 / free).sum())
            wrong[b, g, h] = rows_off[b, g, h] > r.limit(free)
            wrong_head[b, g, h] = over | wrong[b, g, h].any()
            if over and not wrong[b, g, h].any():  # a little in many rows: the larger half of them
                wrong[b, g, h] = rows_off[b, g, h] >= rows_off[b, g, h].median()
    return _Measured(head_off, rows_off, wrong, wrong_head, dead)


def _sizes(error: Any, units: Any, dead: Any, heads: int) -> tuple[Any, Any]:
    """Root mean squares of error over unit: (b, g, heads, a) by row, (b, g, heads) by head."""
    ratio = (error / units).nan_to_num(nan=1e30, posinf=1e30, neginf=-1e30).clamp(-1e30, 1e30)
    square = ratio.square().mean(-1).masked_fill(dead, 0.0).unflatten(-1, (heads, -1))
    return square.sqrt(), square.mean(-1).sqrt()


def _part(redone: Redone, index: tuple[int, ...]) -> Redone:
    names = ("query", "key", "value", "scores", "top", "total", "weights", "output")
    found: dict[str, Any] = {}
    for name in names:
        whole = getattr(redone, name)
        found[name] = whole if whole is None else whole[index]
    return replace(redone, **found)


def _rows_of(redone: Redone, rows: slice) -> Redone:
    query = None if redone.query is None else redone.query[rows]
    return replace(
        redone, query=query, scores=redone.scores[rows], top=redone.top[rows],
        total=redone.total[rows], weights=redone.weights[rows], output=redone.output[rows],
    )  # fmt: skip


def _as_written(asked: Asked, rows_bga: Any, redone: Redone | None) -> tuple[Redone, Rounding, Any]:
    """Attention in torch's operators: from its own weights, so that nothing of them is a guess.

    The last part says in which rows the weights are not the softmax of the scores, or the scores
    not those that were asked for (None: in no row that is known).
    """
    k = asked.shape[4]
    used = at_rows(asked.weights, rows_bga)
    weights, value = used.double(), asked.value.double()
    kept = Rounding(asked.output.dtype, None, written=True)
    top = weights.new_zeros((*weights.shape[:-1], 1))
    total = top + 1 if redone is None else (top + 1).masked_fill(redone.dead[..., None], 0.0)
    centre = Redone(
        None, None, value, asked.scale, weights.log(), top, total, weights, weights @ value
    )
    if asked.scores is None:
        return centre, kept, None
    scores = at_rows(asked.scores, rows_bga)
    exact = scores.double()
    expected = exact.softmax(-1)[..., :k]
    gap = (exact.amax(-1, keepdim=True) - exact)[..., :k].clamp(0, 1e3)
    # A softmax in float32 errs by a few half steps in exp and, in its sum, with the root of keys.
    # Below the least normal number it is rounded by exp and by the division, or flushed to 0.
    sums = 2.0**-24 * (16 + 4 * gap + 2 * k**0.5) * expected + 2.0**-126
    rounded = r.ulp(expected, used.dtype) / 2 * (1 + 1e-6)
    if r.step(scores.dtype) > r.step(used.dtype):  # a softmax in few bits, then more of them
        rounded = r.ulp(expected, scores.dtype) / 2 * (1 + 1e-6)
    broken = ((weights - expected).abs() > rounded + sums).any(-1)
    if redone is not None and asked.contract:
        off = (exact[..., :k] - redone.scores).abs() > _score_bound(redone, asked, scores.dtype)
        hidden = redone.scores == -math.inf
        broken |= (off & ~hidden).any(-1) | (hidden & (weights > 0)).any(-1)
    return centre, kept, broken


def _score_bound(redone: Redone, asked: Asked, dtype: Any) -> Any:
    """How far written scores may be from exact ones: half a step for each time they are written."""
    exact = redone.scores.masked_fill(redone.scores == -math.inf, 0.0)
    bare = redone.query @ redone.key.mT
    largest = r.ulp(bare, dtype) * abs(asked.scale)
    for x in (bare * asked.scale, exact, exact - bare * asked.scale):
        largest = largest.maximum(r.ulp(x, dtype))
    width = redone.query.shape[-1]
    sums = (redone.query.abs() @ redone.key.abs().mT) * abs(asked.scale) * width * 2.0**-24
    return 3 * largest + sums


def _write(result: CallResult, measured: _Measured) -> None:
    """Put what was measured into the result, by sentence and head."""
    import torch

    b, g, heads, _ = measured.rows.shape
    wrong, dead = measured.wrong_bgha & ~measured.dead, measured.dead
    result.z = measured.z.flatten(1).cpu()
    result.rows_off = measured.rows.amax(-1).flatten(1).cpu()
    state = torch.full((b, g * heads), RIGHT)
    state[wrong.any(-1).flatten(1).cpu()] = WRONG
    state[dead.all(-1).flatten(1).cpu()] = SKIPPED
    result.state = state
    for sentence, group, head, row in wrong.nonzero().tolist():
        place = sentence, group * heads + head
        result.wrong_rows.setdefault(place, []).append(int(result.rows[sentence, group, row]))
