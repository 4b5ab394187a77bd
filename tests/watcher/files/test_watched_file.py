"""Files of watched models: their sizes, what is read and when, and older versions."""

import copy
import json
import pickle
import random
from dataclasses import fields

import numpy as np
import pytest
import torch
from tests.helpers.model_families import FAMILIES
from transformers import LlamaConfig, LlamaForCausalLM

import regard
from regard.engine import files
from regard.engine.files import part_arguments, part_arrays, write_file
from regard.errors import ArgumentError, FileError, RegardError
from regard.watcher.files import watched_file
from regard.watcher.files.watched_file import StoredFacts

FAMILY = {family.name: family for family in FAMILIES}


def decoder(dtype):
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=64, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=64)  # fmt: skip
    return LlamaForCausalLM(config).to(dtype).eval()


def seen_by(model, tokens, **options):
    ids = torch.randint(0, 100, (1, tokens), generator=torch.Generator().manual_seed(1))
    with torch.no_grad(), regard.watch(model, keep="all", **options) as seen:
        model(ids)
    return seen


def save_as_version_1(seen, path):
    """The file as the first version wrote it: arrays as they are, tokens in the header."""
    arrays, sides = {}, {}
    header = {"format": "regard seen", "version": 1, "sentences": 1, "layers": [], "sides": sides,
              "parts": {}, "spans": []}  # fmt: skip
    for key in seen.names:
        layer, prefix = seen[key], f"{key.part}.{key.layer}.0."
        arrays |= {prefix + x: a for x, a in watched_file._layer_arrays(layer).items()}
        problem = layer.parts[0].on_host()
        header["parts"][prefix] = part_arguments(problem, path)
        arrays |= {prefix + x: a for x, a in part_arrays(0, problem).items()}
        text = layer.query_text
        sides["0"] = {"tokens": list(text.tokens), "words": list(text.words),
                      "word_of_token": list(text.word_of_token)}  # fmt: skip
        header["layers"].append({**key._asdict(), "sentence": 0, "keys": layer.keys,
                                 "cost": vars(layer.cost), "notes": [], "rows": "0",
                                 "columns": "0"})  # fmt: skip
    write_file(path, header, arrays)


def assert_same(one, two):
    assert one.tokens == two.tokens
    assert one.names == two.names
    for key in one.names:
        assert set(one[key].facts) == set(two[key].facts)
        for name, fact in one[key].facts.items():
            actual = two[key].facts[name]
            assert actual.dtype == fact.dtype
            assert two[key].facts.fact_shape(name) == fact.shape
            np.testing.assert_array_equal(actual, fact)
        for part in ("first", "back", "weight"):
            np.testing.assert_array_equal(
                getattr(two[key].profile, part), getattr(one[key].profile, part)
            )
        for part in fields(one[key].measures):
            sums = (getattr(x[key].measures, part.name).sum_h for x in (one, two))
            np.testing.assert_array_equal(*sums)
        np.testing.assert_array_equal(two[key].tile(3, slice(0, 9)), one[key].tile(3, slice(0, 9)))
        np.testing.assert_array_equal(two[key].column_edges, one[key].column_edges)


@pytest.mark.parametrize(
    ("dtype", "tokens", "blocks", "share"),
    [
        (torch.bfloat16, 300, 512, 0.25),  # every weight: the map follows from query and key
        (torch.bfloat16, 500, 128, 0.5),
        (torch.float32, 300, 512, 0.3),
    ],
    ids=str,
)
def test_half_the_bytes_and_the_same_numbers(dtype, tokens, blocks, share, tmp_path):
    seen = seen_by(decoder(dtype), tokens, map=blocks)
    save_as_version_1(seen, tmp_path / "old.regard")
    seen.save(tmp_path / "new.regard")
    sizes = [(tmp_path / name).stat().st_size for name in ("new.regard", "old.regard")]
    assert sizes[0] <= share * sizes[1]
    for name in ("new.regard", "old.regard"):
        assert_same(seen, regard.load(tmp_path / name))


def test_a_map_too_large_to_compute_is_stored_without_its_zeros(tmp_path, monkeypatch):
    seen = seen_by(decoder(torch.bfloat16), 200, map=64)
    monkeypatch.setattr("regard.watcher.files.watched_file.MAX_DERIVED_PAIRS", 0)
    seen.save(tmp_path / "x.regard")
    again = regard.load(tmp_path / "x.regard")
    how = again._source.header["packing"]
    assert {how[f"decoder.{layer}.0.map"]["kind"] for layer in range(2)} == {"cut"}
    assert_same(seen, again)


def test_a_map_that_grew_is_stored(tmp_path):
    model = decoder(torch.float32)
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}
    with torch.no_grad(), regard.watch(model, keep="all", map=8) as seen:
        model.generate(torch.arange(20)[None], **options)
    seen.save(tmp_path / "x.regard")
    again = regard.load(tmp_path / "x.regard")
    assert "map" not in again._source.header["layers"][0]
    assert_same(seen, again)


def test_nothing_is_read_before_it_is_asked_for(tmp_path, monkeypatch):
    seen, read = seen_by(decoder(torch.bfloat16), 300, map=64), []
    seen.save(tmp_path / "x.regard")
    original = files.FileReader.read

    def counted(self, start, size):
        read.append(size)
        return original(self, start, size)

    monkeypatch.setattr(files.FileReader, "read", counted)
    again = regard.load(tmp_path / "x.regard")
    assert again.names == seen.names
    header = int.from_bytes((tmp_path / "x.regard").read_bytes()[:8], "little")
    assert sum(read) <= 8 + header
    read.clear()
    layer = again[1]
    before = sum(read)  # measures, edges and the tokens
    assert before < 2**15
    assert isinstance(layer.facts, StoredFacts)
    read.clear()
    np.testing.assert_array_equal(layer.entropy, seen[1].entropy)
    assert set(read) == {layer.entropy.nbytes}  # once for its checksum, once for its numbers


def test_damage_is_said_when_it_is_met(tmp_path):
    path = tmp_path / "x.regard"
    seen_by(decoder(torch.float32), 40).save(path)
    entry = regard.load(path)._source.arrays._files["decoder.1.0.entropy"]
    content = bytearray(path.read_bytes())
    content[entry.start] ^= 1
    path.write_bytes(content)
    damaged = regard.load(path)
    assert damaged[0].entropy.shape == (4, 40)
    message = (
        f"{path} is damaged: the numbers of decoder.1.0.entropy are not those that were saved. "
        "Make the file again with seen.save(...)."
    )
    with pytest.raises(FileError) as error:
        damaged[1].entropy.sum()
    assert str(error.value) == message
    with pytest.raises(FileError) as error:
        regard.load(path, verify=True)
    assert str(error.value) == message
    assert regard.load(path, verify=False)[1].entropy.shape == (4, 40)


def test_a_pickled_run_has_every_number_and_no_model(tmp_path):
    seen = seen_by(decoder(torch.float32), 9)
    seen.save(tmp_path / "x.regard")
    once = pickle.loads(pickle.dumps(seen))  # noqa: S301
    loaded = regard.load(tmp_path / "x.regard")
    for used in (once, loaded):  # what was read is pickled with it
        use(used)
        again = pickle.loads(pickle.dumps(used))  # noqa: S301
        assert np.array_equal(again[1].entropy, seen[1].entropy)
        assert np.array_equal(again[1].profile.weight, seen[1].profile.weight)
        assert np.array_equal(again[1].tile(0, 3), seen[1].tile(0, 3))
    with pytest.raises(ArgumentError, match="an experiment needs the model"):
        once.ablate(0, 1)
    assert copy.deepcopy(seen).ablate(0, 1) is not None
    assert pickle.loads(pickle.dumps(seen.picture(0))).svg() == seen.picture(0).svg()  # noqa: S301


def header_of(path):
    """The entries of a file, its header and its arrays as bytes; checksums of the header go."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    entries = json.loads(raw[8 : 8 + size])
    about = json.loads(entries["__metadata__"]["regard"])
    about.pop("header_checksum", None)
    return entries, about, raw[8 + size :]


def write_header(path, entries, about, data):
    text = json.dumps(entries | {"__metadata__": {"regard": json.dumps(about)}}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def fields_of(value, path=()):
    yield path
    pairs = enumerate(value) if isinstance(value, list) else getattr(value, "items", tuple)()
    for key, inner in pairs:
        yield from fields_of(inner, (*path, key))


def use(seen):
    str(seen)
    for key in seen.names:
        layer = seen[key]
        assert layer.entropy.shape == layer.logsumexp.shape
        str(layer), layer.map + 0, layer.received + 0, layer.profile.weight + 0, layer.tile(0, 0)
    seen.report()
    dict(seen.paths)


HOSTILE = (None, True, -1, 10**30, 1.5, float("inf"), "x", [], [[1]], {}, {"a": 1})


def test_a_hostile_header_is_refused_with_one_sentence(tmp_path):
    path, other = tmp_path / "x.regard", tmp_path / "y.regard"
    seen_by(decoder(torch.float32), 9, spans={"a": (0, 3)}).save(path)
    entries, about, data = header_of(path)
    chosen, generator = [], random.Random(0)
    for name, value in about.items():
        some = [(name, *rest) for rest in fields_of(value)]
        chosen += generator.sample(some, min(12, len(some)))
    refused = []
    for field in chosen:
        for value in ("gone", *generator.sample(HOSTILE, 3)):
            changed = json.loads(json.dumps(about))
            inner = changed
            for key in field[:-1]:
                inner = inner[key]
            if value == "gone":
                del inner[field[-1]]
            else:
                inner[field[-1]] = value
            write_header(other, entries, changed, data)
            try:
                use(regard.load(other))
            except RegardError as error:
                refused.append(str(error))
    assert len(refused) > len(chosen)
    assert not any("\n" in message for message in refused)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (("layers", 0, "cost"), "gone", "has no 'cost' in layers[0]"),
        (("layers", 1, "keys"), "many", "must not have 'many' as layers[1].keys"),
        (("spans",), None, "must have a list as spans, got None"),
        (("parts",), [], "must have an object as parts, got []"),
        (("layers",), [], "must have at least one layer, got []"),
        (("sentences",), 10**30, f"must not have {10**30} as sentences"),
        (("sentences",), 0, "must not have 0 as sentences"),
    ],
    ids=str,
)
def test_the_sentence_about_a_hostile_header(field, value, message, tmp_path):
    path = tmp_path / "x.regard"
    seen_by(decoder(torch.float32), 9).save(path)
    entries, about, data = header_of(path)
    inner = about
    for key in field[:-1]:
        inner = inner[key]
    inner[field[-1]] = value
    if value == "gone":
        del inner[field[-1]]
    write_header(path, entries, about, data)
    with pytest.raises(FileError) as error:
        regard.load(path)
    assert str(error.value) == (
        f"{path} is damaged: its header {message}. Make the file again with seen.save(...)."
    )


@pytest.mark.skipif(not hasattr(files, "CHECKSUM_NAME"), reason="headers have no checksum yet")
def test_one_changed_bit_of_the_header_is_noticed(tmp_path):
    path = tmp_path / "x.regard"
    seen_by(decoder(torch.float32), 9).save(path)
    raw = path.read_bytes()
    size = 8 + int.from_bytes(raw[:8], "little")
    for at in range(0, size, 7):
        damaged = bytearray(raw)
        damaged[at] ^= 1 << (at % 7)
        path.write_bytes(damaged)
        with pytest.raises(FileError):
            regard.load(path)
