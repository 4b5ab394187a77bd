"""A watched forward, as most tests of a watched model begin."""

from collections.abc import Mapping
from typing import Any

import torch

import regard


def seen_by(model: Any, inputs: Any, **options: Any) -> regard.Seen:
    """What was seen of one forward; ``inputs`` have names, or are the first argument."""
    with torch.no_grad(), regard.watch(model, **options) as seen:
        model(**inputs) if isinstance(inputs, Mapping) else model(inputs)
    return seen
