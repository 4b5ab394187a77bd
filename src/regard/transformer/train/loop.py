"""The training loop, and its state as it is saved and resumed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.atomic_write import replacing
from regard.errors import FileError, RegardError
from regard.transformer.config import Config
from regard.transformer.train.augment import Splits, split_pieces
from regard.transformer.train.data import EncodedPairs
from regard.transformer.train.dataset import Epoch, TrainingBatch, epochs
from regard.transformer.train.recipe import Hyperparameters, Round, learning_rate, progress
from regard.transformer.train.torch_model import RunMode, Tensors, batch_loss

Point = dict[str, float]


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


_NUMBERS = ("averaged", "step", "epoch", "batch", "tokens", "seconds", "curve")


def new_state(parameters: Tensors) -> State:
    """The start of a round, from these parameters."""
    own = {name: p.detach().clone().float().requires_grad_() for name, p in parameters.items()}
    fused = next(iter(own.values())).is_cuda
    optimiser = torch.optim.AdamW(
        own.values(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.01, fused=fused
    )
    return State(own, optimiser, {name: p.detach().clone() for name, p in own.items()})


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
        kinds = [kind for kind in ("step", "exp_avg", "exp_avg_sq") if f"{kind}/{name}" in tensors]
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


Watch = Callable[[Round, Point], None]


Validate = Callable[[Tensors], Point]


class DivergedError(RegardError, RuntimeError):
    """The loss is not finite."""


def no_watch(part: Round, point: Point) -> None:
    """Ignore a point of the curve."""


def no_validation(parameters: Tensors) -> Point:
    """No measures."""
    return {}


@dataclass(frozen=True)
class RoundHooks:
    """Folder of the states, callbacks of a round, and how often they are called.

    `stop_at` ends the round early at that step, as an interruption would.
    """

    folder: Path
    watch: Watch = no_watch
    validate: Validate = no_validation
    report_every: int = 20
    save_seconds: float = 60.0
    validations: int = 4
    stop_at: int | None = None


def train_round(
    start: Tensors,
    config: Config,
    text: tuple[EncodedPairs, Splits],
    plan: tuple[Round, Hyperparameters],
    hooks: RoundHooks,
) -> State:
    """Follow one round to its end, from `start` or from where its folder says it was left."""
    part, hyperparameters = plan
    torch.manual_seed(hyperparameters.seed)
    state = load_state(start, hooks.folder) or new_state(start)
    device = next(iter(start.values())).device
    meter = Meter(state, plan, hooks)
    with short_attention(device):
        for batch in batches(text, hyperparameters, state):
            done = progress(part, state.step, meter.seconds())
            if done >= 1 or state.step == hooks.stop_at:
                break
            loss = take_step(state, config, batch, plan, running(device, hyperparameters))
            meter.after_step(batch, loss)
    meter.save()
    return state


def running(device: torch.device, hyperparameters: Hyperparameters) -> RunMode:
    """bfloat16 on a GPU, float32 elsewhere."""
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    return RunMode(dtype, hyperparameters.dropout, hyperparameters.smoothing)


def short_attention(device: torch.device) -> AbstractContextManager[None]:
    """On a GPU, keep to the attention that suits sentences.

    Nearly every batch has a shape of its own, and cuDNN plans anew for each; flash works in
    blocks far longer than a sentence (measured on an H200: 1.4 to 2.7 times as long a step).
    """
    if device.type != "cuda":
        return nullcontext()
    kernels: AbstractContextManager[None]
    kernels = sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])
    return kernels


def batches(
    text: tuple[EncodedPairs, Splits], hyperparameters: Hyperparameters, state: State
) -> Iterator[TrainingBatch]:
    """Batches from where the state stands, epoch after epoch; the state is updated."""
    pairs, splits = text
    prepare = partial(_split_both, splits=splits, share=hyperparameters.split)
    for epoch in epochs(
        pairs, prepare, hyperparameters.tokens_per_batch, hyperparameters.seed, state.epoch
    ):
        yield from _rest_of(epoch, state)
        state.epoch, state.batch = state.epoch + 1, 0


def take_step(
    state: State,
    config: Config,
    batch: TrainingBatch,
    plan: tuple[Round, Hyperparameters],
    mode: RunMode,
) -> Tensor:
    """One step of the optimiser; the loss stays on the device."""
    device = next(iter(state.parameters.values())).device
    arrays = (batch.source_bt, batch.given_bt, batch.labels_bt)
    source_bt, given_bt, labels_bt = (to_device(array, device) for array in arrays)
    loss = batch_loss(state.parameters, config, (source_bt, given_bt, labels_bt), mode)
    # The last batch of each length is small; its few pairs must not count for a full one.
    (loss * (batch.size / plan[1].tokens_per_batch)).backward()
    torch.nn.utils.clip_grad_norm_(state.parameters.values(), plan[1].clip)
    state.optimiser.step()
    state.optimiser.zero_grad(set_to_none=True)
    return loss.detach()


def to_device(array: np.ndarray, device: torch.device) -> Tensor:
    """A tensor on the device; from pinned memory, so that the copy does not block."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


class Meter:
    """Counter of steps, tokens and seconds, with the callbacks that are due at each."""

    def __init__(
        self, state: State, plan: tuple[Round, Hyperparameters], hooks: RoundHooks
    ) -> None:
        self.state, self.hooks = state, hooks
        self.part, self.hyperparameters = plan
        self.began = time.monotonic() - state.seconds
        self.losses: list[Tensor] = []
        self.saved = state.seconds
        self.tokens_before, self.seconds_before = state.tokens, state.seconds
        self.done = progress(self.part, state.step, state.seconds)
        self.set_learning_rate(self.done)

    def seconds(self) -> float:
        """Seconds spent in this round, those before an interruption included."""
        return time.monotonic() - self.began

    def set_learning_rate(self, done: float) -> None:
        """Set the optimiser's learning rate."""
        # Adam's very first steps are of full size whatever the gradient, so they start small.
        rate = max(learning_rate(self.part, done), 1e-3 * self.part.learning_rate)
        for group in self.state.optimiser.param_groups:
            group["lr"] = rate

    def after_step(self, batch: TrainingBatch, loss: Tensor) -> None:
        """Count a step, and run the callbacks that are due."""
        state, before = self.state, self.done
        state.step, state.batch = state.step + 1, state.batch + 1
        state.tokens += batch.size
        self.losses.append(loss)
        self.done = done = progress(self.part, state.step, self.seconds())
        self.set_learning_rate(done)
        if _crosses(
            before, done, self.hyperparameters.averaged, self.hyperparameters.averaged_from
        ):
            add_to_average(state)
        if state.step % self.hooks.report_every == 0:
            self.report(done)
        if _crosses(before, done, self.hooks.validations, 0.0):
            self.validate()
        if self.seconds() - self.saved > self.hooks.save_seconds:
            self.save()

    def report(self, done: float) -> None:
        """Write a point of the loss curve."""
        state, loss = self.state, float(torch.stack(self.losses).mean())
        if not np.isfinite(loss):
            raise DivergedError(
                f"the loss needs to be a number, but is {loss} at step {state.step}: "
                "lower the learning rate."
            )
        seconds = self.seconds()
        speed = (state.tokens - self.tokens_before) / (seconds - self.seconds_before)
        self.losses, self.tokens_before, self.seconds_before = [], state.tokens, seconds
        rate = self.state.optimiser.param_groups[0]["lr"]
        self._add({"done": done, "loss": loss, "tokens_per_second": speed, "learning_rate": rate})

    def validate(self) -> None:
        """Measure the parameters as they are, or their average once there is one."""
        if measured := self.hooks.validate(finished(self.state)):
            self._add(measured)

    def save(self) -> None:
        """Write the state, to resume from after an interruption."""
        self.state.seconds = self.saved = self.seconds()
        save_state(self.state, self.hooks.folder)

    def _add(self, numbers: Point) -> None:
        state = self.state
        point = {"step": state.step, "epoch": state.epoch, "seconds": self.seconds(), **numbers}
        state.curve.append(point)
        self.hooks.watch(self.part, point)


def _rest_of(epoch: Epoch, state: State) -> Iterator[TrainingBatch]:
    while state.batch < len(epoch.plan):
        yield epoch.batch(state.batch)


def _split_both(
    pairs: EncodedPairs, rng: np.random.Generator, splits: Splits, share: float
) -> EncodedPairs:
    source = split_pieces(pairs.source, splits, share, rng)
    return EncodedPairs(source, split_pieces(pairs.target, splits, share, rng))


def _crosses(before: float, after: float, times: int, begin: float) -> bool:
    """Whether one of `times` even marks between `begin` and the end lies in (before, after]."""
    if times == 0:
        return False
    width = (1 - begin) / times
    marks_before, marks_after = (int(max(0.0, at - begin) / width + 1e-9) for at in (before, after))
    return marks_before < marks_after
