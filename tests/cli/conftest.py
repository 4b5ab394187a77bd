"""The command with a small model of its own, made once."""

from pathlib import Path
from typing import Any

import pytest
from tests.transformer.conftest import folder, model, tokens_path

from regard.cli import main

__all__ = ["folder", "model", "run", "tokens_path"]


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `regard` with the small model; gives status, output and error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = 0
        try:
            main([*arguments, "--model", str(folder)])
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call
