"""Choose how much weight on one word makes the pronoun head 'sure', on text kept out of training.

    cd model && python -m judge.sure_limit [FOLDER] [--valid PAIRS] [--head 5.6]

Two kinds of text decide: stories that are kept out of training, whose pronoun stands for one of two
nouns, and (of --valid) real sentences whose *it* stands for nothing. Neither is in a table of the
judge. For each limit: in how many stories the head is sure and how often it is then right, and in
how many of the sentences without an antecedent it is sure of a word.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anaphora.pronouns import linked_pairs
from anaphora.stories import stories, story_pairs
from judge.judge import Head
from regard.errors import RegardError
from regard.text.words import split_words
from regard.transformer.checkpoint import load_model
from regard.transformer.model import Transformer
from regard.transformer.reading import read_all
from train.data import AT_END, MarkedPair, read_pairs

LIMITS = (0.9, 0.99, 0.995, 0.999, 0.9999)
SEED, DRAWS = 48, 4
CHUNK = 200  # readings in memory at a time


@dataclass(frozen=True)
class Row:
    """A pronoun's row: its largest weight, and whether that is on a word, and on the right one."""

    pronoun: str
    largest: float
    on_word: bool
    right: bool


def kept_back_stories() -> list[MarkedPair]:
    """Sentences of the stories that training never saw, in contrasting pairs."""
    return story_pairs([x for x in stories() if x.is_kept_back], SEED, DRAWS)


def without_antecedent(valid: Path) -> list[MarkedPair]:
    """Sentences of a file held out of training whose *it* stands for nothing, by their French."""
    marked = linked_pairs(read_pairs(valid))
    found = [x for x in marked if len(x.links) == 1 and x.links[0].first == AT_END]
    return list({x.source: x for x in found}.values())


def rows(model: Transformer, marked: Sequence[MarkedPair], head: Head) -> Iterator[Row]:
    """The row of the first linked pronoun of every sentence."""
    layer, number = head
    for start in range(0, len(marked), CHUNK):
        some = marked[start : start + CHUNK]
        for reading, one in zip(
            read_all([x.source for x in some], model=model, beams=1), some, strict=True
        ):
            link = one.links[0]
            if len(split_words(one.source)) != len(reading.words) - 1:
                continue  # the words of the link are others
            weights_k = reading.weights(part="encoder")[layer, number, link.query]
            largest = int(weights_k.argmax())
            end = len(reading.words) - 1
            right = largest == end if link.first == AT_END else link.first <= largest <= link.last
            pronoun = reading.words[link.query].lower()
            yield Row(pronoun, float(weights_k[largest]), largest != end, right)


def table(stories: Sequence[Row], nothing: Sequence[Row]) -> str:
    """Figures for every limit, by pronoun."""
    lines = ["limit    pronoun  sure of      right   wrong of a word where it stands for nothing"]
    for limit in LIMITS:
        wrong = sum(x.largest >= limit and x.on_word for x in nothing)
        for pronoun in ("it", "they", "he", "she"):
            some = [x for x in stories if x.pronoun == pronoun and x.on_word]
            sure = [x for x in some if x.largest >= limit]
            right = f"{100 * np.mean([x.right for x in sure]):.1f} %" if sure else ""
            shown = f"{wrong} of {len(nothing)}" if pronoun == "it" else ""
            lines.append(
                f"{limit:<8g} {pronoun:8} {len(sure):4} of {len(some):4} {right:>7}   {shown}"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table for a model; 1 where something is wrong with the arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m judge.sure_limit", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("model", nargs="?", type=Path, help="the shipped model unless given")
    parser.add_argument("--valid", type=Path, help="pairs held out of training")
    parser.add_argument("--head", default="5.6", help="layer and head")
    options = parser.parse_args(arguments)
    try:
        model = load_model(options.model)
        layer, head = map(int, options.head.split("."))
        nothing = without_antecedent(options.valid) if options.valid else []
        told = list(rows(model, kept_back_stories(), (layer, head)))
        empty = list(rows(model, nothing, (layer, head)))
    except RegardError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(table(told, empty) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
