"""Roles of heads, as measured and stored with the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.display import percent
from regard.errors import FileError
from regard.experiments.selection import PARTS
from regard.heads.names import looks_at
from regard.transformer.accuracy import PronounAccuracy, right_percent

HEADS = "heads.json"
RELATIVE_POSITIONS = ("same", "previous", "next", "first", "end")
_NAMES = {
    "same": looks_at("itself", unit="word"),
    "previous": looks_at("previous", unit="word"),
    "next": looks_at("next", unit="word"),
    "first": looks_at("first", unit="word"),
    "end": "rests on the end of the sentence",
}
_FIGURES = ("pronouns", "pronoun_weight", "alignment", "behaviour")
NAMING_SHARE = 0.5  # smallest share of a head's attention, or of the French nouns, that names it
MIN_PRONOUN_ACCURACY = 0.75  # on contrast sentences, where chance is one half


@dataclass(frozen=True)
class MeasuredText:
    """The texts that roles were measured on: sentences for shares, pairs for pronouns."""

    sentences: int = 0
    name: str = ""
    pairs: int = 0

    @property
    def usual(self) -> str:
        """The text of the usual shares, as in: 400 sentences held out of training."""
        return f"{self.sentences:,} sentences {self.name}" if self.name else "no named text"


@dataclass(frozen=True)
class Role:
    """One head's usual shares of attention, on text held out of training.

    ``pronouns`` is the share of contrast sentences in which the pronoun puts more on the right
    noun, ``pronoun_weight`` what it puts on both nouns, ``alignment`` the share of French nouns
    that are sent back to their English noun. ``behaviour`` is what the head does most, with its
    share and chance. ``accuracy`` says how often the judged head is right.
    """

    layer: int
    head: int
    usual: Mapping[str, float]
    entropy: float
    pronouns: float = 0.0
    pronoun_weight: float = 0.0
    alignment: float = 0.0
    behaviour: Mapping[str, Any] = field(default_factory=dict)
    text: MeasuredText = field(default_factory=MeasuredText)
    accuracy: str = ""

    @property
    def name(self) -> str:
        """The role in words; only a role that its own measure bears out."""
        return self._named[0]

    @property
    def figure(self) -> str:
        """The measure that the name rests on, and the text it was taken on."""
        return self._named[1]

    @property
    def described(self) -> str:
        return f"{self.name}: {self.figure}"

    @property
    def _behaviour_figure(self) -> str:
        """As in: 89 %, (end) aside (chance 15 %), over 2,189 words of 400 sentences held out."""
        measured = self.behaviour
        aside = f", {measured['aside']} aside" if measured.get("aside") else ""
        return (
            f"{percent(measured['share'])}{aside} (chance {percent(measured['chance'])}), over "
            f"{measured['queries']:,} words of {self.text.usual}"
        )

    @property
    def _named(self) -> tuple[str, str]:
        largest = max(self.usual, key=lambda x: self.usual[x], default="")
        pairs = f"{2 * self.text.pairs:,} contrast sentences"
        if self.pronouns >= MIN_PRONOUN_ACCURACY and self.pronoun_weight >= NAMING_SHARE / 2:
            shown = f"right in {right_percent(self.pronouns)} of {pairs}"
            return "finds what a pronoun stands for", self.accuracy or shown
        if self.behaviour:
            return self.behaviour["name"], self._behaviour_figure
        if largest and self.usual[largest] >= NAMING_SHARE:
            return _NAMES[largest], f"{percent(self.usual[largest])} on {self.text.usual}"
        if self.alignment >= NAMING_SHARE:
            shown = f"{percent(self.alignment)} of the nouns of {pairs}"
            return "looks at the word it translates", shown
        entropy = f"entropy {self.entropy:.2f} nats on {self.text.usual}"
        return ("spreads its attention" if self.entropy >= 1.5 else "picks a few words"), entropy


@dataclass(frozen=True)
class HeadRoles:
    """The roles of all heads, by (layer, head), for the encoder, the decoder and cross-attention.

    pronoun_heads find what a pronoun stands for; alignment_heads which English word a French
    word came from; each list has the best head first.
    """

    encoder: Mapping[tuple[int, int], Role] = field(default_factory=dict)
    decoder: Mapping[tuple[int, int], Role] = field(default_factory=dict)
    cross: Mapping[tuple[int, int], Role] = field(default_factory=dict)
    pronoun_heads: tuple[tuple[int, int], ...] = ()
    alignment_heads: tuple[tuple[int, int], ...] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def accuracy(self) -> PronounAccuracy:
        """How often the pronoun head is right, as judged."""
        return PronounAccuracy.from_measured(self.measured)

    @classmethod
    def from_dict(cls, measured: Mapping[str, Any]) -> HeadRoles:
        """Roles from the content of heads.json."""
        pronouns, alignment = measured["pronouns"], measured["alignment"]
        text = MeasuredText(
            measured.get("sentences", 0), measured.get("text", ""), pronouns.get("pairs", 0)
        )
        roles = {
            part: {(x["layer"], x["head"]): _role(x, text) for x in measured["heads"][part]}
            for part in PARTS
        }
        judged = measured.get("judge", {}).get("head")
        if judged:
            at = (judged["layer"], judged["head"])
            short = PronounAccuracy.from_measured(measured).short
            roles["encoder"][at] = replace(roles["encoder"][at], accuracy=short)
        return cls(
            **roles,
            pronoun_heads=tuple((x["layer"], x["head"]) for x in pronouns["heads"]),
            alignment_heads=tuple((x["layer"], x["head"]) for x in alignment["heads"]),
            measured=measured,
        )

    def heads(self, part: str) -> Mapping[tuple[int, int], Role]:
        roles: Mapping[tuple[int, int], Role] = getattr(self, part)
        return roles


UNKNOWN_ROLES = HeadRoles()


def load_roles(folder: Path) -> HeadRoles:
    """Read heads.json of a model's folder; without one no role is known."""
    path = folder / HEADS
    if not path.is_file():
        return UNKNOWN_ROLES
    try:
        measured = json.loads(path.read_text(encoding="utf-8"))
        return HeadRoles.from_dict(measured)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"{path} must hold the measured roles of the heads, and cannot be read as such "
            f"({error!r}): copy it again, or delete it to read without roles."
        ) from None


def _role(row: dict[str, Any], text: MeasuredText) -> Role:
    usual = {name: row[name] for name in RELATIVE_POSITIONS if name in row}
    found = {x: row[x] for x in _FIGURES if x in row}
    return Role(row["layer"], row["head"], usual, row["entropy"], text=text, **found)
