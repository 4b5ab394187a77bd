"""Arguments of a wrong type on watched runs, layers and blocks: one sentence that names them."""

import inspect
import warnings

import numpy as np
import pytest
import torch
from tests.helpers.planted_model import planted_model, planted_tokenizer

import regard
from regard.errors import ArgumentError, RegardError

TEXT = "<s> the river sang . the river slept . a lighthouse sang to green boats in rain ."
WRONG = (None, "x", 3.5, -1, 99, [], ["a"], {}, object(), (1, 2, 3), np.zeros(2), b"x")
SLOW_OR_SHOWN = {"needle", "link_agreement", "show", "picture", "effects", "save"}


@pytest.fixture(scope="module")
def watched():
    model, tokenizer = planted_model(), planted_tokenizer()
    block = regard.watch(model, tokenizer=tokenizer, keep="all", spans={"a": (0, 3)})
    with torch.no_grad(), block as seen:
        model(**tokenizer(TEXT, return_tensors="pt"))
    return {"seen": seen, "layer": seen[0], "block": block}


def calls(owner):
    """Every parameter of every public method, with something else in place of its value."""
    for name, method in inspect.getmembers(owner, inspect.ismethod):
        if name.startswith("_") or name in SLOW_OR_SHOWN:
            continue
        parameters = inspect.signature(method).parameters.values()
        required = {x.name: "river" for x in parameters if x.default is x.empty}
        for chosen in parameters:
            for wrong in WRONG:
                if chosen.kind is chosen.VAR_POSITIONAL:
                    yield method, (wrong,), {}
                elif chosen.kind is not chosen.VAR_KEYWORD:
                    several = [x.name for x in parameters if x.kind is x.VAR_POSITIONAL]
                    given = required | {chosen.name: wrong}
                    yield method, (), {x: y for x, y in given.items() if x not in several}


@pytest.mark.parametrize("name", ["seen", "layer", "block"])
def test_a_wrong_argument_is_named_or_taken(watched, name):
    raw, said = [], 0
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        for method, arguments, keywords in calls(watched[name]):
            try:
                method(*arguments, **keywords)
            except RegardError:
                said += 1
            except Exception as error:
                raw.append((method.__name__, arguments, keywords, repr(error)))
    assert raw == []
    assert said > 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda seen: seen[0].tile(0, 0, "x"),
            "head must be a whole number, several of a whole number or None, got 'x'.",
        ),
        (
            lambda seen: seen.run("x"),
            "number must be a whole number, got 'x'.",
        ),
        (lambda seen: seen.patch("x"), "other must be a watched run (Seen), got 'x'."),
        (lambda seen: seen[0].span(7, 0), "span must be a number below 1, as many as were given "
         "to watch, got 7."),
    ],
)  # fmt: skip
def test_the_sentence_about_a_wrong_argument(watched, call, message):
    with pytest.raises(ArgumentError) as error:
        call(watched["seen"])
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": None}, "layers must be 'all' or numbers of layers, counted from 0, got None."),
        ({"keep": 1.5}, "keep must be 'all' or numbers of layers, counted from 0, got 1.5."),
        ({"top": True}, "top must be a whole number from 0 up, got True."),
        ({"spans": 3}, "spans must be {name: (start, stop)} or {name: text}, several "
         "(start, stop), the messages of a chat, or 'lines', got 3."),
        ({"spans": [1]}, "spans must be (start, stop) in tokens, 0 <= start < stop, got 1 for "
         "'0'."),
        ({"tokenizer": 3}, "tokenizer must be one of transformers, got 3."),
        ({"progress": 3}, "progress must be a function of a layer, got 3."),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_options_of_watch(options, message):
    with pytest.raises(ArgumentError) as error:
        regard.watch(planted_model(), **options)
    assert str(error.value) == message
