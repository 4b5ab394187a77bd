"""Random calls, requests, names and files of watched runs: an answer, or one sentence of regard.

As tests/engine/test_fuzz.py, which tries arrays: ``make fuzz`` runs more cases, from another seed.
"""

import inspect
import json
import re
import warnings
from contextlib import suppress
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from tests.helpers.attention_random import batches, run_batch
from tests.helpers.planted_model import planted_model, planted_tokenizer
from tests.helpers.small_training import Model, Training

import regard
from regard.errors import FileError, RegardError
from regard.monitoring.folder import History
from regard.transformer.model import Transformer
from regard.view.page.answers import Sources, Stop
from regard.view.page.embed import offline_page
from regard.view.page.readings import Readings
from regard.view.page.routes import all_answers
from regard.view.page.routes.monitor import training_about
from regard.view.terminal.monitor import summary

SENTENCE = "A dog ate the food because it was hungry"
TEXT = "<s> the river sang . the river slept . a lighthouse sang to green boats in rain ."
X = np.random.default_rng(0).standard_normal((2, 9, 4))


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """Whatever has public methods, and a table of answers about files of each kind."""
    folder = tmp_path_factory.mktemp("things")
    model, tokenizer = planted_model(), planted_tokenizer()
    block = regard.watch(model, tokenizer=tokenizer, keep="all", spans={"a": (0, 3)})
    with torch.no_grad(), block as seen:
        model(**tokenizer(TEXT, return_tensors="pt"))
    small = Transformer.random(SENTENCE, layers=2, heads=2, width=16)
    reading = regard.read(SENTENCE, model=small)
    seen.save(folder / "run.regard")
    regard.observe(X, X, X, map=4).save(folder / "observed.regard", query_and_key=True)
    training = Training(Model())
    with regard.monitor(training.model, every=1, to=folder / "training") as monitor:
        training.step()
    files = [folder / "run.regard", folder / "observed.regard"]
    return {
        "owners": [
            seen, seen[0], block, reading, reading.ablate(0, 1), reading.steps(0, 0),
            reading.observe(0), regard.observe(X, X, X), reading.picture(), seen.report(), monitor,
            monitor.last, monitor.history(),
        ],
        "answers": all_answers(Sources(Readings(small), files, [folder / "training"])),
        "run": files[0].read_bytes(),
        "training": {x.name: x.read_bytes() for x in (folder / "training").iterdir()},
    }  # fmt: skip


ODD = (
    None, "", "x", "it", b"x", -1, 0, 1, 99, 10**30, 1.5, float("nan"), True, 1j, [], ["a"], [0, 1],
    [["a"]], {}, {"a": 1}, (), (1, 2), (1, 2, 3), {1, 2}, object(), slice(0, 2), np.zeros(2),
    np.array("dog"), np.int64(1), torch.zeros(2),
)  # fmt: skip
FUNCTIONS = (
    regard.attention, regard.observe, regard.observe_from_logsumexp, regard.self_attention,
    regard.merge, regard.load, regard.load_model, regard.watch, regard.monitor,
)  # fmt: skip
FITTING = {
    "query": X, "key": X, "value": X, "logsumexp": np.zeros((2, 9)), "x": np.eye(3), "word": "it",
    "w_query": np.eye(3), "w_key": np.eye(3), "w_value": np.eye(3), "other": "dog", "to": "food",
    "model": Model(), "layer": 0, "head": 0, "old": "dog", "new": "cat", "stage": "scores",
}  # fmt: skip
SLOW_OR_SHOWN = {"needle", "link_agreement", "show", "save", "effects", "worksheet"}


def check_odd_call(random, path, things):
    """Any public method or function with something else in place of some of its arguments."""
    at = random.integers(len(things["owners"]) + 2)
    if at >= len(things["owners"]):
        call = FUNCTIONS[random.integers(len(FUNCTIONS))]
    else:
        methods = inspect.getmembers(things["owners"][at], inspect.ismethod)
        public = [x for name, x in methods if name[0] != "_" and name not in SLOW_OR_SHOWN]
        call = public[random.integers(len(public))]
    parameters = [
        x for x in inspect.signature(call).parameters.values()
        if x.kind not in (x.VAR_KEYWORD, x.VAR_POSITIONAL)
    ]  # fmt: skip
    given = {x.name: FITTING.get(x.name, 0) for x in parameters if x.default is x.empty}
    for chosen in random.permutation(len(parameters))[: random.integers(1, 3)]:
        given[parameters[chosen].name] = ODD[random.integers(len(ODD))]
    with warnings.catch_warnings(), torch.no_grad(), suppress(RegardError):
        warnings.simplefilter("ignore")
        try:
            call(**given)
        except Exception as error:
            error.add_note(f"{call.__qualname__}({given})")
            raise


FIELDS = {
    "sentence": [SENTENCE, "It's"], "part": ["encoder", "decoder", "cross"], "layer": [0, 1],
    "head": [0, 1], "query": [0, 3], "key": [0, 2], "training": [0], "quick": [True, False],
    "show": ["head", "layer", "all", "rollout"], "of": [0, 3], "against": [1], "view": ["read"],
    "position": [True, False], "state": [{}], "page": ["look", "heads"], "measure": ["entropy"],
    "path": [[]], "side": ["query", "key"], "from": [0], "to": [4], "rows": [[0, 4]],
    "columns": [[0, 4]], "cells": [[8, 8]], "thorough": [True], "sqrt": [True], "most": [1.0],
    "chosen": [[0]], "queries": [["A", "b"]], "keys": [["A", "b"]], "axes": [["from", "to"]],
    "weights": [[[1, 0], [0.5, 0.5]]], "title": ["x"], "kind": ["lines"], "choice": [True, False],
    "changes": [[{"change": "ablate", "part": "encoder", "layer": 0, "head": 1}]], "mm": [80],
    "steps": ["AAB//w=="], "caption": [""], "provenance": [""], "what": ["weights"],
}  # fmt: skip
RARELY = {"file": [0, 1], "example": ["good", "cat"]}  # in place of a sentence
WITHOUT_FIELDS = {"/api/export/learn", "/api/examples", "/api/page"}
HOSTILE = (
    None, [], {}, "", "x", "\x00", "</script>", -1, 1.5, True, [[]], [None], [{}], 10**30, 2**63,
    1e308, "a" * 5000, {"change": []}, [{"change": []}], [[1, "a"]], [-1, 10**9],
)  # fmt: skip


def check_request(random, path, things):
    """Any route with fields that fit, but for one or two."""
    table = things["answers"]
    route = str(random.choice(sorted(table.keys() - WITHOUT_FIELDS)))
    rarely = RARELY if "map" in route or random.random() < 0.2 else {}
    fields = {x: fits[random.integers(len(fits))] for x, fits in (FIELDS | rarely).items()}
    for name in random.choice(list(fields), random.integers(0, 4)):
        fields[str(name)] = HOSTILE[random.integers(len(HOSTILE))]
    for name in random.choice(list(fields), random.integers(0, 4)):
        fields.pop(str(name), None)
    with suppress(RegardError):
        try:
            assert table[route](fields, Stop()).status == 200
        except Exception as error:
            error.add_note(f"{route} {json.dumps(fields)}")
            raise


NAMES = (
    "</script>", "<img src=x onerror=alert(1)>", "<!--", "]]>", "&lt;", "&", '"', "'", "`", "${x}",
    "\\", "\x00", "\x1b[2J", "\r\n", "\t", "\u2028", "\u202e", "\u200d", "\ufeff", "\ue000",
    "\U0001f600", "e\u0301", "ﬁ", "½", "™", "javascript:alert(1)", "../../x", "%s", "{0}", "$x_1$",
    "=1+1", " ", "a", "dog", "é", "", "\x7f", "\x9b", "\ufffe", "--", "://", "\u0130",
    "\ud83d",
)  # fmt: skip


class Elements(HTMLParser):
    """The names of all elements of a page, and of their attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found |= {tag, *(f"{tag} {name}" for name, _ in attributes)}


def check_hostile_names(random, path, things):
    """Any text as a word stays text: in a terminal, in pictures, pages and files."""
    words = ["".join(random.choice(NAMES, random.integers(1, 5))) for _ in range(4)]
    steps = regard.self_attention(np.eye(4), np.eye(4), np.eye(4), np.eye(4), words=words)
    told = regard.observe(X[0, :4], X[0, :4], X[0, :4]).picture(words=words, title=words[0])
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", str(steps))
    for picture in (steps.picture(), told):
        root = ElementTree.fromstring(picture.svg())  # noqa: S314 (our own)
        assert {x.tag.rpartition("}")[2] for x in root.iter()}.isdisjoint({"script", "img", "a"})
    if random.random() < 0.05:  # 0.7 MB each
        page, plain = (offline_page(x) for x in (steps, plain_steps()))
        assert page.count("<script") == plain.count("<script")
        assert Elements(page).found == Elements(plain).found
    with suppress(RegardError):
        str(regard.read(" ".join(words), model=things["owners"][3].model))


def plain_steps():
    return regard.self_attention(np.eye(4), np.eye(4), np.eye(4), np.eye(4), words=list("abcd"))


def damaged(random, content, end=None):
    """Content cut off, longer, or with a few bytes changed before ``end``."""
    changed, kind = bytearray(content), random.integers(4)
    if kind == 0:
        del changed[int(random.integers(len(changed))) :]
    elif kind == 1:
        changed += random.bytes(int(random.integers(1, 20)))
    else:
        for at in random.integers(0, end or len(changed), random.integers(1, 4)):
            changed[at] ^= int(random.integers(1, 256))
    return changed


def check_damaged_run(random, path, things):
    """A few bytes of a watched run's file changed, cut off or added: a FileError."""
    header = 8 + int.from_bytes(things["run"][:8], "little")
    changed = damaged(random, things["run"], header if random.random() < 0.4 else None)
    if changed != things["run"]:
        path.write_bytes(changed)
        with pytest.raises(FileError):
            regard.load(path, verify=True)


def check_damaged_training(random, path, things):
    """The same in the folder of a training: shown without its damaged records, or a FileError."""
    for name, content in things["training"].items():
        (path.parent / name).write_bytes(
            content if random.random() < 0.5 else damaged(random, content)
        )
    with suppress(FileError):
        history = History.load(path.parent)
        assert summary(history)
        json.dumps([history.to_dict(), training_about(history)], allow_nan=False)
        assert np.isin(history["entropy"], things["owners"][-1]["entropy"]).all()


CHECKS = {
    "odd calls": (check_odd_call, 2),
    "requests": (check_request, 4),
    "hostile names": (check_hostile_names, 1),
    "damaged runs": (check_damaged_run, 4),
    "damaged trainings": (check_damaged_training, 2),
}


@pytest.mark.parametrize(("kind", "start"), batches(CHECKS))
def test_random_cases(tmp_path, things, kind, start, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a name without a folder is a file, or a folder, here
    check, _ = CHECKS[kind]
    run_batch(kind, start, lambda random: check(random, tmp_path / "x.regard", things))
