"""The first collection of other people's attention: the index is whole and the samples hold."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "samples" / "first"
INDEX = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))


def test_every_file_is_in_the_index_once() -> None:
    listed = sorted(entry["file"] for entry in INDEX)
    assert listed == sorted(path.name for path in FOLDER.glob("*.py") if path.name != "verify.py")
    wrong = sorted(entry["file"] for entry in INDEX if entry["kind"] == "wrong")
    assert wrong == sorted(entry["of"] for entry in INDEX if entry["kind"] == "twin")


@pytest.mark.nightly
def test_right_samples_equal_their_references_and_wrong_ones_differ() -> None:
    pytest.importorskip("torch", reason="the samples are torch modules")
    spec = importlib.util.spec_from_file_location("verify_first", FOLDER / "verify.py")
    verify = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(verify)
    assert verify.main() == 0
