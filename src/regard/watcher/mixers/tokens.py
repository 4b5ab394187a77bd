"""From the columns of a mixer's weights to tokens, through a short convolution before its value.

Position ``t`` of the value is made of the tokens ``t - lag`` for a few lags, channel by channel.
``len(lags)`` gradients find what each token wrote; rows of weights need none. An activation behind
the convolution is held as a gate, and what biases wrote stands apart.
"""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.watcher.mixers.module_call import Enough, Key, ModuleCall, Results
from regard.watcher.mixers.replay import Replay, Source


class Tokens:
    """What each token wrote into the value: its own column alone, where no convolution is found.

    ``written_kvt`` is what token ``t`` wrote into the value at ``t + lags[k]``, ``biases_tv`` the
    value that biases alone would give. ``error`` is how far their sums are from the value, beside
    the largest size of each channel.
    """

    def __init__(self, replay: Replay) -> None:
        self.stream, self.lags, self.error = replay.stream, range(1), 0.0
        self.biases_tv = torch.zeros_like(replay.value_tv)
        self.written_kvt = replay.value_tv.T[None]
        if self.stream.source is not None:
            self._follow(replay, self.stream.source)
            self.error = self._error(replay.value_tv)

    def _follow(self, replay: Replay, source: Source) -> None:
        biases = _biases(replay.call)
        for bias in biases:
            bias.requires_grad_()
        made, given = self._run(replay.call, source.place.key)
        if biases:
            value = _bias_value(made, biases)
            self.biases_tv = self.stream.value.flat(value).detach()
        for bias in biases:
            bias.requires_grad_(requires_grad=False)
        positions, channels = replay.positions, list(source.channels)
        given_tv = source.place.flat(given).detach()[:, channels]
        position_t = torch.arange(positions, device=made.device)
        self.lags, period = source.lags, len(source.lags)
        self.written_kvt = given_tv.new_zeros(period, self.stream.channels, positions)
        for first in range(period):  # of the rows in reach of a token there is one in each period
            rows_t = (position_t % period == first).to(made)
            cotangent_tv = rows_t[:, None].expand(positions, self.stream.channels)
            cotangent = self.stream.value.unflat(cotangent_tv, made)
            (gradient,) = torch.autograd.grad(made, given, cotangent, retain_graph=True)
            product_tv = source.place.flat(gradient)[:, channels] * given_tv
            lag_t = (first - position_t - self.lags.start) % period
            self.written_kvt[lag_t, :, position_t] = product_tv

    def _run(self, call: ModuleCall, source: Key) -> tuple[Tensor, Tensor]:
        """Value and source, a leaf, of a forward whose activations are held as gates."""
        found, value = dict[Key, Tensor](), self.stream.value.key

        def visit(key: Key, tensor: Tensor) -> Tensor:
            if key == source:
                tensor = found[key] = tensor.detach().requires_grad_()
            if key == value:
                found[key] = tensor
                raise Enough
            return tensor

        with torch.enable_grad(), Results(visit, gates=True):
            call.output()
        return found[value], found[source]

    def _error(self, value_tv: Tensor) -> float:
        off_tv = self._column_sums(self.written_kvt) + self.biases_tv - value_tv
        sizes_tv = self._column_sums(self.written_kvt.abs()) + self.biases_tv.abs()
        return float((off_tv.abs().amax(dim=0) / sizes_tv.amax(dim=0).clamp_min(1e-30)).max())

    def _column_sums(self, written_kvt: Tensor) -> Tensor:
        """What all tokens wrote into each column (t, v)."""
        lags, channels, positions = written_kvt.shape
        sums_vt = written_kvt.new_zeros(channels, positions + lags - 1)
        for lag, written_vt in enumerate(written_kvt):
            sums_vt[:, lag : lag + positions] += written_vt
        return sums_vt.narrow(1, -self.lags.start, positions).T

    def _columns(self, weights_ht: Tensor) -> Tensor:
        """A row's weights (h, k, t) on the columns that each token wrote into."""
        padded_ht = pad(weights_ht, (-self.lags.start, self.lags.stop - 1))
        return padded_ht.unfold(-1, weights_ht.shape[1], 1)

    def parts(self, weights_ht: Tensor) -> Tensor:
        """What each token (v, t) wrote into a row of the mixed value."""
        columns_vkt = self._columns(weights_ht).repeat_interleave(self.stream.width, dim=0)
        return (columns_vkt * self.written_kvt.transpose(0, 1)).sum(dim=1)

    def along(self, weights_ht: Tensor, row_v: Tensor) -> Tensor:
        """The product (h, t) of what each token wrote into a row with the row, in each head."""
        products_vt = self.parts(weights_ht) * row_v[:, None]
        return products_vt.unflatten(0, (-1, self.stream.width)).sum(dim=1)

    def sizes(self, weights_ht: Tensor) -> Tensor:
        """The size (h, t) of the vector that each token wrote into a row of each head."""
        if self.stream.width == 1:
            return self.parts(weights_ht).abs()
        columns = self._columns(weights_ht.double())
        squares_ht = torch.einsum("hkt,hklt,hlt->ht", columns, self._products, columns)
        return squares_ht.clamp_min(0).sqrt()

    @cached_property
    def _products(self) -> Tensor:
        """Products (h, k, l, t) of what a token wrote at two lags; two parts may cancel: float64.

        The size of any row's part is a square form in them, and no row needs the channels again.
        """
        of_heads = self.written_kvt.split(self.stream.width, dim=1)
        return torch.stack([torch.einsum("kvt,lvt->klt", x.double(), x.double()) for x in of_heads])


def _bias_value(made: Tensor, biases: list[Tensor]) -> Tensor:
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
