"""The command: a page for people, JSON for programs, one line for what cannot be read."""

import json

import pytest

SENTENCE = "A dog ate the food because it was hungry"


def test_a_sentence_gets_a_page_that_fits_a_pipe(run):
    status, out, _ = run(SENTENCE)
    assert status == 0
    assert out.startswith(SENTENCE)
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert "it looks at " in out
    assert "Attention is evidence, not explanation" in out


def test_the_head_that_was_asked_for_is_shown(run):
    _, out, _ = run(SENTENCE, "--layer", "2", "--head", "1", "--from", "dog")
    assert "dog looks at" in out
    assert "Layer 2, head 1, in %: row looks at column" in out


def test_tokens_are_shown_when_asked_for(run):
    _, out, _ = run("The unknowable dog", "--tokens")
    assert "+" in out.split("in %")[1]


def test_json_is_strict_and_whole(run):
    _, out, _ = run(SENTENCE, "--json")
    told = json.loads(out)
    assert told["sentence"] == SENTENCE
    assert len(told["weights"]["encoder"]) == 3
    assert told["words"][-1] == "(end)"


def test_a_long_sentence_becomes_bars(run):
    _, out, _ = run("the cold water was good and " * 6 + "it was happy")
    assert max(map(len, out.splitlines())) <= 80
    assert "#" in out


MISTAKES = {
    "nothing": (("\n",), "error: a sentence needs at least one word"),
    "no such word": ((SENTENCE, "--from", "cat"), "error: 'cat' needs to be one of the words read"),
    "no such layer": ((SENTENCE, "--layer", "3"), "error: layer needs a number from 0 to 2"),
    "head alone": ((SENTENCE, "--head", "0"), "error: head needs a layer"),
    "too long": (("dog " * 10_000,), "error: a sentence needs at most 256 tokens"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_one_line_and_status_2(run, mistake):
    arguments, message = mistake
    status, out, error = run(*arguments)
    assert (status, out) == (2, "")
    assert error.startswith(message)
    assert error.count("\n") == 1
