"""The loader of the native library: levels, switches, and reasons why NumPy serves."""

import os
import subprocess
import sys

import pytest

from regard.engine.native import library
from regard.engine.native.compile import RECORD, library_name
from regard.errors import ArgumentError

AGAIN = "to build the kernels now: python -m regard.engine.native.compile"


@pytest.fixture
def fresh():
    """The loader as at the start of a process, before and after."""

    def clear():
        for cached in (
            library._bound,
            library._state_of,
            library._library,
            library._from_environment,
        ):
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
    message = "{} needs one of off, baseline, avx2, avx512, neon, but it is 'sse'."
    with (
        pytest.raises(ArgumentError, match=message.format("level")),
        library.using_level("sse"),
    ):
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


def test_no_library_is_a_reason(elsewhere):
    assert library.native_state().reason == f"no library was built; {AGAIN}"


def test_the_reason_of_the_build_is_repeated(elsewhere):
    (elsewhere / RECORD).write_text('{"reason": "there is no C compiler here"}', encoding="utf-8")
    reason = f"at installation there is no C compiler here; {AGAIN}"
    assert library.native_state().reason == reason


def test_a_library_for_another_platform_is_a_reason(elsewhere):
    (elsewhere / "_kernels.plan9-mips.so").touch()
    reason = f"the library is for another platform (_kernels.plan9-mips.so); {AGAIN}"
    assert library.native_state().reason == reason


def test_a_broken_library_is_a_reason(elsewhere):
    (elsewhere / library_name()).write_bytes(b"not a library")
    reason = library.native_state().reason
    assert reason is not None
    assert reason.startswith("the library cannot be loaded: ")


def test_a_library_of_other_sources_is_a_reason(fresh, monkeypatch):
    monkeypatch.delenv("REGARD_NATIVE", raising=False)
    if not library.levels():
        pytest.skip(f"no native library: {library.native_state().reason}")
    library._library.cache_clear()
    library._state_of.cache_clear()
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
