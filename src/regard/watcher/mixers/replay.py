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
from regard.watcher.mixers.module_call import Key, ModuleCall, Place, Results

TOLERANCE = 2e-5  # of the sum of |w v|: float32 rounds by 6e-8, and hundreds of terms are added


@dataclass(frozen=True)
class Source:
    """What the value is made of through a short convolution: its input, and the channels used.

    The value at position ``t`` reads ``t - lag`` for each of ``lags``.
    """

    place: Place
    channels: tuple[int, ...]
    lags: range


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

        def visit(key: Key, tensor: Tensor) -> Tensor:
            if key == stream.value.key:
                own = tensor.detach().requires_grad_() if given is None else given.to(tensor)
                tensor = own.reshape(tensor.shape)
                found.append(own)
            if key[::2] == stream.mixed.key[::2]:
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
            product_htv = self.by_head(self._product(cotangent_thv.reshape(positions, -1)))
            result.append(product_htv[..., : len(some)].mT)
        return torch.cat(result, dim=1)

    def received(self) -> Tensor:
        """The signed sum (h, t) of every column of W, from one backward."""
        ones_tv = self.mixed.new_ones(self.positions, self.stream.channels)
        return self.by_head(self._product(ones_tv))[..., 0]

    def span_sums(self, start: int, stop: int) -> Tensor:
        """The signed weight (h, t) of every row on the positions of a span, from one forward."""
        given_tv = torch.zeros_like(self.value_tv)
        given_tv[start:stop] = 1
        mixed = self._forward(self.stream.value.unflat(given_tv, self.value))[1]
        return self.by_head(self.stream.mixed.flat(mixed))[..., 0]

    def misses(
        self, chosen: Sequence[int], rows_hat: Tensor, given: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """|W v - mixed| (h, a, v) in some rows, and the sums of |w v| there."""
        value, mixed = self.value.detach(), self.mixed.detach()
        if given is not None:
            value, mixed = given, self._forward(given)[1]
        value_htv = self.by_head(self.stream.value.flat(value))
        mixed_hav = self.by_head(self.stream.mixed.flat(mixed)[list(chosen)])
        return (rows_hat @ value_htv - mixed_hav).abs(), rows_hat.abs() @ value_htv.abs()

    def by_head(self, flat_tv: Tensor) -> Tensor:
        """Positions and channels (t, v) as (h, t, v)."""
        return flat_tv.reshape(len(flat_tv), self.stream.heads, -1).transpose(0, 1)

    def error(self, chosen: Sequence[int], given: Tensor | None = None) -> float:
        """The largest |W v - mixed| in some rows, as ``relative`` says."""
        return relative(*self.misses(chosen, self.rows(chosen), given))

    def other_value(self) -> Tensor:
        """A random value, for which a linear mixer has the same weights."""
        generator = torch.Generator().manual_seed(0)
        return torch.randn(self.value.shape, generator=generator).to(self.value)


def relative(off_hav: Tensor, sizes_hav: Tensor) -> float:
    """The largest of some differences, beside the channel's largest size in these rows.

    The largest among the rows, since a mixer that computes by FFT rounds by that in every row.
    """
    return float((off_hav / sizes_hav.amax(dim=1, keepdim=True).clamp_min(1e-30)).max())
