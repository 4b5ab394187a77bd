"""One call of attention with validated arguments, in the form that every path reads."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.engine.visibility import Visibility
from regard.typing import Array

if TYPE_CHECKING:
    from regard.textbook.options import AttentionOptions

LOG2_E = math.log2(math.e)


@cache
def exp2_is_faster(char: str) -> bool:
    """Whether exp2 of this dtype beats a product and exp, by what NumPy vectorises here.

    With AVX-512 it takes 0.2 ns a number, exp 0.5; with AVX2 alone only exp is vectorised, 1.2 ns
    against 2.2. Where neither is they are alike.
    """
    try:
        chosen = np.lib.introspect.opt_func_info(func_name="^exp2?$", signature=char)
    except AttributeError:  # before NumPy 2.1
        return True
    current = {name: next(iter(loops.values()))["current"] for name, loops in chosen.items()}
    baseline = {name: text.startswith("baseline") for name, text in current.items()}
    return not baseline.get("exp2", False) or baseline.get("exp", True)


@dataclass(frozen=True)
class Problem:
    """Checked arrays with one axis of heads, h for queries and g for keys and values.

    Scores are kept in base 2 inside the engine (weights = 2^t / sum 2^t), because exp2 is twice
    as fast as exp; nothing outside ever sees them.
    """

    query_hqd: Array
    key_gkd: Array
    value_gkv: Array
    leading: tuple[int, ...]
    visibility: Visibility
    scale: float
    softcap: float | None
    output_dtype: np.dtype[Any]
    bounded: bool
    options: AttentionOptions = field(repr=False)
    value_scale: float = (
        1.0  # values near the end of float64 are divided by it: sums would overflow
    )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the computation: float64 if the input is, else float32."""
        dtype: np.dtype[Any] = self.query_hqd.dtype
        return dtype

    @property
    def heads(self) -> int:
        """The number of heads over every leading axis."""
        return int(self.query_hqd.shape[0])

    @property
    def group(self) -> int:
        """The number of query heads that share one key head."""
        return max(1, self.heads // max(1, int(self.key_gkd.shape[0])))

    @property
    def floor(self) -> float:
        """A score below every possible one, finite so that no arithmetic makes NaN of it."""
        return -(2.0 ** (100 if self.dtype == np.float32 else 1000))

    @property
    def width(self) -> int:
        """Features of a head's query and key."""
        return int(self.query_hqd.shape[-1])

    @property
    def device_weights(self) -> None:
        """None: this problem is on the host."""
        return None

    def device_repeats(self, tokens_k: Array) -> None:
        """None: this problem is on the host."""
        return

    def on_host(self) -> Problem:
        """This problem, which is on the host already."""
        return self

    def cut(self, heads: slice, rows: slice, columns: slice) -> tuple[Problem, slice, slice, slice]:
        """The problem that a rectangle of weights is computed from, and its slices in it.

        On the host that is this problem; one on a device copies the rectangle alone.
        """
        return self, heads, rows, columns

    def shared(self, array_gkx: Array, heads: slice, columns: slice) -> Array:
        """Keys or values (h, k, .) of these query heads: a view for one head, else gathered."""
        chosen: Any = heads
        if self.group > 1 and heads.stop - heads.start == 1:
            chosen = slice(heads.start // self.group, heads.start // self.group + 1)
        elif self.group > 1:
            chosen = np.arange(heads.start, heads.stop) // self.group
        shared: Array = array_gkx[chosen, columns]
        return shared

    def scaled_query(self, heads: slice, rows: slice) -> Array:
        """Queries multiplied once by all that scores would be multiplied by."""
        factor = self.scale / self.softcap if self.softcap else self.scale * LOG2_E
        return np.asarray(self.query_hqd[heads, rows] * self.dtype.type(factor))

    def scores(
        self, query_hqd: Array, heads: slice, rows: slice, columns: slice, out: Array
    ) -> Array | None:
        """Write base-2 scores of a tile, after scale, softcap and float mask.

        Equals ``log2(e) * (softcap * tanh(scale * query @ key.T / softcap) + mask)``.
        Returns visibility as 1.0 and 0.0, or None where all is visible. Hidden scores are left
        as they are where bounded (``exponential`` is slow far out), else put at the floor.
        """
        key_hkd = self.shared(self.key_gkd, heads, columns)
        np.matmul(query_hqd, key_hkd.swapaxes(-1, -2), out=out)
        self.cap_and_bias(out, self.visibility.bias(heads, rows, columns))
        visible = self.visibility.visible_as(heads, rows, columns, self.dtype)
        if visible is not None and not self.bounded:
            self.hide(out, visible)
        return visible

    def cap_and_bias(self, t: Array, bias: Array | None) -> None:
        """Apply softcap and float mask, in place, to products of scaled queries and keys."""
        if self.softcap:
            np.tanh(t, out=t)
            t *= self.dtype.type(self.softcap * LOG2_E)
        if bias is not None:
            # In the wider of the two types, and short of the floor: finfo.min is a usual mask.
            wide = np.multiply(bias, LOG2_E, dtype=np.result_type(bias, self.dtype))
            t += np.clip(wide, self.floor / 2, -self.floor / 2).astype(self.dtype)

    def hide(self, t: Array, visible: Array) -> None:
        """Put the scores of hidden keys at the floor."""
        np.copyto(t, self.floor, where=visible == 0)

    def weights(self, t: Array, visible: Array | None, log2_total: Array) -> None:
        """Turn base-2 scores into weights 2^(t - log2 total), in place; 0 where hidden.

        ``log2_total`` is in float64 and has the axes of ``t`` without the last.
        """
        live = np.isfinite(log2_total)
        shift = np.where(live, log2_total, np.inf).astype(self.dtype)
        t -= shift[..., None]
        self.exponential(t, visible, out=t)
        # A float32 shift of 1e6 is off by whole percents of every weight: mend what was rounded.
        lost = np.where(live, log2_total - shift, 0)
        t *= np.exp2(-lost)[..., None].astype(self.dtype)

    def exponential(self, t: Array, visible: Array | None, out: Array) -> None:
        """2^t, and 0 where hidden.

        exp2 is a hundred times slower than exp where its result is subnormal, and on some machines
        everywhere.
        """
        if self.bounded and exp2_is_faster(self.dtype.char):
            np.exp2(t, out=out)
        else:
            np.multiply(t, self.dtype.type(math.log(2)), out=out)
            np.exp(out, out=out)
        if visible is not None:
            out *= visible
