"""The most telling link of a head: a token that looks at another more than tokens usually do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.engine.observation import Observation
from regard.text.words import TokenizedText
from regard.typing import Array

SPANS, SPAN_QUERIES = 8, 1024  # of a longer text as many queries, in stretches spread over it
WORD, PART, BLANK = 1.0, 0.6, 0.05  # how much is said by a link of words, of marks, of blanks


class TellingLink(NamedTuple):
    """A weight from a query to a key, with its excess over what the key usually gets."""

    query: int
    key: int
    weight: float
    excess: float


def telling_link(
    seen: Observation,
    head: int | tuple[int, ...] | None,
    queries: TokenizedText | None = None,
    keys: TokenizedText | None = None,
    offset: int = 0,
) -> TellingLink | None:
    """The link of one head that says most about it; None where no best keys were kept.

    Query i stands at position i + ``offset`` of the keys. The excess of a weight is what it has
    beyond even attention and beyond the mean weight of its key. A query that sees one key, or that
    looks at itself, says nothing, and links between words say more than links between marks.
    """
    if "top_keys" not in seen.facts or not seen.queries:
        return None
    index: Any = () if head is None else head if isinstance(head, tuple) else (head,)
    spans = _spans(seen.queries)
    rows_a = np.concatenate([np.arange(span.start, span.stop) for span in spans])
    keys_an, weights_an = (
        np.concatenate([np.asarray(seen.facts[name][(*index, span)]) for span in spans])
        for name in ("top_keys", "top_weights")
    )
    if not keys_an.size:
        return None
    choices_a1 = (keys_an >= 0).sum(axis=1, keepdims=True)
    position_a1 = rows_a[:, None] + offset
    excess_an = np.asarray(weights_an, np.float64) - np.maximum(
        1 / np.maximum(choices_a1, 1), _usual(seen, index, keys_an)
    )
    is_link_an = (keys_an >= 0) & (keys_an != position_a1) & (choices_a1 > 1)
    said_an = _said(queries, rows_a)[:, None] * _said(keys, keys_an)
    score_an = np.where(is_link_an, excess_an * said_an, -np.inf)
    row, rank = (int(x) for x in np.unravel_index(score_an.argmax(), score_an.shape))
    if not np.isfinite(score_an[row, rank]):
        return None
    weight, excess = float(weights_an[row, rank]), float(excess_an[row, rank])
    return TellingLink(int(rows_a[row]), int(keys_an[row, rank]), weight, excess)


def _spans(queries: int) -> list[slice]:
    """All queries, or of many some stretches of them, so that little of a long file is read.

    >>> _spans(3), len(_spans(10**6))
    ([slice(0, 3, None)], 8)
    """
    if queries <= SPANS * SPAN_QUERIES:
        return [slice(0, queries)]
    starts = np.linspace(0, queries - SPAN_QUERIES, SPANS).astype(int).tolist()
    return [slice(start, start + SPAN_QUERIES) for start in starts]


def _usual(seen: Observation, index: tuple[int, ...], keys_an: Array) -> Array:
    """The mean weight of each key over all queries; 0 where it was not observed."""
    if "received" not in seen.facts:
        return np.zeros(keys_an.shape)
    received_k = np.asarray(seen.facts["received"][index], np.float64)
    return np.asarray(received_k[np.maximum(keys_an, 0)] / seen.queries)


def _said(text: TokenizedText | None, at: Array) -> NDArray[np.float64]:
    """How much the tokens at some positions say: words, marks and pieces of words, blanks."""
    if text is None or not text.tokens:
        return np.full(at.shape, WORD)
    segments = text.segments or text.tokens
    positions, inverse = np.unique(np.clip(at, 0, len(segments) - 1), return_inverse=True)
    kinds = np.array([_kind(segments[position]) for position in positions.tolist()])
    return np.asarray(kinds[inverse].reshape(at.shape))


def _kind(segment: str) -> float:
    bare = segment.strip()
    if not bare:
        return BLANK
    return WORD if len(bare) > 2 and bare.isalpha() else PART
