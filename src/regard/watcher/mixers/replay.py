"""The weights of a mixer on one text, row by row, from its own forward: W is never made whole.

Between the place where the value enters a mixer and the place where it leaves mixed, the mixer is
linear: ``mixed = W value`` for each head, where W comes from everything else. One backward through
the mixer gives as many rows of W as a head has channels, since each channel carries another row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import BackendError
from regard.watcher.mixers.module_call import ModuleCall, Place, Results

TOLERANCE = 2e-5  # of the sum of |w v|: float32 rounds by 6e-8, and hundreds of terms are added


@dataclass(frozen=True)
class Source:
    """What the value is made of through a short convolution: its input, and the channels used."""

    place: Place
    channels: tuple[int, ...]


@dataclass(frozen=True)
class Stream:
    """Where the value enters and leaves; ``width`` neighbouring channels share their weights."""

    value: Place
    mixed: Place
    channels: int
    width: int
    source: Source | None = None

    @property
    def heads(self) -> int:
        """How many rows of weights each position has: one a head, or one a channel."""
        return self.channels // self.width


class Replay:
    """One mixer on one text, run again up to the place where its value leaves mixed."""

    def __init__(self, call: ModuleCall, stream: Stream) -> None:
        self.call, self.stream = call, stream
        self.positions = call.positions
        self.value, self.mixed, self.output = self._forward(None)
        for place, tensor in ((stream.value, self.value), (stream.mixed, self.mixed)):
            sizes = (self.positions, self.positions * stream.channels)
            axis = place.axis if place.axis < tensor.ndim else 0
            if (tensor.shape[axis], tensor.numel()) != sizes:
                raise BackendError(f"at this length {place} is another tensor")
        if not self.mixed.requires_grad:
            raise BackendError(f"{stream.mixed} is not made of {stream.value} at this length")

    def _forward(self, given: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Value, mixed and output; ``given`` takes the value's place, else it is a leaf."""
        stream, found = self.stream, list[Tensor]()
        last: deque[Tensor | None] = deque(maxlen=-stream.mixed.number)

        def visit(function: str, number: int, part: int, tensor: Tensor) -> Tensor:
            at = (function, number, part)
            if at == (stream.value.function, stream.value.number, stream.value.part):
                own = tensor.detach().requires_grad_() if given is None else given.to(tensor)
                tensor = own.reshape(tensor.shape)
                found.append(own)
            if (function, part) == (stream.mixed.function, stream.mixed.part):
                last.append(tensor)
            return tensor

        with torch.set_grad_enabled(given is None), Results(visit):
            output = self.call.output()
        if not found or len(last) < -stream.mixed.number:
            raise BackendError(f"{stream.value} or {stream.mixed} is not computed at this length")
        mixed = last[0]
        assert mixed is not None
        return found[0], mixed, output.detach()

    @property
    def value_tv(self) -> Tensor:
        return self.stream.value.flat(self.value).detach()

    @property
    def mixed_tv(self) -> Tensor:
        return self.stream.mixed.flat(self.mixed).detach()

    def _product(self, cotangent_tv: Tensor) -> Tensor:
        """W transposed times a cotangent (t, v): one backward through the mixer."""
        cotangent = self.stream.mixed.unflat(cotangent_tv, self.mixed)
        (gradient,) = torch.autograd.grad(self.mixed, self.value, cotangent, retain_graph=True)
        return self.stream.value.flat(gradient)

    def rows(self, chosen: Sequence[int]) -> Tensor:
        """The signed weights (h, a, t) of some rows on every position of the value."""
        heads, width, positions = self.stream.heads, self.stream.width, self.positions
        result = []
        for start in range(0, len(chosen), width):
            some = chosen[start : start + width]
            cotangent_thv = self.mixed.new_zeros(positions, heads, width)
            for channel, i in enumerate(some):
                cotangent_thv[i, :, channel] = 1
            product_tv = self._product(cotangent_thv.reshape(positions, -1))
            product_thv = product_tv.reshape(positions, heads, width)
            result.append(product_thv[:, :, : len(some)].permute(1, 2, 0))
        return torch.cat(result, dim=1)

    def received(self) -> Tensor:
        """The signed sum (h, t) of every column of W, from one backward."""
        ones_tv = self.mixed.new_ones(self.positions, self.stream.channels)
        product_tv = self._product(ones_tv)
        return product_tv.reshape(self.positions, self.stream.heads, -1)[..., 0].T

    def span_sums(self, start: int, stop: int) -> Tensor:
        """The signed weight (h, t) of every row on the positions of a span, from one forward."""
        given_tv = torch.zeros_like(self.value_tv)
        given_tv[start:stop] = 1
        mixed = self._forward(self.stream.value.unflat(given_tv, self.value))[1]
        mixed_tv = self.stream.mixed.flat(mixed)
        return mixed_tv.reshape(self.positions, self.stream.heads, -1)[..., 0].T

    def error(self, chosen: Sequence[int], given: Tensor | None = None) -> float:
        """The largest |W v - mixed| in some rows, beside the channel's largest sum of |w v| there.

        The largest among the rows, since a mixer that computes by FFT rounds by that in every row.
        """
        value, mixed = self.value.detach(), self.mixed.detach()
        if given is not None:
            value, mixed = given, self._forward(given)[1]
        heads = self.stream.heads
        value_thv = self.stream.value.flat(value).reshape(self.positions, heads, -1)
        mixed_thv = self.stream.mixed.flat(mixed).reshape(self.positions, heads, -1)
        rows_hat = self.rows(chosen)
        made_ahv = torch.einsum("hat,thv->ahv", rows_hat, value_thv)
        sizes_ahv = torch.einsum("hat,thv->ahv", rows_hat.abs(), value_thv.abs())
        off_ahv = (made_ahv - mixed_thv[list(chosen)]).abs()
        return float((off_ahv / sizes_ahv.amax(dim=0).clamp_min(1e-30)).max())

    def other_value(self) -> Tensor:
        """A random value, for which a linear mixer has the same weights."""
        generator = torch.Generator().manual_seed(0)
        return torch.randn(self.value.shape, generator=generator).to(self.value)


class TokenParts:
    """What each token wrote into a row of the mixed value, through the convolution before it."""

    def __init__(self, replay: Replay) -> None:
        self.replay, self.stream = replay, replay.stream
        self.biases_tv = torch.zeros_like(replay.value_tv)  # the value that biases alone would give
        if self.stream.source is not None:
            self._run(self.stream.source.place, _biases(replay.call))

    def _run(self, place: Place, biases: Sequence[Tensor]) -> None:
        """Value and source of a forward whose activations are held as gates."""
        value, found = self.stream.value, dict[str, Tensor]()

        def visit(function: str, number: int, part: int, tensor: Tensor) -> Tensor:
            at = (function, number, part)
            if at == (place.function, place.number, place.part):
                tensor = found["source"] = tensor.detach().requires_grad_()
            if at == (value.function, value.number, value.part):
                found["value"] = tensor
                tensor = tensor.detach()
            return tensor

        for bias in biases:
            bias.requires_grad_()
        with torch.enable_grad(), Results(visit, gates=True):
            self.replay.call.output()
        self.made, self.source = found["value"], found["source"]
        if biases:
            self.biases_tv = value.flat(_bias_value(self.made, biases)).detach()
        for bias in biases:
            bias.requires_grad_(requires_grad=False)

    def parts(self, weights_hat: Tensor, row: int) -> tuple[Tensor, Tensor]:
        """What each token (t, v) and the biases (v) wrote into row ``row`` of weights (h, a, t)."""
        weights_tv = weights_hat[:, row].T.repeat_interleave(self.stream.width, dim=1)
        biases_v = (weights_tv * self.biases_tv).sum(dim=0)
        source = self.stream.source
        if source is None:
            return weights_tv * self.replay.value_tv, biases_v
        like = self.stream.value.unflat(weights_tv, self.made)
        (gradient,) = torch.autograd.grad(self.made, self.source, like, retain_graph=True)
        parts_tv = source.place.flat(gradient) * source.place.flat(self.source).detach()
        return parts_tv[:, list(source.channels)], biases_v


def _bias_value(made: Tensor, biases: Sequence[Tensor]) -> Tensor:
    """What the biases alone would give of a tensor that is affine in them.

    A gradient is linear in what is put into it, so its own gradient is the product from the left.
    """
    ones = torch.ones_like(made).requires_grad_()
    options = {"create_graph": True, "allow_unused": True}
    gradients = torch.autograd.grad(made, biases, ones, **options)
    pairs = [(g, b) for g, b in zip(gradients, biases, strict=True) if g is not None]
    if not pairs:
        return torch.zeros_like(made)
    total = torch.stack([(g * b.detach()).sum() for g, b in pairs]).sum()
    (value,) = torch.autograd.grad(total, ones, retain_graph=True)
    return value


def _biases(call: ModuleCall) -> list[Tensor]:
    named = call.module.named_parameters()
    return [x for name, x in named if name.rpartition(".")[2] == "bias" and x.is_floating_point()]
