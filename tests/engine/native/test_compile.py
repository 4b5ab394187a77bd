"""The build of the native kernels: with a compiler, without one, and with one that fails."""

import ctypes
import json
import platform
import runpy
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from regard.engine.native import compile as build

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler here"
)


def test_without_a_compiler_the_reason_is_recorded(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", "no-such-compiler")
    outcome = build.build(tmp_path)
    reason = "the C compiler named by CC, 'no-such-compiler', is not installed"
    assert outcome == build.Outcome(reason=reason)
    record = json.loads((tmp_path / build.RECORD_FILE).read_text(encoding="utf-8"))
    assert record == vars(build.Outcome(reason=reason))


def test_where_nothing_is_installed_the_reason_names_what_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    names = "clang, gcc" if platform.system() == "Windows" else "cc, gcc, clang"
    assert build.build(tmp_path).reason == f"there is no C compiler here ({names})"


@pytest.mark.skipif(not Path("/bin/false").exists(), reason="there is no /bin/false here")
def test_a_compiler_that_fails_leaves_the_earlier_library(monkeypatch, tmp_path):
    earlier = {build.library_name(): b"of an earlier build", build.RECORD_FILE: b"its record"}
    for name, content in earlier.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setenv("CC", "/bin/false")
    outcome = build.build(tmp_path)
    assert outcome.reason == "the C compiler '/bin/false' failed: no message"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == earlier
    command = [sys.executable, build.__file__, "--folder", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (
        1,
        "The kernels were not built again, and the earlier ones stay: the C compiler '/bin/false' "
        "failed: no message.\n",
    )


def test_a_folder_that_cannot_be_written_is_a_reason(monkeypatch, tmp_path):
    def refuse(path, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(build, "compile_library", refuse)
    monkeypatch.setattr(Path, "write_text", refuse)
    outcome = build.build(tmp_path)
    assert "Permission denied" in outcome.reason
    file = tmp_path / "file"
    file.touch()
    command = [sys.executable, build.__file__, "--folder", str(file / "folder")]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr.startswith("No native kernels, NumPy will serve: ")
    assert "Traceback" not in ended.stderr


def test_a_blank_compiler_counts_as_none_named(monkeypatch):
    monkeypatch.setenv("CC", " ")
    monkeypatch.setattr(shutil, "which", lambda name: name)
    assert build.find_compiler() in ("cc", "clang")


@needs_compiler
def test_a_compile_error_is_the_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "COMPILER_FLAGS", [*build.COMPILER_FLAGS, "-Dregard_supports=1"])
    monkeypatch.setattr(build, "KERNEL_SOURCES", ())
    monkeypatch.setattr(build, "COMMON_SOURCES", ("levels.c",))
    monkeypatch.delenv("CC", raising=False)
    reason = build.build(tmp_path).reason
    assert reason is not None
    assert reason.startswith("the C compiler ")
    assert "error" in reason


@needs_compiler
def test_the_build_makes_a_library_of_these_sources_without_warnings(tmp_path):
    command = [sys.executable, build.__file__, "--strict", "--folder", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    record = json.loads((tmp_path / build.RECORD_FILE).read_text(encoding="utf-8"))
    made = build.fingerprint(tmp_path / build.library_name())
    assert (record["size"], record["crc32"]) == made
    library = ctypes.CDLL(str(tmp_path / build.library_name()))
    library.regard_sources.restype = ctypes.c_uint32
    assert library.regard_sources() == build.sources_checksum()
    for level in build.architecture_levels(build.architecture()):
        assert hasattr(library, f"regard_attend_{level}")
    assert not library.regard_supports(b"no such level")


def test_the_checksum_is_that_of_the_sources_whatever_the_line_ends(tmp_path):
    for path in (*build.FOLDER.glob("*.c"), *build.FOLDER.glob("*.h")):
        (tmp_path / path.name).write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert build.sources_checksum(tmp_path) == build.sources_checksum()
    (tmp_path / "threads.h").write_text("other", encoding="utf-8")
    assert build.sources_checksum(tmp_path) != build.sources_checksum()


def test_the_platform_of_a_wheel_has_no_python_version_in_it():
    tag = build.platform_tag()
    assert set(tag) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")
    assert "universal2" not in tag


HOOK = Path(__file__).parents[3] / "hatch_build.py"


@pytest.fixture
def hook(monkeypatch):
    """The build backend's hook for a wheel, with a stand-in for the backend."""
    if not HOOK.exists():
        pytest.skip("these tests run without the sources of the package")
    interfaces = {
        "hatchling.builders.hooks.plugin.interface": "BuildHookInterface",
        "hatchling.metadata.plugin.interface": "MetadataHookInterface",
    }
    for path, name in interfaces.items():
        parts = path.split(".")
        for end in range(1, len(parts) + 1):
            package = ".".join(parts[:end])
            monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
        monkeypatch.setattr(sys.modules[path], name, object, raising=False)
    made = runpy.run_path(str(HOOK))["NativeKernels"]()
    made.target_name, made.root, made.warnings = "wheel", str(HOOK.parent), []
    made.app = types.SimpleNamespace(display_warning=made.warnings.append)
    return made


def test_the_hook_goes_on_without_a_compiler(hook, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    data = {"force_include": {}}
    hook.initialize("standard", data)
    assert list(data["force_include"].values()) == [f"regard/engine/native/{build.RECORD_FILE}"]
    assert "tag" not in data
    assert hook.warnings == [
        "No native kernels, NumPy will serve: the C compiler named by CC, 'no-such-compiler', is "
        "not installed."
    ]
    hook.finalize("standard", data, "")
    assert not any(Path(path).exists() for path in data["force_include"])


def test_the_hook_puts_the_library_into_a_wheel_for_the_platform(hook, monkeypatch):
    def compile_nothing(target, **options):
        target.write_bytes(b"")
        return "a compiler"

    loaded = {}
    load = hook.initialize.__globals__["_load_build"]

    def load_and_replace(path):
        loaded["build"] = load(path)
        loaded["build"].compile_library = compile_nothing
        return loaded["build"]

    monkeypatch.setitem(hook.initialize.__globals__, "_load_build", load_and_replace)
    data = {"force_include": {}}
    hook.initialize("standard", data)
    assert data["tag"] == f"py3-none-{build.platform_tag()}"
    assert data["pure_python"] is False
    assert sorted(data["force_include"].values()) == [
        f"regard/engine/native/{build.RECORD_FILE}",
        f"regard/engine/native/{build.library_name()}",
    ]
    hook.finalize("standard", data, "")


def test_the_hook_leaves_a_source_archive_alone(hook):
    hook.target_name = "sdist"
    data = {"force_include": {}}
    hook.initialize("standard", data)
    assert data == {"force_include": {}}
