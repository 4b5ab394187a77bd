"""Packed batches hold every pair once; links between words become spans of tokens."""

import numpy as np
import pytest

pytest.importorskip("sentencepiece", reason="tokens need SentencePiece")
pytest.importorskip("torch", reason="training needs PyTorch: pip install 'regard[train]'")

from regard.text.words import split_words
from regard.transformer.config import END, PAD, START
from train.data import (
    AT_END,
    EncodedPairs,
    Ragged,
    encode,
    learn_tokens,
    load_tokens,
    ragged,
    tagged,
    without_links,
)
from train.dataset import find_splits, split_pieces
from train.packing import (
    BatchShape,
    Epoch,
    epochs,
    pack,
    token_links,
    word_numbers,
    word_table,
)
from train.recipe import TAUGHT_PARTS

SHAPE = BatchShape(rows=4, source=24, target=30)


def random_pairs(number, longest=10, seed=0):
    rng = np.random.default_rng(seed)
    sides = (
        [[*rng.integers(4, 99, rng.integers(1, longest)).tolist(), END] for _ in range(number)]
        for _ in range(2)
    )
    return without_links(*map(ragged, sides))


def epoch_of(pairs, shape=SHAPE, seed=0):
    rng = np.random.default_rng(seed)
    return Epoch(
        pairs, Ragged(np.zeros((0, 5), int), pairs.links.starts), pack(pairs, shape, rng), shape
    )


def pairs_in(batch):
    """(source, target) of every segment of a batch, after a look at its other arrays."""
    for row in range(len(batch.labels_bt)):
        segments = batch.source.segments[row], batch.given.segments[row]
        assert set(segments[0]) | {0} == set(segments[1]) | {0}
        for segment in range(1, segments[0].max(initial=0) + 1):
            source, target = (np.flatnonzero(x == segment) for x in segments)
            for side, positions in ((batch.source, source), (batch.given, target)):
                np.testing.assert_array_equal(np.diff(positions), 1)
                np.testing.assert_array_equal(
                    side.positions[row][positions], np.arange(len(positions))
                )
            labels = batch.labels_bt[row][target].tolist()
            assert batch.given.tokens[row][target].tolist() == [START, *labels[:-1]]
            yield batch.source.tokens[row][source].tolist(), labels


@pytest.mark.parametrize("number", [1, 300, 512, 1_300])
def test_an_epoch_holds_every_pair_once_in_batches_of_one_shape(number):
    pairs = random_pairs(number)
    epoch = epoch_of(pairs)
    seen = []
    for part in range(len(epoch)):
        batch = epoch.batch(part)
        assert batch.source.tokens.shape == (4, 24)
        assert batch.labels_bt.shape == (4, 30)
        for side, width in ((batch.source, 24), (batch.given, 30)):
            assert ((side.tokens == PAD) == (side.segments == 0)).all()
            assert side.positions.max() < width
        seen += pairs_in(batch)
        assert batch.filled == 1.0 or part == len(epoch) - 1
    everything = [
        tuple(side.take(np.array([row])).tokens.tolist() for side in (pairs.source, pairs.target))
        for row in range(len(pairs))
    ]
    assert sorted(seen) == sorted(everything)


def test_rows_are_nearly_full():
    pairs = random_pairs(4_000)
    epoch = epoch_of(pairs, BatchShape(16, 128, 128))
    positions = 16 * (128 + 128)
    sizes = [epoch.batch(number).size for number in range(len(epoch) - 1)]
    assert np.mean(sizes) / positions > 0.94


def test_a_pair_longer_than_a_row_is_left_out():
    pairs = without_links(ragged([[5] * 9, [6] * 3, [7] * 3]), ragged([[5], [6] * 9, [7] * 8]))
    batch = epoch_of(pairs, BatchShape(2, 8, 8)).batch(0)
    assert list(pairs_in(batch)) == [([7] * 3, [7] * 8)]
    assert batch.filled == 0.5


def test_links_are_at_the_tokens_of_their_pair():
    links = Ragged(np.array([[0, 1, 3, 0, 1], [1, 0, 1, 1, 3]]), np.array([0, 0, 2]))
    pairs = EncodedPairs(
        ragged([[5, 6, END], [7, 8, 9, END]]), ragged([[5, END], [6, 7, END]]), links
    )
    epoch = Epoch(pairs, links, pack(pairs, SHAPE, np.random.default_rng(0)), SHAPE)
    batch = epoch.batch(0)
    begin = int(np.flatnonzero(batch.source.tokens[0] == 7)[0])
    taught = np.flatnonzero(batch.source.start[0] < batch.source.stop[0])
    assert taught.tolist() == [begin + 1, begin + 2]
    assert batch.source.start[0][taught].tolist() == [begin] * 2
    assert batch.source.stop[0][taught].tolist() == [begin + 1] * 2
    (query,) = np.flatnonzero(batch.given.start[0] < batch.given.stop[0])
    assert batch.given.tokens[0][query] == 6  # the piece is the decoder's input
    assert batch.given.start[0][query] == begin + 1
    assert batch.given.stop[0][query] == begin + 3


def test_the_next_epochs_follow_their_seed():
    pairs = random_pairs(40)
    empty = Ragged(np.zeros((0, 5), int), pairs.links.starts)
    prepare = lambda rng: (pairs, empty)  # noqa: E731
    first, second = (next(epochs(prepare, SHAPE, seed=1, first=number)) for number in (0, 1))
    stream = epochs(prepare, SHAPE, seed=1, first=0)
    for expected in (first, second):
        np.testing.assert_array_equal(next(stream).packing.order, expected.packing.order)
    assert (first.packing.order != second.packing.order).any()


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
                TAUGHT_PARTS[part],
                spelling(tokens, (pair.source, pair.target)[part], a, b),
                spelling(tokens, pair.source, c, d),
            )
            for part, a, b, c, d in spans.tolist()
        ]
        assert texts == [
            ("encoder", "it", "dog's"),
            ("encoder", "red", "END"),
            ("cross", "hui", "The big"),
        ]


def spelling(tokens, sentence, start, stop):
    ids = sentence.tokens[start:stop].tolist()
    return "END" if ids == [END] else tokens.decode(ids)
