"""Confirmation: what a function's own process says of it is tested with numbers of this one.

All questions are asked again with fresh numbers. A module's query, key and value come from its own
process: they are confirmed with sentences made of words whose vectors were given before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from regard.checker.calls import BoundFunction, Candidate
from regard.checker.cases import Case, seeded
from regard.checker.compare import exact_trace
from regard.checker.report import FAIL, PASS, Finding
from regard.errors import count
from regard.typing import Array

LEAST_CHANGE = 1e-5  # of a weight or a value: less is lost in float32
NOT_BY_WORD = (
    "query, key and value of a word depend on the other words, so that nothing confirms them: "
    "check the function inside it that takes q, k and v."
)


def ask_again(candidate: Candidate, seed: int) -> tuple[Candidate | None, Finding]:
    """All questions with numbers that nobody can have known before, and whether all are right.

    Of a module's query, key and value this is what confirms them: they are asked for word by word,
    before anyone knows the sentences that will be made of the words.
    """
    name = "fresh inputs"
    convention, reading = candidate.convention, candidate.convention.reading
    mixed = replace(convention, reading=reading.mixed if reading else None)
    with seeded(seed):
        bound = BoundFunction(candidate.bound.function, mixed, sizes=candidate.bound.sizes)
        fresh = bound.run_trials(candidate.features)
        if fresh is None:
            return None, Finding(name, FAIL, "with other numbers every call ended in an exception")
        ignored = _ignored_vector(fresh)
    if ignored:
        return fresh, Finding(name, FAIL, ignored, input=fresh.trials[0].case.sizes.text)
    # In 16 bits large scores leave no digits: which key wins is decided by rounding.
    large = ("large",) if convention.dtype in ("float16", "bfloat16") else ()
    departing = [t for t in fresh.departing if not any(x in t.probe.name for x in large)]
    if departing or fresh.refused - candidate.refused:
        detail = "with other numbers its results are wrong"
        if reading is not None and _depends_on_others(fresh):
            detail = NOT_BY_WORD
        return fresh, Finding(name, FAIL, detail, input=fresh.trials[0].case.sizes.text)
    return fresh, Finding(name, PASS, count(len(fresh.judged), "call"))


def _ignored_vector(fresh: Candidate) -> str:
    """What shows that a head of a module is no attention to words, or ''.

    Weights that are all 0 and 1, or that stay the same with other words in the same places, would
    make an attention of any function of a word.
    """
    reading = fresh.convention.reading
    if reading is None:
        return ""
    other = BoundFunction(
        fresh.bound.function,
        replace(fresh.convention, reading=reading.exchanged),
        sizes=fresh.bound.sizes,
    )
    change = dict.fromkeys(("softness", "query", "key", "value"), 0.0)
    for trial in fresh.plain:
        exchanged = other.fit(trial.probe, trial.sizes)
        if exchanged is None or "large" in trial.probe.name:
            continue
        for name, gap_h in _changes_by_head(trial.case, exchanged):
            change[name] = max(change[name], float(gap_h.min()))
    if change.pop("softness") < LEAST_CHANGE:
        return "a head gives all of its weight to one key in every row"
    ignored = next((role for role, gap in change.items() if gap < LEAST_CHANGE), "")
    return ignored and f"the {ignored} of a head is the same for every word"


def _changes_by_head(case: Case, exchanged: Case) -> Iterator[tuple[str, Array]]:
    """How far the weights are from 0 and 1, and what other words change, for each head."""
    weights = exact_trace(case).weights
    yield "softness", (1 - weights.max(axis=-1)).max(axis=(0, 2))
    for role in ("query", "key"):
        other = exact_trace(replace(case, **{role: getattr(exchanged, role)})).weights
        yield role, np.abs(other - weights).max(axis=(0, 2, 3))
    yield "value", np.abs(exchanged.value - case.value).max(axis=(0, 2, 3))


def _depends_on_others(fresh: Candidate) -> bool:
    """Whether query, key or value of a word change with the other words of its sentence."""
    reading, case = fresh.convention.reading, fresh.plain[0].case
    if reading is None or not case.sources:
        return False
    made = reading.vectors(case.sources)
    own = (case.query, case.key, case.value)
    return made is None or any(
        one.shape != two.shape
        or not np.allclose(one, two, rtol=1e-4, atol=1e-6 * np.abs(two).max())
        for one, two in zip(made, own, strict=True)
    )
