"""Measure every head of a model and write heads.json into its folder.

    cd model && python -m judge.measure_heads [FOLDER] [--valid PAIRS] [--training FILE ...]

Usual shares are measured on the English of --valid (tab-separated, plain, gz or xz), text held out
of training; without it, on the contrast sentences. Pronouns and alignment are measured on contrast
pairs, without those that occur in a --training file. The heads are those that recipe.toml of the
folder taught (of the shipped model, model/recipe.toml). Without a taught head, heads are chosen on
the even pairs, and the figures of the choice are measured on the odd ones.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from judge.everyday import measure_everyday, measure_numbers
from judge.frames import ContrastPair, ContrastSentence, all_sentences, contrasts, forms
from judge.french_gender import gender, gender_shares
from judge.judge import Head, PronounRow, judge_model
from judge.name_heads import name_heads
from regard.atomic_write import check_writable, write_text
from regard.errors import RegardError
from regard.experiments.selection import PARTS
from regard.text.english import content_before
from regard.transformer.checkpoint import SHIPPED, load_model, model_folder
from regard.transformer.highlight import surest
from regard.transformer.model import Transformer
from regard.transformer.reading import Reading, read, read_all
from regard.transformer.roles import HEADS
from regard.typing import Array
from train.data import read_lines

SEED_SENTENCES = (
    "A dog ate the food because it was hungry",
    "A dog ate the food because it was delicious",
)
VALIDATION_SENTENCES = 400
CHUNK = 200  # readings in memory at a time: each takes megabytes
RECIPE = "recipe.toml"
SHIPPED_RECIPE = Path(__file__).parent.parent / RECIPE


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure a model as the arguments say; 1 where something is wrong with them."""
    options = _parser().parse_args(arguments)
    try:
        folder = SHIPPED if options.model is None else model_folder(options.model)
        measured = measure_model(
            folder, options.valid, options.training, options.pairs, options.cells
        )
    except RegardError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    shown = {x: measured[x] for x in ("pronouns", "alignment", "seed_sentences")}
    sys.stdout.write(json.dumps(shown, indent=1, ensure_ascii=False) + "\n")
    sys.stdout.write(f"written to {folder / HEADS}\n")
    return 0


def measure_model(
    folder: Path,
    valid: Path | None = None,
    training: Sequence[Path] = (),
    pairs: int = 1200,
    cells: int = 150,
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
    cells : int
        The number of the generator's own pairs, in each of its four cells.

    Returns
    -------
    dict
        The content of heads.json.
    """
    check_writable(folder / HEADS)
    model = load_model(folder)
    chosen = unseen(contrasts(pairs), (line for path in training for line in _english(path)))
    validation = _validation(valid, chosen, model)
    facts = read_facts(model, all_sentences(chosen))
    taught = {of: head for of in TAUGHT_PARTS if (head := taught_head(folder, of))}
    measured = measure(facts, taught, validation)
    measured["text"] = "held out of training" if valid else "the contrast sentences"
    if measured["pronouns"]["heads"]:
        head = measured["pronouns"]["heads"][0]
        number = (head["layer"], head["head"])
        rows = [_row(fact, number) for fact in facts]
        measured["judge"] = {
            "everyday": measure_everyday(model, number),
            **judge_model(model, chosen, number, rows, cells),
        }
    measured["numbers"] = measure_numbers(model)
    measured["seed_sentences"] = [_seed(model, sentence, measured) for sentence in SEED_SENTENCES]
    write_text(folder / HEADS, json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    return measured


TAUGHT_PARTS = {"anaphora": "encoder", "alignment": "cross"}


def taught_head(folder: Path, of: str = "anaphora") -> Head | None:
    """The head that the recipe of a model's folder taught on links of one kind, if any."""
    path = SHIPPED_RECIPE if folder == SHIPPED else folder / RECIPE
    recipe = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for head in recipe.get("taught", ()):
        if (head.get("part"), head.get("of")) == (TAUGHT_PARTS[of], of):
            return head["layer"], head["head"]
    return None


def read_facts(model: Transformer, items: Sequence[ContrastSentence]) -> list[ItemFacts]:
    """The facts of every sentence, read a few at a time."""
    facts = []
    for start in range(0, len(items), CHUNK):
        some = items[start : start + CHUNK]
        readings = read_all([item.sentence for item in some], model=model)
        facts += [item_facts(r, item) for r, item in zip(readings, some, strict=True)]
    return facts


def measure(
    facts: Sequence[ItemFacts], taught: Mapping[str, Head], validation: Sequence[Reading]
) -> dict[str, Any]:
    """The content of heads.json but for the judge's figures and the seed sentences."""
    weights = np.array([fact.noun_weights_lhn for fact in facts])
    heads = {part: _rows(usual_shares(validation, part)) for part in PARTS}
    name_heads(heads, validation)
    _add(heads["encoder"], **right_heads(weights))
    _add(heads["cross"], alignment=aligned(facts))
    return {
        "counting": "layers and heads count from 0",
        "sentences": len(validation),
        "heads": heads,
        "pronouns": _pronouns(facts, weights, taught.get("anaphora")),
        "alignment": _alignment(facts, taught.get("alignment")),
    }


@dataclass(frozen=True)
class NounRow:
    """A French noun's row of cross-attention, and the position of its English noun.

    weights_lhk is the row at the step where the noun is the decoder's input, earlier_lhk the one
    where it is predicted; (end) is left out.
    """

    english: int
    weights_lhk: Array
    earlier_lhk: Array


@dataclass(frozen=True)
class ItemFacts:
    """The rows of a reading that the judge needs; a reading itself takes megabytes."""

    item: ContrastSentence
    words: tuple[str, ...]
    query: int
    weights_lhk: Array
    nouns: tuple[NounRow, ...]
    translation: str

    @property
    def noun_weights_lhn(self) -> Array:
        """The weight of the pronoun on the right noun and on the wrong one."""
        keys = [self.words.index(self.item.right), self.words.index(self.item.wrong)]
        return self.weights_lhk[..., keys]


def item_facts(reading: Reading, item: ContrastSentence) -> ItemFacts:
    """The pronoun's row in every encoder head, and the rows of the French nouns."""
    words = tuple(word.lower() for word in reading.words)
    query = words.index(item.pronoun)
    weights_lhk = reading.weights(part="encoder")[:, :, query].copy()
    rows = []
    cross_lhqk = reading.weights(part="cross")[..., :-1]
    for noun in (item.right, item.wrong):
        french = forms(noun)
        steps = [i for i, word in enumerate(reading.target.words) if word.lower() in french]
        if steps:
            at = cross_lhqk[:, :, steps[0]].copy(), cross_lhqk[:, :, steps[0] - 1].copy()
            rows.append(NounRow(words.index(noun), *at))
    return ItemFacts(item, words, query, weights_lhk, tuple(rows), reading.translation)


def unseen(pairs: Iterable[ContrastPair], training: Iterable[str]) -> list[ContrastPair]:
    """The pairs of which no sentence is in the training text, punctuation and case aside."""
    candidates = {normal(item.sentence) for pair in pairs for item in pair.items}
    met = {text for text in map(normal, training) if text in candidates}
    return [x for x in pairs if not any(normal(item.sentence) in met for item in x.items)]


def normal(sentence: str) -> str:
    """A sentence in lower case without punctuation."""
    return " ".join(re.findall(r"\w+", sentence.casefold()))


def right_heads(weights_plhn: Array) -> dict[str, Array]:
    """Shares of each head, (l, h), for the pronoun and the nouns; p counts sentences, by pairs.

    pronouns: share of sentences with more weight on the right noun than on the wrong one
    pronoun_pairs: share of pairs right in both sentences
    pronoun_shift: share of pairs whose ending moves weight towards the noun it makes right
    pronoun_weight: mean weight on both nouns together
    """
    lead_plh = weights_plhn[..., 0] - weights_plhn[..., 1]
    right_plh = lead_plh > 0
    return {
        "pronouns": right_plh.mean(axis=0),
        "pronoun_pairs": (right_plh[::2] & right_plh[1::2]).mean(axis=0),
        "pronoun_shift": (lead_plh[::2] > -lead_plh[1::2]).mean(axis=0),
        "pronoun_weight": weights_plhn.sum(axis=-1).mean(axis=0),
    }


def rule(facts: Sequence[ItemFacts], heads: tuple[Head, ...]) -> Array:
    """The noun that the surest of these heads points to: 1 right, -1 wrong, 0 neither.

    This is the rule by which the command chooses its highlight.
    """
    verdicts = []
    for fact in facts:
        nouns = content_before(fact.words, fact.query)
        layer, head = heads[surest(fact.weights_lhk, nouns, heads)]
        word = fact.words[nouns[int(fact.weights_lhk[layer, head, nouns].argmax())]]
        verdicts.append((word == fact.item.right) - (word == fact.item.wrong))
    return np.array(verdicts)


def choose_heads(
    facts: Sequence[ItemFacts], shares: dict[str, Array], most: int = 6
) -> tuple[Head, ...]:
    """Of the heads through which a pronoun looks at nouns, those that make the rule right most.

    One is added at a time, as long as that helps. Where no head is right more often than chance
    may be (two standard deviations), there is nothing to choose by: the two that look at nouns
    most are taken.
    """
    weight_lh, right_lh = shares["pronoun_weight"], shares["pronouns"]
    on_nouns = [x for x in ranked(weight_lh) if float(weight_lh[x]) >= 0.25]
    chance = 0.5 + 1 / np.sqrt(len(facts))
    pool = [x for x in on_nouns if float(right_lh[x]) > chance]
    if not pool:
        return tuple(on_nouns[:2])
    chosen: tuple[Head, ...] = ()
    best = -1.0
    while pool and len(chosen) < most:
        scores = {x: (rule(facts, (*chosen, x)) == 1).mean() for x in pool}
        head = max(scores, key=lambda x: scores[x])
        if scores[head] <= best:
            break
        best, chosen = float(scores[head]), (*chosen, head)
        pool.remove(head)
    return chosen


def ranked(share_lh: Array) -> list[Head]:
    """All heads as (layer, head), the largest share first."""
    order = np.argsort(-share_lh, axis=None, kind="stable").tolist()
    return [divmod(i, share_lh.shape[1]) for i in order]


def aligned(facts: Sequence[ItemFacts], *, earlier: bool = False) -> Array:
    """right_lh: the share of French nouns that each head sends back to their English noun.

    Read at the step where the noun is the decoder's input, or ``earlier``, where it is predicted.
    """
    right = [
        (row.earlier_lhk if earlier else row.weights_lhk).argmax(axis=-1) == row.english
        for fact in facts
        for row in fact.nouns
    ]
    return np.mean(right, axis=0) if right else np.zeros(facts[0].weights_lhk.shape[:2])


def mean_aligned(facts: Sequence[ItemFacts], heads: Sequence[Head]) -> float:
    """The share of French nouns that the mean over these heads sends back to their English noun."""
    right = [
        np.mean([row.weights_lhk[head] for head in heads], axis=0).argmax() == row.english
        for fact in facts
        for row in fact.nouns
    ]
    return float(np.mean(right)) if right else 0.0


def usual_shares(readings: Sequence[Reading], part: str) -> dict[str, Array]:
    """The mean share of each head, (l, h), on every relative position that a word has."""
    sums: dict[str, Array] = {}
    counts: dict[str, int] = {}
    for reading in readings:
        weights_lhqk = reading.weights(part=part)
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


def _pronouns(facts: Sequence[ItemFacts], weights: Array, taught: Head | None) -> dict[str, Any]:
    even, odd = _halves(len(facts))
    chosen_on, measured_on = right_heads(weights[even]), right_heads(weights[odd])
    chosen = (taught,) if taught else choose_heads(_pick(facts, even), chosen_on)
    verdicts = rule(_pick(facts, odd), chosen) if chosen else np.zeros(len(odd))
    return {
        "pairs": len(facts) // 2,
        "text": "contrast pairs of model/judge/tables/frames.txt",
        "taught": taught is not None,
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
        "french_pronoun": gender_shares([gender(x.translation, x.item) for x in facts]),
    }  # fmt: skip


def _best(by: str, chosen_on: dict[str, Array], measured_on: dict[str, Array]) -> dict[str, Any]:
    """The head that is best by one measure on the even pairs, with its measures on the odd ones."""
    layer, head = ranked(chosen_on[by])[0]
    shares = {name: _round(share_lh[layer, head]) for name, share_lh in measured_on.items()}
    return {"layer": layer, "head": head, **shares}


def _alignment(facts: Sequence[ItemFacts], taught: Head | None) -> dict[str, Any]:
    """The taught head, else the heads whose mean aligns best on even pairs; figures of odd ones."""
    even, odd = (_pick(facts, half) for half in _halves(len(facts)))
    order = ranked(aligned(even))
    most = max(range(1, 9), key=lambda n: mean_aligned(even, order[:n]))
    chosen = (taught,) if taught else order[:most]
    return {
        "taught": taught is not None,
        "what": "share of French nouns sent back to their English noun, on pairs not chosen on",
        "heads": [{"layer": layer, "head": head} for layer, head in chosen],
        "right": _round(mean_aligned(odd, chosen)),
        "best_single_head": _round(aligned(odd).max()),
        "best_single_head_one_step_earlier": _round(aligned(odd, earlier=True).max()),
    }


def _row(fact: ItemFacts, head: Head) -> PronounRow:
    return PronounRow(fact.words, fact.weights_lhk[head], fact.translation)


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
    valid: Path | None, pairs: Sequence[ContrastPair], model: Transformer
) -> list[Reading]:
    if valid is not None:
        return validation_readings(valid, model)
    sentences = [item.sentence for item in all_sentences(pairs)]
    return read_all(sentences[:VALIDATION_SENTENCES], model=model)


def validation_readings(valid: Path, model: Transformer) -> list[Reading]:
    """The first sentences of at least five words of a file of pairs, read."""
    sentences = list(dict.fromkeys(x for x in _english(valid) if len(x.split()) >= 5))
    return read_all(sentences[:VALIDATION_SENTENCES], model=model)


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
        prog="python -m judge.measure_heads",
        description=(__doc__ or "").split("\n")[0],
    )
    parser.add_argument("model", nargs="?", type=Path, help="the shipped model unless given")
    parser.add_argument("--valid", type=Path, help="pairs held out of training")
    parser.add_argument("--training", type=Path, nargs="*", default=[], help="training text")
    parser.add_argument("--pairs", type=int, default=1200, help="contrast pairs")
    parser.add_argument("--cells", type=int, default=150, help="generated pairs in each cell")
    return parser


if __name__ == "__main__":
    sys.exit(main())
