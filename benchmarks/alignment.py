"""Alignment error rate of a model's cross-attention on hand-aligned sentences.

    python benchmarks/alignment.py FOLDER [MODEL_FOLDER] [--pairs FILE]

FOLDER has sentences.txt and gold.txt (model/judge/alignment_error.py says in what form).
The hand-aligned French is given to the model, not translated. With --pairs the statistical aligner,
whose links a head can be taught, is measured too, on the sentences among 100,000 pairs of that
file. Writes results/alignment.json.
"""

import argparse
import json
from pathlib import Path
from typing import Any
from unittest import mock

import machine

from judge.alignment_error import (
    AlignedSentence,
    AlignmentError,
    TokenLink,
    alignment_error,
    given_reading,
    read_aligned,
    reading_links,
    word_tokens,
)
from regard.text.tokens import normalise
from regard.text.words import split_words
from regard.transformer import alignment
from regard.transformer.checkpoint import load_model
from regard.transformer.reading import Reading
from train.aligner import align
from train.data import AT_END, MarkedPair, Pair, read_pairs

PAIRS = 100_000
OTHERS = {
    "min_weight": (0.0, 0.1, 0.25, 0.4, 0.5),
    "share_of_row": (0.3, 0.5, 0.7, 1.0),
    "share_of_column": (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
}


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="sentences.txt and gold.txt")
    parser.add_argument("model", nargs="?", type=Path, help="default: the shipped model")
    parser.add_argument("--pairs", type=Path, help="English-French pairs, e.g. of parliament")
    options = parser.parse_args()
    sentences = read_aligned(options.folder)
    model = load_model(options.model)
    readings = [given_reading(model, sentence) for sentence in sentences]
    figures = {
        "sentences": len(sentences),
        "heads": [{"layer": x, "head": y} for x, y in alignment.alignment_heads(readings[0])],
        "taught": bool(model.roles.measured.get("alignment", {}).get("taught", False)),
        "rule": {name: getattr(alignment, name.upper())
                 for name in ("min_weight", "share_of_row", "share_of_column")},
        **measured(readings, sentences),
        **{f"by_{name}": by(name, values, readings, sentences) for name, values in OTHERS.items()},
    }  # fmt: skip
    if options.pairs:
        figures["aligner"] = aligner_figures(sentences, read_pairs(options.pairs)[:PAIRS])
    print(json.dumps(figures, indent=1))
    print(f"written to {machine.write('alignment', figures)}")


def measured(readings: list[Reading], sentences: list[AlignedSentence]) -> dict[str, Any]:
    """Error rate, precision and recall over all sentences."""
    links = [reading_links(r, s) for r, s in zip(readings, sentences, strict=True)]
    return rounded(alignment_error(links, sentences))


def rounded(error: AlignmentError) -> dict[str, Any]:
    """Error rate, precision and recall, rounded for the report."""
    names = ("error_rate", "precision", "recall")
    return {name: round(getattr(error, name), 4) for name in names}


def aligner_figures(sentences: list[AlignedSentence], pairs: list[Pair]) -> dict[str, Any]:
    """The statistical aligner on the sentences, with the pairs as additional training text."""
    given = [(normalise(" ".join(x.source)), normalise(" ".join(x.target))) for x in sentences]
    marked = align([*given, *pairs])[: len(sentences)]
    links = [word_links(pair, s) for pair, s in zip(marked, sentences, strict=True)]
    return {"pairs": len(pairs), **rounded(alignment_error(links, sentences))}


def word_links(pair: MarkedPair, sentence: AlignedSentence) -> set[TokenLink]:
    """The aligner's links between words as links between the tokens of a sentence."""
    source = word_tokens(split_words(pair.source), sentence.source)
    target = word_tokens(split_words(pair.target, elisions=True), sentence.target)
    return {
        (i, j)
        for link in pair.links
        if link.first != AT_END
        for word in range(link.first, link.last + 1)
        for i in source[word]
        for j in target[link.query]
    }


def by(
    name: str, values: tuple[float, ...], readings: list[Reading], sentences: list[AlignedSentence]
) -> list[dict[str, Any]]:
    """The same figures for other values of one threshold of the rule; 0 disables it."""
    rows = []
    for value in values:
        with mock.patch.object(alignment, name.upper(), value):
            rows.append({name: value, **measured(readings, sentences)})
    return rows


if __name__ == "__main__":
    main()
