"""The word aligner: links of a made-up language, posteriors against every path by brute force."""

import itertools

import numpy as np
import pytest

from train.aligner import (
    MAX_WORDS,
    AlignerSettings,
    Posteriors,
    align,
    block_links,
    corpus_cells,
    lexical_posteriors,
    markov_posteriors,
)
from train.data import AT_END, WordLink

WORDS = 30
ENGLISH = [f"{a}{b}n" for a in "bcdfgh" for b in ("al", "el", "il", "ol", "ul")]
FRENCH = [f"{a}{b}r" for a in "jkmpqt" for b in ("am", "em", "im", "om", "um")]


def made_corpus(number, seed=0):
    """Pairs of made words with their alignment: neighbours change places, a word is put in."""
    rng = np.random.default_rng(seed)
    pairs, alignments = [], []
    for _ in range(number):
        english = rng.choice(WORDS, size=rng.integers(3, 9), replace=False)
        order = list(range(len(english)))
        swap = int(rng.integers(len(order) - 1))
        order[swap : swap + 2] = order[swap + 1], order[swap]
        french = [FRENCH[english[i]] for i in order]
        origin = [*order]
        put_in = int(rng.integers(len(order) + 1))
        french.insert(put_in, "xyz")
        origin.insert(put_in, AT_END)
        pairs.append((" ".join(ENGLISH[i] for i in english), " ".join(french)))
        alignments.append({(j, i) for j, i in enumerate(origin)})
    return pairs, alignments


def links_of(marked):
    return {(link.query, i) for link in marked.links for i in range(link.first, link.last + 1)}


def test_a_known_alignment_is_recovered():
    pairs, alignments = made_corpus(2000)
    marked = align(pairs)
    assert [x.pair for x in marked] == pairs
    linked = [{x for x in links_of(pair) if x[1] != AT_END} for pair in marked]
    known = [{x for x in alignment if x[1] != AT_END} for alignment in alignments]
    right = sum(len(a & b) for a, b in zip(linked, known, strict=True))
    assert right >= 0.99 * sum(map(len, linked))
    assert right >= 0.99 * sum(map(len, known))


def test_a_word_without_a_partner_rests_on_the_end():
    pairs, alignments = made_corpus(2000)
    ends = [{x for x in links_of(pair) if x[1] == AT_END} for pair in align(pairs)]
    assert sum(map(len, ends)) >= 0.9 * len(pairs)
    right = sum(len(a & b) for a, b in zip(ends, alignments, strict=True))
    assert right >= 0.99 * sum(map(len, ends))


def test_sure_neighbours_of_the_best_source_word_are_one_link():
    joint_bqk = np.zeros((2, 3, 4))
    joint_bqk[0] = [[0.5, 0.4, 0.1, 0.6], [0.1, 0.5, 0.9, 0.0], [0.2, 0.0, 0.0, 0.0]]
    joint_bqk[1] = [[0.0, 0.0, 0.0, 0.0], [0.9, 0.4, 0.4, 0.4], [0.0, 0.0, 0.0, 0.9]]
    settings = AlignerSettings(sure=0.3, one_sided=0.9, none=0.5)
    links = block_links(joint_bqk, posteriors(np.zeros((2, 3, 4)), np.zeros((2, 3))), settings)
    assert links[0] == (WordLink(0, 3, 3), WordLink(1, 1, 2))
    assert links[1] == (WordLink(1, 0, 3), WordLink(2, 3, 3))


def test_one_direction_decides_where_both_are_unsure():
    one_sided_bqk = np.array([[[0.95, 0.0], [0.0, 0.95], [0.1, 0.3], [0.4, 0.4]]])
    null_bq = np.array([[0.05, 0.05, 0.6, 0.2]])
    joint_bqk = np.zeros((1, 4, 2))
    joint_bqk[0, 0, 1] = 0.8
    settings = AlignerSettings(sure=0.3, one_sided=0.9, none=0.5)
    links = block_links(joint_bqk, posteriors(one_sided_bqk, null_bq), settings)[0]
    assert links == (WordLink(0, 1, 1), WordLink(1, 1, 1), WordLink(2, AT_END, AT_END))


def posteriors(state_bqk, null_bq):
    return Posteriors(state_bqk, null_bq, np.zeros((1, 1)), np.zeros(1))


def test_words_are_counted_as_split_words_counts_them():
    pairs = [("The dog's food, please.", "La nourriture, s'il te plaît.")] * 3
    assert [x.target_bq.shape[1] for slab in corpus_cells(pairs).slabs for x in slab] == [8]


def test_the_same_text_gives_the_same_links():
    pairs, _ = made_corpus(300)
    assert align(pairs) == align(pairs)


def test_progress_rises_to_one():
    shares = []
    align(made_corpus(50)[0], progress=shares.append)
    assert shares == sorted(shares)
    assert len(set(shares)) == len(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize("words", [0, MAX_WORDS + 1])
def test_pairs_that_cannot_be_aligned_have_no_links(words):
    pairs = [("word " * words, "mot " * words)]
    assert align(pairs)[0].links == ()
    assert align([]) == []
    with_others = align([*pairs, *made_corpus(50)[0]])
    assert with_others[0].links == ()
    assert with_others[1].links


def test_entries_of_the_lexicon_are_those_of_the_cells():
    pairs, _ = made_corpus(40)
    cells = corpus_cells(pairs)
    for block in (block for slab in cells.slabs for block in slab):
        entries = cells.block_entries(block)
        n, j, i = np.indices(block.shape)
        np.testing.assert_array_equal(cells.entry_sources[entries], block.source_bk[n, i])
        np.testing.assert_array_equal(cells.entry_targets[entries], block.target_bq[n, j])


STATES, NONE = 3, None


def model(words, seed=0):
    rng = np.random.default_rng(seed)
    emission_bqk = rng.uniform(0.1, 1, (2, words, STATES)).astype(np.float32)
    null_bq = rng.uniform(0.01, 0.1, (2, words)).astype(np.float32)
    first_k = rng.dirichlet(np.ones(STATES)).astype(np.float32)
    next_kk = rng.dirichlet(np.ones(STATES), STATES).astype(np.float32)
    return emission_bqk, null_bq, first_k, next_kk


def by_enumeration(emission_qk, null_q, first_k, next_kk):
    """Sums over all paths; before the first state a word from none leaves each state as likely."""
    words = len(emission_qk)
    state_qk, null, moves = np.zeros((words, STATES)), np.zeros(words), np.zeros((STATES, STATES))
    total = 0.0
    for start in range(STATES):
        for path in itertools.product([*range(STATES), NONE], repeat=words):
            share, last, steps = 1 / STATES, start, []
            for j, state in enumerate(path):
                if state is NONE:
                    share *= null_q[j]
                    continue
                share *= (first_k[state] if j == 0 else next_kk[last, state]) * emission_qk[
                    j, state
                ]
                steps += [(last, state)] if j else []
                last = state
            total += share
            for j, state in enumerate(path):
                if state is NONE:
                    null[j] += share
                else:
                    state_qk[j, state] += share
            for step in steps:
                moves[step] += share
    return state_qk / total, null / total, moves / total


@pytest.mark.parametrize("words", [1, 2, 4])
def test_forward_backward_equals_the_sum_over_all_paths(words):
    emission_bqk, null_bq, first_k, next_kk = model(words)
    posteriors = markov_posteriors(emission_bqk, null_bq, first_k, next_kk)
    sums = [by_enumeration(*x, first_k, next_kk) for x in zip(emission_bqk, null_bq, strict=True)]
    # float32 with some ten operations a word: relative errors of 1e-6 each.
    near = {"rtol": 2e-5, "atol": 1e-7}
    np.testing.assert_allclose(posteriors.state_bqk, [x[0] for x in sums], **near)
    np.testing.assert_allclose(posteriors.null_bq, [x[1] for x in sums], **near)
    np.testing.assert_allclose(posteriors.moves_kk, sum(x[2] for x in sums), **near)
    np.testing.assert_allclose(posteriors.first_k, sum(x[0][0] for x in sums), **near)


def test_without_jumps_each_word_is_on_its_own():
    emission_bqk, null_bq, *_ = model(4)
    posteriors = lexical_posteriors(emission_bqk, null_bq)
    total_bq = emission_bqk.sum(axis=-1) + null_bq
    np.testing.assert_allclose(posteriors.state_bqk, emission_bqk / total_bq[..., None], rtol=1e-6)
    np.testing.assert_allclose(posteriors.state_bqk.sum(-1) + posteriors.null_bq, 1, rtol=1e-6)


def test_long_sentences_neither_underflow_nor_overflow():
    rng = np.random.default_rng(0)
    emission_bqk = np.exp(rng.uniform(-20, 0, (1, 60, 60))).astype(np.float32)
    null_bq = np.full((1, 60), 1e-9, np.float32)
    even = np.full((60, 60), 1 / 60, np.float32)
    posteriors = markov_posteriors(emission_bqk, null_bq, even[0], even)
    np.testing.assert_allclose(posteriors.state_bqk.sum(-1) + posteriors.null_bq, 1, rtol=1e-4)
