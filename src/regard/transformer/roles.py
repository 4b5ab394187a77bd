"""Roles of heads, as measured and stored beside the model.

The names of parts, layers and heads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import ArgumentError, FileError
from regard.heads.names import looks_at

PARTS = ("encoder", "decoder", "cross")


def check_part(part: str) -> None:
    """Raise an ArgumentError unless this is one of PARTS."""
    if part not in PARTS:
        raise ArgumentError(
            f"part needs to be 'encoder', 'decoder' or 'cross', but it is {part!r}."
        )


def check_number(name: str, number: Any, total: int) -> int:
    """The number of a layer or head, from 0 and below ``total``, as an int.

    >>> check_number("layer", np.int64(3), 6)
    3
    """
    if not isinstance(number, int | np.integer) or not 0 <= number < total:
        raise ArgumentError(
            f"{name} needs a number from 0 to {total - 1} ({name}s count from 0), but it is "
            f"{number!r}."
        )
    return int(number)


HEADS = "heads.json"


RELATIVE_POSITIONS = ("same", "previous", "next", "first", "end")


_NAMES = {
    "same": looks_at("itself", unit="word"),
    "previous": looks_at("previous", unit="word"),
    "next": looks_at("next", unit="word"),
    "first": looks_at("first", unit="word"),
    "end": "rests on the end of the sentence",
}


@dataclass(frozen=True)
class Role:
    """One head's usual shares of attention, on text held out of training.

    ``pronouns`` is the share of contrast sentences in which *it* puts more on the right noun,
    ``pronoun_weight`` what it puts on both nouns, ``alignment`` the share of French nouns that
    are sent back to their English noun.
    """

    layer: int
    head: int
    usual: Mapping[str, float]
    entropy: float
    pronouns: float = 0.0
    pronoun_weight: float = 0.0
    alignment: float = 0.0

    @property
    def name(self) -> str:
        """The role in words, by a share of at least one half."""
        largest = max(self.usual, key=lambda x: self.usual[x], default="")
        if largest and self.usual[largest] >= 0.5:
            return _NAMES[largest]
        if self.alignment >= 0.5:
            return "looks at the word it translates"
        if self.pronoun_weight >= 0.5:
            return "links pronouns to nouns"
        return "spreads its attention" if self.entropy >= 1.5 else "picks a few words"


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

    def of(self, part: str) -> Mapping[tuple[int, int], Role]:
        """The roles of the heads of one part."""
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
        return roles_from(measured)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"{path} needs what `python -m regard.transformer.measure_heads` writes, but it "
            "cannot be read as that "
            f"({error!r}): measure the heads again."
        ) from None


def roles_from(measured: Mapping[str, Any]) -> HeadRoles:
    """Roles from the content of heads.json."""
    tables = {part: _roles(measured["heads"][part]) for part in ("encoder", "decoder", "cross")}
    pronouns, alignment = measured["pronouns"], measured["alignment"]
    return HeadRoles(
        **tables,
        pronoun_heads=tuple((x["layer"], x["head"]) for x in pronouns["heads"]),
        alignment_heads=tuple((x["layer"], x["head"]) for x in alignment["heads"]),
        measured=measured,
    )


def _roles(rows: list[dict[str, Any]]) -> dict[tuple[int, int], Role]:
    return {
        (row["layer"], row["head"]): Role(
            row["layer"],
            row["head"],
            {name: row[name] for name in RELATIVE_POSITIONS if name in row},
            row["entropy"],
            **{
                name: row[name]
                for name in ("pronouns", "pronoun_weight", "alignment")
                if name in row
            },
        )
        for row in rows
    }
