"""What a learner's own sentence can expect: pairs in everyday words, and numbers copied.

    cd model && python -m judge.everyday [FOLDER] [--json] [--head 5.6]

The pairs and the sentences with numbers (tables/everyday.txt, tables/numbers.txt) were set aside
before they were first measured on. None is in training; docs/model-card.md says which choices were
made with their figures in sight.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from judge.frames import ContrastPair, ContrastSentence, all_sentences
from judge.judge import Head, PronounRow, pronoun_rows
from regard.errors import RegardError
from regard.text.numerals import changed_numerals
from regard.transformer.accuracy import SURE
from regard.transformer.checkpoint import load_model
from regard.transformer.model import Transformer
from regard.transformer.search import DEFAULT_SEARCH
from regard.transformer.translation import translate
from word_tables import read_table

_TABLES = Path(__file__).parent / "tables"
Z = 1.959964  # standard deviations of a 95 % range


def everyday_pairs() -> list[ContrastPair]:
    """The pairs, each sentence with its pronoun and its kind as the name of its frame."""
    pairs = []
    for pronoun, kind, first, second, of_first, of_second, _ in read_table(
        _TABLES / "everyday.txt"
    )["pairs"]:
        nouns = first.lower(), second.lower()
        sentence = partial(ContrastSentence, pronoun=pronoun, frame=kind)
        pairs.append(
            ContrastPair(sentence(of_first, *nouns), sentence(of_second, *reversed(nouns)))
        )
    return pairs


def number_sentences() -> list[str]:
    """The sentences with numbers."""
    return [sentence for (sentence,) in read_table(_TABLES / "numbers.txt")["sentences"]]


def measure_everyday(model: Transformer, head: Head) -> dict[str, Any]:
    """The figures of one head on the pairs: all, by pronoun, by kind, and by how sure it is."""
    pairs = everyday_pairs()
    verdicts = _verdicts(pairs, pronoun_rows(model, all_sentences(pairs), head, beams=1))
    by_pronoun = _grouped(verdicts, lambda x: x.pronoun)
    return {
        "text": f"{len(pairs)} pairs in everyday words, model/judge/tables/everyday.txt, written "
        "by people who had not read the generator and set aside before they were measured on",
        "head": {"layer": head[0], "head": head[1]},
        **shares(verdicts),
        "pronouns": {name: shares(some) for name, some in by_pronoun.items()},
        "he and she": shares([x for x in verdicts if x.pronoun in ("he", "she")]),
        "kinds": {
            name: shares(some)
            for name, some in _grouped(verdicts, lambda x: f"{x.pronoun}, {x.kind}").items()
        },
        "certainty": {
            "sure_from": SURE,
            **_certainty(verdicts),
            "pronouns": {name: _certainty(some) for name, some in by_pronoun.items()},
        },
    }


def measure_numbers(model: Transformer) -> dict[str, Any]:
    """The share of sentences whose numbers are all in the translation, and no others.

    Once for the translations as they are shown, and once for the likeliest ones.
    """
    sentences = number_sentences()
    translations = translate(model, sentences, DEFAULT_SEARCH)

    def copied(texts: Iterable[str]) -> float:
        pairs = zip(sentences, texts, strict=True)
        return float(np.mean([changed_numerals(*pair) == ((), ()) for pair in pairs]))

    share = copied(x.text for x in translations)
    return {
        "text": f"{len(sentences)} sentences with numbers, model/judge/tables/numbers.txt",
        "sentences": len(sentences),
        "copied": _round(share),
        "range": wilson(share, len(sentences)),
        "copied_by_the_likeliest": _round(copied(x.instead_of or x.text for x in translations)),
    }


@dataclass(frozen=True)
class _Verdict:
    """One sentence: whether the head is right, and how sure it is."""

    pair: int
    pronoun: str
    kind: str
    right: bool
    largest_right: bool
    largest: float


def _verdicts(pairs: Sequence[ContrastPair], rows: Sequence[PronounRow]) -> list[_Verdict]:
    return [
        _Verdict(
            number // 2,
            item.pronoun,
            item.frame,
            row.weight(item.right) > row.weight(item.wrong),
            row.words[int(row.weights_k.argmax())] == item.right,
            float(row.weights_k.max()),
        )
        for number, (item, row) in enumerate(zip(all_sentences(pairs), rows, strict=True))
    ]


def shares(verdicts: Sequence[_Verdict]) -> dict[str, Any]:
    """Shares of right sentences and of pairs right in both, each with its 95 % range."""
    if not verdicts:
        return {"sentences": 0}
    right_s = np.array([x.right for x in verdicts], float)
    groups = list(_grouped(verdicts, lambda x: x.pair).values())
    whole = [all(x.right for x in pair) for pair in groups if len(pair) == 2]
    right = float(right_s.mean())
    figures = {
        "sentences": len(verdicts),
        "right": _round(right),
        "range": wilson(right, len(verdicts) / _design_effect(groups, right)),
        "largest_of_the_row": _round(np.mean([x.largest_right for x in verdicts])),
    }
    if len(whole) == len(groups):
        share = float(np.mean(whole))
        both = {"pairs_right": _round(share), "pairs_range": wilson(share, len(whole))}
        figures = {"pairs": len(whole), **figures, **both}
    return figures


def wilson(share: float, number: float) -> list[float]:
    """Wilson's 95 % range of a share among this many independent cases.

    >>> wilson(0.75, 100)
    [0.657, 0.8245]
    """
    centre = share + Z**2 / (2 * number)
    width = Z * np.sqrt(share * (1 - share) / number + Z**2 / (4 * number**2))
    scale = 1 + Z**2 / number
    return [_round(max(0.0, (centre - width) / scale)), _round(min(1.0, (centre + width) / scale))]


def _design_effect(pairs: Iterable[Sequence[_Verdict]], right: float) -> float:
    """How much the variance of the share grows because two sentences make a pair: from 1 to 2.

    Where one sentence of a pair tends to be wrong because the other is right, it would be below 1;
    the range is not narrowed for that.
    """
    residuals = [[x.right - right for x in pair] for pair in pairs]
    single = sum(x**2 for pair in residuals for x in pair)
    clustered = sum(sum(pair) ** 2 for pair in residuals)
    return min(2.0, max(1.0, clustered / single)) if single else 1.0


def _certainty(verdicts: Sequence[_Verdict]) -> dict[str, Any]:
    groups = {
        "sure": [x for x in verdicts if x.largest >= SURE],
        "in doubt": [x for x in verdicts if x.largest < SURE],
    }
    return {
        name: {**shares(some), "share": _round(len(some) / len(verdicts))}
        for name, some in groups.items()
    }


def _grouped(verdicts: Iterable[_Verdict], key: Any) -> dict[Any, list[_Verdict]]:
    groups: dict[Any, list[_Verdict]] = {}
    for x in verdicts:
        groups.setdefault(key(x), []).append(x)
    return groups


def _round(share: Any) -> float:
    return round(float(share), 4)


def table(everyday: Mapping[str, Any], numbers: Mapping[str, Any]) -> str:
    """The figures as text."""
    certainty = everyday["certainty"]
    sure = f"largest weight {100 * certainty['sure_from']:g} % or more"
    rows = {
        "all": everyday,
        **everyday["pronouns"],
        "he and she": everyday["he and she"],
        **everyday["kinds"],
        sure: certainty["sure"],
        "less": certainty["in doubt"],
    }
    for pronoun, some in certainty["pronouns"].items():
        rows |= {f"{pronoun}, {sure}": some["sure"], f"{pronoun}, less": some["in doubt"]}
    lines = [f"{'':36}{'sentences':>9}  right (95 %)         pair (95 %)       largest of row"]
    for name, x in rows.items():
        if not x["sentences"]:
            continue
        pair = _shown(x["pairs_right"], x["pairs_range"]) if "pairs_right" in x else ""
        right = _shown(x["right"], x["range"])
        largest = f"{100 * x['largest_of_the_row']:.1f}"
        lines.append(f"{name:36}{x['sentences']:>9}  {right:19}{pair:19}{largest:>8}")
    copied = _shown(numbers["copied"], numbers["range"])
    return "\n".join([*lines, f"{'numbers copied':36}{numbers['sentences']:>9}  {copied}"])


def _shown(share: float, extent: Sequence[float]) -> str:
    return f"{100 * share:.1f} ({100 * extent[0]:.0f} to {100 * extent[1]:.0f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure a model and print its figures; 1 where something is wrong with the arguments."""
    options = _parser().parse_args(arguments)
    try:
        model = load_model(options.model)
        heads = model.roles.pronoun_heads or load_model().roles.pronoun_heads
        head = tuple(map(int, options.head.split("."))) if options.head else heads[0]
        everyday, numbers = measure_everyday(model, head), measure_numbers(model)
    except RegardError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    both = {"everyday": everyday, "numbers": numbers}
    sys.stdout.write((json.dumps(both, indent=1) if options.json else table(**both)) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m judge.everyday", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("model", nargs="?", type=Path, help="the shipped model unless given")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--head", help="as 5.6: layer 5, head 6; by default the model's own")
    return parser


if __name__ == "__main__":
    sys.exit(main())
