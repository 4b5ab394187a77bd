"""Windows of a document: every token once, special tokens around each."""

import pytest

from regard.corpus.windows import cut


@pytest.mark.parametrize("tokens", [0, 1, 6, 7, 8, 14, 15])
def test_windows_hold_every_token_once(tokens):
    windows = cut(range(100, 100 + tokens), window=9, first=[1], last=[2])
    inside = [token for window in windows for token in window.tokens[1:-1]]
    assert inside == list(range(100, 100 + tokens))
    assert all(window.tokens[0] == 1 and window.tokens[-1] == 2 for window in windows)
    assert all(len(window.tokens) <= 9 for window in windows)
    assert [window.start for window in windows] == [9 * i for i in range(len(windows))]
