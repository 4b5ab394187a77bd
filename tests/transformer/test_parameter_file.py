"""Parameters mapped from their file: as they are on disk, and what the errors say."""

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from regard.engine.int8_matrix import Int8Matrix
from regard.errors import FileError
from regard.transformer.checkpoint import PARAMETERS, load_model, load_parameters
from regard.transformer.parameter_file import map_parameters, map_tensors


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
    start = f"{path} needs to be a safetensors file, but it cannot be read as one ("
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
    with pytest.raises(FileError, match="needs to be a safetensors file, but it cannot be read as"):
        map_tensors(path)
