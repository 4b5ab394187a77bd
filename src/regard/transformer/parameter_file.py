"""Parameters mapped from a safetensors file: nothing is copied, pages are read when touched."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from regard.engine.int8_matrix import Int8Matrix
from regard.errors import FileError
from regard.transformer.config import Config, output_axis, parameter_shapes
from regard.transformer.layers import Matrix
from regard.typing import Array

DTYPES = {"I8": "<i1", "F32": "<f4"}  # those of a saved model
_PREFIX = 8  # bytes of the header's length, which the file begins with


def map_parameters(path: Path, config: Config) -> dict[str, Matrix]:
    """Every parameter of a config by name: float32 arrays, and int8 matrices as they are on disk.

    The arrays cannot be written to, and stay valid when another file takes this one's name.
    """
    stored = map_tensors(path)
    return {name: _parameter(stored, name, x) for name, x in parameter_shapes(config).items()}


def map_tensors(path: Path) -> dict[str, Array]:
    """The tensors of a safetensors file by name, in the dtypes of a saved model."""
    if not path.is_file():
        raise FileError(f"a model needs its parameters at {path}, but there is no such file.")
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start = _PREFIX + int.from_bytes(mapped[:_PREFIX], "little")
        header = json.loads(mapped[_PREFIX:start])
        header.pop("__metadata__", None)
        return {name: _tensor(mapped, start, entry) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} needs to be a safetensors file, but it cannot be read as one ({error}): "
            "copy or export the model again."
        ) from None


def _tensor(mapped: mmap.mmap, start: int, entry: Mapping[str, Any]) -> Array:
    dtype = np.dtype(DTYPES[entry["dtype"]])
    first, end = entry["data_offsets"]
    if not 0 <= first <= end:
        raise ValueError(f"a tensor begins at {first} and ends at {end}")
    flat: Array = np.frombuffer(mapped, dtype, (end - first) // dtype.itemsize, start + first)
    native = flat.astype(dtype.newbyteorder("="), copy=not flat.flags.aligned)
    return native.reshape(entry["shape"])


def _parameter(stored: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Matrix:
    values = _stored(stored, name, shape)
    if f"{name}.scale" not in stored:
        return values
    axis = output_axis(name)
    return Int8Matrix.from_values(values, _stored(stored, f"{name}.scale", (shape[axis],)), axis)


def _stored(stored: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    if name in stored and stored[name].shape == shape:
        return stored[name]
    problem = f"its shape is {stored[name].shape}" if name in stored else "it is not there"
    raise FileError(
        f"{name} needs shape {shape}, but in the parameters {problem}: check that "
        "the description and the parameters belong together."
    )
