"""Record of a training: recipe, hashes of the text, versions, and the loss curve."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from regard.atomic_write import write_text
from regard.transformer.train.data import fingerprint
from regard.transformer.train.training_state import Point

_WIDTH, _HEIGHT, _MARGIN = 640, 320, 40


def circumstances(device: str) -> dict[str, str]:
    """Python, packages and machine."""
    packages = ("regard", "torch", "numpy", "sentencepiece", "safetensors", "sacrebleu")
    return {"python": platform.python_version(), "device": device} | {
        name: _version(name) for name in packages
    }


def write_record(folder: Path, facts: dict[str, Any], files: Iterable[Path]) -> None:
    """Write facts, and the name and hash of every file of text, to record.json."""
    record = {**facts, "files": [fingerprint(path) for path in files]}
    text = json.dumps(record, indent=2, ensure_ascii=False, default=_plain)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "record.json", text + "\n")


def write_curve(folder: Path, curve: Sequence[Point]) -> None:
    """Write the loss curve, as numbers (curve.json) and as a picture (curve.svg)."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(point) for point in curve)
    write_text(folder / "curve.json", f"[\n{lines}\n]\n")
    write_text(folder / "curve.svg", draw(curve))


def draw(curve: Sequence[Point]) -> str:
    """Loss over steps, as SVG; BLEU, where it was measured, as numbers beside their step."""
    losses = [(p["step"], p["loss"]) for p in curve if "loss" in p]
    last = max([step for step, _ in losses], default=1)
    top = max([loss for _, loss in losses], default=1.0)
    points = " ".join(f"{_x(step, last):.1f},{_y(loss, top):.1f}" for step, loss in losses)
    marks = [_mark(p, last) for p in curve if "bleu" in p]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'font-family="sans-serif" font-size="11">',
            f'<polyline fill="none" stroke="#246" stroke-width="1.5" points="{points}"/>',
            f'<text x="4" y="{_MARGIN}">{top:.2f}</text>',
            f'<text x="4" y="{_HEIGHT - _MARGIN}">0</text>',
            f'<text x="{_WIDTH // 2}" y="{_HEIGHT - 6}">loss over {last} steps</text>',
            *marks,
            "</svg>\n",
        ]
    )


def _mark(point: Point, last: float) -> str:
    x = _x(point["step"], last)
    return f'<text x="{x:.1f}" y="14" text-anchor="middle">BLEU {point["bleu"]:.1f}</text>'


def _x(step: float, last: float) -> float:
    return _MARGIN + (_WIDTH - 2 * _MARGIN) * step / last


def _y(loss: float, top: float) -> float:
    return _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * loss / top


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.name if isinstance(value, Path) else str(value)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
