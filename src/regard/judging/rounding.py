"""The unit: how far a sound kernel's output is from exact arithmetic, number by number.

Derived in docs/mathematics.md; nothing in it is fitted. An error is measured in units, and the root
of the mean square over a row or a head is its z: about 1 or less for a sound kernel of any make.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from regard.judging.asked import Redone

# Root of the mean square of rounding to nearest, over eps |x|, where the mantissa m of x has the
# density 1 / m: sqrt(integral of (1 / m)^2 / 12 over that density) = sqrt(3 / (8 ln 2) / 12).
RELATIVE = math.sqrt(3 / (8 * math.log(2)) / 12)
# A unit is right to about a fifth (the mantissas of few weights are not spread, sums are taken in
# other orders): limits are this much wider than chance alone asks for.
MARGIN = 1.25
# Chance is taken at this many standard deviations: one row in 10^9 were errors normal.
DEVIATIONS = 6.0
HIDDEN = -1e15  # a score that stands for -inf: its square times a weight of 0 is 0
COARSE = 0.25  # half a step of a score above which exp() is not straight enough for a unit


@dataclass(frozen=True)
class Rounding:
    """Where a kernel rounds.

    ``scores``: the dtype that scores are written in before the softmax; None where they stay in
    float32 (fused kernels) or are known. ``weights``: None where the rounded weights are known.
    """

    output: Any
    weights: Any
    scores: Any = None
    written: bool = False  # its softmax is in float32 whatever the rest is in, as models write it

    @property
    def known(self) -> bool:
        """Whether the weights are known as they met the values, so that they are no rounding."""
        return self.weights is None

    @property
    def low(self) -> bool:
        """Whether weights are cast to fewer bits than sums are kept in."""
        return self.weights is not None and step(self.weights) > 2.0**-23

    @property
    def half_step(self) -> float:
        """Half a step of the sums: of float32, or of float64 for a program in float64."""
        import torch

        wide = self.output == torch.float64 and not self.written
        return 2.0**-53 if wide else 2.0**-24


def step(dtype: Any) -> float:
    """Distance of 1 from the next larger number of a dtype."""
    import torch

    return float(torch.finfo(dtype).eps)


def least(dtype: Any) -> float:
    """The least number above 0 of a dtype."""
    import torch

    return float(torch.finfo(dtype).smallest_normal) * step(dtype)


def ulp(x: Any, dtype: Any) -> Any:
    """Distance between neighbours of a dtype at each number of x."""
    import torch

    steps = torch.ldexp(torch.full_like(x, step(dtype)), torch.frexp(x)[1] - 1)
    return steps.masked_fill(x == 0, 0.0).clamp_min(least(dtype))


def unit(redone: Redone, rounding: Rounding) -> Any:
    """(..., a, v) expected root mean square error of each number of the output."""
    output, u = redone.output, rounding.half_step
    noise = (2 * RELATIVE * u) ** 2
    squared, value2 = redone.weights**2, redone.value**2
    common = redone.top.abs() + redone.total.clamp_min(1e-300).log().abs()
    sums = noise / 2 * squared.count_nonzero(-1)[..., None]
    variance = ulp(output, rounding.output) ** 2 / 12
    variance += (sums + noise * (common**2 + 4)) * output**2
    if rounding.low:
        variance += _cast_weights(squared, value2, rounding.weights)
    if rounding.known:
        variance += sums * (squared @ value2)
    else:
        by_key = score_variance(redone, rounding, noise) * squared
        cross = 2 * output * (by_key @ redone.value) - output**2 * by_key.sum(-1, keepdim=True)
        by_key += sums * squared
        variance += (by_key @ value2 - cross).clamp_min(0)
    if u == 2.0**-53:
        variance *= 2  # the float64 of the judge is no better
    return variance.sqrt()


def _cast_weights(squared: Any, value2: Any, dtype: Any) -> Any:
    """Variance of weights that are cast before they meet the values."""
    import torch

    relative = (RELATIVE * step(dtype)) ** 2
    if dtype != torch.float16:
        return relative * (squared @ value2)
    floor = least(dtype) ** 2 / 12  # below the least number steps do not shrink
    return (relative * squared).clamp_min(floor).where(squared > 0, 0.0) @ value2


def score_variance(redone: Redone, rounding: Rounding, noise: float) -> Any:
    """(..., a, k) variance of each score; where a key is hidden a large number."""
    width = redone.query.shape[-1]
    scores = redone.scores.clamp_min(HIDDEN)
    products = (redone.query * redone.scale) ** 2 @ (redone.key**2).mT
    gap = scores - redone.top
    variance = noise * (width * (products + scores**2) / 2 + 2 * scores**2 + gap**2 + 4)
    if rounding.scores is not None:
        # Once as a product, once more where the scale is no power of two.
        rounds = 1 if math.log2(abs(redone.scale) or 1.0) % 1 == 0 else 2
        variance = variance + rounds * ulp(scores, rounding.scores) ** 2 / 12
    return variance


def coarseness(redone: Redone, rounding: Rounding) -> float:
    """The largest half step of a score that matters, where scores are written in few bits."""
    if rounding.scores is None:
        return 0.0
    matters = redone.weights > 1e-3
    return float((ulp(redone.scores.masked_fill(~matters, 0.0), rounding.scores) / 2).max())


def beyond_alike(error: Any, redone: Redone, units: Any, rounding: Rounding) -> Any:
    """The error without what numbers that are alike may add to it, as rounding makes it.

    A unit takes roundings for independent. Weights that are all equal are all rounded alike: their
    output is off by one factor, of at most half a step. Products that are all equal are summed with
    equal roundings: each feature is off by up to half a step for every second key. The products of
    a feature are alike as far as o^2 is n times the sum of their squares, which it is at most.
    """
    if rounding.low:
        along, size = redone.output / units, error / units
        factor = (along * size).sum(-1, keepdim=True)
        factor = factor / (along * along).sum(-1, keepdim=True).clamp_min(1e-300)
        most = step(rounding.weights) / 2
        error = error - factor.clamp(-most, most) * redone.output
    keys = (redone.scores > -math.inf).sum(-1, keepdim=True)
    products = keys * (redone.weights**2 @ redone.value**2)
    alike = redone.output**2 / products.clamp_min(1e-300)
    most = rounding.half_step * (8 + keys / 4) * redone.output.abs() * alike
    return error - error.minimum(most).maximum(-most)


def freedom(redone: Redone, rounding: Rounding, units_av: Any) -> Any:
    """(a,) how many independent errors the numbers of each row amount to; of one head (a, k).

    An error of one weight moves all features of a row along its value. The features of a row then
    err together, and the mean square of them spreads as that of fewer numbers: sum of the
    eigenvalues of their covariance squared, over the sum of their squares.
    """
    import torch

    noise = (2 * RELATIVE * rounding.half_step) ** 2
    cast = (RELATIVE * step(rounding.weights)) ** 2 if rounding.low else 0.0
    keys = (redone.scores > -math.inf).sum(-1, keepdim=True)
    score = 0.0 * redone.weights
    if not rounding.known:
        score = score_variance(redone, rounding, noise)
    squared = redone.weights**2
    result = []
    for a in range(redone.output.shape[-2]):
        output, units = redone.output[a], units_av[a].double()
        away = (redone.value - output) / units
        along = redone.value / units
        together = (away.T * (squared[a] * score[a])) @ away
        together += (along.T * (squared[a] * (cast + noise * keys[a] / 2))) @ along
        shared = output / units  # the sum of a row's weights, and the logarithm of it
        common = redone.top[a].abs() + redone.total[a].clamp_min(1e-300).log().abs()
        together += noise * (common**2 + 4 + keys[a] / 2) * (shared[:, None] * shared)
        missing = (1 - together.diagonal()).clamp_min(0)  # rounding of the output: each alone
        together.diagonal().add_(missing)
        result.append(together.diagonal().sum() ** 2 / (together**2).sum())
    return torch.stack(result)


def limit(independent: Any, margin: float = MARGIN) -> Any:
    """The largest z of a sound kernel over so many independent numbers (Wilson and Hilferty)."""
    spread = 2 / (9 * independent)
    return margin * (1 - spread + DEVIATIONS * spread**0.5) ** 1.5
