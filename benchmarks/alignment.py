"""Alignment error rate of a model's reading of alignment, on hand-aligned sentences.

    python benchmarks/alignment.py FOLDER [MODEL_FOLDER]

FOLDER has sentences.txt and gold.txt (regard.transformer.alignment_error says in what form). The
hand-aligned French is given to the model, not translated. Writes results/alignment.json.
"""

import argparse
import json
from pathlib import Path
from typing import Any
from unittest import mock

import machine

from regard.transformer import alignment
from regard.transformer.alignment_error import (
    AlignedSentence,
    alignment_error,
    given_reading,
    read_aligned,
    reading_links,
)
from regard.transformer.checkpoint import load_model
from regard.transformer.reading import Reading

SHARES_OF_COLUMN = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def main() -> None:
    """Measure, print and write the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="sentences.txt and gold.txt")
    parser.add_argument("model", nargs="?", type=Path, help="the shipped model unless given")
    options = parser.parse_args()
    sentences = read_aligned(options.folder)
    model = load_model(options.model)
    readings = [given_reading(model, sentence) for sentence in sentences]
    figures = {
        "sentences": len(sentences),
        "heads": [{"layer": x, "head": y} for x, y in alignment.alignment_heads(readings[0])],
        "taught": bool(model.roles.measured.get("alignment", {}).get("taught", False)),
        "rule": {name: getattr(alignment, name.upper())
                 for name in ("least_weight", "share_of_row", "share_of_column")},
        **measured(readings, sentences),
        "by_share_of_column": by_share_of_column(readings, sentences),
    }  # fmt: skip
    print(json.dumps(figures, indent=1))
    print(f"written to {machine.write('alignment', figures)}")


def measured(readings: list[Reading], sentences: list[AlignedSentence]) -> dict[str, Any]:
    """Error rate, precision and recall over all sentences."""
    links = [reading_links(r, s) for r, s in zip(readings, sentences, strict=True)]
    error = alignment_error(links, sentences)
    names = ("error_rate", "precision", "recall")
    return {name: round(getattr(error, name), 4) for name in names}


def by_share_of_column(
    readings: list[Reading], sentences: list[AlignedSentence]
) -> list[dict[str, Any]]:
    """The same figures for other choices of the rule's third number; 0 leaves it out."""
    rows = []
    for share in SHARES_OF_COLUMN:
        with mock.patch.object(alignment, "SHARE_OF_COLUMN", share):
            rows.append({"share_of_column": share, **measured(readings, sentences)})
    return rows


if __name__ == "__main__":
    main()
