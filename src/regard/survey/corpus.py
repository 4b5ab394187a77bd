"""FILES -> DOCUMENTS, each with a number that stays its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from regard.survey.readers import count, read
from regard.survey.sources import Source, named_errors


class Document(NamedTuple):
    """One document: its number in the corpus, where it stands, its text, or why it has none."""

    number: int
    source: str
    place: int
    text: str
    fault: str = ""


def count_documents(sources: Iterable[Source]) -> int:
    """How many documents there are, without looking at them."""
    total = 0
    for source in sources:
        with named_errors(source):
            total += count(source)
    return total


def documents(sources: Iterable[Source]) -> Iterator[Document]:
    """Every document of every file, numbered from 0."""
    number = 0
    for source in sources:
        with named_errors(source):
            for place, (text, fault) in enumerate(read(source), 1):
                yield Document(number, source.path, place, text, fault)
                number += 1
