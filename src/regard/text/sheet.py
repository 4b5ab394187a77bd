"""Sheets: words, vectors and matrices in a TOML or JSON file, or in a table.

A table is CSV, tabs, Markdown, or columns pasted from a page.
"""

from __future__ import annotations

import csv
import json
import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import FileError, count
from regard.typing import Array, Float64Array

MATRICES = ("x", "w_query", "w_key", "w_value", "w_output")
REQUIRED_FIELDS = ("words", "x", "w_query", "w_key", "w_value")
OPTIONAL_FIELDS = ("w_output", "heads", "causal", "mask")
MAX_SHEET_BYTES = 64 * 2**20
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".md")
GIVEN_BLOCKS = ("x", "w_query", "w_key", "w_value", "w_output", "mask")
SCORE_BLOCKS = ("scores", "scaled", "masked", "weights", "sums", "output")
CLAIMED_BLOCKS = ("query", "key", "value", *SCORE_BLOCKS)
FULL_NAMES = {"q": "query", "k": "key", "v": "value"}
FULL_NAMES |= {
    f"w{gap}{short}": f"w_{name}" for short, name in FULL_NAMES.items() for gap in ("", "_")
}
FULL_NAMES |= {"wo": "w_output", "w_o": "w_output"}
HEAD_PATTERN = re.compile(r"\bhead[ _]?(\d+)\b")
NUMBER_PATTERN = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
BOOLEANS = {"true": True, "false": False}


class WrittenFloat(float):
    """A number of a file with the text it was written as.

    >>> WrittenFloat("0.20"), WrittenFloat("0.20").text
    (0.2, '0.20')
    """

    text: str

    def __new__(cls, text: str) -> WrittenFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number


class TableError(ValueError):
    """A line of a table that cannot be read."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")


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
        path = Path(path)
        try:
            with path.open("rb") as file:  # a device, such as /dev/zero, has no end
                content = file.read(MAX_SHEET_BYTES + 1)
            text = content.decode("utf-8-sig")
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None
        except UnicodeDecodeError:
            raise FileError(f"{path} must be a text file in UTF-8, TOML or JSON.") from None
        if len(content) > MAX_SHEET_BYTES:
            raise FileError(f"{path} must be a sheet of at most {MAX_SHEET_BYTES // 2**20} MiB.")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        return cls(path, text, path.suffix.lower() == ".json")

    def sheet(self, fields: dict[str, Any]) -> Sheet:
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
            if self.path.suffix.lower() in TABLE_SUFFIXES:
                fields = table_fields(self.text)
            elif self.is_json:
                fields = json.loads(
                    self.text, parse_float=WrittenFloat, object_pairs_hook=_unique_fields
                )
            else:
                fields = tomllib.loads(self.text, parse_float=WrittenFloat)
        except RecursionError:
            raise FileError(
                f"{self.path} is nested too deeply: it must hold lists of rows."
            ) from None
        except TableError as error:
            raise FileError(f"{self.path} {error}") from None
        except ValueError as error:
            kind = "JSON" if self.is_json else "TOML"
            raise FileError(f"{self.path} is not {kind}: {_with_line_first(error)}") from None
        if not isinstance(fields, dict):
            raise FileError(
                f"{self.path} line 1: must be an object with {', '.join(REQUIRED_FIELDS)}, "
                f"got {_shown(fields)}."
            )
        return fields

    def check_names(self, fields: dict[str, Any]) -> None:
        """Raise unless every required field is there, and none that is unknown."""
        unknown = [name for name in fields if name not in REQUIRED_FIELDS + OPTIONAL_FIELDS]
        if unknown:
            names = ", ".join(REQUIRED_FIELDS + OPTIONAL_FIELDS)
            raise self.wrong(unknown[0], f"is unknown; the fields are {names}.")
        missing = [name for name in REQUIRED_FIELDS if name not in fields]
        if missing:
            last = len(self.text.splitlines())
            extent = f"looked to line {last}" if last else "the file is empty"
            raise FileError(
                f"{self.path}: field {missing[0]} is missing ({extent}); "
                f"required are {', '.join(REQUIRED_FIELDS)}."
            )

    def words(self, words: Any) -> tuple[str, ...]:
        if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in words):
            raise self.wrong("words", f'must be a list such as ["I", "am"], got {_shown(words)}.')
        return tuple(words)

    def heads(self, heads: Any) -> int:
        if not isinstance(heads, int) or isinstance(heads, bool) or heads < 1:
            raise self.wrong("heads", f"must be a whole number from 1 up, got {_shown(heads)}.")
        return heads

    def causal(self, causal: Any) -> bool:
        if not isinstance(causal, bool):
            raise self.wrong("causal", f"must be true or false, got {_shown(causal)}.")
        return causal

    def matrix(self, name: str, rows: Any) -> Float64Array:
        if not isinstance(rows, list) or not rows or not all(isinstance(r, list) for r in rows):
            raise self.wrong(name, f"must be rows such as [[1, 0], [0, 1]], got {_shown(rows)}.")
        for i, row in enumerate(rows):
            bad = [x for x in row if not is_finite_number(x)]
            if bad:
                raise self.wrong(
                    name, f"must have finite numbers, got {_shown(bad[0])} in row {i}."
                )
            if len(row) != len(rows[0]) or not row:
                raise self.wrong(
                    name,
                    f"must have rows of equal length, got {len(rows[0])} numbers in row 0 "
                    f"and {len(row)} in row {i}.",
                )
        return np.array(rows, np.float64)

    def mask(self, rows: Any) -> Array:
        """The mask, checked: rows of true (may look) and false, or of 1 and 0."""
        needed = "must be rows of true and false, true where a word may look"
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise self.wrong("mask", f"{needed}, got {_shown(rows)}.")
        for i, row in enumerate(rows):
            bad = [x for x in row if x not in (0, 1) or not isinstance(x, int)]
            if bad:
                raise self.wrong("mask", f"{needed}, got {_shown(bad[0])} in row {i}.")
            if len(row) != len(rows):
                got = f"got {len(row)} columns in row {i} of {len(rows)}"
                raise self.wrong("mask", f"must have a row and a column for each word, {got}.")
        return np.array(rows, bool)

    def check_sizes(self, sheet: Sheet) -> None:
        needed = count(len(sheet.words), "row")
        if len(sheet.words) != len(sheet.x):
            raise self.wrong("x", f"must have {needed}, one for each word, got {len(sheet.x)}.")
        if sheet.mask is not None and len(sheet.mask) != len(sheet.words):
            raise self.wrong(
                "mask", f"must have {needed}, one for each word, got {len(sheet.mask)}."
            )
        width = sheet.x.shape[1]
        for name in ("w_query", "w_key", "w_value"):
            rows, columns = getattr(sheet, name).shape
            if rows != width:
                raise self.wrong(
                    name, f"must have {count(width, 'row')}, one for each column of x, got {rows}."
                )
            if columns % sheet.heads:
                raise self.wrong(
                    name, f"must have columns that {sheet.heads} heads divide, got {columns}."
                )
        self._check_pairs(sheet)

    def _check_pairs(self, sheet: Sheet) -> None:
        """Raise unless keys are as wide as queries, and w_output fits w_value."""
        query_width, key_width = sheet.w_query.shape[1], sheet.w_key.shape[1]
        if query_width != key_width:
            needed = count(query_width, "column")
            raise self.wrong("w_key", f"must have {needed}, as w_query has, got {key_width}.")
        width = sheet.w_value.shape[1]
        rows = width if sheet.w_output is None else len(sheet.w_output)
        if rows != width:
            needed = count(width, "row")
            raise self.wrong(
                "w_output", f"must have {needed}, one for each column of w_value, got {rows}."
            )

    def wrong(self, name: str, what: str) -> FileError:
        return FileError(f"{self.path} line {self._field_line(name)}: field {name} {what}")

    def line_within(self, *names: str) -> int:
        """The line of an entry, found name after name; where one is not found, of the one before.

        >>> text = "[claimed.weights]\\nI = [1]\\n[claimed.output]\\nI = [2]"
        >>> SheetFile(Path("a.toml"), text, False).line_within("claimed", "output", "I")
        4
        """
        at = 0
        for name in names:
            found = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)").search(self.text, at)
            at = found.end() if found else at
        return self.text.count("\n", 0, at) + 1

    def _field_line(self, name: str) -> int:
        """The line where a field begins; 1 where it is unknown."""
        if self.path.suffix.lower() in TABLE_SUFFIXES:
            key = rf"(?i)^\W*{re.escape(name)}\b"
        else:
            key = (
                rf'"{re.escape(name)}"\s*:'
                if self.is_json
                else rf'^\s*\[?"?{re.escape(name)}"?\s*[=\].]'
            )
        match = re.search(key, self.text, re.MULTILINE)
        return 1 if match is None else self.text.count("\n", 0, match.end()) + 1


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object; raises for a doubled key, as TOML does and json does not."""
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


def _shown(value: Any) -> str:
    """A value for an error message, shortened."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested deeply; or an int of thousands of digits
        text = f"a {type(value).__name__} that is too long to show"
    return text if len(text) <= 40 else f"{text[:37]}..."


# Tables: a line with a name (x, w_query, weights, ...) begins a block, whose rows may begin with a
# word. A row without numbers is a heading. ``words``, ``heads`` and ``causal`` stand in one line.


def table_fields(text: str) -> dict[str, Any]:
    """The fields of a sheet, with a table ``claimed`` of the stages that it has.

    >>> fields = table_fields("x\\nI, 1, 0\\nam, 0, 1\\n\\nweights\\nam, 0.33, 0.67")
    >>> fields["words"], fields["x"], fields["claimed"]
    (['I', 'am'], [[1, 0], [0, 1]], {'weights': {'am': [0.33, 0.67]}})
    """
    fields: dict[str, Any] = {}
    blocks: dict[tuple[str, str], list[tuple[str, list[Any]]]] = {}
    rows: list[tuple[str, list[Any]]] | None = None
    for line, raw in enumerate(text.splitlines(), 1):
        cells = _cells(raw)
        if not cells:
            continue
        title = _title(cells)
        name = cells[0].lower().rstrip(":")
        if title is not None:
            rows = blocks.setdefault(title, [])
        elif name in ("words", "heads", "causal") and len(cells) > 1:
            fields[name] = cells[1:] if name == "words" else _value(cells[1])
        elif rows is None:
            names = ", ".join((*GIVEN_BLOCKS, *CLAIMED_BLOCKS))
            raise TableError(
                line, f"a table must begin with a title, one of {names}, got {raw[:40]!r}."
            )
        elif any(not isinstance(_value(cell), str) for cell in cells):
            rows.append(_row(cells, line))
    return fields | _block_fields(blocks, fields)


def _block_fields(blocks: dict[Any, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """The blocks as fields: what is given as rows, what is claimed by word."""
    given = {
        name: [row for _, row in rows] for (_, name), rows in blocks.items() if name in GIVEN_BLOCKS
    }
    words = fields.get("words") or [word for word, _ in blocks.get(("", "x"), [])]
    claimed: dict[str, Any] = {}
    for (head, name), rows in blocks.items():
        if name in CLAIMED_BLOCKS:
            by_word = {word: row for word, row in rows if word}
            every = len(rows) == len(words) and [w for w, _ in rows] in (words, [""] * len(rows))
            table = claimed.setdefault(f"head_{head}", {}) if head else claimed
            table[name] = [row for _, row in rows] if every or len(by_word) < len(rows) else by_word
    named = {"words": words} if words and all(words) else {}
    return given | named | ({"claimed": claimed} if claimed else {})


def _title(cells: list[str]) -> tuple[str, str] | None:
    """The head, '' for all, and the name of a block that begins with this line."""
    text = " ".join(cells).lower()
    head = HEAD_PATTERN.search(text)
    name = HEAD_PATTERN.sub("", text).strip(" #*:.,-_")
    name = FULL_NAMES.get(name, name)
    return (head[1] if head else "", name) if name in (*GIVEN_BLOCKS, *CLAIMED_BLOCKS) else None


def _cells(line: str) -> list[str]:
    """The cells of a line, however they are separated; none for a ruler."""
    if "|" in line:
        cells = line.strip().strip("|").split("|")
    elif "\t" in line or ";" in line:
        # Only there can a comma be a decimal point.
        cells = [re.sub(r"(?<=\d),(?=\d)", ".", x) for x in re.split(r"\t|;", line)]
    elif "," in line:
        cells = next(csv.reader([line], skipinitialspace=True))
    else:
        cells = line.split()
    cells = [cell.strip().strip("[]()'\"").strip() for cell in cells]
    return [] if all(re.fullmatch(r":?-*:?", cell) for cell in cells) else _without_ends(cells)


def _without_ends(cells: list[str]) -> list[str]:
    while cells and not cells[-1]:
        cells = cells[:-1]
    return cells


def _row(cells: list[str], line: int) -> tuple[str, list[Any]]:
    """The word that a row begins with, '' where there is none, and its numbers."""
    values = [_value(cell) for cell in cells]
    word = cells[0] if isinstance(values[0], str) and values[0] != "-inf" else ""
    labelled = bool(word) or cells[0] == ""
    numbers = values[1:] if labelled else values
    wrong = [cell for cell in numbers if isinstance(cell, str) and cell != "-inf"]
    if wrong:
        raise TableError(line, f"a row must have numbers after its word, got {wrong[0]!r}.")
    return word, numbers


def _value(cell: str) -> Any:
    """A number with its digits, true or false, "-inf", or the cell itself."""
    text = cell.replace("\N{MINUS SIGN}", "-")
    if text.lower() in ("-inf", "-infinity", "-∞"):
        return "-inf"
    if text.lower() in BOOLEANS:
        return BOOLEANS[text.lower()]
    if not NUMBER_PATTERN.fullmatch(text):
        return cell
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else WrittenFloat(text)
