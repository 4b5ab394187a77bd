"""Sheets: words, vectors and matrices in a TOML or JSON file or a table, and their one reader."""

from __future__ import annotations

import json
import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import FileError, count
from regard.text.sheet_table import TableError, WrittenFloat, table_fields
from regard.typing import Array, Float64Array

MATRICES = ("x", "w_query", "w_key", "w_value", "w_output")
NEEDED = ("words", "x", "w_query", "w_key", "w_value")
OPTIONAL = ("w_output", "heads", "causal", "mask")
TABLES = (".csv", ".tsv", ".txt", ".md")


@dataclass(frozen=True)
class Sheet:
    """Words, x (t, e), the matrices (e, h * d), heads, causal, mask (t, t) of a file."""

    words: tuple[str, ...]
    x: Float64Array
    w_query: Float64Array
    w_key: Float64Array
    w_value: Float64Array
    w_output: Float64Array | None = None
    heads: int = 1
    causal: bool = False
    mask: Array | None = None


def load_sheet(path: str | Path) -> Sheet:
    """The sheet of a file; the error for a wrong one names the line and the field.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "one.toml"
    >>> lines = ['words = ["a", "b"]', "x = [[1, 0], [0, 1]]"]
    >>> lines += [f"w_{name} = [[1], [1]]" for name in ("query", "key", "value")]
    >>> _ = file.write_text("\\n".join(lines))
    >>> load_sheet(file).words
    ('a', 'b')
    """
    file = SheetFile.read(path)
    return file.sheet(file.fields())


@dataclass(frozen=True)
class SheetFile:
    """A file's text, its fields, and errors that name a line and a field of it."""

    path: Path
    text: str
    is_json: bool

    @classmethod
    def read(cls, path: str | Path) -> SheetFile:
        """The text of a TOML or JSON file, or of a table."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
        except UnicodeDecodeError:
            raise FileError(f"{path} needs to be a text file in UTF-8, TOML or JSON.") from None
        return cls(path, text, path.suffix.lower() == ".json")

    def sheet(self, fields: dict[str, Any]) -> Sheet:
        """The sheet of these fields, validated."""
        self.check_names(fields)
        sheet = Sheet(
            words=self.words(fields["words"]),
            heads=self.heads(fields.get("heads", 1)),
            causal=self.causal(fields.get("causal", False)),
            mask=self.mask(fields["mask"]) if "mask" in fields else None,
            **{name: self.matrix(name, fields[name]) for name in MATRICES if name in fields},
        )
        self.check_sizes(sheet)
        return sheet

    def fields(self) -> dict[str, Any]:
        """The fields by name; a number with a point or an exponent is a ``WrittenFloat``."""
        try:
            if self.path.suffix.lower() in TABLES:
                fields = table_fields(self.text)
            elif self.is_json:
                fields = json.loads(
                    self.text, parse_float=WrittenFloat, object_pairs_hook=_without_doubles
                )
            else:
                fields = tomllib.loads(self.text, parse_float=WrittenFloat)
        except RecursionError:
            raise FileError(f"{self.path} is nested too deeply: it needs lists of rows.") from None
        except TableError as error:
            raise FileError(f"{self.path} {error}") from None
        except ValueError as error:
            kind = "JSON" if self.is_json else "TOML"
            raise FileError(f"{self.path} is not {kind}: {_with_line_first(error)}") from None
        if not isinstance(fields, dict):
            raise FileError(
                f"{self.path} line 1: needs an object with {', '.join(NEEDED)}, "
                f"but it is {_kind(fields)}."
            )
        return fields

    def check_names(self, fields: dict[str, Any]) -> None:
        """Every field that is needed, and none that is unknown."""
        unknown = [name for name in fields if name not in NEEDED + OPTIONAL]
        if unknown:
            names = ", ".join(NEEDED + OPTIONAL)
            raise self.wrong(unknown[0], f"is not known; the fields are {names}.")
        missing = [name for name in NEEDED if name not in fields]
        if missing:
            last = len(self.text.splitlines())
            extent = f"looked to line {last}" if last else "the file is empty"
            raise FileError(
                f"{self.path}: field {missing[0]} is missing ({extent}); "
                f"needed are {', '.join(NEEDED)}."
            )

    def words(self, words: Any) -> tuple[str, ...]:
        """A list of strings, at least one."""
        if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in words):
            raise self.wrong(
                "words", f'needs a list such as ["I", "am"], but it is {_kind(words)}.'
            )
        return tuple(words)

    def heads(self, heads: Any) -> int:
        """A whole number from 1 up."""
        if not isinstance(heads, int) or isinstance(heads, bool) or heads < 1:
            raise self.wrong("heads", f"needs a whole number from 1 up, but it is {_kind(heads)}.")
        return heads

    def causal(self, causal: Any) -> bool:
        """true or false."""
        if not isinstance(causal, bool):
            raise self.wrong("causal", f"needs true or false, but it is {_kind(causal)}.")
        return causal

    def matrix(self, name: str, rows: Any) -> Float64Array:
        """Rows of finite numbers, all of one length."""
        if not isinstance(rows, list) or not rows or not all(isinstance(r, list) for r in rows):
            raise self.wrong(name, f"needs rows such as [[1, 0], [0, 1]], but it is {_kind(rows)}.")
        for i, row in enumerate(rows):
            bad = [x for x in row if not is_finite_number(x)]
            if bad:
                raise self.wrong(name, f"needs finite numbers, but row {i} has {_kind(bad[0])}.")
            if len(row) != len(rows[0]) or not row:
                raise self.wrong(
                    name,
                    f"needs rows of equal length, but row 0 has {len(rows[0])} numbers "
                    f"and row {i} has {len(row)}.",
                )
        return np.array(rows, np.float64)

    def mask(self, rows: Any) -> Array:
        """Rows of true (may look) and false, or of 1 and 0."""
        shown = "needs rows of true and false, true where a word may look"
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise self.wrong("mask", f"{shown}, but it is {_kind(rows)}.")
        for i, row in enumerate(rows):
            bad = [x for x in row if x not in (0, 1) or not isinstance(x, int)]
            if bad:
                raise self.wrong("mask", f"{shown}, but row {i} has {_kind(bad[0])}.")
            if len(row) != len(rows):
                counts = f"row {i} of {len(rows)} has {len(row)}"
                raise self.wrong("mask", f"needs a row and a column for each word, but {counts}.")
        return np.array(rows, bool)

    def check_sizes(self, sheet: Sheet) -> None:
        """One word a row of x; one row of each matrix a column of x."""
        needed = count(len(sheet.words), "row")
        if len(sheet.words) != len(sheet.x):
            raise self.wrong("x", f"needs {needed}, one for each word, but has {len(sheet.x)}.")
        if sheet.mask is not None and len(sheet.mask) != len(sheet.words):
            raise self.wrong(
                "mask", f"needs {needed}, one for each word, but has {len(sheet.mask)}."
            )
        width = sheet.x.shape[1]
        for name in ("w_query", "w_key", "w_value"):
            rows, columns = getattr(sheet, name).shape
            if rows != width:
                raise self.wrong(
                    name, f"needs {count(width, 'row')}, one for each column of x, but has {rows}."
                )
            if columns % sheet.heads:
                raise self.wrong(
                    name, f"needs columns that {sheet.heads} heads divide, but has {columns}."
                )
        self._check_pairs(sheet)

    def _check_pairs(self, sheet: Sheet) -> None:
        """Keys as wide as queries; a row of w_output for each column of w_value."""
        query_width, key_width = sheet.w_query.shape[1], sheet.w_key.shape[1]
        if query_width != key_width:
            needed = count(query_width, "column")
            raise self.wrong("w_key", f"needs {needed}, as w_query has, but has {key_width}.")
        width = sheet.w_value.shape[1]
        rows = width if sheet.w_output is None else len(sheet.w_output)
        if rows != width:
            needed = count(width, "row")
            raise self.wrong(
                "w_output", f"needs {needed}, one for each column of w_value, but has {rows}."
            )

    def wrong(self, name: str, what: str) -> FileError:
        """The error that names the line and the field."""
        return FileError(f"{self.path} line {self.line_of(name)}: field {name} {what}")

    def line_of(self, name: str) -> int:
        """The line where a field begins; 1 where it is unknown."""
        if self.path.suffix.lower() in TABLES:
            key = rf"(?i)^\W*{re.escape(name)}\b"
        else:
            key = (
                rf'"{re.escape(name)}"\s*:'
                if self.is_json
                else rf'^\s*\[?"?{re.escape(name)}"?\s*[=\].]'
            )
        match = re.search(key, self.text, re.MULTILINE)
        return 1 if match is None else self.text.count("\n", 0, match.end()) + 1


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object; TOML refuses a doubled key too, and json takes the last."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {doubled!r} is there twice")
    return fields


def _with_line_first(error: ValueError) -> str:
    """The message of a parser with its position, which tomllib and json put last, in front."""
    position = re.search(r"line (\d+),? column (\d+)", str(error))
    what = re.sub(r"[:(\s]*(\(?at )?line \d+.*$", "", str(error)).rstrip(" :(")
    if position is None:
        return f"{what}."
    return f"line {position[1]}, column {position[2]}: {what}."


def is_finite_number(x: Any) -> bool:
    """Whether a value of a file is a number that float64 can hold.

    >>> [is_finite_number(x) for x in (0.5, 2, True, "2", float("nan"), 10**400)]
    [True, True, False, False, False, False]
    """
    try:
        return isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)
    except OverflowError:  # an int above the largest float64
        return False


def _kind(value: Any) -> str:
    """A value for an error message, shortened."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested deeply; or an int of thousands of digits
        text = f"a {type(value).__name__} that is too long to show"
    return text if len(text) <= 40 else f"{text[:37]}..."
