"""What an optimizer tells after its step: learning rates, its count of steps, what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

SAMPLED_WEIGHTS = 4096
MOST_TENSORS = 64


def learning_rates(optimizer: Any) -> tuple[float, ...]:
    """The learning rate of each group that the host knows."""
    rates = (group.get("lr") for group in optimizer.param_groups)
    return tuple(float(x) for x in rates if x is not None and _on_host(x))


def steps_taken(optimizer: Any) -> float | None:
    """How many steps the optimizer's state counts; None where it counts none, or on a GPU."""
    for state in optimizer.state.values():
        count = state.get("step") if isinstance(state, dict) else None
        return float(count) if count is not None and _on_host(count) else None
    return None


def _on_host(number: Any) -> bool:
    """Whether a number can be read without waiting for a GPU."""
    device = getattr(number, "device", None)
    return device is None or device.type == "cpu"


class WeightSample:
    """Weights of a model at fixed places, about 4,096, so that a step's change has a size.

    The norm of their change is near that of all weights, times a factor that stays the same.
    """

    def __init__(self, model: Any) -> None:
        own = [x for x in model.parameters() if x.requires_grad]
        large = [x for x in own if x.ndim > 1] or own
        self._parameters = large[:: -(-len(large) // MOST_TENSORS)] if large else []
        self._views: list[torch.Tensor] = []
        self._places: list[tuple[int, int]] = []
        self._before: torch.Tensor | None = None

    def change(self) -> torch.Tensor | None:
        """The square of the norm of what changed since the last call; None at the first."""
        import torch

        with torch.no_grad():
            local = [getattr(x.data, "_local_tensor", x.data) for x in self._parameters]
            places = [(x.data_ptr(), x.numel()) for x in local]
            if places != self._places:  # a model that was moved, or is sharded anew
                self._places, self._before = places, None
                self._views = self._sampled(local)
            if not self._views:
                return None
            now = torch.cat([x.to(self._views[0].device) for x in self._views]).float()
            before, self._before = self._before, now
            return None if before is None else (now - before).square().sum()

    def _sampled(self, local: list[torch.Tensor]) -> list[torch.Tensor]:
        total = sum(x.numel() for x in local)
        step = max(1, total // SAMPLED_WEIGHTS)
        flat = [x.view(-1) for x in local if x.numel() and x.is_contiguous()]
        return [x[:: min(step, len(x))] for x in flat if x.is_floating_point()]
