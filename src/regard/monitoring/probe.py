"""The probe of a training: a fixed batch, run as the model is written, that leaves no trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def run_untouched(model: Any, batch: Any) -> None:
    """Call a model with a batch (keywords, arguments or one tensor) in evaluation mode.

    Every module's mode and the random numbers come back as they were.
    """
    import torch

    training = [module for module in model.modules() if module.training]
    devices = sorted({x.device.index or 0 for x in model.parameters() if x.is_cuda})
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        model.eval()
        try:
            if isinstance(batch, Mapping):
                model(**batch)
            else:
                model(*batch if isinstance(batch, list | tuple) else [batch])
        finally:
            for module in training:
                module.training = True
