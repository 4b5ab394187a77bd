"""Random calls against all the weights in float64, rows of huge numbers, and damaged files.

``make fuzz`` runs as many cases as REGARD_FUZZ_CASES says, from the seed REGARD_FUZZ_SEED on; case
n of seed s is the same wherever it runs, so that a failure is repeated by its seed alone.
"""

import contextlib
import copy
import json

import numpy as np
import pytest
from tests.helpers.attention_facts import MAP, TOP, score_size, specification
from tests.helpers.attention_facts import observed as all_facts
from tests.helpers.attention_plans import ENGINES
from tests.helpers.attention_random import batches, draw_arrays, draw_options, run_batch

from regard.engine.attention import attention
from regard.engine.files import load, open_mapped
from regard.engine.observe import observe, observe_from_logsumexp
from regard.engine.threads import using_threads
from regard.errors import FileError

ROUNDINGS = 64  # as in test_observe.py


def compare(facts, expected, tolerance):
    for name, fact in facts.items():
        right = expected[name]
        size = np.abs(right, where=np.isfinite(right), out=np.zeros(np.shape(right)))
        allowed = tolerance * (1 + size.max(initial=0))
        if fact.dtype == np.float16:
            allowed += np.finfo(np.float16).eps * size.max(initial=0)
        np.testing.assert_allclose(fact, right, rtol=0, atol=allowed, err_msg=name)


def check_call(random, path):
    arrays = draw_arrays(random)
    query, key = arrays[:2]
    options = draw_options(random, query, key)
    engine = ENGINES[random.integers(len(ENGINES))]
    expected = specification(*arrays, **options)
    eps = np.finfo(np.result_type(query, np.float32)).eps
    tolerance = ROUNDINGS * eps * (1 + score_size(query, key, expected, **options))
    requested = {"top": TOP, "map": MAP} | engine.asked
    with engine.in_use(), using_threads(int(random.integers(1, 3))):
        seen = observe(*arrays, **requested, **options)
        np.testing.assert_array_equal(attention(*arrays, **options).shape, seen.output.shape)
        compare({"output": attention(*arrays, **options)}, expected.facts(), tolerance)
        again = observe_from_logsumexp(query, key, seen.logsumexp, **requested, **options)
    for one in (seen, again):
        compare(all_facts(one), expected.facts(), tolerance)
    seen.save(path, query_and_key=not callable(options["mask"]))
    for stored in (load(path), open_mapped(path, verify=True)):
        compare(observed_without_parts(stored), expected.facts(), tolerance)


def observed_without_parts(seen):
    """The facts of a file; what needs query and key where it has them."""
    if seen.parts:
        return all_facts(seen)
    return {name: np.asarray(seen.facts[name]) for name in ("output", "logsumexp")}


LOWEST = (-1e4, -1e9, -1e15, -1e25, -1e30, float(np.finfo(np.float32).min))


def check_huge_numbers(random, path):
    """Scores or masks of any size: what an observation says of its weights fits its tiles."""
    query, key, value = draw_arrays(random)
    options = draw_options(random, query, key)
    shape = (query.shape[-2], key.shape[-2])
    if random.random() < 0.3:
        query = (query * random.choice([1e3, 1e18])).astype(np.float64)
        options["mask"] = None
    else:
        options["mask"] = random.choice([0.0, random.choice(LOWEST)], shape, p=[0.7, 0.3])
        options["mask"][: shape[0] // 2] = random.choice(LOWEST)
        options["mask"] = options["mask"].astype(random.choice(["f4", "f8"]))
    engine = ENGINES[random.integers(len(ENGINES))]
    with engine.in_use(), np.errstate(over="ignore"):
        seen = observe(query, key, value, top=TOP, **engine.asked, **options)
    if not seen.logsumexp.size or not seen.keys:
        return
    weights = seen.tile(slice(None), slice(None)).astype(np.float64)
    live = np.isfinite(seen.logsumexp)
    np.testing.assert_allclose(weights.sum(axis=-1), live, atol=1e-4, err_msg="tile")
    assert (seen.entropy >= 0).all()
    assert (seen.entropy <= np.log(max(1, seen.keys)) + 1e-3).all()
    assert (seen.top().weights <= 1 + 1e-4).all()
    if "received" in seen.facts:
        np.testing.assert_allclose(seen.received.sum(axis=-1), live.sum(axis=-1), rtol=1e-4)


def check_damaged_file(random, path):
    """A few bytes changed anywhere, an end cut off or added: a FileError, never other numbers."""
    query, key, value = draw_arrays(random)
    options = draw_options(random, query, key)
    seen = observe(query, key, value, top=TOP, map=MAP, **options)
    seen.save(path, query_and_key=not callable(options["mask"]))
    content = path.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    for _ in range(8):
        changed = bytearray(content)
        kind = random.integers(4)
        if kind == 0:
            del changed[int(random.integers(len(changed))) :]
        elif kind == 1:
            changed += random.bytes(int(random.integers(1, 20)))
        else:
            end = header if kind == 2 else len(changed)
            for at in random.integers(0, end, int(random.integers(1, 4))):
                changed[at] ^= int(random.integers(1, 256))
        if changed == content:
            continue
        path.write_bytes(changed)
        for read in (load, lambda path: open_mapped(path, verify=True)):
            with pytest.raises(FileError):
                read(path)


HOSTILE = (None, [], {}, "", "x", -1, 1.5, True, [[]], [None], 10**30, -(10**30), 2**63, 1e308)


def check_hostile_header(random, path):
    """Any value in any field, under a checksum that is right: refused, or harmless."""
    query, key, value = draw_arrays(random)
    options = draw_options(random, query, key) | {"mask": None}
    observe(query, key, value, top=TOP, map=MAP, **options).save(path, query_and_key=True)
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    entries = json.loads(content[8:start])
    del entries["__metadata__"]["header_crc32"]
    about = json.loads(entries["__metadata__"]["regard"])
    del about["header_checksum"]
    for _ in range(int(random.integers(1, 3))):
        _change_field(random, random.choice([about, about, entries]))
    with contextlib.suppress(KeyError, TypeError):
        entries["__metadata__"]["regard"] = json.dumps(about)
    text = json.dumps(entries).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[start:])
    for read in (load, open_mapped):
        with contextlib.suppress(FileError):
            str(read(path))


def _change_field(random, inner):
    """Replace one field of nested dicts and lists, at any depth, or remove it."""
    while True:
        places = list(inner) if isinstance(inner, dict) else range(len(inner))
        if not places:
            return
        place = places[random.integers(len(places))]
        if isinstance(inner[place], dict | list) and inner[place] and random.random() < 0.7:
            inner = inner[place]
        elif random.random() < 0.2:
            del inner[place]
            return
        else:
            inner[place] = copy.deepcopy(HOSTILE[random.integers(len(HOSTILE))])
            return


CHECKS = {
    "calls": (check_call, 4),
    "huge numbers": (check_huge_numbers, 4),
    "damaged files": (check_damaged_file, 2),
    "hostile headers": (check_hostile_header, 4),
}


@pytest.mark.parametrize(("kind", "start"), batches(CHECKS))
def test_random_cases(tmp_path, kind, start):
    check, _ = CHECKS[kind]
    run_batch(kind, start, lambda random: check(random, tmp_path / "x.regard"))
