"""One training step, the state it changes, and the optimiser.

On a GPU the whole step is one CUDA graph. The state holds parameters, optimiser and position in the
text; it is saved and resumed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.atomic_write import replacing
from regard.errors import FileError
from regard.transformer.config import Config
from train.model import PackedMode, PackedTensors, Tensors, packed_loss
from train.recipe import Hyperparameters, Point, TaughtHead

_WARM_UP_STEPS = 3  # steps before the capture, in which libraries allocate what they need


@dataclass(frozen=True)
class DeviceBatch:
    """A batch on its way to the device, with its number of tokens and the share of rows used."""

    tensors: PackedTensors
    size: int
    filled: float


Update = Callable[[PackedTensors, Tensor], Tensor]


def step_function(
    state: State,
    config: Config,
    hyperparameters: Hyperparameters,
    mode: PackedMode,
    translated: bool = True,
) -> Callable[[DeviceBatch], Tensor]:
    """The function that takes a step with a batch: `update`, as a CUDA graph where compiled."""
    run: Update = partial(
        update, state, config=config, hyperparameters=hyperparameters, mode=mode,
        translated=translated,
    )  # fmt: skip
    if mode.compiled and state.parameters["embedding"].is_cuda:
        run = StepGraph(run)

    def take(batch: DeviceBatch) -> Tensor:
        factors = loss_factors(state.step, batch.filled, hyperparameters.taught, translated)
        return run(batch.tensors, to_device(factors, state.parameters["embedding"].device))

    return take


def loss_factors(
    step: int, filled: float, taught: Sequence[TaughtHead], translated: bool = True
) -> Tensor:
    """Factors of the losses of a step: that of translation, then those of the taught heads.

    The last batch of an epoch may be small; its few pairs must not count for a full one.

    >>> loss_factors(0, 0.5, [TaughtHead("encoder", 3, 6, "pronouns", weight=0.1)]).tolist()
    [0.5, 0.05000000074505806]
    """
    weights = [float(translated), *(head.weight * head.counts_at(step) for head in taught)]
    return torch.tensor(weights) * filled


def update(
    state: State,
    tensors: PackedTensors,
    factors: Tensor,
    config: Config,
    hyperparameters: Hyperparameters,
    mode: PackedMode,
    translated: bool = True,
) -> Tensor:
    """One step of the optimiser; nothing in it waits for the device.

    Returned are the translation loss, and loss and accuracy of every taught head.
    """
    heads = hyperparameters.taught
    loss, taught = packed_loss(
        state.parameters, config, tensors, mode, heads, translated=translated
    )
    losses = torch.stack([loss, *(measured.loss for measured in taught)])
    (losses * factors).sum().backward()
    torch.nn.utils.clip_grad_norm_(state.parameters.values(), hyperparameters.clip)
    state.optimiser.step()
    state.optimiser.zero_grad(set_to_none=True)
    return torch.stack([x.detach().float() for x in (loss, *(y for pair in taught for y in pair))])


class StepGraph:
    """A step recorded once and launched as a whole, since every batch has the same shape.

    Launched kernel by kernel, Python takes longer over a step than the GPU does. The first steps
    run as they are, on a stream of their own as a capture demands.
    """

    def __init__(self, run: Update) -> None:
        self.run, self.calls = run, 0
        self.graph: Any = None
        self.inputs: tuple[PackedTensors, Tensor] | None = None
        self.losses: Tensor | None = None

    def __call__(self, tensors: PackedTensors, factors: Tensor) -> Tensor:
        self.calls += 1
        if self.calls <= _WARM_UP_STEPS:
            return self._on_own_stream(tensors, factors)
        if self.calls == _WARM_UP_STEPS + 1:
            self._capture(tensors, factors)
        if self.graph is None or self.inputs is None or self.losses is None:
            return self.run(tensors, factors)
        for static, new in zip(_flat(*self.inputs), _flat(tensors, factors), strict=True):
            static.copy_(new, non_blocking=True)
        self.graph.replay()
        return self.losses.clone()

    def _on_own_stream(self, tensors: PackedTensors, factors: Tensor) -> Tensor:
        current, own = torch.cuda.current_stream(), torch.cuda.Stream()
        own.wait_stream(current)
        with torch.cuda.stream(own):
            losses = self.run(tensors, factors)
        current.wait_stream(own)
        return losses

    def _capture(self, tensors: PackedTensors, factors: Tensor) -> None:
        source, given = (type(side)(*(x.clone() for x in side)) for side in tensors[:2])
        inputs = PackedTensors(source, given, tensors.labels_bt.clone()), factors.clone()
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        try:
            # Another thread copies the next batches meanwhile.
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                losses = self.run(*inputs)
        except RuntimeError as error:
            warnings.warn(
                f"training goes on without a CUDA graph, and slower: {error!s:.300}", stacklevel=2
            )
            return
        self.graph, self.inputs, self.losses = graph, inputs, losses


def _flat(tensors: PackedTensors, factors: Tensor) -> list[Tensor]:
    return [*tensors.source, *tensors.given, tensors.labels_bt, factors]


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor on the device; from pinned memory, so that the copy does not block."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


@dataclass
class State:
    """Parameters, optimiser, averaged parameters, and the position in the text."""

    parameters: Tensors
    optimiser: torch.optim.AdamW
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


def new_state(parameters: Tensors) -> State:
    """The start of a round, from these parameters."""
    own = {name: p.detach().clone().float().requires_grad_() for name, p in parameters.items()}
    average = {name: p.detach().clone() for name, p in own.items()}
    return State(own, adamw(own.values()), average)


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


def load_state(parameters: Tensors, folder: Path) -> State | None:
    """Read what `save_state` wrote, onto the device of `parameters`; None if nothing was."""
    path = folder / "state.safetensors"
    if not path.is_file():
        return None
    state = new_state(parameters)
    try:
        _restore_state(state, path)
    except (SafetensorError, KeyError, RuntimeError, ValueError):
        raise FileError(
            f"{path} must hold the state of this training, but it is broken or of another "
            "training: choose another folder for --out, or remove this file to start again."
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


_WEIGHT_DECAY = 0.01


def adamw(parameters: Iterable[Tensor]) -> torch.optim.AdamW:
    """AdamW, fused on a GPU."""
    given = list(parameters)
    device = given[0].device
    on_gpu = device.type == "cuda"
    # A CUDA graph reads the learning rate from the device.
    rate = torch.tensor(1e-3, device=device) if on_gpu else 1e-3
    return torch.optim.AdamW(
        given, lr=rate, betas=(0.9, 0.98), eps=1e-9, weight_decay=_WEIGHT_DECAY,
        fused=on_gpu, capturable=on_gpu,
    )  # fmt: skip
