"""One step of the optimiser on a packed batch; on a GPU the whole step is one CUDA graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from regard.transformer.config import Config
from regard.transformer.train.packed_model import PackedMode, PackedTensors, packed_loss
from regard.transformer.train.recipe import Hyperparameters, TaughtHead
from regard.transformer.train.training_state import State

_WARM_UP = 3  # steps before the capture, in which libraries allocate what they need


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
        return run(batch.tensors, _to_device(factors, state.parameters["embedding"].device))

    return take


def loss_factors(
    step: int, filled: float, taught: Sequence[TaughtHead], translated: bool = True
) -> Tensor:
    """Factors of the losses of a step: that of translation, then those of the taught heads.

    The last batch of an epoch may be small; its few pairs must not count for a full one.

    >>> loss_factors(0, 0.5, [TaughtHead("encoder", 3, 6, "anaphora", weight=0.1)]).tolist()
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
        """Take a step with these tensors."""
        self.calls += 1
        if self.calls <= _WARM_UP:
            return self._on_own_stream(tensors, factors)
        if self.calls == _WARM_UP + 1:
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


def _to_device(tensor: Tensor, device: torch.device) -> Tensor:
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor
