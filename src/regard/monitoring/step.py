"""What was found in a step, as rows of numbers, and its way from the device to the host."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.monitoring.certificate import SPREAD_SUMS, spreads
from regard.monitoring.folder import Layer
from regard.monitoring.health import MAXIMA, SUMS, HeadSums
from regard.monitoring.rules import Setting, StepNumbers
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey

if TYPE_CHECKING:
    import torch

Layers = Mapping[LayerKey, Layer]
FACTS = 4  # sum and number of losses, square and number of updates


@dataclass
class StepState:
    """What was found in the forwards of the current step."""

    observed: bool = False
    sums: dict[LayerKey, HeadSums] = field(default_factory=dict)
    # Bounds, exact scores, and bounds of the forwards whose exact score is not known, (3, h).
    scores: dict[LayerKey, torch.Tensor] = field(default_factory=dict)
    earlier: torch.Tensor | None = None  # the step's scores that max_scores has taken
    spreads: dict[LayerKey, torch.Tensor] = field(default_factory=dict)  # SPREAD_SUMS
    losses: list[torch.Tensor] = field(default_factory=list)
    logged: bool = False  # the losses are those that the user logged
    in_shares: bool = False  # they are shares of the step's loss, whose sum counts
    rows: dict[int, torch.Tensor] = field(default_factory=dict)
    mask: tuple[torch.Tensor, torch.Tensor] | None = None  # the last, and what sees a key by it
    settings: dict[LayerKey, set[Setting]] = field(default_factory=dict)
    wrong: dict[LayerKey, list[tuple[int, str]]] = field(default_factory=dict)  # by the judge
    rates: tuple[float, ...] = ()
    optimizer_step: float | None = None
    update: torch.Tensor | None = None

    def join(self, key: LayerKey, bound_h: torch.Tensor, exact_h: torch.Tensor) -> None:
        """Join the scores of one forward; -inf where no exact one is known."""
        import torch

        loose_h = bound_h.masked_fill(exact_h > -math.inf, -math.inf)
        own = torch.stack([bound_h, exact_h, loose_h])
        self.scores[key] = larger(self.scores.get(key), own)

    def scores_of(self, layers: Layers, device: Any) -> torch.Tensor:
        """Bounds of all heads, their exact scores, and loose bounds, (3, heads) in float64."""
        return _side_by_side(self.scores, layers, (3, -math.inf), device)

    def facts_row(self, layers: Layers, device: Any, shares: float) -> torch.Tensor:
        """Sum and number of losses, the update's square and its number; SPREAD_SUMS of all."""
        import torch

        facts = torch.zeros(FACTS, dtype=torch.float64, device=device)
        if self.losses:
            facts[0] = torch.stack([x.double().to(device) for x in self.losses]).sum()
            facts[1] = shares if self.in_shares and not self.logged else len(self.losses)
        if self.update is not None:
            facts[2], facts[3] = self.update, 1
        found = _side_by_side(self.spreads, layers, (len(SPREAD_SUMS), 0.0), device)
        return torch.cat([facts, found.reshape(-1)])

    def sums_of(self, layers: Layers, device: Any) -> HeadSums:
        """The sums of all heads; without any count of those that did not attend."""
        sums = {key: own.sums.T for key, own in self.sums.items()}
        maxima = {key: own.maxima.T for key, own in self.sums.items()}
        return HeadSums(
            _side_by_side(sums, layers, (len(SUMS), 0.0), device),
            _side_by_side(maxima, layers, (len(MAXIMA), -math.inf), device),
        )

    def host_numbers(self, step: int, layers: Layers) -> StepNumbers:
        """What the host knows by itself."""
        places = {key: place for place, key in enumerate(layers)}
        settings = {places[x]: frozenset(found) for x, found in self.settings.items()}
        wrong = {places[x]: found for x, found in self.wrong.items()}
        return StepNumbers(
            step, rates=self.rates, optimizer_step=self.optimizer_step, settings=settings,
            wrong=wrong,
        )  # fmt: skip


def _side_by_side(
    found: Mapping[LayerKey, torch.Tensor], layers: Layers, missing: tuple[int, float], device: Any
) -> torch.Tensor:
    """Numbers (n, h) of all layers as (n, heads) in float64; ``missing`` is n and their filling."""
    import torch

    rows, number = missing
    nothing = [torch.full((rows, x.heads), number) if key not in found else found[key]
               for key, x in layers.items()]  # fmt: skip
    return torch.cat([x.to(device, torch.float64) for x in nothing], dim=1)


class Parts(NamedTuple):
    """What a rank knows of the steps since the last observed one, float64.

    added : sums, of which those of all ranks are added; joined : maxima, of which the largest
    counts, nan where any is.
    """

    added: torch.Tensor
    joined: torch.Tensor

    @classmethod
    def of(cls, rows: Sequence[Parts], sums: HeadSums | None) -> Parts:
        """The rows of some steps, and the sums of the last where it was observed."""
        import torch

        last = [] if sums is None else [Parts(sums.sums.reshape(-1), sums.maxima.reshape(-1))]
        return cls(*map(torch.cat, zip(*rows, *last, strict=True)))


@dataclass(frozen=True)
class PendingStep:
    """Steps up to one that may be observed, on their way from the device to the host."""

    facts: list[StepNumbers]  # what the host knew
    observed: bool
    numbers: torch.Tensor
    added: int
    arrived: Any = None

    @classmethod
    def start(cls, facts: list[StepNumbers], observed: bool, parts: Parts) -> PendingStep:
        """Start the copy; the host does not wait for it."""
        import torch

        numbers, arrived = torch.cat(parts), None
        if numbers.device.type == "cuda":
            host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            host.copy_(numbers, non_blocking=True)
            arrived = torch.cuda.Event()
            arrived.record(torch.cuda.current_stream(numbers.device))
            numbers = host
        return cls(facts, observed, numbers, len(parts.added), arrived)

    def _split(self, heads: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Rows of steps and sums of an observed one, of what is added and of what is joined."""
        if self.arrived is not None:
            self.arrived.synchronize()
        array, steps = self.numbers.cpu().numpy(), len(self.facts)
        added, joined = np.split(array, [self.added])
        rows, sums = np.split(added, [steps * (FACTS + len(SPREAD_SUMS) * heads)])
        scores, maxima = np.split(joined, [steps * 2 * heads])
        return (rows.reshape(steps, -1), sums), (scores.reshape(steps, 2, heads), maxima)

    def steps(self, heads: int) -> Iterator[StepNumbers]:
        """The numbers of each step."""
        (rows, _), (scores, _) = self._split(heads)
        for facts, row, (bound_h, exact_h) in zip(self.facts, rows, scores, strict=True):
            loss, losses, update, updates = row[:FACTS].tolist()
            yield replace(
                facts, bound_h=bound_h, exact_h=exact_h,
                spread=spreads(row[FACTS:].reshape(len(SPREAD_SUMS), heads)),
                loss=loss / losses if losses else None,
                update=math.sqrt(update) if updates else None,
            )  # fmt: skip

    def sums(self, heads: int) -> tuple[Array, Array]:
        """SUMS and MAXIMA of every head, of an observed step."""
        (_, sums), (_, maxima) = self._split(heads)
        return sums.reshape(len(SUMS), heads).T, maxima.reshape(len(MAXIMA), heads).T


def larger(one: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    """The larger of two tensors of scores, nan where there is one."""
    return other if one is None else one.to(other).maximum(other)
