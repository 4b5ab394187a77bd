"""Links between words from a file: CoNLL-U dependencies, or a table of word pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.errors import FileError
from regard.text.words import split_words

CONLLU_COLUMNS = 10  # of CoNLL-U
TEXT_PREFIX = "# text ="


class LabelledLink(NamedTuple):
    """Positions of two words of a sentence, from 0, and a label: a dependent and its head."""

    query: int
    key: int
    label: str


@dataclass(frozen=True)
class LinkedSentence:
    """A sentence as text and as words, with links between them."""

    text: str
    words: tuple[str, ...]
    links: tuple[LabelledLink, ...]


def read_links(path: str | Path) -> tuple[LinkedSentence, ...]:
    """Sentences of a file with their links; empty lines separate sentences.

    CoNLL-U has ten columns with tabs between. Its words are joined to the text, with a space after
    each except where SpaceAfter=No, and a word's link goes to its head; ranges (1-2), empty nodes
    (1.1) and the root are left out. Otherwise the file is a table: a line '# text = ...' and below
    it two words and an optional label, with tabs between. A word is written as in the text, as
    'the#2', or as a number from 0.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise FileError(f"{path} cannot be read as a file of links: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise FileError(f"{path} must be text in UTF-8.") from None
    sentences = tuple(_sentence(path, number, block) for number, block in _blocks(lines))
    if not any(sentence.links for sentence in sentences):
        raise FileError(
            f"{path} must contain links, got none: write CoNLL-U, or '# text = ...' and below it "
            "two words per line with a tab between them."
        )
    return sentences


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Groups of lines, each with the number of its first line, from 1."""
    block: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _sentence(path: str | Path, number: int, block: list[str]) -> LinkedSentence:
    rows = [(number + i, line.split("\t")) for i, line in enumerate(block) if line[0] != "#"]
    if rows and all(len(row) == CONLLU_COLUMNS for _, row in rows):
        return _dependencies(path, rows)
    text = next(
        (line.removeprefix(TEXT_PREFIX).strip() for line in block if line.startswith(TEXT_PREFIX)),
        "",
    )
    if not text:
        raise FileError(
            f"{path}, line {number}: a sentence must have ten columns as in CoNLL-U, or a line "
            f"'{TEXT_PREFIX} ...' before its links."
        )
    words = tuple(split_words(text))
    return LinkedSentence(text, words, tuple(_pair(path, words, at, row) for at, row in rows))


def _dependencies(path: str | Path, rows: Sequence[tuple[int, list[str]]]) -> LinkedSentence:
    numbered = [(at, row) for at, row in rows if row[0].isdecimal()]
    text, words, links = "", [], []
    for at, row in numbered:
        words.append(row[1])
        text += row[1] + ("" if "SpaceAfter=No" in row[9].split("|") else " ")
        if not row[6].isdecimal() or int(row[6]) > len(numbered) or int(row[0]) != len(words):
            raise FileError(
                f"{path}, line {at}: a word must have its number and the number of its head, got "
                f"{row[0]!r} and {row[6]!r}."
            )
        if int(row[6]):
            links.append(LabelledLink(len(words) - 1, int(row[6]) - 1, row[7]))
    return LinkedSentence(text.strip(), tuple(words), tuple(links))


def _pair(path: str | Path, words: Sequence[str], at: int, row: list[str]) -> LabelledLink:
    if len(row) not in (2, 3):
        raise FileError(
            f"{path}, line {at}: a link must be two words and an optional label with tabs between, "
            f"got {len(row)} columns."
        )
    positions = [_position(path, words, at, name.strip()) for name in row[:2]]
    return LabelledLink(positions[0], positions[1], row[2].strip() if len(row) == 3 else "link")


def _position(path: str | Path, words: Sequence[str], at: int, name: str) -> int:
    """Position of a word; a word that occurs several times must be numbered."""
    if name.isdecimal() and name not in words and int(name) < len(words):
        return int(name)
    plain, _, number = name.rpartition("#") if "#" in name.strip("#") else (name, "", "")
    same = [i for i, word in enumerate(words) if word.casefold() == plain.casefold()]
    chosen = int(number) if number.isdecimal() else 1
    if not 1 <= chosen <= len(same) or (not number and len(same) > 1):
        problem = (
            f"which occurs {len(same)} times: write {plain}#1" if same else "which is not in it"
        )
        raise FileError(
            f"{path}, line {at}: must name one word of the sentence, got {name!r}, {problem}."
        )
    return same[chosen - 1]
