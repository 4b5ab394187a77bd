"""A study: what the stages found out about one subject so far."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from regard.checker.adapters.tape import Edits
from regard.checker.structure.names import are_twins, modules, role_of
from regard.checker.structure.subject import MOVED, Seen, Subject
from regard.typing import Array

EXACT, EXACT_IN_FLOAT32, LOOSE = 1e-6, 3e-4, 2e-3


@dataclass(frozen=True)
class Difference:
    """A departure from the textbook that is a choice; ``kind``: what of it departs."""

    kind: str
    text: str


@dataclass(frozen=True)
class Fault:
    """What no attention does on purpose, and where it was seen."""

    name: str
    detail: str = ""


class UndecidedError(Exception):
    """What was found is no attention that the stages know: nothing of it is judged."""


@dataclass
class Unit:
    """A slice of a parameter, and what a change of it moves; ``moved``: (h, d) by role."""

    param: str
    axis: int
    index: int
    moved: dict[str, Array]
    weights: bool
    sums: bool
    output: bool

    @property
    def roles(self) -> str:
        return "".join(role for role in "qkv" if self.moved[role].any())

    @property
    def of_scores(self) -> bool:
        """Whether it changes weights, and neither query, key nor value."""
        return self.weights and not self.roles

    @property
    def is_dead(self) -> bool:
        return not (self.roles or self.weights or self.sums or self.output)

    def heads(self, role: str) -> tuple[int, ...]:
        return tuple(int(x) for x in np.flatnonzero(self.moved[role].any(axis=1)))


@dataclass
class Study:
    """One subject with what was found: ``open`` is what could not be told."""

    subject: Subject
    facts: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    maps: dict[str, list[list[set[tuple[int, int]]]]] = field(default_factory=dict)
    sources: dict[str, set[int]] = field(default_factory=dict)
    units: list[Unit] = field(default_factory=list)
    cut: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)
    normed: dict[str, str] = field(default_factory=dict)
    is_divided_later: bool = False

    def __post_init__(self) -> None:
        self.arrays = self.subject.draw(0)
        self.base = self.subject.see(self.arrays)
        narrow = self.subject.noise > MOVED or any(x.is_narrow for x in self.base.run.nodes)
        self.exact = EXACT_IN_FLOAT32 if narrow else EXACT

    def see(self, arrays: list[Array], edits: Edits | None = None) -> Seen:
        return self.subject.see(arrays, edits)

    def see_one_word(self, seed: int, lengths: tuple[int, ...]) -> Seen:
        """A call with one word everywhere; arrays of one width have the same."""
        sizes = zip(self.subject.widths, lengths, strict=True)
        words = [(np.random.default_rng([seed, e]).standard_normal(e), n) for e, n in sizes]
        return self.see([np.tile(word, (self.subject.batch, n, 1)) for word, n in words])

    def fault(self, name: str, detail: str = "") -> None:
        if all(name != known.name for known in self.faults):
            self.faults.append(Fault(name, detail))

    def differ(self, kind: str, text: str) -> None:
        if Difference(kind, text) not in self.differences:
            self.differences.append(Difference(kind, text))

    def has(self, kind: str) -> bool:
        return any(x.kind == kind for x in self.differences)

    def units_of(self, name: str) -> list[Unit]:
        return [unit for unit in self.units if unit.param == name]

    def learned_in_scores(self) -> list[str]:
        """The parameters that change the weights alone."""
        return sorted({unit.param for unit in self.units if unit.of_scores})

    def layers_of(self, role: str) -> list[str]:
        """The parameters, but for those of norms, that an operand is made with."""
        return [
            name
            for name in self.subject.params
            if not re.search(r"norm|ln|gamma|scale", name.lower())
            and any(role in unit.roles for unit in self.units_of(name))
        ]

    def role_axis(self, units: list[Unit]) -> int:
        """The axis along which a parameter is divided into roles."""
        axes = sorted({unit.axis for unit in units})
        return min(axes, key=lambda a: np.mean([len(u.roles) for u in units if u.axis == a]))

    def has_twin(self, name: str, roles: str) -> bool:
        """Whether a parameter like this one is called after one of these roles."""
        others = [x for x in self.subject.params if role_of(x) and role_of(x) in roles]
        return any(are_twins(other, name) for other in others)

    def of_words(self, role: str) -> list[int]:
        """The rows of an operand that come from words; all where none does."""
        rows = [t for t, words in enumerate(self.maps[role][0]) if words]
        return rows or list(range(len(self.maps[role][0])))

    def another_follows(self) -> bool:
        """Whether a later attention gets what this one gives."""
        return any(
            node.level == 2
            and (node.op in ("_softmax", "_safe_softmax") or node.fused is not None)
            and node.index not in self.subject.found.sums
            and any(x.level == 2 for x in node.inputs)
            for node in self.base.run.nodes
        )

    def named(self, pattern: str) -> bool:
        """Whether some module inside has such a name."""
        return any(re.search(pattern, name) for name, _ in modules(self.subject.layer.exact))

    def moved(self, after: Array, before: Array) -> Array:
        """The elements that changed; all where the shape did."""
        pairs = zip(after.shape, before.shape, strict=False)
        if after.ndim != before.ndim or any(a != b and b != 1 for a, b in pairs):
            return np.ones(after.shape, bool)
        size = max(float(np.abs(before).max(initial=0)), 1e-12)
        gap = np.abs(after - before)
        made: Array = (gap > self.subject.noise * size) | np.isnan(gap)
        return made

    def moved_along(self, after: Array, before: Array, *axes: int) -> Array:
        """Where something changed, whatever the place along these axes is."""
        return np.asarray(self.moved(after, before).any(axis=axes))
