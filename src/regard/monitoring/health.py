"""Measures of every head from the attentions of a step: sums that merge over calls and ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.engine.call import Requested, prepare
from regard.engine.native.attend import NativeFacts, attend_natively, reason_against
from regard.engine.tensors import as_wide_array, in_host_memory
from regard.errors import NotFiniteError
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


def measures(sums: Array, maxima: Array, spreads: tuple[Array, Array]) -> dict[str, Array]:
    """MEASURES (h) from merged sums and maxima; nan where nothing was counted.

    ``spreads`` are mean and standard deviation of the log-sum-exp over queries, (h) each.

    Examples
    --------
    >>> sums = np.zeros((1, len(SUMS)))
    >>> sums[0, [SUMS.index("rows"), SUMS.index("first")]] = 4, 3
    >>> float(measures(sums, np.zeros((1, 3)), (np.zeros(1), np.zeros(1)))["first"][0])
    0.75
    """
    named = {name: sums[:, at] for at, name in enumerate(SUMS)}
    largest = {name: maxima[:, at] for at, name in enumerate(MAXIMA)}
    with np.errstate(invalid="ignore", divide="ignore"):
        means = {x: named[x] / named[number] for x, number in MEANS.items()}
    found = {
        "score": largest["score"],
        "bound": largest["logsumexp"],
        "logsumexp": spreads[0],
        "spread": spreads[1],
        "min_entropy": largest["minus_entropy"],
        **means,
    }
    known = {name: np.where(x == -np.inf, np.nan, x) for name, x in found.items()}
    known["min_entropy"] = -known["min_entropy"]
    return {name: known[name] for name in MEASURES}


def head_sums(call: AttentionCall, rows: torch.Tensor | None, cross: bool = False) -> HeadSums:
    """Sums over all queries of an attention, or over ``rows``; the host does not wait for a GPU.

    ``cross``: queries and keys are of different texts, so that no key is a query's own.
    """
    import torch

    if call.weights is not None:
        row_sums, maxima, heads = _from_weights(call.weights, rows)
        norms = torch.full((heads, 2), math.nan, dtype=torch.float64, device=row_sums.device)
        total = None
    else:
        assert call.query is not None
        assert call.key is not None
        row_sums, maxima = _from_query_and_key(call, rows)
        heads, total = call.query.shape[1], call.logsumexp
        norms = _norm_sums(call.key).repeat_interleave(heads // call.key.shape[1], dim=0)
    if cross:
        row_sums[:, [SUMS.index("self"), SUMS.index("previous")]] = math.nan
    sums = torch.cat([row_sums, norms, _output_sums(call, heads).to(row_sums.device)], dim=1)
    bound = maxima[:, :1] if total is None else largest_logsumexp(total).double()[:, None]
    return HeadSums(sums, torch.cat([maxima, bound], dim=1))


def largest_logsumexp(logsumexp: torch.Tensor) -> torch.Tensor:
    """The largest of each head, (h), from (b, h, q); nan where there is one."""
    return logsumexp.detach().amax(dim=(0, 2))


LONGEST_SAMPLE = 64  # queries of a sentence of which scores by hand are summed up


def logsumexp_sums(
    call: AttentionCall, live: torch.Tensor | None = None
) -> tuple[Any, torch.Tensor, torch.Tensor] | None:
    """Number, mean (h) and variance (h) over queries of the log-sum-exp; None where none is known.

    ``live`` (b, h or 1, q) are the queries that see a key. Of scores by hand a sample of queries is
    summed up, evenly spread.
    """
    import torch

    total = call.logsumexp
    if call.scores is not None:
        scores = call.scores.detach()
        rows = scores[..., :: max(1, scores.shape[-2] // LONGEST_SAMPLE), :]
        total = rows.to(_wide(rows)).logsumexp(dim=-1)
        live = total > HIDING_BIAS
    if total is None or not total.numel():
        return None
    total = total.detach()
    if live is None:
        variance_h, mean_h = torch.var_mean(total, dim=(0, 2), correction=0)
        return total.shape[0] * total.shape[2], mean_h, variance_h
    live = live.expand(total.shape)
    number_h = live.sum(dim=(0, 2))
    mean_h = total.masked_fill(~live, 0).sum(dim=(0, 2)) / number_h
    off = (total - mean_h[:, None]).masked_fill(~live, 0)
    return number_h, mean_h, off.square().sum(dim=(0, 2)) / number_h


def mean_and_deviation(sums: Array) -> tuple[Array, Array]:
    """Both (h) from number, sum and sum of squares (h, 3); nan where nothing was counted.

    >>> [x.tolist() for x in mean_and_deviation(np.array([[2.0, 6.0, 20.0]]))]
    [[3.0], [1.0]]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        number_h, sum_h, square_h = sums.T
        mean_h = sum_h / number_h
        return mean_h, np.sqrt(np.maximum(square_h / number_h - mean_h**2, 0))


def _norm_sums(vectors: torch.Tensor) -> torch.Tensor:
    """Sums of norms and their number (h, 2), of (b, h, t, d)."""
    import torch

    wide = torch.float64 if vectors.dtype == torch.float64 else torch.float32
    norms = torch.linalg.vector_norm(vectors.detach(), dim=-1, dtype=wide)
    sums = norms.sum(dim=(0, 2), dtype=torch.float64)
    return torch.stack([sums, torch.full_like(sums, norms.shape[0] * norms.shape[2])], dim=1)


def _output_sums(call: AttentionCall, heads: int) -> torch.Tensor:
    """Sums of the norms of outputs and their number, (h, 2); nan where their layout is unknown."""
    import torch

    output = call.output
    if output is None or output.shape[1] != heads:
        return torch.full((heads, 2), math.nan, dtype=torch.float64)
    return _norm_sums(output)


def _from_query_and_key(
    call: AttentionCall, rows: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    query, key = call.query, call.key
    assert query is not None
    assert key is not None
    scale = query.shape[-1] ** -0.5 if call.scale is None else call.scale
    if in_host_memory(query):
        natively = None if rows is not None else _native_sums(call, scale)
        return natively or sums_in_chunks(call, scale, rows)
    if call.logsumexp is not None and call.softcap is None:
        from regard.engine.gpu.health import reasons_against_health, row_sums

        if not reasons_against_health(query, key):
            return row_sums(
                query, key, call.logsumexp, scale=scale, causal=call.causal, mask=call.mask,
                rows=rows,
            )  # fmt: skip
    return sums_in_chunks(call, scale, rows)


def _native_facts(call: AttentionCall, scale: float, requested: Requested) -> NativeFacts | None:
    """Facts of an attention in host memory by the engine's kernels; None where none serves."""
    assert call.key is not None
    query, key = as_wide_array(call.query), as_wide_array(call.key)
    no_value = np.zeros((*key.shape[:-1], 0), key.dtype)
    mask = None if call.mask is None else call.mask.detach()
    try:
        problem = prepare(
            query, key, no_value, mask=mask, causal=call.causal, scale=scale,
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
        highest_hq = np.log(facts.top_weights_hqn[..., 0], dtype=np.float64) + facts.logsumexp_hq
    return torch.from_numpy(highest_hq).view(like.shape[:3])


def _native_sums(call: AttentionCall, scale: float) -> tuple[torch.Tensor, torch.Tensor] | None:
    """As ``sums_in_chunks`` of all rows, by the engine's kernels: a twentieth of its time."""
    import torch

    query = call.query
    assert query is not None
    facts = _native_facts(call, scale, Requested(output=False, entropy=True, top=1, profile=True))
    if facts is None:
        return None
    assert facts.top_weights_hqn is not None
    entropy, largest = (
        torch.from_numpy(x).view(query.shape[:3])
        for x in (facts.entropy_hq, facts.top_weights_hqn[..., 0])
    )
    highest, queries = _highest(facts, query), query.shape[2]
    at_q = torch.arange(queries)
    visible = torch.stack([_visible(call, x, at_q) for x in range(len(query))])
    assert facts.received_hk is not None
    assert facts.distance_hn is not None
    # Column n of the sums by distance is key - query = n - (queries - 1).
    before_h = facts.distance_hn[:, queries - 2] if queries > 1 else 0 * facts.received_hk[:, 0]
    at_keys = np.stack([facts.received_hk[:, 0], facts.distance_hn[:, queries - 1], before_h], 1)
    at_keys_h3 = torch.from_numpy(at_keys).view(*query.shape[:2], 3).sum(dim=0)
    norm = query.detach().to(_wide(query)).norm(dim=-1)
    rows = _Rows(entropy, highest, largest, norm, highest == -math.inf, visible)
    return rows.summed(at_keys_h3)


CHUNK_SCORES = 2**22  # scores in memory at once: 16 MB in float32
HIDING_BIAS = -1e4  # an added mask below it hides its key


def sums_in_chunks(
    call: AttentionCall, scale: float, rows: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums and maxima by plain operations on chunks of full rows: any mask, any device."""
    return _joined(
        _row_sums(scores_hqk, visible, at_q, query_hqd.norm(dim=-1))
        for scores_hqk, visible, at_q, query_hqd in _score_chunks(call, scale, rows)
    )


def _joined(
    parts: Iterable[tuple[torch.Tensor, torch.Tensor]],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums and maxima of all parts."""
    import torch

    sums, maxima = zip(*parts, strict=True)
    return torch.stack(sums).sum(dim=0), torch.stack(maxima).amax(dim=0)


def _score_chunks(
    call: AttentionCall, scale: float, rows: torch.Tensor | None = None
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Scores (h, q, k), the keys that each query sees, which queries these are, and they."""
    import torch

    query, key = call.query, call.key
    assert query is not None
    assert key is not None
    wide, group = _wide(query), query.shape[1] // key.shape[1]
    at_all = torch.arange(query.shape[2], device=query.device) if rows is None else rows.long()
    for sentence, at_q in _chunks(query, key, at_all):
        query_hqd = query[sentence].detach()[:, at_q].to(wide)
        key_hkd = key[sentence].detach().to(wide).repeat_interleave(group, dim=0)
        scores_hqk = torch.matmul(query_hqd, key_hkd.transpose(-1, -2)).mul_(scale)
        if call.softcap is not None:
            scores_hqk = scores_hqk.div_(call.softcap).tanh_().mul_(call.softcap)
        _mask_scores(scores_hqk, call, sentence, at_q)
        yield scores_hqk, _visible(call, sentence, at_q), at_q, query_hqd


def _chunks(
    query: torch.Tensor, key: torch.Tensor, at_all: torch.Tensor
) -> Iterator[tuple[int, torch.Tensor]]:
    """Sentences, and queries of which all heads' scores fit into a chunk."""
    at_once = max(1, CHUNK_SCORES // max(1, query.shape[1] * key.shape[2]))
    for sentence in range(query.shape[0]):
        for at_q in at_all.split(at_once):
            yield sentence, at_q


def _mask_scores(
    scores_hqk: torch.Tensor, call: AttentionCall, sentence: int, at_q: torch.Tensor
) -> None:
    """Write -inf where a key is hidden, in place."""
    import torch

    if call.causal:
        at_k = torch.arange(scores_hqk.shape[-1], device=at_q.device)
        scores_hqk.masked_fill_(at_k > at_q[:, None], -math.inf)
    if call.mask is None:
        return
    mask = _mask_rows(call, sentence, at_q)
    if mask.dtype == torch.bool:
        scores_hqk.masked_fill_(~mask, -math.inf)
        return
    scores_hqk += mask
    hidden = mask <= HIDING_BIAS
    scores_hqk.masked_fill_(hidden & ~hidden.all(dim=-1, keepdim=True), -math.inf)


def _mask_rows(call: AttentionCall, sentence: int, at_q: torch.Tensor) -> torch.Tensor:
    """The mask (h, q, k) of some queries; axes that are broadcast take no memory but for q."""
    assert call.mask is not None
    assert call.query is not None
    assert call.key is not None
    mask = call.mask.detach().expand(*call.query.shape[:3], call.key.shape[2])[sentence]
    return mask[:, at_q] if len(at_q) < mask.shape[1] else mask


def _visible(call: AttentionCall, sentence: int, at_q: torch.Tensor) -> torch.Tensor:
    """How many keys each query sees, (h, q)."""
    import torch

    assert call.query is not None
    assert call.key is not None
    keys = call.key.shape[2]
    if call.mask is None:
        seen = (at_q + 1).clamp(max=keys) if call.causal else torch.full_like(at_q, keys)
        return seen.expand(call.query.shape[1], -1)
    mask = _mask_rows(call, sentence, at_q)
    visible = mask if mask.dtype == torch.bool else mask > HIDING_BIAS
    if call.causal:
        visible = visible & (torch.arange(keys, device=at_q.device) <= at_q[:, None])
    return visible.sum(dim=-1)


def _row_sums(
    scores_hqk: torch.Tensor, visible: torch.Tensor, at_q: torch.Tensor, norm_hq: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """ROW_SUMS and maxima (h, ...) of chunks of full rows of scores, which are overwritten."""
    import torch

    highest_hq = scores_hqk.amax(dim=-1)
    dead_hq = highest_hq == -math.inf
    shifted = scores_hqk.sub_(highest_hq.masked_fill(dead_hq, 0)[..., None])
    weights_hqk = shifted.exp()
    total_hq = weights_hqk.sum(dim=-1)
    shifted.masked_fill_(shifted == -math.inf, 0)
    entropy_hq = total_hq.log() - torch.linalg.vecdot(weights_hqk, shifted) / total_hq
    weights = weights_hqk.div_(total_hq[..., None])
    entropy_hq = entropy_hq.clamp(min=0)
    rows = _Rows(entropy_hq, highest_hq, 1 / total_hq, norm_hq, dead_hq, visible)
    return rows.summed(rows.at_keys(weights, at_q))


@dataclass(frozen=True)
class _Rows:
    """Facts of rows (h, q), or of those of several sentences (b, h, q)."""

    entropy: torch.Tensor
    highest: torch.Tensor  # score
    largest: torch.Tensor  # weight
    norm: torch.Tensor  # of the query
    dead: torch.Tensor  # they see no key
    visible: torch.Tensor  # number of keys that they see

    def total(self, fact: torch.Tensor, counted: torch.Tensor | None = None) -> torch.Tensor:
        """Sums over the rows of each head that are counted, by default those that see a key."""
        import torch

        counted = ~self.dead if counted is None else counted
        sums: torch.Tensor = fact.masked_fill(~counted, 0).sum(dim=-1, dtype=torch.float64)
        return sums.view(-1, sums.shape[-1]).sum(dim=0)

    def at_keys(self, weights_hqk: torch.Tensor, at_q: torch.Tensor) -> torch.Tensor:
        """Sums of the weights on the first key, the query itself, the one before it, (h, 3)."""
        import torch

        keys, found = weights_hqk.shape[-1], [self.total(weights_hqk[..., 0])]
        for at_k in (at_q, at_q - 1):
            inside = (at_k >= 0) & (at_k < keys)
            at = at_k.clamp(0, keys - 1).expand(weights_hqk.shape[:-1])[..., None]
            found.append(self.total(weights_hqk.gather(-1, at)[..., 0], ~self.dead & inside))
        return torch.stack(found, dim=1)

    def summed(self, at_keys_h3: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """ROW_SUMS and maxima of each head."""
        import torch

        several, ones = ~self.dead & (self.visible > 1), torch.ones_like(self.entropy)
        share = self.entropy / self.visible.clamp(min=2).to(self.entropy.dtype).log()
        sums = [
            self.total(ones), self.total(self.entropy), self.total(share, several),
            self.total(ones, several), self.total(self.largest), *at_keys_h3.unbind(dim=1),
            self.total(self.entropy.exp()), self.total(self.norm),
        ]  # fmt: skip
        smallest = (-self.entropy).masked_fill(~several, -math.inf)
        maxima = [
            x.amax(dim=-1).view(-1, x.shape[-2]).amax(dim=0).double()
            for x in (self.highest, smallest)
        ]
        return torch.stack(sums, dim=1), torch.stack(maxima, dim=1)


def _from_weights(
    weights: torch.Tensor, rows: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Sums, maxima and number of heads of weights (b, h, q, k); scores are not known from them."""
    import torch

    at_q = torch.arange(weights.shape[-2], device=weights.device) if rows is None else rows.long()

    def summed(weights_hqk: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = weights_hqk[:, at_q].to(_wide(weights))
        largest_hq = chosen.amax(dim=-1)
        unknown, no_norm = (torch.full_like(largest_hq, x) for x in (-math.inf, math.nan))
        found = _Rows(
            torch.special.entr(chosen).sum(dim=-1), unknown, largest_hq, no_norm,
            (chosen == 0).all(dim=-1), (chosen > 0).sum(dim=-1),
        )  # fmt: skip
        return found.summed(found.at_keys(chosen, at_q))

    return *_joined(map(summed, weights.detach())), weights.shape[1]


def _wide(tensor: torch.Tensor) -> Any:
    import torch

    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def largest_scores(call: AttentionCall, scale: float, heads: list[int]) -> torch.Tensor:
    """The largest score of some heads, over all sentences and queries."""
    import torch

    query, key, mask = call.query, call.key, call.mask
    assert query is not None
    assert key is not None
    at = torch.tensor(heads, device=query.device)
    if mask is not None and mask.ndim == 4 and mask.shape[1] > 1:
        mask = mask[:, at]
    shared = at // (query.shape[1] // key.shape[1])
    chosen = replace(call, query=query[:, at], key=key[:, shared], mask=mask)
    if in_host_memory(query):
        facts = _native_facts(chosen, scale, Requested(output=False, top=1))
        if facts is not None:
            return _highest(facts, query[:, at]).amax(dim=(0, 2))
    return torch.stack([x[0].amax(dim=(1, 2)) for x in _score_chunks(chosen, scale)]).amax(dim=0)
