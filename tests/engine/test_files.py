"""A saved observation is the same observation; a broken or hostile file gets a sentence."""

import contextlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from regard.engine.files import load, open_mapped
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
    assert (again.cost, again.head_shape, again.queries, again.keys) == (
        seen.cost,
        seen.head_shape,
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
    elif kind == "noise":
        path.write_bytes((b"\x05" + bytes(7) + b"hello") * 4)
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "other safetensors":
        save_file({"x": np.zeros(3)}, path)
    elif kind == "missing":
        path.unlink()
    return path


WORDS = {
    "cut short": "is not a complete .regard file: ",
    "foreign": "is not a complete .regard file: ",
    "noise": "is not a complete .regard file: ",
    "empty": "is not a complete .regard file: ",
    "other safetensors": "must be a .regard file, got a safetensors file without its header.",
    "missing": "No such file: ",
}


@pytest.mark.parametrize("read", [load, open_mapped])
@pytest.mark.parametrize("kind", WORDS)
def test_a_broken_file_gets_a_clear_error(tmp_path, kind: str, read) -> None:
    path = broken_file(tmp_path, kind)
    with pytest.raises(FileError) as error:
        read(path)
    words = WORDS[kind]
    start = f"{words}{path}" if kind == "missing" else f"{path} {words}"
    assert str(error.value).startswith(start)


@pytest.mark.parametrize("shape", [(5, 4), (2, 5, 4)])
def test_arrays_without_axes_keep_their_shape(tmp_path, shape) -> None:
    array = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    seen = observe(array, array, array, lengths=3)
    seen.save(tmp_path / "x.regard", query_and_key=True)
    for again in (load(tmp_path / "x.regard"), open_mapped(tmp_path / "x.regard")):
        assert np.shape(again.profile.first) == shape[:-2]
        np.testing.assert_array_equal(again.received_mean, seen.received_mean)
        np.testing.assert_allclose(again.row(4), seen.row(4), atol=1e-5)
        np.testing.assert_array_equal(again.row(4)[..., 3:], 0)


def test_a_flipped_bit_is_noticed(tmp_path) -> None:
    path = tmp_path / "x.regard"
    observed().save(path, query_and_key=True)
    content = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    for at in np.linspace(start, len(content) - 1, 40).astype(int):
        flipped = bytearray(content)
        flipped[at] ^= 4
        path.write_bytes(flipped)
        with pytest.raises(FileError, match=r"is damaged: the numbers of .* are not those"):
            load(path)
        with pytest.raises(FileError, match=r"is damaged: the numbers of .* are not those"):
            open_mapped(path, verify=True)
        load(path, verify=False)


def test_every_flipped_bit_of_the_header_is_noticed(tmp_path) -> None:
    path = tmp_path / "x.regard"
    observed(window=(3, None), offset=1).save(path, query_and_key=True)
    content = path.read_bytes()
    size = 8 + int.from_bytes(content[:8], "little")
    random = np.random.default_rng(0)
    for at in range(size):
        flipped = bytearray(content)
        flipped[at] ^= 1 << int(random.integers(8))
        path.write_bytes(flipped)
        for read in (load, open_mapped) if at % 16 == 0 else (open_mapped,):
            with pytest.raises(FileError):
                read(path)


def test_a_header_that_says_other_numbers_is_named_as_damaged(tmp_path) -> None:
    path = tmp_path / "x.regard"
    observed(scale=0.25).save(path, query_and_key=True)
    path.write_bytes(path.read_bytes().replace(b"0.25", b"0.35"))
    for read in (load, open_mapped):
        with pytest.raises(FileError) as error:
            read(path)
        assert str(error.value) == (
            f"{path} is damaged: its header is not the one that was saved. Make the file again "
            "with seen.save(...)."
        )


def test_a_file_without_a_checksum_of_its_header_loads(tmp_path) -> None:
    """As earlier versions wrote it."""
    seen, path = observed(causal=True), tmp_path / "x.regard"
    seen.save(path, query_and_key=True)
    header, arrays = parts_of(path)
    save_file(arrays, path, metadata={"regard": json.dumps(header)})
    for read in (load, open_mapped):
        np.testing.assert_array_equal(read(path).received, seen.received)
    with path.open("ab") as file:
        file.write(b"more")
    for read in (load, open_mapped):
        with pytest.raises(FileError, match=r"is not a complete \.regard file"):
            read(path)


def parts_of(path):
    """Header and arrays of a file, without the note that its header has a checksum."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["regard"])
        del header["header_checksum"]
        return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


@pytest.mark.parametrize("mask", [np.zeros((30, 30), ">f4"), np.zeros(30, "f2"), np.ones(30, bool)])
def test_masks_of_any_dtype_come_back(tmp_path, mask) -> None:
    seen = observed(mask=mask)
    seen.save(tmp_path / "x.regard", query_and_key=True)
    np.testing.assert_array_equal(load(tmp_path / "x.regard").row(3), seen.row(3))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a file's size")
def test_a_full_disk_leaves_the_old_file(tmp_path) -> None:
    path = tmp_path / "x.regard"
    observed().save(path)
    before = path.read_bytes()
    code = (
        "import resource, sys, numpy as np, regard; x = np.ones((500, 64), np.float32);"
        "seen = regard.observe(x, x, x); resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))\n"
        "try: seen.save(sys.argv[1])\n"
        "except regard.RegardError as error: print(error)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ended.stdout == f"{path} cannot be written: File too large. Choose another path.\n"
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.regard"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no umask")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_umask_decides_who_may_read(tmp_path, mask, mode) -> None:
    before = os.umask(mask)
    try:
        observed().save(tmp_path / "x.regard")
    finally:
        os.umask(before)
    assert (tmp_path / "x.regard").stat().st_mode & 0o777 == mode


HOSTILE = [None, [], {}, "", "x", -1, 1.5, True, [[]], {"x": 1}, [None], 10**30, [1, 2, 3]]


def _paths(value, path=()):
    """The path of every field of a header, inner fields too."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def _changed(header: dict, path: tuple, value) -> dict:
    """The header with one field replaced, or removed where the value is ``...``."""
    changed = json.loads(json.dumps(header))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


def test_a_hostile_header_is_refused_or_harmless(tmp_path) -> None:
    """Whatever stands in a field, there is a FileError or an observation that can be read."""
    path = tmp_path / "x.regard"
    observed(window=(3, None), offset=1, top=0).save(path, query_and_key=True)
    header, arrays = parts_of(path)
    for field in _paths(header):
        for value in (*HOSTILE, ...):
            changed = json.dumps(_changed(header, field, value))
            save_file(arrays, path, metadata={"regard": changed})
            for read in (load, open_mapped):
                with contextlib.suppress(FileError):
                    str(read(path))


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", "null", "3", '"x"', "{", "[]"])
def test_hostile_json_is_refused(tmp_path, text: str) -> None:
    path = tmp_path / "x.regard"
    save_file({"logsumexp": np.zeros((2, 3))}, path, metadata={"regard": text})
    for read in (load, open_mapped):
        with pytest.raises(FileError):
            read(path)
