"""The page's cache of readings: bounded by the bytes that readings really hold."""

import gc
import tracemalloc

import numpy as np
import pytest

from regard import read
from regard.transformer.model import Transformer
from regard.view.page import readings as module
from regard.view.page.readings import Readings, as_page, reachable_bytes, reachable_ids

SENTENCE = "A dog ate the food because it was hungry"
MODEL = Transformer.random(SENTENCE, layers=2, heads=2, width=16)


def nothing() -> None:
    """A step that goes on."""


def test_the_least_recently_used_go_first(monkeypatch):
    readings = Readings(MODEL)
    one = reachable_bytes(readings.read("A dog", nothing, quick=True), reachable_ids(MODEL))
    monkeypatch.setattr(module, "MAX_CACHE_BYTES", int(2.5 * one))
    for sentence in ("the food", "A dog", "it was"):
        readings.read(sentence, nothing, quick=True)
    assert list(readings._cache) == [("A dog", True), ("it was", True)]
    assert readings.read("it was", nothing, quick=True) is readings._cache["it was", True]


def test_however_large_the_last_reading_is_there(monkeypatch):
    monkeypatch.setattr(module, "MAX_CACHE_BYTES", 1)
    readings = Readings(MODEL)
    for sentence in ("A dog", "the food"):
        readings.read(sentence, nothing)
    assert list(readings._cache) == [("the food", False)]


def test_the_bound_holds_however_many_sentences_come(monkeypatch):
    readings = Readings(MODEL)
    words = SENTENCE.split()
    readings.read(SENTENCE, nothing, quick=True)
    bound = 6 * readings.bytes
    monkeypatch.setattr(module, "MAX_CACHE_BYTES", bound)
    for first in range(60):
        sentence = " ".join(words[(first * step) % 9] for step in range(1, 10))
        as_page(readings.read(f"{sentence} {first}", nothing, quick=True), quick=True)
        assert readings.bytes <= bound
    assert 1 < len(readings._cache) < 60
    assert readings._sizes.keys() == readings._cache.keys()


def test_what_a_reading_computes_later_counts_too():
    readings = Readings(MODEL)
    reading = readings.read(SENTENCE, nothing)
    before = readings.bytes
    as_page(reading)
    assert readings.read(SENTENCE, nothing) is reading
    assert readings.bytes > before


@pytest.mark.parametrize("quick", [False, True])
def test_a_reading_is_measured_by_what_it_holds(quick):
    model = Transformer.random(SENTENCE, layers=3, heads=4, width=64)
    readings = Readings(model)
    readings.read("dog", nothing, quick=quick)  # what is made once for all readings
    gc.collect()
    tracemalloc.start()
    reading = readings.read(SENTENCE, nothing, quick=quick)
    as_page(reading, quick=quick)
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    measured = reachable_bytes(reading, reachable_ids(model))
    # The allocator's own records, and what the interpreter keeps of a first call, are not its.
    assert 0.8 * held <= measured <= 1.05 * held


def test_shared_arrays_count_once():
    array = np.zeros((100, 100))
    alone = reachable_bytes(array)
    assert alone >= array.nbytes
    assert reachable_bytes([array, array.T, array[3]]) < alone + 1000


def test_a_reading_can_be_interrupted():
    class GoneError(Exception):
        pass

    steps = []

    def ask() -> None:
        steps.append(1)
        if len(steps) == 4:
            raise GoneError

    with pytest.raises(GoneError):
        Readings(MODEL).read(SENTENCE, ask)
    assert len(steps) == 4


def test_the_page_is_told_how_sure_the_head_is_and_what_not_to_trust():
    reading = read("I GAVE THE DOG 3 BONES BECAUSE IT WAS HUNGRY")
    page = as_page(reading)
    shown = reading.highlight()
    assert (page["highlight"]["doubt"], page["highlight"]["accuracy"]) == (
        shown.doubt, shown.accuracy,
    )  # fmt: skip
    assert shown.doubt in ("sure", "in doubt")
    assert page["notes"] == list(reading.notes)
    assert page["notes"][0].startswith("Read as 'I gave the dog 3 bones because it was hungry'")
