"""Parameters on disk: eight bits for each number of a matrix, one scale for each of its outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from regard.errors import ArgumentError, FileError, ShapeError
from regard.transformer.config import Config, output_axis, parameter_shapes

Parameters = dict[str, np.ndarray]

PARAMETERS, TOKENS, DESCRIPTION = "parameters.safetensors", "tokens.model", "model.json"
FORMAT = "regard transformer 1"
_LARGEST = 127


def quantise(matrix: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Round a matrix to int8 with one float32 scale for each output, which lie along `axis`.

    >>> quantise(np.array([[1.0, -4.0], [0.5, 2.0]]), axis=1)[0]
    array([[ 127, -127],
           [  64,   64]], dtype=int8)
    """
    largest = np.abs(matrix).max(axis=1 - axis, keepdims=True)
    scale = np.where(largest > 0, largest, 1.0).astype(np.float32) / np.float32(_LARGEST)
    return np.rint(matrix / scale).astype(np.int8), scale.reshape(-1)


def restore(rounded: np.ndarray, scale: np.ndarray, axis: int) -> np.ndarray:
    """Undo `quantise`, but for the rounding."""
    restored: np.ndarray = np.multiply(rounded, np.expand_dims(scale, 1 - axis), dtype=np.float32)
    return restored


def save_model(
    folder: Path, config: Config, parameters: Mapping[str, np.ndarray], about: Mapping[str, Any]
) -> None:
    """Write parameters and description; what `about` says of the model goes into the latter."""
    check_parameters(config, parameters)
    folder.mkdir(parents=True, exist_ok=True)
    tensors: Parameters = {}
    for name, parameter in parameters.items():
        tensors |= _to_disk(name, np.asarray(parameter, dtype=np.float32))
    save_file(tensors, folder / PARAMETERS)
    description = {"format": FORMAT, "config": asdict(config), **about}
    text = json.dumps(description, indent=2, ensure_ascii=False)
    (folder / DESCRIPTION).write_text(text + "\n", encoding="utf-8")


def load_parameters(folder: Path) -> tuple[Config, Parameters]:
    """Read what `save_model` wrote, as float32."""
    config = Config(**load_description(folder)["config"])
    tensors = load_file(folder / PARAMETERS)
    names = [name for name in tensors if not name.endswith(".scale")]
    parameters = {name: _from_disk(name, tensors) for name in names}
    check_parameters(config, parameters)
    return config, parameters


def load_description(folder: Path) -> dict[str, Any]:
    """Read the JSON that says what a model is and how it was made."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise FileError(
            f"a model needs a folder with {DESCRIPTION}, {PARAMETERS} and {TOKENS}, but "
            f"{folder} has no {DESCRIPTION}: train one with `regard train`."
        )
    description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if description.get("format") != FORMAT:
        raise FileError(
            f"{path} needs format {FORMAT!r}, but says {description.get('format')!r}: it was "
            "written by another version; export the model again."
        )
    return description


def check_parameters(config: Config, parameters: Mapping[str, np.ndarray]) -> None:
    """Raise an error unless every parameter is there, and no other, in its shape."""
    shapes = parameter_shapes(config)
    missing, unknown = shapes.keys() - parameters.keys(), parameters.keys() - shapes.keys()
    if missing or unknown:
        raise ArgumentError(
            f"this config needs {len(shapes)} parameters, but {len(missing)} are missing "
            f"{sorted(missing)[:3]} and {len(unknown)} are unknown {sorted(unknown)[:3]}: "
            "check that config and parameters belong together."
        )
    for name, shape in shapes.items():
        if parameters[name].shape != shape:
            raise ShapeError(
                f"{name} needs shape {shape}, but its shape is {parameters[name].shape}: "
                "check that config and parameters belong together."
            )


def _to_disk(name: str, parameter: np.ndarray) -> Parameters:
    if parameter.ndim < 2:
        return {name: np.ascontiguousarray(parameter)}
    rounded, scale = quantise(parameter, output_axis(name))
    return {name: np.ascontiguousarray(rounded), f"{name}.scale": scale}


def _from_disk(name: str, tensors: Parameters) -> np.ndarray:
    if f"{name}.scale" not in tensors:
        return tensors[name]
    return restore(tensors[name], tensors[f"{name}.scale"], output_axis(name))
