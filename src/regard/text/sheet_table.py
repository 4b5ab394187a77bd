"""Sheets as tables: CSV, tabs, a Markdown table, or columns pasted from a page.

A line with a name (x, w_query, weights, ...) begins a block; its rows may begin with a word. A row
without numbers is a heading. ``words``, ``heads`` and ``causal`` have their values beside them.
"""

from __future__ import annotations

import csv
import re
from typing import Any

GIVEN = ("x", "w_query", "w_key", "w_value", "w_output", "mask")
CLAIMED = ("query", "key", "value", "scores", "scaled", "masked", "weights", "sums", "output")
SHORT = {"q": "query", "k": "key", "v": "value", "wq": "w_query", "wk": "w_key", "wv": "w_value",
         "wo": "w_output", "w_q": "w_query", "w_k": "w_key", "w_v": "w_value",
         "w_o": "w_output"}  # fmt: skip
HEAD = re.compile(r"\bhead[ _]?(\d+)\b")
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
TRUTH = {"true": True, "false": False}


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
        title = _title(cells)
        if not cells:
            continue
        if title is not None:
            rows = blocks.setdefault(title, [])
        elif cells[0].lower().rstrip(":") in ("words", "heads", "causal") and len(cells) > 1:
            name = cells[0].lower().rstrip(":")
            fields[name] = cells[1:] if name == "words" else _value(cells[1])
        elif rows is None:
            names = ", ".join((*GIVEN, *CLAIMED))
            raise TableError(line, f"a title is needed first, one of {names}, not {raw[:40]!r}.")
        elif any(not isinstance(_value(cell), str) for cell in cells):
            rows.append(_row(cells, line))
    return fields | _fields_of(blocks, fields)


def _fields_of(blocks: dict[Any, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """The blocks as fields: what is given as rows, what is claimed by word."""
    given = {name: [row for _, row in rows] for (_, name), rows in blocks.items() if name in GIVEN}
    words = fields.get("words") or [word for word, _ in blocks.get(("", "x"), [])]
    claimed: dict[str, Any] = {}
    for (head, name), rows in blocks.items():
        if name in CLAIMED:
            by_word = {word: row for word, row in rows if word}
            every = len(rows) == len(words) and [w for w, _ in rows] in (words, [""] * len(rows))
            table = claimed.setdefault(f"head_{head}", {}) if head else claimed
            table[name] = [row for _, row in rows] if every or len(by_word) < len(rows) else by_word
    named = {"words": words} if words and all(words) else {}
    return given | named | ({"claimed": claimed} if claimed else {})


def _title(cells: list[str]) -> tuple[str, str] | None:
    """The head, '' for all, and the name of a block that begins with this line."""
    text = " ".join(cells).lower()
    head = HEAD.search(text)
    name = HEAD.sub("", text).strip(" #*:.,-_")
    name = SHORT.get(name, name)
    return (head[1] if head else "", name) if name in (*GIVEN, *CLAIMED) else None


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
        raise TableError(line, f"a row needs numbers after its word, but has {wrong[0]!r}.")
    return word, numbers


def _value(cell: str) -> Any:
    """A number with its digits, true or false, "-inf", or the cell itself."""
    text = cell.replace("\N{MINUS SIGN}", "-")
    if text.lower() in ("-inf", "-infinity", "-∞"):
        return "-inf"
    if text.lower() in TRUTH:
        return TRUTH[text.lower()]
    if not NUMBER.fullmatch(text):
        return cell
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else WrittenFloat(text)
