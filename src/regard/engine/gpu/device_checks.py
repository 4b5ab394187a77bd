"""Numeric checks of a device call, deferred until its results are read."""

from __future__ import annotations

import math
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
import torch

from regard.engine.gpu.call import DeviceCall
from regard.engine.tensors import Tensor
from regard.errors import ArgumentError

MOST_SHARE = 1.01  # of a row's weights, by a log-sum-exp that the caller brought
OTHER_SCORES = (
    "logsumexp does not belong to these scores: a row's weights would sum to {:.3g}. It must be "
    "natural (multiply a base-2 one by ln 2 = 0.6931) and made with the same scale and masks."
)


class FirstNonFinite(NamedTuple):
    """The first NaN or infinity of an array, if any: flat index and number, as device tensors."""

    name: str
    shape: tuple[int, ...]
    index: Tensor
    number: Tensor
    stacked: int = 0  # leading axes that the error does not name

    @classmethod
    def of(
        cls, name: str, tensor: Tensor, leading: tuple[int, ...], stacked: int
    ) -> FirstNonFinite:
        """The search, started on the device without waiting for it."""
        index = (tensor * 0).argmax()  # nan and infinity times 0 are nan, the largest to argmax
        return cls(name, (*leading, *tensor.shape[1:]), index, tensor.take(index), stacked)

    def raise_error(self) -> None:
        """Raise if the number is not finite."""
        number = float(self.number)
        if not math.isfinite(number):
            position = [int(i) for i in np.unravel_index(int(self.index), self.shape)]
            raise ArgumentError(
                f"{self.name} has {number} at {position[self.stacked :]}: attention needs finite "
                "numbers. If it stands for padding, use lengths or mask instead."
            )


class DeviceCheck:
    """Check of a call's numbers; calling it waits for the device, once, and raises what is wrong.

    ``external_total_hq`` is a log-sum-exp that the caller brought. Without ``total_hq``, the one of
    these scores, the weights that follow from it are checked: ``received_hk`` sums them.
    """

    def __init__(
        self,
        call: DeviceCall,
        total_hq: Tensor | None,
        external_total_hq: Tensor | None,
        received_hk: Tensor | None = None,
    ) -> None:
        self._call: DeviceCall | None = call
        self._total_hq, self._external_total_hq = total_hq, external_total_hq
        self._received_hk = received_hk if total_hq is None else None
        self._stacked = 0
        self.passed = False

    @cached_property
    def ok(self) -> Tensor:
        """Whether all numbers are finite, a device tensor: NaN and infinity reach the total."""
        totals = [
            x for x in (self._total_hq, self._external_total_hq) if x is not None and x.numel()
        ]
        finite = [x.max() < torch.inf for x in totals]
        if self._share is not None:
            finite.append(self._share < MOST_SHARE)
        return reduce(torch.logical_and, finite) if finite else torch.tensor(True)

    @cached_property
    def _share(self) -> Tensor | None:
        """The largest mean sum of a row's weights, over the heads; nan where a weight is."""
        received_hk, external_hq = self._received_hk, self._external_total_hq
        if received_hk is None or external_hq is None or not external_hq.numel():
            return None
        return received_hk.sum(dim=1).max() / external_hq.shape[1]

    @cached_property
    def _non_finite(self) -> tuple[FirstNonFinite, ...]:
        call = self._call
        if call is None:  # released before any search was started
            return ()
        query = FirstNonFinite.of("query", call.query_hqd, call.leading, self._stacked)
        return query, FirstNonFinite.of("key", call.key_gkd, call.key_leading, self._stacked)

    def release(self, stacked: int = 0) -> None:
        """Start every search on the device now, so that query and key can be freed."""
        self._stacked = stacked
        _ = self.ok, self._non_finite
        self._call = self._total_hq = self._received_hk = None

    def __call__(self) -> None:
        if not self.passed and not bool(self.ok):
            self.raise_error()
        if not self.passed and self._external_total_hq is not None:
            _check_same_scores(self._total_hq, self._external_total_hq)
        self.passed = True

    def raise_error(self) -> None:
        """Raise the error of numbers that are not ok."""
        for first in self._non_finite:
            first.raise_error()
        if self._share is not None and bool(self._share >= MOST_SHARE):
            raise ArgumentError(OTHER_SCORES.format(float(self._share)))
        raise ArgumentError(
            "logsumexp needs numbers or -inf, but it has nan or +inf in it."
            if self._external_total_hq is not None
            else "query and key are too large: their products overflow."
        )


def _check_same_scores(total_hq: Tensor | None, external_total_hq: Tensor) -> None:
    """Raise if a row's weights sum to more than 1: the log-sum-exp is of other scores."""
    if total_hq is None or not external_total_hq.numel():
        return
    sums_hq = torch.exp(total_hq - external_total_hq)
    largest = float(torch.where(total_hq > -torch.inf, sums_hq, 0).max())
    if largest > MOST_SHARE:
        raise ArgumentError(OTHER_SCORES.format(largest))
