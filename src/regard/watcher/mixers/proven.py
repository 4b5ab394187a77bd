"""A mixer on one text with the proofs that its weights are true, and the measures of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from regard.errors import BackendError
from regard.typing import Array
from regard.watcher.mixers.mixer_table import evenly
from regard.watcher.mixers.module_call import Enough, Key, ModuleCall, Results
from regard.watcher.mixers.replay import TOLERANCE, Replay, Stream, relative
from regard.watcher.mixers.stream import looks_elsewhere
from regard.watcher.mixers.tokens import Tokens

PROVEN_ROWS, GROUPING_ROWS = 4, 16
CHANNEL_GROUPS = 8  # of a mixer whose every channel has weights of its own
INFLUENCE_PROBES = 16
# Of the largest output: how far rounding may take one that is computed in another order. Sums of
# float32 round at every term, a few thousand of them as a random walk; narrower numbers are summed
# in float32 and rounded once for each of the few operations.
ROUNDING_STEPS = {torch.float64: 64, torch.float32: 64}
NARROW_STEPS = 8


@dataclass(frozen=True)
class Proofs:
    """What was compared before a number of a mixer is shown, each as a part of the sizes.

    ``output``: the replayed output with what the program's calls returned. ``weights``: W v with
    the mixed value, for the value and for a random one. ``tokens``: what tokens and biases wrote
    with the value. ``elsewhere``: positions other than its own that a column is made of; only
    without any is a column a token.
    """

    output: float
    weights: float
    tokens: float
    elsewhere: int

    @property
    def error(self) -> float:
        return max(self.output, self.weights, self.tokens)


@dataclass(frozen=True)
class RowMeasures:
    """Measures of some rows: (g, a) for each head, or group of channels, and row.

    ``share_gat`` is |w v| of each column as a part of its row; ``cancelled_ga`` is 1 - |sum w| /
    sum |w|, ``negative_ga`` the negative part of sum |w|, ``biases_ga`` the size of what biases
    wrote, beside the row's.
    """

    rows: tuple[int, ...]
    share_gat: Array = field(repr=False)
    cancelled_ga: Array = field(repr=False)
    negative_ga: Array = field(repr=False)
    biases_ga: Array = field(repr=False)

    @property
    def reach_ga(self) -> Array:
        """The mean distance of a row's columns, by their shares."""
        distance_at = np.abs(np.subtract.outer(self.rows, np.arange(self.share_gat.shape[-1])))
        return np.asarray((self.share_gat * distance_at).sum(axis=-1))

    @property
    def spread_ga(self) -> Array:
        """On how many columns a row is spread: 1 / sum of squared shares."""
        return np.asarray(1 / np.maximum((self.share_gat**2).sum(axis=-1), 1e-30))

    @property
    def itself_ga(self) -> Array:
        """The share of the row's own column; a skip connection inside the mixer is in it."""
        return np.asarray(self.share_gat[:, np.arange(len(self.rows)), list(self.rows)])


class ProvenMixer:
    """A replay whose five proofs held; raises BackendError where one does not."""

    def __init__(
        self, call: ModuleCall, stream: Stream, returned: Mapping[int, Tensor], dtype: torch.dtype
    ) -> None:
        self.stream, self.call = stream, call
        self.replay = replay = Replay(call, stream)
        off = output_error(replay.output, returned)
        check_output(off, dtype)
        rows = evenly(call.positions, PROVEN_ROWS)
        weights_hat = replay.rows(rows)
        others = [replay.misses(rows, weights_hat, x) for x in (None, replay.other_value())]
        weights = max(relative(*x) for x in others)
        if not weights < TOLERANCE:
            raise BackendError(f"its weights times its value miss its output by {weights:.1e}")
        self._sizes_hav = others[0][1].amax(dim=1, keepdim=True)
        self.tokens = Tokens(replay)
        if not self.tokens.error < TOLERANCE:
            raise BackendError(f"the parts of its tokens miss its value by {self.tokens.error:.1e}")
        elsewhere = len(self._elsewhere(call.positions - 1))
        self.proofs = Proofs(off, weights, self.tokens.error, elsewhere)
        self._group_h = self._groups(evenly(call.positions, GROUPING_ROWS))

    def _elsewhere(self, row: int) -> list[int]:
        """Other positions of the input that a column of the weights is made of."""
        source, found = self.stream.source, list[Tensor]()
        place = self.stream.value if source is None else source.place

        def visit(key: Key, tensor: Tensor) -> Tensor:
            if key == place.key:
                found.append(tensor)
                raise Enough
            return tensor

        hidden = self.call.hidden.detach().clone().requires_grad_()
        with torch.enable_grad(), Results(visit):
            self.call.output(hidden)
        with torch.enable_grad():
            return looks_elsewhere(place.flat(found[0])[row], hidden, row)

    @property
    def groups(self) -> int:
        """Heads, or groups of channels that each have weights of their own."""
        return int(self._group_h.max()) + 1

    def _groups(self, rows: Sequence[int]) -> Tensor:
        """The group of each head: itself; of single channels by the reach of their weights."""
        heads = self.stream.heads
        if self.stream.width > 1 or heads <= CHANNEL_GROUPS:
            return torch.arange(heads, device=self.replay.value.device)
        reach_h = torch.zeros(heads).to(self.replay.value)
        for row, weights_ht in zip(rows, self.replay.rows(rows).unbind(1), strict=True):
            size_ht = self.tokens.sizes(weights_ht)
            distance_t = (torch.arange(size_ht.shape[1], device=size_ht.device) - row).abs()
            reach_h += (size_ht * distance_t).sum(1) / size_ht.sum(1).clamp_min(1e-30)
        places_h = reach_h.argsort(stable=True).argsort()
        return places_h * CHANNEL_GROUPS // heads

    def weights(self, rows: Sequence[int]) -> Tensor:
        """The signed weights (h, a, t) of some rows, each proven."""
        weights_hat = self.replay.rows(rows)
        off_hav, sizes_hav = self.replay.misses(rows, weights_hat)
        largest_hav = torch.maximum(sizes_hav, self._sizes_hav).clamp_min(1e-30)
        off_a = (off_hav / largest_hav).amax((0, 2))
        for row, off in zip(rows, off_a.tolist(), strict=True):
            if not off < TOLERANCE:
                raise BackendError(f"the weights of row {row} miss its output by {off:.1e}")
        return weights_hat

    def measures(self, rows: Sequence[int]) -> RowMeasures:
        """Shares and measures of some rows."""
        weights_hat = self.weights(rows)
        size_gat = torch.stack(
            [self._norms(self.tokens.sizes(x)) for x in weights_hat.unbind(1)], 1
        )
        total_ga = size_gat.sum(dim=2)
        biases_htv = self.replay.by_head(self.tokens.biases_tv)
        biases_ga = self._norms((weights_hat @ biases_htv).norm(dim=2))
        mass_ga, net_ga, negative_ga = (
            self._sums(x.sum(dim=2).abs())
            for x in (weights_hat.abs(), weights_hat, weights_hat.clamp_max(0))
        )
        results = (
            size_gat / total_ga.clamp_min(1e-30)[..., None],
            1 - net_ga / mass_ga.clamp_min(1e-30),
            negative_ga / mass_ga.clamp_min(1e-30),
            biases_ga / (total_ga + biases_ga).clamp_min(1e-30),
        )
        return RowMeasures(tuple(rows), *(x.cpu().double().numpy() for x in results))

    def signs(self, rows: Sequence[int]) -> Array:
        """-1 (g, a, t) where what a token wrote points against all that the row took, else 1."""
        weights_hat, mixed_tv = self.weights(rows), self.replay.mixed_tv
        along_gat = torch.stack([
            self._sums(self.tokens.along(weights_hat[:, number], mixed_tv[row]))
            for number, row in enumerate(rows)
        ], dim=1)  # fmt: skip
        return np.where(along_gat.cpu().numpy() < 0, -1.0, 1.0)

    def _sums(self, numbers_hx: Tensor) -> Tensor:
        sums_gx = numbers_hx.new_zeros(self.groups, numbers_hx.shape[1])
        return sums_gx.index_add(0, self._group_h, numbers_hx)

    def _norms(self, sizes_hx: Tensor) -> Tensor:
        """The size of a vector over the channels of each group, from those over each head's."""
        return self._sums(sizes_hx.square()).sqrt()


def output_error(output: Tensor, returned: Mapping[int, Tensor]) -> float:
    """The largest difference of a replayed output (1, t, e) from rows that the program returned."""
    rows = list(returned)
    theirs = torch.stack([returned[row] for row in rows]).to(output)
    difference = (output[0, rows] - theirs).abs().max()
    return float(difference / theirs.abs().max().clamp_min(1e-30))


def check_output(off: float, dtype: torch.dtype) -> None:
    """Raise where a replayed output is not what the calls returned, beyond rounding."""
    if not off <= ROUNDING_STEPS.get(dtype, NARROW_STEPS) * torch.finfo(dtype).eps:
        raise BackendError(
            "run again without a cache it returns something else than in the block (off by "
            f"{off:.1e} of its size): a cache that was filled before, padding that it reads, "
            "a beam search, a state that it keeps, or parameters that changed since"
        )


def influence(call: ModuleCall, rows: Sequence[int]) -> Array:
    """An estimate (t,) of |dy / dx| of some rows by every position, along all paths of a module.

    Random signs on the outputs: the squares of the gradients have the squared sizes as their mean.
    """
    generator = torch.Generator().manual_seed(0)
    hidden = call.hidden.detach().clone().requires_grad_()
    with torch.enable_grad():
        output = call.output(hidden)[0, list(rows)]
    squares_t = torch.zeros(call.positions)
    for _ in range(INFLUENCE_PROBES):
        signs = torch.randint(0, 2, output.shape, generator=generator) * 2 - 1
        (gradient,) = torch.autograd.grad(output, hidden, signs.to(output), retain_graph=True)
        squares_t += gradient[0].square().sum(dim=-1).cpu()
    return np.asarray((squares_t / INFLUENCE_PROBES).sqrt().numpy())
