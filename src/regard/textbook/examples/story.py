"""An example of a document: its claims, the truth, and the differences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.display import render
from regard.textbook.steps import Steps, lists

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Claim:
    """One statement of a document, with the computed truth.

    ``printed`` is data: the document's own claim, never used in a computation of the truth.
    ``follows``, where given, is a label and what the document's own numbers or code lead to.
    """

    about: str
    printed: Numbers | str
    true: Numbers | str
    agrees: bool
    because: str = ""
    follows: tuple[str, Numbers | str] | None = None


@dataclass(frozen=True)
class Example:
    """A document's example: its computation repeated, and its claims judged."""

    name: str
    title: str
    sentence: str
    computes: str
    steps: Steps
    claims: tuple[Claim, ...]
    remarks: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "sentence": self.sentence,
            "computes": self.computes,
            "claims": [_claim_to_dict(claim) for claim in self.claims],
            "remarks": list(self.remarks),
            "data": {k: lists(v) if isinstance(v, np.ndarray) else v for k, v in self.data.items()},
            "steps": self.steps.to_dict(),
        }

    def __str__(self) -> str:
        return str(render("text", self))


def rounds_to(printed: str, true: Any) -> bool:
    """Whether true numbers, rounded as the printed ones are, are the printed ones.

    >>> rounds_to("0.71 0", [0.7071, 0.2]), rounds_to("2.5 95", [2.53, 94.94])
    (True, True)
    """
    texts = printed.split()
    halves = [0.5 * 10.0 ** -len(text.partition(".")[2]) for text in texts]
    gaps = np.abs(np.array([float(text) for text in texts]) - np.asarray(true, np.float64))
    return bool((gaps <= np.array(halves) + 1e-12).all())


def numbers(printed: str) -> Numbers:
    """The numbers of a line of a document.

    >>> numbers("0 0.19")
    (0.0, 0.19)
    """
    return tuple(float(text) for text in printed.split())


def compare(about: str, printed: str, true: Any, because: str = "") -> Claim:
    """A claim about numbers: it agrees when the truth rounds to what is printed."""
    agrees = rounds_to(printed, true)
    values = tuple(float(x) for x in np.asarray(true).ravel())
    return Claim(about, numbers(printed), values, agrees, "" if agrees else because)


def _claim_to_dict(claim: Claim) -> dict[str, Any]:
    return {
        "about": claim.about,
        "document": claim.printed,
        "follows": None if claim.follows is None else dict([claim.follows]),
        "true": claim.true,
        "agrees": claim.agrees,
        "because": claim.because,
    }
