"""Two models are mixed parameter by parameter, and rounded once."""

import numpy as np
import pytest

from mix import main, mix
from regard.errors import ArgumentError
from regard.transformer.checkpoint import PARAMETERS, load_description, load_parameters, save_model
from regard.transformer.config import Config, random_parameters

CONFIG = Config(vocabulary=300, layers=1, heads=2, width=16, feed_forward_width=32, max_length=32)
ABOUT = {"name": "tiny", "source": "English", "target": "French"}


@pytest.fixture
def two(tmp_path):
    folders = [tmp_path / name for name in ("one", "other")]
    for seed, folder in enumerate(folders):
        save_model(folder, CONFIG, random_parameters(CONFIG, seed), {**ABOUT, "seed": seed})
    return folders


def test_every_parameter_is_mixed_and_rounded_once(two, tmp_path):
    mix(*two, 0.75, tmp_path / "mixed")
    (_, one), (_, other), (_, mixed) = (load_parameters(x) for x in (*two, tmp_path / "mixed"))
    for name, x in mixed.items():
        expected = np.float32(0.75) * one[name] + np.float32(0.25) * other[name]
        # int8 has 127 steps up to the largest of an output; rounding is off by half a step.
        assert np.abs(x - expected).max() <= 0.502 * np.abs(expected).max() / 127, name
    parts = load_description(tmp_path / "mixed")["mixed"]
    assert [(x["share"], x["seed"]) for x in parts] == [(0.75, 0), (0.25, 1)]
    assert parts[0]["checksum"] == load_description(two[0])["checksum"]


@pytest.mark.parametrize(("share", "same_as"), [(1, 0), (0, 1)])
def test_all_of_one_is_that_one_byte_for_byte(two, tmp_path, share, same_as):
    assert main([*map(str, two), "--share", str(share), "--out", str(tmp_path / "mixed")]) == 0
    expected = (two[same_as] / PARAMETERS).read_bytes()
    assert (tmp_path / "mixed" / PARAMETERS).read_bytes() == expected


def test_other_sizes_and_shares_are_refused(two, tmp_path, capsys):
    wider = Config(
        vocabulary=300, layers=1, heads=2, width=32, feed_forward_width=32, max_length=32
    )
    save_model(tmp_path / "wide", wider, random_parameters(wider, 0), {**ABOUT, "seed": 0})
    with pytest.raises(ArgumentError, match="same sizes"):
        mix(two[0], tmp_path / "wide", 0.5, tmp_path / "mixed")
    assert main([*map(str, two), "--share", "1.5", "--out", str(tmp_path / "mixed")]) == 1
    assert "share must be from 0 to 1" in capsys.readouterr().err
    assert not (tmp_path / "mixed").exists()
