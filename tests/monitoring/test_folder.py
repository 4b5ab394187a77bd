"""The folder of a training: appended to, torn, killed, gone on from."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from tests.helpers.small_training import Attention, Model, Training, batch, louder

import regard
from regard.errors import ArgumentError, FileError
from regard.monitoring.folder import EVENTS, OBSERVED, STEPS, History
from regard.view.terminal.monitor import summary


def train(folder, steps, model=None, **options):
    training = Training(model or louder(Model(), 1, 60))
    options = {"every": 2, "threshold": 5.0, "on_alert": "log", "on_error": "raise"} | options
    with regard.monitor(training.model, to=folder, **options) as monitor:
        for _ in range(steps):
            training.step(batch(monitor.step))


def test_a_resumed_training_goes_on_in_its_folder(tmp_path):
    train(tmp_path, 3)
    train(tmp_path, 3)
    history = History.load(tmp_path)
    assert history.all_steps.tolist() == list(range(6))
    # Step 3 is observed too: a monitor looks at its first step to find the layers.
    assert history.steps.tolist() == [0, 2, 3, 4]
    assert [x["step"] for x in history.events if x["kind"] == "resumed"] == [2]


def test_settings_that_changed_since_the_training_before_are_told(tmp_path):
    train(tmp_path, 2, model=Model())
    train(tmp_path, 1, model=Model())
    assert History.load(tmp_path).alerts == []
    train(tmp_path, 1, model=Model().double())
    (event,) = History.load(tmp_path).alerts
    assert (event["rule"], event["first"]) == ("settings", 3)
    assert "dtype was float32 in 2 of 2 layers, is float64" in event["line"]


def test_forged_events_and_settings_are_read_as_far_as_they_are_sound(tmp_path):
    train(tmp_path, 2)
    (event,) = History.load(tmp_path).alerts
    forged = event | {"last": ["x"], "heads": [0, -1, 99, "a", 10**9], "severity": "\x1b[2J"}
    settings = [[[["causal"], {}, None, "float32", None]], "x", [["causal", 0.5, None, "f"]]]
    with (tmp_path / EVENTS).open("a") as file:
        file.write(json.dumps(forged) + "\n")
        file.write(json.dumps({"kind": "settings", "step": 1, "layers": settings}) + "\n")
    (read,) = History.load(tmp_path).alerts
    assert (read["last"], read["heads"]) == (None, [0])
    assert "\x1b" not in summary(History.load(tmp_path))
    train(tmp_path, 1)  # what is known of settings is read again, none of it is sound
    assert [x["rule"] for x in History.load(tmp_path).alerts] == ["threshold"] * 2


def test_steps_that_are_run_again_count_once(tmp_path):
    train(tmp_path, 4)
    before = History.load(tmp_path)
    train(tmp_path, 4, model=louder(Model(), 1, 30), step=2)
    history = History.load(tmp_path)
    assert history.all_steps.tolist() == list(range(6))
    assert np.array_equal(history["score"][0], before["score"][0])
    assert not np.array_equal(history["score"][1], before["score"][1])


@pytest.mark.parametrize("name", [OBSERVED, STEPS, EVENTS])
@pytest.mark.parametrize("left", [1, 5])
def test_a_torn_last_record_is_dropped_and_writing_goes_on(tmp_path, name, left):
    train(tmp_path, 3)
    before, path = History.load(tmp_path), tmp_path / name
    whole = path.read_bytes()
    size = len(whole.splitlines(keepends=True)[-1]) if name == EVENTS else None
    size = size or before.about.records[name].itemsize
    os.truncate(path, len(whole) - size + left)
    torn = History.load(tmp_path)
    counts = (len(torn.steps), len(torn.all_steps), len(torn.events))
    full = (len(before.steps), len(before.all_steps), len(before.events))
    assert sum(full) - sum(counts) == 1
    train(tmp_path, 4, threshold=4.0, step=3)
    after = History.load(tmp_path)
    assert after.all_steps[-1] == 6
    assert np.isfinite(after["entropy"]).all()
    assert len(after.events) > len(torn.events)
    for line in (tmp_path / EVENTS).read_text().splitlines()[-2:]:
        json.loads(line)
    resumed = [x for x in after.events if x["kind"] == "resumed"]
    assert len(resumed) == 1


KILLED = """
import sys
from tests.helpers.small_training import Model, Training, batch
import regard
training = Training(Model())
monitor = regard.monitor(training.model, every=2, to=sys.argv[1], on_error="raise")
for number in range(10**6):
    training.step(batch(number))
    if number == 20:
        print("killed from here on", flush=True)
"""


def test_kill_9_loses_the_last_step_at_most(tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "killed from here on\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    history = History.load(tmp_path)
    steps = history.all_steps
    assert steps[-1] >= 20
    assert steps.tolist() == list(range(len(steps)))
    assert steps[-1] - history.steps[-1] <= 2
    assert np.isfinite(history["entropy"]).all()


def test_another_model_is_refused_a_folder_that_has_one(tmp_path):
    train(tmp_path, 1)
    with pytest.raises(ArgumentError) as error:
        train(tmp_path, 1, model=Model(layers=3))
    assert str(error.value) == (
        f"to must be a new folder for another model, got {str(tmp_path)!r}: it has no more, the "
        "model decoder layer 2 of 4 heads at 'layers.2'."
    )


@pytest.mark.parametrize("ended", ["closed", "killed"])
@pytest.mark.parametrize("name", [OBSERVED, STEPS])
def test_a_data_file_that_is_cut_is_told(tmp_path, name, ended):
    train(tmp_path, 7)
    whole, path = History.load(tmp_path), tmp_path / name
    if ended == "killed":
        events = (tmp_path / EVENTS).read_text().splitlines(keepends=True)
        (tmp_path / EVENTS).write_text("".join(x for x in events if '"closed"' not in x))
    assert whole.missing == History.load(tmp_path).missing == 0
    content, about = path.read_bytes(), whole.about
    size = about.records[name].itemsize
    for kept in range(len(content) // size):
        path.write_bytes(content[: kept * size + size // 2 * (kept % 2)])
        cut = History.load(tmp_path)
        lost = len(content) // size - kept
        if name == OBSERVED:  # of steps 0, 2, 4, 6; the last may be on its way when one is killed
            assert cut.missing == (lost if ended == "closed" else lost - 1)
        elif ended == "closed":
            assert cut.missing == lost
        else:  # steps of which an observation is left
            assert cut.missing == len([x for x in (0, 2, 4, 6) if x >= kept])
        if cut.missing:
            assert f"Missing: at least {cut.missing} record" in " ".join(summary(cut).split())


def test_a_training_that_went_on_with_other_steps_between_observations_lacks_nothing(tmp_path):
    train(tmp_path, 5, every=4)
    train(tmp_path, 5, every=1)
    assert History.load(tmp_path).missing == 0


@pytest.mark.parametrize("name", [OBSERVED, STEPS])
def test_a_changed_bit_leaves_its_record_out(tmp_path, name):
    train(tmp_path, 5)
    whole = History.load(tmp_path)
    content = (tmp_path / name).read_bytes()
    records = len(whole.steps) if name == OBSERVED else len(whole.all_steps)
    size = len(content) // records
    for at in range(size, 2 * size):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        (tmp_path / name).write_bytes(changed)
        history = History.load(tmp_path)
        assert history.damaged == 1
        assert len(history.steps) + len(history.all_steps) == (
            len(whole.steps) + len(whole.all_steps) - 1
        )
    (tmp_path / name).write_bytes(content + bytes(size))  # a file system's zeros after a crash
    assert History.load(tmp_path).damaged == 1


def test_a_record_written_in_part_is_a_full_disk(tmp_path, monkeypatch):
    train(tmp_path, 1)
    monkeypatch.setattr(os, "write", lambda file, data: len(data) - 1)
    with pytest.raises(OSError, match="No space left on device"):
        train(tmp_path, 1)


def test_a_folder_that_is_none_is_named(tmp_path):
    with pytest.raises(FileError, match=r"must be the folder of a monitored training"):
        History.load(tmp_path)


def test_curves_by_layer_and_head(tmp_path):
    train(tmp_path, 3, model=Model(Attention))
    history = History.load(tmp_path)
    assert np.array_equal(history.curve("entropy", 1, 2), history["entropy"][:, 6])
    with pytest.raises(ArgumentError, match="head must be 0-3, got 4"):
        history.curve("entropy", 0, 4)
    with pytest.raises(ArgumentError, match="measure must be one of"):
        history["joy"]
    table = history.to_pandas()
    row = table[(table.step == 2) & (table.layer == 1) & (table["head"] == 2)]
    assert row.entropy.item() == history.curve("entropy", 1, 2)[1]
