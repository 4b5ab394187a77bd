"""What a rank sends is counted, and is what the formulas of tools/scale.py say."""

import math

import numpy as np
import pytest
import scale_model
from tests.helpers.attention_cases import CASES
from tests.helpers.attention_facts import MAP
from tests.helpers.ring_cases import parameters, taken

from regard.engine.call import blocks
from regard.engine.profile import bands_between
from regard.engine.ring.layout import build_layout


def chunks(slices, tokens, ranks):
    """Each rank's runs of positions, as (start, stop)."""
    counts = [len(taken(slices, tokens, rank, ranks)) for rank in range(ranks)]
    layout = build_layout(slices.layout, counts, "tokens")
    return [[(x.sequence.start, x.sequence.stop) for x in chunks] for chunks in layout.ranks]


def visibility(case):
    """Whether any of some queries may look at any of some keys, by band and lengths."""
    left, right = case.arguments.get("window") or (None, None)
    if case.arguments.get("causal"):
        right = 0
    offset = case.arguments.get("offset") or 0
    longest = np.max(case.arguments.get("lengths", math.inf), initial=0)

    def sees(rows, columns):
        low = -math.inf if left is None else rows[0] + offset - left
        high = math.inf if right is None else rows[1] + offset + right
        return max(low, columns[0]) < min(high, longest, columns[1])

    return sees


@pytest.mark.parametrize(("ranks", "name", "case", "slices"), parameters())
def test_bytes_sent_are_those_of_the_formulas(answers, ranks, name, case, slices):
    query, key, value = case.arrays()
    n_queries, n_keys = query.shape[-2], key.shape[-2]
    heads, key_heads = (math.prod(x.shape[:-2]) for x in (query, key))
    sizes = heads, key_heads, query.shape[-1], value.shape[-1]
    rank = scale_model.Rank(0, 0, 0, 0, *sizes, 8, 8 if slices.device else 16)
    queries, keys = (
        [len(taken(slices, n, r, ranks)) for r in range(ranks)] for n in (n_queries, n_keys)
    )
    edges = [i * max(0, n_queries + n_keys - 1) // ranks for i in range(ranks + 1)]
    rows, columns = (len(blocks(n, MAP)) - 1 for n in (n_queries, n_keys))
    offset = case.arguments.get("offset") or 0
    histogram = (
        len(bands_between(offset - n_keys + 1, offset + n_queries - 1))
        if n_queries + n_keys > 1
        else 0
    )
    numbers = heads * (rows * (columns + 1) + 1 + 4 + histogram)
    for me in range(ranks):
        if slices.gathered:
            sent = scale_model.sent_at_once(me, keys, rank)
            sent += 8 * heads * (edges[-1] - (edges[me + 1] - edges[me]))
        else:
            layouts = (chunks(slices, n, ranks) for n in (n_queries, n_keys))
            sent = sum(scale_model.sent_around(me, queries, keys, rank))
            sent += scale_model.sent_distances(me, *layouts, rank, visibility(case))
        sent += scale_model.sent_sums(me, ranks, numbers)
        assert answers[me][ranks, name]["sent_bytes"] == sent


def test_the_formulas_are_not_all_zero(answers):
    case = next(case for case in CASES if case.name == "causal")
    assert answers[0][2, f"{case}, zigzag"]["sent_bytes"] > 0


def test_memory_follows_the_slice_and_not_the_sequence(answers):
    """Two ranks and four, each with as many tokens of its own.

    Were anything held for the whole sequence it would double: keys and values gathered, say. Some
    30 % is left for what threads happen to hold at the moment of the peak.
    """
    two, four = (max(answers[rank][n, "peak bytes"] for rank in range(n)) for n in (2, 4))
    assert four < 1.3 * two
