"""Text on its way to the model: files, alterations, tokens, splits, batches, made pairs, scores."""

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="training needs PyTorch: pip install 'regard[train]'")
pytest.importorskip("sacrebleu", reason="BLEU needs sacrebleu: pip install 'regard[train]'")

from regard.errors import ArgumentError, FileError
from regard.text.tokens import normalise
from regard.transformer.config import END
from train.data import (
    AT_END,
    PUNCTUATION,
    MarkedPair,
    WordLink,
    encode,
    learn_tokens,
    load_tokens,
    ragged,
    read_marked,
    read_pairs,
    read_sentences,
    rows_within,
    without_links,
    write_marked,
    write_pairs,
)
from train.dataset import (
    Dataset,
    alter,
    find_splits,
    gather,
    split_pieces,
)
from train.made import sensible
from train.recipe import NO_ALTERATIONS, Alterations, Corpus, Hyperparameters, Round
from train.run import group, scores


@pytest.fixture(scope="module")
def tokens(tmp_path_factory, toy_pairs):
    path = tmp_path_factory.mktemp("tokens") / "tokens.model"
    learn_tokens([side for pair in toy_pairs for side in pair], 500, path)
    return load_tokens(path)


@pytest.mark.parametrize("opener", [open, gzip.open, lzma.open], ids=["plain", "gz", "xz"])
def test_pairs_are_read_plain_and_packed(opener, tmp_path):
    suffix = {gzip.open: ".gz", lzma.open: ".xz"}.get(opener, "")
    path = tmp_path / f"pairs.tsv{suffix}"
    with opener(path, "wt", encoding="utf-8") as file:
        file.write("I\u2019m good.\tJe vais bien\u00a0!\tmore\n\nGo.\tVa.\n")
    assert read_pairs(path) == [("I'm good.", "Je vais bien !"), ("Go.", "Va.")]


def test_what_is_written_is_read(tmp_path, toy_pairs):
    write_pairs(tmp_path / "a" / "pairs.tsv.gz", toy_pairs)
    assert read_pairs(tmp_path / "a" / "pairs.tsv.gz") == toy_pairs
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["pairs.tsv.gz"]


def test_a_line_without_a_tab_is_named(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("Go.\tVa.\nOnly English.\n", encoding="utf-8")
    with pytest.raises(FileError) as error:
        read_pairs(path)
    assert str(error.value) == (
        "pairs.tsv must have source<TAB>target on every line, got on line 2 'Only English.': "
        "add the missing side or remove the line."
    )


def test_marked_pairs_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "marked.tsv.gz"
    links = (WordLink(3, 1, 1), WordLink(8, AT_END, AT_END), WordLink(0, 10, 12))
    pairs = [MarkedPair("I see it.", "Je le vois.", links), MarkedPair("Go.", "Va.")]
    write_marked(path, pairs)
    assert read_marked(path) == pairs
    assert read_pairs(path) == [pair.pair for pair in pairs]


def test_a_file_without_links_has_none(tmp_path):
    (tmp_path / "pairs.tsv").write_text("Go.\tVa.\n", encoding="utf-8")
    assert read_marked(tmp_path / "pairs.tsv") == [MarkedPair("Go.", "Va.", ())]


@pytest.mark.parametrize("column", ["more", "3", "3:1", "3:1-", "a:1-2", "3:1-2 4:END"])
def test_links_that_are_none_are_refused(tmp_path, column):
    (tmp_path / "marked.tsv").write_text(f"Go.\tVa.\nHi.\tSalut.\t{column}\n", encoding="utf-8")
    with pytest.raises(FileError) as error:
        read_marked(tmp_path / "marked.tsv")
    assert str(error.value) == (
        "marked.tsv must have links such as 7:1-2 or 7:end in its third column, got on line 2 "
        f"{column!r}: correct it, or remove the column."
    )


def test_a_missing_file_is_named():
    with pytest.raises(FileError) as error:
        read_sentences(Path("nowhere.txt"))
    assert str(error.value) == (
        "training needs the file nowhere.txt, but it is not there: check its name."
    )


def test_a_round_lasts_steps_or_minutes():
    with pytest.raises(ArgumentError) as error:
        Round("first", (), steps=5, minutes=1.0)
    assert str(error.value) == (
        "round 'first' must have either steps or minutes, got steps=5 and minutes=1.0: "
        "leave one of them at 0."
    )


def test_alterations_touch_the_share_they_are_given(toy_pairs):
    unstopped = alter(toy_pairs, Alterations(0.0, unstopped=0.25, lowered=0.0, titled=0.0), seed=1)
    changed = [new for old, new in zip(toy_pairs, unstopped, strict=True) if old != new]
    assert 0.15 < len(changed) / len(toy_pairs) < 0.35
    assert all(not side.endswith(".") for pair in changed for side in pair)
    joined = alter(toy_pairs, Alterations(1.0, 0.0, 0.0, 0.0), seed=1)
    assert all(source.count(".") == target.count(".") == 2 for source, target in joined)
    titled = alter(toy_pairs, Alterations(0.0, 0.0, 0.0, titled=1.0), seed=1)
    assert all(word[0].isupper() for source, _ in titled for word in source.split())


def test_punctuation_stays_apart_from_words(tokens):
    pieces = tokens.encode('Le chien ? "Oui !" (non), rouge.', out_type=str)
    marks = [piece for piece in pieces if any(mark in piece for mark in PUNCTUATION)]
    assert marks == ["\u2581?", '\u2581"', "\u2581!", '"', "\u2581(", ")", ",", "."]


def test_every_sentence_has_tokens_and_comes_back(tokens):
    for sentence in ("The big dog.", "\u732b \U0001f600 na\u00efve", "12 345"):
        assert tokens.decode(encode(tokens, [sentence]).tokens.tolist()) == normalise(sentence)


def test_split_pieces_spell_the_same(tokens, toy_pairs):
    before = encode(tokens, [source for source, _ in toy_pairs])
    after = split_pieces(before, find_splits(tokens), 0.5, np.random.default_rng(0))
    assert len(after.tokens) > len(before.tokens)
    for number in range(len(toy_pairs)):
        row = np.array([number])
        spelt = tokens.decode(after.take(row).tokens.tolist())
        assert spelt == toy_pairs[number][0]
        assert after.take(row).tokens[-1] == END


def test_a_share_of_zero_splits_nothing(tokens, toy_pairs):
    before = encode(tokens, [source for source, _ in toy_pairs])
    after = split_pieces(before, find_splits(tokens), 0.0, np.random.default_rng(0))
    np.testing.assert_array_equal(after.tokens, before.tokens)
    np.testing.assert_array_equal(after.starts, before.starts)


def test_long_pairs_are_left_out():
    pairs = without_links(ragged([[5], [6] * 9, [7]]), ragged([[5], [6], [7] * 9]))
    assert rows_within(pairs, 8).tolist() == [0]


def test_a_part_of_a_copy_is_another_part_in_every_epoch(tmp_path, tokens, toy_pairs):
    file = tmp_path / "pairs.tsv"
    write_pairs(file, toy_pairs)
    part = Round("only", (Corpus(file, copies=1.25),), steps=1)
    dataset = gather(part, tokens, Hyperparameters(alterations=NO_ALTERATIONS))
    epochs = [dataset.draw(np.random.default_rng(number)) for number in range(40)]
    count = len(toy_pairs)
    whole, rest = epochs[0].take(np.arange(count)), dataset.pairs.take(np.arange(count))
    np.testing.assert_array_equal(whole.source.tokens, rest.source.tokens)
    extra = [len(epoch) - count for epoch in epochs]
    # A mean of 40 binomial draws of a quarter lies within five of its standard deviations.
    assert abs(np.mean(extra) - count / 4) < 5 * (count * 3 / 16 / 40) ** 0.5
    assert len(set(extra)) > 1


def test_an_epoch_is_never_empty(tokens):
    pairs = without_links(ragged([[5], [6]]), ragged([[5], [6]]))
    dataset = Dataset.from_pairs(pairs, chance=1e-9)
    assert len(dataset.draw(np.random.default_rng(0))) == 2


@pytest.mark.parametrize(
    ("pair", "verdict"),
    [
        (("I am good.", "Je suis bon."), True),
        (("I am very good.", "I am very good."), False),
        (("Tom.", "Tom."), True),
        (("Go.", ""), False),
        (("Go.", "Va " * 12), False),
        (("It is a very long day.", "Le le le le jour est long."), False),
    ],
)
def test_made_pairs_that_are_no_translations_are_dropped(pair, verdict):
    assert sensible(pair) is verdict


def test_every_reference_counts():
    wanted = group([("Go.", "Va vite chez toi."), ("Go.", "Allez vite chez vous.")])
    assert scores(["Allez vite chez vous."], wanted) == {"bleu": 100.0, "chrf": 100.0}
