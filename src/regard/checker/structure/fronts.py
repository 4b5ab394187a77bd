"""Stages 3 and 4: how a word becomes query, key and value, and where positions enter."""

from __future__ import annotations

import re

import numpy as np

from regard.checker.structure.names import (
    ACTIVATIONS,
    LETTERS,
    NORMS,
    OWN_NORM,
    PLURALS,
    documentation,
    listed,
    modules,
    role_of,
)
from regard.checker.structure.parameters import MAX_UNITS
from regard.checker.structure.study import LOOSE, Study
from regard.checker.structure.subject import Seen, number_of_different
from regard.typing import Array

NOT_TO_VALUES = r"not (\w+ ){0,3}values|quer(y|ies) and keys? (only|alone)"
ANGLE = 1e-5  # relative to the largest: positions may be counted in float32


def ask_fronts(study: Study) -> None:
    """Ask whether query, key and value are linear in the words, or normalised before or after."""
    one, two = study.subject.draw(3), study.subject.draw(4)
    middle = study.see([(a + b) / 2 for a, b in zip(one, two, strict=True)])
    far, first, second = study.see([3 * a for a in one]), study.see(one), study.see(two)
    for role in "qkv":
        a = first[role]
        size = np.abs(a).max()
        bend = np.abs((a + second[role]) / 2 - middle[role]).max(axis=(0, 2))
        curved = bend > study.exact * size  # (h, d)
        if not curved.any():
            study.normed[role] = ""
            continue
        is_same = np.abs(far[role] - a).max(axis=(0, 2))[curved].max() < LOOSE * size
        is_after = _ignores_size_of_layers(study, role, one, a, curved)
        if is_after:
            study.normed[role] = "after"
            if _is_normed_over_heads(study, role):
                detail = f"a number of one head of the {PLURALS[role]} moves those of all heads"
                study.fault("normalised over the heads", detail)
        elif is_same:
            study.normed[role] = "before"
        elif _has_network(study, role):
            study.normed[role] = "network"
            study.differ("network", f"{PLURALS[role]} come from a small network")
        else:
            study.normed[role] = "?"
            study.open.append(f"{PLURALS[role]} are no linear function of the words")
    _compare_norms(study)


def _is_normed_over_heads(study: Study, role: str) -> bool:
    """Whether a row of its layer moves the same feature of every head, and no other one."""
    heads, width = study.base[role].shape[1], study.base[role].shape[-1]
    layers = [x for x in study.layers_of(role) if study.subject.params[x].ndim > 1]
    reached = [u.moved[role] for u in study.units if u.roles == role and u.param in layers]
    narrow = [x for x in reached if x.any(axis=0).sum() == 1]
    return heads > 1 < width and bool(narrow) and all(x.sum() == heads for x in narrow)


def _compare_norms(study: Study) -> None:
    q, k, v = (study.normed[role] for role in "qkv")
    one_input = study.sources["q"] == study.sources["k"]
    own = [name for name in _norms_of_one(study) if re.search(OWN_NORM, name.lower())]
    if {q, k} == {"", "after"} and study.sources["q"]:
        study.fault("query or key alone normalised", f"the {'queries' if q else 'keys'} alone")
    elif one_input and {q, k} == {"", "before"} and own:
        study.differ("norm", f"a norm on the way ({', '.join(own)})")
    elif one_input and {q, k} == {"", "before"}:
        detail = "one is made of the normalised word, the other of the word itself"
        study.fault("queries and keys from different sources", detail)
    shared = study.sources["k"] == study.sources["v"]
    if shared and (k == "before") != (v == "before") and k != "after":
        detail = "one is made of the normalised word, the other of the word itself"
        study.fault("keys and values from different sources", detail)
    if v == "after":
        study.differ("norm", "values are normalised after their layer")
    if "after" in (q, k):
        study.differ("normed", "query and key are normalised")
    if "before" in (q, k, v):
        study.differ("norm before", "the words are normalised first")


def _norms_of_one(study: Study) -> list[str]:
    """The parameters of norms that either make queries alone or have nothing to do with them."""
    found = []
    for name in study.subject.params:
        reached = {"q" in u.roles for u in study.units_of(name) if u.roles}
        if re.search(NORMS, name.lower()) and len(reached) == 1:
            found.append(name)
    return found


def _ignores_size_of_layers(
    study: Study, role: str, arrays: list[Array], before: Array, curved: Array
) -> bool:
    """Whether three times the numbers of its layer give the same: a norm follows."""
    names = study.layers_of(role)
    last = [name for name in names if study.subject.params[name].ndim > 1][-1:]
    if not last:
        return False
    stem = last[0].rpartition(".")[0]
    group = [name for name in names if not stem or name.rpartition(".")[0] == stem]
    with study.subject.changed(**{name: lambda x: 3 * x for name in group}):
        after = study.see(arrays)[role]
    gap = np.abs(after - before).max(axis=(0, 2))[curved].max()
    return bool(gap < LOOSE * np.abs(before).max())


def _has_network(study: Study, role: str) -> bool:
    """Whether an activation stands beside the layers of a role, as in a Sequential."""
    beside = {n.rpartition(".")[0].rpartition(".")[0] for n in study.layers_of(role)} - {""}
    return any(
        type(module).__name__ in ACTIVATIONS and name.rpartition(".")[0] in beside
        for name, module in modules(study.subject.layer.exact)
    )


def ask_positions(study: Study) -> None:
    """Put one word everywhere: only its place can then make a difference."""
    _compare_angles(study)
    if not study.sources["k"] or study.has("convolution"):
        return
    one, two = (study.see_one_word(seed, study.subject.lengths) for seed in (1, 2))
    turned, shifted, scaled = {}, {}, {}
    for role in "qkv":
        a, b = (x[role][:, :, study.of_words(role)] for x in (one, two))
        delta = a - b
        turned[role] = bool(study.sources[role]) and bool(study.moved(delta, delta[:, :, :1]).any())
        scaled[role] = turned[role] and _is_scaled_by_place(delta)
        shifted[role] = bool(study.moved(a, a[:, :, :1]).any())
    places = [i for i, name in enumerate(study.subject.names) if re.search(r"pos", name)]
    said = documentation(study.subject.layer.exact)
    if re.search(NOT_TO_VALUES, said) and study.sources["v"].intersection(places):
        study.fault("values depend on their place", "its docstring says that they do not")
    if turned["v"] and study.normed["v"] == "":
        study.fault("values depend on their place", "values are turned by position")
    if turned["v"] and study.normed["v"] in ("before", "?"):
        study.differ("positions", "positions are added before a norm")
        return
    if scaled["q"] != scaled["k"] and turned["q"] != turned["k"]:
        which = "queries" if scaled["q"] else "keys"
        study.differ("place scale", f"{which} are multiplied by a number of their place")
        return
    is_turned = (turned["q"] or turned["k"]) and study.normed["q"] != "before"
    if is_turned or (turned["q"] and turned["k"]):
        _rotations(study, one, turned)
    elif any(shifted.values()):
        which = " and ".join(LETTERS[role] for role in "qkv" if shifted[role])
        same = study.sources["q"] == study.sources["k"]
        if study.sources["q"] and shifted["q"] != shifted["k"] and same:
            study.fault("positions added to one of query and key", f"to the {which} alone")
        study.differ("positions", f"positions are added ({which})")
    several = all(len(study.of_words(role)) > 1 for role in "qk")  # else no place is another
    if not (turned["q"] or turned["k"]) and several:
        _channels(study)


def _compare_angles(study: Study) -> None:
    """Sines and cosines are of the same angles, those of one a part of the other's at most."""
    sines, cosines = (study.base.run.angles(name) for name in ("sin", "cos"))
    if sines.size and cosines.size:
        less, more = sorted((np.unique(sines), np.unique(cosines)), key=len)
        nearest = np.abs(less[:, None] - more[None]).min(axis=1)
        if nearest.max() > ANGLE * max(1.0, float(np.abs(more).max())):
            study.fault("sine and cosine of different angles")


def _is_scaled_by_place(delta: Array) -> bool:
    """Whether the difference of two words has one direction in all places."""
    last = delta[:, :, -1:]
    along = (delta * last).sum(axis=-1, keepdims=True) / (last**2).sum(axis=-1, keepdims=True)
    return bool(np.abs(delta - along * last).max() < LOOSE * np.abs(delta).max())


def _rotations(study: Study, one: Seen, turned: dict[str, bool]) -> None:
    scores = one.q @ one.k[:, :, study.of_words("k")].swapaxes(-1, -2)
    n = min(scores.shape[-2:])
    gap = np.abs(scores[..., 1:n, 1:n] - scores[..., : n - 1, : n - 1]).max(initial=0)
    if gap > max(1e-5, study.exact) * np.abs(scores).max():
        if turned["q"] != turned["k"] and study.sources["q"]:
            which = "queries" if turned["q"] else "keys"
            study.fault("rotary positions on one of query and key", f"the {which} alone are turned")
        else:
            detail = "with one word everywhere a score must depend on the distance alone"
            study.fault("rotary positions of query and key do not match", detail)
    elif turned["q"] and turned["k"]:
        study.differ("rotary", "query and key are rotated by position")
    else:
        study.facts.append(f"positions in {listed(''.join(r for r in 'qk' if turned[r]))}")


def _channels(study: Study) -> None:
    """Without positions or norm, each row of a linear layer makes one number of one head."""
    linear = {
        f"{name}.weight"
        for name, module in modules(study.subject.layer.exact)
        if type(module).__name__ == "Linear"
    }
    heads = study.base.q.shape[1]
    for role in (x for x in "qkv" if study.normed.get(x) in ("", "before")):
        repeats = heads // number_of_different(study.base[role])
        total = heads * study.base[role].shape[-1]
        for name in sorted(linear & set(study.subject.params)):
            p = study.subject.params[name]
            if max(p.shape) > MAX_UNITS:
                continue
            units = [u for u in study.units_of(name) if role in u.roles]
            rows, columns = ([u for u in units if u.axis == axis] for axis in (0, 1))
            rows = [u for u in rows if len(u.heads(role)) <= repeats] or rows[:1]
            if not rows or not columns or (not role_of(name) and len(rows) < p.shape[0]):
                continue
            wide = max(int(u.moved[role].sum()) for u in rows)
            narrow = max(int(u.moved[role].sum()) for u in columns)
            if narrow <= repeats and wide >= min(total, len(columns)):
                study.fault("a weight is used transposed", name)
            elif repeats < wide <= 2 * repeats:
                where = f"a row of {name} reaches several numbers of a {LETTERS[role]}"
                study.fault("rotated by something that is not the place", where)
