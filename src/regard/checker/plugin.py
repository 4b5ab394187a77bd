"""pytest plugin: ``regard_check``, ``attention_judge``, a failing test for each named mistake.

A test that takes the fixture calls it with a function; one that is not right fails the test with
the diagnosis as the message. With ``regard_attention = [...]`` in a test module each function of
the list becomes a test, and every mistake found in it another. The functions run in another
process, as with ``regard check``; only what has no name in a module, such as a function inside a
test, is called in the process of the tests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

if TYPE_CHECKING:
    from regard.checker.report import Report

LIST_NAME = "regard_attention"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --regard-hints and --regard-strict."""
    group = parser.getgroup("regard")
    group.addoption("--regard-hints", type=int, default=3, choices=range(4),
                    help="detail of hints: 0 = failing step only, 3 = the fix")  # fmt: skip
    group.addoption("--regard-seconds", type=_seconds, default=60.0,
                    help="time limit for the check of each function")  # fmt: skip
    group.addoption("--regard-strict", action="store_true",
                    help="require zeros for a row that may see nothing")  # fmt: skip


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds <= 86400:
        raise ValueError(text)
    return seconds


@pytest.fixture
def regard_check(request: pytest.FixtureRequest) -> Callable[..., Report]:
    """A function that checks attention and fails the test with the diagnosis."""

    def run(function: Callable[..., Any] | str, **options: Any) -> Report:
        options.setdefault("strict", request.config.getoption("--regard-strict"))
        report = _check(function, options, request.config)
        if not report.right:
            pytest.fail(_message(report, request.config), pytrace=False)
        return report

    return run


@pytest.fixture
def attention_judge() -> Callable[..., Any]:
    """A block as that of ``regard.judge``, which fails the test unless all it saw is right."""

    @contextmanager
    def judged(model: Any = None, **options: Any) -> Iterator[Any]:
        from regard.judging.judge import judge

        with judge(model, **options) as verdict:
            yield verdict
        if not verdict.ok:
            pytest.fail(str(verdict), pytrace=False)

    return judged


def _check(
    function: Callable[..., Any] | str, options: dict[str, Any], config: pytest.Config
) -> Report:
    """The report on a function, or on 'file.py:function', which is not imported here."""
    from regard.checker.check import check

    if isinstance(function, str):
        return _check_apart(function, options, config)
    target, module = _place(function)
    if not target:
        return check(function, **options)
    report = _check_apart(target, options, config, module)
    return replace(report, function=str(getattr(function, "__name__", target)))


def _check_apart(
    target: str, options: dict[str, Any], config: pytest.Config, module: str = ""
) -> Report:
    from regard.checker.sandbox import Limits, check_apart

    limits = Limits(seconds=config.getoption("--regard-seconds"))
    return check_apart(target, options, limits, module=module, path=tuple(sys.path))


def _place(function: Callable[..., Any]) -> tuple[str, str]:
    """'file.py:function' and the module of a function or class that a module has under its name."""
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    name = str(getattr(function, "__qualname__", ""))
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    file = str(getattr(module, "__file__", "") or "")
    if module is None or found is not function or not file.endswith(".py"):
        return "", ""
    return f"{file}:{name}", module.__name__


def pytest_pycollect_makemodule(module_path: Any, parent: Any) -> Any:
    """Collect a module with ``regard_attention`` in it as usual, and its functions as tests."""
    if LIST_NAME not in module_path.read_text(encoding="utf-8", errors="replace"):
        return None
    return AttentionModule.from_parent(parent, path=module_path)


class AttentionModule(pytest.Module):
    """A test module whose ``regard_attention`` lists functions to check."""

    def collect(self) -> Iterator[Any]:
        yield from super().collect()
        for index, function in enumerate(getattr(self.obj, LIST_NAME, ())):
            name = str(getattr(function, "__name__", type(function).__name__))
            yield AttentionItem.from_parent(self, name=name, index=index)


class AttentionItem(pytest.Item):
    """One test: that a listed function is right, or that it lacks one of its mistakes.

    The function runs in another process, as with ``regard check``: neither a loop nor an exit in it
    ends the tests.
    """

    def __init__(
        self, *, index: int, report: Report | None = None, mistake: str = "", **options: Any
    ) -> None:
        super().__init__(**options)
        self.index, self.report, self.mistake = index, report, mistake

    def by_mistake(self) -> Iterator[AttentionItem]:
        """This test with its report; where there are mistakes with names, a test for each."""
        parent: Any = self.parent
        report = _check_apart(
            f"{self.path}:{LIST_NAME}[{self.index}]",
            {"strict": self.config.getoption("--regard-strict")},
            self.config,
            parent.obj.__name__,
        )
        report = replace(report, function=self.name)
        for mistake in report.mistakes or ("",):
            name = f"{self.name}[{mistake}]" if mistake else self.name
            options = {"index": self.index, "report": report, "mistake": mistake}
            yield type(self).from_parent(parent, name=name, **options)

    def runtest(self) -> None:
        if self.report is not None and not self.report.right:
            pytest.fail(_message(self.report, self.config, self.mistake), pytrace=False)

    def reportinfo(self) -> tuple[Any, None, str]:
        return self.path, None, self.name


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run the check of a listed function when its turn comes, and report each mistake as a test."""
    if not isinstance(item, AttentionItem):
        return None
    try:
        tests = list(item.by_mistake())
    except Exception as error:  # a fault of regard fails this test, not the session
        item.report = _unjudged(item.name, error)
        tests = [item]
    for test in tests:
        item.ihook.pytest_runtest_logstart(nodeid=test.nodeid, location=test.location)
        runtestprotocol(test, nextitem=nextitem)
        item.ihook.pytest_runtest_logfinish(nodeid=test.nodeid, location=test.location)
    return True


def _unjudged(name: str, error: Exception) -> Report:
    from regard.checker.report import UNKNOWN, Report

    return Report(name, UNKNOWN, tried=(f"{type(error).__name__}: {error}",))


def _message(report: Report, config: pytest.Config, mistake: str = "") -> str:
    """The diagnosis in the detail that the hints allow; of one mistake where it is named."""
    level = config.getoption("--regard-hints")
    if mistake:
        report = replace(report, mistakes=(mistake,))
    return str(report) if level >= 3 and not mistake else report.hint(level)
