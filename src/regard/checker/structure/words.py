"""Stage 1: which words of which inputs reach query, key and value of which head and sentence."""

from __future__ import annotations

import re

import numpy as np

from regard.checker.calling import kind_of
from regard.checker.signatures import function_parameters
from regard.checker.structure.names import (
    CONTEXTS,
    LETTERS,
    PLURALS,
    has_norm_over_words,
    has_wide_convolution,
    role_of,
)
from regard.checker.structure.study import Study, UndecidedError


def ask_words(study: Study) -> None:
    """Change one word of one sentence at a time."""
    base, subject = study.base, study.subject
    study.maps = {
        role: [[set() for _ in range(base[role].shape[2])] for _ in range(base[role].shape[1])]
        for role in "qkv"
    }
    reaches_output, mixed = set(), False
    for i, array in enumerate(study.arrays):
        for j in range(array.shape[1]):
            arrays = [a.copy() for a in study.arrays]
            arrays[i][0, j] = np.random.default_rng([7, i, j]).standard_normal(array.shape[-1])
            after = study.see(arrays)
            for role in "qkv":
                rows = study.moved_along(after[role], base[role], -1)
                mixed = mixed or bool(rows[1:].any())
                for h, row in zip(*np.nonzero(rows[0]), strict=True):
                    study.maps[role][h][row].add((i, j))
            if study.moved(after.output, base.output).any():
                reaches_output.add(i)
    differs = any(rows != by_head[0] for by_head in study.maps.values() for rows in by_head)
    if differs and len(subject.found.sums) > 1:
        raise UndecidedError("its keys come in several parts, which are put together later")
    if mixed:
        study.fault("sentences mixed", "a query, key or value depends on another sentence")
    elif subject.batch > 1 and subject.out_form and "b" in subject.out_form:
        arrays = [a.copy() for a in study.arrays]
        for a in arrays:
            a[0] += np.random.default_rng(8).standard_normal(a[0].shape)
        if study.moved(study.see(arrays).output, base.output)[1:].any():
            study.fault("sentences mixed", "the output of a sentence depends on another sentence")
    for role in "qkv":
        _one_word_each(study, role)
    _sources(study, reaches_output)


def _one_word_each(study: Study, role: str) -> None:
    by_head, word = study.maps[role], LETTERS[role]
    study.sources[role] = {i for rows in by_head for one in rows for i, _ in one}
    if any(rows != by_head[0] for rows in by_head):
        heads = len(by_head)
        reshaped = all(
            {j for _, j in one} == {(h * len(rows) + t) // heads}
            for h, rows in enumerate(by_head)
            for t, one in enumerate(rows)
        )
        name = "heads split by reshape without transposing" if reshaped else "heads and words mixed"
        study.fault(name, f"the heads of a {word} come from different words")
    several = [one for rows in by_head for one in rows if len({j for _, j in one}) > 1]
    if several and has_wide_convolution(study.subject.layer.exact):
        study.differ("convolution", "words are mixed by a convolution first")
    elif several and has_norm_over_words(study.subject.layer.exact):
        study.differ("convolution", "words are mixed by a norm over groups of features first")
    elif several:
        places = sorted({j for _, j in several[0]})
        study.fault("words mixed before the attention", f"one {word} depends on words {places}")
    moved_on = any(j != t for t, one in enumerate(by_head[0]) for _, j in one)
    if role == "q" and not several and moved_on and len(by_head[0]) in study.subject.lengths:
        study.fault("queries in another order than the words")


def _sources(study: Study, reaches_output: set[int]) -> None:
    names, sources = study.subject.names, study.sources
    listed = {
        role: " and ".join(f"`{names[i]}`" for i in sorted(sources[role])) or "learned numbers"
        for role in "qkv"
    }
    _say_sources(study, listed)
    for i, name in enumerate(names):
        if any(i in sources[role] for role in "qkv"):
            continue
        if i in reaches_output:
            study.open.append(f"{name} reaches the output, but no query, key or value")
        elif _is_required(study, name):
            study.fault("an input is never used", f"{name} changes nothing")
    meant = [role_of(name) for name in names]
    keys, values = study.maps["k"][0], study.maps["v"][0]
    if {"q", "k", "v"} <= set(meant):
        for role in "qkv":
            at = meant.index(role)
            if sources[role] and at not in sources[role]:
                detail = f"{PLURALS[role]} come from {listed[role]}, not from `{names[at]}`"
                study.fault("inputs exchanged", detail)
        places = [[{j for _, j in one} for one in rows] for rows in (keys, values)]
        if not study.faults and any(a != b for a, b in zip(*places, strict=False)):
            study.fault("keys and values of different words")
        return
    if sources["v"] - sources["k"] or (sources["k"] and not sources["v"]):
        detail = f"keys come from {listed['k']}, values from {listed['v']}"
        study.fault("keys and values from different sources", detail)
    elif len(keys) == len(values) and any(
        b and not b <= a for a, b in zip(keys, values, strict=True)
    ):
        study.fault("keys and values of different words", "a value and its key are of two words")
    _two_inputs(study, reaches_output)


def _two_inputs(study: Study, reaches_output: set[int]) -> None:
    names, sources = study.subject.names, study.sources
    if len(names) != 2:
        return
    if sources["q"] and sources["k"] and not sources["q"] & sources["k"]:
        asks, answers = names[min(sources["q"])], names[min(sources["k"])]
        if re.search(CONTEXTS, asks) and not re.search(CONTEXTS, answers):
            detail = f"queries come from `{asks}`, keys and values from `{answers}`"
            study.fault("the context asks", detail)
    elif sources["q"] == sources["k"] == sources["v"] and len(sources["q"]) == 1:
        unused = ({0, 1} - sources["q"]).pop()
        is_context = re.search(CONTEXTS, names[unused])
        if not study.faults and unused not in reaches_output and is_context:
            study.fault("an input is never used", f"{names[unused]} changes nothing")


def _say_sources(study: Study, listed: dict[str, str]) -> None:
    if len(set(listed.values())) == 1:
        study.facts.append(f"queries, keys and values from {listed['q']}")
    elif listed["k"] == listed["v"]:
        study.facts.append(f"queries from {listed['q']}, keys and values from {listed['k']}")
    else:
        study.facts.append(", ".join(f"{PLURALS[role]} from {listed[role]}" for role in "qkv"))
    if not study.sources["q"]:
        study.differ("latents", "queries are learned, not made of words")


def _is_required(study: Study, name: str) -> bool:
    parameters = function_parameters(study.subject.layer.called)
    return any(p.name == name and p.default is p.empty for p in parameters)


def optional_arrays(study: Study) -> list[str]:
    """The arrays that were not handed in, and might be what a parameter is for."""
    return [
        p.name
        for p in function_parameters(study.subject.layer.called)
        if p.default is None and kind_of(p) == "array" and p.name not in study.subject.names
    ]
