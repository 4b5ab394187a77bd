"""A file opened without being read holds what the file holds, and says what is wrong with it."""

import numpy as np
import numpy.testing as npt
import pytest

import regard
from regard.engine.files import FileArray, FileReader, open_mapped
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
    arrays = [*mapped.facts.values(), mapped.parts[0].query_hqd, mapped.parts[0].key_gkd]
    assert all(isinstance(array, FileArray) for array in arrays)
    # Cut short after the header, the file opens as before: no number of it has been read.
    reader = arrays[0].reader
    read, reader.read = [], lambda start, size: read.append(size)
    assert mapped._fact_shape("map")[-1] == 12
    assert not read


def test_a_file_that_shrinks_while_it_is_open_is_explained(tmp_path):
    path = tmp_path / "it.regard"
    saved(path, causal=True)
    mapped = open_mapped(path)
    with path.open("rb+") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(FileError) as caught:
        [np.asarray(fact) for fact in mapped.facts.values()]
    assert str(caught.value) == (
        f"{path} has become shorter since it was opened: make it again, and open it again."
    )


def test_a_file_that_is_replaced_while_it_is_open_stays_as_it_was(tmp_path):
    path = tmp_path / "it.regard"
    seen = saved(path, causal=True)
    mapped = open_mapped(path)
    saved(path, causal=False)
    npt.assert_array_equal(mapped.facts["received"], seen.received)


INDICES = [
    0, -1, (1, 2), (slice(1, 3),), (slice(0, 2), slice(1, 4)), (slice(None), 2),
    (0, slice(2, 4), 1),
    (slice(None), np.array([[0, 3], [1, 1]])), (slice(0, 2), None, np.array([2, 0])), ...,
    (..., slice(0, 2)), np.array([2, 0]), (slice(0, 0), 1), (slice(None, None, 2), 1), None,
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_file_array_is_indexed_as_an_ndarray(tmp_path, index):
    array = RANDOM.normal(size=(3, 4, 5))
    (tmp_path / "x").write_bytes(b"12345678" + array.tobytes())
    lazy = FileArray(FileReader(tmp_path / "x"), 8, array.dtype, array.shape)
    npt.assert_array_equal(lazy[index], array[index])
    npt.assert_array_equal(lazy.reshape(-1, 5)[2], array.reshape(-1, 5)[2])
    npt.assert_array_equal(lazy * 2 + lazy, array * 3)
    assert (lazy.max(), len(lazy), lazy.nbytes) == (array.max(), 3, array.nbytes)
    with pytest.raises(IndexError):
        lazy[3]


def test_without_query_and_key_the_facts_are_there(tmp_path):
    x = np.eye(4)
    regard.observe(x, x, x).save(tmp_path / "it.regard")
    assert open_mapped(tmp_path / "it.regard").parts == ()
