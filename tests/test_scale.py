"""docs/scale.md against its script, and the script against what was measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import scale
from scale_model import Rank, Survey, fewest_tokens, ring

# Small runs have overhead that the formulas leave out (threads that start, memory touched for the
# first time), and sending takes some of the processor's time although it goes on meanwhile.
FACTOR = 1.3
POINTS = scale.results("ring")["around_the_ring"]
CORE = scale.measured_core({})


@pytest.mark.parametrize("point", POINTS, ids=lambda p: f"{p['ranks']} ranks, {p['tokens']} tokens")
def test_the_formulas_predict_what_was_measured(point):
    predicted = ring(point["tokens"], point["ranks"], CORE)
    measured = point["processor_seconds"]
    assert predicted.seconds / FACTOR < measured < predicted.seconds * FACTOR
    assert measured <= 1.05 * point["seconds"]  # a thread of the transport may run beside


@pytest.mark.parametrize("point", POINTS, ids=lambda p: f"{p['ranks']} ranks, {p['tokens']} tokens")
def test_the_bytes_are_those_that_were_sent(point):
    """Two ranks: half of the sequence goes to the other, and the map once."""
    half = [point["tokens"] - point["tokens"] // 2, point["tokens"] // 2]
    exact = ring(2 * half[1], 2, CORE).sent_bytes if point["ranks"] == 2 else 0
    token = 8 * (64 * 4 * 3 + 8)  # heads, width, bytes, key and value and query; log-sum-exp
    assert abs(point["sent_bytes"] - exact) <= token  # an odd number of tokens: one more or less


@pytest.mark.parametrize("name", scale.tables({}))
def test_the_page_holds_the_tables_of_the_script(name):
    table = scale.tables({})[name]
    assert f"<!-- {name} -->\n{table}\n<!-- /{name} -->" in scale.PAGE.read_text(), (
        "run python tools/scale.py --write"
    )


def test_more_ranks_compute_less_and_send_no_less():
    few, many = ring(1e8, 256, CORE), ring(1e8, 1024, CORE)
    assert many.compute_seconds == pytest.approx(few.compute_seconds / 4)
    assert few.sent_bytes < many.sent_bytes < 1.01 * few.sent_bytes


def test_at_the_fewest_tokens_a_step_computes_as_long_as_it_sends():
    rank = Rank(1e-9, 1e-9, bytes_a_second=1e9, seconds_a_step=0)
    tokens = fewest_tokens(rank)
    cost = ring(tokens * 1000, 1000, rank, passes=1)
    assert cost.compute_seconds == pytest.approx(cost.send_seconds, rel=0.01)


def test_a_survey_is_as_fast_as_its_slowest_part():
    figures = Survey(100, driver_documents_a_second=5000, merged_documents_a_second=1e5)
    assert figures.seconds(1e6, machines=1, cores=10) == pytest.approx(1e6 / 1000 + 10)
    assert figures.seconds(1e6, machines=100, cores=10) == pytest.approx(1e6 / 5000 + 10)
    assert figures.most_machines(cores=10) == 5


def run(*words: str) -> subprocess.CompletedProcess:
    script = [sys.executable, str(Path(scale.__file__)), *words]
    return subprocess.run(script, capture_output=True, text=True, check=False)


def test_the_script_takes_figures_of_ones_own(tmp_path):
    mine = tmp_path / "mine.json"
    survey = {"documents_a_second": 10, "driver_documents_a_second": 1e4}
    survey["merged_documents_a_second"] = 1e5
    mine.write_text(json.dumps({"core": {"heads": 1}, "survey": survey}))
    told = run("--figures", str(mine))
    assert told.returncode == 0
    assert "| heads, head width, bytes per number | 1, 64, 4 | 16, 128, 2 |" in told.stdout
    assert "| 64-core machines | total |" in told.stdout


def test_a_figure_that_does_not_exist(tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"core": {"head": 1}}))
    told = run("--figures", str(mine))
    assert told.returncode == 1
    assert told.stderr.startswith("no figure is called 'head'; there are: pass_one_seconds_a_pair,")
