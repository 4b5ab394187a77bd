"""A file opened without being read holds what the file holds, and says what is wrong with it."""

import json

import numpy as np
import numpy.testing as npt
import pytest

import regard
from regard.engine.files import open_mapped
from regard.errors import FileError

RANDOM = np.random.default_rng(3)
CASES = {
    "causal": {"causal": True},
    "window and softcap": {"window": (3, 2), "softcap": 5.0, "scale": 0.5},
    "mask": {"mask": RANDOM.random((12, 12)) < 0.7},
    "bias": {"mask": RANDOM.normal(size=(12, 12))},
    "lengths": {"lengths": [7, 12]},
}


def saved(path, dtype=np.float32, **arguments):
    query = RANDOM.normal(size=(2, 4, 12, 8)).astype(dtype)
    key = RANDOM.normal(size=(2, 2, 12, 8)).astype(dtype)
    seen = regard.observe(query, key, key, **arguments)
    seen.save(path, query_and_key=True)
    return seen


@pytest.mark.parametrize("arguments", CASES.values(), ids=CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_answers_as_what_was_saved(tmp_path, arguments, dtype):
    seen = saved(tmp_path / "it.regard", dtype, **arguments)
    mapped = open_mapped(tmp_path / "it.regard")
    for name, fact in seen.facts.items():
        npt.assert_array_equal(mapped.facts[name], fact)
    # exp with a shift instead of exp2 without: each rounds its own way, a few units of the last
    # place of a score of at most about 10.
    tolerance = 100 * np.finfo(dtype).eps
    tile = mapped.tile(slice(2, 9), slice(0, 12))
    npt.assert_allclose(tile, seen.tile(slice(2, 9), slice(0, 12)), atol=tolerance)
    assert mapped.profile.first.shape == seen.profile.first.shape


def test_nothing_is_read_before_it_is_looked_at(tmp_path):
    saved(tmp_path / "it.regard", causal=True)
    mapped = open_mapped(tmp_path / "it.regard")
    held = [*mapped.facts.values(), mapped.parts[0].query_hqd, mapped.parts[0].key_gkd]
    assert all(isinstance(_base(array), np.memmap) for array in held)


def _base(array):
    while not isinstance(array, np.memmap):
        array = array.base
    return array


def test_without_query_and_key_the_facts_are_there(tmp_path):
    x = np.eye(4)
    regard.observe(x, x, x).save(tmp_path / "it.regard")
    assert open_mapped(tmp_path / "it.regard").parts == ()


BROKEN = {
    "not there": (None, "is not there."),
    "empty": (b"", "is not a whole .regard file: "),
    "noise": (b"\x05\x00\x00\x00\x00\x00\x00\x00hello" * 4, "is not a whole .regard file: "),
    "another kind": (
        (2).to_bytes(8, "little") + json.dumps({}).encode(),
        "is a safetensors file, but not a .regard one: it has no such header.",
    ),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_explained(tmp_path, broken):
    content, message = broken
    if content is not None:
        (tmp_path / "it.regard").write_bytes(content)
    with pytest.raises(FileError) as caught:
        open_mapped(tmp_path / "it.regard")
    assert message in str(caught.value)


def test_a_file_cut_short_is_explained(tmp_path):
    saved(tmp_path / "it.regard")
    content = (tmp_path / "it.regard").read_bytes()
    (tmp_path / "it.regard").write_bytes(content[:-100])
    with pytest.raises(FileError) as caught:
        open_mapped(tmp_path / "it.regard")
    assert "is not a whole .regard file" in str(caught.value)
