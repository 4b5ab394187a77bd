"""Deferred check that the weights of a model's own log-sum-exp sum to 1 in every head."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from regard.errors import BackendError

if TYPE_CHECKING:
    from regard.engine.observation import Observation

ALLOWED = 0.01  # of the mean sum of a row's weights: 16-bit kernels round their scores


@dataclass
class ShareCheck:
    """Whether weights from a log-sum-exp sum to 1, in the mean over the queries of each head.

    A mask, a scale or a cache that is not understood gives more or less.
    """

    name: str
    shares: Any
    passed: bool = False

    @classmethod
    def of(cls, name: str, seen: Observation, logsumexp: Any) -> ShareCheck:
        """The check of an observation on a device, which is not read yet."""
        live = (logsumexp > float("-inf")).sum(dim=-1).clamp(min=1)
        shares = seen.facts.tensor("received").sum(dim=-1) / live
        return cls(name, shares)

    @cached_property
    def ok(self) -> Any:
        """Whether every head's sums are 1, a device tensor."""
        return ((self.shares - 1).abs() <= ALLOWED).all()

    @property
    def has_nan(self) -> bool:
        """Whether a sum is no number."""
        return bool(self.shares.isnan().any())

    def raise_error(self) -> None:
        """Raise the error of weights that do not sum to 1; one of no number is raised elsewhere."""
        if self.has_nan:
            return
        shares = self.shares.flatten().tolist()
        worst = max(shares, key=lambda share: abs(share - 1))
        raise BackendError(
            f"{self.name}: with the log-sum-exp of the model's own attention the weights regard "
            f"would show sum to {worst:.3g} a row, not to 1, so watch shows nothing. The model "
            "does something regard does not know: leave this layer out with layers=..."
        )
