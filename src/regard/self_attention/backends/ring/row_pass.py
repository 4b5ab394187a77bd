"""Pass one: key and value go around the ring, and what belongs to queries is summed at home."""

from dataclasses import replace

import numpy as np

from regard.self_attention.backends.ring.around import around
from regard.self_attention.backends.ring.layout import Chunk
from regard.self_attention.backends.ring.post import Post
from regard.self_attention.backends.ring.share import Share
from regard.self_attention.tiles.plan import Unit, choose
from regard.self_attention.tiles.problem import Array, Problem
from regard.self_attention.tiles.rows import Rows, Scratch, Wanted, stream_past
from regard.self_attention.tiles.threads import run_in_order


def row_pass(share: Share, wanted: Wanted, post: Post) -> dict[str, Array]:
    """What belongs to this rank's queries, (h, q, ...); base-2 log-sum-exp as ``log2_total``."""
    own = [share.problem.key_gkd, share.problem.value_gkv]
    sums = {x.here.start: ChunkSums(share, x, wanted) for x in share.chunks}

    def work(visitor: int, arrays: list[Array]) -> None:
        key_gkd, value_gkv = arrays
        for rows, columns in share.meetings(share.rank, visitor):
            part = share.between(rows, columns, share.problem.query_hqd, key_gkd, value_gkv)
            sums[rows.here.start].take(part, columns.there.start)

    around(share, post, own, share.keys, work)
    facts = blank_facts(share, wanted)
    for chunk in sums.values():
        chunk.put(facts)
    return facts


class ChunkSums:
    """The running sums of one chunk of queries: they go on from visitor to visitor.

    Equals ``stream_rows`` over all keys at once; only the order of the keys differs.
    """

    def __init__(self, share: Share, chunk: Chunk, wanted: Wanted) -> None:
        sight = share.problem.sight.part(chunk.there, slice(0, share.keys.tokens))
        query_hqd = share.problem.query_hqd[:, chunk.here]
        problem = replace(share.problem, query_hqd=query_hqd, sight=sight)
        self.chunk, self.wanted = chunk, wanted
        self.plan = choose(problem, False)
        self.units = [
            (unit, Rows.none_seen(problem, unit, wanted)) for unit in self.plan.units(problem)
        ]

    def take(self, part: Problem, first: int) -> None:
        """Let a visitor's keys stream past; ``first`` is where they begin in the whole."""

        def work(place: tuple[Unit, Rows], scratch: Scratch) -> None:
            unit, rows = place
            stream_past(rows, part, self.plan, unit, self.wanted, scratch, first)

        run_in_order(self.units, work)

    def put(self, facts: dict[str, Array]) -> None:
        """After the last visitor: what the sums come to."""
        start = self.chunk.here.start
        with np.errstate(all="ignore"):
            for unit, rows in self.units:
                place = slice(start + unit.rows.start, start + unit.rows.stop)
                _put(facts, (unit.heads, place), rows)


def blank_facts(share: Share, wanted: Wanted) -> dict[str, Array]:
    """Room for what belongs to this rank's queries; queries that see nothing keep what is here."""
    problem = share.problem
    shape = problem.query_hqd.shape[:2]
    facts: dict[str, Array] = {"log2_total": np.full(shape, -np.inf)}
    if wanted.output:
        facts["output"] = np.zeros((*shape, problem.value_gkv.shape[-1]), problem.output_dtype)
    if wanted.entropy:
        facts["entropy"] = np.zeros(shape, problem.dtype)
    if wanted.top:
        facts["top_weights"] = np.zeros((*shape, wanted.top), problem.dtype)
        facts["top_keys"] = np.full((*shape, wanted.top), -1, np.int64)
    return facts


def _put(facts: dict[str, Array], place: tuple[slice, slice], rows: Rows) -> None:
    rows.settle()
    facts["log2_total"][place] = rows.log2_total_hq()
    if "entropy" in facts:
        facts["entropy"][place] = rows.entropy_hq()
    if "output" in facts:
        facts["output"][place] = rows.mean_output_hqv()
    if rows.best is not None:
        facts["top_weights"][place] = rows.best.values_hqn
        facts["top_keys"][place] = rows.best.columns_hqn
