"""Build the explorer as static files: a folder for any host, or one HTML file.

A folder holds ``index.html``, the service worker ``offline.js`` and a folder named by the version,
a checksum of everything in it, so that files of two versions are never mixed.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import subprocess
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regard
from regard.atomic_write import write_bytes
from regard.engine.native.compile import BuildError, build_wasm
from regard.errors import FileError
from regard.transformer.checkpoint import PARAMETERS, SHIPPED
from regard.view.page.in_browser import BrowserPage
from regard.view.page.routes.learn import PAGES
from regard.view.page.single_file import (
    POLICY,
    bundle,
    json_block,
    page_style,
    single_file,
    text_block,
    web_files,
)
from regard.view.site.parts import NUMPY, PYODIDE, PYODIDE_FILES, find_part, unpack_pyodide

ENTRY = "site/site.js"
STYLE = "site/site.css"
FIRST_SENTENCE = "A dog ate the food because it was hungry"  # web/read/examples.js
STEPS = 5  # of the progress
NODE_FAILED = "the Python files of the site could not be compiled by Node and Pyodide:"
NOTICE = """This site distributes, each under its own licence:

regard {version}, with its model: MIT
Pyodide 314.0.7 (https://github.com/pyodide/pyodide), unchanged: MPL-2.0
CPython 3.14 (https://github.com/python/cpython), inside Pyodide: PSF-2.0
Emscripten's runtime and musl (https://github.com/emscripten-core/emscripten), inside Pyodide: MIT
NumPy 2.4.3 (https://github.com/numpy/numpy), compiled by Pyodide: BSD-3-Clause and, for parts, the
licences below"""
POLICY_DIRECTIVES = (
    "img-src 'self' data: blob:",
    "connect-src 'self' blob:",
    "worker-src 'self' blob:",
)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class BuiltSite:
    """What was built: a folder or one file, its version, and the bytes of each file."""

    path: Path
    version: str
    sizes: dict[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())


def build_site(
    folder: Path, *, wheels: Path | None = None, progress: Progress = lambda done, total: None
) -> BuiltSite:
    """Build the site in a folder that is new, empty, or an earlier site.

    Nothing is written there before all files are made.

    Parameters
    ----------
    folder : Path
        The folder to put on a host.
    wheels : Path, optional
        A folder that holds parts (NumPy's wheel, npm's archive of Pyodide): they are not fetched.
    progress : callable
        Called with the number of steps done, and of all.
    """
    _check_target(folder)
    made = _make_files(wheels, progress)
    files = {f"{made.version}/{name}": content for name, content in made.files.items()}
    files |= {"NOTICE.txt": made.notice, "icon.svg": web_files()["icon.svg"].encode()}
    files |= _page_files(made)
    _write_folder(folder, made.version, files)
    progress(STEPS, STEPS)
    return BuiltSite(folder, made.version, {name: len(x) for name, x in files.items()})


def build_file(
    target: Path, *, wheels: Path | None = None, progress: Progress = lambda done, total: None
) -> BuiltSite:
    """Build the whole site as one HTML file, which opens by a double click and needs no network."""
    made = _make_files(wheels, progress)
    blocks = [
        text_block(f"file {name}", base64.b64encode(zlib.compress(content, 9)).decode())
        for name, content in made.files.items()
    ]
    notice = f"<!--\n{made.notice.decode().replace('--', '- -')}\n-->"
    page = single_file(
        web_files()["page.html"],
        style=_style(),
        script=bundle(web_files(), ENTRY),
        script_sources=("blob:", "'wasm-unsafe-eval'"),
        blocks=[notice, *_data_blocks(made), *blocks],
        policy=("img-src data: blob:", "connect-src blob:", "worker-src blob:"),
    ).encode()
    write_bytes(target, page)
    progress(STEPS, STEPS)
    return BuiltSite(target, made.version, {target.name: len(page)})


@dataclass(frozen=True)
class _Made:
    """Files of the worker by name, stored answers, and the text of all licences."""

    files: dict[str, bytes]
    stored: dict[str, Any]
    notice: bytes

    @property
    def version(self) -> str:
        """A checksum of all that a visitor gets."""
        digest = hashlib.sha256(json.dumps(self.stored).encode())
        for text in (*self.files.values(), bundle(web_files(), ENTRY).encode(), _style().encode()):
            digest.update(hashlib.sha256(text).digest())
        return f"{regard.__version__}-{digest.hexdigest()[:10]}"


def _make_files(wheels: Path | None, progress: Progress) -> _Made:
    if wheels is not None and not wheels.is_dir():
        raise FileError(f"--wheels must be a folder, got {wheels}.")
    if not (SHIPPED / PARAMETERS).is_file():
        raise FileError("a site needs the shipped model, and this install of regard has none.")
    node = _find_node()
    progress(0, STEPS)
    pyodide, numpy = find_part(PYODIDE, wheels), find_part(NUMPY, wheels)
    progress(1, STEPS)
    with tempfile.TemporaryDirectory() as temporary:
        runtime, kernels = Path(temporary, "pyodide"), Path(temporary, "kernels")
        runtime.mkdir()
        kernels.mkdir()
        unpack_pyodide(pyodide, runtime)
        try:
            build_wasm(kernels)
        except BuildError as error:
            raise FileError(f"the kernels could not be compiled to WebAssembly: {error}.") from None
        progress(2, STEPS)
        packed = _pack(node, runtime, numpy, kernels, Path(temporary, "python.zip"))
        progress(3, STEPS)
        files = {name: (runtime / name).read_bytes() for name in PYODIDE_FILES}
    files["pyodide-lock.json"] = _without_packages(files["pyodide-lock.json"])
    files["worker.js"] = web_files()["site/worker.js"].encode()
    files |= {"python.zip": packed, PARAMETERS: (SHIPPED / PARAMETERS).read_bytes()}
    stored = stored_answers()
    progress(4, STEPS)
    return _Made(files, stored, _notice(packed))


def stored_answers() -> dict[str, Any]:
    """What the page asks first, and every lesson: { "path\\nbody": [headers, base64] }."""
    page = BrowserPage()
    stored = {}
    for path, fields in first_requests():
        body = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
        status, headers, content = page.answer(path, body)
        if status != 200:
            raise RuntimeError(f"{path} {body} was answered by {content!r}")
        stored[f"{path}\n{body}"] = [headers, base64.b64encode(content).decode()]
    return stored


def first_requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Requests of a page that is opened without an address, as web/lib/api.js sends them."""
    yield "/api/page", {}
    at = {"layer": -1, "head": -1}
    yield "/api/read", {"sentence": FIRST_SENTENCE, "quick": True, "at": at}
    yield "/api/read", {"sentence": FIRST_SENTENCE, "quick": False}
    reading = {"sentence": FIRST_SENTENCE, "quick": False, "changes": None, "file": None}
    yield "/api/thumbnails", {**reading, "quick": True, "part": "encoder"}
    for part in ("encoder", "decoder", "cross"):
        yield "/api/thumbnails", {**reading, "part": part}
    best = BrowserPage().answer("/api/read", json.dumps({"sentence": FIRST_SENTENCE}))[2]
    shown = json.loads(best)["highlight"]
    head = {"layer": shown["layer"], "head": shown["head"]}
    yield "/api/weights", {**reading, "part": shown["part"], "show": "head", **head}
    for lesson in PAGES:
        yield "/api/learn", {"page": lesson}


def _find_node() -> str:
    node = shutil.which("node")
    if node is None:
        raise FileError(
            "a site's Python files are compiled by the Python that will run them, which needs "
            "Node 20 or later: install it (https://nodejs.org), and run this again."
        )
    return node


def _pack(node: str, runtime: Path, numpy: Path, kernels: Path, target: Path) -> bytes:
    """Compiled files of NumPy and regard, with the kernels, as one archive."""
    script = Path(__file__).with_name("pack.mjs")
    package = Path(regard.__file__).parent
    command = [node, *map(str, (script, runtime, numpy, package, kernels, target))]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace")  # noqa: S603
    if ended.returncode:
        raise FileError(f"{NODE_FAILED} {ended.stderr.strip()[-800:]}")
    return target.read_bytes()


def _without_packages(lock: bytes) -> bytes:
    """Pyodide's list of packages without any, so that nothing is fetched from elsewhere."""
    return json.dumps({**json.loads(lock), "packages": {}}).encode()


def _data_blocks(made: _Made) -> list[str]:
    sizes = {name: len(content) for name, content in made.files.items()}
    about = {"version": made.version, "folder": made.version, "sizes": sizes}
    return [json_block("site", about), json_block("stored", made.stored)]


def _page_files(made: _Made) -> dict[str, bytes]:
    """index.html, its script and style, and the service worker."""
    inside = made.version
    policy = "; ".join(
        [POLICY, "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'", *POLICY_DIRECTIVES]
    )
    head = f"""<meta http-equiv="Content-Security-Policy" content="{policy}">
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="{inside}/style.css">
<script defer src="{inside}/app.js"></script>"""
    texts = web_files()
    foot = "\n".join(_data_blocks(made))
    page_files = ["./", f"{inside}/app.js", f"{inside}/style.css", "icon.svg"]
    offline = texts["site/offline.js"].replace('"regard VERSION"', json.dumps(f"regard {inside}"))
    return {
        f"{inside}/app.js": bundle(texts, ENTRY).encode(),
        f"{inside}/style.css": _style().encode(),
        "offline.js": offline.replace('["PAGE_FILES"]', json.dumps(page_files)).encode(),
        "index.html": texts["page.html"].format_map({"head": head, "foot": foot}).encode(),
    }


def _style() -> str:
    return f"{page_style()}\n{web_files()[STYLE]}"


def _notice(packed: bytes) -> bytes:
    """Names, licences and sources of all that a site distributes, and NumPy's licence in full."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" in name]
        texts = [f"{name}\n\n{archive.read(name).decode('utf-8', 'replace')}" for name in names]
    return "\n\n".join([NOTICE.format(version=regard.__version__), *texts]).encode()


def _check_target(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FileError(f"a site must be built in a folder, got the file {folder}.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "offline.js").is_file():
        raise FileError(
            f"a site must be built in a new or empty folder, or over an earlier site, got {folder} "
            "with other files in it: name another folder."
        )


def _write_folder(folder: Path, version: str, files: Mapping[str, bytes]) -> None:
    """Write all files, the index last; then drop the folders of earlier versions."""
    for name, content in files.items():  # the index is the last one
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / name, content)
    for earlier in folder.iterdir():
        if earlier.is_dir() and earlier.name != version and (earlier / "python.zip").is_file():
            shutil.rmtree(earlier)
