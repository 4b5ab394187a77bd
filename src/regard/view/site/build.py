"""Build the explorer as static files: a folder for any host, or one HTML file.

A folder holds ``index.html``, the service worker ``offline.js`` and a folder named by the version,
a checksum of everything in it, so that files of two versions are never mixed.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import re
import shutil
import struct
import subprocess
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import regard
from regard.atomic_write import write_bytes
from regard.engine.native.compile import BuildError, build_wasm
from regard.errors import FileError
from regard.transformer.checkpoint import PARAMETERS, SHIPPED
from regard.transformer.reading import read
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
WORKER = "worker.js"  # its script, in the page: from there it has the content policy of the page
FIRST_SENTENCES = tuple(  # web/read/examples.js
    f"A dog ate the food because it was {ending}" for ending in ("hungry", "delicious")
)
PACKAGES = "packages"  # Python's, in one file
COMPRESSED = (PACKAGES, PARAMETERS)
NUMPY_LEFT_OUT = re.compile(
    r"^numpy/(_core/(include|lib)/|f2py/|random/lib/|.*(/tests/|\.(pyi|pxd|md|a)$))"
    r"|\.dist-info/(?!licenses/)"
)
# Commands, training and what needs a GPU or other machines cannot run in a browser.
REGARD_LEFT_OUT = re.compile(
    r"^(cli|train|view/site|engine/(gpu|ring))/|^__main__|^transformer/shipped/parameters"
)
# Sources in C are there for their checksum, which the kernels carry; web files and fonts for Save.
KEPT_SUFFIXES = {
    *(".py", ".json", ".txt", ".model", ".c", ".h"),
    *(".js", ".mjs", ".css", ".html", ".svg", ".woff2"),
}
STEPS = 5  # of the progress
NODE_FAILED = "the Python files of the site could not be compiled by Node and Pyodide:"
NOTICE = """This site distributes, each under its own licence:

regard {version}, with its model: MIT, below
Pyodide 314.0.7 (https://github.com/pyodide/pyodide), unchanged: MPL-2.0
CPython 3.14 (https://github.com/python/cpython), inside Pyodide, Copyright (c) 2001 Python Software
Foundation, all rights reserved: PSF-2.0
Emscripten's runtime and musl (https://github.com/emscripten-core/emscripten), inside Pyodide,
Copyright (c) 2010-2014 Emscripten authors, (c) 2005-2020 Rich Felker and others: MIT
NumPy 2.4.3 (https://github.com/numpy/numpy), compiled by Pyodide: BSD-3-Clause, below, and others
for parts of it, below
Source Serif 4 and Source Sans 3 (https://github.com/adobe-fonts), subsets: OFL-1.1, below"""
FONTS = "fonts/licence.txt"
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
    files = {f"{made.version}/{name}": content for name, content in made.hosted.items()}
    files |= {"NOTICE.txt": made.notice, "icon.svg": web_files()["icon.svg"].encode()}
    files |= _page_files(made, docs=(folder / "docs" / "index.html").is_file())
    _write_folder(folder, made.version, files)
    progress(STEPS, STEPS)
    return BuiltSite(folder, made.version, {name: len(x) for name, x in files.items()})


def build_file(
    target: Path, *, wheels: Path | None = None, progress: Progress = lambda done, total: None
) -> BuiltSite:
    """Build the whole site as one HTML file, which opens by a double click and needs no network."""
    made = _make_files(wheels, progress)
    notice = f"<!--\n{made.notice.decode().replace('--', '- -')}\n-->"
    page = single_file(
        web_files()["page.html"],
        style=_style(),
        script=bundle(web_files(), ENTRY),
        script_sources=("blob:", "'wasm-unsafe-eval'"),
        blocks=[notice, *_data_blocks(made, made.files)],
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

    @cached_property
    def hosted(self) -> dict[str, bytes]:
        """The files as a host sends them; hosts compress text and WebAssembly, and no others."""
        others = self.files.keys() - {WORKER, *COMPRESSED}  # the worker is in the page
        compressed = {f"{name}.zlib": zlib.compress(self.files[name], 9) for name in COMPRESSED}
        return {name: self.files[name] for name in others} | compressed


def _make_files(wheels: Path | None, progress: Progress) -> _Made:
    if wheels is not None and not wheels.is_dir():
        raise FileError(f"--wheels must be a folder, got {wheels}.")
    if not (SHIPPED / PARAMETERS).is_file():
        raise FileError("a site needs the shipped model, and this install of regard has none.")
    node = _find_node()
    if importlib.util.find_spec("ziglang") is None:  # before anything is fetched
        raise FileError(
            "the kernels of a site are compiled to WebAssembly by ziglang, not installed here: "
            "pip install 'regard[site]' (in a clone: make site)."
        )
    progress(0, STEPS)
    pyodide, numpy = find_part(PYODIDE, wheels), find_part(NUMPY, wheels)
    progress(1, STEPS)
    with tempfile.TemporaryDirectory() as temporary:
        runtime, packages = Path(temporary, "pyodide"), Path(temporary, "packages")
        runtime.mkdir()
        unpack_pyodide(pyodide, runtime)
        _collect_packages(numpy, packages)
        progress(2, STEPS)
        _compile(node, runtime, packages)
        progress(3, STEPS)
        files = {name: (runtime / name).read_bytes() for name in PYODIDE_FILES}
        files["pyodide-lock.json"] = _without_packages(files["pyodide-lock.json"])
        files[PACKAGES] = _packed(packages)
        notice = _notice(packages)
    files[PARAMETERS] = (SHIPPED / PARAMETERS).read_bytes()
    files[WORKER] = web_files()["site/worker.js"].encode()
    stored = stored_answers()
    progress(4, STEPS)
    return _Made(files, stored, notice)


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
    """What a page that is opened without an address asks, as web/lib/api.js sends it.

    On a first visit the scene plays: the other ending, and back.
    """
    yield "/api/page", {}
    for sentence in FIRST_SENTENCES:
        at = {"layer": -1, "head": -1}
        yield "/api/read", {"sentence": sentence, "quick": True, "at": at}
        yield "/api/read", {"sentence": sentence, "quick": False}
        reading = {"sentence": sentence, "quick": False, "changes": None, "file": None}
        yield "/api/thumbnails", {**reading, "quick": True, "part": "encoder"}
        for part in ("encoder", "decoder", "cross"):
            yield "/api/thumbnails", {**reading, "part": part}
        shown = read(sentence).highlight().to_dict()
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


def _collect_packages(numpy: Path, folder: Path) -> None:
    """NumPy, regard and its kernels for WebAssembly, each without what a browser cannot use."""
    with zipfile.ZipFile(numpy) as wheel:
        wheel.extractall(folder, [x for x in wheel.namelist() if not NUMPY_LEFT_OUT.search(x)])
    package = Path(regard.__file__).parent
    for path in package.rglob("*"):
        name = path.relative_to(package).as_posix()
        if path.suffix in KEPT_SUFFIXES and not REGARD_LEFT_OUT.search(name):
            (folder / "regard" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / "regard" / name)
    try:
        build_wasm(folder / "regard" / "engine" / "native")
    except BuildError as error:
        raise FileError(f"the kernels could not be compiled to WebAssembly: {error}.") from None


def _compile(node: str, runtime: Path, folder: Path) -> None:
    script = Path(__file__).with_name("compile.mjs")
    command = [node, *map(str, (script, runtime, folder))]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace")  # noqa: S603
    if ended.returncode:
        raise FileError(f"{NODE_FAILED} {ended.stderr.strip()[-800:]}")


def _packed(folder: Path) -> bytes:
    """All files of a folder in one: the length of a header, [[name, bytes], ...], then contents.

    Unlike a zip, its files need no copy to be put into the file system of Pyodide.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    contents = [path.read_bytes() for path in paths]
    names = [path.relative_to(folder).as_posix() for path in paths]
    header = json.dumps([[x, len(y)] for x, y in zip(names, contents, strict=True)]).encode()
    return b"".join([struct.pack("<I", len(header)), header, *contents])


def _without_packages(lock: bytes) -> bytes:
    """Pyodide's list of packages without any, so that nothing is fetched from elsewhere."""
    return json.dumps({**json.loads(lock), "packages": {}}).encode()


def _data_blocks(made: _Made, held: Iterable[str], *, docs: bool = False) -> list[str]:
    """What site.js reads: facts of the site, stored answers, and the files that the page holds."""
    sizes = {name: len(content) for name, content in made.files.items() if name != WORKER}
    about = {"folder": made.version, "sizes": sizes, "docs": docs}
    about["bytes"] = sum(map(len, made.hosted.values()))
    packed = {x: base64.b64encode(zlib.compress(made.files[x], 9)).decode() for x in held}
    files = [text_block(f"file {name}", content) for name, content in packed.items()]
    return [json_block("site", about), json_block("stored", made.stored), *files]


def _page_files(made: _Made, *, docs: bool) -> dict[str, bytes]:
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
    foot = "\n".join(_data_blocks(made, [WORKER], docs=docs))
    page_files = ["./", f"{inside}/app.js", f"{inside}/style.css", "icon.svg"]
    offline = texts["site/offline.js"].replace('"VERSION"', json.dumps(inside))
    return {
        f"{inside}/app.js": bundle(texts, ENTRY).encode(),
        f"{inside}/style.css": _style().encode(),
        "offline.js": offline.replace('["PAGE_FILES"]', json.dumps(page_files)).encode(),
        "index.html": texts["page.html"].format_map({"head": head, "foot": foot}).encode(),
    }


def _style() -> str:
    return f"{page_style()}\n{web_files()[STYLE]}"


def _notice(packages: Path) -> bytes:
    """Names, licences and sources of all that a site distributes, some licences in full."""
    own = distribution("regard").read_text("licenses/LICENSE") or ""
    paths = [*sorted(packages.glob("*.dist-info/licenses/**/*")), *packages.rglob(FONTS)]
    others = [
        f"{path.relative_to(packages).as_posix()}\n\n{path.read_text('utf-8', 'replace')}"
        for path in paths
        if path.is_file()
    ]
    return "\n\n".join([NOTICE.format(version=regard.__version__), own, *others]).encode()


def _check_target(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise FileError(f"a site must be built in a folder, got the file {folder}.")
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names - {"docs"} and "offline.js" not in names:
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
        if earlier.is_dir() and earlier.name != version and (earlier / "pyodide.mjs").is_file():
            shutil.rmtree(earlier)
