"""The contrast judge on one model: share of contrast sentences each measure gets right.

    python benchmarks/contrast.py [MODEL_FOLDER] [--pairs 400]

Nothing is written: `python -m regard.transformer.measure_heads` is what makes heads.json.
"""

import argparse
import json
from pathlib import Path

from regard.transformer.checkpoint import load_model
from regard.transformer.contrast import contrasts, sentences_of
from regard.transformer.measure_heads import measure
from regard.transformer.reader import read_all


def main() -> None:
    """Print the figures on pronouns and on alignment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", nargs="?", type=Path, help="the shipped model unless given")
    parser.add_argument("--pairs", type=int, default=400, help="contrast pairs")
    options = parser.parse_args()
    pairs = contrasts(options.pairs)
    sentences = [item.sentence for item in sentences_of(pairs)]
    readings = read_all(sentences, model=load_model(options.model))
    measured = measure(pairs, readings, readings)
    print(json.dumps({x: measured[x] for x in ("pronouns", "alignment")}, indent=1))


if __name__ == "__main__":
    main()
