"""Training of the SentencePiece model that both languages share."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import sentencepiece

from regard.atomic_write import write_bytes
from regard.errors import FileError
from regard.transformer.config import END, PAD, START, UNKNOWN

# Put before a source to say where its pair came from; an ordinary sentence has no tag, so the
# finished model translates as in the pairs that were trusted most.
TAGS = ("<back>", "<formal>", "<reverse>")

# Kept apart from words; French sets some of them after a space, so each has both forms.
PUNCTUATION = tuple('.,?!;:"()')
SYMBOLS = (*TAGS, *PUNCTUATION, *(f"\u2581{mark}" for mark in PUNCTUATION), "...")


def learn_tokens(sentences: Iterable[str], vocabulary: int, path: Path) -> None:
    """Learn a unigram model of at most `vocabulary` pieces and write it to `path`.

    Bytes stand in for characters never seen, so every sentence has tokens. A million sentences
    are enough to learn from.
    """
    learnt = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=learnt,
            model_type="unigram",
            vocab_size=vocabulary,
            hard_vocab_limit=False,
            byte_fallback=True,
            split_digits=True,
            character_coverage=0.9999,
            user_defined_symbols=list(SYMBOLS),
            pad_id=PAD,
            unk_id=UNKNOWN,
            bos_id=START,
            eos_id=END,
            input_sentence_size=1_000_000,
            shuffle_input_sentence=True,
            max_sentence_length=2_000,
            num_threads=2,
            minloglevel=2,
        )
    except (RuntimeError, OSError):  # its text names a line of SentencePiece's own source
        raise FileError(
            "the tokens need more text to be learnt from, or shorter lines (at most 2,000 bytes): "
            "SentencePiece could not learn any from these files."
        ) from None
    write_bytes(path, learnt.getvalue())


def load_tokens(path: Path) -> sentencepiece.SentencePieceProcessor:
    """Read a SentencePiece model, from a file that `learn_tokens` wrote."""
    tokens = sentencepiece.SentencePieceProcessor()
    try:
        tokens.LoadFromSerializedProto(path.read_bytes())
    except (RuntimeError, OSError):
        raise FileError(
            f"{path} needs to be a SentencePiece model, but it cannot be read as one: remove it, "
            "and training makes it anew."
        ) from None
    return tokens
