"""Guides that stand on their own: every block of Python runs, in order, in one fresh folder."""

import re
from pathlib import Path

import pytest

pytest.importorskip("transformers", reason="the guides watch models of transformers")

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = ("watch.md",)


@pytest.mark.parametrize("page", GUIDES)
def test_every_block_of_a_guide_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert len(found) > 3
    names: dict[str, object] = {}
    for number, block in enumerate(found, 1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)  # noqa: S102 (our own page)
        assert capsys.readouterr().out or "print(" not in block
    saved = set(re.findall(r'(?:save|to_csv)\("([^"]+)"', text))
    assert saved
    assert {x.name for x in tmp_path.iterdir()} == saved
