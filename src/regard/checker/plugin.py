"""pytest plugin: the fixture ``regard_check``, and a failing test for each named mistake.

A test that takes the fixture calls it with a function; one that is not right fails the test with
the diagnosis as the message. With ``regard_attention = [...]`` in a test module each function of
the list becomes a test, and every mistake found in it another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from regard.checker.report import Report

LIST_NAME = "regard_attention"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --regard-hints and --regard-strict."""
    group = parser.getgroup("regard")
    group.addoption("--regard-hints", type=int, default=3, choices=range(4),
                    help="detail of hints: 0 = failing step only, 3 = the fix")  # fmt: skip
    group.addoption("--regard-strict", action="store_true",
                    help="require zeros for a row that may see nothing")  # fmt: skip


@pytest.fixture
def regard_check(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """A function that checks attention and fails the test with the diagnosis."""

    def run(function: Callable[..., Any], **options: Any) -> Report:
        report = _checked(function, request.config, options)
        if not report.right:
            pytest.fail(_message(report, request.config), pytrace=False)
        return report

    return run


def pytest_pycollect_makemodule(module_path: Any, parent: Any) -> Any:
    """Collect a module with ``regard_attention`` in it as usual, and its functions as tests."""
    if LIST_NAME not in module_path.read_text(encoding="utf-8", errors="replace"):
        return None
    return AttentionModule.from_parent(parent, path=module_path)


class AttentionModule(pytest.Module):
    """A test module whose ``regard_attention`` lists functions to check."""

    def collect(self) -> Iterator[Any]:
        """The usual tests, then one for each verdict and each mistake."""
        yield from super().collect()
        for function in getattr(self.obj, LIST_NAME, ()):
            name = str(getattr(function, "__name__", type(function).__name__))
            report = _checked(function, self.config, {})
            for mistake in report.mistakes or ("",):
                title = f"{name}[{mistake}]" if mistake else name
                yield AttentionItem.from_parent(self, name=title, report=report, mistake=mistake)


class AttentionItem(pytest.Item):
    """One test: that a function is right, or that it lacks one of its mistakes."""

    def __init__(self, *, report: Report, mistake: str, **options: Any) -> None:
        super().__init__(**options)
        self.report, self.mistake = report, mistake

    def runtest(self) -> None:
        """Fail where the function is not right."""
        if not self.report.right:
            pytest.fail(_message(self.report, self.config, self.mistake), pytrace=False)

    def reportinfo(self) -> tuple[Any, None, str]:
        """The file and the name of the test."""
        return self.path, None, self.name


def _checked(function: Callable[..., Any], config: pytest.Config, options: Any) -> Report:
    from regard.checker.check import check

    options.setdefault("strict", config.getoption("--regard-strict"))
    return check(function, **options)


def _message(report: Report, config: pytest.Config, mistake: str = "") -> str:
    """The diagnosis in the detail that the hints allow; of one mistake where it is named."""
    level = config.getoption("--regard-hints")
    if mistake:
        report = replace(report, mistakes=(mistake,))
    return str(report) if level >= 3 and not mistake else report.hint(level)
