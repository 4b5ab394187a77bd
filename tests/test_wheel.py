"""Contents and size of the wheel: the package with its model, and nothing of how it was made."""

import io
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "regard"
FOLDERS = {"text", "textbook", "engine", "heads", "experiments", "transformer", "watcher",
           "judging", "monitoring", "checker", "corpus", "view", "cli"}  # fmt: skip
SUFFIXES = {".py", ".typed", ".c", ".h", ".cu", ".cuh", ".html", ".js", ".mjs", ".css", ".ts",
            ".svg", ".woff2", ".json", ".txt", ".safetensors"}  # fmt: skip
SHIPPED = {
    "parameters.safetensors", "tokens.txt", "model.json", "heads.json", "nouns.txt", "words.txt",
}  # fmt: skip
MAX_BYTES = 40_000_000


@pytest.fixture(scope="module")
def contents() -> list[Path]:
    """The files that hatch packs: those of the package that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src/regard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("this is no git checkout, so what is ignored is not known")
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]


def test_the_wheel_is_the_package_and_nothing_else():
    """The other tests list the package: no rule of the build may add files to it."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"][
        "build"
    ]
    assert set(build) == {"targets"}
    assert set(build["targets"]["wheel"]) == {"packages", "hooks"}
    assert build["targets"]["wheel"]["packages"] == ["src/regard"]


def test_what_made_the_model_is_not_in_the_wheel(contents):
    names = {path.relative_to(PACKAGE).as_posix() for path in contents}
    assert {path.name for path in contents if path.parent.name == "shipped"} == SHIPPED
    away = ("anaphora", "curve.", "judge/", "recipe", "training.json")
    assert not [x for x in names if any(y in x for y in away)]
    assert {x.partition("/")[0] for x in names if "/" in x} == FOLDERS
    assert {"__init__.py", "py.typed", "transformer/model.py"} <= names


def test_the_wheel_holds_files_of_known_kinds(contents):
    assert {path.suffix for path in contents} <= SUFFIXES


def test_the_package_does_not_name_the_generator(contents):
    """Nothing in the package may depend on how the shipped model was made."""
    for path in contents:
        if path.suffix in (".py", ".json", ".txt"):
            assert "anaphora" not in path.read_text(encoding="utf-8"), path


def test_the_package_packed_is_at_most_40_megabytes(contents):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in contents:
            wheel.write(path, path.relative_to(ROOT / "src"))
    assert packed.tell() <= MAX_BYTES


def test_the_built_wheel_holds_the_package_its_kernels_and_nothing_else(contents, tmp_path):
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--retries=0", "--timeout=20",
         f"--wheel-dir={tmp_path}", str(ROOT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "No matching distribution found for hatchling" in built.stderr:
        pytest.skip("no package registry can be reached, and hatchling is not installed")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size <= MAX_BYTES
    names = {x for x in zipfile.ZipFile(wheel).namelist() if not x.startswith("regard-")}
    listed = {path.relative_to(ROOT / "src").as_posix() for path in contents}
    kernels = {x for x in names if Path(x).name.startswith("_kernels.")}
    assert names - kernels == listed
    assert "regard/engine/native/_kernels.json" in kernels
