"""tools/watch_families.py compares its verdicts with those of the table that it wrote."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def families():
    path = ROOT / "tools" / "watch_families.py"
    spec = importlib.util.spec_from_file_location("watch_families", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["watch_families"] = module  # its dataclass looks for its module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["watch_families"]


def test_a_table_is_read_as_it_was_written(families):
    verdicts = [
        families.Verdict("bert", "interface", "exact", "2 layers"),
        families.Verdict("gptj", "operators", "exact", "2 layers"),
        families.Verdict("mamba", "", "not built small", "no config"),
        families.Verdict("fnet", "", "no attention", "FNetModel ran, but no attention was seen"),
    ]
    before = families.verdicts_in(families.table(verdicts))
    assert before == {
        "bert": ("interface", "exact"),
        "gptj": ("operators", "exact"),
        "fnet": ("", "no attention"),
    }
    assert families.changes(before, verdicts) == []
    verdicts[1] = families.Verdict("gptj", "operators", "DIFFERS", "0.3")
    verdicts[2] = families.Verdict("mamba", "", "refused", "it has no attention")
    assert families.changes(before, verdicts) == [
        "gptj: operators exact before, operators DIFFERS now 0.3",
        "mamba:  not built small before,  refused now it has no attention",
    ]


def test_the_table_of_the_docs_has_verdicts(families):
    before = families.verdicts_in((ROOT / "docs" / "watch_families.md").read_text())
    assert before["bert"] == ("interface", "exact")
    assert before["gptj"] == ("operators", "exact")
    assert len(before) > 200
    assert not {verdict for _, verdict in before.values()} & {"ERROR", "DIFFERS", "other output"}


@pytest.mark.parametrize("name", ["bert", "deepseek_v32", "minimax_m3_vl_text"])
def test_one_type(families, name):
    verdict = families.verdict_of(name)
    assert (verdict.path, verdict.verdict) == ("interface", "exact")
