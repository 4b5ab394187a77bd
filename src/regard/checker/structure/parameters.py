"""Stage 2: what every slice of every parameter acts on, and how heads are cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from regard.checker.structure.names import (
    HEADS,
    PLURALS,
    TABLES,
    listed,
    modules,
    numbers,
    role_of,
)
from regard.checker.structure.study import Study, Unit
from regard.checker.structure.subject import number_of_different
from regard.checker.structure.words import optional_arrays
from regard.typing import Array

MAX_UNITS = 128  # along one axis of a parameter


def ask_parameters(study: Study) -> None:
    """Change one slice of one parameter at a time."""
    for name, p in study.subject.params.items():
        if "float" not in str(p.dtype) or 0 in p.shape:
            continue
        for axis in range(max(p.ndim, 1)):
            size = p.shape[axis] if p.ndim else 1
            for index in range(0, size, step_of(size)):
                study.units.append(_unit(study, name, axis, index))
    _find_dead(study)
    for name in study.subject.params:
        _compare_roles(study, name)
    _find_cuts(study)
    _compare_heads(study)
    heads = study.base.q.shape[1]
    if heads > 1 and all(number_of_different(study.base[role]) == 1 for role in "qkv"):
        study.fault("heads all alike", f"{heads} heads have the same queries, keys and values")


def step_of(size: int) -> int:
    """How many slices are changed at once along an axis."""
    return -(-size // MAX_UNITS)


def added(axis: int, indices: list[int], seed: list[int]) -> Callable[[Array], Array]:
    """A change of a parameter: random numbers are added to some slices."""
    random = np.random.default_rng(seed)

    def change(x: Array) -> Array:
        for index in indices:
            size = x.shape[axis] if x.ndim else 1
            where = [slice(None)] * x.ndim
            if x.ndim:
                where[axis] = slice(index, min(index + step_of(size), size))
            at = tuple(where)
            x[at] += 0.3 * random.uniform(0.5, 1.5, x[at].shape)
        return x

    return change


def _unit(study: Study, name: str, axis: int, index: int) -> Unit:
    base = study.base
    with study.subject.changed(**{name: added(axis, [index], [11, axis, index])}):
        after = study.see(study.arrays)
    by_role = {
        role: np.asarray(
            study.moved(after[role], base[role])[:, :, study.of_words(role)].any((0, 2))
        )
        for role in "qkv"
    }
    leaves = zip(after.run.leaves, base.run.leaves, strict=False)
    return Unit(
        name,
        axis,
        index,
        by_role,
        bool(study.moved(after.weights, base.weights).any()),
        bool(study.moved(after.sums, base.sums).any()),
        any(study.moved(a, b).any() for a, b in leaves),
    )


def _find_dead(study: Study) -> None:
    """Parameters, or parts of them, that change nothing."""
    for name in study.subject.unused:
        study.fault("a parameter is never used", f"a change of {name} changes nothing")
    tables = {
        f"{name}.weight"
        for name, module in modules(study.subject.layer.exact)
        if type(module).__name__ == "Embedding"
    }
    follows = study.another_follows()
    for name, p in study.subject.params.items():
        units = study.units_of(name)
        dead = [u for u in units if u.is_dead and _stays_dead(study, u)]
        if not dead or (p.ndim == 1 and (follows or _is_added_to_rows(study, name))):
            continue  # what is added to a whole row of scores moves nothing, as it should
        whole = len(dead) == len(units)
        if whole and optional_arrays(study):
            study.open.append(f"{name} is not used without {', '.join(optional_arrays(study))}")
        elif whole:
            study.fault("a parameter is never used", f"a change of {name} changes nothing")
        elif not _is_table(study, name, tables):
            rows = [u.index for u in dead if u.axis == dead[0].axis]
            where = f"{len(rows)} of {p.shape[dead[0].axis]} along axis {dead[0].axis}"
            detail = f"of {name}, {where}, from {rows[0]}"
            study.fault("a part of a parameter is never used", detail)


def _is_table(study: Study, name: str, embeddings: set[str]) -> bool:
    """Whether a parameter is read by place, so that some of its rows belong to longer sentences."""
    alive = [u for u in study.units_of(name) if not u.is_dead]
    by_place = study.subject.params[name].ndim > 1 and all(u.of_scores for u in alive)
    return by_place or name in embeddings or bool(re.search(TABLES, name.lower()))


def _is_added_to_rows(study: Study, name: str) -> bool:
    """Whether this is the bias of a layer of scores: the softmax takes it away."""
    weight = f"{name.removesuffix('bias')}weight"
    return name.endswith("bias") and any(u.of_scores for u in study.units_of(weight))


def _stays_dead(study: Study, unit: Unit) -> bool:
    """Whether other words show nothing of it either: what is behind a ReLU may rest once."""
    known = study.arrays, study.base
    try:
        study.arrays = [3 * a for a in study.subject.draw(51)]
        study.base = study.see(study.arrays)
        return _unit(study, unit.param, unit.axis, unit.index).is_dead
    finally:
        study.arrays, study.base = known


def _compare_roles(study: Study, name: str) -> None:
    """What a parameter makes, against what it is called."""
    units, meant = study.units_of(name), role_of(name)
    reached = "".join(role for role in "qkv" if any(role in u.roles for u in units))
    if not reached or not meant:
        return
    if len(meant) == 1:
        if meant not in reached:
            study.fault("roles swapped", f"by its name: {name} makes {listed(reached)}")
        elif len(reached) > 1:
            if meant == "v" or study.has_twin(name, reached.replace(meant, "")):
                study.fault("one layer for two roles", f"{name} makes {listed(reached)}")
            else:
                study.differ("shared", f"{name} makes {listed(reached)}")
    elif len(meant) == len(reached):
        along = [u for u in units if u.axis == study.role_axis(units)]
        places = {
            role: float(np.mean([float(u.index) for u in along if u.roles == role] or [np.nan]))
            for role in meant
        }
        order = "".join(sorted(meant, key=lambda role: places[role]))
        usual = "".join(role for role in "qkv" if role in meant)
        known = not any(np.isnan(x) for x in places.values())
        if known and order not in (meant, usual):
            detail = f"by its name: the parts of {name} serve as {listed(order)}"
            study.fault("roles swapped", detail)
    elif set(reached) != set(meant):
        study.fault("roles swapped", f"by its name: {name} makes {listed(reached)}")


def _find_cuts(study: Study) -> None:
    """How the rows of query, key and value are divided among the heads."""
    heads = study.base.q.shape[1]
    for role in "qkv":
        cuts = [x for name in study.subject.params if (x := _cut(study, role, name))]
        wide = [x for x in cuts if len(x) > heads or len(set(x)) == 1]
        study.cut[role] = [one for cut in wide or cuts for one in cut]
        _check_cut(study, role, heads)
    patterns = {role: pattern_of(order) for role, order in study.cut.items() if order}
    if len(set(patterns.values()) - {"one slice each"}) > 1:
        detail = ", ".join(f"{PLURALS[role]} {p}" for role, p in patterns.items())
        study.fault("heads cut differently", detail)
    q, k = (study.cut.get(role, []) for role in "qk")
    if q and k and len(q) == len(k) and q != k:
        detail = "queries and keys of a head come from different places of their layers"
        study.fault("heads in another order", detail)


def _compare_heads(study: Study) -> None:
    """Whether the number of heads, as an attribute says it, is the width of a head instead."""
    heads, width = study.base.q.shape[1], study.base.q.shape[-1]
    said = [(n, x) for _, n, x in numbers(study.subject.layer.exact) if re.search(HEADS, n.lower())]
    if said and all(x == width != heads for _, x in said) and heads > 1:
        detail = f"{said[0][0]} is {width}, and there are {heads} heads of width {width}"
        study.fault("another number of heads", detail)


def _cut(study: Study, role: str, name: str) -> list[tuple[int, ...]]:
    """The heads of each slice of a matrix, along the axis that is divided among them."""
    heads = study.base.q.shape[1]
    p = study.subject.params[name]
    for axis in range(p.ndim if p.ndim > 1 and heads > 1 else 0):
        units = [u for u in study.units_of(name) if u.axis == axis and role in u.roles]
        if units and all(len(u.heads(role)) < heads for u in units):
            return [u.heads(role) for u in units]
    return []


def _check_cut(study: Study, role: str, heads: int) -> None:
    order = study.cut[role]
    several = set(order)
    if not order:
        return
    if any(set(a) & set(b) and a != b for a in several for b in several):
        detail = f"some rows of the {PLURALS[role]} are used by several heads"
        study.fault("heads overlap", detail)
    missing = sorted(set(range(heads)) - {h for one in several for h in one})
    if missing:
        study.fault("a head gets no rows", f"{PLURALS[role]} of head {missing[0]}")
    if any(len(x) > 1 and x[-1] - x[0] != len(x) - 1 for x in several):
        detail = f"a head of the {PLURALS[role]} serves heads {sorted(several)[0]}"
        study.fault("grouped heads tiled instead of interleaved", detail)
    counts = sorted({order.count(x) for x in several})
    if len(counts) > 1:
        study.fault("heads of unequal width", f"{PLURALS[role]}: {counts}")


def pattern_of(order: Sequence[tuple[int, ...]]) -> str:
    """How slices follow each other: one head after the other, by turns, or otherwise."""
    changes = sum(a != b for a, b in pairwise(order))
    kinds = len(set(order))
    if kinds == len(order):
        return "one slice each"
    if changes == kinds - 1:
        return "one after the other"
    return "by turns" if changes == len(order) - 1 else "in pieces"
