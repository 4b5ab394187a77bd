"""Checkpoints: int8 parameters on disk, and the transformer assembled from them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors.numpy import save_file

from regard.atomic_write import replacing, write_text
from regard.errors import ArgumentError, FileError, ShapeError
from regard.text.tokens import SentencePieceTokenizer, Tokenizer
from regard.transformer.config import Config, Parameters, output_axis, parameter_shapes
from regard.transformer.layers import Attention, DecoderLayer, EncoderLayer, FeedForward, Norm
from regard.transformer.model import Fill, Transformer
from regard.transformer.roles import UNKNOWN_ROLES, HeadRoles, load_roles
from regard.typing import Array

SHIPPED = Path(__file__).parent / "shipped"
PARAMETERS, TOKENS, DESCRIPTION = "parameters.safetensors", "tokens.model", "model.json"
EXPORT = "model"  # the folder inside that of a training that its model is exported to
FORMAT = "regard transformer 1"

_LARGEST = 127
_ALIGNED = 16  # float32 numbers in a cache line
_PROJECTIONS = ("w_query", "w_key", "w_value")

Layer = TypeVar("Layer", EncoderLayer, DecoderLayer)


def model_folder(folder: str | Path) -> Path:
    """The folder of a model; that of a training stands for the model inside it."""
    path = Path(folder)
    inside = path / EXPORT
    return inside if not _is_model(path) and _is_model(inside) else path


def load_model(folder: str | Path | None = None) -> Transformer:
    """The shipped English-French model, or one that ``regard train`` made.

    Parameters
    ----------
    folder : str or Path, optional
        The folder of a model, or the one that was given to ``regard train --out``.

    Raises
    ------
    FileError
        Where a file of the model is missing, broken, or does not belong to the others.
    """
    path = SHIPPED if folder is None else model_folder(folder)
    if folder is None and not (path / PARAMETERS).is_file():
        raise FileError(
            "load_model() needs the parameters that come with the package, but this install has "
            "none: install a release of regard, or give the folder of a model that "
            "`regard train` wrote."
        )
    description = load_description(path)
    config = _config(description, path / DESCRIPTION)
    tokenizer, roles = SentencePieceTokenizer(path / TOKENS), load_roles(path)
    if tokenizer.vocabulary > config.vocabulary:
        raise FileError(
            f"{path / TOKENS} needs at most {config.vocabulary} pieces, but it has "
            f"{tokenizer.vocabulary}: check that the tokens and the parameters belong together."
        )
    with _opened(path / PARAMETERS) as fill:
        return assemble(config, fill, tokenizer, description, roles)


def load_parameters(folder: Path) -> tuple[Config, Parameters]:
    """Config and parameters of a model, the parameters restored to float32."""
    path = model_folder(folder)
    config = _config(load_description(path), path / DESCRIPTION)
    shapes = parameter_shapes(config)
    parameters = {name: np.empty(shape, np.float32) for name, shape in shapes.items()}
    with _opened(path / PARAMETERS) as fill:
        for name, array in parameters.items():
            fill(name, array)
    return config, parameters


def load_description(folder: Path) -> dict[str, Any]:
    """The JSON beside the parameters: config, name and origin of a model."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise FileError(
            f"a model needs a folder with {DESCRIPTION}, {PARAMETERS} and {TOKENS}, but "
            f"{folder} has no {DESCRIPTION}: train one with `regard train`."
        )
    try:
        description = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are such
        raise _broken_description(path, str(error)) from None
    if not isinstance(description, dict):
        raise _broken_description(path, "it is not an object")
    if description.get("format") != FORMAT:
        raise FileError(
            f"{path} needs format {FORMAT!r}, but says {description.get('format')!r}: it was "
            "written by another version; export the model again."
        )
    return description


def save_model(
    folder: Path, config: Config, parameters: Mapping[str, np.ndarray], about: Mapping[str, Any]
) -> None:
    """Write parameters, rounded to int8, and the description, to which ``about`` is added."""
    check_parameters(config, parameters)
    folder.mkdir(parents=True, exist_ok=True)
    tensors: Parameters = {}
    for name, parameter in parameters.items():
        tensors |= _to_disk(name, np.asarray(parameter, dtype=np.float32))
    with replacing(folder / PARAMETERS) as draft:
        save_file(tensors, draft)
    description = {"format": FORMAT, "config": asdict(config), **about}
    text = json.dumps(description, indent=2, ensure_ascii=False)
    write_text(folder / DESCRIPTION, text + "\n")


def quantise(matrix: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Round a matrix to int8 with one float32 scale for each output, which lie along `axis`.

    >>> quantise(np.array([[1.0, -4.0], [0.5, 2.0]]), axis=1)[0]
    array([[ 127, -127],
           [  64,   64]], dtype=int8)
    """
    largest = np.abs(matrix).max(axis=1 - axis, keepdims=True)
    scale = np.where(largest > 0, largest, 1.0).astype(np.float32) / np.float32(_LARGEST)
    return np.rint(matrix / scale).astype(np.int8), scale.reshape(-1)


def restore(
    rounded: np.ndarray, scale: np.ndarray, axis: int, out: np.ndarray | None = None
) -> np.ndarray:
    """Invert `quantise`, but for the rounding; into ``out`` where it is given."""
    out = np.empty(rounded.shape, np.float32) if out is None else out
    np.multiply(rounded, np.expand_dims(scale, 1 - axis), out=out)
    return out


def check_parameters(config: Config, parameters: Mapping[str, np.ndarray]) -> None:
    """Raise an error unless the parameters are exactly those of the config, in their shapes."""
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


def assemble(
    config: Config,
    fill: Fill,
    tokenizer: Tokenizer,
    about: Mapping[str, Any],
    roles: HeadRoles = UNKNOWN_ROLES,
) -> Transformer:
    """Allocate every parameter, let ``fill(name, array)`` write each, and build the layers."""
    arrays = _allocate(config)
    for name in parameter_shapes(config):
        fill(name, arrays[name])
    numbers, heads = range(config.layers), config.heads
    return Transformer(
        config=config,
        embedding_ve=arrays["embedding"],
        encoders=tuple(_layer(EncoderLayer, arrays, f"encoder.{x}", heads) for x in numbers),
        encoder_norm=_norm(arrays, "encoder.norm"),
        decoders=tuple(_layer(DecoderLayer, arrays, f"decoder.{x}", heads) for x in numbers),
        decoder_norm=_norm(arrays, "decoder.norm"),
        tokenizer=tokenizer,
        about=about,
        roles=roles,
    )


def copy_fill(parameters: Mapping[str, Array]) -> Fill:
    """Parameters in memory, under the names of ``parameter_shapes``, as the fill of a model."""

    def fill(name: str, array: Array) -> None:
        np.copyto(array, parameters[name])

    return fill


def _allocate(config: Config) -> Parameters:
    """Arrays by name, all in one block of memory; an attention's projections share w_qkv.

    A block this large gets pages of 2 MB, which takes half the time of many small ones.
    """
    shapes = parameter_shapes(config)
    block = np.empty(sum(_ALIGNED + math.prod(x) for x in shapes.values()), np.float32)
    arrays: Parameters = {}
    used = 0
    for name, shape in shapes.items():
        prefix, _, leaf = name.rpartition(".")
        if leaf in _PROJECTIONS[1:]:
            continue  # they lie beside w_query
        rows, columns = shape if len(shape) == 2 else (1, *shape)
        joined = len(_PROJECTIONS) if leaf == "w_query" else 1
        start = -(-used // _ALIGNED) * _ALIGNED
        used = start + rows * columns * joined
        array = block[start:used].reshape(rows, columns * joined)
        if joined == 1:
            arrays[name] = array.reshape(shape)
            continue
        arrays[f"{prefix}.w_qkv"] = array
        views = np.split(array, joined, axis=1)
        arrays |= {f"{prefix}.{x}": view for x, view in zip(_PROJECTIONS, views, strict=True)}
    return arrays


def _layer(kind: type[Layer], arrays: Parameters, prefix: str, heads: int) -> Layer:
    """A layer whose fields are named as in ``parameter_shapes``."""
    blocks = {x.name: _block(arrays, f"{prefix}.{x.name}", heads) for x in fields(kind)}
    return kind(**blocks)


def _block(arrays: Parameters, prefix: str, heads: int) -> Any:
    if prefix.endswith("_norm"):
        return _norm(arrays, prefix)
    if prefix.endswith("_attention"):
        return Attention(arrays[f"{prefix}.w_qkv"], arrays[f"{prefix}.w_output"], heads)
    return FeedForward(**{x.name: arrays[f"{prefix}.{x.name}"] for x in fields(FeedForward)})


def _norm(arrays: Parameters, prefix: str) -> Norm:
    return Norm(arrays[f"{prefix}.gain"], arrays[f"{prefix}.bias"])


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
        f"{path} needs the description that `regard train` writes, but it cannot be read as one "
        f"({reason}): copy or export the model again."
    )


def _to_disk(name: str, parameter: np.ndarray) -> Parameters:
    if parameter.ndim < 2:
        return {name: np.ascontiguousarray(parameter)}
    rounded, scale = quantise(parameter, output_axis(name))
    return {name: np.ascontiguousarray(rounded), f"{name}.scale": scale}


@contextmanager
def _opened(path: Path) -> Iterator[Fill]:
    """A file of int8 parameters, as a fill that restores them to float32."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileError(f"a model needs its parameters at {path}, but there is no such file.")
    try:
        with safe_open(str(path), framework="numpy") as file:
            yield _restoring_fill(file)
    except SafetensorError as error:
        raise FileError(
            f"{path} needs to be a safetensors file, but it cannot be read as one ({error}): "
            "copy or export the model again."
        ) from None


def _restoring_fill(file: Any) -> Fill:
    names = set(file.keys())

    def stored(name: str, shape: tuple[int, ...]) -> Array:
        array: Array | None = file.get_tensor(name) if name in names else None
        if array is None or array.shape != shape:
            problem = "it is not there" if array is None else f"its shape is {array.shape}"
            raise FileError(
                f"{name} needs shape {shape}, but in the parameters {problem}: check that "
                "the description and the parameters belong together."
            )
        return array

    def fill(name: str, array: Array) -> None:
        if f"{name}.scale" in names:
            axis = output_axis(name)
            scale = stored(f"{name}.scale", (array.shape[axis],))
            restore(stored(name, array.shape), scale, axis, out=array)
        else:
            array[...] = stored(name, array.shape)

    return fill
