"""The README's and the benchmarks' generated parts, examples and links are true."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

from regard.engine.native.library import native_state

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROSE = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def load_refresh():
    spec = importlib.util.spec_from_file_location("refresh", ROOT / "tools" / "refresh_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


refresh = load_refresh()


PARTS = [
    # The walks take two interpreters, one of them with torch.
    pytest.param(page, part, marks=[pytest.mark.nightly] if part == "walks" else [])
    for page in refresh.PAGES
    for part in re.findall(r"<!-- (\w+) -->", page.read_text())
]


@pytest.mark.parametrize(("page", "part"), PARTS, ids=lambda x: getattr(x, "name", x))
def test_a_made_part_is_what_the_project_gives(page: Path, part: str) -> None:
    if part == "walks" and native_state().level is None:
        pytest.skip("the walks are those with native kernels, and there are none here")
    text = page.read_text()
    found = re.search(rf"<!-- {part} -->\n(.*?)\n<!-- /{part} -->", text, flags=re.DOTALL)
    assert found is not None, f"{part} has no end mark"
    assert found[1] == refresh.PARTS[part](), "run make docs"


def test_every_file_says_what_it_is_for() -> None:
    folders = (ROOT / "src", ROOT / "benchmarks")
    paths = [path for x in folders for kind in refresh.SAYS for path in x.rglob(f"*{kind}")]
    assert [path for path in paths if not refresh.first_sentence(path)] == []


def test_the_examples_run() -> None:
    result = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_tables_of_figures_name_the_machine_and_no_targets() -> None:
    text = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    assert "to reach" not in text
    assert text.count(" cores of ") >= 4
    assert "AVX-512" in text
