"""Monitors of several ranks: two processes on gloo, under DDP and FSDP."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.small_training import Model, batch, louder, reference

from regard.monitoring.folder import History

ROOT = Path(__file__).parents[2]
RANKS = 2


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """What each rank saw, and their folder."""
    folder = tmp_path_factory.mktemp("ranks")
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    command = [sys.executable, "-m", "tests.helpers.monitor_rank"]
    started = [
        subprocess.Popen(
            [*command, str(rank), str(RANKS), str(folder)],
            env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(RANKS)
    ]  # fmt: skip
    try:
        said = [process.communicate(timeout=180)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0] * RANKS, "\n".join(said)
    return folder, [torch.load(folder / f"rank{x}.pt", weights_only=False) for x in range(RANKS)]


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_the_first_rank_writes_the_measures_of_all(ranks, kind):
    folder, (first, second) = ranks
    assert not first[kind]["failed"]
    assert second[kind]["seen"] == []
    assert [step for step, *_ in first[kind]["seen"]] == [0, 2]
    expected = reference(louder(Model(), 1, 60), torch.cat([batch(0), batch(1)]))
    _, measures, _ = first[kind]["seen"][0]
    for name, numbers in expected.items():
        tolerance = 60 * 64 * 2**-24  # scores are 60 times those of the small model
        np.testing.assert_allclose(measures[name], numbers, rtol=tolerance, atol=tolerance)
    history = History.load(folder / kind)
    assert history.all_steps.tolist() == [0, 1, 2]  # the fourth waits for the next observed one
    assert history.steps.tolist() == [0, 2]


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_ranks_train_to_the_same_bits_without_a_monitor(ranks, kind):
    for rank in ranks[1]:
        pairs = zip(rank[kind]["parameters"], rank[f"{kind} alone"], strict=True)
        assert all(torch.equal(ours, alone) for ours, alone in pairs)


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_largest_scores_are_those_of_all_ranks_on_every_rank(ranks, kind):
    _, (first, second) = ranks
    for ours, theirs in zip(first[kind]["scores"], second[kind]["scores"], strict=True):
        assert list(ours) == ["layers.0", "layers.1"]
        assert all(torch.allclose(ours[x], theirs[x], 0, 0, equal_nan=True) for x in ours)
    expected = reference(louder(Model(), 1, 60), torch.cat([batch(0), batch(1)]))["score"][4:]
    found = first[kind]["scores"][0]["layers.1"].numpy()
    loud = expected > 5
    assert loud.any()
    np.testing.assert_allclose(found[loud], expected[loud], rtol=60 * 64 * 2**-24)


@pytest.mark.parametrize("kind", ["failed at first", "failed later"])
def test_a_rank_whose_monitor_fails_holds_up_no_other(ranks, kind):
    _, results = ranks
    assert all(x[kind]["failed"] for x in results)
    assert "those of all ranks stop" in results[0][kind]["notes"][-1]
    observed = [0] if kind == "failed later" else []
    assert [step for step, *_ in results[0][kind]["seen"]] == observed
