"""Versions of the model side by side: translation on any test sets, and the pronoun head.

    cd model && python -m judge.versions SETS --model NAME=FOLDER ... [--pronouns] [--out FILE]

SETS is a folder of files NAME.tsv, NAME.tsv.gz or NAME.tsv.xz with `english<TAB>french` lines;
English that occurs more than once has several references. It stays where it is: test sets are no
part of the repository. The first model is the one that is judged. Each further one (0.2.0=FOLDER)
is an earlier version that it is compared with, by a paired bootstrap over sentences. The file has
the date, and of every model the checksum of its parameters. With --pronouns it also has how often
the head is right and sure on the judge's own sentences.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from judge.everyday import measure_everyday, measure_numbers
from judge.judge import without_antecedent
from judge.sentences import no_antecedent
from regard.atomic_write import write_text
from regard.errors import ArgumentError, RegardError
from regard.transformer.checkpoint import load_model
from regard.transformer.model import Transformer
from regard.transformer.reading import shipped_model
from regard.transformer.search import DEFAULT_SEARCH
from regard.transformer.translation import translate
from train.data import read_pairs
from train.run import References, group

SAMPLES, SEED = 1000, 20261119
METRICS = ("bleu", "chrf")


def measure_versions(
    folder: Path, models: Mapping[str, Path | None], *, pronouns: bool = False
) -> dict[str, Any]:
    """BLEU and chrF of every model on every set of a folder, and what the first has more."""
    paths = sorted(x for x in folder.iterdir() if ".tsv" in x.suffixes) if folder.is_dir() else []
    if not paths:
        raise ArgumentError(f"the sets must be a folder with .tsv files, got {folder} with none.")
    loaded = {name: load_model(path) for name, path in models.items()}
    sets: dict[str, Any] = {}
    for path in paths:
        expected = group(read_pairs(path))
        made = {
            name: [x.text for x in translate(model, expected.sources, DEFAULT_SEARCH)]
            for name, model in loaded.items()
        }
        sets[path.name.split(".")[0]] = compare(made, expected)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "with": f"sacrebleu {_sacrebleu().__version__}, its defaults; beam {DEFAULT_SEARCH.beams}",
        "bootstrap": f"{SAMPLES:,} paired samples of sentences, 95 % ranges",
        "models": {name: model.about["checksum"] for name, model in loaded.items()},
        "sets": sets,
        **({"pronouns": {x: _pronouns(y) for x, y in loaded.items()}} if pronouns else {}),
    }


def _pronouns(model: Transformer) -> dict[str, Any]:
    """How often the pronoun head is right, rests on nothing where it should, and is sure."""
    head = (model.roles.pronoun_heads or shipped_model().roles.pronoun_heads)[0]
    everyday = measure_everyday(model, head)
    shares = {**everyday["pronouns"], "he and she": everyday["he and she"]}
    return {
        **{name: shares[name] for name in ("it", "they", "he and she")},
        "it, sure": everyday["certainty"]["pronouns"]["it"]["sure"],
        "for nothing": without_antecedent(model, no_antecedent(), head),
        "for nothing, harder": without_antecedent(model, no_antecedent(harder=True), head),
        "numbers": measure_numbers(model),
    }


def compare(made: Mapping[str, Sequence[str]], expected: References) -> dict[str, Any]:
    """Scores of the models' translations of one set, and paired differences to the first."""
    statistics = {
        name: {x: _statistics(x, texts, expected) for x in METRICS} for name, texts in made.items()
    }
    first = next(iter(made))
    rng = np.random.default_rng(SEED)
    rows_ns = rng.integers(len(expected.sources), size=(SAMPLES, len(expected.sources)))
    figures: dict[str, Any] = {"sentences": len(expected.sources), "references": sum(
        map(len, expected.references)), "models": {}}  # fmt: skip
    for name, by_metric in statistics.items():
        shown: dict[str, Any] = {}
        for metric, values in by_metric.items():
            ours = statistics[first][metric]
            shown[metric] = round(_score(metric, values.sum(axis=0)), 2)
            if name != first:
                shown[f"{metric}_gained"] = _gained(metric, ours, values, rows_ns)
        figures["models"][name] = shown
    return figures


def _gained(metric: str, ours: np.ndarray, theirs: np.ndarray, rows_ns: np.ndarray) -> list[float]:
    """What the first model has more than another: the difference and its 95 % range."""
    samples = [
        _score(metric, ours[rows].sum(axis=0)) - _score(metric, theirs[rows].sum(axis=0))
        for rows in rows_ns
    ]
    difference = _score(metric, ours.sum(axis=0)) - _score(metric, theirs.sum(axis=0))
    return [round(float(x), 2) for x in (difference, *np.quantile(samples, (0.025, 0.975)))]


def _statistics(metric: str, texts: Sequence[str], expected: References) -> np.ndarray:
    """The counts of every sentence, whose sums make the score of a set, as sacrebleu takes them.

    Its own paired bootstrap is made of these, but prints no range of the difference.
    """
    if not expected.sources:
        raise ArgumentError("a set must have at least one sentence, got none.")
    most = max(map(len, expected.references))
    columns = [[x[i] if i < len(x) else None for x in expected.references] for i in range(most)]
    return np.array(_metric(metric)._extract_corpus_statistics(list(texts), columns), float)


def _score(metric: str, counts: np.ndarray) -> float:
    return float(_metric(metric)._compute_score_from_stats(counts.tolist()).score)


def _metric(name: str) -> Any:
    if name not in _METRICS:
        metrics = _sacrebleu().metrics
        _METRICS[name] = {"bleu": metrics.BLEU, "chrf": metrics.CHRF}[name]()
    return _METRICS[name]


_METRICS: dict[str, Any] = {}


def _sacrebleu() -> Any:
    import sacrebleu

    return sacrebleu


def table(measured: Mapping[str, Any]) -> str:
    """The figures as text."""
    lines = [f"{'':28}{'sentences':>10}{'BLEU':>8}{'chrF':>8}   the first has more"]
    for name, one in measured["sets"].items():
        for model, x in one["models"].items():
            more = "  ".join(
                f"{metric} {x[f'{metric}_gained'][0]:+.2f} [{x[f'{metric}_gained'][1]:+.2f}, "
                f"{x[f'{metric}_gained'][2]:+.2f}]"
                for metric in METRICS
                if f"{metric}_gained" in x
            )
            shown = f"{name}, {model}"
            lines.append(
                f"{shown:28}{one['sentences']:>10,}{x['bleu']:8.2f}{x['chrf']:8.2f}   {more}"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the arguments say; 1 where something is wrong with them."""
    parser = argparse.ArgumentParser(
        prog="python -m judge.versions", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("sets", type=Path, help="a folder of test sets")
    parser.add_argument(
        "--model", action="append", required=True, help="NAME=FOLDER, the judged first"
    )
    parser.add_argument("--pronouns", action="store_true", help="the pronoun head's figures too")
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    options = parser.parse_args(arguments)
    named = [x.partition("=") for x in options.model]
    try:
        models = {name: Path(path) if path else None for name, _, path in named}
        measured = measure_versions(options.sets, models, pronouns=options.pronouns)
        if options.out:
            write_text(options.out, json.dumps(measured, indent=1) + "\n")
    except RegardError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(table(measured) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
