"""The word aligner: known alignments are recovered from made text, the same ones every time."""

import numpy as np
import pytest

from regard.train.aligner import (
    LONGEST,
    AlignerSettings,
    Posteriors,
    align,
    block_links,
    corpus_cells,
)
from regard.train.data import AT_END, WordLink

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


@pytest.mark.parametrize("words", [0, LONGEST + 1])
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
        entries = cells.entries_of(block)
        n, j, i = np.indices(block.shape)
        np.testing.assert_array_equal(cells.source_of[entries], block.source_bk[n, i])
        np.testing.assert_array_equal(cells.target_of[entries], block.target_bq[n, j])
