"""Compare models that differ in seed or recipe: scores, pronouns, strongest head of each role.

    python benchmarks/seeds.py NAME=MODEL_FOLDER ...

Each folder needs model.json with scores and heads.json (regard.transformer.measure_heads); the
shipped model always comes first. Writes results/seeds.json.
"""

import json
import sys
from pathlib import Path
from typing import Any

from machine import write

from regard.transformer.checkpoint import SHIPPED

ROLES = ("previous", "next", "same", "first", "end")


def main() -> None:
    """Compare the shipped model with the named ones."""
    named = dict(argument.split("=", 1) for argument in sys.argv[1:])
    models = {"shipped": SHIPPED} | {name: Path(folder) for name, folder in named.items()}
    found = {name: compare(folder) for name, folder in models.items()}
    write("seeds", {"models": found})
    print(json.dumps(found, indent=1))


def compare(folder: Path) -> dict[str, Any]:
    """The figures by which two trainings are compared."""
    scores = json.loads((folder / "model.json").read_text(encoding="utf-8"))["scores"]
    heads = json.loads((folder / "heads.json").read_text(encoding="utf-8"))
    pronouns = heads["pronouns"]
    encoder = heads["heads"]["encoder"]
    return {
        "scores": {name: score for name, score in scores.items() if name.startswith("int8")},
        "best head on pronouns": pronouns["best_single_head"]["pronouns"],
        "baseline, nearest noun": pronouns["baselines"]["nearest noun"]["right"],
        "French gender right where it differs": (
            pronouns["french_pronoun"]["right_where_genders_differ"]
        ),
        "most of each role": {role: strongest(encoder, role) for role in ROLES},
        "seed sentences": heads["seed_sentences"],
    }


def strongest(encoder: list[dict[str, Any]], role: str) -> dict[str, float]:
    """The head with the largest share for a role, and that share."""
    best = max(encoder, key=lambda head: head[role])
    return {"layer": best["layer"], "head": best["head"], "share": best[role]}


if __name__ == "__main__":
    main()
