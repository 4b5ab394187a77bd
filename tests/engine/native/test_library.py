"""The loader of the native library: levels, switches, and reasons why NumPy serves."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from regard.engine.call import largest_norm
from regard.engine.native import library
from regard.engine.native.compile import FOLDER, RECORD_FILE, fingerprint, library_name
from regard.engine.native.library import levels, using_level
from regard.errors import ArgumentError

AGAIN = "to build the kernels now: python -m regard.engine.native.compile"


@pytest.fixture
def fresh():
    """The loader as at the start of a process, before and after."""

    def clear():
        for cached in (library._bound, library._state, library._library, library._from_environment):
            cached.cache_clear()

    clear()
    yield
    clear()


@pytest.fixture
def elsewhere(fresh, monkeypatch, tmp_path):
    """An empty folder in place of that of the library."""
    monkeypatch.delenv("REGARD_NATIVE", raising=False)
    monkeypatch.delenv("REGARD_NATIVE_LIBRARY", raising=False)
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    return tmp_path


def test_a_level_is_forced_inside_the_block():
    for level in library.levels():
        with library.using_level(level):
            assert library.native_state().level == level
            assert library.function("attend") is not None
    with library.using_level("off"):
        assert library.native_state().level is None
        assert str(library.native_state()) == "NumPy serves: the native kernels are switched off"
        assert library.function("attend") is None


def test_the_best_level_comes_first(fresh, monkeypatch):
    monkeypatch.delenv("REGARD_NATIVE", raising=False)
    if not library.levels():
        pytest.skip(f"no native library: {library.native_state().reason}")
    assert library.native_state().level == library.levels()[0]
    assert str(library.native_state()).startswith(f"{library.levels()[0]} (usable: ")


def test_the_environment_forces_a_level(fresh, monkeypatch):
    monkeypatch.setenv("REGARD_NATIVE", "off")
    assert library.native_state().reason == "the native kernels are switched off"


def test_an_unknown_level_is_refused(fresh, monkeypatch):
    message = "{} must be one of off, baseline, avx2, avx512, neon, simd128, got 'sse'."
    with pytest.raises(ArgumentError, match=message.format("level")), library.using_level("sse"):
        pass
    monkeypatch.setenv("REGARD_NATIVE", "sse")
    with pytest.raises(ArgumentError, match=message.format("REGARD_NATIVE")):
        library.native_state()


def test_a_level_of_another_machine_is_a_reason():
    missing = next(name for name in ("neon", "avx512") if name not in library.levels())
    with library.using_level(missing):
        state = library.native_state()
    assert state.level is None
    if library.levels():
        assert state.reason == f"this machine or library has no level {missing!r}"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "no library was built"),
        ({RECORD_FILE: '{"reason": "there is no C compiler here"}'},
         "at installation there is no C compiler here"),
        ({RECORD_FILE: "[1, 2]"}, "no library was built"),
        ({"_kernels.plan9-mips.so": ""},
         "the library is for another platform (_kernels.plan9-mips.so)"),
    ],
    ids=["nothing", "a reason of the build", "a list as record", "another platform"],
)  # fmt: skip
def test_no_library_is_a_reason(elsewhere, files, reason):
    for name, text in files.items():
        (elsewhere / name).write_text(text, encoding="utf-8")
    assert library.native_state().reason == f"{reason}; {AGAIN}"


CHANGED = (
    "the library is not the one that was built, or incomplete; "
    "to build it again: python -m regard.engine.native.compile"
)


@pytest.mark.parametrize("change", ["cut short", "a flipped bit", "no record", "a list as record"])
def test_a_damaged_library_is_not_loaded(elsewhere, change):
    """One cut short would end the process by SIGBUS."""
    if not (FOLDER / library_name()).exists():
        pytest.skip("no native library")
    content = bytearray((FOLDER / library_name()).read_bytes())
    record = (FOLDER / RECORD_FILE).read_text(encoding="utf-8")
    if change == "cut short":
        del content[len(content) // 2 :]
    elif change == "a flipped bit":
        content[len(content) // 2] ^= 1
    (elsewhere / library_name()).write_bytes(content)
    if change != "no record":
        text = record if "record" not in change else "[]"
        (elsewhere / RECORD_FILE).write_text(text, encoding="utf-8")
    assert library.native_state().reason == CHANGED
    assert str(library.native_state()) == f"NumPy serves: {CHANGED}"


def test_a_broken_library_is_a_reason(elsewhere):
    (elsewhere / library_name()).write_bytes(b"not a library")
    size, crc32 = fingerprint(elsewhere / library_name())
    record = json.dumps({"size": size, "crc32": crc32})
    (elsewhere / RECORD_FILE).write_text(record, encoding="utf-8")
    reason = library.native_state().reason
    assert reason is not None
    assert reason.startswith("the library cannot be loaded: ")


def test_a_library_of_other_sources_is_a_reason(fresh, monkeypatch):
    monkeypatch.delenv("REGARD_NATIVE", raising=False)
    if not library.levels():
        pytest.skip(f"no native library: {library.native_state().reason}")
    library._library.cache_clear()
    library._state.cache_clear()
    monkeypatch.setattr(library, "sources_checksum", lambda: 1)
    assert library.native_state().reason == (
        "the library was built from other sources; "
        "to build it again: python -m regard.engine.native.compile"
    )


def test_loading_imports_nothing_that_only_a_build_needs():
    code = (
        "import sys, numpy; from regard.engine.native.library import native_state; native_state();"
        "print([x for x in ('subprocess', 'tempfile', 'argparse', 'concurrent.futures') "
        "if x in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("width", [1, 3, 16, 33, 64, 100])
def test_squares_equal_those_of_numpy(level, width):
    x = np.random.default_rng(width).standard_normal((2, 5000, width), np.float32)
    expected = (x.astype(np.float64) ** 2).sum(axis=-1)
    with using_level(level):
        largest, total = library.native_squares(x)
    # Up to 100 squares of one sign are summed in float32, 10,000 rows in float64.
    np.testing.assert_allclose(largest, expected.max(), rtol=100 * np.finfo(np.float32).eps)
    np.testing.assert_allclose(total, expected.sum(), rtol=100 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e20])
def test_a_number_beyond_float32_shows_in_both(level, bad):
    x = np.ones((1, 3000, 7), np.float32)
    x[0, 1234, 5] = bad
    with using_level(level):
        results = library.native_squares(x)
        assert not np.isfinite(results).any()
        if np.isfinite(bad):
            np.testing.assert_allclose(largest_norm("query", x), 1e20 * np.sqrt(7), rtol=1e-6)
        else:
            with pytest.raises(ArgumentError, match="query"):
                largest_norm("query", x)


def test_what_it_does_not_serve_is_left_to_numpy():
    x = np.ones((1, 3000, 7), np.float32)
    for other in (x.astype(np.float64), x[:, ::2], x[:, :5], x[..., ::2]):
        assert library.native_squares(other) is None
    with using_level("off"):
        assert library.native_squares(x) is None
