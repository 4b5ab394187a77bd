"""The report says what the rows say, whoever did the work, and a run goes on where it stopped."""

import json
import shutil

import numpy as np
import numpy.testing as npt
import pytest
from tests.helpers.command_line import run_each

from regard.corpus.batches import batch_measures
from regard.corpus.readers import Document
from regard.corpus.shards import Shards
from regard.corpus.totals import HISTOGRAM_BINS
from regard.corpus.windows import MEASURE_NAMES, HeadKey, Window, WindowSums
from regard.errors import ArgumentError, FileError

HEADS = 8


def rows(survey):
    """All rows as arrays, documents x heads."""
    import pyarrow.parquet as pq

    table = pq.read_table(survey.folder / "heads")
    return {
        name: np.array(table.column(name).to_pylist(), float)
        for name in ("document", *MEASURE_NAMES)
    }


@pytest.mark.smoke
def test_the_report_says_what_the_rows_say(undisturbed):
    report, held = undisturbed.report, rows(undisturbed)
    for h, head in enumerate(report["heads"]):
        for name in MEASURE_NAMES:
            values = held[name].reshape(-1, HEADS)[:, h]
            values = values[~np.isnan(values)]
            told = head["measures"][name]
            assert told["documents"] == len(values)
            # Sums of 117 numbers in float64, one in another order than the other.
            np.testing.assert_allclose(told["mean"], values.mean(), rtol=1e-13)
            np.testing.assert_allclose(told["deviation"], values.std(), rtol=1e-9)
            largest = report["measures"][name]["largest"]
            for share, value in told["quantiles"].items():
                true = np.quantile(values, float(share), method="inverted_cdf")
                assert abs(value - true) <= largest / HISTOGRAM_BINS


def test_documents_are_counted_once(undisturbed, corpus):
    import pyarrow.parquet as pq

    told = undisturbed.report["corpus"]
    table = pq.read_table(undisturbed.folder / "documents").to_pylist()
    assert [row["document"] for row in table] == list(range(120))
    assert (told["documents"], told["failed"], told["cut"]) == (117, 3, 1)
    assert told["tokens"] == sum(row["tokens"] or 0 for row in table)
    assert told["windows"] == sum(row["windows"] or 0 for row in table)
    assert table[77]["windows"] == -(-(table[77]["tokens"] - table[77]["windows"]) // 255)
    failed = pq.read_table(undisturbed.folder / "failed.parquet").to_pylist()
    assert [(row["document"], row["entry"]) for row in failed] == [(17, 18), (40, 41), (99, 100)]
    assert failed[0]["reason"] == "it is empty"
    assert failed[1]["reason"] == "byte 0xff at position 0 is not UTF-8"
    assert failed[2]["reason"].startswith("a sentence must have at least one word")
    assert all(row["source"] == str(corpus) for row in failed)


def test_examples_are_the_extremes(undisturbed):
    import pyarrow.parquet as pq

    held, documents = rows(undisturbed), pq.read_table(undisturbed.folder / "documents").to_pylist()
    enough = [row["tokens"] >= 8 for row in documents if row["failed"] is None]
    texts = {row["document"]: row["text"] for row in documents}
    assert 0 < sum(enough) < len(enough)
    for h, head in enumerate(undisturbed.report["heads"]):
        values = held[head["role"]["measure"]].reshape(-1, HEADS)[:, h][enough]
        values = np.sort(values[~np.isnan(values)])
        most, least = head["examples"]["most"], head["examples"]["least"]
        assert [x["value"] for x in most] == values[::-1][:3].tolist()
        assert [x["value"] for x in least] == values[:3].tolist()
        assert all(x["text"] == texts[x["document"]] for x in (*most, *least))


def test_heads_are_ranked(undisturbed):
    ranked = undisturbed.report["ranked"]
    for name in MEASURE_NAMES:
        means = [row["mean"] for row in ranked[name]]
        assert means == sorted(means, reverse=name != "entropy")
        assert len(means) == HEADS


def test_every_batch_size_gives_the_same_rows(undisturbed, surveyed):
    other = surveyed(batch=50)
    mine, theirs = rows(other), rows(undisturbed)
    np.testing.assert_array_equal(mine.pop("document"), theirs["document"])
    # In another batch a document's rows move in the products of the model, whose sums have at most
    # 48 terms: a weight moves by 2 * 48 roundings, an entropy by log 256 times that.
    for name, values in mine.items():
        np.testing.assert_allclose(
            values, theirs[name], rtol=0, atol=2 * 48 * 2.0**-24 * np.log(256), equal_nan=True
        )


@pytest.mark.nightly  # as test_engines.py shows of a pool, with and without killed workers
def test_a_pool_of_processes_gives_the_same_report(undisturbed, surveyed):
    pool = surveyed(workers=2)
    for name in ("report.json", "report.html", "failed.parquet"):
        assert (pool.folder / name).read_bytes() == (undisturbed.folder / name).read_bytes()


def test_the_same_call_again_does_nothing_anew(surveyed, tmp_path):
    out, told = tmp_path / "out", []
    first = surveyed(out)
    stamps = {path: path.stat().st_mtime_ns for path in (out / "heads").iterdir()}
    again = surveyed(out, progress=told.append)
    assert again.report == first.report
    assert stamps == {path: path.stat().st_mtime_ns for path in (out / "heads").iterdir()}
    assert [(now.done, now.earlier) for now in told] == [(120, 120)]


def test_progress_counts_every_document(surveyed):
    told = []
    surveyed(progress=told.append)
    assert [now.done for now in told] == [*range(0, 121, 8)]
    assert told[-1].failed == 3
    assert {now.expected for now in told} == {120}


def test_limit_and_sample(surveyed):
    assert surveyed(limit=30).report["corpus"]["documents"] == 29
    sampled = surveyed(sample=0.5, seed=3)
    again = surveyed(sample=0.5, seed=3, batch=20)
    assert 40 < sampled.report["corpus"]["documents"] < 80
    assert set(rows(sampled)["document"]) == set(rows(again)["document"])


def test_a_changed_corpus_model_or_argument_is_refused(surveyed, corpus, folder, tmp_path):
    out, other = tmp_path / "out", tmp_path / "other.txt"
    surveyed(out)
    other.write_bytes(corpus.read_bytes() + b"\nOne more dog.")
    with pytest.raises(ArgumentError) as error:
        surveyed(out, corpus=other)
    assert str(error.value) == (
        f"{str(out)!r} holds a survey of something else: the corpus has changed. Give another "
        "--out, or --restart to throw away what is there."
    )
    with pytest.raises(ArgumentError, match="limit, sample, seed, batch or window has changed"):
        surveyed(out, limit=5)
    changed = tmp_path / "model"
    changed.mkdir()
    for path in folder.iterdir():
        (changed / path.name).write_bytes(path.read_bytes())
    surveyed(out, model=changed)  # the same model elsewhere
    description = json.loads((changed / "model.json").read_text())
    (changed / "model.json").write_text(json.dumps({**description, "name": "another"}))
    with pytest.raises(ArgumentError, match="the model has changed"):
        surveyed(out, model=changed)
    assert surveyed(out, corpus=other, restart=True).report["corpus"]["documents"] == 118


def test_folders_of_others_are_left_alone(surveyed, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    for options in ({}, {"restart": True}):
        with pytest.raises(ArgumentError) as error:
            surveyed(tmp_path, **options)
        assert str(error.value) == (
            "out must be a new or empty folder, or one of an earlier survey, but "
            f"{str(tmp_path)!r} holds 'thesis.tex' and no manifest.json: give another --out."
        )
    with pytest.raises(ArgumentError, match=r"out must be a folder, but .* is a file"):
        surveyed(tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(surveyed, tmp_path):
    (tmp_path / "file").write_text("mine")
    out = tmp_path / "file" / "out"
    with pytest.raises(ArgumentError) as error:
        surveyed(out, model=tmp_path / "no model is looked for")
    assert str(error.value) == (
        f"out cannot be written: {str(out)!r}: Not a directory. Give another --out."
    )


def test_a_refused_survey_leaves_no_folder(surveyed, tmp_path):
    with pytest.raises(FileError, match="No such folder: "):
        surveyed(tmp_path / "out", model=tmp_path / "nowhere")
    assert not (tmp_path / "out").exists()


def test_two_surveys_at_once(surveyed, tmp_path):
    out, refused = tmp_path / "out", []

    def again(now):
        if now.done == 8:
            with pytest.raises(ArgumentError) as error:
                surveyed(out, restart=True)
            refused.append(str(error.value))

    surveyed(out, progress=again)
    assert refused == [
        f"another survey is writing to {str(out)!r}: wait for it, or give another --out."
    ]


def test_the_function_wins_over_the_folder_of_its_name():
    first = (
        "import regard.corpus.readers",
        "from regard import survey",
        "import regard.cli.survey",
    )
    rest = "import regard, regard.corpus.totals\nprint(regard.survey.__module__)"
    assert run_each([f"{line}\n{rest}" for line in first]) == ["regard.corpus.survey"] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "spark"}, "engine must be 'local' or 'ray', got 'spark'."),
        ({"workers": 0}, "workers must be at least 1, got 0."),
        ({"window": 3}, "window must be 8 to 256, which is what this model can take, got 3."),
        ({"window": 500}, "window must be 8 to 256, which is what this model can take, got 500."),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(surveyed, options, message):
    with pytest.raises(ArgumentError) as error:
        surveyed(**options)
    assert str(error.value) == message


def test_a_folder_that_is_not_a_model(surveyed, tmp_path):
    with pytest.raises(FileError, match=r"is not a model: it has no .* and no \.gguf file"):
        surveyed(model=tmp_path)


def test_a_window_cuts_long_documents(surveyed):
    told = surveyed(window=16).report
    assert told["model"]["window"] == 16
    assert told["corpus"]["cut"] > 1
    assert told["corpus"]["documents"] == 117


def test_nothing_readable_at_all(surveyed, tmp_path):
    path = tmp_path / "blank.txt"
    path.write_bytes(b"\n\n\xff\n")
    nothing = surveyed(corpus=path)
    told = nothing.report
    assert (told["corpus"]["documents"], told["corpus"]["failed"]) == (0, 3)
    assert told["heads"][0]["role"] == {"measure": None}
    assert str(nothing).endswith("\n\nNo document was measured.")


@pytest.mark.parametrize("kind", ["heads", "documents", "sums"])
@pytest.mark.parametrize("damage", ["broken", "empty", "lost", "a folder", "of another survey"])
def test_a_broken_part_is_named(undisturbed, surveyed, tmp_path, kind, damage):
    out = shutil.copytree(undisturbed.folder, tmp_path / "out")
    path = Shards(out).path(kind, 3)
    other = Shards(out).path(kind, 4).read_bytes()
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage != "lost":
        path.write_bytes({"broken": b"broken", "empty": b"", "of another survey": other}[damage])
    if (kind, damage) == ("heads", "lost"):
        return  # not finished: it is measured again
    with pytest.raises(FileError, match=r"part-0000003\.\w+' cannot be read as a file of a survey"):
        surveyed(out)


def test_a_file_that_is_no_part_is_left_alone(surveyed, tmp_path):
    out = tmp_path / "out"
    report = surveyed(out).report
    (out / "heads" / "part-one.parquet").write_bytes(b"")
    assert surveyed(out).report == report


def test_windows_add_up_to_documents():
    facts = WindowSums.empty(windows=3, heads=1, bands=slice(0, 5))
    facts.sums_mwh[:, :, 0] = [2.0, 6.0, 1.0]
    facts.queries_mwh[:, :, 0] = [4.0, 8.0, 2.0]
    facts.sums_mwh[MEASURE_NAMES.index("induction")] = facts.queries_mwh[
        MEASURE_NAMES.index("induction")
    ] = 0
    facts.most_keys_whn[:, 0] = [[3, 0, 1], [2, 1, -1], [0, 1, -1]]
    facts.most_whn[:, 0] = [[3.0, 0.5, 0.4], [5.0, 0.6, 0.0], [1.0, 0.9, 0.0]]
    first = [Window(0, (10, 11, 12, 13)), Window(4, (14, 15, 16))]
    read = [(Document(0, "a", 1, "x"), first), (Document(1, "a", 2, "y"), [Window(0, (17, 18))])]
    found = batch_measures(0, (HeadKey("encoder", 1, 1),), read, [], facts, str)
    assert found.means_mnh[0, :, 0].tolist() == [np.float32(8 / 12), 0.5]
    assert np.isnan(found.means_mnh[MEASURE_NAMES.index("induction")]).all()
    assert found.most_position_nhx[:, 0].tolist() == [[6, 3, 5], [0, 1, -1]]
    named = [[found.pieces[t] if t >= 0 else None for t in row[0]] for row in found.most_token_nhx]
    assert named == [["16", "13", "15"], ["17", "18", None]]
    assert found.sums["windows"] == 3


@pytest.mark.parametrize("kind", ["heads", "documents", "sums"])
def test_one_flipped_bit_anywhere_in_a_part_is_named(undisturbed, tmp_path, kind):
    shards = Shards(shutil.copytree(undisturbed.folder, tmp_path / "out"))
    path = shards.path(kind, 3)
    content = path.read_bytes()
    for at in range(0, len(content), max(1, len(content) // 60)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        try:
            sums = shards.sums(3)
        except FileError as error:
            assert str(path) in str(error)  # noqa: PT017
        else:  # a byte of the archive that nothing depends on, such as a date
            assert kind == "sums"
            path.write_bytes(content)
            for name, array in shards.sums(3).items():
                npt.assert_array_equal(sums[name], array)


def test_a_damaged_part_ends_the_same_call_again(surveyed, tmp_path):
    out = tmp_path / "out"
    surveyed(out)
    path = out / "heads" / "part-0000003.parquet"
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 3] ^= 4
    path.write_bytes(damaged)
    with pytest.raises(FileError) as error:
        surveyed(out)
    assert str(error.value) == (
        f"{str(path)!r} cannot be read as a file of a survey (its bytes are not those that were "
        "written): delete the part of this number under heads/ and run the survey again."
    )
    path.unlink()
    surveyed(out)


def test_an_older_survey_without_checksums_can_still_be_read(undisturbed, tmp_path):
    shards = Shards(shutil.copytree(undisturbed.folder, tmp_path / "out"))
    sums = shards.sums(3)
    np.savez_compressed(shards.path("sums", 3), **sums)
    for name, array in shards.sums(3).items():
        npt.assert_array_equal(sums[name], array)
