"""Judge one head on contrast pairs: does it find the antecedent, and is that used?

    python benchmarks/contrast.py [MODEL_FOLDER] [--head 3.6] [--pairs 1200]

Prints the figures and writes results/contrast.json. `python -m regard.transformer.measure_heads`
writes the same figures, and those of all heads, to heads.json.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from machine import write

from regard.transformer.checkpoint import SHIPPED, load_model, model_folder
from regard.transformer.contrast_frames import contrasts
from regard.transformer.contrast_judge import judge_model
from regard.transformer.measure_heads import taught_head

SHOWN = 40  # columns of a frame's name


def main() -> None:
    """Judge one head, print and write the figures."""
    options = _options()
    folder = SHIPPED if options.model is None else model_folder(options.model)
    model = load_model(folder)
    head = options.head or taught_head(folder) or model.roles.pronoun_heads[0]
    start = time.perf_counter()
    figures = judge_model(model, contrasts(options.pairs), head)
    figures["seconds"] = round(time.perf_counter() - start, 1)
    _print(figures)
    if not options.print_only:
        write("contrast", figures)


def _print(figures: dict[str, Any]) -> None:
    print(f"layer {figures['head']['layer']}, head {figures['head']['head']}")
    for name in ("contrast_pairs", "by_hand"):
        _print_pairs(name, figures[name])
    for cell, shares in figures["generator_cells"].items():
        if cell != "text":
            print(f"cell '{cell}': right {shares['right']}, pairs {shares['pairs_right']}, "
                  f"French {shares['french_pronoun']['right_where_genders_differ']}")  # fmt: skip
    for name, value in figures["no_antecedent"].items():
        print(f"no antecedent, {name}: {value}")
    for row in figures["by_hand"]["sentences"]:
        if not row["right"]:
            print(f"by hand, wrong: {row['sentence']} {row['weights']} | {row['translation']}")
    print(f"{figures['seconds']} s")


def _print_pairs(name: str, figures: dict[str, Any]) -> None:
    print(f"\n{name}: {figures['text']}")
    for key in ("pairs", "right", "pairs_right", "largest_of_the_row", "mean_weight"):
        print(f"  {key}: {figures[key]}")
    print(f"  French pronoun: {figures['french_pronoun']}")
    for key, value in figures["changed"].items():
        print(f"  {key}: {value}")
    for frame, shares in figures.get("frames", {}).items():
        numbers = [shares[x] for x in ("right", "pairs_right", "gender_right_where_they_differ")]
        cells = ("       -" if x is None else f"{x:8.3f}" for x in numbers)
        print(f"    {frame:{SHOWN}}" + "".join(cells))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", nargs="?", type=Path, help="default: the shipped model")
    parser.add_argument("--head", type=_head, help="LAYER.HEAD; default: the taught head")
    parser.add_argument("--pairs", type=int, default=1200, help="number of contrast pairs")
    parser.add_argument("--print-only", action="store_true", help="write no file")
    return parser.parse_args()


def _head(text: str) -> tuple[int, int]:
    layer, head = text.split(".")
    return int(layer), int(head)


if __name__ == "__main__":
    main()
