"""Measure every head of a model and write heads.json beside it.

    python benchmarks/heads.py [MODEL FOLDER] [--valid PAIRS] [--training FILE ...] [--pairs 400]

Usual places are measured on the English of --valid (tab-separated, plain, gz or xz), text that was
held out of training; without it, on the contrast sentences. Pronouns and alignment are measured on
contrast pairs, of which those found in a --training file are left out. Heads are chosen on the
even pairs; what the choice is worth is measured on the odd ones.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from contrast import Contrast, Item, contrasts, unseen
from head_measures import (
    aligned,
    choose_heads,
    gender,
    items_of,
    mean_aligned,
    pronoun_weights,
    ranked,
    right_heads,
    rule,
    usual_shares,
)

from regard.transformer.checkpoint import SHIPPED, load_model
from regard.transformer.model import Transformer
from regard.transformer.reader import read, read_all
from regard.transformer.reading import Reading
from regard.transformer.roles import HEADS, PARTS

SEED_SENTENCES = (
    "A dog ate the food because it was hungry",
    "A dog ate the food because it was delicious",
)
HELD_OUT = 400


def main() -> None:
    """Measure, write, and say what was found."""
    options = _options()
    model = load_model(options.model)
    training = (line for path in options.training for line in _english(path))
    pairs = unseen(contrasts(options.pairs), training)
    _say(f"{len(pairs)} contrast pairs, none of them in {len(options.training)} training files")
    readings = read_all([item.sentence for item in items_of(pairs)], model=model)
    held_out = _held_out(options.valid, readings, model)
    measured = measure(pairs, readings, held_out)
    measured["text"] = "held out of training" if options.valid else "the contrast sentences"
    measured["seed_sentences"] = [_seed(model, sentence, measured) for sentence in SEED_SENTENCES]
    path = (options.model or SHIPPED) / HEADS
    path.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _say(json.dumps({x: measured[x] for x in ("pronouns", "alignment", "seed_sentences")}, indent=1,
                    ensure_ascii=False))  # fmt: skip
    _say(f"written to {path}")


def measure(
    pairs: Sequence[Contrast], readings: Sequence[Reading], held_out: Sequence[Reading]
) -> dict[str, Any]:
    """Everything heads.json holds but the seed sentences."""
    items = items_of(pairs)
    weights = np.array([pronoun_weights(r, x) for r, x in zip(readings, items, strict=True)])
    heads = {part: _rows(usual_shares(held_out, part)) for part in PARTS}
    _add(heads["encoder"], **right_heads(weights))
    _add(heads["cross"], alignment=aligned(readings, items).mean(axis=0))
    return {
        "counting": "layers and heads count from 0",
        "sentences": len(held_out),
        "heads": heads,
        "pronouns": _pronouns(readings, items, weights),
        "alignment": _alignment(readings, items),
    }


def _pronouns(
    readings: Sequence[Reading], items: Sequence[Item], weights: np.ndarray
) -> dict[str, Any]:
    even, odd = _halves(len(items))
    chosen_on, told_on = right_heads(weights[even]), right_heads(weights[odd])
    chosen = choose_heads(_pick(readings, even), _pick(items, even), chosen_on)
    rest = _pick(readings, odd), _pick(items, odd)
    found = rule(*rest, chosen) if chosen else np.zeros(len(odd))
    said = Counter(gender(r.translation, x) for r, x in zip(readings, items, strict=True))
    return {
        "pairs": len(items) // 2,
        "heads": [{"layer": layer, "head": head} for layer, head in chosen],
        "rule": {
            "what": "the surest of these heads, on pairs they were not chosen on",
            "right": _round((found == 1).mean()),
            "wrong": _round((found == -1).mean()),
            "pairs_right": _round(((found[::2] == 1) & (found[1::2] == 1)).mean()),
        },
        "best_single_head": _best("pronouns", chosen_on, told_on),
        "best_single_head_by_shift": _best("pronoun_shift", chosen_on, told_on),
        "baselines": {
            "nearest noun": {"right": 0.5, "pairs_right": 0.0},
            "first noun": {"right": 0.5, "pairs_right": 0.0},
        },
        "french_pronoun": _gender_shares(said),
    }  # fmt: skip


def _best(
    by: str, chosen_on: dict[str, np.ndarray], told_on: dict[str, np.ndarray]
) -> dict[str, Any]:
    """The head that is best by one measure on the even pairs, with its measures on the odd ones."""
    layer, head = ranked(chosen_on[by])[0]
    told = {name: _round(share_lh[layer, head]) for name, share_lh in told_on.items()}
    return {"layer": layer, "head": head, **told}


def _gender_shares(said: Counter[str]) -> dict[str, Any]:
    """Shares of right among nouns of different gender, and among all sentences with il or elle."""
    different = said["right"] + said["wrong"]
    alike = said["alike, right"] + said["alike, wrong"]
    right = said["right"] + said["alike, right"]
    return {
        "right": _round(right / max(1, different + alike)),
        "right_where_genders_differ": _round(said["right"] / max(1, different)),
        "counts": dict(said),
    }


def _alignment(readings: Sequence[Reading], items: Sequence[Item]) -> dict[str, Any]:
    """The number of best heads whose mean aligns best, chosen on even pairs, told on odd ones."""
    even, odd = _halves(len(items))
    share_lh = aligned(_pick(readings, even), _pick(items, even)).mean(axis=0)
    order = ranked(share_lh)
    half = _pick(readings, even), _pick(items, even)
    most = max(range(1, 9), key=lambda n: mean_aligned(*half, order[:n]))
    chosen, rest = order[:most], (_pick(readings, odd), _pick(items, odd))
    return {
        "what": "share of French nouns sent back to their English noun, on pairs not chosen on",
        "heads": [{"layer": layer, "head": head} for layer, head in chosen],
        "right": _round(mean_aligned(*rest, chosen)),
        "best_single_head": _round(aligned(*rest).mean(axis=0).max()),
        "best_single_head_one_step_earlier": _round(aligned(*rest, shift=-1).mean(axis=0).max()),
    }


def _seed(model: Transformer, sentence: str, measured: dict[str, Any]) -> dict[str, Any]:
    """The first document's sentence, shown as it comes out; no choice was made on it."""
    reading = read(sentence, model=model)
    heads = [(x["layer"], x["head"]) for x in measured["pronouns"]["heads"]]
    on = {noun: [_round(look.weight) for head in heads for look in reading.find("it", noun)
                 if (look.layer, look.head) == head] for noun in ("dog", "food")}  # fmt: skip
    best = {noun: reading.find("it", noun)[0] for noun in on}
    return {
        "sentence": sentence,
        "translation": reading.translation,
        "it_in_the_chosen_heads": on,
        "strongest_of_all_heads": {noun: str(look) for noun, look in best.items()},
    }


def _rows(shares: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    some = next(iter(shares.values()))
    return [
        {"layer": layer, "head": head}
        | {name: _round(share_lh[layer, head]) for name, share_lh in shares.items()}
        for layer, head in np.ndindex(some.shape)
    ]


def _add(rows: list[dict[str, Any]], **columns: np.ndarray) -> None:
    for row in rows:
        place = row["layer"], row["head"]
        row |= {name: _round(column[place]) for name, column in columns.items()}


def _held_out(
    valid: Path | None, readings: Sequence[Reading], model: Transformer
) -> Sequence[Reading]:
    if valid is None:
        return readings
    sentences = dict.fromkeys(x for x in _english(valid) if len(x.split()) >= 5)
    return read_all(list(sentences)[:HELD_OUT], model=model)


def _halves(items: int) -> tuple[list[int], list[int]]:
    """The places of the even and of the odd pairs."""
    pair = np.arange(items) // 2
    return np.flatnonzero(pair % 2 == 0).tolist(), np.flatnonzero(pair % 2 == 1).tolist()


def _pick(things: Sequence[Any], places: Sequence[int]) -> list[Any]:
    return [things[place] for place in places]


def _english(path: Path) -> Iterator[str]:
    openers: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open}
    with openers.get(path.suffix, open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.split("\t")[0].strip()


def _round(number: Any) -> float:
    return round(float(number), 4)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", nargs="?", type=Path, help="the shipped model unless given")
    parser.add_argument("--valid", type=Path, help="pairs held out of training")
    parser.add_argument("--training", type=Path, nargs="*", default=[], help="training text")
    parser.add_argument("--pairs", type=int, default=400, help="how many contrast pairs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
