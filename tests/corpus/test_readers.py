"""Every kind of file becomes the same documents, and what cannot be read says why."""

import gzip
import json

import pytest

from regard.corpus.batches import Sampling, hash64
from regard.corpus.readers import (
    MAX_DOCUMENT_BYTES,
    count_documents,
    documents,
    find_sources,
    fingerprint,
)
from regard.errors import ArgumentError, FileError

TEXTS = ["A dog ate.", "Le café était froid.", "犬が食べた", "The end"]


def read(*corpus, field="text"):
    return list(documents(find_sources(corpus, field)))


@pytest.fixture
def every_kind(tmp_path):
    """The same documents in every form."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = "\n".join(TEXTS).encode()
    (tmp_path / "lines.txt").write_bytes(plain)
    (tmp_path / "windows.txt").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(TEXTS).encode() + b"\r\n")
    (tmp_path / "lines.txt.gz").write_bytes(gzip.compress(plain))
    rows = "\n".join(json.dumps({"text": text, "other": 1}) for text in TEXTS)
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    pq.write_table(pa.table({"text": TEXTS, "n": [1, 2, 3, 4]}), tmp_path / "rows.parquet")
    folder = tmp_path / "folder"
    (folder / ".hidden").mkdir(parents=True)
    (folder / ".hidden" / "no.txt").write_text("not this one")
    for number, text in enumerate(TEXTS):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "name",
    ["lines.txt", "windows.txt", "lines.txt.gz", "rows.jsonl", "rows.jsonl.gz", "rows.parquet",
     "folder"],
)  # fmt: skip
def test_every_kind_of_file(every_kind, name):
    sources = find_sources([every_kind / name])
    found = list(documents(sources))
    assert [x.text for x in found] == TEXTS
    assert [x.number for x in found] == [0, 1, 2, 3]
    assert not any(x.fault for x in found)
    assert count_documents(sources) == len(TEXTS)


def test_numbers_run_on_over_sorted_files(every_kind):
    found = read(str(every_kind / "lines*"))
    assert [x.number for x in found] == list(range(8))
    assert [x.source.rsplit("/", 1)[1] for x in found[3:5]] == ["lines.txt", "lines.txt.gz"]
    assert [x.entry for x in found[3:5]] == [4, 1]


def test_another_field(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"body": "A dog"}\n{"text": "A cat"}\n')
    assert [(x.text, x.fault) for x in read(path, field="body")] == [
        ("A dog", ""),
        ("", "it has no field 'body'"),
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"", "it is empty"),
        (b" \t ", "it is empty"),
        (b"ab\xffcd", "byte 0xff at position 2 is not UTF-8"),
        (b"x" * (MAX_DOCUMENT_BYTES + 1), "it is larger than 1,048,576 bytes"),
        (b"x" * (3 * MAX_DOCUMENT_BYTES), "it is larger than 1,048,576 bytes"),
    ],
)
def test_lines_that_cannot_be_read(tmp_path, line, fault):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"before\n" + line + b"\nafter\n")
    found = read(path)
    assert [x.text for x in found] == ["before", "", "after"]
    assert found[1].fault == fault


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("[1, 2]", "it has no field 'text'"),
        ('{"text": 3}', "it must be text, got int"),
        ('{"text": null}', "it must be text, got NoneType"),
        ('{"text": "\\ud800 half"}', "it has a lone surrogate, half of a character"),
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
    ],
)
def test_json_that_cannot_be_read(tmp_path, line, fault):
    path = tmp_path / "bad.jsonl"
    path.write_text(line + '\n{"text": "after"}\n')
    found = read(path)
    assert found[0].fault.startswith(fault)
    assert found[1].text == "after"


def test_parquet_that_is_not_text(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    raw = pa.array([b"good", b"\xff", None], pa.binary())
    pq.write_table(pa.table({"text": raw, "n": [1, 2, 3]}), tmp_path / "x.parquet")
    assert [(x.text, x.fault) for x in read(tmp_path / "x.parquet")] == [
        ("good", ""),
        ("", "byte 0xff at position 0 is not UTF-8"),
        ("", "it must be text, got NoneType"),
    ]
    assert [x.fault for x in read(tmp_path / "x.parquet", field="n")] == [
        "it must be text, got int"
    ] * 3
    with pytest.raises(FileError, match=r"has no column 'body'; it has text, n: choose one with"):
        read(tmp_path / "x.parquet", field="body")


def test_a_compressed_file_that_breaks_off(tmp_path):
    whole = gzip.compress("\n".join(f"line {i}" for i in range(50_000)).encode())
    path = tmp_path / "cut.txt.gz"
    path.write_bytes(whole[: len(whole) // 2])
    found = read(path)
    assert found[0].text == "line 0"
    assert found[-1].fault.startswith("the compressed file breaks off here")
    assert [x.number for x in found] == list(range(len(found)))


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ([], "a survey needs a corpus: name a text file with one document a "
         "line, a folder of text files, a .jsonl or a .parquet file."),
        (["no/such.txt"], "No such file: 'no/such.txt'. Check "
         "the path, and quote a pattern so that regard expands it."),
    ],
)  # fmt: skip
def test_no_corpus(corpus, message):
    with pytest.raises((ArgumentError, FileError)) as error:
        find_sources(corpus)
    assert str(error.value) == message


def test_a_folder_without_files_and_parquet_that_is_none(tmp_path):
    with pytest.raises(FileError, match="no files in the folder "):
        find_sources([tmp_path])
    (tmp_path / "x.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(FileError, match=r"cannot be read as a Parquet file: "):
        read(tmp_path / "x.parquet")


def test_the_fingerprint_is_of_the_contents(every_kind):
    path = every_kind / "lines.txt"
    before = fingerprint(find_sources([path]))
    again = path.rename(every_kind / "renamed.txt")
    assert fingerprint(find_sources([again])) == before
    again.write_bytes(again.read_bytes().replace(b"dog", b"cat"))
    assert fingerprint(find_sources([again])) != before


def test_batches_cover_every_document_once(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("\n".join(str(i) for i in range(25)))
    batches = list(Sampling(batch=10).batches(read(path)))
    assert [x.number for x in batches] == [0, 1, 2]
    assert [d.number for x in batches for d in x.documents] == list(range(25))
    assert [d.number for x in Sampling(limit=7).batches(read(path)) for d in x.documents] == [
        *range(7)
    ]


def test_a_sample_is_fair_and_always_the_same():
    share = sum(hash64(number) < 0.3 * 2**64 for number in range(20_000)) / 20_000
    # Four standard deviations of a share of 0.3 among 20,000.
    assert abs(share - 0.3) < 4 * (0.3 * 0.7 / 20_000) ** 0.5
    assert Sampling(sample=0.5).expected(101) == 50
    assert Sampling(sample=0.5, limit=20).expected(101) == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit must be at least 1, got 0."),
        ({"batch": 0}, "batch must be at least 1, got 0."),
        ({"sample": 1.5}, "sample must be above 0 and at most 1, got 1.5: 0.1 is a tenth of the "
         "documents."),
    ],
)  # fmt: skip
def test_choices_that_make_no_sense(options, message):
    with pytest.raises(ArgumentError) as error:
        Sampling(**options)
    assert str(error.value) == message
