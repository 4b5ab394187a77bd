"""A sentence into words, words into random vectors."""

import numpy as np
import pytest

from regard.errors import ArgumentError
from regard.text.vectors import random_start, split


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("The cat sat on the mat", ("The", "cat", "sat", "on", "the", "mat")),
        ("Wait, what?", ("Wait", ",", "what", "?")),
        ("l'été  vingt-deux", ("l'été", "vingt-deux")),
        ("</script>", ("<", "/", "script", ">")),
        ("猫 です", ("猫", "です")),
    ],
)
def test_split(sentence, words):
    assert split(sentence) == words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("  ", 8, 0), "sentence must have at least one word, got '  '."),
        (("a", 0, 0), "width must be a whole number from 1 up, got 0."),
        (("a", 8, -1), "seed must be a whole number from 0 up, got -1."),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ArgumentError) as error:
        random_start(*arguments)
    assert str(error.value) == message


def test_the_same_seed_gives_the_same_numbers():
    one, two = random_start("a b", 4, 7), random_start("a b", 4, 7)
    np.testing.assert_array_equal(one.x, two.x)
    np.testing.assert_array_equal(one.w_value, two.w_value)
    assert one.x.min() >= 0
    assert one.x.max() < 1
