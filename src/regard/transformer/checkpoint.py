"""Checkpoints: int8 parameters on disk, and the transformer assembled from them.

Parameters are memory-mapped from a safetensors file: nothing is copied, and pages are read when
they are first touched, so that loading takes a few milliseconds.
"""

from __future__ import annotations

import json
import mmap
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from regard.arguments import suggest_keywords
from regard.engine.int8_matrix import Int8Matrix, quantise
from regard.errors import ArgumentError, FileError, ShapeError
from regard.text.met_words import MetWords
from regard.text.subwords import UnigramModel
from regard.transformer.config import Config, Parameters, output_axis, parameter_shapes
from regard.transformer.layers import Matrix
from regard.transformer.model import Transformer
from regard.transformer.roles import load_roles
from regard.typing import Array

SHIPPED = Path(__file__).parent / "shipped"
PARAMETERS, TOKENS, DESCRIPTION = "parameters.safetensors", "tokens.txt", "model.json"
EXPORT = "model"  # folder of the exported model inside that of its training
FORMAT = "regard transformer 1"
DTYPES = {"I8": "<i1", "F32": "<f4"}  # those of a saved model
_LENGTH_BYTES = 8  # a safetensors file begins with the length of its header


def model_folder(folder: str | Path) -> Path:
    """Folder of a model, which may be inside the folder of the training that made it."""
    path = Path(folder)
    inside = path / EXPORT
    return inside if not _is_model(path) and _is_model(inside) else path


@suggest_keywords
def load_model(folder: str | Path | None = None) -> Transformer:
    """The shipped English-French model, or one that model/train made.

    Parameters
    ----------
    folder : str or Path, optional
        The folder of a model, or the one that was given to ``python -m train --out``.

    Raises
    ------
    FileError
        Where a file of the model is missing, broken, or does not belong to the others.
    """
    path = SHIPPED if folder is None else model_folder(folder)
    if folder is None and not (path / PARAMETERS).is_file():
        raise FileError(
            "this install of regard has no parameters of the shipped model: install a release of "
            "regard, or give load_model the folder of a model that model/train wrote."
        )
    description = load_description(path)
    config = _config(description, path / DESCRIPTION)
    with checksum_compared(path / PARAMETERS, config, description.get("checksum")):
        tokenizer, roles = UnigramModel.from_file(path / TOKENS), load_roles(path)
        if tokenizer.vocabulary > config.vocabulary:
            raise FileError(
                f"{path / TOKENS} must have at most {config.vocabulary} pieces, got "
                f"{tokenizer.vocabulary}: check that the tokens and the parameters belong together."
            )
        parameters, met = map_parameters(path / PARAMETERS, config), MetWords.from_folder(path)
    return Transformer.from_parameters(config, parameters, tokenizer, description, roles, met)


def load_parameters(folder: Path) -> tuple[Config, Parameters]:
    """Config and parameters of a model, the parameters restored to float32."""
    path = model_folder(folder)
    description = load_description(path)
    config = _config(description, path / DESCRIPTION)
    with checksum_compared(path / PARAMETERS, config, description.get("checksum")):
        parameters = map_parameters(path / PARAMETERS, config)
    return config, {name: np.array(x, np.float32) for name, x in parameters.items()}


def map_parameters(path: Path, config: Config) -> dict[str, Matrix]:
    """Every parameter of a config by name: float32 arrays, and int8 matrices as they are on disk.

    The arrays cannot be written to, and stay valid when another file takes this one's name.
    """
    stored, shapes = _tensors(path, _map(path)), parameter_shapes(config)
    return {name: _parameter(stored, name, shape) for name, shape in shapes.items()}


@contextmanager
def checksum_compared(path: Path, config: Config, expected: Any) -> Iterator[None]:
    """Compare the checksum of parameters while a block runs; models of before 0.2 have none.

    On a thread, since zlib lets others run meanwhile: 38 MB take as long as reading the tokens.
    """
    found: list[str] = []
    thread = None
    if sys.platform == "emscripten" and expected is not None and path.is_file():
        found.append(checksum(_map(path), config))  # a browser has one thread
    elif expected is not None and path.is_file():
        mapped = _map(path)
        thread = threading.Thread(
            target=lambda: found.append(checksum(mapped, config)), daemon=True
        )
        thread.start()
    try:
        yield
    finally:  # after an error too: a file that is cut short under a map ends the process
        if thread is not None:
            thread.join()
    if found and found != [expected]:
        raise FileError(
            f"{path} must have the checksum {expected} that {DESCRIPTION} gives, got {found[0]}: "
            "one of the two is damaged or of another model; copy or export the model again."
        )


def checksum(mapped: mmap.mmap | bytes, config: Config) -> str:
    """CRC-32 of the sizes of a model and of its file of parameters."""
    return f"{zlib.crc32(mapped, zlib.crc32(json.dumps(asdict(config)).encode())):08x}"


def map_tensors(path: Path) -> dict[str, Array]:
    """The tensors of a safetensors file by name, in the dtypes of a saved model."""
    return _tensors(path, _map(path))


def _map(path: Path) -> mmap.mmap | bytes:
    if not path.is_file():
        raise FileError(f"no such file: {path}, the parameters of the model.")
    if sys.platform == "emscripten":  # a map is a copy there, and keeps the file that it copied
        return path.read_bytes()
    with path.open("rb") as file:
        if not path.stat().st_size:
            return b""  # cannot be mapped
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _tensors(path: Path, mapped: mmap.mmap | bytes) -> dict[str, Array]:
    try:
        start = _LENGTH_BYTES + int.from_bytes(mapped[:_LENGTH_BYTES], "little")
        header = json.loads(mapped[_LENGTH_BYTES:start])
        header.pop("__metadata__", None)
        return {name: _tensor(mapped, start, entry) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} must be a safetensors file, and cannot be read as one ({error}): "
            "copy or export the model again."
        ) from None


def _tensor(mapped: mmap.mmap | bytes, start: int, entry: Mapping[str, Any]) -> Array:
    dtype = np.dtype(DTYPES[entry["dtype"]])
    first, end = entry["data_offsets"]
    if not 0 <= first <= end:
        raise ValueError(f"a tensor begins at {first} and ends at {end}")
    flat: Array = np.frombuffer(mapped, dtype, (end - first) // dtype.itemsize, start + first)
    native = flat.astype(dtype.newbyteorder("="), copy=not flat.flags.aligned)
    return native.reshape(entry["shape"])


def _parameter(stored: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Matrix:
    scale = f"{name}.scale"
    if name in stored and stored[name].dtype != np.int8 and scale not in stored:
        return _stored(stored, name, shape, np.float32)
    values, axis = _stored(stored, name, shape, np.int8), output_axis(name)
    return Int8Matrix.from_values(
        values, _stored(stored, scale, shape[axis : axis + 1], np.float32), axis
    )


def _stored(
    stored: Mapping[str, Array], name: str, shape: tuple[int, ...], dtype: type[np.generic]
) -> Array:
    found = stored.get(name)
    if found is not None and found.shape == shape and found.dtype == dtype:
        return found
    got = "none" if found is None else f"{found.dtype} {found.shape}"
    raise FileError(
        f"the parameters must have {name} as {np.dtype(dtype)} {shape}, got {got}: check that the "
        "description and the parameters belong together."
    )


def load_description(folder: Path) -> dict[str, Any]:
    """Description of a model from its JSON file: config, name and origin."""
    path = folder / DESCRIPTION
    if not path.is_file():
        other = folder.suffix.lower() == ".gguf" or (folder / "config.json").is_file()
        advice = "train one with model/train of the repository"
        if other:
            advice = f"show another kind of model with `regard watch {folder} TEXT`"
        raise FileError(
            f"a model must be a folder with {DESCRIPTION}, {PARAMETERS} and {TOKENS}, got "
            f"{folder} without {DESCRIPTION}: {advice}."
        )
    try:
        description = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are such
        raise _broken_description(path, str(error)) from None
    if not isinstance(description, dict):
        raise _broken_description(path, "it is not an object")
    if description.get("format") != FORMAT:
        raise FileError(
            f"{path} must have format {FORMAT!r}, got {description.get('format')!r}: it was "
            "written by another version; export the model again."
        )
    return description


def save_model(
    folder: Path, config: Config, parameters: Mapping[str, np.ndarray], about: Mapping[str, Any]
) -> None:
    """Write parameters, rounded to int8, and the description, to which ``about`` is added."""
    from safetensors.numpy import save_file

    from regard.atomic_write import replacing, write_text

    check_parameters(config, parameters)
    folder.mkdir(parents=True, exist_ok=True)
    tensors: Parameters = {}
    for name, parameter in parameters.items():
        tensors |= _to_disk(name, np.asarray(parameter, dtype=np.float32))
    with replacing(folder / PARAMETERS) as draft:
        save_file(tensors, draft)
    description: dict[str, Any] = {"format": FORMAT, "config": asdict(config), **about}
    description["checksum"] = checksum((folder / PARAMETERS).read_bytes(), config)
    text = json.dumps(description, indent=2, ensure_ascii=False)
    write_text(folder / DESCRIPTION, text + "\n")


def check_parameters(config: Config, parameters: Mapping[str, np.ndarray]) -> None:
    """Raise an error unless the parameters are exactly those of the config, in their shapes."""
    shapes = parameter_shapes(config)
    missing, unknown = shapes.keys() - parameters.keys(), parameters.keys() - shapes.keys()
    if missing or unknown:
        raise ArgumentError(
            f"parameters must be the {len(shapes)} of this config, got {len(missing)} missing "
            f"{sorted(missing)[:3]} and {len(unknown)} unknown {sorted(unknown)[:3]}: "
            "check that config and parameters belong together."
        )
    for name, shape in shapes.items():
        if parameters[name].shape != shape:
            raise ShapeError(
                f"{name} must have shape {shape}, got {parameters[name].shape}: "
                "check that config and parameters belong together."
            )


def _is_model(folder: Path) -> bool:
    return (folder / DESCRIPTION).is_file()


def _config(description: Mapping[str, Any], path: Path) -> Config:
    sizes = description.get("config")
    if not isinstance(sizes, dict):
        raise _broken_description(path, "it has no config")
    unknown = sorted(sizes.keys() - {x.name for x in fields(Config)})
    if unknown:
        raise _broken_description(path, f"its config has an unknown size {unknown[0]!r}")
    if "vocabulary" not in sizes:
        raise _broken_description(path, "its config has no vocabulary")
    try:
        return Config(**sizes)
    except ArgumentError as error:
        raise _broken_description(path, str(error).rstrip(".")) from None


def _broken_description(path: Path, reason: str) -> FileError:
    return FileError(
        f"{path} must be a description that model/train writes, and cannot be read as one "
        f"({reason}): copy or export the model again."
    )


def _to_disk(name: str, parameter: np.ndarray) -> Parameters:
    if parameter.ndim < 2:
        return {name: np.ascontiguousarray(parameter)}
    rounded, scale = quantise(parameter, output_axis(name))
    return {name: np.ascontiguousarray(rounded), f"{name}.scale": scale}
