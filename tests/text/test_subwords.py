"""The reader of SentencePiece models gives the ids and texts of the sentencepiece package."""

import random
from importlib.resources import files
from pathlib import Path

import pytest

from regard.errors import FileError
from regard.text.subwords import BYTE, UnigramModel
from train.pieces import SHIPPED as PEER
from train.pieces import fields, piece_lines, write_pieces

SHIPPED = Path(str(files("regard.transformer") / "shipped" / "tokens.txt"))
HOSTILE = [
    *(" ", "  ", "\u2581", "\u00a0", "\u200b", "\u3000", "\t", "\n", "\x00", "\ufeff"),
    *("\u0301", "\ufb01", "\u00bd", "\u2122", "\u2167", "\uff71", "\uff9e", "\u00a8", "\u00e9"),
    *("e\u0301", "\ud55c", "\uac01", "\u1100\u1161", "\U0001f600", "a", "I", "l'"),
    *("<back>", "...", ". ", "<0x41>", "</s>"),
]
RANGES = ((0x20, 0x7F), (0x80, 0x2000), (0x2000, 0x3100), (0xF900, 0x10000), (0x10000, 0x110000))


@pytest.fixture(scope="module")
def model():
    return UnigramModel.from_file(SHIPPED)


@pytest.fixture(scope="module")
def peer():
    sentencepiece = pytest.importorskip("sentencepiece", reason="the peer is an extra (train)")
    return sentencepiece.SentencePieceProcessor(model_file=str(PEER))


def ordinary(rng: random.Random, model: UnigramModel) -> str:
    """Words of both languages as the vocabulary has them, joined at random."""
    pieces = rng.choices(model.pieces[280:], k=rng.randrange(1, 25))
    return "".join(pieces).replace("\u2581", " ")


def hostile(rng: random.Random) -> str:
    """Characters of every range, and pieces that normalisation treats in its own way."""
    if rng.random() < 0.5:
        return "".join(rng.choices(HOSTILE, k=rng.randrange(20)))
    return "".join(chr(rng.randrange(*rng.choice(RANGES))) for _ in range(rng.randrange(25)))


def test_ids_of_10_000_texts(model, peer):
    rng = random.Random(0)
    texts = [hostile(rng) if i % 2 else ordinary(rng, model) for i in range(10_000)]
    assert [text for text in texts if model.encode(text) != peer.EncodeAsIds(text)] == []


def test_texts_of_random_ids(model, peer):
    rng = random.Random(1)
    every_byte = [token for token, kind in enumerate(model.kinds) if kind == BYTE]
    lists = [
        rng.choices(range(len(model.pieces)), k=6) + rng.choices(every_byte, k=rng.randrange(6))
        for _ in range(3_000)
    ]
    for ids in lists:
        rng.shuffle(ids)
    assert [ids for ids in lists if model.decode(ids) != peer.DecodeIds(ids)] == []


def test_what_is_encoded_can_be_decoded(model):
    text = "L'ours n'a pas mangé \U0001f600 aujourd'hui."
    assert model.decode(model.encode(text)) == text


def test_a_text_without_words_has_no_ids(model):
    assert model.encode("") == model.encode(" \t ") == []


def test_the_shipped_lines_are_those_of_the_sentencepiece_model():
    assert SHIPPED.read_text(encoding="utf-8") == piece_lines(PEER.read_bytes())


LINES = SHIPPED.read_text(encoding="utf-8").split("\n")
BROKEN = {
    "empty": "",
    "text": "not a model",
    "cut": "\n".join(LINES)[:-1000],
    "no table": "\n".join(LINES[:-2]) + "\n",
    "no score": "\n".join(["a", *LINES]),
    "twice": "\n".join([LINES[40], *LINES]),
    "no bytes": "\n".join(x for x in LINES if not x.endswith("byte")),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_other_lines_are_refused(tmp_path, content):
    path = tmp_path / "tokens.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FileError, match="must list the pieces of a unigram model"):
        UnigramModel.from_file(path)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x0a\xff\xff", b"\x0a\x03\x0a\x01a"])
def test_another_file_has_no_lines(tmp_path, content):
    path = tmp_path / "tokens.model"
    path.write_bytes(content)
    with pytest.raises(FileError, match="must be a SentencePiece unigram model"):
        write_pieces(path, tmp_path / "tokens.txt")
    assert not (tmp_path / "tokens.txt").exists()


def test_a_model_of_another_kind_has_no_lines():
    data = PEER.read_bytes()
    trainer = next(value for number, value in fields(data) if number == 2)
    with pytest.raises(ValueError, match="not a unigram model"):
        piece_lines(data.replace(trainer, trainer.replace(b"\x18\x01", b"\x18\x02", 1)))
