"""The simplest explanation of all results: right, one mistake, two at once, or none with a name.

An exception is no answer. Among the ways to call a function, one in which a claimed feature is
never answered gives way to one in which it is, and a way with more axes to one with fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from regard.checker.candidates import Features
from regard.checker.cases import PROBES
from regard.checker.compare import ODD
from regard.checker.convention import CallingConvention
from regard.checker.hints import mentions_heads
from regard.checker.mistakes import BY_NAME, GENERAL, OF_FEATURES, pairs, single
from regard.checker.mistakes.entry import combined
from regard.checker.trials import Calls, Candidate, Explanation, run_trials, trials_of
from regard.textbook.stages import SPECIFICATION

CORRECT: Explanation = ((), SPECIFICATION)
CANDIDATES_FOR_PAIRS = 3  # two mistakes at once are many combinations: only these are tried
CERTAIN, LIKELY, NAMELESS = "certain", "likely", "unknown"


@dataclass(frozen=True)
class Verdict:
    """A candidate and the explanation of its results; ``others`` fit as well, in other layouts.

    ``missing`` are features whose questions were never answered.
    """

    candidate: Candidate
    explanation: Explanation | None
    confidence: str = CERTAIN
    others: tuple[str, ...] = ()
    missing: frozenset[str] = field(default_factory=frozenset)


def with_groups(
    function: Callable[..., Any], candidate: Candidate, explanation: Explanation
) -> Explanation | None:
    """The explanation with grouped heads, repeated rightly or tiled; None where neither fits."""
    probe = next(probe for probe in PROBES if probe.name == "grouped heads")
    trials = trials_of(function, candidate.convention, probe)
    trial = next((trial for trial in trials if not trial.result.error), None)
    if trial is None:
        return None
    alone = replace(candidate, trials=(trial,))
    mistakes, stages = explanation
    tiled = BY_NAME["grouped heads tiled instead of interleaved"]
    both = combined(stages, tiled.variants[0])
    explanations = [explanation] + ([((*mistakes, tiled), both)] if both is not None else [])
    return alone.explanation(explanations)


def explain(function: Callable[..., Any], layouts: list[Candidate], features: Features) -> Verdict:
    """The simplest explanation: right, else one mistake, else two, else none with a name."""
    least = _least_rank(function, layouts)
    candidates: list[Candidate] = []
    for convention, calls in _readings(function, layouts, features, least):
        for candidate in _variant_candidates(function, convention, features, calls):
            candidates.append(candidate)
            answered = candidate.regular and not candidate.unanswered(features)
            usual = answered and candidate.convention.rank >= least
            if usual and candidate.explained_by(SPECIFICATION):
                return _or_inverted(Verdict(candidate, CORRECT), candidates)
    verdict = _of_incomplete(candidates, least, features)
    return _or_inverted(_in_other_axes(function, verdict, layouts, features), candidates)


def _in_other_axes(
    function: Callable[..., Any], verdict: Verdict, layouts: list[Candidate], features: Features
) -> Verdict:
    """One mistake in other axes, where in these so many features fail that they are misread."""
    departing = {trial.probe.feature for trial in verdict.candidate.departing}
    if verdict.confidence != NAMELESS or len(departing) < 3:
        return verdict
    for layout in layouts:
        candidate = run_trials(function, layout.convention, features)
        explanation = candidate.explanation(single()) if candidate is not None else None
        if candidate is not None and explanation is not None:
            return Verdict(candidate, explanation, LIKELY)
    return verdict


def _least_rank(function: Callable[..., Any], layouts: list[Candidate]) -> int:
    """The number of axes in which a function has to be right: those of a batch, if it takes one.

    Code that speaks of heads and takes their axis has to be right with it.
    """
    ranks = [c.convention.rank for c in layouts if c.regular]
    headed = 4 in ranks and mentions_heads(function)
    return 4 if headed else min(3, max(ranks, default=0))


def _readings(
    function: Callable[..., Any], layouts: list[Candidate], features: Features, least: int
) -> list[tuple[CallingConvention, Calls]]:
    """The layouts and orders of words worth asking everything: plain results tell which."""
    plain: list[tuple[Candidate, Calls]] = []
    for layout in layouts:
        calls: Calls = {}
        for convention in features.orders(layout.convention):
            candidate = run_trials(function, convention, features, calls, plain=True)
            if candidate is not None:
                plain.append((candidate, calls))
    right = [x for x in plain if x[0].plainly_right and x[0].regular]
    usual = [x for x in right if x[0].convention.rank >= least]
    unasked = {x[0].convention.layout for x in usual if not x[0].convention.always}
    if usual:
        chosen = [
            x for x in usual if not (x[0].convention.always and x[0].convention.layout in unasked)
        ]
    else:
        ranks = {x[0].convention.rank for x in right}
        rest = [x for x in plain if x[0].convention.rank not in ranks] or plain
        chosen = [x for x in rest if x[0].explanation(single())] or rest
    return [(candidate.convention, calls) for candidate, calls in chosen]


def _of_incomplete(candidates: list[Candidate], least: int, features: Features) -> Verdict:
    """The verdict where no candidate is right in everything that it has to answer."""
    answering = _answering(candidates, features)
    right = [c for c in answering if c.explained_by(SPECIFICATION)]
    best = next((c for c in right if c.convention.rank >= least), None)
    if best is not None:
        return Verdict(best, CORRECT, missing=best.unanswered(features))
    ranks = {c.convention.rank for c in right}
    wrong = [c for c in answering if c.convention.rank not in ranks] or answering
    return _name(_readable(wrong))


def _answering(candidates: list[Candidate], features: Features) -> list[Candidate]:
    """The candidates that no other one surpasses in the features that it answers."""
    missing = {id(c): c.unanswered(features) for c in candidates}
    usual = [c for c in candidates if ODD not in c.kinds[:1] and c.regular]
    return [
        c for c in candidates if not any(missing[id(other)] < missing[id(c)] for other in usual)
    ]


def _readable(candidates: list[Candidate]) -> list[Candidate]:
    """The candidates whose axes are read rightly, as far as plain results show it."""
    plain = [c for c in candidates if c.plainly_right]
    ranks = {c.convention.rank for c in plain}
    if ranks:  # fewer axes, or others, say nothing more
        candidates = [c for c in plain if c.convention.rank == max(ranks)] + [
            c for c in candidates if c.convention.rank > max(ranks)
        ]
    order = {c.convention.layout for c in plain if not c.convention.always}
    candidates = [
        c for c in candidates if not (c.convention.always and c.convention.layout in order)
    ]
    if any(ODD not in c.kinds[:1] for c in candidates):
        candidates = [c for c in candidates if ODD not in c.kinds[:1]]
    if any(c.regular for c in candidates):
        regular = [c for c in candidates if c.regular]
        candidates = regular + [c for c in candidates if not c.regular]
    candidates.sort(key=lambda c: (c.convention.always, -c.convention.rank, len(c.refused)))
    return candidates


def _name(candidates: list[Candidate]) -> Verdict:
    """The verdict on wrong results: all single mistakes that fit, else two, else the feature."""
    fitting: list[tuple[Candidate, Explanation]] = []
    for candidate in candidates:
        explanation = candidate.explanation(single())
        if explanation is not None:
            fitting.append((candidate, explanation))
    if fitting:
        candidate, explanation = fitting[0]
        # A module has one size, and sqrt(16) is 4: more than one mistake can give its numbers.
        general = [one for one in single() if one[0][0].name not in OF_FEATURES]
        alike = [one for one in general if candidate.explained_by(one[1])]
        names = dict.fromkeys(one[0][0].name for one in [*(x for _, x in fitting), *alike])
        others = tuple(name for name in names if name != explanation[0][0].name)
        return Verdict(candidate, explanation, LIKELY if others else CERTAIN, others)
    return _in_half(candidates) or _of_feature(candidates) or _of_two(candidates)


def _in_half(candidates: list[Candidate]) -> Verdict | None:
    """The first candidate that is right to three digits and no more where scores are moderate."""
    half = BY_NAME["statistics in half precision"]
    for candidate in candidates:
        if candidate.roughly_right():
            return Verdict(candidate, ((half,), half.variants[0]), LIKELY)
    return None


def _of_feature(candidates: list[Candidate]) -> Verdict | None:
    """Plain results right: two mistakes of features, or the first feature that is wrong."""
    some = [c for c in candidates if c.plainly_right]
    some = sorted(some, key=lambda c: len(c.departing))[:CANDIDATES_FOR_PAIRS]
    both = [x for x in pairs() if all(m.name in OF_FEATURES for m in x[0])]
    for candidate in some:
        explanation = candidate.explanation(both)
        if explanation is not None:
            return Verdict(candidate, explanation, LIKELY)
    for candidate in some:
        for trial in candidate.departing:
            if trial.probe.feature in GENERAL:
                general = BY_NAME[GENERAL[trial.probe.feature]]
                return Verdict(candidate, ((general,), SPECIFICATION), NAMELESS)
    return None


def _of_two(candidates: list[Candidate]) -> Verdict:
    """Two mistakes at once; else one of plain attention and the feature that is wrong as well."""
    for candidate in candidates[:CANDIDATES_FOR_PAIRS]:
        explanation = candidate.explanation(_possible_pairs(candidate))
        if explanation is not None:
            return Verdict(candidate, explanation, LIKELY)
    for candidate in candidates[:CANDIDATES_FOR_PAIRS]:
        for mistakes, stages in single():
            if not candidate.explains(stages, candidate.plain):
                continue
            for trial in candidate.judged:
                feature = trial.probe.feature
                if feature in GENERAL and not candidate.explains(stages, [trial]):
                    general = BY_NAME[GENERAL[feature]]
                    return Verdict(candidate, ((*mistakes, general), stages), NAMELESS)
    return Verdict(candidates[0], None, NAMELESS)


def _possible_pairs(candidate: Candidate) -> list[Explanation]:
    """The pairs that are not ruled out by one plain result."""
    if candidate.convention.always:
        return pairs()
    some = [
        mistakes[0].name
        for mistakes, stages in single()
        if candidate.explains(stages, candidate.plain[:1])
    ]
    return [
        x
        for x in pairs()
        if all(m.name not in OF_FEATURES for m in x[0]) or any(m.name in some for m in x[0])
    ]


def _variant_candidates(
    function: Callable[..., Any],
    convention: CallingConvention,
    features: Features,
    calls: Calls,
) -> Iterator[Candidate]:
    """Every meaning of masks and padding that gives results; equal calls are made once."""
    understood: dict[str, str] = {}  # the first shape of masks that a form is understood in
    for variant in features.variants(convention):
        form = f"{variant.mask_form} {variant.pad_form}"
        if understood.get(form, variant.mask_shape) != variant.mask_shape:
            continue
        candidate = run_trials(function, variant, features, calls)
        if candidate is None:
            continue
        if candidate.understood(features):
            understood[form] = variant.mask_shape
        yield candidate


def _or_inverted(verdict: Verdict, others: list[Candidate]) -> Verdict:
    """The same, or an inverted bool mask: a float mask added rightly does not exclude one."""
    candidate, inverted = verdict.candidate, BY_NAME["boolean mask inverted"]
    if verdict.explanation is None or candidate.convention.mask_form not in ("added", "ones"):
        return verdict
    mistakes, stages = verdict.explanation
    both = [combined(stages, variant) for variant in inverted.variants]
    explanations: list[Explanation] = [
        ((*mistakes, inverted), one) for one in both if one is not None
    ]
    same = [c for c in others if c.convention.layout == candidate.convention.layout]
    for other in same:
        if other.convention.mask_form == "bool" and not other.refused:
            explanation = other.explanation(explanations)
            if explanation is not None:
                return Verdict(other, explanation, verdict.confidence, verdict.others)
    return verdict
