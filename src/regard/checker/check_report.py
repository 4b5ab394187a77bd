"""The report of a check: verdict, properties and diagnosis, for people, programs and tests."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from regard.checker.mistakes import BY_NAME, Mistake
from regard.display import TextDisplay
from regard.errors import RegardError

RIGHT, WRONG, UNKNOWN = "right", "wrong", "could not check"
STATUS = {RIGHT: 0, WRONG: 1, UNKNOWN: 2}
PASS, FAIL, SKIPPED = "pass", "FAIL", "skipped"


class WrongAttentionError(RegardError, AssertionError):
    """A function that was checked is not the attention it should be."""


@dataclass(frozen=True)
class Finding:
    """One property: pass, FAIL or skipped; with the smallest input that shows a failure."""

    name: str
    status: str
    detail: str = ""
    wrong: float | None = None
    right: float | None = None
    element: str = ""
    input: str = ""


@dataclass(frozen=True, repr=False)
class Report(TextDisplay):
    """The verdict on one function.

    ``mistakes`` are names of the catalogue; ``called`` says how the function was called;
    ``notes`` are worth knowing and not wrong; ``tried`` is what did not work.
    """

    function: str
    verdict: str
    mistakes: tuple[str, ...] = ()
    called: str = ""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Whether the verdict is right."""
        return self.verdict == RIGHT

    @property
    def status(self) -> int:
        """The exit status: 0 right, 1 wrong, 2 could not check."""
        return STATUS[self.verdict]

    @property
    def diagnosis(self) -> tuple[Mistake, ...]:
        """The entries of the catalogue that explain every result."""
        return tuple(BY_NAME[name] for name in self.mistakes)

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The properties that do not hold."""
        return tuple(finding for finding in self.findings if finding.status == FAIL)

    def raise_if_wrong(self) -> "Report":
        """The report; raises an error with its text as the message where it is not right."""
        if not self.right:
            raise WrongAttentionError(str(self))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; NaN and infinity as text."""
        fields = asdict(self)
        fields["findings"] = [_plain(finding) for finding in fields["findings"]]
        diagnosis = [{"name": m.name, "about": m.about, "fix": m.fix} for m in self.diagnosis]
        return {**fields, "diagnosis": diagnosis, "status": self.status}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Report":
        """The report that ``to_dict`` wrote."""
        names = ("mistakes", "notes", "tried")
        return cls(
            function=fields["function"],
            verdict=fields["verdict"],
            called=fields["called"],
            findings=tuple(Finding(**_numbers(finding)) for finding in fields["findings"]),
            **{name: tuple(fields[name]) for name in names},
        )

    def __str__(self) -> str:
        from regard.view.terminal.check_text import draw_report
        from regard.view.terminal.render import as_text

        return as_text(draw_report(self))


def _plain(finding: dict[str, Any]) -> dict[str, Any]:
    odd = (x for x in ("wrong", "right") if finding[x] is not None)
    return finding | {x: str(finding[x]) for x in odd if not math.isfinite(finding[x])}


def _numbers(finding: dict[str, Any]) -> dict[str, Any]:
    return finding | {x: float(finding[x]) for x in ("wrong", "right") if finding[x] is not None}
