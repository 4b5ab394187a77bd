"""Write the words that a model met in training into its folder, as words.txt.

    cd model && python -m judge.met_words data/everyday.en-fr.tsv.xz data/pivot... [--model FOLDER]

Counted is the English of these files (tab-separated, plain, gz or xz), and of generated sentences.
The notes of a reading name the words of a sentence that are not in the list.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from anaphora.generator import marked_pairs
from regard.atomic_write import write_text
from regard.errors import RegardError
from regard.text.met_words import MET_WORDS, TIMES, WORD
from regard.text.tokens import normalise
from regard.transformer.checkpoint import SHIPPED, model_folder
from train.data import read_lines

GENERATED = 100_000
SEED = 20261116
HEADER = f"# Words met at least {TIMES} times in the English training text, in lower case."


def met_words(sentences: Iterable[str]) -> list[str]:
    """The words of at least two letters that occur TIMES times or more, sorted.

    >>> met_words(["It's a Dog"] * 5 + ["a cat"])
    ['dog', "it's"]
    """
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(WORD.findall(normalise(sentence).lower()))
    return sorted(word for word, times in counts.items() if times >= TIMES and len(word) > 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Count the words of the files and write the list; 1 where something is wrong with them."""
    options = _parser().parse_args(arguments)
    try:
        folder = SHIPPED if options.model is None else model_folder(options.model)
        written = (line.split("\t")[0] for path in options.text for line in read_lines(path))
        made = (x.source for x in marked_pairs(options.generated, SEED))
        words = met_words(sentence for some in (written, made) for sentence in some)
        write_text(folder / MET_WORDS, "\n".join([HEADER, *words]) + "\n")
    except RegardError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"{len(words):,} words written to {folder / MET_WORDS}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m judge.met_words", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("text", nargs="+", type=Path, help="training text, English first")
    parser.add_argument("--model", type=Path, help="folder; the shipped model unless given")
    parser.add_argument("--generated", type=int, default=GENERATED, help="generated sentences")
    return parser


if __name__ == "__main__":
    sys.exit(main())
