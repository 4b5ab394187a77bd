"""TEXT -> TOKENS: learning the SentencePiece model that both languages share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import sentencepiece

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
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=file,
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


def load_tokens(path: Path) -> sentencepiece.SentencePieceProcessor:
    """Read a SentencePiece model, from a file that `learn_tokens` wrote."""
    return sentencepiece.SentencePieceProcessor(model_file=str(path))
