"""Parameters on disk: what comes back, how far rounding moves it, and what the errors say."""

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from regard.engine.int8_matrix import Int8Matrix
from regard.errors import ArgumentError, FileError, ShapeError
from regard.transformer.checkpoint import (
    DESCRIPTION,
    PARAMETERS,
    SHIPPED,
    check_parameters,
    load_description,
    load_model,
    load_parameters,
    map_parameters,
    map_tensors,
    save_model,
)
from regard.transformer.config import Config, output_axis, parameter_shapes, positions
from regard.transformer.model import Transformer

CONFIG = Config(vocabulary=30, layers=2, heads=2, width=8, feed_forward_width=12)


def some_parameters(seed=0):
    rng = np.random.default_rng(seed)
    shapes = parameter_shapes(CONFIG)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def test_parameter_names():
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
        "parameters must be the 65 of this config, got 1 missing ['decoder.norm.bias'] and 0 "
        "unknown []: check that config and parameters belong together."
    )


def test_a_wrong_shape_is_named():
    parameters = some_parameters() | {"embedding": np.zeros((31, 8), np.float32)}
    with pytest.raises(ShapeError) as error:
        check_parameters(CONFIG, parameters)
    assert str(error.value) == (
        "embedding must have shape (30, 8), got (31, 8): "
        "check that config and parameters belong together."
    )


def test_a_folder_without_a_model_says_what_a_model_is(tmp_path):
    with pytest.raises(FileError) as error:
        load_parameters(tmp_path)
    assert str(error.value) == (
        "a model must be a folder with model.json, parameters.safetensors and tokens.txt, got "
        f"{tmp_path} without model.json: train one with model/train of the repository."
    )


@pytest.mark.parametrize("name", ["config.json", "a.gguf"])
def test_a_model_of_another_kind_is_shown_by_watch(tmp_path, name):
    path = tmp_path / name
    path.touch()
    folder = path if path.suffix == ".gguf" else tmp_path
    with pytest.raises(FileError) as error:
        load_description(folder)
    assert str(error.value) == (
        "a model must be a folder with model.json, parameters.safetensors and tokens.txt, got "
        f"{folder} without model.json: show another kind of model with "
        f"`regard watch {folder} TEXT`."
    )


def test_another_format_is_refused(tmp_path):
    (tmp_path / DESCRIPTION).write_text(json.dumps({"format": "other"}), encoding="utf-8")
    with pytest.raises(FileError, match="must have format 'regard transformer 1', got 'other'"):
        load_description(tmp_path)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"layers": 0}, "layers must be a whole number from 1 up, got 0."),
        (
            {"heads": 3, "width": 8},
            "width must be an even multiple of heads, got width 8 and heads 3: "
            "choose a width such as 192.",
        ),
    ],
)
def test_sizes_that_make_no_transformer(sizes, message):
    with pytest.raises(ArgumentError) as error:
        Config(vocabulary=10, **sizes)
    assert str(error.value) == message


def copied(folder, place):
    for path in folder.iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    return place


def test_a_changed_bit_anywhere_in_the_parameters_is_noticed(folder, tmp_path):
    path = copied(folder, tmp_path) / PARAMETERS
    whole = path.read_bytes()
    places = np.random.default_rng(0).integers(0, 8 * len(whole), 300)
    for place in (0, 8 * len(whole) - 1, *places.tolist()):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        path.write_bytes(data)
        with pytest.raises(FileError):
            load_model(tmp_path)
    path.write_bytes(whole)
    assert load_model(tmp_path).config.layers == 3


@pytest.mark.parametrize(
    ("size", "other"), [('"max_length": 256', '"max_length": 255'), ('"layers": 3', '"layers": 2')]
)
def test_changed_sizes_are_noticed(folder, tmp_path, size, other):
    path = copied(folder, tmp_path) / DESCRIPTION
    path.write_text(path.read_text(encoding="utf-8").replace(size, other), encoding="utf-8")
    with pytest.raises(FileError) as error:
        load_model(tmp_path)
    expected = load_description(folder)["checksum"]
    start = f"{tmp_path / PARAMETERS} must have the checksum {expected} that model.json gives, got "
    assert str(error.value).startswith(start)
    assert str(error.value).endswith(
        "one of the two is damaged or of another model; copy or export the model again."
    )


def test_a_model_of_an_earlier_version_has_no_checksum(folder, tmp_path):
    path = copied(folder, tmp_path) / DESCRIPTION
    description = json.loads(path.read_text(encoding="utf-8"))
    del description["checksum"]
    path.write_text(json.dumps(description), encoding="utf-8")
    assert load_model(tmp_path).config == load_model(folder).config


def test_int8_numbers_without_their_scale_are_refused(folder, tmp_path):
    tensors = load_file(folder / PARAMETERS)
    del tensors["encoder.1.feed_forward.w_in.scale"]
    save_file(tensors, tmp_path / PARAMETERS)
    with pytest.raises(FileError) as error:
        map_parameters(tmp_path / PARAMETERS, load_parameters(folder)[0])
    assert str(error.value) == (
        "the parameters must have encoder.1.feed_forward.w_in.scale as float32 (48,), got none: "
        "check that the description and the parameters belong together."
    )


def test_a_scale_of_numbers_that_are_not_int8_is_refused(folder, tmp_path):
    tensors = load_file(folder / PARAMETERS)
    tensors["embedding"] = tensors["embedding"].astype(np.float32)
    save_file(tensors, tmp_path / PARAMETERS)
    with pytest.raises(FileError, match=r"must have embedding as int8 \(340, 32\), got float32"):
        map_parameters(tmp_path / PARAMETERS, load_parameters(folder)[0])


def test_a_billion_layers_are_refused_before_anything_is_allocated(folder, tmp_path):
    path = copied(folder, tmp_path) / DESCRIPTION
    text = path.read_text(encoding="utf-8").replace('"layers": 3', '"layers": 1000000000')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"\(layers must be at most 1,000, got 1,000,000,000\)"):
        load_model(tmp_path)


@pytest.mark.parametrize("name", ["encoder.0.self_attention.w_key.scale", "decoder.norm.bias"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_parameters_that_are_not_finite_are_refused(folder, tmp_path, name, number):
    tensors = load_file(folder / PARAMETERS)
    tensors[name][5] = number
    save_file(tensors, tmp_path / PARAMETERS)
    config, _ = load_parameters(folder)
    parameters, model = map_parameters(tmp_path / PARAMETERS, config), load_model(folder)
    with pytest.raises(ArgumentError) as error:
        Transformer.from_parameters(config, parameters, model.tokenizer, {})
    assert str(error.value) == (
        f"the parameters must be finite, got NaN or infinity in {name.removesuffix('.scale')}: "
        "copy or export the model again."
    )


@pytest.mark.skipif(
    not (SHIPPED / PARAMETERS).is_file(), reason="this checkout has no shipped parameters"
)
def test_the_shipped_model_has_a_checksum():
    assert len(load_description(SHIPPED)["checksum"]) == 8


def test_positions_differ_and_stay_within_one():
    positions_te = positions(256, 64)
    assert np.abs(positions_te).max() <= 1
    assert len(np.unique(positions_te.round(4), axis=0)) == 256


def test_tensors_are_those_that_safetensors_reads(folder):
    expected, mapped = load_file(folder / PARAMETERS), map_tensors(folder / PARAMETERS)
    assert mapped.keys() == expected.keys()
    for name, array in mapped.items():
        np.testing.assert_array_equal(array, expected[name])
        assert (array.dtype, array.flags.writeable) == (expected[name].dtype, False)


def test_matrices_stay_int8(folder):
    model = load_model(folder)
    assert isinstance(model.embedding_ve, Int8Matrix)
    attention = model.decoders[0].cross_attention
    for matrix in (attention.w_qkv, attention.w_output, model.encoders[0].feed_forward.w_in):
        assert isinstance(matrix, Int8Matrix)
    for block in attention.w_qkv.blocks:
        assert block.values_ef.base is not None  # a view of the file


def test_a_file_that_takes_the_name_changes_nothing(folder, tmp_path):
    path = tmp_path / PARAMETERS
    path.write_bytes((folder / PARAMETERS).read_bytes())
    config, parameters = load_parameters(folder)
    mapped = map_parameters(path, config)
    other = tmp_path / "other"
    save_file({"x": np.zeros(3, np.float32)}, other)
    other.replace(path)
    np.testing.assert_array_equal(mapped["embedding"], parameters["embedding"])


def entry(dtype, shape, first, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [first, end]}


def written(path, header, data=bytes(16)):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_numbers_at_any_address_are_read(tmp_path):
    data = b"\x07" + np.array([1.5, -2], "<f4").tobytes()
    header = {"a": entry("I8", [1], 0, 1), "b": entry("F32", [2], 1, 9)}
    for spaces in range(4):
        path = written(tmp_path / "x", header | {"__metadata__": {"": " " * spaces}}, data)
        mapped = map_tensors(path)
        assert mapped["a"].tolist() == [7]
        assert mapped["b"].tolist() == [1.5, -2.0]
        assert mapped["b"].flags.aligned


BROKEN = {
    "empty": b"",
    "short": b"\x01\x02",
    "no header": b"\xff" * 40,
    "no object": struct.pack("<Q", 2) + b"[]",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_no_safetensors_is_refused(tmp_path, data):
    path = tmp_path / PARAMETERS
    path.write_bytes(data)
    with pytest.raises(FileError) as error:
        map_tensors(path)
    start = f"{path} must be a safetensors file, and cannot be read as one ("
    assert str(error.value).startswith(start)
    assert str(error.value).endswith("): copy or export the model again.")


ENTRIES = {
    "past the end": entry("F32", [2], 12, 20),
    "before the start": entry("I8", [2], -4, -2),
    "backwards": entry("I8", [2], 4, 2),
    "another size": entry("F32", [3], 0, 8),
    "another dtype": entry("F16", [2], 0, 4),
    "no offsets": {"dtype": "F32", "shape": [2]},
    "offsets of one": {"dtype": "F32", "shape": [2], "data_offsets": [3]},
    "text": "F32",
}


@pytest.mark.parametrize("value", ENTRIES.values(), ids=ENTRIES)
def test_an_entry_that_does_not_fit_is_refused(tmp_path, value):
    path = written(tmp_path / PARAMETERS, {"x": value})
    with pytest.raises(FileError, match="must be a safetensors file, and cannot be read as"):
        map_tensors(path)
