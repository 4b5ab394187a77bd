"""One pass where all keys and values fit in a little memory: gathered first, then full rows.

As ``panel`` is to ``two passes`` in one process: scores are computed once instead of twice.
"""

from dataclasses import replace

import numpy as np

from regard.self_attention.backends.ring.column_pass import RankColumns
from regard.self_attention.backends.ring.layout import Chunk
from regard.self_attention.backends.ring.post import Post
from regard.self_attention.backends.ring.row_pass import blank_facts
from regard.self_attention.backends.ring.share import Share
from regard.self_attention.observe import Gathered, gather
from regard.self_attention.tiles.columns import cut
from regard.self_attention.tiles.plan import choose
from regard.self_attention.tiles.problem import Array, Problem
from regard.self_attention.tiles.rows import Wanted

GATHERED_BYTES = 2**28  # of keys and values of the whole; beyond that they go around the ring


def fits(share: Share, wanted: Wanted) -> bool:
    """Whether to gather: the same answer on every rank, since it follows from the whole."""
    problem = share.problem
    if not isinstance(problem, Problem):
        return False  # on a device keys always go around
    width = problem.key_gkd.shape[-1] + problem.value_gkv.shape[-1]
    size = problem.key_gkd.shape[0] * share.keys.tokens * width * problem.dtype.itemsize
    return wanted.columns and size <= GATHERED_BYTES and choose(problem, True).name == "panel"


def gathered_pass(share: Share, wanted: Wanted, post: Post) -> tuple[dict[str, Array], RankColumns]:
    """What belongs to this rank's queries, and to its keys once all ranks have added theirs."""
    key_gkd, value_gkv = _gathered_arrays(share, post)
    columns, facts = RankColumns(share, wanted), blank_facts(share, wanted)
    received_hk = np.zeros((share.problem.heads, share.keys.tokens))
    distance_hn = np.zeros((share.problem.heads, share.distances))
    post.watch.at += 1
    for chunk in share.chunks:
        found = _observed(columns, chunk, key_gkd, value_gkv)
        _put(facts, chunk.here, found)
        received_hk += found.columns.received_hk
        if columns.map_hrc is not None:
            columns.map_hrc[:, cut(columns.edges[0], chunk.there)[1]] += found.columns.map_hrc
        if found.columns.distance_hn is not None:
            start = share.queries.tokens - chunk.there.stop
            stop = start + found.columns.distance_hn.shape[1]
            distance_hn[:, start:stop] += found.columns.distance_hn
    _hand_out(columns, received_hk, distance_hn, post)
    return facts, columns


def _gathered_arrays(share: Share, post: Post) -> list[Array]:
    """Keys and values of all ranks, in their order in the whole."""
    own = [share.problem.key_gkd, share.problem.value_gkv]
    coming = {rank: [_room(x, share.keys.held(rank)) for x in own] for rank in share.others}
    send = [(rank, x) for rank in share.others for x in own]
    receive = [(rank, x) for rank in share.others for x in coming[rank]]
    post.arrived(post.exchange(send, receive))
    whole = [_room(x, share.keys.tokens) for x in own]
    for rank, arrays in (coming | {share.rank: own}).items():
        for chunk in share.keys.ranks[rank]:
            for array, place in zip(arrays, whole, strict=True):
                place[:, chunk.there] = array[:, chunk.here]
    return whole


def _room(like: Array, tokens: int) -> Array:
    return np.empty((like.shape[0], tokens, like.shape[2]), like.dtype)


def _observed(columns: RankColumns, chunk: Chunk, key_gkd: Array, value_gkv: Array) -> Gathered:
    share = columns.share
    every = Chunk(slice(0, share.keys.tokens), slice(0, share.keys.tokens))
    part = share.between(chunk, every, share.problem.query_hqd, key_gkd, value_gkv)
    row_edges, _ = cut(columns.edges[0], chunk.there)
    return gather(part, replace(columns.wanted, row_edges=row_edges), choose(part, True))


def _put(facts: dict[str, Array], here: slice, found: Gathered) -> None:
    rows = {"log2_total": found.log2_total_hq, "output": found.output_hqv,
            "entropy": found.entropy_hq, "top_weights": found.weights_hqn,
            "top_keys": found.keys_hqn}  # fmt: skip
    for name, place in facts.items():
        place[:, here] = rows[name]


def _hand_out(columns: RankColumns, received_hk: Array, distance_hn: Array, post: Post) -> None:
    """Send each rank the sums for its keys and its distances; add up this rank's own."""
    share, distances = columns.share, columns.distances

    def pieces(rank: int) -> list[Array]:
        keys = [received_hk[:, chunk.there] for chunk in share.keys.ranks[rank]]
        found = [np.concatenate(keys, axis=1)]
        if distances is not None:
            found.append(distance_hn[:, distances.edges[rank] : distances.edges[rank + 1]])
        return found

    sums = [columns.received_hk, *([] if distances is None else [distances.weight_hn])]
    rooms = {rank: [np.empty_like(x) for x in sums] for rank in share.others}
    send = [(rank, x) for rank in share.others for x in pieces(rank)]
    post.arrived(post.exchange(send, [(rank, x) for rank in share.others for x in rooms[rank]]))
    rooms[share.rank] = pieces(share.rank)
    for rank in range(share.ranks):  # in this order on every rank
        for total, piece in zip(sums, rooms[rank], strict=True):
            total += piece
