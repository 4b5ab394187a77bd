"""Steps as plain lists, unrounded: what --json prints."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from regard.self_attention.steps import Steps

PARAMETERS = ("w_query", "w_key", "w_value", "w_output", "scale", "softcap")


def as_dict(steps: "Steps") -> dict[str, Any]:
    """Words, parameters, and every stage with its shape; -inf is the string "-inf".

    JSON has no infinities, so a reader of any language can take this as it is.

    Examples
    --------
    >>> from regard.self_attention.steps import attend
    >>> plain = as_dict(attend(np.eye(2), np.eye(2), np.eye(2), causal=True))
    >>> plain["stages"]["masked"]
    [[0.7071067811865475, '-inf'], [0.0, 0.7071067811865475]]
    """
    stages = steps.stages()
    return {
        "words": [list(w) if isinstance(w, tuple) else w for w in steps.words],
        "parameters": {x: lists(getattr(steps, x)) for x in PARAMETERS if _given(steps, x)},
        "shapes": {name: list(stage.shape) for name, stage in stages.items()},
        "stages": {name: lists(stage) for name, stage in stages.items()},
    }


def lists(value: NDArray[Any] | float) -> Any:
    """An array as nested lists of numbers that JSON can hold.

    >>> lists(np.array([0.5, -np.inf]))
    [0.5, '-inf']
    """
    if isinstance(value, np.ndarray):
        return [lists(part) for part in value] if value.ndim else lists(float(value))
    return float(value) if math.isfinite(value) else str(float(value))


def _given(steps: "Steps", name: str) -> bool:
    return getattr(steps, name) is not None
