"""What is uploaded: sdist, wheel and pure wheel, each installed in a clean environment and tried.

Run by make test-package: it takes minutes, and pip fetches the build tools and what regard needs.
"""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

pytestmark = pytest.mark.package

ROOT = Path(__file__).parents[1]
SENTENCE = "A dog ate the food because it was hungry"
TRY = """
import pathlib, regard
from regard.engine.native.library import native_state
assert regard.read("A cat slept").translation == "Un chat a dormi"
assert regard.check(regard.attention).right
assert (pathlib.Path(regard.__file__).parent / "py.typed").is_file()
print("kernels:", native_state().level)
"""
PACKAGES = {"sdist": "*.tar.gz", "wheel": "*-linux_*.whl", "pure wheel": "*-none-any.whl"}


def run(*command: str | Path, **environment: str) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        command, cwd="/", env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The three packages, built as the workflow builds them."""
    out = tmp_path_factory.mktemp("packages")
    build = (sys.executable, "-m", "build", f"--outdir={out}")
    run(*build, ROOT)  # the wheel is built from the sdist
    run(*build, "--wheel", ROOT, CC="/bin/false")  # no compiler: the pure wheel
    return out


def package(folder: Path, name: str) -> Path:
    (path,) = folder.glob(PACKAGES[name])
    return path


def test_the_metadata_is_in_order_and_the_description_renders(folder):
    markdown = pytest.importorskip("readme_renderer.markdown", reason="it renders as PyPI does")
    checked = run(sys.executable, "-m", "twine", "check", "--strict", *folder.iterdir())
    assert checked.count("PASSED") == len(PACKAGES)
    wheel = zipfile.ZipFile(package(folder, "pure wheel"))
    (name,) = (x for x in wheel.namelist() if x.endswith(".dist-info/METADATA"))
    metadata = message_from_bytes(wheel.read(name))
    rendered = markdown.render(metadata.get_payload())
    assert rendered.startswith("<h1>")
    assert "<pre" in rendered
    links = re.findall(r"\]\(([^)]+)\)", str(metadata.get_payload()))
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []
    assert {"Homepage", "Documentation", "Source", "Changelog"} <= {
        url.split(",")[0] for url in metadata.get_all("Project-URL")
    }


def test_the_sdist_holds_what_the_tests_need(folder):
    with tarfile.open(package(folder, "sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "Makefile"} <= names
    assert {"src/regard/py.typed", "src/regard/engine/native/attention.c", "docs/conf.py"} <= names
    assert not [name for name in names if name.endswith((".so", ".dll", ".dylib", ".pyc"))]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_works_in_a_clean_environment(name, folder, tmp_path):
    venv.create(tmp_path / "clean", with_pip=True)
    binaries = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin")
    run(binaries / "python", "-m", "pip", "install", "-q", package(folder, name))
    read = run(binaries / "regard", SENTENCE, PYTHONUTF8="1")
    assert "Un chien a mangé la nourriture parce qu'il avait faim" in read
    tried = run(binaries / "python", "-c", TRY)
    assert ("kernels: None" in tried) == (name == "pure wheel")
    assert f"regard {_version()}" in run(binaries / "regard", "--version")


def _version() -> str:
    import regard

    return regard.__version__
