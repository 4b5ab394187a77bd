"""The README's captures, tree, figures and examples are what the project really gives."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def load_refresh():
    spec = importlib.util.spec_from_file_location("refresh", ROOT / "docs" / "refresh.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


refresh = load_refresh()


@pytest.mark.parametrize("part", re.findall(r"<!-- (\w+) -->", README))
def test_a_made_part_is_what_the_project_gives(part: str) -> None:
    found = re.search(rf"<!-- {part} -->\n(.*?)\n<!-- /{part} -->", README, flags=re.DOTALL)
    assert found is not None, f"{part} has no end mark"
    assert found[1] == refresh.PARTS[part](), "run make readme"


def test_every_file_says_what_it_is_for() -> None:
    paths = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    assert [path for path in paths if not refresh.first_sentence(path)] == []


def test_the_examples_run() -> None:
    result = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert result.attempted > 0
    assert result.failed == 0


def test_every_link_leads_somewhere() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
