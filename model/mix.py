"""Mix the parameters of two models of one architecture into a third one.

    cd model && python -m mix FOLDER OTHER --share 0.75 --out MIXED [--valid PAIRS]

MIXED gets share * FOLDER + (1 - share) * OTHER for every parameter, rounded to int8 once, with the
tokens, words and nouns of FOLDER. A model trained on from another one and mixed with it again keeps
most of what it learnt and gets back much of what it lost (Wortsman et al., 2022, arXiv 2109.01903).
With --valid, BLEU and chrF before and after rounding are written into its description.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import ArgumentError, RegardError
from regard.transformer.checkpoint import (
    PARAMETERS,
    checksum,
    load_description,
    load_model,
    load_parameters,
    model_folder,
    save_model,
)
from regard.transformer.config import Config
from regard.transformer.model import Transformer
from regard.transformer.search import DEFAULT_SEARCH
from regard.transformer.translation import translate
from train.data import read_pairs
from train.run import group, scores

ALONG = ("tokens.txt", "tokens.model", "words.txt", "nouns.txt")  # what the parameters belong to


def mix(folder: Path, other: Path, share: float, out: Path, valid: Path | None = None) -> None:
    """Write the mixed model into a folder: ``share`` of the one, the rest of the other."""
    if not 0 <= share <= 1:
        raise ArgumentError(f"share must be from 0 to 1, got {share}.")
    folder, other = model_folder(folder), model_folder(other)
    (config, parameters), (other_config, others) = load_parameters(folder), load_parameters(other)
    if config != other_config:
        raise ArgumentError(
            f"the models must have the same sizes, got {config} and {other_config}."
        )
    mixed = {
        name: np.float32(share) * x + np.float32(1 - share) * others[name]
        for name, x in parameters.items()
    }
    about = {x: load_description(folder)[x] for x in ("name", "source", "target")}
    parts = [_part(folder, config, share), _part(other, config, 1 - share)]
    description = {**about, "mixed": parts}
    save_model(out, config, mixed, description)
    for name in ALONG:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, out / name)
    if valid is not None:
        rounded = load_model(out)
        unrounded = Transformer.from_parameters(config, mixed, rounded.tokenizer, description)
        measured = _scores(valid, {"before rounding": unrounded, "int8": rounded})
        save_model(out, config, mixed, {**description, "scores": measured})


def _scores(valid: Path, models: dict[str, Transformer]) -> dict[str, Any]:
    """BLEU and chrF of models on pairs held out of training, and what was measured."""
    expected = group(read_pairs(valid))
    references = sum(map(len, expected.references))
    on = (
        f"{valid.name.split('.')[0]}: {len(expected.sources):,} sentences, {references:,} "
        f"references, beam {DEFAULT_SEARCH.beams}, sacrebleu {version('sacrebleu')}"
    )
    made = {name: translate(x, expected.sources, DEFAULT_SEARCH) for name, x in models.items()}
    return {"on": on} | {name: scores([x.text for x in y], expected) for name, y in made.items()}


def _part(folder: Path, config: Config, share: float) -> dict[str, Any]:
    """The share, seed and checksum of one of the two, for the description of the mixture."""
    found = checksum((folder / PARAMETERS).read_bytes(), config)
    return {"share": round(share, 6), "seed": load_description(folder)["seed"], "checksum": found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Mix as the arguments say; 1 where something is wrong with them."""
    parser = argparse.ArgumentParser(
        prog="python -m mix", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("model", type=Path, help="the folder of one model")
    parser.add_argument("other", type=Path, help="the folder of the other one")
    parser.add_argument("--share", type=float, required=True, help="of the first model, 0 to 1")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument("--valid", type=Path, help="pairs held out of training, to measure on")
    options = parser.parse_args(arguments)
    try:
        mix(options.model, options.other, options.share, options.out, options.valid)
    except RegardError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
