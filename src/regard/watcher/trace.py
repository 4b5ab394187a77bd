"""Where two runs on one text part: their attentions compared row by row, beside what rounding does.

A run that was judged keeps some rows of what each attention was given and gave (``Trace``), and how
far its dtype alone moves them: the distance to the same run in a wider dtype. Two runs part where
they differ by more than both of these together. What is wrong with one of them was found by its
judge, in exact arithmetic; two runs show less, and ``Parting`` says how much less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from regard.heads.divergence import jensen_shannon
from regard.typing import Array

INPUTS = ("query", "key", "value")
# Distances are known to about a tenth (medians over 32 rows), and the roundings of two runs in one
# dtype are not quite independent: beyond this part of what is expected, something else is at work.
LIMIT = 1.3
SIDES = ("the first run", "the second run")


@dataclass
class TracedLayer:
    """Some rows of one attention; all distances are shares of a row's size, medians over rows."""

    rows: dict[str, Array]  # query, key, value and output (n, heads, width); nan: sees nothing
    queries: Array  # (n,) their positions
    visible: Array  # (n,) how many keys each sees
    asked: dict[str, Any]  # scale, softcap, sinks
    unit: float = 0.0  # what the rounding of this attention alone does to its output
    rounding: dict[str, float] = field(default_factory=dict)  # what the dtype of the run does
    cast: dict[str, float] = field(default_factory=dict)  # and had parameters been cast to it


@dataclass
class Trace:
    """What a run keeps to be compared by; ``measure`` finds ``rounding`` when it is needed."""

    dtype: str = ""
    step: float = 0.0  # of the dtype at 1
    layers: dict[str, TracedLayer] = field(default_factory=dict)  # by path, in order
    parameters: dict[str, Array] = field(default_factory=dict)  # some numbers of each
    logits: Array | None = None  # of the next token
    names: dict[int, str] = field(default_factory=dict)  # of the likeliest tokens
    measure: Callable[[], None] | None = field(default=None, repr=False)

    def measured(self) -> Trace:
        """Itself, with the rounding of each layer where it could be measured."""
        if self.measure is not None:
            measure, self.measure = self.measure, None
            measure()
        return self

    def to_file(self, prefix: str) -> tuple[dict[str, Any], dict[str, Array]]:
        """Plain values and arrays, by names that begin with ``prefix``."""
        arrays: dict[str, Array] = {f"{prefix}parameter.{x}": y for x, y in self.parameters.items()}
        if self.logits is not None:
            arrays[f"{prefix}logits"] = self.logits
        layers = []
        for number, (path, layer) in enumerate(self.measured().layers.items()):
            own = {**layer.rows, "queries": layer.queries, "visible": layer.visible}
            arrays |= {f"{prefix}{number}.{name}": array for name, array in own.items()}
            layers.append({"path": path} | {x: getattr(layer, x) for x in _PLAIN})
        names = {str(token): name for token, name in self.names.items()}
        return {"dtype": self.dtype, "step": self.step, "names": names, "layers": layers}, arrays

    @classmethod
    def from_file(cls, plain: Mapping[str, Any], prefix: str, arrays: Mapping[str, Any]) -> Trace:
        own = {x.removeprefix(prefix): x for x in arrays if x.startswith(prefix)}
        trace = cls(plain["dtype"], plain["step"])
        trace.names = {int(token): name for token, name in plain["names"].items()}
        trace.logits = np.asarray(arrays[own["logits"]]) if "logits" in own else None
        begin = "parameter."
        trace.parameters = {
            x.removeprefix(begin): np.asarray(arrays[y]) for x, y in own.items() if x[:10] == begin
        }
        for number, layer in enumerate(plain["layers"]):
            at = f"{number}."
            held = {x[len(at) :]: np.asarray(arrays[y]) for x, y in own.items() if x.startswith(at)}
            queries, visible = held.pop("queries"), held.pop("visible")
            values = {x: layer[x] for x in _PLAIN}
            trace.layers[layer["path"]] = TracedLayer(held, queries, visible, **values)
        return trace


_PLAIN = ("asked", "unit", "rounding", "cast")


@dataclass(frozen=True)
class LayerGap:
    """How far two runs are apart in one layer, and how far rounding takes them (0: unknown)."""

    path: str
    apart: dict[str, float]
    rounding: dict[str, float]
    unit: float  # what the rounding of this one attention does to its output

    @property
    def beyond(self) -> tuple[str, ...]:
        """Which of query, key, value and output differ by more than rounding explains."""
        return tuple(x for x, y in self.rounding.items() if y and self.apart[x] > LIMIT * y)

    @property
    def most(self) -> float:
        """The largest difference, in times of what rounding explains."""
        return max((self.apart[x] / y for x, y in self.rounding.items() if y), default=0.0)

    @property
    def coarse(self) -> float:
        """How many times the rounding of one attention two runs are apart by rounding alone."""
        return self.rounding.get("output", 0.0) / self.unit if self.unit else 0.0


@dataclass(frozen=True)
class Parting:
    """Where two runs on one text part, and what is known of why; ``print`` it.

    ``at`` is the place among ``layers`` (None: nowhere), ``where`` is 'inputs' or 'attention'.
    """

    layers: tuple[LayerGap, ...]
    at: int | None
    where: str
    sides: tuple[str, str]  # what the judge says of that attention in each run; empty: it is right
    asked: str  # what the two were asked differently there
    parameters: str
    next_token: str

    def to_dict(self) -> dict[str, Any]:
        values = {x.name: getattr(self, x.name) for x in fields(self)}
        layers = [
            {"path": x.path, "apart": x.apart, "rounding": x.rounding, "unit": x.unit}
            for x in self.layers
        ]
        return {**values, "layers": layers, "sides": list(self.sides), "text": str(self)}

    def __str__(self) -> str:
        lines = [self._place(), self._cause(), self.parameters, self._growth(), self.next_token]
        return "\n".join(line for line in [*lines, self._coarse()] if line)

    def _place(self) -> str:
        if self.at is None:
            most = max(layer.most for layer in self.layers)
            if not any(any(layer.rounding.values()) for layer in self.layers):
                return "How far rounding alone takes the two runs apart is not known."
            where = f"all {len(self.layers)} layers" if len(self.layers) > 1 else "its one layer"
            return (f"The two runs differ by no more than rounding explains in {where} "
                    f"(at most {most:.2f} times).")  # fmt: skip
        gap = self.layers[self.at]
        if self.where == "inputs":
            beyond = [x for x in gap.beyond if x in INPUTS]
            sizes = [f"its {x} by {_share(gap.apart[x])}{_beside(gap.rounding[x])}" for x in beyond]
            rest = [x for x in INPUTS if x in gap.apart and x not in beyond]
            also = f"; its {' and '.join(rest)} by no more than that" if rest else ""
            return f"The two runs part before {gap.path}: {', '.join(sizes)}{also}."
        size = f"{_share(gap.apart['output'])}{_beside(gap.rounding['output'])}"
        return f"The two runs part in the attention of {gap.path}: its output by {size}."

    def _cause(self) -> str:
        wrong = [f"{x}: WRONG, {y}" for x, y in zip(SIDES, self.sides, strict=True) if y]
        if len(wrong) == 1:
            other = SIDES[0] if self.sides[1] else SIDES[1]
            wrong.append(f"{other} is right to rounding there")
        if wrong:
            return "; ".join(wrong)[0].upper() + "; ".join(wrong)[1:] + "."
        if self.asked:
            return (
                f"Each does what it was asked for, but they were asked differently: {self.asked}."
            )
        return "Each does what it was asked for there." if self.where == "attention" else ""

    def _growth(self) -> str:
        chosen = sorted({0, len(self.layers) - 1} | ({self.at} if self.at is not None else set()))
        sizes = [
            f"{_share(self.layers[i].apart['output'])} in {self.layers[i].path}" for i in chosen
        ]
        return f"Outputs differ by {', '.join(sizes)}."

    def _coarse(self) -> str:
        gaps = self.layers if self.at is None else (self.layers[self.at],)
        coarse = max(gap.coarse for gap in gaps)
        if coarse <= 1:
            return ""
        return (f"Rounding alone takes two runs {coarse:,.3g} times as far apart there as one "
                "attention rounds: smaller faults show only where one run is judged.")  # fmt: skip


def _share(x: float) -> str:
    return f"{100 * x:.2g} %" if x < 10 else f"{x:.2g} times its size"


def _beside(rounding: float) -> str:
    return f" (rounding: {_share(rounding)})" if rounding else ""


def part(
    one: Trace, other: Trace, one_wrong: Mapping[str, str], other_wrong: Mapping[str, str]
) -> Parting | None:
    """Compare two traces of one text; None where layers or positions do not correspond.

    ``one_wrong`` and ``other_wrong`` say what the judges found, by path.
    """
    paths = [(path, path) for path in one.layers if path in other.layers]
    if not paths and len(one.layers) == len(other.layers):  # other names of the same layers
        paths = list(zip(one.layers, other.layers, strict=True))
    pairs = [(one.layers[x], other.layers[y]) for x, y in paths]
    if not pairs or any(not np.array_equal(x.queries, y.queries) for x, y in pairs):
        return None
    one.measured(), other.measured()
    changed, cast = _parameters(one, other)
    gaps = tuple(
        _gap(x, pair, (one.step, other.step), cast)
        for (x, _), pair in zip(paths, pairs, strict=True)
    )
    at, where = None, ""
    for number, (x, y) in enumerate(paths):
        if set(gaps[number].beyond) & set(INPUTS):
            at, where = number, "inputs"
        elif x in one_wrong or y in other_wrong or "output" in gaps[number].beyond:
            at, where = number, "attention"
        if at is not None:
            break
    sides, asked = ("", ""), ""
    if at is not None:
        sides = one_wrong.get(paths[at][0], ""), other_wrong.get(paths[at][1], "")
        asked = _asked(*pairs[at])
    return Parting(gaps, at, where, sides, asked, changed, _next_token(one, other))


def _gap(
    path: str, pair: tuple[TracedLayer, TracedLayer], steps: tuple[float, float], cast: bool
) -> LayerGap:
    apart, rounding = {}, {}
    one, other = pair
    for name in one.rows:
        if name not in other.rows:
            continue
        apart[name] = distance(one.rows[name], other.rows[name])
        # A side that could not be run again rounds as the other does, in steps of its own dtype.
        known = [x.rounding.get(name) for x in pair]
        share = next((x / step for x, step in zip(known, steps, strict=True) if x and step), 0.0)
        each = [share * step if x is None else x for x, step in zip(known, steps, strict=True)]
        coarser = pair[int(steps[1] > steps[0])]
        each.append(coarser.cast.get(name, 0.0) if cast else 0.0)
        rounding[name] = float(np.linalg.norm(each))
    return LayerGap(path, apart, rounding, float(np.hypot(one.unit, other.unit)))


def distance(one_nhx: Array, other_nhx: Array) -> float:
    """The median over rows of the size of their difference, as a share of the second's."""
    heads = min(one_nhx.shape[1], other_nhx.shape[1])  # keys may come once for each of their heads
    one, other = (
        np.asarray(x, np.float64)[:, :: x.shape[1] // heads].reshape(len(x), -1)
        for x in (one_nhx, other_nhx)
    )
    if one.shape != other.shape:
        return float("inf")
    size = np.linalg.norm(other, axis=1)
    off = np.linalg.norm(one - other, axis=1)[size > 0] / size[size > 0]
    return float(np.median(off[~np.isnan(off)])) if (~np.isnan(off)).any() else 0.0


def _parameters(one: Trace, other: Trace) -> tuple[str, bool]:
    """Which parameters differ, and whether by no more than a cast to the coarser dtype does."""
    step = max(one.step, other.step)
    differ, cast = {}, False
    for name, own in one.parameters.items():
        their = other.parameters.get(name)
        if their is None or their.shape != own.shape:
            continue
        off = np.abs(own - their)
        if not off.any():
            continue
        if (off <= step * np.maximum(np.abs(own), np.abs(their))).all():
            cast = True
        else:
            differ[name] = float(np.linalg.norm(off)) / max(float(np.linalg.norm(their)), 1e-300)
    if not differ:
        coarser = one if one.step == step else other
        return f"Parameters were cast to {coarser.dtype}: that counts as rounding." * cast, cast
    first, more = next(iter(differ)), len(differ) - 1
    rest = f" and {more} more" if more else ""
    return f"Parameters differ: {first} by {_share(differ[first])}{rest}.", cast


def _asked(one: TracedLayer, other: TracedLayer) -> str:
    """What two calls were asked for otherwise."""
    told = []
    for name, own in one.asked.items():
        their = other.asked.get(name)
        near = isinstance(own, float) and isinstance(their, float) and np.isclose(own, their, 1e-4)
        if own != their and not near:
            told.append(f"{name} {_word(own)} and {_word(their)}")
    off = np.flatnonzero(one.visible != other.visible)
    if len(off):
        at = off[-1]
        told.append(f"query {one.queries[at]} sees {one.visible[at]:,} keys and "
                    f"{other.visible[at]:,}")  # fmt: skip
    return ", ".join(told)


def _word(x: Any) -> str:
    return "none" if x is None else f"{x:.4g}" if isinstance(x, float) else str(x).lower()


def _next_token(one: Trace, other: Trace) -> str:
    """The likeliest next token in each run, and how far their distributions are apart."""
    if one.logits is None or other.logits is None or one.logits.shape != other.logits.shape:
        return ""
    odds = [np.exp(x - x.max()) for x in (one.logits.astype(float), other.logits.astype(float))]
    p, q = (x / x.sum() for x in odds)
    best = [int(x.argmax()) for x in (p, q)]
    names = [(one.names | other.names).get(x, f"token {x}") for x in best]
    said = [f"{name!r} {_share(x[i])}" for name, x, i in zip(names, (p, q), best, strict=True)]
    return f"Next token: {said[0]} and {said[1]}, {float(jensen_shannon(p, q)):.2g} bits apart."
