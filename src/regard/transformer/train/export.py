"""From training to a model that NumPy runs: rounded to int8, described, and measured again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.transformer.config import Config
from regard.transformer.parameters import TOKENS, load_parameters, save_model
from regard.transformer.train.loop import Validate
from regard.transformer.train.module import Tensors, to_numpy, to_torch


def export(
    places: tuple[Path, Path],
    config: Config,
    parameters: Tensors,
    about: Mapping[str, Any],
    validate: Validate,
) -> dict[str, Any]:
    """Write a model and return what it says of itself, its scores before and after rounding.

    The places are the folder of the model and the SentencePiece file to put into it.
    """
    folder, tokens = places
    save_model(folder, config, to_numpy(parameters), about)
    shutil.copyfile(tokens, folder / TOKENS)
    rounded = to_torch(load_parameters(folder)[1], str(parameters["embedding"].device))
    measured = {"before rounding": validate(parameters), "int8": validate(rounded)}
    description = {**about, "scores": measured}
    save_model(folder, config, to_numpy(parameters), description)
    return description
