"""Parameters on disk: what comes back, how far rounding moves it, and what the errors say."""

import json

import numpy as np
import pytest

from regard.errors import ArgumentError, FileError, ShapeError
from regard.transformer.checkpoint import (
    DESCRIPTION,
    PARAMETERS,
    check_parameters,
    load_description,
    load_parameters,
    save_model,
)
from regard.transformer.config import Config, output_axis, parameter_shapes, positions

CONFIG = Config(vocabulary=30, layers=2, heads=2, width=8, feed_forward_width=12)


def some_parameters(seed=0):
    rng = np.random.default_rng(seed)
    shapes = parameter_shapes(CONFIG)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def test_names_are_the_designs_words():
    shapes = parameter_shapes(CONFIG)
    assert list(shapes)[:4] == [
        "embedding",
        "encoder.0.self_attention_norm.gain",
        "encoder.0.self_attention_norm.bias",
        "encoder.0.self_attention.w_query",
    ]
    assert shapes["decoder.1.cross_attention.w_output"] == (8, 8)
    assert shapes["decoder.1.feed_forward.w_in"] == (8, 12)
    assert sum(name.endswith("w_query") for name in shapes) == 6


def test_a_model_comes_back_as_it_was_but_for_the_rounding(tmp_path):
    parameters = some_parameters()
    save_model(tmp_path, CONFIG, parameters, {"name": "toy"})
    config, loaded = load_parameters(tmp_path)
    assert config == CONFIG
    assert load_description(tmp_path)["name"] == "toy"
    for name, parameter in parameters.items():
        if parameter.ndim == 1:
            np.testing.assert_array_equal(loaded[name], parameter)
        else:
            step = np.abs(parameter).max(axis=1 - output_axis(name), keepdims=True) / 127
            assert (np.abs(loaded[name] - parameter) <= step * 0.5001).all()


def test_saving_what_was_loaded_changes_nothing(tmp_path):
    save_model(tmp_path / "a", CONFIG, some_parameters(), {})
    save_model(tmp_path / "b", *load_parameters(tmp_path / "a"), {})
    first, second = ((tmp_path / x / PARAMETERS).read_bytes() for x in "ab")
    assert first == second


def test_a_missing_parameter_is_named():
    parameters = some_parameters()
    del parameters["decoder.norm.bias"]
    with pytest.raises(ArgumentError) as error:
        check_parameters(CONFIG, parameters)
    assert str(error.value) == (
        "this config needs 65 parameters, but 1 are missing ['decoder.norm.bias'] and 0 are "
        "unknown []: check that config and parameters belong together."
    )


def test_a_wrong_shape_is_named():
    parameters = some_parameters() | {"embedding": np.zeros((31, 8), np.float32)}
    with pytest.raises(ShapeError) as error:
        check_parameters(CONFIG, parameters)
    assert str(error.value) == (
        "embedding needs shape (30, 8), but its shape is (31, 8): "
        "check that config and parameters belong together."
    )


def test_a_folder_without_a_model_says_what_a_model_is(tmp_path):
    with pytest.raises(FileError) as error:
        load_parameters(tmp_path)
    assert str(error.value) == (
        "a model needs a folder with model.json, parameters.safetensors and tokens.model, but "
        f"{tmp_path} has no model.json: train one with `regard train`."
    )


@pytest.mark.parametrize("name", ["config.json", "a.gguf"])
def test_a_model_of_another_kind_is_shown_by_watch(tmp_path, name):
    path = tmp_path / name
    path.touch()
    folder = path if path.suffix == ".gguf" else tmp_path
    with pytest.raises(FileError) as error:
        load_description(folder)
    assert str(error.value) == (
        "a model needs a folder with model.json, parameters.safetensors and tokens.model, but "
        f"{folder} has no model.json: show another kind of model with `regard watch {folder} TEXT`."
    )


def test_another_format_is_refused(tmp_path):
    (tmp_path / DESCRIPTION).write_text(json.dumps({"format": "other"}), encoding="utf-8")
    with pytest.raises(FileError, match="needs format 'regard transformer 1', but says 'other'"):
        load_description(tmp_path)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"layers": 0}, "layers needs a whole number from 1 up, but it is 0."),
        (
            {"heads": 3, "width": 8},
            "width needs an even multiple of heads, but width is 8 and heads is 3: "
            "choose a width such as 192.",
        ),
    ],
)
def test_sizes_that_make_no_transformer(sizes, message):
    with pytest.raises(ArgumentError) as error:
        Config(vocabulary=10, **sizes)
    assert str(error.value) == message


def test_positions_differ_and_stay_within_one():
    positions_te = positions(256, 64)
    assert np.abs(positions_te).max() <= 1
    assert len(np.unique(positions_te.round(4), axis=0)) == 256
