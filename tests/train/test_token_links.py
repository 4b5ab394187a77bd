"""Links between words as links between tokens: numbered as a reading does, whatever the split."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs PyTorch: pip install '.[train]'")

from regard.text.words import split_words
from regard.train.data import (
    AT_END,
    EncodedPairs,
    Ragged,
    encode,
    learn_tokens,
    load_tokens,
    tagged,
)
from regard.train.dataset import find_splits, split_pieces
from regard.train.packing import KINDS, token_links, word_numbers, word_table
from regard.transformer.config import END

SOURCES = ["The big dog's food, it isn't red.", '"A cat sees (it)"...', "Sad man: don't!"]
TARGETS = ["L'homme d'aujourd'hui, qu'il voit.", 'Le chat "mange"...', "N'aime-t-il pas l'eau ?"]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory, toy_pairs):
    path = tmp_path_factory.mktemp("tokens") / "tokens.model"
    learn_tokens(
        [*SOURCES * 20, *TARGETS * 20, *(x for pair in toy_pairs for x in pair)], 400, path
    )
    return load_tokens(path)


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize(("texts", "elisions"), [(SOURCES, False), (TARGETS, True)])
def test_words_are_numbered_as_their_text_is_split(tokens, texts, elisions, share):
    table = word_table(tokens, elisions=elisions)
    encoded = split_pieces(
        encode(tokens, texts), find_splits(tokens), share, np.random.default_rng(1)
    )
    first, last = word_numbers(encoded, table)
    for row, text in enumerate(texts):
        words = split_words(text, elisions=elisions)
        part = slice(*encoded.starts[row : row + 2])
        assert (first[part][-1], last[part][-1]) == (len(words), len(words))  # END
        spelt = [""] * (len(words) + 1)
        for token, begin, end in zip(encoded.tokens[part], first[part], last[part], strict=True):
            piece = tokens.id_to_piece(int(token)).replace("\u2581", "")
            inside = split_words(piece, elisions=elisions) or [piece]
            for number, syllable in zip(range(max(begin, 0), end + 1), inside, strict=False):
                spelt[number] += syllable
        assert spelt[:-1] == words


def test_links_follow_splits_and_tags(tokens):
    source, target = encode(tokens, [SOURCES[0]]), encode(tokens, [TARGETS[0]])
    words, translated = split_words(SOURCES[0]), split_words(TARGETS[0], elisions=True)
    rows = [
        (0, words.index("it"), words.index("dog's"), words.index("dog's")),
        (0, words.index("red"), AT_END, AT_END),
        (1, translated.index("hui"), 0, 1),
        (1, 99, 0, 1),
        (1, 0, 50, 51),
    ]
    links = Ragged(np.array(rows, dtype=np.int32), np.array([0, len(rows)]))
    tables = word_table(tokens), word_table(tokens, elisions=True)
    rng = np.random.default_rng(2)
    splits = find_splits(tokens)
    for share in (0.0, 0.6):
        pair = EncodedPairs(
            tagged(split_pieces(source, splits, share, rng), tokens.piece_to_id("<formal>")),
            split_pieces(target, splits, share, rng),
            links,
        )
        spans = token_links(pair, tables).tokens
        assert len(spans) == 3  # words that are not there have no link
        texts = [
            (
                KINDS[kind],
                spelling(tokens, (pair.source, pair.target)[kind], a, b),
                spelling(tokens, pair.source, c, d),
            )
            for kind, a, b, c, d in spans.tolist()
        ]
        assert texts == [
            ("anaphora", "it", "dog's"),
            ("anaphora", "red", "END"),
            ("alignment", "hui", "The big"),
        ]


def spelling(tokens, sentence, start, stop):
    ids = sentence.tokens[start:stop].tolist()
    return "END" if ids == [END] else tokens.decode(ids)
