"""Training text: files of sentence pairs, their sub-words, and encoded pairs as flat arrays."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import sentencepiece

from regard.atomic_write import replacing, write_bytes
from regard.errors import FileError
from regard.text.tokens import normalise
from regard.transformer.config import END, PAD, START, UNKNOWN

T = TypeVar("T")
Pair = tuple[str, str]
AT_END = -1
NO_TARGET = "-"  # the target of a sentence that teaches a head alone


class WordLink(NamedTuple):
    """The words `first` to `last` that the row of the word `query` should rest on.

    Words are counted from 0, as `regard.text.words.split_words` splits the source, and the target
    with elisions. First and last are `AT_END` where the row should rest on the source's END.

    >>> str(WordLink(7, 1, 2)), str(WordLink(7, AT_END, AT_END))
    ('7:1-2', '7:end')
    """

    query: int
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.query}:end" if self.first == AT_END else f"{self.query}:{self[1]}-{self[2]}"


class MarkedPair(NamedTuple):
    """A pair with the links that a head is taught."""

    source: str
    target: str
    links: tuple[WordLink, ...] = ()

    @property
    def pair(self) -> Pair:
        return self.source, self.target


_OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


def read_lines(path: Path) -> Generator[str, None, None]:
    """The lines of a UTF-8 text file, decompressed if it ends in .gz or .xz, without its BOM."""
    if not path.is_file():
        problem = "is a folder: name its files" if path.is_dir() else "is not there: check its name"
        raise FileError(f"training needs the file {path}, but it {problem}.")
    try:
        with _OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8-sig") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} must be UTF-8 text, got a byte that is not ({error.reason}): convert the "
            "file, or give it the suffix .gz or .xz if it is compressed."
        ) from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        form = {".gz": "gzip", ".xz": "xz"}.get(path.suffix, "text")
        raise FileError(
            f"{path} must be a complete {form} file, but it cannot be read as one "
            f"({str(error).rstrip('.')}): make it again."
        ) from None


def read_pairs(path: Path) -> list[Pair]:
    """Pairs of `source<TAB>target` lines; columns after the second are ignored."""
    return list(_cached_pairs(path, file_stamp(path)))


def _parsed(path: Path, parse: Callable[[Path, int, str], T]) -> list[T]:
    """Every line that is not empty, parsed; the file is closed even if parsing fails."""
    with closing(read_lines(path)) as lines:
        return [parse(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def file_stamp(path: Path) -> tuple[int, int]:
    """Time of the last change and size of a file, zeros where there is none."""
    stat = path.stat() if path.is_file() else None
    return (stat.st_mtime_ns, stat.st_size) if stat else (0, 0)


# A training validates its files first and reads some of them in every round.
@lru_cache(maxsize=8)
def _cached_pairs(path: Path, stamp: tuple[int, int]) -> tuple[Pair, ...]:
    return tuple(_parsed(path, _pair))


def read_sentences(path: Path) -> list[str]:
    """Sentences, one a line, empty lines left out."""
    return [sentence for line in read_lines(path) if (sentence := normalise(line))]


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """Write what `read_pairs` reads, compressed if the path ends in .gz or .xz."""
    _write_lines(path, (f"{source}\t{target}\n" for source, target in pairs))


def read_marked(path: Path) -> list[MarkedPair]:
    """Marked pairs of `source<TAB>target<TAB>links` lines; no links where there is no column."""
    return _parsed(path, _marked_pair)


def read_links(path: Path) -> tuple[list[Pair], Ragged]:
    """What `read_marked` reads, with the links as rows of query, first and last word."""
    lines = [line.rstrip("\n").split("\t") for line in read_lines(path) if line.strip()]
    columns = [line[2] if len(line) > 2 else "" for line in lines]
    counts = np.array([column.count(":") for column in columns], dtype=np.int64)
    numbers = " ".join(columns).translate(_NO_LINK_MARKS).replace("end", f"{AT_END} {AT_END}")
    try:
        links = np.array(numbers.split(), dtype=np.int32).reshape(int(counts.sum()), 3)
    except ValueError:
        read_marked(path)  # names the line
        raise
    return read_pairs(path), Ragged(links, np.concatenate([[0], np.cumsum(counts)]))


def write_marked(path: Path, pairs: Iterable[MarkedPair]) -> None:
    """Write what `read_marked` reads, compressed if the path ends in .gz or .xz.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "marked.tsv"
    >>> write_marked(path, [MarkedPair("It rains.", "Il pleut.", (WordLink(0, AT_END, AT_END),))])
    >>> path.read_text(encoding="utf-8")
    'It rains.\\tIl pleut.\\t0:end\\n'
    """
    lines = (f"{pair[0]}\t{pair[1]}\t{' '.join(map(str, pair.links))}\n" for pair in pairs)
    _write_lines(path, lines)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        replacing(path) as draft,
        _OPENERS.get(path.suffix, open)(draft, "wt", encoding="utf-8") as file,
    ):
        file.writelines(lines)


def fingerprint(path: Path) -> dict[str, str]:
    """Name and SHA-256 of a file, to record which text made a model."""
    return {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def sources_and_targets(pairs: Iterable[Pair]) -> Iterator[str]:
    """Sources and targets, one after the other."""
    for source, target in pairs:
        yield source
        yield target


def _pair(path: Path, number: int, line: str) -> Pair:
    columns = line.rstrip("\n").split("\t")
    if len(columns) < 2 or not columns[0].strip() or not columns[1].strip():
        raise FileError(
            f"{path.name} must have source<TAB>target on every line, got on line {number} "
            f"{line.strip()[:60]!r}: add the missing side or remove the line."
        )
    return normalise(columns[0]), normalise(columns[1])


_NO_LINK_MARKS = str.maketrans(":-", "  ")
_LINK = re.compile(r"(\d+):(?:(\d+)-(\d+)|end)")


def _marked_pair(path: Path, number: int, line: str) -> MarkedPair:
    column = (*line.rstrip("\n").split("\t"), "", "")[2]
    matches = [_LINK.fullmatch(link) for link in column.split()]
    if None in matches:
        raise FileError(
            f"{path.name} must have links such as 7:1-2 or 7:end in its third column, got on line "
            f"{number} {column.strip()[:60]!r}: correct it, or remove the column."
        )
    links = (match.groups(default=AT_END) for match in matches if match)
    return MarkedPair(*_pair(path, number, line), tuple(WordLink(*map(int, x)) for x in links))


@dataclass(frozen=True)
class Ragged:
    """Sentences of different lengths: number i is tokens[starts[i] : starts[i + 1]]."""

    tokens: np.ndarray
    starts: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: np.ndarray) -> Ragged:
        lengths = self.lengths[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Ragged(self.tokens[indices], starts)

    def padded(self, fill: int) -> np.ndarray:
        """One row for each sentence, as long as the longest, `fill` after its end.

        >>> ragged([[5, 6, 7], [8]]).padded(0)
        array([[5, 6, 7],
               [8, 0, 0]])
        """
        lengths = self.lengths
        real_bt = np.arange(lengths.max(initial=0)) < lengths[:, None]
        padded_bt = np.full(real_bt.shape, fill, dtype=np.int64)
        padded_bt[real_bt] = self.tokens
        return padded_bt


@dataclass(frozen=True)
class EncodedPairs:
    """Encoded sources and targets, each ending in END, in the same order.

    The links of a pair are rows of four numbers: the part they teach (an index of
    `recipe.TAUGHT_PARTS`), query, first and last word.
    """

    source: Ragged
    target: Ragged
    links: Ragged

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> EncodedPairs:
        return EncodedPairs(self.source.take(rows), self.target.take(rows), self.links.take(rows))


def without_links(source: Ragged, target: Ragged) -> EncodedPairs:
    """Encoded pairs that teach no head."""
    return EncodedPairs(source, target, no_links(len(source)))


def no_links(pairs: int) -> Ragged:
    """Empty links for this many pairs."""
    return Ragged(np.zeros((0, 4), dtype=np.int32), np.zeros(pairs + 1, dtype=np.int64))


def ragged(rows: Sequence[Sequence[int]]) -> Ragged:
    """Concatenate lists of tokens."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    tokens = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=int(lengths.sum()))
    return Ragged(tokens, np.concatenate([[0], np.cumsum(lengths)]))


def encode(tokens: sentencepiece.SentencePieceProcessor, sentences: Sequence[str]) -> Ragged:
    """Tokens of sentences, END after each."""
    threads = os.cpu_count() or 1
    return ragged(tokens.encode(list(sentences), out_type=int, num_threads=threads, add_eos=True))


def encode_pairs(
    tokens: sentencepiece.SentencePieceProcessor, pairs: Sequence[Pair]
) -> EncodedPairs:
    """Encode both sides."""
    if not pairs:
        raise FileError("training needs at least one pair, but there is none: add lines.")
    sources, targets = zip(*pairs, strict=True)
    return without_links(encode(tokens, sources), encode(tokens, targets))


def no_targets(pairs: int) -> Ragged:
    """Targets without a translation: one label each, padding, which no loss counts."""
    return Ragged(np.full(pairs, PAD, dtype=np.int32), np.arange(pairs + 1))


def tagged(sentences: Ragged, token: int) -> Ragged:
    """Put one more token before each sentence.

    >>> tagged(ragged([[5, 6], [7]]), 9).tokens
    array([9, 5, 6, 9, 7], dtype=int32)
    """
    starts = sentences.starts + np.arange(len(sentences.starts))
    return Ragged(np.insert(sentences.tokens, sentences.starts[:-1], token), starts)


def concatenate(parts: Sequence[EncodedPairs]) -> EncodedPairs:
    """Several corpora as one."""
    sources, targets, links = zip(*((x.source, x.target, x.links) for x in parts), strict=True)
    return EncodedPairs(_concatenated(sources), _concatenated(targets), _concatenated(links))


def rows_within(pairs: EncodedPairs, longest: int) -> np.ndarray:
    """Numbers of the pairs of which both sides have at most `longest` tokens."""
    return np.flatnonzero(np.maximum(pairs.source.lengths, pairs.target.lengths) <= longest)


def _concatenated(parts: Sequence[Ragged]) -> Ragged:
    lengths = np.concatenate([part.lengths for part in parts])
    tokens = np.concatenate([part.tokens for part in parts])
    return Ragged(tokens, np.concatenate([[0], np.cumsum(lengths)]))


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
            f"{path} must be a SentencePiece model, but it cannot be read as one: remove it, "
            "and training makes it again."
        ) from None
    return tokens
