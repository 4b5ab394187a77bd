"""Measure every head of a model and write heads.json beside it.

    python -m regard.transformer.measure_heads [FOLDER] [--valid PAIRS] [--training FILE ...]

Usual shares are measured on the English of --valid (tab-separated, plain, gz or xz), text held out
of training; without it, on the contrast sentences. Pronouns and alignment are measured on contrast
pairs, without those that occur in a --training file. Heads are chosen on the even pairs; the
figures of the choice are measured on the odd ones.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.atomic_write import check_writable, write_text
from regard.errors import RegardError
from regard.transformer.checkpoint import SHIPPED, load_model, model_folder
from regard.transformer.contrast import (
    ContrastPair,
    ContrastSentence,
    aligned,
    choose_heads,
    contrasts,
    gender,
    mean_aligned,
    pronoun_weights,
    ranked,
    right_heads,
    rule,
    sentences_of,
    unseen,
)
from regard.transformer.model import Transformer
from regard.transformer.reader import read, read_all
from regard.transformer.reading import Reading
from regard.transformer.roles import HEADS, PARTS
from regard.transformer.train.data import read_lines
from regard.typing import Array

SEED_SENTENCES = (
    "A dog ate the food because it was hungry",
    "A dog ate the food because it was delicious",
)
VALIDATION_SENTENCES = 400


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure a model as the arguments say; 1 where something is wrong with them."""
    options = _parser().parse_args(arguments)
    try:
        folder = SHIPPED if options.model is None else model_folder(options.model)
        measured = measure_model(folder, options.valid, options.training, options.pairs)
    except RegardError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    shown = {x: measured[x] for x in ("pronouns", "alignment", "seed_sentences")}
    sys.stdout.write(json.dumps(shown, indent=1, ensure_ascii=False) + "\n")
    sys.stdout.write(f"written to {folder / HEADS}\n")
    return 0


def measure_model(
    folder: Path, valid: Path | None = None, training: Sequence[Path] = (), pairs: int = 400
) -> dict[str, Any]:
    """Measure the heads of a model and write heads.json into its folder.

    Parameters
    ----------
    folder : Path
        The folder of the model.
    valid : Path, optional
        Pairs held out of training, on whose English the usual shares are measured.
    training : sequence of Path
        Training text; contrast pairs that occur in it are left out.
    pairs : int
        The number of contrast pairs.

    Returns
    -------
    dict
        The content of heads.json.
    """
    check_writable(folder / HEADS)
    model = load_model(folder)
    chosen = unseen(contrasts(pairs), (line for path in training for line in _english(path)))
    readings = read_all([item.sentence for item in sentences_of(chosen)], model=model)
    measured = measure(chosen, readings, _validation(valid, readings, model))
    measured["text"] = "held out of training" if valid else "the contrast sentences"
    measured["seed_sentences"] = [_seed(model, sentence, measured) for sentence in SEED_SENTENCES]
    write_text(folder / HEADS, json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    return measured


def measure(
    pairs: Sequence[ContrastPair], readings: Sequence[Reading], validation: Sequence[Reading]
) -> dict[str, Any]:
    """The content of heads.json but for the seed sentences."""
    items = sentences_of(pairs)
    weights = np.array([pronoun_weights(r, x) for r, x in zip(readings, items, strict=True)])
    heads = {part: _rows(usual_shares(validation, part)) for part in PARTS}
    _add(heads["encoder"], **right_heads(weights))
    _add(heads["cross"], alignment=aligned(readings, items).mean(axis=0))
    return {
        "counting": "layers and heads count from 0",
        "sentences": len(validation),
        "heads": heads,
        "pronouns": _pronouns(readings, items, weights),
        "alignment": _alignment(readings, items),
    }


def usual_shares(readings: Sequence[Reading], part: str) -> dict[str, Array]:
    """The mean share of each head, (l, h), on every relative position that a word has."""
    sums: dict[str, Array] = {}
    counts: dict[str, int] = {}
    for reading in readings:
        weights_lhqk = reading.weights(part)
        for name, (rows, columns) in _cells(weights_lhqk.shape, part).items():
            picked = weights_lhqk[:, :, rows, columns].sum(axis=-1)
            sums[name] = sums.get(name, 0) + picked
            counts[name] = counts.get(name, 0) + len(rows)
        entropy_lhq = -(weights_lhqk * np.log(np.maximum(weights_lhqk, 1e-30))).sum(axis=-1)
        sums["entropy"] = sums.get("entropy", 0) + entropy_lhq.sum(axis=-1)
        counts["entropy"] = counts.get("entropy", 0) + entropy_lhq.shape[-1]
    return {name: total / counts[name] for name, total in sums.items()}


def _cells(shape: tuple[int, ...], part: str) -> dict[str, tuple[Array, Array]]:
    """Rows and columns of every relative position; (end) is no query, it has no word of its own."""
    queries, keys = shape[-2:]
    rows = np.arange(queries - (part == "encoder"))
    cells = {"first": (rows, np.zeros_like(rows))}
    if part != "decoder":
        cells["end"] = (rows, np.full_like(rows, keys - 1))
    if part != "cross":
        cells |= {"same": (rows, rows), "previous": (rows[1:], rows[1:] - 1)}
    if part == "encoder":
        cells["next"] = (rows, rows + 1)
    return cells


def _pronouns(
    readings: Sequence[Reading], items: Sequence[ContrastSentence], weights: Array
) -> dict[str, Any]:
    even, odd = _halves(len(items))
    chosen_on, measured_on = right_heads(weights[even]), right_heads(weights[odd])
    chosen = choose_heads(_pick(readings, even), _pick(items, even), chosen_on)
    rest = _pick(readings, odd), _pick(items, odd)
    verdicts = rule(*rest, chosen) if chosen else np.zeros(len(odd))
    genders = Counter(gender(r.translation, x) for r, x in zip(readings, items, strict=True))
    return {
        "pairs": len(items) // 2,
        "heads": [{"layer": layer, "head": head} for layer, head in chosen],
        "rule": {
            "what": "the surest of these heads, on pairs they were not chosen on",
            "right": _round((verdicts == 1).mean()),
            "wrong": _round((verdicts == -1).mean()),
            "pairs_right": _round(((verdicts[::2] == 1) & (verdicts[1::2] == 1)).mean()),
        },
        "best_single_head": _best("pronouns", chosen_on, measured_on),
        "best_single_head_by_shift": _best("pronoun_shift", chosen_on, measured_on),
        "baselines": {
            "nearest noun": {"right": 0.5, "pairs_right": 0.0},
            "first noun": {"right": 0.5, "pairs_right": 0.0},
        },
        "french_pronoun": _gender_shares(genders),
    }  # fmt: skip


def _best(by: str, chosen_on: dict[str, Array], measured_on: dict[str, Array]) -> dict[str, Any]:
    """The head that is best by one measure on the even pairs, with its measures on the odd ones."""
    layer, head = ranked(chosen_on[by])[0]
    shares = {name: _round(share_lh[layer, head]) for name, share_lh in measured_on.items()}
    return {"layer": layer, "head": head, **shares}


def _gender_shares(verdicts: Counter[str]) -> dict[str, Any]:
    """Shares of right among nouns of different gender, and among all sentences with il or elle."""
    different = verdicts["right"] + verdicts["wrong"]
    alike = verdicts["alike, right"] + verdicts["alike, wrong"]
    right = verdicts["right"] + verdicts["alike, right"]
    return {
        "right": _round(right / max(1, different + alike)),
        "right_where_genders_differ": _round(verdicts["right"] / max(1, different)),
        "counts": dict(verdicts),
    }


def _alignment(readings: Sequence[Reading], items: Sequence[ContrastSentence]) -> dict[str, Any]:
    """The best heads whose mean aligns best, chosen on even pairs and measured on odd ones."""
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
    """The first document's sentence as the model reads it; no head was chosen on it."""
    reading = read(sentence, model=model)
    heads = [(x["layer"], x["head"]) for x in measured["pronouns"]["heads"]]
    links = {noun: reading.find("it", noun) for noun in ("dog", "food")}
    weights = {noun: {(x.layer, x.head): x.weight for x in links[noun]} for noun in links}
    return {
        "sentence": sentence,
        "translation": reading.translation,
        "it_in_the_chosen_heads": {
            noun: [_round(weights[noun][head]) for head in heads] for noun in links
        },
        "strongest_of_all_heads": {noun: str(links[noun][0]) for noun in links},
    }


def _rows(shares: dict[str, Array]) -> list[dict[str, Any]]:
    some = next(iter(shares.values()))
    return [
        {"layer": layer, "head": head}
        | {name: _round(share_lh[layer, head]) for name, share_lh in shares.items()}
        for layer, head in np.ndindex(some.shape)
    ]


def _add(rows: list[dict[str, Any]], **columns: Array) -> None:
    for row in rows:
        head = row["layer"], row["head"]
        row |= {name: _round(column[head]) for name, column in columns.items()}


def _validation(
    valid: Path | None, readings: Sequence[Reading], model: Transformer
) -> Sequence[Reading]:
    if valid is None:
        return readings
    sentences = dict.fromkeys(x for x in _english(valid) if len(x.split()) >= 5)
    return read_all(list(sentences)[:VALIDATION_SENTENCES], model=model)


def _halves(items: int) -> tuple[list[int], list[int]]:
    """The indices of the sentences of the even and of the odd pairs."""
    pair = np.arange(items) // 2
    return np.flatnonzero(pair % 2 == 0).tolist(), np.flatnonzero(pair % 2 == 1).tolist()


def _pick(values: Sequence[Any], indices: Sequence[int]) -> list[Any]:
    return [values[index] for index in indices]


def _english(path: Path) -> Iterator[str]:
    return (line.split("\t")[0].strip() for line in read_lines(path))


def _round(number: Any) -> float:
    return round(float(number), 4)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m regard.transformer.measure_heads",
        description=(__doc__ or "").split("\n")[0],
    )
    parser.add_argument("model", nargs="?", type=Path, help="the shipped model unless given")
    parser.add_argument("--valid", type=Path, help="pairs held out of training")
    parser.add_argument("--training", type=Path, nargs="*", default=[], help="training text")
    parser.add_argument("--pairs", type=int, default=400, help="contrast pairs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
