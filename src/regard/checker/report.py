"""The report of a check: verdict, properties, diagnosis and hints."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from regard.checker.mistakes import BY_NAME, Mistake, wrong_step
from regard.checker.mistakes.fixes import fix_for
from regard.display import TextDisplay
from regard.errors import RegardError

RIGHT, WRONG, UNKNOWN = "right", "wrong", "not judged"
WITH_DIFFERENCES = "right, with differences"
UNLESS_EMPTY = "right, unless a row may see nothing"
STATUS = {RIGHT: 0, WITH_DIFFERENCES: 0, UNLESS_EMPTY: 0, WRONG: 1, UNKNOWN: 2}
ATTENTION, TEXTBOOK = "any attention", "the textbook"
CONTRACTS = {"auto": "", "textbook": TEXTBOOK, "attention": ATTENTION}
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


@dataclass(frozen=True)
class Departure:
    """The first probe whose result is wrong, with the wrong and the right number."""

    question: str
    element: str
    wrong: float
    right: float


@dataclass(frozen=True, repr=False)
class Report(TextDisplay):
    """The verdict on one function.

    ``mistakes`` are names of the catalogue; ``called`` says how the function was called;
    ``notes`` are no mistakes, but worth knowing; ``tried`` is what did not work. ``confidence`` is
    certain (no other explanation fits), likely (``others`` fit too) or unknown (``departure`` says
    where it goes wrong). ``caveats`` name what happens to a row that may see nothing. ``asked`` are
    the steps that some question was about. ``library``: that of its arrays, in which fixes are
    shown. ``facts`` say what was understood, ``differences`` what departs from the textbook by
    choice; ``contract`` is what it was held to: the textbook, or any attention.
    """

    function: str
    verdict: str
    mistakes: tuple[str, ...] = ()
    called: str = ""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    confidence: str = ""
    others: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    departure: Departure | None = None
    asked: tuple[str, ...] = ()
    library: str = "numpy"
    facts: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    contract: str = TEXTBOOK

    @property
    def right(self) -> bool:
        """Whether the verdict is right, at least where every row may see something."""
        return STATUS[self.verdict] == 0

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong: mistakes with a name, else the properties that do not hold."""
        return self.mistakes or tuple(f.name for f in self.failed if self.verdict == WRONG)

    @property
    def understood(self) -> str:
        """What was understood of the code, in one sentence; '' where nothing was."""
        return "; ".join((*self.facts, *self.differences))

    @property
    def status(self) -> int:
        """The exit status: 0 right, 1 wrong, 2 not judged."""
        return STATUS[self.verdict]

    @property
    def diagnosis(self) -> tuple[Mistake, ...]:
        """The entries of the catalogue that explain every result, fixes in its own library."""
        found = [BY_NAME[name] for name in self.mistakes]
        return tuple(replace(m, fix=fix_for(m.fix, self.library)) for m in found)

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The properties that do not hold."""
        return tuple(finding for finding in self.findings if finding.status == FAIL)

    def require(self, hints: int = 3) -> Report:
        """The report; raises an error with the diagnosis where it is not right.

        Parameters
        ----------
        hints : 0 to 3
            Detail of the message: 0 the wrong step, 1 the name, 2 what it does, 3 the fix.
        """
        if not self.right:
            raise WrongAttentionError(str(self) if hints >= 3 else self.hint(hints))
        return self

    def raise_if_wrong(self) -> Report:
        """The report; raises an error with its text as the message where it is not right."""
        return self.require()

    def hint(self, level: int) -> str:
        """The diagnosis in detail: 0 the wrong step, 1 the name, 2 what it does, 3 the fix."""
        if self.right:
            return "Every step is right."
        if not self.diagnosis:
            return "; ".join(self.tried) or "The result is wrong, and no known mistake gives it."
        return "\n\n".join(_hint(mistake, level) for mistake in self.diagnosis)

    def strictly(self) -> Report:
        """The report with a row that may see nothing counted as a mistake."""
        if not self.caveats:
            return self
        mistakes = tuple(dict.fromkeys((*self.mistakes, *self.caveats)))
        return replace(self, verdict=WRONG, mistakes=mistakes)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; NaN and infinity as text."""
        fields = asdict(self)
        fields["findings"] = [_plain(finding) for finding in fields["findings"]]
        if self.departure is not None:
            fields["departure"] = _plain(fields["departure"])
        diagnosis = [{"name": m.name, "about": m.about, "fix": m.fix} for m in self.diagnosis]
        return {**fields, "diagnosis": diagnosis, "faults": self.faults, "status": self.status}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Report:
        """The report that ``to_dict`` was made of."""
        names = ("mistakes", "notes", "tried", "others", "caveats", "asked", "facts",
                 "differences")  # fmt: skip
        departure = fields["departure"]
        return cls(
            function=fields["function"],
            verdict=fields["verdict"],
            called=fields["called"],
            confidence=fields["confidence"],
            library=fields["library"],
            contract=fields["contract"],
            departure=None if departure is None else Departure(**_numbers(departure)),
            findings=tuple(Finding(**_numbers(finding)) for finding in fields["findings"]),
            **{name: tuple(fields[name]) for name in names},
        )


def _plain(finding: dict[str, Any]) -> dict[str, Any]:
    odd = (x for x in ("wrong", "right") if finding[x] is not None)
    return finding | {x: str(finding[x]) for x in odd if not math.isfinite(finding[x])}


def _numbers(finding: dict[str, Any]) -> dict[str, Any]:
    return finding | {x: float(finding[x]) for x in ("wrong", "right") if finding[x] is not None}


def _hint(mistake: Mistake, level: int) -> str:
    if level == 0:
        return f"The step that is wrong: {wrong_step(mistake)}."
    shown = (f"{mistake.name}.", mistake.about, f"The fix:\n{mistake.fix}")
    return "\n".join(shown[:level])
