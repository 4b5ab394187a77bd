"""The training loop: packed batches, steps of the optimiser, and the callbacks that are due."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regard.errors import RegardError
from regard.transformer.config import Config
from train.data import EncodedPairs, Ragged
from train.dataset import Dataset, Splits, split_pieces
from train.model import (
    PackedMode,
    PackedTensors,
    SideTensors,
    Tensors,
    attention_kernel,
    packed_loss,
)
from train.packing import (
    BatchShape,
    Epoch,
    PackedBatch,
    PackedSide,
    WordTable,
    epochs,
    token_links,
)
from train.recipe import (
    Hyperparameters,
    Point,
    Progress,
    Round,
    TaughtHead,
    learning_rate,
    no_progress,
    share_done,
)
from train.step import (
    DeviceBatch,
    State,
    add_to_average,
    finished,
    load_state,
    new_state,
    save_state,
    set_learning_rate,
    step_function,
    to_device,
    train_only,
)

_BATCHES_AHEAD = 3

Validate = Callable[[Tensors], Point]


class DivergedError(RegardError, RuntimeError):
    """The loss is not finite."""


def no_validation(parameters: Tensors) -> Point:
    """Measure nothing."""
    return {}


@dataclass(frozen=True)
class RoundHooks:
    """Folder of the states, callbacks of a round, and how often they are called.

    `stop_at` ends the round early at that step, as an interruption would.
    """

    folder: Path
    progress: Progress = no_progress
    validate: Validate = no_validation
    report_every: int = 20
    save_seconds: float = 60.0
    validations: int = 4
    stop_at: int | None = None


@dataclass(frozen=True)
class RoundText:
    """Dataset of a round, the splits of its pieces, and the words of sources and targets."""

    dataset: Dataset
    splits: Splits
    tables: tuple[WordTable, WordTable]

    def prepared(self, rng: np.random.Generator, share: float) -> tuple[EncodedPairs, Ragged]:
        """Pairs of an epoch with a share of their pieces split again, and their links as tokens."""
        drawn = self.dataset.draw(rng)
        source = split_pieces(drawn.source, self.splits, share, rng)
        target = split_pieces(drawn.target, self.splits, share, rng)
        pairs = EncodedPairs(source, target, drawn.links)
        return pairs, token_links(pairs, self.tables)


Plan = tuple[Round, Hyperparameters]


def train_round(
    start: Tensors, config: Config, text: RoundText, plan: Plan, hooks: RoundHooks
) -> State:
    """Follow one round to its end, from `start` or from where its folder says it was left."""
    part, hyperparameters = plan
    if part.trained:
        plan = part, heads_alone(hyperparameters, part.trained)
        hyperparameters = plan[1]
    device = next(iter(start.values())).device
    with attention_kernel(hyperparameters.attention, device):
        mode = working_mode(start, config, hyperparameters)
        torch.manual_seed(hyperparameters.seed)
        state = load_state(start, hooks.folder) or new_state(start)
        if part.trained:
            train_only(state, matrix_names(hyperparameters.taught))
        meter = Meter(state, plan, hooks)
        take_step = step_function(state, config, hyperparameters, mode, not part.trained)
        for batch in batches(text, hyperparameters, state, device):
            done = share_done(part, state.step, meter.seconds())
            if done >= 1 or state.step == hooks.stop_at:
                break
            meter.after_step(batch, take_step(batch))
    meter.save()
    return state


def heads_alone(hyperparameters: Hyperparameters, kind: str) -> Hyperparameters:
    """Hyperparameters to train only the heads taught one kind of links, without dropout."""
    heads = tuple(head for head in hyperparameters.taught if head.of == kind)
    return replace(hyperparameters, taught=heads, dropout=0.0)


def matrix_names(heads: Iterable[TaughtHead]) -> set[str]:
    """The parameters that hold the queries and keys of these heads.

    >>> sorted(matrix_names([TaughtHead("cross", 2, 3, "alignment")]))
    ['decoder.2.cross_attention.w_key', 'decoder.2.cross_attention.w_query']
    """
    parts = {"encoder": "encoder.{}.self_attention", "cross": "decoder.{}.cross_attention"}
    layers = {parts[head.part].format(head.layer) for head in heads}
    return {f"{layer}.{matrix}" for layer in layers for matrix in ("w_query", "w_key")}


def batch_shape(hyperparameters: Hyperparameters) -> BatchShape:
    """Shape of a batch: as many rows as its tokens fill, at least one."""
    widths = hyperparameters.source_width, hyperparameters.target_width
    return BatchShape(max(1, hyperparameters.tokens_per_batch // sum(widths)), *widths)


def working_mode(start: Tensors, config: Config, hyperparameters: Hyperparameters) -> PackedMode:
    """bfloat16 and compiled on a GPU, float32 elsewhere; not compiled where that fails.

    The compiler runs on an empty batch, before the clock of the round.
    """
    device = next(iter(start.values())).device
    if device.type != "cuda":
        return PackedMode(
            torch.float32, hyperparameters.dropout, hyperparameters.smoothing, "plain"
        )
    mode = PackedMode(
        torch.bfloat16,
        hyperparameters.dropout,
        hyperparameters.smoothing,
        hyperparameters.attention,
        hyperparameters.compile,
    )
    if mode.compiled:
        try:
            compile_loss(start, config, hyperparameters, mode)
        except Exception as error:
            warnings.warn(
                f"training goes on uncompiled, and slower: torch.compile gave {error!r:.300}.",
                stacklevel=2,
            )
            return replace(mode, compiled=False)
    return mode


def compile_loss(
    start: Tensors, config: Config, hyperparameters: Hyperparameters, mode: PackedMode
) -> None:
    """Compile the loss and its gradient, by one run on a batch without pairs."""
    parameters = {name: p.detach().clone().requires_grad_() for name, p in start.items()}
    shape = batch_shape(hyperparameters)
    batch = on_device(empty_batch(shape), parameters["embedding"].device)
    loss, taught = packed_loss(parameters, config, batch, mode, hyperparameters.taught)
    sum((x.loss for x in taught), loss).backward()


def empty_batch(shape: BatchShape) -> PackedBatch:
    """A batch of padding."""
    source, target = (
        np.zeros((shape.rows, width), dtype=np.int32) for width in (shape.source, shape.target)
    )
    return PackedBatch(PackedSide(*[source] * 5), PackedSide(*[target] * 5), target)


def batches(
    text: RoundText, hyperparameters: Hyperparameters, state: State, device: torch.device
) -> Iterator[DeviceBatch]:
    """Batches from where the state stands, epoch after epoch; the state is updated."""
    shape = batch_shape(hyperparameters)
    prepare = partial(text.prepared, share=hyperparameters.split)
    for epoch in epochs(prepare, shape, hyperparameters.seed, state.epoch):
        yield from _remaining_batches(epoch, state, device)
        state.epoch, state.batch = state.epoch + 1, 0


def _remaining_batches(epoch: Epoch, state: State, device: torch.device) -> Iterator[DeviceBatch]:
    """The batches of an epoch that the state has not seen, the next ones prepared in a thread."""

    def make(number: int) -> DeviceBatch:
        batch = epoch.batch(number)
        return DeviceBatch(on_device(batch, device), batch.size, batch.filled)

    with ThreadPoolExecutor(1) as pool:
        pending: deque[Future[DeviceBatch]] = deque()
        following = state.batch
        while state.batch < len(epoch):
            while following < len(epoch) and len(pending) < _BATCHES_AHEAD:
                pending.append(pool.submit(make, following))
                following += 1
            yield pending.popleft().result()


def on_device(batch: PackedBatch, device: torch.device) -> PackedTensors:
    """The tensors of a batch."""

    def to(array: np.ndarray) -> Tensor:
        return to_device(torch.from_numpy(np.ascontiguousarray(array)), device)

    source, given = (SideTensors(*map(to, side)) for side in batch[:2])
    return PackedTensors(source, given, to(batch.labels_bt))


class Meter:
    """Counter of steps, tokens and seconds, with the callbacks that are due at each."""

    def __init__(self, state: State, plan: Plan, hooks: RoundHooks) -> None:
        self.state, self.hooks = state, hooks
        self.part, self.hyperparameters = plan
        self.began = time.monotonic() - state.seconds
        self.losses: list[Tensor] = []
        self.saved = state.seconds
        self.tokens_before, self.seconds_before = state.tokens, state.seconds
        self.done = share_done(self.part, state.step, state.seconds)
        self.set_learning_rate(self.done)

    def seconds(self) -> float:
        """Seconds spent in this round, those before an interruption included."""
        return time.monotonic() - self.began

    def set_learning_rate(self, done: float) -> None:
        # Adam's very first steps are of full size whatever the gradient, so they start small.
        rate = max(learning_rate(self.part, done), 1e-3 * self.part.learning_rate)
        set_learning_rate(self.state, rate)

    def after_step(self, batch: DeviceBatch, losses: Tensor) -> None:
        """Count a step, and run the callbacks that are due."""
        state, before = self.state, self.done
        state.step, state.batch = state.step + 1, state.batch + 1
        state.tokens += batch.size
        self.losses.append(losses)
        self.done = done = share_done(self.part, state.step, self.seconds())
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
        state = self.state
        loss, *taught = torch.stack(self.losses).mean(0).tolist()
        if not np.isfinite(loss):
            raise DivergedError(
                f"the loss must be a finite number, got {loss} at step {state.step}: "
                "lower the learning rate."
            )
        seconds = self.seconds()
        speed = (state.tokens - self.tokens_before) / (seconds - self.seconds_before)
        self.losses, self.tokens_before, self.seconds_before = [], state.tokens, seconds
        rate = float(self.state.optimiser.param_groups[0]["lr"])
        numbers = {"done": done, "tokens_per_second": speed, "learning_rate": rate}
        if not self.part.trained:
            numbers["loss"] = loss
        self._add(numbers | taught_numbers(self.hyperparameters.taught, taught))

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
        self.hooks.progress(self.part, point)


def taught_numbers(heads: Sequence[TaughtHead], numbers: Sequence[float]) -> Point:
    """Loss and accuracy of each taught head, by name.

    >>> taught_numbers([TaughtHead("encoder", 3, 6, "pronouns")], [0.7, 0.5])
    {'encoder 3.6 pronouns loss': 0.7, 'encoder 3.6 pronouns right': 0.5}
    """
    names = [f"{x.part} {x.layer}.{x.head} {x.of} {y}" for x in heads for y in ("loss", "right")]
    return dict(zip(names, numbers, strict=True))


def _crosses(before: float, after: float, times: int, begin: float) -> bool:
    """Whether one of `times` even marks between `begin` and the end lies in (before, after]."""
    if times == 0:
        return False
    width = (1 - begin) / times
    marks_before, marks_after = (int(max(0.0, at - begin) / width + 1e-9) for at in (before, after))
    return marks_before < marks_after
