"""One call of attention, observed: the output for the model, and a piece for each sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.models.bridge import as_array, as_tensor
from regard.models.call import Call
from regard.models.layer import picked
from regard.models.options import Options
from regard.models.stretches import Stretch
from regard.models.track import Piece
from regard.self_attention.heads import head_measures
from regard.self_attention.observation import Observation
from regard.self_attention.observe import observe
from regard.self_attention.pairs import sums_by_span
from regard.self_attention.stream import attention
from regard.self_attention.tiles.problem import Array

if TYPE_CHECKING:
    import torch

WHOLE = 2**24  # weights at once where every single one is wanted


def observed(
    call: Call, stretch: Stretch, options: Options, first: bool, with_output: bool
) -> Iterator[tuple[Stretch, Observation]]:
    """Observe a stretch; queries that come after others in parts, each with every weight.

    A later part must fit the blocks of the map of the first, so it is asked for its weights.
    """
    queries, keys = stretch.queries, stretch.keys
    at_once = queries
    if not first and options.map:
        heads = len(stretch.sentences) * call.query.shape[1]
        at_once = max(1, min(queries, WHOLE // max(1, heads * keys)))
    for start in range(0, queries, at_once):
        for part in stretch.some(start, min(start + at_once, queries)).one_by_one(call.query):
            yield part, _observed(call, part, options, first, with_output)


def _observed(
    call: Call, stretch: Stretch, options: Options, first: bool, with_output: bool
) -> Observation:
    rows, columns = stretch.place
    query, key = as_array(call.query)[rows], as_array(call.key)[columns]
    value = as_array(call.value)[columns] if with_output else key[..., :0]
    every = max(query.shape[-2], key.shape[-2])
    blocks = options.map if first or not options.map else every
    return observe(query, key, value, top=options.top, map=blocks, scale=call.scale,
                   softcap=call.softcap, **stretch.arguments)  # fmt: skip


def pieces(
    seen: Observation, stretch: Stretch, options: Options, keep: bool,
    tokens: Sequence[NDArray[np.int64] | None],
) -> Iterator[tuple[int, Piece]]:  # fmt: skip
    """What each sentence of a stretch saw; only what is kept of query and key lives on."""
    keys = slice(stretch.column_start, stretch.column_start + seen.keys)
    facts = {name: seen.facts[name] for name in seen.facts if name != "output"}
    seen = replace(seen, facts=facts, _tensor=None)
    for place, sentence in enumerate(stretch.sentences):
        own: Observation = seen if len(seen.leading) == 1 else picked(seen, place)
        own_tokens = tokens[sentence]
        measures = head_measures(own, None if own_tokens is None else own_tokens[keys])
        sums = span_sums(own, stretch, options) if options.spans else None
        kept = None
        if keep:
            part = getattr(own.parts[0], "whole", own.parts[0])  # a device's comes to the host
            kept = replace(
                part, query_hqd=part.query_hqd.copy(), key_gkd=part.key_gkd.copy(),
                value_gkv=part.value_gkv[..., :0].copy(),
            )  # fmt: skip
        piece = Piece(replace(own, parts=()), stretch.row_start, stretch.column_start, measures,
                      sums, kept)  # fmt: skip
        yield sentence, piece


def span_sums(seen: Observation, stretch: Stretch, options: Options) -> Array:
    """Weights added over the queries and keys of each pair of spans, (h, r, c)."""
    part, edges = seen.parts[0], options.edges
    row_edges = np.clip(edges - stretch.row_start, 0, seen.queries)
    column_edges = np.clip(edges - stretch.column_start, 0, seen.keys)
    sums_hrc = sums_by_span(part, seen.logsumexp.reshape(part.heads, -1), row_edges, column_edges)
    inside = np.array([
        [start <= low and high <= stop for low, high in pairwise(edges)]
        for start, stop in options.spans.values()
    ], float)  # fmt: skip
    joined: Array = inside @ sums_hrc @ inside.T
    return joined


def put_output(output: torch.Tensor, call: Call, stretch: Stretch, seen: Observation) -> None:
    """Write what a stretch's queries mixed into the model's output (b, q, h, d)."""
    (some, _, rows), _ = stretch.place
    output[some, rows] = as_tensor(seen.output, output).transpose(-3, -2)


def put_padding(output: torch.Tensor, call: Call, stretch: Stretch) -> None:
    """Queries that are padding get what they would: nobody reads it, but it stays the same."""
    queries = call.query.shape[2]
    for rows in (slice(0, stretch.rows.start), slice(stretch.rows.stop, queries)):
        arguments = stretch.arguments
        if rows.stop <= rows.start or "mask" in arguments:
            continue
        (some, _, _), columns = stretch.place
        moved: dict[str, Any] = dict(arguments)
        if "offset" in moved:
            moved["offset"] += rows.start - stretch.rows.start
        query = as_array(call.query)[some, :, rows]
        key, value = as_array(call.key)[columns], as_array(call.value)[columns]
        mixed = attention(query, key, value, scale=call.scale, softcap=call.softcap, **moved)
        output[some, rows] = as_tensor(mixed, output).transpose(-3, -2)
