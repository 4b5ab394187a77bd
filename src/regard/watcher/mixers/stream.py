"""Where the value of a mixer enters and leaves: found by differentiating one short forward.

No name of a function, argument or architecture is needed. A tensor of the forward is ``mixed`` if
each of its channels depends on one channel of an earlier tensor, the ``value``, at other positions
too, and if the gradient times the value gives it (Euler: it has degree 1 in it). Queries, keys and
gates fail the first test, everything nonlinear fails the last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import BackendError
from regard.watcher.mixers.module_call import Key, ModuleCall, Place, Results
from regard.watcher.mixers.replay import TOLERANCE, Replay, Source, Stream
from regard.watcher.mixers.tokens import Tokens

SHORT, LONGER = 13, 29  # primes: no width of a head is one, so the axis of positions is known
CHANNELS_TESTED = 4
MOST_LAGS = 16  # of a convolution that is short
TOUCHED = 1e-6  # of the largest gradient: what float32 leaves of a zero
LOOKS_BACK = 1e-7  # of the largest gradient, by position


class NoStreamError(BackendError):
    """No tensor of a module is a value that is mixed channel by channel."""


@dataclass(frozen=True)
class Made:
    """A tensor of a forward, and its positions and channels."""

    place: Place
    tensor: Tensor
    flat_tv: Tensor


def mixes(call: ModuleCall, before: nn.Module | None = None) -> bool:
    """Whether a position of the module's output depends on another position of its input.

    With ``before`` a position of what enters that module inside, instead of the output.
    """
    hidden = call.hidden.detach().clone().requires_grad_()
    row, entered = call.positions // 2, list[Tensor]()

    def keep(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        entered.extend(x for x in (*args, *kwargs.values()) if getattr(x, "ndim", 0) == 3)

    if before is not None:
        before.register_forward_pre_hook(keep, with_kwargs=True)
    with torch.enable_grad():
        output = call.output(hidden)
        if before is not None:
            output = entered[0]
        if not output.requires_grad or output.ndim < 2 or output.shape[:2] != hidden.shape[:2]:
            return False
        (gradient,) = torch.autograd.grad(_uneven_sum(output[0, row]), hidden, allow_unused=True)
    if gradient is None:
        return False
    size_t = gradient[0].float().norm(dim=-1)
    size_t[row] = 0
    return bool(size_t.max() > 0)


def _uneven_sum(row: Tensor) -> Tensor:
    """A sum that a norm does not make constant."""
    weights = torch.linspace(-1, 2, row.numel(), dtype=row.dtype, device=row.device)
    return (row.flatten() * weights).sum()


def find_stream(call_of: Callable[[int], ModuleCall]) -> Stream:
    """Where the value of a module enters and leaves, of calls with a sentence of any length.

    Of several streams one that all mixing passes, then the widest heads, which are those before a
    gate for each channel, then the last.
    """
    short, longer = call_of(SHORT), call_of(LONGER)
    made, counts = _results(short)
    best, best_key = None, (False, 0)
    for mixed in reversed(made):
        value = _first_on_one_chain(_values(made, mixed))
        if value is None:
            continue
        number = mixed.place.number - counts[mixed.place.function]
        place = replace(mixed.place, number=number)
        stream = Stream(value.place, place, mixed.flat_tv.shape[1], 1)
        width = _width(short, stream)
        key = (bool(width) and not _passes_by(short, mixed.place), width)
        if key > best_key and _works(longer, stream, [LONGER - 1]):
            best, best_key = replace(stream, width=width), key
        if best_key[0] and best_key[1] > 1:
            break
    if best is None:
        raise NoStreamError("no value in it is mixed position by position, channel by channel")
    if not best_key[0]:
        raise NoStreamError(f"some of its mixing does not pass {best.mixed} (two values, or more)")
    return replace(best, source=_source(short, longer, best))


def _results(call: ModuleCall, gates: bool = False) -> tuple[list[Made], dict[str, int]]:
    """Every tensor of a forward with one axis of positions, and how often each function ran."""
    made = []

    def visit(key: Key, tensor: Tensor) -> Tensor:
        shape = tuple(tensor.shape)
        fits = len(shape) > 2 and shape[0] == 1 and shape.count(call.positions) == 1
        if fits and tensor.requires_grad and tensor.is_floating_point() and tensor.numel():
            place = Place(*key, shape.index(call.positions))
            made.append(Made(place, tensor, place.flat(tensor)))
        return tensor

    hidden = call.hidden.detach().clone().requires_grad_()
    with torch.enable_grad(), Results(visit, gates) as results:
        call.output(hidden)
    return made, results.counts


def _values(made: list[Made], mixed: Made) -> list[Made]:
    """What a tensor is a mixture of, as far as a few of its outputs show."""
    channels = mixed.flat_tv.shape[1]
    values = [x for x in made if x.flat_tv.shape[1] == channels and x.tensor is not mixed.tensor]
    chosen = torch.linspace(0, channels - 1, CHANNELS_TESTED).round().int().tolist()
    mixing = set[int]()
    for row in (SHORT - 1, SHORT // 2):
        for channel in dict.fromkeys(chosen):
            if not values:
                return []
            output = mixed.flat_tv[row, channel]
            verdicts = [
                _reaches_others(gradient, x, output, row, channel)
                for gradient, x in zip(_gradients(output, values), values, strict=True)
            ]
            mixing |= {id(x) for x, verdict in zip(values, verdicts, strict=True) if verdict}
            values = [x for x, verdict in zip(values, verdicts, strict=True) if verdict is not None]
    return [x for x in values if id(x) in mixing]


def _gradients(output: Tensor, sources: Sequence[Made]) -> tuple[Tensor | None, ...]:
    tensors = [x.tensor for x in sources]
    options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
    gradients: tuple[Tensor | None, ...] = torch.autograd.grad(output, tensors, **options)
    return gradients


def _reaches_others(
    gradient: Tensor | None, source: Made, output: Tensor, row: int, channel: int
) -> bool | None:
    """Whether an output depends on other positions of a source; None if it is no such value."""
    if gradient is None:
        return None
    weights_tv = source.place.flat(gradient)
    size = weights_tv.abs().max()
    if not torch.isfinite(size) or size == 0:
        return None
    touched_tv = weights_tv.abs() > TOUCHED * size
    if touched_tv.any(dim=0).nonzero()[:, 0].tolist() != [channel]:
        return None
    terms_t = weights_tv[:, channel] * source.flat_tv[:, channel]
    if (terms_t.sum() - output).abs() > TOLERANCE * terms_t.abs().sum() + 1e-30:
        return None
    touched_tv[row] = False
    return bool(touched_tv.any())


def _first_on_one_chain(values: list[Made]) -> Made | None:
    """The first value that all others were made of, or that was made of them.

    Two factors of a product are neither. A factor without negative numbers is a gate or a step, and
    no value if another has both signs.
    """
    values = [x for x in values if x.flat_tv.min() < 0] or values
    for x in values:
        others = [y for y in values if y is not x]
        made_of = _gradients(x.tensor.sum(), others) if others else ()
        unrelated = [y for y, of in zip(others, made_of, strict=True) if of is None]
        if all(_gradients(y.tensor.sum(), [x])[0] is not None for y in unrelated):
            return x
    return None


def _works(call: ModuleCall, stream: Stream, rows: list[int]) -> bool:
    """Whether a replay finds both places and W v is the output, for a random value as well."""
    try:
        replay = Replay(call, stream)
        own = replay.error(rows)
        return own < TOLERANCE and replay.error(rows, replay.other_value()) < TOLERANCE
    except (BackendError, RuntimeError):
        return False


def _width(call: ModuleCall, stream: Stream) -> int:
    """How many neighbouring channels have the same weights; 0 if a replay gives another output."""
    if not _works(call, stream, [0, SHORT // 2, SHORT - 1]):
        return 0
    rows_vat = Replay(call, stream).rows([SHORT - 1, SHORT // 2])
    # At each position by itself: the skip of a state-space model is far larger than its memory.
    scale_at = 1e-4 * rows_vat.abs().amax(dim=0) + 1e-8 * rows_vat.abs().amax()
    same = ((rows_vat[1:] - rows_vat[:-1]).abs() <= scale_at).flatten(1).all(dim=1)
    starts = [0, *((~same).nonzero()[:, 0] + 1).tolist(), len(rows_vat)]
    widths = {b - a for a, b in pairwise(starts)}
    return widths.pop() if len(widths) == 1 else 1


def _passes_by(call: ModuleCall, place: Place) -> bool:
    """Whether an output depends on other positions while the tensor at a place is held."""

    def visit(key: Key, tensor: Tensor) -> Tensor:
        return tensor.detach() if key == place.key else tensor

    hidden = call.hidden.detach().clone().requires_grad_()
    with torch.enable_grad(), Results(visit):
        output = call.output(hidden)
    return output.requires_grad and bool(looks_elsewhere(output[0, -1], hidden, call.positions - 1))


def looks_elsewhere(row: Tensor, hidden: Tensor, position: int) -> list[int]:
    """The other positions of the input that a row depends on."""
    options: dict[str, Any] = {"retain_graph": True, "allow_unused": True}
    (gradient,) = torch.autograd.grad(row.square().sum(), hidden, **options)
    if gradient is None:
        return []
    size_t = gradient[0].norm(dim=-1)
    largest = size_t.max()
    size_t[position] = 0
    positions: list[int] = (size_t > LOOKS_BACK * largest).nonzero()[:, 0].tolist()
    return positions


def _source(short: ModuleCall, longer: ModuleCall, stream: Stream) -> Source | None:
    """The input of a convolution before the value: the first tensor that it is a mixture of."""
    made, _ = _results(longer, gates=True)
    index = next(i for i, x in enumerate(made) if x.place.key == stream.value.key)
    value, channels = made[index], stream.channels
    for given in made[:index]:
        used = [_used(value.flat_tv[-1, x], given)[1] for x in (0, channels // 2, channels - 1)]
        first = used[0][0] if used[0] else 0
        if used != [[first], [first + channels // 2], [first + channels - 1]]:
            continue
        reads = _used(value.flat_tv[[0, -1]].sum(), given)[0]  # of both ends
        before = LONGER - 1 - min((x for x in reads if x > LONGER // 2), default=LONGER - 1)
        after = max((x for x in reads if x <= LONGER // 2), default=0)
        if not 0 < before + after < MOST_LAGS:
            continue
        lags, ordered = range(-after, before + 1), tuple(range(first, first + channels))
        found = replace(stream, source=Source(given.place, ordered, lags))
        if _adds_up(short, found) and _adds_up(longer, found):
            return found.source
    return None


def _used(output: Tensor, source: Made) -> tuple[list[int], list[int]]:
    """The positions and the channels of a source that a number is made of."""
    (gradient,) = _gradients(output, [source])
    if gradient is None:
        return [], []
    size_tv = source.place.flat(gradient).abs()
    touched_tv = size_tv > TOUCHED * size_tv.max()
    positions, channels = (touched_tv.any(dim=x).nonzero()[:, 0].tolist() for x in (1, 0))
    return positions, channels


def _adds_up(call: ModuleCall, stream: Stream) -> bool:
    """Whether what tokens and biases wrote is the value."""
    try:
        return Tokens(Replay(call, stream)).error < TOLERANCE
    except (BackendError, RuntimeError, KeyError):
        return False
