"""Measures of every head from the attentions of a step: sums that merge over calls and ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.engine.call import Requested, prepare
from regard.engine.native.attend import NativeFacts, attend_natively, reason_against
from regard.engine.tensors import as_wide_array, in_host_memory
from regard.errors import NotFiniteError
from regard.monitoring.certificate import Spread, shown_by, wide_dtype
from regard.typing import Array

if TYPE_CHECKING:
    import torch

    from regard.watcher.seam.call import AttentionCall

# Sums over queries, in the order of regard.engine.gpu.health, then over keys and outputs.
SUMS = (
    "rows", "entropy", "entropy_share", "share_rows", "largest_weight", "first", "self", "previous",
    "effective_keys", "query_norm", "key_norm", "keys", "output_norm", "outputs",
)  # fmt: skip
ROW_SUMS = SUMS.index("key_norm")
MAXIMA = ("score", "minus_entropy", "logsumexp")

MEASURES = {
    "score": "largest score before softmax",
    "bound": "largest log-sum-exp: no score of the head is above it",
    "logsumexp": "mean log-sum-exp of the scores of a query",
    "spread": "standard deviation over queries of the log-sum-exp of their scores",
    "entropy": "mean entropy of a query's weights, in nats",
    "min_entropy": "smallest entropy of a query that sees several keys, in nats",
    "entropy_share": "mean entropy as a share of its maximum, the log of the visible keys",
    "largest_weight": "mean of a query's largest weight",
    "first": "mean weight on the first key",
    "self": "mean weight on the query's own token",
    "previous": "mean weight on the token before",
    "effective_keys": "mean effective number of keys, exp(entropy)",
    "query_norm": "mean norm of a query",
    "key_norm": "mean norm of a key",
    "output_norm": "mean norm of the head's output for a query",
}
# What to look for in a picture of it.
ADVICE = {
    "score": "Steady growth is the danger sign; QK-clip acts at 100.",
    "bound": "Known at every step, at no cost; the score lies between it and the log of the keys "
    "below it.",
    "logsumexp": "Where all heads change at once, look at mask, scale, positions and data.",
    "spread": "Where all heads change at once, look at mask, scale, positions and data.",
    "entropy": "Low: few keys share the weight. A sudden fall over many heads is a collapse.",
    "min_entropy": "0: at least one query looks at a single key.",
    "entropy_share": "1: attention is even; 0: all of it is on one key. A fall to near 0 is a "
    "collapse.",
    "largest_weight": "1: every query looks at a single key.",
    "first": "Near 1: the head rests on the first token, as many do in large models.",
    "previous": "Near 1: the head looks at the token before, as heads of early layers often do.",
    "query_norm": "Scores grow with the norms of queries and keys.",
    "key_norm": "Scores grow with the norms of queries and keys.",
    "output_norm": "Near 0 beside the other heads of its layer: the head writes nothing.",
}
# Sum and count of each mean.
MEANS = {
    "entropy": "rows", "entropy_share": "share_rows", "largest_weight": "rows", "first": "rows",
    "self": "rows", "previous": "rows", "effective_keys": "rows", "query_norm": "rows",
    "key_norm": "keys", "output_norm": "outputs",
}  # fmt: skip


@dataclass(frozen=True)
class HeadSums:
    """SUMS and MAXIMA of the heads of one layer, (h, ...) in float64, on the model's device."""

    sums: torch.Tensor
    maxima: torch.Tensor

    def merged(self, other: HeadSums | None) -> HeadSums:
        """Those of two calls together, of one micro-batch after another."""
        if other is None:
            return self
        import torch

        return HeadSums(self.sums + other.sums, torch.maximum(self.maxima, other.maxima))


def measures(sums: Array, maxima: Array, spread: Spread) -> dict[str, Array]:
    """MEASURES (h) from merged sums and maxima; nan where nothing was counted.

    Examples
    --------
    >>> sums = np.zeros((1, len(SUMS)))
    >>> sums[0, [SUMS.index("rows"), SUMS.index("first")]] = 4, 3
    >>> float(measures(sums, np.zeros((1, 3)), Spread(*np.zeros((3, 1))))["first"][0])
    0.75
    """
    named = dict(zip(SUMS, sums.T, strict=True))
    highest, unevenness, bound = np.where(maxima == -np.inf, np.nan, maxima).T
    with np.errstate(invalid="ignore", divide="ignore"):
        means = {x: named[x] / named[number] for x, number in MEANS.items()}
    found = means | {
        "score": highest, "bound": bound, "min_entropy": -unevenness,
        "logsumexp": spread.mean, "spread": spread.std,
    }  # fmt: skip
    return {name: found[name] for name in MEASURES}


def head_sums(call: AttentionCall, rows: torch.Tensor | None, cross: bool = False) -> HeadSums:
    """Sums over all queries of an attention, or over ``rows``; the host does not wait for a GPU.

    ``cross``: queries and keys are of different texts, so that no key is a query's own.
    """
    import torch

    heads, key, total = call.shape[1], call.key, call.logsumexp
    if call.weights is not None:  # a key may be scaled before it is multiplied by hand
        (sums, maxima), key, total = _joined(_from_weights(call.weights, rows)), None, None
    else:
        sums, maxima = _from_query_and_key(call, rows)
    if cross:
        sums[:, [SUMS.index("self"), SUMS.index("previous")]] = math.nan
    norms = torch.cat([_norm_sums(x, heads).to(sums) for x in (key, call.output)], dim=1)
    bound = maxima[:, :1] if total is None else total.amax(dim=(0, 2)).to(maxima)[:, None]
    return HeadSums(torch.cat([sums, norms], dim=1), torch.cat([maxima, bound], dim=1))


def _norm_sums(vectors: torch.Tensor | None, heads: int) -> torch.Tensor:
    """Sums of norms and their number (h, 2), of (b, g, t, d); nan where their layout is unknown."""
    import torch

    if vectors is None or heads % vectors.shape[1]:
        return torch.full((heads, 2), math.nan, dtype=torch.float64)
    norms = torch.linalg.vector_norm(vectors, dim=-1, dtype=wide_dtype(vectors))
    sums = norms.sum(dim=(0, 2)).double()
    numbers = torch.full_like(sums, norms.shape[0] * norms.shape[2])
    return torch.stack([sums, numbers], dim=1).repeat_interleave(heads // len(sums), dim=0)


def _from_query_and_key(
    call: AttentionCall, rows: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    query, key = call.query, call.key
    assert query is not None
    assert key is not None
    if in_host_memory(query):
        natively = None if rows is not None else _native_sums(call)
        return natively or sums_in_chunks(call, rows)
    if call.logsumexp is not None and call.softcap is None:
        from regard.engine.gpu.health import reasons_against_health, row_sums

        if not reasons_against_health(query, key):
            return row_sums(
                query, key, call.logsumexp, scale=scale_of(call), causal=call.causal,
                mask=call.mask, rows=rows,
            )  # fmt: skip
    return sums_in_chunks(call, rows)


def scale_of(call: AttentionCall) -> float:
    """What the scores are multiplied by."""
    assert call.query is not None
    return float(call.query.shape[-1] ** -0.5 if call.scale is None else call.scale)


def _native_facts(call: AttentionCall, requested: Requested) -> NativeFacts | None:
    """Facts of an attention in host memory by the engine's kernels; None where none serves."""
    query, key = as_wide_array(call.query), as_wide_array(call.key)
    no_value = np.zeros((*key.shape[:-1], 0), key.dtype)
    try:
        problem = prepare(
            query, key, no_value, mask=call.mask, causal=call.causal, scale=scale_of(call),
            offset=0 if call.causal else None, softcap=call.softcap,
        )  # fmt: skip
    except NotFiniteError:
        return None
    if reason_against(problem, requested) is not None:
        return None
    return attend_natively(problem, requested)[0]


def _highest(facts: NativeFacts, like: torch.Tensor) -> torch.Tensor:
    """The largest score of each row, (b, h, q) as ``like``: its weight is e^(score - logsumexp)."""
    import torch

    assert facts.top_weights_hqn is not None
    assert facts.logsumexp_hq is not None
    with np.errstate(divide="ignore"):  # -inf where a query sees no key
        highest_hq = np.log(facts.top_weights_hqn[..., 0]) + facts.logsumexp_hq
    return torch.from_numpy(highest_hq).view(like.shape[:3])


def _native_sums(call: AttentionCall) -> tuple[torch.Tensor, torch.Tensor] | None:
    """As ``sums_in_chunks`` of all rows, by the engine's kernels: a twentieth of its time."""
    import torch

    query, (b, h, q, _) = call.query, call.shape
    assert query is not None
    facts = _native_facts(call, Requested(output=False, entropy=True, top=1, profile=True))
    if facts is None:
        return None
    assert facts.top_weights_hqn is not None
    assert facts.received_hk is not None
    assert facts.distance_hn is not None
    entropy, largest = (
        torch.from_numpy(x).view(b, h, q) for x in (facts.entropy_hq, facts.top_weights_hqn[..., 0])
    )
    highest, at_q = _highest(facts, query), torch.arange(q)
    sentences = range(1 if call.mask is None else b)
    visible = torch.stack([_visible(call, x, at_q) for x in sentences])
    # Column n of the sums by distance is key - query = n - (q - 1).
    before_h = facts.distance_hn[:, q - 2] if q > 1 else 0 * facts.received_hk[:, 0]
    at_keys = np.stack([facts.received_hk[:, 0], facts.distance_hn[:, q - 1], before_h])
    at_keys_3h = torch.from_numpy(at_keys).view(3, b, h).sum(dim=1)
    rows = _Rows(entropy, highest, largest, query.to(wide_dtype(query)).norm(dim=-1), visible)
    return rows.summed(at_keys_3h)


CHUNK_SCORES = 2**22  # scores in memory at once: 16 MB in float32


def sums_in_chunks(
    call: AttentionCall, rows: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums and maxima by plain operations on chunks of full rows: any mask, any device."""
    return _joined(_row_sums(*chunk) for chunk in _score_chunks(call, rows))


def _joined(
    parts: Iterable[tuple[torch.Tensor, torch.Tensor]],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums and maxima of all parts."""
    import torch

    sums, maxima = zip(*parts, strict=True)
    return torch.stack(sums).sum(dim=0), torch.stack(maxima).amax(dim=0)


def _score_chunks(
    call: AttentionCall, rows: torch.Tensor | None = None
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Scores (h, q, k) of some queries, how many keys each sees, which they are, their norms."""
    import torch

    query, key, mask = call.query, call.key, call.mask
    assert query is not None
    assert key is not None
    at_all = torch.arange(query.shape[2], device=query.device) if rows is None else rows.long()
    at_once = max(1, CHUNK_SCORES // max(1, query.shape[1] * key.shape[2]))
    for sentence, at_q in product(range(query.shape[0]), at_all.split(at_once)):
        query_hqd = query[sentence][:, at_q].to(wide_dtype(query))
        key_hkd = key[sentence].to(query_hqd).repeat_interleave(call.group, dim=0)
        scores_hqk = torch.matmul(query_hqd, key_hkd.mT).mul_(scale_of(call))
        if call.softcap is not None:
            scores_hqk = scores_hqk.div_(call.softcap).tanh_().mul_(call.softcap)
        added = mask is not None and mask.dtype != torch.bool
        if added:
            scores_hqk += _mask_rows(call, sentence, at_q)
        shown_hqk = _shown(call, sentence, at_q, even=added)
        if shown_hqk is not None:
            scores_hqk.masked_fill_(~shown_hqk, -math.inf)
        yield scores_hqk, _visible(call, sentence, at_q), at_q, query_hqd.norm(dim=-1)


def _mask_rows(call: AttentionCall, sentence: int, at_q: torch.Tensor) -> Any:
    """The mask (h, q, k) of some queries; axes that are broadcast take no memory but for q."""
    assert call.mask is not None
    mask = call.mask.expand(call.shape)[sentence]
    return mask[:, at_q] if len(at_q) < mask.shape[1] else mask


def _shown(call: AttentionCall, sentence: int, at_q: torch.Tensor, even: bool = False) -> Any:
    """Which keys some queries see, (h, q, k) or (q, k); None where they see all.

    ``even``: where an added mask hides all keys of a query, its softmax is spread over all of them.
    """
    import torch

    shown = None
    if call.mask is not None:
        shown = shown_by(_mask_rows(call, sentence, at_q))
        shown = shown | ~shown.any(dim=-1, keepdim=True) if even else shown
    if not call.causal:
        return shown
    earlier_qk = torch.arange(call.shape[3], device=at_q.device) <= at_q[:, None]
    return earlier_qk if shown is None else shown & earlier_qk


def _visible(call: AttentionCall, sentence: int, at_q: torch.Tensor) -> torch.Tensor:
    """How many keys each query sees, (h, q)."""
    import torch

    keys = call.shape[3]
    if call.mask is not None:
        seen: torch.Tensor = _shown(call, sentence, at_q).sum(dim=-1)
    else:
        seen = (at_q + 1).clamp(max=keys) if call.causal else torch.full_like(at_q, keys)
    return seen.expand(call.shape[1], -1)


def _row_sums(
    scores_hqk: torch.Tensor, visible: torch.Tensor, at_q: torch.Tensor, norm_hq: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """ROW_SUMS and maxima (h, ...) of chunks of full rows of scores, which are overwritten."""
    import torch

    highest_hq = scores_hqk.amax(dim=-1)
    shifted = scores_hqk.sub_(highest_hq.masked_fill(highest_hq == -math.inf, 0)[..., None])
    weights_hqk = shifted.exp()
    total_hq = weights_hqk.sum(dim=-1)
    shifted.masked_fill_(shifted == -math.inf, 0)
    entropy_hq = total_hq.log() - torch.linalg.vecdot(weights_hqk, shifted) / total_hq
    rows = _Rows(entropy_hq.clamp(min=0), highest_hq, 1 / total_hq, norm_hq, visible)
    return rows.summed(rows.at_keys(weights_hqk.div_(total_hq[..., None]), at_q))


@dataclass(frozen=True)
class _Rows:
    """Facts of rows (h, q), or of those of several sentences (b, h, q)."""

    entropy: torch.Tensor
    highest: torch.Tensor  # score; -inf where a query sees no key
    largest: torch.Tensor  # weight
    norm: torch.Tensor  # of the query
    visible: torch.Tensor  # number of keys that they see

    def at_keys(self, weights_hqk: torch.Tensor, at_q: torch.Tensor) -> torch.Tensor:
        """Sums of the weights on the first key, the query itself, the one before it, (3, h)."""
        import torch

        at_qn = torch.stack([at_q * 0, at_q, at_q - 1], dim=1)
        inside = (at_qn >= 0) & (at_qn < weights_hqk.shape[-1])
        at_hqn = at_qn.where(inside, 0).expand(len(weights_hqk), -1, -1)
        dead = (self.highest == -math.inf)[..., None]
        found = weights_hqk.gather(-1, at_hqn).masked_fill(dead | ~inside, 0)
        return found.sum(dim=1, dtype=torch.float64).T

    def summed(self, at_keys_3h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """ROW_SUMS and maxima of each head."""
        import torch

        dead = self.highest == -math.inf
        several, entropy = ~dead & (self.visible > 1), self.entropy
        share = (entropy / self.visible.clamp(min=2).to(entropy).log()).masked_fill(~several, 0)
        facts = torch.stack([
            torch.ones_like(entropy), entropy, share, several.to(entropy), self.largest,
            entropy.exp(), self.norm,
        ]).masked_fill(dead, 0)  # fmt: skip
        sums = facts.double().sum(dim=-1).view(len(facts), -1, entropy.shape[-2]).sum(dim=1)
        smallest = torch.where(several, -entropy, -math.inf)
        maxima = [
            x.amax(dim=-1).view(-1, x.shape[-2]).amax(dim=0).double()
            for x in (self.highest, smallest)
        ]
        return torch.cat([sums[:5], at_keys_3h.to(sums), sums[5:]]).T, torch.stack(maxima, dim=1)


def _from_weights(
    weights: torch.Tensor, rows: torch.Tensor | None
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Sums and maxima of each sentence of weights (b, h, q, k); they do not tell of scores."""
    import torch

    at_q = torch.arange(weights.shape[-2], device=weights.device) if rows is None else rows.long()
    for weights_hqk in weights:
        chosen = weights_hqk[:, at_q].to(wide_dtype(weights))
        largest, visible = chosen.amax(dim=-1), (chosen > 0).sum(dim=-1)
        live = torch.where(visible > 0, 0.0, -math.inf)
        entropy = torch.special.entr(chosen).sum(dim=-1)
        found = _Rows(entropy, live, largest, torch.full_like(largest, math.nan), visible)
        sums, maxima = found.summed(found.at_keys(chosen, at_q))
        maxima[:, 0] = -math.inf
        yield sums, maxima


def largest_scores(call: AttentionCall, heads: list[int]) -> torch.Tensor:
    """The largest score of some heads, over all sentences and queries."""
    import torch

    query, key, mask = call.query, call.key, call.mask
    assert query is not None
    assert key is not None
    at = torch.tensor(heads, device=query.device)
    if mask is not None and mask.ndim == 4 and mask.shape[1] > 1:
        mask = mask[:, at]
    scale = scale_of(call)
    chosen = replace(call, query=query[:, at], key=key[:, at // call.group], mask=mask, scale=scale)
    if in_host_memory(query):
        facts = _native_facts(chosen, Requested(output=False, top=1))
        if facts is not None:
            return _highest(facts, query[:, at]).amax(dim=(0, 2))
    return torch.stack([x[0].amax(dim=(1, 2)) for x in _score_chunks(chosen)]).amax(dim=0)


def join_exact(
    call: AttentionCall, bound_h: torch.Tensor, largest_h: torch.Tensor, threshold: float
) -> None:
    """Join the largest scores of heads whose bound is above the threshold to ``largest_h``.

    On a GPU the kernel itself looks at the bounds, so that the host does not wait.
    """
    import torch

    query, key = call.query, call.key
    assert query is not None
    assert key is not None
    if not in_host_memory(query) and call.softcap is None:
        from regard.engine.gpu.health import join_largest, reasons_against_health

        if not reasons_against_health(query, key):
            join_largest(
                query, key, bound_h, largest_h, threshold=threshold, scale=scale_of(call),
                causal=call.causal, mask=call.mask,
            )  # fmt: skip
            return
    heads = [h for h, top in enumerate(bound_h.tolist()) if not top <= threshold]
    if heads:
        at = torch.tensor(heads, device=largest_h.device)
        found = largest_scores(call, heads).to(largest_h)
        largest_h[at] = torch.maximum(largest_h[at], found)
