"""Speed of experiments on a reading of ten words: effects of all heads, a second run, a score.

    python benchmarks/bench_experiments.py

The peers take turns, on all cores; the best round counts. Writes results/experiments.json.
"""

from __future__ import annotations

import sys

from machine import best_of, write

from regard.transformer.reader import read

SENTENCE = "A dog ate the food because it was hungry again"  # ten words
LIMITS = {"effects_seconds": 3.0}


def main() -> None:
    """Measure, compare with the limit, write the results."""
    reading = read(SENTENCE)
    pronoun = "il" if "il" in reading.translation_words else "elle"
    other = "elle" if pronoun == "il" else "il"
    best = best_of(
        {
            "effects_seconds": lambda: reading.effects(pronoun, other),
            "redirect_seconds": lambda: reading.redirect("it", "food", 3, 6).after,
            "because_seconds": lambda: reading.because("it", "dog", 3, 6),
        },
        seconds=1.0,
        least=3,
    )
    figures = {name: round(seconds, 3) for name, seconds in best.items()}
    met = {name: figures[name] <= limit for name, limit in LIMITS.items()}
    path = write("experiments", {"figures": figures, "limits": LIMITS, "met": met})
    sys.stdout.write(path.read_text())


if __name__ == "__main__":
    main()
