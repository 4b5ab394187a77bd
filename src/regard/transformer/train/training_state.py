"""State of a training: parameters, optimiser and position in the text, saved and resumed."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.atomic_write import replacing
from regard.errors import FileError
from regard.transformer.train.optimiser import Optimiser, optimiser_for
from regard.transformer.train.torch_model import Tensors

Point = dict[str, float]


@dataclass
class State:
    """Parameters, optimiser, averaged parameters, and the position in the text."""

    parameters: Tensors
    optimiser: Optimiser
    average: Tensors
    averaged: int = 0
    step: int = 0
    epoch: int = 0
    batch: int = 0
    tokens: int = 0
    seconds: float = 0.0
    curve: list[Point] = field(default_factory=list)


_MOMENTS = ("step", "exp_avg", "exp_avg_sq", "momentum")
_NUMBERS = ("averaged", "step", "epoch", "batch", "tokens", "seconds", "curve")


def new_state(parameters: Tensors, optimiser: str = "adamw") -> State:
    """The start of a round, from these parameters."""
    own = {name: p.detach().clone().float().requires_grad_() for name, p in parameters.items()}
    average = {name: p.detach().clone() for name, p in own.items()}
    return State(own, optimiser_for(own, optimiser), average)


def train_only(state: State, names: Collection[str]) -> None:
    """Leave all other parameters as they are, and these without decay.

    Adam does not move an entry whose gradient is always 0, as in the columns of other heads.
    """
    for name, parameter in state.parameters.items():
        parameter.requires_grad_(name in names)
    for group in state.optimiser.param_groups:
        group["weight_decay"] = 0.0


def set_learning_rate(state: State, rate: float) -> None:
    """Set the learning rate of the next steps."""
    for group in state.optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def add_to_average(state: State) -> None:
    """Add the parameters to the running mean."""
    state.averaged += 1
    for name, parameter in state.parameters.items():
        state.average[name].lerp_(parameter.detach(), 1 / state.averaged)


def finished(state: State) -> Tensors:
    """The parameters a round ends with: the average, or the last where none was taken."""
    parameters = state.average if state.averaged else state.parameters
    return {name: p.detach() for name, p in parameters.items()}


def save_state(state: State, folder: Path) -> None:
    """Write a state, completely or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {f"parameters/{name}": p.detach() for name, p in state.parameters.items()}
    tensors |= {f"average/{name}": p for name, p in state.average.items()}
    tensors |= _moments(state) | _random_states(next(iter(state.parameters.values())).device)
    numbers = {name: getattr(state, name) for name in _NUMBERS}
    with replacing(folder / "state.safetensors") as draft:
        save_file(tensors, draft, metadata={"numbers": json.dumps(numbers)})


def load_state(parameters: Tensors, folder: Path, optimiser: str = "adamw") -> State | None:
    """Read what `save_state` wrote, onto the device of `parameters`; None if nothing was."""
    path = folder / "state.safetensors"
    if not path.is_file():
        return None
    state = new_state(parameters, optimiser)
    try:
        _restore_state(state, path)
    except (SafetensorError, KeyError, RuntimeError, ValueError):
        raise FileError(
            f"{path} needs the state of this training, but it is broken or that of another one: "
            "choose another folder for --out, or remove this file to start anew."
        ) from None
    return state


def _restore_state(state: State, path: Path) -> None:
    tensors = load_file(path, device=str(next(iter(state.parameters.values())).device))
    for name, parameter in state.parameters.items():
        parameter.data.copy_(tensors[f"parameters/{name}"])
        state.average[name].copy_(tensors[f"average/{name}"])
    _put_moments(state, tensors)
    _put_random_states(tensors)
    for name, value in _read_numbers(path).items():
        setattr(state, name, value)


def _read_numbers(path: Path) -> dict[str, Any]:
    with safe_open(path, framework="pt") as file:
        numbers: dict[str, Any] = json.loads(file.metadata()["numbers"])
    return numbers


def _moments(state: State) -> Tensors:
    tensors: Tensors = {}
    for name, parameter in state.parameters.items():
        for kind, tensor in state.optimiser.state.get(parameter, {}).items():
            tensors[f"{kind}/{name}"] = tensor
    return tensors


def _put_moments(state: State, tensors: Tensors) -> None:
    for name, parameter in state.parameters.items():
        kinds = [kind for kind in _MOMENTS if f"{kind}/{name}" in tensors]
        if kinds:
            state.optimiser.state[parameter] = {kind: tensors[f"{kind}/{name}"] for kind in kinds}


def _random_states(device: torch.device) -> dict[str, Tensor]:
    states = {"random/cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["random/cuda"] = torch.cuda.get_rng_state(device)
    return states


def _put_random_states(tensors: Tensors) -> None:
    torch.set_rng_state(tensors["random/cpu"].cpu())
    if "random/cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random/cuda"].cpu())
