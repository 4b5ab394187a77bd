"""The builder of a site, without its slow parts: pinned files, its folder, sentences of errors."""

import hashlib
import re

import pytest

from regard.errors import FileError
from regard.view.page.single_file import bundle, modules_in_order, web_files
from regard.view.site import build, parts
from regard.view.site.parts import Part, find_part

CONTENT = b"a part"
PART = Part("part.whl", hashlib.sha256(CONTENT).hexdigest(), "https://example.org/part.whl")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "regard" / "site"


def never(address):
    raise AssertionError(f"{address} was fetched")


def test_a_part_of_the_named_folder_is_taken(tmp_path):
    (tmp_path / PART.name).write_bytes(CONTENT)
    assert find_part(PART, tmp_path, never) == tmp_path / PART.name


def test_a_fetched_part_is_kept(cache):
    path = find_part(PART, None, lambda address: CONTENT)
    assert path.read_bytes() == CONTENT
    assert find_part(PART, None, never) == path == cache / PART.name


def test_a_damaged_part_is_refused_and_not_kept(tmp_path, cache):
    with pytest.raises(FileError, match="must have the SHA-256"):
        find_part(PART, None, lambda address: CONTENT[:-1])
    assert not (cache / PART.name).exists()
    (tmp_path / PART.name).write_bytes(b"other")
    with pytest.raises(FileError, match="delete it"):
        find_part(PART, tmp_path, never)


def test_no_network_is_one_sentence():
    def unreachable(address):
        raise OSError("no route")

    with pytest.raises(FileError, match=r"no route.*--wheels"):
        find_part(PART, None, unreachable)


def test_a_package_of_npm_needs_npm(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileError, match=r"npm:pyodide@.* \(npm is not installed\): put .*--wheels"):
        find_part(parts.PYODIDE, None)


def test_npm_packs_the_package_that_is_named(tmp_path, monkeypatch):
    npm = tmp_path / "npm"
    npm.write_text('#!/bin/sh\nprintf "%s" "a part" > "$5/$2.tgz"\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    part = Part("part.tgz", PART.sha256, "npm:part@1")
    assert find_part(part, None).read_bytes() == CONTENT
    npm.write_text("#!/bin/sh\necho E404 >&2\nexit 1\n")
    with pytest.raises(FileError, match=r"\(E404\)"):
        find_part(Part("other.tgz", PART.sha256, "npm:other@1"), None)


def test_other_peoples_files_are_not_overwritten(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileError, match="name another folder"):
        build.build_site(tmp_path)
    with pytest.raises(FileError, match="got the file"):
        build.build_site(tmp_path / "thesis.txt")


def test_node_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileError, match="Node 20"):
        build.build_site(tmp_path / "public")
    with pytest.raises(FileError, match="--wheels must be a folder"):
        build.build_site(tmp_path / "public", wheels=tmp_path / "nowhere")
    assert not (tmp_path / "public").exists()


def test_the_scripts_hold_what_the_builder_replaces():
    files = web_files()
    assert '"VERSION"' in files["site/offline.js"]
    assert '["PAGE_FILES"]' in files["site/offline.js"]
    (start, _, ending), (_, _, other) = (x.rpartition(" ") for x in build.FIRST_SENTENCES)
    example = rf'EXAMPLES = \[\n  example\("{start}", {{ {ending}: .*, {other}: '
    assert re.search(example, files["read/examples.js"])
    assert modules_in_order(files, build.ENTRY)[-1] == build.ENTRY
    assert "eval(" not in bundle(files, build.ENTRY)
    assert parts.NUMPY.name in parts.NUMPY.address
