"""The simplest explanation of all answers: right, one mistake, two at once, or none with a name."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from regard.check.calling import Calling
from regard.check.compare import ODD
from regard.check.features import Features
from regard.check.mistakes import BY_NAME, pairs, single
from regard.check.mistakes.entry import combined
from regard.check.plan import SPECIFICATION
from regard.check.search import Candidate, Named, question

FOR_PAIRS = 8
RIGHTLY: Named = ((), SPECIFICATION)


def explained(
    function: Callable[..., Any], layouts: list[Candidate], features: Features
) -> tuple[Candidate, Named | None]:
    """Right in any layout; else one mistake; else two; else nothing that has a name."""
    candidates: list[Candidate] = []
    partly: list[Candidate] = []
    for layout in layouts:
        for candidate in _questioned(function, layout.calling, features):
            if not candidate.explained_by(SPECIFICATION):
                candidates.append(candidate)
            elif candidate.refused:
                partly.append(candidate)
            else:
                return _or_inverted((candidate, RIGHTLY), candidates)
    # Shapes of masks that end in exceptions leave less to explain: the most answers come first.
    candidates.sort(key=lambda c: (c.calling.always, c.kinds[0] == ODD, len(c.refused)))
    if partly:
        right = min(partly, key=lambda c: len(c.refused))
        fuller = [c for c in candidates if c.refused < right.refused]
        found = simplest(fuller, ((single(), len(fuller)),)) or (right, RIGHTLY)
        return _or_inverted(found, candidates)
    if any(ODD not in c.kinds for c in candidates):
        candidates = [c for c in candidates if ODD not in c.kinds]
    candidates = [c for c in candidates if not any(_says_more(other, c) for other in candidates)]
    simple = (
        simplest(candidates, ((single(), len(candidates)),))
        or _in_half(candidates)
        or simplest(candidates, ((pairs(), FOR_PAIRS),))
    )
    return _or_inverted(simple, candidates) if simple else ((candidates or layouts)[0], None)


def _questioned(
    function: Callable[..., Any], calling: Calling, features: Features
) -> Iterator[Candidate]:
    """Every variant of a calling that is answered, without asking anything twice."""
    known: dict[tuple[str, str], Candidate | None] = {}
    settled: dict[str, str] = {}  # the first shape of masks that a form is understood in
    for variant in features.variants(calling):
        form = f"{variant.mask_form} {variant.pad_form}"
        if settled.get(form, variant.mask_shape) != variant.mask_shape:
            continue
        key = (form, variant.mask_shape)
        if key not in known:
            known[key] = question(function, variant, features)
        candidate = known[key]
        if candidate is not None:
            if candidate.understood():
                settled[form] = variant.mask_shape
            yield candidate.read_as(variant)


def _says_more(one: Candidate, other: Candidate) -> bool:
    """The same axes, and an answer where the other ends in an exception."""
    return one.calling.layout == other.calling.layout and one.refused < other.refused


def simplest(
    candidates: list[Candidate], plans: tuple[tuple[list[Named], int], ...]
) -> tuple[Candidate, Named] | None:
    """The first explanation, looked for among the first so many candidates."""
    for some, most in plans:
        for candidate in islice(candidates, most):
            named = candidate.explanation(some)
            if named is not None:
                return candidate, named
    return None


def _in_half(candidates: list[Candidate]) -> tuple[Candidate, Named] | None:
    """Right to three digits and no more, wherever scores are moderate."""
    half = BY_NAME["statistics in half precision"]
    for candidate in candidates:
        if candidate.roughly_right():
            return candidate, ((half,), half.plans[0])
    return None


def _or_inverted(
    found: tuple[Candidate, Named], others: list[Candidate]
) -> tuple[Candidate, Named]:
    """A function that adds a float mask rightly may still read a bool mask the wrong way round."""
    (candidate, (mistakes, plan)), inverted = found, BY_NAME["boolean mask inverted"]
    if candidate.calling.mask_form == "bool":
        return found
    both = [combined(plan, turned) for turned in inverted.plans]
    plans: list[Named] = [((*mistakes, inverted), one) for one in both if one is not None]
    same = [c for c in others if c.calling.layout == candidate.calling.layout]
    by_bool = [c for c in same if c.calling.mask_form == "bool" and not c.refused]
    return simplest(by_bool, ((plans, len(by_bool)),)) or found
