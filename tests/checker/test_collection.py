"""The collection: attentions in the manners of public code get the verdict they deserve."""

import pytest
from tests.checker.samples.collection import (  # noqa: F401 (each module fills a half)
    kept_functions,
    kept_modules,
    tuned_functions,
    tuned_modules,
)
from tests.checker.samples.collection.registry import KEPT_BACK, TUNED

from regard.checker.check import check


def cases(half):
    """Every twelfth implementation in every run, the others at night."""
    return [
        pytest.param(entry, id=str(entry), marks=() if i % 12 == 0 else pytest.mark.nightly)
        for i, entry in enumerate(half.entries)
    ]


def test_the_collection_is_wide():
    for half in (TUNED, KEPT_BACK):
        assert sum(entry.right for entry in half.entries) == 30
        assert sum(not entry.right for entry in half.entries) == 30


@pytest.mark.parametrize("entry", cases(TUNED))
def test_an_implementation_gets_the_verdict_that_it_deserves(entry):
    report = check(entry.target, like="auto" if entry.right else "textbook")
    if entry.right:
        assert report.right, str(report)
    else:
        assert not report.right, str(report)
        assert not entry.names or set(report.mistakes[:1]) & set(entry.names), str(report)
