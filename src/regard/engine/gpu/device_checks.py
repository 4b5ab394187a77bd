"""What is wrong with the numbers of a call, which is known once the device has got that far."""

import math
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
import torch

from regard.engine.gpu.call import Call, Tensor
from regard.errors import ArgumentError


class First(NamedTuple):
    """Where an array has the first number that is not finite, if any: both are tensors there."""

    name: str
    shape: tuple[int, ...]
    at: Tensor
    number: Tensor

    @classmethod
    def of(cls, name: str, tensor: Tensor, leading: tuple[int, ...]) -> "First":
        """Looked for on the device, and left there."""
        bad = tensor * 0 != 0  # nan and infinity times 0 are nan
        at = bad.flatten().view(torch.uint8).argmax()
        return cls(name, (*leading, *tensor.shape[1:]), at, tensor.take(at))

    def speak(self) -> None:
        """Raise where there is one."""
        number = float(self.number)
        if not math.isfinite(number):
            place = [int(i) for i in np.unravel_index(int(self.at), self.shape)]
            raise ArgumentError(
                f"{self.name} has {number} at {place}: attention needs finite "
                "numbers. If it stands for padding, use lengths or mask instead."
            )


class Check:
    """Called, it raises what is wrong; once all is known to be fine, the device is not asked again.

    ``given_hq`` is a log-sum-exp that came from elsewhere.
    """

    def __init__(self, here: Call, total_hq: Tensor | None, given_hq: Tensor | None) -> None:
        self._here: Call | None = here
        self._total_hq, self._given_hq = total_hq, given_hq
        self.passed = False

    @cached_property
    def fine(self) -> Tensor:
        """Whether there is neither NaN nor infinity: both travel to the log-sum-exp."""
        totals = [x for x in (self._total_hq, self._given_hq) if x is not None and x.numel()]
        fine = [x.max() < torch.inf for x in totals]
        return reduce(torch.logical_and, fine) if fine else torch.tensor(True)

    @cached_property
    def _firsts(self) -> tuple[First, ...]:
        here: Any = self._here
        query = First.of("query", here.query_hqd, here.leading)
        return query, First.of("key", here.key_gkd, here.key_leading)

    def let_go(self) -> None:
        """Look now, without waiting for an answer: query and key need not be there later."""
        _ = self.fine, self._firsts
        self._here = self._total_hq = None

    def __call__(self) -> None:
        if not self.passed and not bool(self.fine):
            self.speak()
        if not self.passed and self._given_hq is not None:
            _check_belongs(self._total_hq, self._given_hq)
        self.passed = True

    def speak(self) -> None:
        """Raise what is wrong with numbers that are not fine."""
        for first in self._firsts:
            first.speak()
        raise ArgumentError(
            "logsumexp needs numbers or -inf, but it has nan or +inf in it."
            if self._given_hq is not None
            else "query and key are too large: their products overflow."
        )


def _check_belongs(total_hq: Tensor | None, given_hq: Tensor) -> None:
    """A sum of weights above 1 means that the log-sum-exp belongs to other scores."""
    if total_hq is None or not given_hq.numel():
        return
    sums_hq = torch.exp(total_hq - given_hq)
    largest = float(torch.where(total_hq > -torch.inf, sums_hq, 0).max())
    if largest > 1.01:
        raise ArgumentError(
            f"logsumexp does not belong to these scores: a row's weights would sum to "
            f"{largest:.3g}. It must be natural (multiply a base-2 one by ln 2 = 0.6931) "
            "and made with the same scale and masks."
        )
