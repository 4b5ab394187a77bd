"""Keras: its layers, which get their parameters in a first call and compute with its backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.checker.adapters import Layer
from regard.errors import ArgumentError

BACKENDS = ("torch", "jax")


def as_layer(instance: Any) -> Layer | None:
    """A Keras layer; None for anything else, an ArgumentError where its calls cannot be traced."""
    bases = {f"{base.__module__}.{base.__name__}" for base in type(instance).__mro__}
    if "keras.src.layers.layer.Layer" not in bases:
        return None
    from keras import backend

    library = backend.backend()
    if library not in BACKENDS:
        raise ArgumentError(
            f"Keras runs on {library} here, whose calls cannot be traced: set "
            f"{' or '.join(f'KERAS_BACKEND={x}' for x in BACKENDS)}."
        )
    built = [False]

    def function(*args: Any, **keywords: Any) -> Any:
        returned = instance(*args, **keywords)
        if built[0]:
            return returned
        built[0] = True
        _fill(instance.weights)
        return instance(*args, **keywords)

    # Its width is that of its first input, so that any will do.
    any_width = (np.zeros((1, 12)),)
    return Layer(function, function, instance.call, library, "float32", any_width, "float32")


def _fill(weights: Any) -> None:
    """Draw parameters anew that are zero, constant or not finite."""
    for number, weight in enumerate(weights):
        numbers = np.asarray(weight.numpy() if hasattr(weight, "numpy") else weight, np.float64)
        if not np.isfinite(numbers).all() or (numbers.size > 1 and numbers.std() < 1e-6):
            around = 1.0 if (numbers == 1).all() else 0.0
            drawn = np.random.default_rng(number).standard_normal(numbers.shape)
            weight.assign(around + 0.2 * drawn)
