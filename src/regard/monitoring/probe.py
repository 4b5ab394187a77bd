"""The probe of a training: a fixed batch, run as the model is written, that leaves no trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


def call_with(model: Any, batch: Any) -> None:
    """Call a model with a batch: keywords, arguments or one tensor."""
    if isinstance(batch, Mapping):
        model(**batch)
    elif isinstance(batch, list | tuple):
        model(*batch)
    else:
        model(batch)


@contextmanager
def untouched(model: Any) -> Iterator[None]:
    """Evaluation mode for the block; every module's mode and the random numbers come back."""
    import torch

    training = [module for module in model.modules() if module.training]
    devices = sorted({x.device.index or 0 for x in model.parameters() if x.is_cuda})
    with torch.random.fork_rng(devices=devices):
        model.eval()
        try:
            yield
        finally:
            for module in training:
                module.training = True
