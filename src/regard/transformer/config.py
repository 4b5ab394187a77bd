"""Config of a transformer, and the name and shape of every parameter that follows from it.

The model these names describe, in full (`norm` is layer normalisation, over the last axis)::

    vectors = embedding[tokens] * sqrt(width) + positions
    encoder layer:   vectors += self_attention(norm(vectors))
                     vectors += feed_forward(norm(vectors))
    after the last:  memory = norm(vectors)
    decoder layer:   vectors += self_attention(norm(vectors)), each position seeing those before it
                     vectors += cross_attention(norm(vectors), memory)
                     vectors += feed_forward(norm(vectors))
    after the last:  logits = norm(vectors) @ embedding.T

    attention:       query = x @ w_query; key = memory @ w_key; value = memory @ w_value
                     output = heads side by side @ w_output        (no biases: X W is all there is)
    feed_forward:    relu(x @ w_in + b_in) @ w_out + b_out

A source is its pieces and then END; a target starts from START and is over at END.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regard.errors import ArgumentError

PAD, UNKNOWN, START, END = 0, 1, 2, 3
NORM_EPSILON = 1e-5
MAX_LAYERS = 1000  # a broken description must not make a table of millions of names

Shape = tuple[int, ...]
Parameters = dict[str, np.ndarray]


@dataclass(frozen=True)
class Config:
    """Sizes of a transformer; every other number follows from these.

    >>> Config(vocabulary=12_000).head_width
    64
    """

    vocabulary: int
    layers: int = 6
    heads: int = 8
    width: int = 512
    feed_forward_width: int = 1024
    max_length: int = 256

    def __post_init__(self) -> None:
        for name, size in vars(self).items():
            if not isinstance(size, int) or size < 1:
                raise ArgumentError(f"{name} must be a whole number from 1 up, got {size!r}.")
        if self.layers > MAX_LAYERS:
            raise ArgumentError(f"layers must be at most {MAX_LAYERS:,}, got {self.layers:,}.")
        if self.width % (2 * self.heads):
            raise ArgumentError(
                f"width must be an even multiple of heads, got width {self.width} and heads "
                f"{self.heads}: choose a width such as {64 * self.heads}."
            )

    @property
    def head_width(self) -> int:
        """Features of one head: width / heads."""
        return self.width // self.heads


def parameter_shapes(config: Config) -> dict[str, Shape]:
    """Name and shape of every parameter, in the order of computation.

    Matrices multiply from the right, `x @ w`, so their axes are (in, out); head h of `w_query`
    is columns h * d to (h + 1) * d.

    >>> shapes = parameter_shapes(Config(vocabulary=100, layers=1, heads=2, width=8))
    >>> shapes["encoder.0.self_attention.w_query"], shapes["embedding"]
    ((8, 8), (100, 8))
    """
    shapes: dict[str, Shape] = {"embedding": (config.vocabulary, config.width)}
    for layer in range(config.layers):
        shapes |= _layer_shapes(f"encoder.{layer}", config, ("self_attention",))
    shapes |= _norm_shapes("encoder.norm", config)
    for layer in range(config.layers):
        shapes |= _layer_shapes(f"decoder.{layer}", config, ("self_attention", "cross_attention"))
    return shapes | _norm_shapes("decoder.norm", config)


def random_parameters(config: Config, seed: int) -> Parameters:
    """Parameters before training: matrices random, gains 1, biases 0."""
    rng = np.random.default_rng(seed)
    return {name: _random(name, shape, rng) for name, shape in parameter_shapes(config).items()}


def _random(name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    if len(shape) == 1:
        return np.full(shape, 1.0 if name.endswith("gain") else 0.0, dtype=np.float32)
    spread = shape[1] ** -0.5 if name == "embedding" else (2 / sum(shape)) ** 0.5
    matrix: np.ndarray = rng.standard_normal(shape, dtype=np.float32) * np.float32(spread)
    return matrix


def output_axis(name: str) -> int:
    """Axis of the outputs of a matrix: rows of the embedding, columns elsewhere."""
    return 0 if name == "embedding" else 1


def _layer_shapes(prefix: str, config: Config, attentions: tuple[str, ...]) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    for attention in attentions:
        shapes |= _norm_shapes(f"{prefix}.{attention}_norm", config)
        for name in ("w_query", "w_key", "w_value", "w_output"):
            shapes[f"{prefix}.{attention}.{name}"] = (config.width, config.width)
    shapes |= _norm_shapes(f"{prefix}.feed_forward_norm", config)
    return shapes | dict(_feed_forward_shapes(f"{prefix}.feed_forward", config))


def _feed_forward_shapes(prefix: str, config: Config) -> Iterator[tuple[str, Shape]]:
    inner = config.feed_forward_width
    yield f"{prefix}.w_in", (config.width, inner)
    yield f"{prefix}.b_in", (inner,)
    yield f"{prefix}.w_out", (inner, config.width)
    yield f"{prefix}.b_out", (config.width,)


def _norm_shapes(prefix: str, config: Config) -> dict[str, Shape]:
    return {f"{prefix}.gain": (config.width,), f"{prefix}.bias": (config.width,)}


def positions(length: int, width: int) -> np.ndarray:
    """Sinusoidal positions, sines in the first half of the features and cosines in the second.

    Returns
    -------
    positions_te : ndarray of float32
        Wavelengths grow from 2 pi to 10,000 x 2 pi along e.

    Examples
    --------
    >>> positions(2, 4).round(2)
    array([[0.  , 0.  , 1.  , 1.  ],
           [0.84, 0.01, 0.54, 1.  ]], dtype=float32)
    """
    rates = 10_000.0 ** -(np.arange(width // 2) / (width // 2))
    angles = np.arange(length)[:, None] * rates
    positions_te = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return positions_te.astype(np.float32)
