"""A mixer on one text with the proofs that its weights are true, and the measures of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from regard.errors import BackendError
from regard.typing import Array
from regard.watcher.mixers.module_call import ModuleCall, Results
from regard.watcher.mixers.replay import TOLERANCE, Replay, Stream, TokenParts
from regard.watcher.mixers.stream import looks_elsewhere, parts_error

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
    the mixed value, for the value and for a random one. ``tokens``: the parts of tokens and biases
    with the mixed value. ``elsewhere``: positions other than its own that a column is made of; only
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
        self.replay = Replay(call, stream)
        off = output_error(self.replay.output, returned)
        check_output(off, dtype)
        rows = evenly(call.positions, PROVEN_ROWS)
        replay = self.replay
        weights = max(replay.error(rows), replay.error(rows, replay.other_value()))
        if not weights < TOLERANCE:
            raise BackendError(f"its weights times its value miss its output by {weights:.1e}")
        self.tokens = TokenParts(self.replay)
        parts, self._sizes_v = parts_error(self.replay, self.tokens, rows)
        if not parts < TOLERANCE:
            raise BackendError(f"the parts of its tokens miss its output by {parts:.1e}")
        self.proofs = Proofs(off, weights, parts, len(self._elsewhere(call.positions - 1)))
        self._group_v = self._groups(evenly(call.positions, GROUPING_ROWS))

    def _elsewhere(self, row: int) -> list[int]:
        """Other positions of the input that a column of the weights is made of."""
        source = self.stream.source
        place, found = self.stream.value if source is None else source.place, list[Tensor]()

        def visit(function: str, number: int, part: int, tensor: Tensor) -> Tensor:
            if (function, number, part) == (place.function, place.number, place.part):
                found.append(tensor)
            return tensor

        hidden = self.call.hidden.detach().clone().requires_grad_()
        with torch.enable_grad(), Results(visit):
            self.call.output(hidden)
            return looks_elsewhere(place.flat(found[0])[row], hidden, row)

    @property
    def groups(self) -> int:
        """Heads, or groups of channels that each have weights of their own."""
        return int(self._group_v.max()) + 1

    def _groups(self, rows: Sequence[int]) -> Tensor:
        """The group of each channel: its head, or by the reach of its own weights."""
        stream = self.stream
        if stream.width > 1 or stream.heads <= CHANNEL_GROUPS:
            return torch.arange(stream.channels) // stream.width
        weights_hat = self.replay.rows(rows)
        reach_v = torch.zeros(stream.channels)
        for number, row in enumerate(rows):
            size_tv = self.tokens.parts(weights_hat, number)[0].abs().cpu()
            distance_t = (torch.arange(len(size_tv)) - row).abs().to(size_tv)
            total_v = size_tv.sum(dim=0).clamp_min(1e-30)
            reach_v += (size_tv * distance_t[:, None]).sum(dim=0) / total_v
        group_v = torch.empty(stream.channels, dtype=torch.long)
        order = reach_v.argsort(stable=True)
        group_v[order] = torch.arange(stream.channels) * CHANNEL_GROUPS // stream.channels
        return group_v

    def weights(self, rows: Sequence[int]) -> Tensor:
        """The signed weights (h, a, t) of some rows, each proven."""
        weights_hat = self.replay.rows(rows)
        for number, row in enumerate(rows):
            self._parts(weights_hat, number, row)
        return weights_hat

    def _parts(self, weights_hat: Tensor, number: int, row: int) -> tuple[Tensor, Tensor]:
        """What tokens (t, v) and biases (v) wrote into a row; raises unless they add up to it."""
        parts_tv, biases_v = self.tokens.parts(weights_hat, number)
        sizes_v = torch.maximum(parts_tv.abs().sum(dim=0) + biases_v.abs(), self._sizes_v)
        off_v = (parts_tv.sum(dim=0) + biases_v - self.replay.mixed_tv[row]).abs()
        off = float((off_v / sizes_v).max())
        if not off < TOLERANCE:
            raise BackendError(f"the parts of the tokens of row {row} miss its output by {off:.1e}")
        return parts_tv, biases_v

    def measures(self, rows: Sequence[int]) -> RowMeasures:
        """Shares and measures of some rows."""
        weights_hat = self.replay.rows(rows)
        each = [self._measured(weights_hat, number, row) for number, row in enumerate(rows)]
        stacked = [np.stack(x, axis=1) for x in zip(*each, strict=True)]
        return RowMeasures(tuple(rows), *stacked)

    def _measured(self, weights_hat: Tensor, number: int, row: int) -> list[Array]:
        parts_tv, biases_v = self._parts(weights_hat, number, row)
        size_gt = self._group_norms(parts_tv)
        total_g = size_gt.sum(dim=1)
        biases_g = self._group_norms(biases_v[None])[:, 0]
        weights_tv = weights_hat[:, number].T.repeat_interleave(self.stream.width, dim=1)
        mass_g, net_g, negative_g = (
            self._group_sums(x)
            for x in (weights_tv.abs().sum(0), weights_tv.sum(0).abs(), _negative(weights_tv))
        )
        results = (
            size_gt / total_g.clamp_min(1e-30)[:, None],
            1 - net_g / mass_g.clamp_min(1e-30),
            negative_g / mass_g.clamp_min(1e-30),
            biases_g / (total_g + biases_g).clamp_min(1e-30),
        )
        return [x.cpu().double().numpy() for x in results]

    def _group_sums(self, numbers_v: Tensor) -> Tensor:
        sums = numbers_v.new_zeros(self.groups)
        return sums.index_add(0, self._group_v.to(numbers_v.device), numbers_v)

    def _group_norms(self, parts_tv: Tensor) -> Tensor:
        """The size (g, t) of the vector that each column wrote into the channels of a group."""
        squares = parts_tv.new_zeros(self.groups, len(parts_tv))
        index = self._group_v.to(parts_tv.device)
        return squares.index_add(0, index, parts_tv.T.square()).sqrt()


def _negative(weights_tv: Tensor) -> Tensor:
    return weights_tv.clamp_max(0).abs().sum(dim=0)


def evenly(positions: int, most: int) -> list[int]:
    """All positions, or some of them evenly spaced, the first and the last among them."""
    spaced = np.linspace(0, positions - 1, min(most, positions)).round().astype(int)
    return sorted(set(spaced.tolist()))


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
