"""Every mistake of the catalogue is told from every other, and named when somebody makes it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from regard.checker.cases import CROSS, PROBE_SIZES, PROBES
from regard.checker.check import check
from regard.checker.compare import differ, tolerance
from regard.checker.conventions import CallingConvention
from regard.checker.mistakes import BY_NAME, CATALOGUE, mistake_pairs
from regard.checker.mistakes.entry import as_function, combined, run_stages
from regard.checker.signatures import Roles
from regard.textbook.stages import SPECIFICATION, run
from regard.textbook.steps import attend

CONVENTION = CallingConvention(Roles("qkv", {"offset": "offset"}), "bhtd")
CASES = [CONVENTION.fit(probe.build(sizes)) for probe in PROBES for sizes in PROBE_SIZES]
NAMED = [mistake for mistake in CATALOGUE if not mistake.unnamed]
WITH_STAGES = [mistake for mistake in CATALOGUE if mistake.variants]
PAIRS = [
    ("no scaling", "softmax over queries"),
    ("scaling by d", "no maximum subtracted"),
    ("no scaling", "causal mask transposed"),
    ("query and key swapped", "causal mask off by one: sees the next word"),
    ("softmax before scaling", "boolean mask inverted"),
    ("value used as key", "padding not masked"),
    ("no scaling", "a row that may see nothing gives NaN"),
    ("no maximum subtracted", "a row that may see nothing gives NaN"),
    ("scaling by the model width", "heads joined in the wrong order"),
    ("heads split by reshape without transposing", "heads joined in the wrong order"),
    ("softmax over heads", "mask ignored"),
    ("no scaling", "grouped heads tiled instead of interleaved"),
    ("no scaling", "inputs changed in place"),
]


RETURNED = ("output", "weights", "logsumexp")  # what a function can return, not its inner steps


def results(stages):
    """The result of the stages on every probe; None where their shapes do not fit."""
    traces = []
    for case in CASES:
        try:
            traces.append(run_stages(stages, case))
        except ValueError:
            traces.append(None)
    return traces


RESULTS = {"right": results(SPECIFICATION)}
RESULTS |= {mistake.name: results(mistake.variants[0]) for mistake in WITH_STAGES}


def distinguished(one, other):
    for case, a, b in zip(CASES, RESULTS[one], RESULTS[other], strict=True):
        if (a is None) != (b is None) or a is None:
            if a is not b:
                return True
            continue
        for x, y in ((getattr(a, name), getattr(b, name)) for name in RETURNED):
            if x.shape != y.shape or differ(x, y, tolerance(case, "float64", y)).any():
                return True
    return False


def test_the_probes_distinguish_any_two():
    equal = [pair for pair in itertools.combinations(RESULTS, 2) if not distinguished(*pair)]
    assert equal == []


def test_the_stages_without_changes_are_the_specification():
    for case in CASES:
        if case.lengths is not None:
            continue
        names = ("mask", "causal", "offset", "window", "softcap", "scale")
        options = {name: getattr(case, name) for name in names}
        steps = attend(case.query, case.key, case.value, **options)
        np.testing.assert_allclose(run(SPECIFICATION, case).output, steps.output, atol=1e-12)


def claims(mistake):
    """True may hide or show; only a word about it makes one of them a mistake."""
    return ("mask shows",) if mistake.name == "boolean mask inverted" else "auto"


@pytest.mark.parametrize("mistake", NAMED, ids=lambda mistake: mistake.name)
def test_a_mistake_is_named_when_somebody_makes_it(mistake):
    report = check(mistake.function, strict=True, features=claims(mistake))
    assert report.mistakes == (mistake.name,)
    assert report.verdict == "wrong"
    assert report.status == 1
    assert report.failed


@pytest.mark.nightly
@pytest.mark.parametrize("mistake", WITH_STAGES, ids=lambda mistake: mistake.name)
def test_other_variants_have_the_same_name(mistake):
    for stages in mistake.variants[1:3]:
        more = "weights" if "weights" in mistake.returns else "logsumexp"
        function = as_function(stages, f"output {more}")
        report = check(function, strict=True, features=claims(mistake))
        assert report.mistakes == (mistake.name,)


@pytest.mark.parametrize("names", PAIRS, ids=" + ".join)
def test_two_mistakes_at_once_are_both_named(names):
    first, second = (BY_NAME[name] for name in names)
    if second.variants:
        function = as_function(combined(first.variants[0], second.variants[0]))
    else:
        wrong = as_function(first.variants[0])

        def function(query, key, value):
            output = wrong(query, key, value)
            query /= 2
            return output

    assert set(check(function, strict=True, features=claims(second)).mistakes) == set(names)


def test_an_entry_is_complete():
    assert len({mistake.name for mistake in CATALOGUE}) == len(CATALOGUE) >= 30
    for mistake in CATALOGUE:
        assert len(mistake.fix.split("\n")) == 2
        assert len(mistake.about) > 60
        assert mistake.about.endswith(".")
        compile(mistake.fix, mistake.name, "exec")
    assert len(mistake_pairs()) > 500


def test_a_convention_refuses_a_case_it_cannot_express():
    grouped = next(probe for probe in PROBES if probe.name == "grouped heads")
    assert CallingConvention(Roles("qkv"), "td").fit(grouped.build(PROBE_SIZES[0])) is None


def test_cases_are_told_apart_by_every_number_and_option():
    """References are looked up by it: two cases that differ must not share one."""
    case = PROBES[0].build(CROSS)
    one_digit = case.query.copy()
    one_digit[0, 0, 0, 0] = np.nextafter(one_digit[0, 0, 0, 0], 9)
    mask_qk = np.ones((CROSS.q, CROSS.k))
    cases = [
        case, replace(case, query=one_digit), replace(case, query=case.key, key=case.query),
        replace(case, causal=True), replace(case, causal=True, offset=1), replace(case, scale=0.5),
        replace(case, softcap=0.5), replace(case, window=(1, None)), replace(case, cached=2),
        replace(case, lengths=np.array([2, 3])), replace(case, mask=mask_qk),
        replace(case, mask=mask_qk.astype(bool)), replace(case, slopes=np.ones(CROSS.h)),
        replace(case, matrices=(np.eye(2), np.eye(2))), replace(case, matrices=(np.eye(2),)),
        replace(case, sources=(np.eye(2),)), replace(case, bias=np.eye(2)),
    ]  # fmt: skip
    assert len({one.digest for one in cases}) == len(cases)
    copied = replace(case, query=case.query.copy(), key=case.key.copy())
    assert copied.digest == case.digest
