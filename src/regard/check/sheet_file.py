"""The file of a sheet worked by hand: its numbers, and its claims with every digit kept."""

import json
import re
import tempfile
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from regard.check.claims import Claimed, claimed_row
from regard.errors import FileError
from regard.inputs.sheet import Sheet, load_sheet

STAGES = ("query", "key", "value", "scores", "scaled", "weights", "output")
Claims = dict[str, dict[str, Claimed]]


def read_sheet(path: Path) -> tuple[Sheet, Claims]:
    """The sheet, and what its table ``claimed`` holds."""
    fields = _parsed(path)
    sheet = _load_rest(path, fields)
    return sheet, _claims(path, fields)


def _parsed(path: Path) -> dict[str, Any]:
    """The file with every decimal kept as it was written: 0.20 has two digits."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() == ".json":
            found = json.loads(text, parse_float=Decimal)
        else:
            found = tomllib.loads(text, parse_float=Decimal)
    except (OSError, ValueError):
        load_sheet(path)  # says what is wrong, and where
        raise FileError(f"{path} cannot be read.") from None
    if not isinstance(found, dict) or not isinstance(found.get("claimed"), dict):
        raise FileError(
            f"{path}: table claimed is missing; it holds any of {', '.join(STAGES)}, such as "
            "[claimed.weights] with a row for each word."
        )
    return found


def _claims(path: Path, fields: dict[str, Any]) -> Claims:
    words = fields.get("words") or []
    found: Claims = {}
    for stage, rows in fields["claimed"].items():
        if stage not in STAGES:
            raise FileError(f"{path}: claimed.{stage} is not known; there are {', '.join(STAGES)}.")
        if isinstance(rows, list):
            rows = dict(zip(words, rows, strict=False))
        for word, row in rows.items():
            _check_row(path, f"claimed.{stage}.{word}", word, row, words)
        found[stage] = {word: claimed_row(row) for word, row in rows.items()}
    return found


def _check_row(path: Path, name: str, word: str, row: Any, words: list[str]) -> None:
    if word not in words:
        raise FileError(f"{path}: {name} needs one of the words {', '.join(words)}.")
    if not isinstance(row, list) or not all(type(x) in (int, Decimal) for x in row):
        raise FileError(f"{path}: {name} needs a row of numbers, such as [0, 0.19].")


def _load_rest(path: Path, fields: dict[str, Any]) -> Sheet:
    """The sheet without its claims, read as any sheet."""
    rest = {name: value for name, value in fields.items() if name != "claimed"}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"{path.stem}.json"
        copy.write_text(json.dumps(rest, default=float), encoding="utf-8")
        try:
            return load_sheet(copy)
        except FileError as error:
            # The copy has one line, so its number says nothing.
            told = re.sub(r"\s\(looked to line 1\)| line 1(?=:)", "", str(error))
            raise FileError(told.replace(str(copy), str(path))) from None
