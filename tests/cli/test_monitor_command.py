"""regard monitor FOLDER and regard open FOLDER."""

import json

import numpy as np
import pytest
from tests.helpers.command_line import command_here as run

from regard.cli.open import trainings_among
from regard.errors import ArgumentError
from regard.monitoring.events import Event
from regard.monitoring.folder import About, FolderWriter, Layer
from regard.monitoring.health import MEASURES

LAYERS = (Layer("decoder", 0, 2, "layers.0"), Layer("decoder", 1, 2, "layers.1"))


@pytest.fixture
def folder(tmp_path):
    writer = FolderWriter(tmp_path / "first")
    writer.begin(About(LAYERS, every=10))
    for at in range(8):
        writer.step(10 * at, 4.0 - at / 2, np.zeros(2))
        table = np.tile(np.array([1, 1, 1, 1 + at], np.float32), (len(MEASURES), 1))
        table[list(MEASURES).index("key_norm")] = np.nan
        writer.observed(10 * at, table)
    event = Event("threshold", 70, "step 70: too \x1b[2J large", [3])
    writer.event("alert", 70, **event.fields())
    event.heads, event.last = [3, 0], 75
    writer.event("alert", 70, **event.fields())
    writer.close()
    return writer.folder


def test_every_measure_over_the_steps_and_the_alerts(folder):
    shown = run("monitor", str(folder))
    assert shown.returncode == 0, shown.stderr
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "loss 4 █▇▆▅▄▃▂▁ 0.5" in lines
    assert "score 1 ▁▂▃▄▅▆▇█ 8 decoder 1.1 8" in lines
    assert "entropy 1 ▁▂▃▄▅▆▇█ 2.75 decoder 1.1 8" in lines
    assert not any(line.startswith("key_norm") for line in lines)
    assert lines[-2:] == ["1 alert:", r"danger: step 70: too \x1b[2J large Over since step 76."]


def test_one_measure_layer_by_layer(folder):
    shown = run("monitor", str(folder), "--measure", "score")
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "decoder 0 1 ▁▁▁▁▁▁▁▁ 1" in lines
    assert "decoder 1 1 ▁▂▃▄▅▆▇█ 8" in lines


def test_all_numbers_as_json(folder):
    data = json.loads(run("monitor", str(folder), "--json").stdout)
    assert data["steps"] == list(range(0, 80, 10))
    assert [row[3] for row in data["measures"]["score"]] == list(range(1, 9))
    assert data["measures"]["key_norm"][0] == [None] * 4


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["elsewhere"], "must be the folder of a monitored training"),
        (["first", "--measure", "joy"], "measure must be one of score"),
    ],
)
def test_errors_are_one_sentence(folder, words, sentence):
    shown = run("monitor", str(folder.parent / words[0]), *words[1:])
    assert shown.returncode != 0
    assert sentence in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr


def test_open_takes_one_training_and_nothing_else(folder):
    assert trainings_among([str(folder)]) == (folder,)
    assert trainings_among(["A dog ate", "x" * 5000, "\0"]) == ()
    with pytest.raises(ArgumentError, match="one folder of a monitored training"):
        trainings_among([str(folder), "dog"])
