"""The table: implementations in the manners of the wild get the verdict they deserve."""

import json
from collections import Counter

import pytest
from tests.checker.samples.wild import (  # noqa: F401 (each module fills the table)
    right_blocks,
    right_modules,
    right_more,
    right_numpy,
    right_torch,
    wrong_causal,
    wrong_masks,
    wrong_modules,
    wrong_more,
    wrong_scores,
)
from tests.checker.samples.wild.registry import TABLE, WRONG

from regard.checker.check import check
from regard.checker.report import WITH_DIFFERENCES, Report

# Of the wrong ones every run tries every fourth of those whose mistake no earlier entry of the
# table has; of the right ones every twelfth. The rest is tried at night.
RIGHT_ONES = [entry for entry in TABLE if entry.verdict != WRONG]
WRONG_ONES = [entry for entry in TABLE if entry.verdict == WRONG]
FIRST_OF_THEIR_KIND = {entry.names[:1]: entry for entry in reversed(WRONG_ONES)}
OF_EVERY_RUN = [
    number % 4 == 0 and FIRST_OF_THEIR_KIND[entry.names[:1]] is entry
    for number, entry in enumerate(WRONG_ONES)
]
RIGHT_CASES = [
    pytest.param(entry, id=str(entry), marks=() if number % 12 == 0 else pytest.mark.nightly)
    for number, entry in enumerate(RIGHT_ONES)
]
WRONG_CASES = [
    pytest.param(entry, id=str(entry), marks=() if chosen else pytest.mark.nightly)
    for entry, chosen in zip(WRONG_ONES, OF_EVERY_RUN, strict=True)
]


def test_the_table_is_wide():
    assert len(RIGHT_ONES) >= 80
    assert len(WRONG_ONES) >= 120


@pytest.mark.parametrize("entry", RIGHT_CASES)
def test_a_right_implementation_passes(entry):
    report = check(entry.target)
    assert report.verdict in (entry.verdict, WITH_DIFFERENCES), str(report)
    assert (report.status, report.mistakes) == (0, ())


@pytest.mark.parametrize("entry", WRONG_CASES)
def test_a_wrong_implementation_is_named(entry):
    report = check(entry.target, like="textbook")
    assert (report.verdict, report.status) == (WRONG, 1), str(report)
    if entry.names:
        assert report.mistakes[0] in entry.names, str(report)
    else:
        assert report.mistakes == (), str(report)
        assert report.confidence == "unknown"
        assert report.departure is not None or report.failed
    assert report.confidence in ("certain", "likely", "unknown")
    assert (report.confidence == "likely") or not report.others
    fields = json.loads(json.dumps(report.to_dict()))
    assert json.loads(json.dumps(Report.from_dict(fields).to_dict())) == fields


def test_every_kind_of_mistake_is_in_the_table():
    names = Counter(name for entry in WRONG_ONES for name in entry.names[:1])
    assert len(names) >= 55
