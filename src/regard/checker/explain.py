"""The simplest explanation of all results of a function.

A check goes through five steps, each in its module:

1. prepare (``prepare``): the roles of the parameters, the layouts, libraries and dtypes to try;
2. call (``calls``): every probe in every calling convention that works;
3. compare (``compare``): what came back with what the specification, or a mistake, gives;
4. explain (this module): the simplest explanation, right, one mistake, two, or none with a name;
5. report (``check``, ``report``): the verdict, the properties and the diagnosis.

``explain`` below is the fourth step, and its helpers follow in the order in which it calls them. An
exception is no answer: among the ways to call a function, one in which a claimed feature is never
answered gives way to one in which it is, and a way with more axes to one with fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from regard.checker.calls import BoundFunction, Candidate, Explanation, Trial
from regard.checker.cases import PROBE_BY_NAME, Probe
from regard.checker.compare import UNKNOWN_KIND
from regard.checker.mistakes import (
    BY_NAME,
    FEATURE_MISTAKES,
    GENERIC_BY_FEATURE,
    mistake_pairs,
    single_mistakes,
)
from regard.checker.mistakes.entry import combined
from regard.checker.prepare import Features
from regard.textbook.stages import SPECIFICATION

CORRECT: Explanation = ((), SPECIFICATION)
INVERTED_MASK = "boolean mask inverted"
# Two mistakes at once are thousands of combinations: they are tried on this many candidates, and
# where the answers are not long.
MAX_CANDIDATES_FOR_PAIRS, MAX_WEIGHTS_FOR_PAIRS = 3, 2**12
# Where this many features fail at once, the axes were probably misread.
MIN_FEATURES_MISREAD = 3
CERTAIN, LIKELY, NAMELESS = "certain", "likely", "unknown"


@dataclass(frozen=True)
class Verdict:
    """A candidate and the explanation of its results; ``others`` fit as well, in other layouts.

    ``missing`` are features whose probes were never answered.
    """

    candidate: Candidate
    explanation: Explanation | None
    confidence: str = CERTAIN
    others: tuple[str, ...] = ()
    missing: frozenset[str] = field(default_factory=frozenset)


def explain(layouts: list[Candidate], features: Features) -> Verdict:
    """The simplest explanation: right, else one mistake, else two, else none with a name."""
    layouts = _answering_most_sizes(layouts) if layouts[0].bound.sizes else layouts
    least = _required_rank(layouts, features)
    plausible = _plausible_readings(layouts, features, least)
    for candidate in (one for bound in plausible for one in _promising(bound, features)):
        answered = candidate.regular and not candidate.unanswered
        usual = answered and candidate.convention.rank >= least
        if usual and candidate.explained_by(SPECIFICATION):
            return Verdict(candidate, CORRECT)
    candidates = [one for bound in plausible for one in _mask_meanings(bound, features)]
    verdict = _explain_partial_answers(candidates, least)
    return _retry_in_other_layouts(verdict, layouts, features)


def _answering_most_sizes(layouts: list[Candidate]) -> list[Candidate]:
    """The layouts that no other with as many axes surpasses in the sizes that it answers.

    Of sizes that kernels take, one that is refused shows that the axes are others, even where the
    rest is right.
    """
    sizes = [{trial.sizes for trial in layout.successful} for layout in layouts]
    ranks = [layout.convention.rank for layout in layouts]
    return [
        layout
        for layout, own, rank in zip(layouts, sizes, ranks, strict=True)
        if not any(own < more and most >= rank for more, most in zip(sizes, ranks, strict=True))
    ]


def explain_for_equal_lengths(layouts: list[Candidate], features: Features) -> Verdict | None:
    """A function that is right with as many queries as keys, in everything; None for others.

    A module that takes a context of its own has to be right with any length of it, but for masks.
    """
    equal = []
    for layout in layouts:
        convention = replace(layout.convention, equal_lengths=True)
        bound = replace(layout.bound, convention=convention, trials={})
        several = convention.separate or convention.takes_context
        candidate = bound.run_trials(features, plain=True) if several else None
        if candidate is not None:
            equal.append(candidate)
    verdict = explain(equal, features) if equal else None
    return verdict if verdict is not None and verdict.explanation == CORRECT else None


def _required_rank(layouts: list[Candidate], features: Features) -> int:
    """The number of axes in which a function has to be right: those of a batch, if it takes one.

    Code that mentions heads and takes their axis has to be right with it.
    """
    ranks = [c.convention.rank for c in layouts if c.regular]
    headed = 4 in ranks and "mentions heads" in features.claims
    return 4 if headed else min(3, max(ranks, default=0))


def _plausible_readings(
    layouts: list[Candidate], features: Features, least: int
) -> list[BoundFunction]:
    """The layouts and word orders worth asking everything, chosen by their plain results."""
    plain: list[Candidate] = []
    for layout in layouts:
        for convention in features.orders(layout.convention):
            bound = layout.bound.with_convention(convention)
            candidate = bound.run_trials(features, plain=True)
            if candidate is not None:
                plain.append(candidate)
    right = [c for c in plain if c.plainly_right and c.regular]
    usual = [c for c in right if c.convention.rank >= least]
    if usual:
        chosen = _without_needless_causality(usual, usual)
    else:
        ranks = {c.convention.rank for c in right}
        rest = [c for c in plain if c.convention.rank not in ranks] or plain
        chosen = [c for c in rest if c.first_explanation(single_mistakes())] or rest
    return [candidate.bound for candidate in chosen]


def _without_needless_causality(
    candidates: list[Candidate], right: list[Candidate]
) -> list[Candidate]:
    """Leave out candidates that are always causal in layouts that are right without it."""
    layouts = {c.convention.layout for c in right if not c.convention.always_causal}
    return [
        c for c in candidates if not (c.convention.always_causal and c.convention.layout in layouts)
    ]


def _promising(bound: BoundFunction, features: Features) -> Iterator[Candidate]:
    """The candidates whose first answers with a mask and with padding are right.

    A mask in the first shape that is taken has to be used rightly: in a narrower one, which is the
    same for all sentences, heads or queries, a mistake would not show.
    """
    plain = _first_answer(bound, PROBE_BY_NAME["plain"])
    understood: dict[tuple[str, str], tuple[str, str]] = {}  # the first shapes that are taken
    for variant in features.variants(bound.convention):
        if understood.get(variant.mask_meaning, variant.mask_shapes) != variant.mask_shapes:
            continue
        read = bound.with_convention(variant)
        asked = [PROBE_BY_NAME[name] for name in ("mask", "padding")]
        asked = [probe for probe in asked if features.covers(probe, variant)]
        trials = [_first_answer(read, probe) for probe in asked]
        if all(t and plain and t.kinds[:1] == plain.kinds[:1] for t in trials):
            understood[variant.mask_meaning] = variant.mask_shapes
        if all(t and Candidate(read, (t,), t.kinds).explains(SPECIFICATION, [t]) for t in trials):
            candidate = read.run_trials(features)
            if candidate is not None:
                yield candidate


def _first_answer(bound: BoundFunction, probe: Probe) -> Trial | None:
    """The first trial of a probe that gives a result."""
    return next((trial for trial in bound.probe_trials(probe) if not trial.result.error), None)


def _mask_meanings(bound: BoundFunction, features: Features) -> Iterator[Candidate]:
    """The candidates for every meaning of masks and padding that gives results."""
    understood: dict[tuple[str, str], tuple[str, str]] = {}  # the first shapes that are taken
    for variant in features.variants(bound.convention):
        if understood.get(variant.mask_meaning, variant.mask_shapes) != variant.mask_shapes:
            continue
        candidate = bound.with_convention(variant).run_trials(features)
        if candidate is None:
            continue
        if candidate.understood:
            understood[variant.mask_meaning] = variant.mask_shapes
        yield candidate


def _explain_partial_answers(candidates: list[Candidate], least: int) -> Verdict:
    """The verdict where no candidate is right in everything that it has to answer."""
    answering = _keep_most_answering(candidates)
    right = [c for c in answering if c.explained_by(SPECIFICATION)]
    best = next((c for c in right if c.convention.rank >= least), None)
    if best is not None:
        return Verdict(best, CORRECT, missing=best.unanswered)
    ranks = {c.convention.rank for c in right}
    wrong = [c for c in answering if c.convention.rank not in ranks] or answering
    return _name_mistakes(_keep_well_read(wrong))


def _keep_most_answering(candidates: list[Candidate]) -> list[Candidate]:
    """The candidates that no other one surpasses in the features that it answers."""
    usual = [c for c in candidates if UNKNOWN_KIND not in c.kinds[:1] and c.regular]
    return [c for c in candidates if not any(other.unanswered < c.unanswered for other in usual)]


def _keep_well_read(candidates: list[Candidate]) -> list[Candidate]:
    """The candidates whose axes are read rightly as far as plain results show, likeliest first."""
    plain = [c for c in candidates if c.plainly_right]
    ranks = {c.convention.rank for c in plain}
    if ranks:  # layouts with fewer axes, or other ones, add nothing
        candidates = [c for c in plain if c.convention.rank == max(ranks)] + [
            c for c in candidates if c.convention.rank > max(ranks)
        ]
    candidates = _without_needless_causality(candidates, plain)
    known = [c for c in candidates if UNKNOWN_KIND not in c.kinds[:1]]
    return sorted(
        known or candidates,
        key=lambda c: (
            c.convention.always_causal,
            -c.convention.rank,
            len(c.refused),
            not c.regular,
        ),
    )


def _name_mistakes(candidates: list[Candidate]) -> Verdict:
    """The verdict on wrong results: all single mistakes that fit, else two, else the feature."""
    return (
        _name_one(candidates)
        or _name_half_precision(candidates)
        or _name_feature(candidates)
        or _name_two(candidates)
        or _name_one_and_feature(candidates)
        or Verdict(candidates[0], None, NAMELESS)
    )


def _name_one(candidates: list[Candidate]) -> Verdict | None:
    """One mistake that gives every result; ``others`` are those that give them too."""
    fitting: list[tuple[Candidate, Explanation]] = []
    for candidate in candidates:
        explanation = candidate.first_explanation(single_mistakes())
        if explanation is not None:
            fitting.append((candidate, explanation))
    if not fitting:
        return None
    candidate, explanation = fitting[0]
    # A module has one size, and sqrt(16) is 4: more than one mistake can give its numbers.
    general = [one for one in single_mistakes() if one[0][0].name not in FEATURE_MISTAKES]
    alike = [one for one in general if candidate.explained_by(one[1])]
    names = dict.fromkeys(one[0][0].name for one in [*(x for _, x in fitting), *alike])
    others = tuple(name for name in names if name != explanation[0][0].name)
    return Verdict(candidate, explanation, LIKELY if others else CERTAIN, others)


def _name_half_precision(candidates: list[Candidate]) -> Verdict | None:
    """Half precision where moderate scores are right to three digits and no more."""
    half = BY_NAME["statistics in half precision"]
    for candidate in candidates:
        if candidate.roughly_right:
            return Verdict(candidate, ((half,), half.variants[0]), LIKELY)
    return None


def _name_feature(candidates: list[Candidate]) -> Verdict | None:
    """Plain results right: two mistakes of features, or the first feature that is wrong."""
    right = [c for c in candidates if c.plainly_right]
    right = sorted(right, key=lambda c: len(c.departing))[:MAX_CANDIDATES_FOR_PAIRS]
    pairs = [x for x in mistake_pairs() if all(m.name in FEATURE_MISTAKES for m in x[0])]
    for candidate in filter(_is_short, right):
        explanation = candidate.first_explanation(pairs)
        if explanation is not None:
            return Verdict(candidate, explanation, LIKELY)
    for candidate in right:
        for trial in candidate.departing:
            if trial.probe.feature in GENERIC_BY_FEATURE:
                generic = GENERIC_BY_FEATURE[trial.probe.feature]
                return Verdict(candidate, ((generic,), SPECIFICATION), NAMELESS)
    return None


def _is_short(candidate: Candidate) -> bool:
    """Whether some wrong answer has so few weights that thousands can be computed."""
    sizes = [trial.sizes for trial in candidate.departing]
    return any(s.b * s.h * s.q * s.k <= MAX_WEIGHTS_FOR_PAIRS for s in sizes)


def _name_two(candidates: list[Candidate]) -> Verdict | None:
    for candidate in filter(_is_short, candidates[:MAX_CANDIDATES_FOR_PAIRS]):
        explanation = candidate.first_explanation(_possible_pairs(candidate))
        if explanation is not None:
            return Verdict(candidate, explanation, LIKELY)
    return None


def _possible_pairs(candidate: Candidate) -> list[Explanation]:
    """The pairs that one plain result does not rule out."""
    if candidate.convention.always_causal:
        return mistake_pairs()
    fitting = {
        mistakes[0].name
        for mistakes, stages in single_mistakes()
        if candidate.explains(stages, candidate.plain[:1])
    }
    return [
        (mistakes, stages)
        for mistakes, stages in mistake_pairs()
        if all(m.name not in FEATURE_MISTAKES for m in mistakes)
        or any(m.name in fitting for m in mistakes)
    ]


def _name_one_and_feature(candidates: list[Candidate]) -> Verdict | None:
    """One mistake of plain attention, and the first feature that is wrong as well."""
    for candidate in candidates[:MAX_CANDIDATES_FOR_PAIRS]:
        for mistakes, stages in single_mistakes():
            if not candidate.explains(stages, candidate.plain):
                continue
            for trial in candidate.judged:
                feature = trial.probe.feature
                if feature in GENERIC_BY_FEATURE and not candidate.explains(stages, [trial]):
                    generic = GENERIC_BY_FEATURE[feature]
                    return Verdict(candidate, ((*mistakes, generic), stages), NAMELESS)
    return None


def _retry_in_other_layouts(
    verdict: Verdict, layouts: list[Candidate], features: Features
) -> Verdict:
    """One mistake in another layout, where too many features fail for this one to be right."""
    candidate = verdict.candidate
    failed = [t for t in candidate.trials if t in candidate.departing or t.result.error]
    one = verdict.explanation is not None and len(verdict.explanation[0]) < 2
    named = one and verdict.confidence != NAMELESS
    if named or len({trial.probe.feature for trial in failed}) < MIN_FEATURES_MISREAD:
        return verdict
    for layout in layouts:
        tried = layout.bound.run_trials(features)
        if tried is not None:
            explanation = tried.first_explanation(single_mistakes())
            if explanation is not None:
                return Verdict(tried, explanation, LIKELY)
    return verdict


def explain_grouped_heads(verdict: Verdict) -> Verdict:
    """The explanation with grouped heads, repeated rightly or tiled, where either fits."""
    candidate, explanation = verdict.candidate, verdict.explanation
    if explanation is None or not candidate.convention.headed:
        return verdict
    trials = candidate.bound.probe_trials(PROBE_BY_NAME["grouped heads"])
    trial = next((trial for trial in trials if not trial.result.error), None)
    if trial is None:
        return verdict
    mistakes, stages = explanation
    tiled = BY_NAME["grouped heads tiled instead of interleaved"]
    both = combined(stages, tiled.variants[0])
    explanations = [explanation] + ([((*mistakes, tiled), both)] if both is not None else [])
    grouped = replace(candidate, trials=(trial,)).first_explanation(explanations)
    if grouped is None:
        return verdict
    features = Features(candidate.features.claims | {"grouped heads"})
    return replace(verdict, candidate=replace(candidate, features=features), explanation=grouped)
