"""The link that says most about a head: not the first row, not itself, not what all look at."""

import numpy as np
import pytest

import regard
from regard.text.words import TokenizedText
from regard.watcher.measures.telling_link import SPAN_QUERIES, SPANS, telling_link


def observed(scores_qk: np.ndarray, **options: object) -> regard.Observation:
    """An observation whose weights are the softmax of these scores."""
    size = len(scores_qk)
    options = {"causal": True, "top": 4, **options}
    return regard.observe(scores_qk, np.eye(size), np.eye(size), scale=1.0, **options)


def text(*segments: str) -> TokenizedText:
    return TokenizedText(segments, segments, segments, tuple(range(len(segments))), segments)


def test_a_row_that_sees_one_key_and_a_token_that_sees_itself_say_nothing():
    scores_qk = np.zeros((6, 6))
    scores_qk[2, 2] = scores_qk[4, 1] = 9
    link = telling_link(observed(scores_qk), None)
    assert (link.query, link.key) == (4, 1)
    assert link.weight == pytest.approx(np.exp(9) / (np.exp(9) + 4))


def test_what_every_query_looks_at_is_not_telling():
    scores_qk = np.zeros((8, 8))
    scores_qk[:, 0] = 9  # a sink: its mean weight is nearly 1
    scores_qk[6, 0], scores_qk[6, 3] = 0, 3
    link = telling_link(observed(scores_qk), None)
    assert (link.query, link.key) == (6, 3)


def test_words_say_more_than_marks():
    scores_qk = np.zeros((6, 6))
    scores_qk[4, 3] = 9
    scores_qk[5, 2] = 7
    words = text("the", ".", "dog", ",", "ate", "food")
    assert telling_link(observed(scores_qk), None)[:2] == (4, 3)
    assert telling_link(observed(scores_qk), None, words, words)[:2] == (5, 2)


def test_of_a_long_text_stretches_are_looked_through():
    size = 3 * SPANS * SPAN_QUERIES
    query, key = np.ones((size, 2), np.float32), np.zeros((size, 2), np.float32)
    key[size - 9] = 20
    seen = regard.observe(query, key, key, window=(4, 0), top=2)
    link = telling_link(seen, None)
    assert link.key == size - 9  # in the last stretch
    assert link.query in range(size - 8, size - 4)


def test_without_best_keys_there_is_none():
    assert telling_link(observed(np.zeros((4, 4)), top=0), None) is None
    assert telling_link(observed(np.zeros((1, 1))), None) is None
