"""Checkpoints: int8 parameters on disk, and the transformer assembled from them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from regard.errors import ArgumentError, FileError, ShapeError
from regard.text.tokens import SentencePieceTokenizer, Tokenizer
from regard.transformer.config import Config, output_axis, parameter_shapes
from regard.transformer.layers import Attention, DecoderLayer, EncoderLayer, FeedForward, Norm
from regard.transformer.model import Fill, Transformer
from regard.transformer.roles import UNKNOWN_ROLES, Roles, load_roles
from regard.typing import Array

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


_ALIGNED = 16  # float32 numbers in a cache line


SHIPPED = Path(__file__).parent / "shipped"


def assemble(
    config: Config,
    fill: Fill,
    tokenizer: Tokenizer,
    about: Mapping[str, Any],
    roles: Roles = UNKNOWN_ROLES,
) -> Transformer:
    """Make room for every parameter and let ``fill(name, place)`` write each into its place."""
    room, numbers = _Room(config, fill, _Arena.of(config)), range(config.layers)
    return Transformer(
        config=config,
        embedding_ve=room.array("embedding", config.vocabulary, config.width),
        encoders=tuple(room.encoder(f"encoder.{number}") for number in numbers),
        encoder_norm=room.norm("encoder.norm"),
        decoders=tuple(room.decoder(f"decoder.{number}") for number in numbers),
        decoder_norm=room.norm("decoder.norm"),
        tokenizer=tokenizer,
        about=about,
        roles=roles,
    )


@dataclass
class _Arena:
    """One block of memory for all parameters.

    A block this large gets pages of 2 MB, which takes half the time of asking for many small ones.
    """

    block: Array
    used: int = 0

    @classmethod
    def of(cls, config: Config) -> _Arena:
        shapes = parameter_shapes(config).values()
        return cls(np.empty(sum(_ALIGNED + math.prod(shape) for shape in shapes), np.float32))

    def take(self, *shape: int) -> Array:
        """The next free place, where a cache line begins."""
        start = -(-self.used // _ALIGNED) * _ALIGNED
        self.used = start + math.prod(shape)
        return self.block[start : self.used].reshape(shape)


@dataclass(frozen=True)
class _Room:
    """Makes the parts of a model, each filled as it is made."""

    config: Config
    fill: Fill
    arena: _Arena

    def array(self, name: str, *shape: int) -> Array:
        place = self.arena.take(*shape)
        self.fill(name, place)
        return place

    def norm(self, prefix: str) -> Norm:
        width = self.config.width
        return Norm(self.array(f"{prefix}.gain", width), self.array(f"{prefix}.bias", width))

    def attention(self, prefix: str) -> Attention:
        width = self.config.width
        w_qkv = self.arena.take(width, 3 * width)
        for number, name in enumerate(("w_query", "w_key", "w_value")):
            self.fill(f"{prefix}.{name}", w_qkv[:, number * width : (number + 1) * width])
        return Attention(w_qkv, self.array(f"{prefix}.w_output", width, width), self.config.heads)

    def feed_forward(self, prefix: str) -> FeedForward:
        width, inner = self.config.width, self.config.feed_forward_width
        shapes = {"w_in": (width, inner), "b_in": (inner,), "w_out": (inner, width),
                  "b_out": (width,)}  # fmt: skip
        return FeedForward(**{x: self.array(f"{prefix}.{x}", *n) for x, n in shapes.items()})

    def encoder(self, prefix: str) -> EncoderLayer:
        return EncoderLayer(
            self_attention=self.attention(f"{prefix}.self_attention"),
            self_attention_norm=self.norm(f"{prefix}.self_attention_norm"),
            feed_forward=self.feed_forward(f"{prefix}.feed_forward"),
            feed_forward_norm=self.norm(f"{prefix}.feed_forward_norm"),
        )

    def decoder(self, prefix: str) -> DecoderLayer:
        return DecoderLayer(
            self_attention=self.attention(f"{prefix}.self_attention"),
            self_attention_norm=self.norm(f"{prefix}.self_attention_norm"),
            cross_attention=self.attention(f"{prefix}.cross_attention"),
            cross_attention_norm=self.norm(f"{prefix}.cross_attention_norm"),
            feed_forward=self.feed_forward(f"{prefix}.feed_forward"),
            feed_forward_norm=self.norm(f"{prefix}.feed_forward_norm"),
        )


def random_fill(seed: int) -> Fill:
    """Numbers as before training: matrices random, gains 1, biases 0."""
    rng = np.random.default_rng(seed)

    def fill(name: str, place: Array) -> None:
        if place.ndim == 1:
            place[...] = 1.0 if name.endswith("gain") else 0.0
            return
        spread = place.shape[1] ** -0.5 if name == "embedding" else (2 / sum(place.shape)) ** 0.5
        place[...] = rng.standard_normal(place.shape, dtype=np.float32) * np.float32(spread)

    return fill


def copy_fill(parameters: Mapping[str, Array]) -> Fill:
    """Numbers that are held already, under the names that ``config`` gives them."""

    def fill(name: str, place: Array) -> None:
        np.copyto(place, parameters[name])

    return fill


def load_model(folder: str | Path | None = None) -> Transformer:
    """The shipped English-French model, or the one that ``regard train`` wrote to a folder."""

    place = SHIPPED if folder is None else Path(folder)
    if folder is None and not (place / PARAMETERS).is_file():
        raise FileError(
            "load_model() needs the parameters that come with the package, but this install has "
            "none: install a release of regard, or give the folder of a model that "
            "`regard train` wrote."
        )
    description = load_description(place)
    tokenizer, roles = SentencePieceTokenizer(place / TOKENS), load_roles(place)
    with _opened(place / PARAMETERS) as fill:
        return assemble(Config(**description["config"]), fill, tokenizer, description, roles)


@contextmanager
def _opened(path: Path) -> Iterator[Fill]:
    """A file of int8 parameters, as a fill that restores them to float32 in place."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileError(f"a model needs its parameters at {path}, but there is no such file.")
    try:
        with safe_open(str(path), framework="numpy") as file:
            yield _restored(file)
    except SafetensorError as error:
        raise FileError(
            f"{path} needs to be a safetensors file, but it cannot be read as one ({error}): "
            "copy or export the model again."
        ) from None


def _restored(file: Any) -> Fill:
    names = set(file.keys())

    def fill(name: str, place: Array) -> None:
        stored = file.get_tensor(name) if name in names else None
        if stored is None or stored.shape != place.shape:
            found = "it is not there" if stored is None else f"its shape is {stored.shape}"
            raise FileError(
                f"{name} needs shape {place.shape}, but in the parameters {found}: check that "
                "the description and the parameters belong together."
            )
        if f"{name}.scale" in names:
            scale = np.expand_dims(file.get_tensor(f"{name}.scale"), 1 - output_axis(name))
            np.multiply(stored, scale, out=place)
        else:
            place[...] = stored

    return fill
