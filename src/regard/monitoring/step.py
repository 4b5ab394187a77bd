"""What was found in a step, as rows of numbers, and its way from the device to the host."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.monitoring.folder import Layer
from regard.monitoring.health import MAXIMA, SUMS, HeadSums, mean_and_deviation
from regard.monitoring.ranks import RankParts
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
    # Bounds, exact scores, and bounds of the forwards whose exact score is not known, (h) each.
    bounds: dict[LayerKey, tuple[torch.Tensor, ...]] = field(default_factory=dict)
    earlier: torch.Tensor | None = None  # the step's scores that max_scores has taken
    losses: list[torch.Tensor] = field(default_factory=list)
    logged: bool = False  # the losses are those that the user logged
    in_shares: bool = False  # they are shares of the step's loss, whose sum counts
    rows: dict[int, torch.Tensor] = field(default_factory=dict)
    mask: tuple[torch.Tensor, torch.Tensor] | None = None  # the last, and what sees a key by it
    # Of each forward: number of queries, mean and variance of their log-sum-exp, (h) each.
    spreads: dict[LayerKey, list[tuple[Any, torch.Tensor, torch.Tensor]]] = field(
        default_factory=dict
    )
    settings: dict[LayerKey, set[Setting]] = field(default_factory=dict)
    wrong: dict[LayerKey, list[tuple[int, str]]] = field(default_factory=dict)  # by the judge
    rates: tuple[float, ...] = ()
    optimizer_step: float | None = None
    update: torch.Tensor | None = None

    def join(self, key: LayerKey, bound_h: torch.Tensor, exact_h: torch.Tensor) -> None:
        """Join the scores of one forward; -inf where no exact one is known."""
        loose_h = bound_h.masked_fill(exact_h > -math.inf, -math.inf)
        own = bound_h, exact_h, loose_h
        before = self.bounds.get(key, own)
        self.bounds[key] = tuple(larger(x, y) for x, y in zip(before, own, strict=True))

    def sums_of(
        self, key: LayerKey, layer: Layer, bound_h: torch.Tensor, by_hand: bool
    ) -> HeadSums:
        """The sums of a layer of an observed step; without any count where it did not attend."""
        import torch

        if key in self.sums:
            sums = self.sums[key]
            if by_hand:
                own = [MAXIMA.index("score"), MAXIMA.index("logsumexp")]
                sums.maxima[:, own] = bound_h.to(sums.maxima)[:, None]
            return sums
        return HeadSums(
            torch.zeros(layer.heads, len(SUMS), dtype=torch.float64),
            torch.full((layer.heads, len(MAXIMA)), -torch.inf, dtype=torch.float64),
        )

    def facts_row(self, device: Any, shares: float) -> torch.Tensor:
        """The sum of the step's losses and their number, the update's square and its number."""
        import torch

        facts = torch.zeros(FACTS, dtype=torch.float64, device=device)
        if self.losses:
            facts[0] = torch.stack([x.double().to(device) for x in self.losses]).sum()
            shared = self.in_shares and not self.logged
            facts[1] = shares if shared else len(self.losses)
        if self.update is not None:
            facts[2], facts[3] = self.update, 1
        return facts

    def spreads_row(self, layers: Layers, device: Any) -> torch.Tensor:
        """Number, sum and sum of squares of every head's log-sum-exp over queries, one row."""
        import torch

        parts = []
        for key, layer in layers.items():
            sums = torch.zeros(3, layer.heads, dtype=torch.float64, device=device)
            for number, mean_h, variance_h in self.spreads.get(key, ()):
                mean = mean_h.to(device, torch.float64)
                sums[0] += number
                sums[1] += number * mean
                sums[2] += number * (mean.square() + variance_h)
            parts.append(sums)
        return torch.cat(parts, dim=1).reshape(-1)

    def scores_row(self, layers: Layers, device: Any) -> torch.Tensor:
        """Bounds of all heads, then their exact scores, then loose bounds: one row, float64."""
        import torch

        unknown = None, None, None
        found = [self.bounds.get(key, unknown) for key in layers]
        heads = [layer.heads for layer in layers.values()]
        nothing = torch.full((max(heads),), -torch.inf, device=device)
        columns = [
            nothing[:h] if own_h is None else own_h.to(device)
            for row in zip(*found, strict=True)
            for own_h, h in zip(row, heads, strict=True)
        ]
        return torch.cat(columns).double()


class HostFacts(NamedTuple):
    """What the host knows of a step by itself."""

    step: int
    rates: tuple[float, ...] = ()
    optimizer_step: float | None = None
    settings: Mapping[int, frozenset[Setting]] = {}
    wrong: Mapping[int, list[tuple[int, str]]] = {}


@dataclass(frozen=True)
class PendingStep:
    """Steps up to one that may be observed, on their way from the device to the host."""

    facts: list[HostFacts]
    observed: bool
    numbers: torch.Tensor
    added: int
    arrived: Any = None

    @classmethod
    def start(cls, facts: list[HostFacts], observed: bool, parts: RankParts) -> PendingStep:
        """Start the copy; the host does not wait for it."""
        import torch

        numbers, arrived = torch.cat([parts.added, parts.joined]), None
        if numbers.device.type == "cuda":
            host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            host.copy_(numbers, non_blocking=True)
            arrived = torch.cuda.Event()
            arrived.record(torch.cuda.current_stream(numbers.device))
            numbers = host
        return cls(facts, observed, numbers, len(parts.added), arrived)

    def _on_host(self) -> tuple[Array, Array]:
        """Sums and maxima as arrays, once they have arrived."""
        if self.arrived is not None:
            self.arrived.synchronize()
        array = self.numbers.cpu().numpy()
        return array[: self.added], array[self.added :]

    def steps(self, heads: int) -> Iterator[StepNumbers]:
        """The numbers of each step."""
        added, joined = self._on_host()
        steps = len(self.facts)
        added_rows = added[: steps * (FACTS + 3 * heads)].reshape(steps, -1)
        joined_rows = joined[: steps * 2 * heads].reshape(steps, 2, heads)
        for facts, added_row, (bound_h, exact_h) in zip(
            self.facts, added_rows, joined_rows, strict=True
        ):
            loss, losses, update, updates = added_row[:FACTS].tolist()
            mean_h, std_h = mean_and_deviation(added_row[FACTS:].reshape(3, heads).T)
            yield StepNumbers(
                facts.step, bound_h, exact_h, mean_h, std_h, loss / losses if losses else None,
                math.sqrt(update) if updates else None, facts.rates, facts.optimizer_step,
                facts.settings, facts.wrong,
            )  # fmt: skip

    def sums(self, heads: int) -> tuple[Array, Array]:
        """SUMS and MAXIMA of every head, of an observed step."""
        added, joined = self._on_host()
        steps = len(self.facts)
        sums, maxima = added[steps * (FACTS + 3 * heads) :], joined[steps * 2 * heads :]
        return sums.reshape(heads, len(SUMS)), maxima.reshape(heads, len(MAXIMA))


def larger(one: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    """The larger numbers of two rows of scores, nan where there is one."""
    return other if one is None else one.to(other).maximum(other)
