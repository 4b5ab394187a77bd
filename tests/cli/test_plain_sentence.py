"""A sentence without options: the same page, the same errors, and no parser."""

import pytest

from regard.cli import main
from regard.transformer.checkpoint import SHIPPED

SENTENCE = "A dog ate the food because it was hungry"


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as leaving:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(leaving.value.code or 0), captured.out, captured.err


def test_the_page_is_that_of_the_command_with_options(capsys):
    plain = run(capsys, SENTENCE)
    assert plain == run(capsys, "read", SENTENCE)
    assert plain == run(capsys, SENTENCE, "--model", str(SHIPPED))
    assert plain[0] == 0


@pytest.mark.parametrize("sentence", ["", "   ", "word " * 300], ids=["empty", "blank", "long"])
def test_the_errors_are_those_of_the_command_with_options(capsys, sentence):
    plain = run(capsys, "read", sentence)
    assert plain == run(capsys, sentence, "--model", str(SHIPPED))
    assert plain[:2] == (2, "")
    assert plain[2].startswith("error: a sentence needs at ")


@pytest.mark.parametrize("argument", ["inf", "chekc", "worksheets", "check it", "surveyed"])
def test_a_misspelled_command_is_no_sentence(capsys, argument):
    status, _, error = run(capsys, argument)
    assert status == 2
    assert f"error: there is no command {argument!r}; did you mean" in error


def test_an_option_alone_is_refused_as_one(capsys):
    status, _, error = run(capsys, "--nonsense")
    assert status == 2
    assert "No such option: --nonsense" in error
