"""A saved observation is the same observation; a broken file is told apart from a whole one."""

import numpy as np
import pytest
from safetensors.numpy import save_file

from regard.engine.files import load
from regard.engine.observation import Observation
from regard.engine.observe import observe
from regard.errors import FileError, NotAskedError


def observed(dtype: type = np.float32, **arguments) -> Observation:
    random = np.random.default_rng(0)
    query = random.standard_normal((2, 4, 30, 8)).astype(dtype)
    key, value = (random.standard_normal((2, 2, 30, 8)).astype(dtype) for _ in range(2))
    return observe(query, key, value, map=6, **arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_fact_comes_back_to_the_bit(tmp_path, dtype: type) -> None:
    seen = observed(dtype, causal=True)
    seen.save(tmp_path / "x.regard")
    again = load(tmp_path / "x.regard")
    assert again.facts.keys() == seen.facts.keys()
    for name, fact in seen.facts.items():
        np.testing.assert_array_equal(again.facts[name], fact)
        assert again.facts[name].dtype == fact.dtype
    np.testing.assert_array_equal(again.profile.weight, seen.profile.weight)
    assert (again.cost, again.leading, again.queries, again.keys) == (
        seen.cost,
        seen.leading,
        seen.queries,
        seen.keys,
    )
    assert str(again) == str(seen)


ARGUMENTS = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"window": (3, None), "offset": 1},
    "softcap": {"softcap": 5.0, "scale": 0.2},
    "lengths": {"lengths": np.array([7, 30])},
    "bool mask": {"mask": np.tri(30, dtype=bool)},
    "float mask": {"mask": np.where(np.tri(30), 0.5, -np.inf)},
}


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_tiles_and_rows_work_after_loading(tmp_path, arguments: dict) -> None:
    seen = observed(**arguments)
    seen.save(tmp_path / "x.regard", query_and_key=True)
    again = load(tmp_path / "x.regard")
    np.testing.assert_array_equal(
        again.tile(slice(2, 9), slice(None)), seen.tile(slice(2, 9), slice(None))
    )
    np.testing.assert_array_equal(again.row(29, head=(1, 3)), seen.row(29, head=(1, 3)))
    np.testing.assert_array_equal(again.received_mean, seen.received_mean)


def test_statistics_alone_are_small_and_have_no_tiles(tmp_path) -> None:
    observed().save(tmp_path / "small.regard")
    observed().save(tmp_path / "large.regard", query_and_key=True)
    assert (tmp_path / "small.regard").stat().st_size < (tmp_path / "large.regard").stat().st_size
    with pytest.raises(NotAskedError) as error:
        load(tmp_path / "small.regard").row(0)
    assert str(error.value) == (
        "tile needs query and key, and this observation does not hold them: "
        "save it with query_and_key=True."
    )


def test_a_mask_that_is_a_function_cannot_be_saved_for_tiles(tmp_path) -> None:
    seen = observed(mask=lambda query, key: key <= query)
    seen.save(tmp_path / "facts.regard")
    with pytest.raises(FileError, match="their mask is a function, which no file can hold"):
        seen.save(tmp_path / "x.regard", query_and_key=True)
    assert not (tmp_path / "x.regard").exists()


def broken_file(tmp_path, kind: str):
    path = tmp_path / f"{kind}.regard"
    observed().save(path)
    if kind == "cut short":
        path.write_bytes(path.read_bytes()[:-100])
    elif kind == "foreign":
        path.write_text("not a regard file at all")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "other safetensors":
        save_file({"x": np.zeros(3)}, path)
    elif kind == "missing":
        path.unlink()
    return path


WORDS = {
    "cut short": "is not a whole .regard file: ",
    "foreign": "is not a whole .regard file: ",
    "empty": "is not a whole .regard file: ",
    "other safetensors": "is a safetensors file, but not a .regard one: it has no such header.",
    "missing": "is not there.",
}


@pytest.mark.parametrize("kind", WORDS)
def test_a_broken_file_gets_a_clear_error(tmp_path, kind: str) -> None:
    path = broken_file(tmp_path, kind)
    with pytest.raises(FileError) as error:
        load(path)
    assert str(error.value).startswith(f"{path} {WORDS[kind]}")
