"""Words that were hardly met, told from names, numbers and endings."""

import pytest

from regard.text.met_words import MET_WORDS, NO_WORDS, MetWords

MET = MetWords("\n" + "\n".join(["believe", "can't", "dog", "it's", "known", "tom", "well"]) + "\n")


@pytest.mark.parametrize(
    "word",
    ["dog", "Dog", "DOG", "can't", "Tom's", "dog'll", "well-known", "I", "B", "a", "3rd", "12:30",
     "$2.50", "7pm", "1980s", ",", "..."],
)  # fmt: skip
def test_a_word_that_was_met(word):
    assert MET.hardly_met([word]) == ()


@pytest.mark.parametrize(
    "word", ["beleive", "cant", "u", "2nite", "well-beleived", "Okonkwo", "do"]
)
def test_a_word_that_was_not(word):
    assert MET.hardly_met([word, word]) == (word,)


def test_a_part_of_a_line_is_no_word():
    assert MET.hardly_met(["belie", "lieve"]) == ("belie", "lieve")


def test_a_folder_without_the_list_says_nothing(tmp_path):
    assert MetWords.from_folder(tmp_path) == NO_WORDS
    assert NO_WORDS.hardly_met(["beleive"]) == ()
    (tmp_path / MET_WORDS).write_text("# Words\ndog\n", encoding="utf-8")
    assert MetWords.from_folder(tmp_path).hardly_met(["dog", "beleive"]) == ("beleive",)
