"""Measures of every head from the attentions of a step: sums that merge over calls and ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.typing import Array

if TYPE_CHECKING:
    import torch

    from regard.watcher.capture.events import AttentionEvent

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
    "entropy": "mean entropy of a query's weights, in nats",
    "min_entropy": "smallest entropy of a query's weights, in nats",
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


def measures(sums: Array, maxima: Array) -> dict[str, Array]:
    """MEASURES (h) from merged sums and maxima; nan where nothing was counted.

    Examples
    --------
    >>> sums = np.zeros((1, len(SUMS)))
    >>> sums[0, [SUMS.index("rows"), SUMS.index("first")]] = 4, 3
    >>> float(measures(sums, np.zeros((1, 3)))["first"][0])
    0.75
    """
    named = {name: sums[:, at] for at, name in enumerate(SUMS)}
    largest = {name: maxima[:, at] for at, name in enumerate(MAXIMA)}
    with np.errstate(invalid="ignore", divide="ignore"):
        means = {x: named[x] / named[number] for x, number in MEANS.items()}
    found = {
        "score": largest["score"],
        "bound": largest["logsumexp"],
        "min_entropy": -largest["minus_entropy"],
        **means,
    }
    infinite = {name: np.where(found[name] == -np.inf, np.nan, found[name]) for name in found}
    return {name: infinite[name] for name in MEASURES}


def head_sums(event: AttentionEvent, rows: torch.Tensor | None, cross: bool = False) -> HeadSums:
    """Sums over all queries of an attention, or over ``rows``; the host does not wait for a GPU.

    ``cross``: queries and keys are of different texts, so that no key is a query's own.
    """
    import torch

    if event.weights is not None:
        row_sums, maxima, heads = _from_weights(event.weights, rows)
        norms = torch.full((heads, 2), math.nan, dtype=torch.float64, device=row_sums.device)
        total = None
    else:
        assert event.query is not None
        assert event.key is not None
        row_sums, maxima = _from_query_and_key(event, rows)
        heads, total = event.query.shape[1], event.logsumexp
        norms = _norm_sums(event.key).repeat_interleave(heads // event.key.shape[1], dim=0)
    if cross:
        row_sums[:, [SUMS.index("self"), SUMS.index("previous")]] = math.nan
    sums = torch.cat([row_sums, norms, _output_sums(event, heads).to(row_sums.device)], dim=1)
    bound = maxima[:, :1] if total is None else largest_logsumexp(total).double()[:, None]
    return HeadSums(sums, torch.cat([maxima, bound], dim=1))


def largest_logsumexp(logsumexp: torch.Tensor) -> torch.Tensor:
    """The largest of each head, (h), from (b, h, q); nan where there is one."""
    return logsumexp.detach().amax(dim=(0, 2))


def _norm_sums(vectors: torch.Tensor) -> torch.Tensor:
    """Sums of norms and their number (h, 2), of (b, h, t, d)."""
    import torch

    wide = torch.float64 if vectors.dtype == torch.float64 else torch.float32
    norms = torch.linalg.vector_norm(vectors.detach(), dim=-1, dtype=wide)
    sums = norms.sum(dim=(0, 2), dtype=torch.float64)
    return torch.stack([sums, torch.full_like(sums, norms.shape[0] * norms.shape[2])], dim=1)


def _output_sums(event: AttentionEvent, heads: int) -> torch.Tensor:
    """Sums of the norms of outputs and their number, (h, 2); nan where their layout is unknown."""
    import torch

    output = event.output
    if output is not None and output.ndim == 3 and output.shape[0] % heads == 0:  # of bmm
        output = output.unflatten(0, (-1, heads))
    if output is None or output.ndim != 4 or output.shape[1] != heads:
        return torch.full((heads, 2), math.nan, dtype=torch.float64)
    return _norm_sums(output)


def _from_query_and_key(
    event: AttentionEvent, rows: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    from regard.engine.tensors import in_host_memory

    query, key = event.query, event.key
    assert query is not None
    assert key is not None
    scale = query.shape[-1] ** -0.5 if event.scale is None else event.scale
    if not in_host_memory(query) and event.logsumexp is not None and event.softcap is None:
        from regard.engine.gpu.health import reasons_against_health, row_sums

        if not reasons_against_health(query, key):
            return row_sums(
                query, key, event.logsumexp, scale=scale, causal=event.causal, mask=event.mask,
                rows=rows,
            )  # fmt: skip
    return sums_in_chunks(event, scale, rows)


CHUNK_SCORES = 2**22  # scores in memory at once: 16 MB in float32
HIDING_BIAS = -1e4  # an added mask below it hides its key


def sums_in_chunks(
    event: AttentionEvent, scale: float, rows: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums and maxima by plain operations on chunks of full rows: any mask, any device."""
    import torch

    parts = [
        _row_sums(scores_hqk, visible, at_q, query_hqd.norm(dim=-1))
        for scores_hqk, visible, at_q, query_hqd in _score_chunks(event, scale, rows)
    ]
    added = torch.stack([sums for sums, _ in parts]).sum(dim=0)
    return added, torch.stack([maxima for _, maxima in parts]).amax(dim=0)


def _score_chunks(
    event: AttentionEvent, scale: float, rows: torch.Tensor | None = None
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Scores (h, q, k), the keys that each query sees, which queries these are, and they."""
    import torch

    query, key = event.query, event.key
    assert query is not None
    assert key is not None
    wide, group = _wide(query), query.shape[1] // key.shape[1]
    at_all = torch.arange(query.shape[2], device=query.device) if rows is None else rows.long()
    for sentence, at_q in _chunks(query, key, at_all):
        query_hqd = query[sentence].detach()[:, at_q].to(wide)
        key_hkd = key[sentence].detach().to(wide).repeat_interleave(group, dim=0)
        scores_hqk = torch.matmul(query_hqd, key_hkd.transpose(-1, -2)).mul_(scale)
        if event.softcap is not None:
            scores_hqk = scores_hqk.div_(event.softcap).tanh_().mul_(event.softcap)
        visible = _mask_scores(scores_hqk, event, sentence, at_q)
        yield scores_hqk, visible, at_q, query_hqd


def _chunks(
    query: torch.Tensor, key: torch.Tensor, at_all: torch.Tensor
) -> Iterator[tuple[int, torch.Tensor]]:
    """Sentences, and queries of which all heads' scores fit into a chunk."""
    at_once = max(1, CHUNK_SCORES // max(1, query.shape[1] * key.shape[2]))
    for sentence in range(query.shape[0]):
        for at_q in at_all.split(at_once):
            yield sentence, at_q


def _mask_scores(
    scores_hqk: torch.Tensor, event: AttentionEvent, sentence: int, at_q: torch.Tensor
) -> torch.Tensor:
    """Write -inf where a key is hidden, in place; returns the number of visible keys (..., q)."""
    import torch

    keys = scores_hqk.shape[-1]
    if event.causal:
        at_k = torch.arange(keys, device=at_q.device)
        scores_hqk.masked_fill_(at_k > at_q[:, None], -math.inf)
        return (at_q + 1).clamp(max=keys)
    if event.mask is None:
        return torch.full_like(at_q, keys)
    shape = (*event.query.shape[:3], keys) if event.query is not None else scores_hqk.shape
    mask = event.mask.detach().expand(shape)[sentence][:, at_q]
    if mask.dtype == torch.bool:
        scores_hqk.masked_fill_(~mask, -math.inf)
        return mask.sum(dim=-1)
    scores_hqk += mask
    hidden = mask <= HIDING_BIAS
    scores_hqk.masked_fill_(hidden & ~hidden.all(dim=-1, keepdim=True), -math.inf)
    return keys - hidden.sum(dim=-1)


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
    facts = _RowFacts(weights, entropy_hq.clamp(min=0), highest_hq, 1 / total_hq, dead_hq, norm_hq)
    return facts.summed(visible, at_q)


@dataclass(frozen=True)
class _RowFacts:
    """Facts of rows of weights (h, q, k): entropy, largest score and weight, rows without keys."""

    weights_hqk: torch.Tensor
    entropy_hq: torch.Tensor
    highest_hq: torch.Tensor
    largest_hq: torch.Tensor
    dead_hq: torch.Tensor
    norm_hq: torch.Tensor  # of the queries

    def summed(
        self, visible: torch.Tensor, at_q: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        live_hq, entropy_hq = ~self.dead_hq, self.entropy_hq
        several_hq = live_hq & (visible > 1)
        share_hq = entropy_hq / visible.clamp(min=2).to(entropy_hq.dtype).log()

        def total(fact_hq: torch.Tensor, counted_hq: torch.Tensor = live_hq) -> torch.Tensor:
            counted: torch.Tensor = fact_hq.masked_fill(~counted_hq, 0)
            return counted.sum(dim=1, dtype=torch.float64)

        ones = torch.ones_like(entropy_hq)
        sums = [
            total(ones), total(entropy_hq), total(share_hq, several_hq), total(ones, several_hq),
            total(self.largest_hq), total(self.weights_hqk[..., 0]), total(self._at(at_q)),
            total(self._at(at_q - 1)), total(entropy_hq.exp()), total(self.norm_hq),
        ]  # fmt: skip
        highest_h = self.highest_hq.amax(dim=1)
        lowest_h = (-entropy_hq).masked_fill(self.dead_hq, -math.inf).amax(dim=1)
        return torch.stack(sums, dim=1), torch.stack([highest_h, lowest_h], dim=1).double()

    def _at(self, at_k: torch.Tensor) -> torch.Tensor:
        """The weight of one key of each row; 0 where there is no such key."""
        keys = self.weights_hqk.shape[-1]
        inside = (at_k >= 0) & (at_k < keys)
        at = at_k.clamp(0, keys - 1).expand(self.weights_hqk.shape[:-1])[..., None]
        return self.weights_hqk.gather(-1, at)[..., 0].masked_fill(~inside, 0)


def _from_weights(
    weights: torch.Tensor, rows: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Sums, maxima and number of heads of weights (b, h, q, k); scores are not known from them."""
    import torch

    at_q = torch.arange(weights.shape[-2], device=weights.device) if rows is None else rows.long()
    parts = []
    for weights_hqk in weights.detach():
        chosen = weights_hqk[:, at_q].to(_wide(weights))
        dead_hq = (chosen == 0).all(dim=-1)
        entropy_hq = torch.special.entr(chosen).sum(dim=-1)
        largest_hq = chosen.amax(dim=-1)
        visible = (chosen > 0).sum(dim=-1)
        unknown = torch.full_like(largest_hq, -math.inf)
        norms = torch.full_like(largest_hq, math.nan)
        facts = _RowFacts(chosen, entropy_hq, unknown, largest_hq, dead_hq, norms)
        parts.append(facts.summed(visible, at_q))
    added = torch.stack([sums for sums, _ in parts]).sum(dim=0)
    return added, torch.stack([x for _, x in parts]).amax(dim=0), weights.shape[1]


def _wide(tensor: torch.Tensor) -> Any:
    import torch

    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def largest_scores(event: AttentionEvent, scale: float, heads: list[int]) -> torch.Tensor:
    """The largest score of some heads, over all sentences and queries, by plain operations."""
    import torch

    query, key, mask = event.query, event.key, event.mask
    assert query is not None
    assert key is not None
    at = torch.tensor(heads, device=query.device)
    if mask is not None and mask.ndim == 4 and mask.shape[1] > 1:
        mask = mask[:, at]
    shared = at // (query.shape[1] // key.shape[1])
    chosen = replace(event, query=query[:, at], key=key[:, shared], mask=mask)
    return torch.stack([x[0].amax(dim=(1, 2)) for x in _score_chunks(chosen, scale)]).amax(dim=0)
