"""Claims of a sheet: the numbers that its author wrote, by head, stage and word."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np

from regard.checker.claims import Claimed, claimed_row
from regard.errors import FileError, count
from regard.text.sheet import Sheet, SheetFile, is_finite_number
from regard.text.sheet_table import WrittenFloat

VECTORS = ("query", "key", "value")
CHAIN = ("scores", "scaled", "masked", "weights", "output")
STAGES = (*VECTORS, *CHAIN)
# People write a large negative number for minus infinity.
HIDDEN = -1e4
Claims = dict[str, dict[int, Claimed]]


@dataclass(frozen=True)
class SheetClaims:
    """The claims about each head, its weighted sums as its output; and about all heads joined."""

    heads: tuple[Claims, ...]
    joined: dict[int, Claimed]


def read_sheet(path: Path) -> tuple[Sheet, SheetClaims]:
    """The sheet of a file and its table ``claimed``, each number with its digits."""
    file = SheetFile.read(path)
    fields = file.fields()
    claimed = fields.pop("claimed", None)
    if not isinstance(claimed, dict):
        raise FileError(
            f"{path}: table claimed is missing; it holds any of {', '.join(STAGES)}, such as "
            "[claimed.weights] with a row for each word."
        )
    sheet = file.sheet(fields)
    return sheet, ClaimReader(path, sheet).read(claimed)


@dataclass(frozen=True)
class ClaimReader:
    """The reader of a table ``claimed``; errors name the file and the entry."""

    path: Path
    sheet: Sheet

    def read(self, claimed: dict[str, Any]) -> SheetClaims:
        """The claims by head, stage and row."""
        heads: list[Claims] = [{} for _ in range(self.sheet.heads)]
        joined: dict[int, Claimed] = {}
        for name, rows in claimed.items():
            head = re.fullmatch(r"head_(\d+)", name)
            if head:
                heads[self._head(name, int(head[1]), rows)] |= self._stages(name, rows)
            elif name == "output" and self._has_sums:
                joined = self.rows(f"claimed.{name}", rows, name)
            elif self.sheet.heads > 1 and name in (*STAGES, "sums"):
                raise FileError(
                    f"{self.path}: claimed.{name} needs a head, such as [claimed.head_0.{name}]: "
                    f"there are {self.sheet.heads} heads."
                )
            else:
                heads[0] |= self._stages("", {name: rows})
        return SheetClaims(tuple(heads), joined)

    @property
    def _has_sums(self) -> bool:
        """Whether the output is more than the weighted sums of one head."""
        return self.sheet.heads > 1 or self.sheet.w_output is not None

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of one head."""
        return (*STAGES[:-1], "sums" if self._has_sums else "output")

    def _head(self, name: str, head: int, rows: Any) -> int:
        if head >= self.sheet.heads:
            heads = count(self.sheet.heads, "head")
            raise FileError(f"{self.path}: claimed.{name} needs a head from 0 up: it has {heads}.")
        if not isinstance(rows, dict):
            raise FileError(f"{self.path}: claimed.{name} needs tables, such as {name}.weights.")
        return head

    def _stages(self, head: str, tables: dict[str, Any]) -> Claims:
        """The claims of one head; its weighted sums count as its output."""
        claims: Claims = {}
        for stage, rows in tables.items():
            name = ".".join(("claimed", *([head] if head else []), stage))
            if stage not in self.stages:
                known = ", ".join((*self.stages, *(["output"] if self._has_sums else [])))
                raise FileError(f"{self.path}: {name} is not known; there are {known}.")
            claims["output" if stage == "sums" else stage] = self.rows(name, rows, stage)
        return claims

    def rows(self, name: str, rows: Any, stage: str) -> dict[int, Claimed]:
        """The claimed rows of one stage, by the number of their word."""
        words = self.sheet.words
        if isinstance(rows, list) and len(rows) == len(words):
            pairs = list(zip(words, rows, strict=True))
            return {i: self.row(f"{name}.{w}", row, stage) for i, (w, row) in enumerate(pairs)}
        if not isinstance(rows, dict):
            raise FileError(
                f"{self.path}: {name} needs rows by word, or a list of {count(len(words), 'row')}, "
                "one for each word."
            )
        unknown = [word for word in rows if word not in words]
        if unknown:
            raise FileError(
                f"{self.path}: {name}.{unknown[0]} needs one of the words {', '.join(words)}."
            )
        return {words.index(w): self.row(f"{name}.{w}", row, stage) for w, row in rows.items()}

    def row(self, name: str, row: Any, stage: str) -> Claimed:
        """One row of numbers with their digits; masked scores may be minus infinity."""
        if isinstance(row, list):
            hidden = [stage == "masked" and _is_hidden(x) for x in row]
            numbers = [0 if is_hidden else x for x, is_hidden in zip(row, hidden, strict=True)]
            if all(map(is_finite_number, numbers)):
                with contextlib.suppress(InvalidOperation):  # an exponent that no decimal has
                    claim = claimed_row(
                        [Decimal(x.text) if isinstance(x, WrittenFloat) else x for x in numbers]
                    )
                    return replace(claim, numbers=np.where(hidden, -np.inf, claim.numbers))
        raise FileError(f"{self.path}: {name} needs a row of numbers, such as [0, 0.19].")


def _is_hidden(x: Any) -> bool:
    """Whether a masked score is written as minus infinity, or as a large negative number."""
    return x == "-inf" or (
        isinstance(x, int | float) and not isinstance(x, bool) and bool(x <= HIDDEN)
    )
