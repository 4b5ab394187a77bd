"""Generated sentences with numbers: the digits of both languages are the same."""

import re

from quantities.generator import number_pairs
from regard.text.numerals import changed_numerals


def digits(text):
    return "".join(re.findall(r"\d", text))


def test_the_digits_are_copied_in_order():
    pairs = number_pairs(3_000, seed=1)
    assert all(digits(source) for source, _ in pairs)
    # A date may stand in another order: 'March 3' is '3 mars', and so is 'March 3, 2021'.
    assert all(digits(source) == digits(target) for source, target in pairs)
    assert len({re.sub(r"\d+", "0", source) for source, _ in pairs}) > 300


def test_no_number_counts_as_changed():
    changed = [x for x in number_pairs(3_000, seed=2) if any(changed_numerals(*x))]
    assert len(changed) <= 30, changed[:5]  # the reader of numerals has its own doubts


def test_numbers_are_written_as_each_language_does():
    text = dict(number_pairs(3_000, seed=3))
    grouped = [x for x in text.items() if re.search(r"\d,\d{3}\b", x[0])]
    assert grouped
    assert all(re.search(r"\d \d{3}\b", french) for _, french in grouped)
    times = [x for x in text.items() if re.search(r"\b\d+:\d\d\b", x[0])]
    assert times
    assert all(re.search(r"\d h \d\d", french) for _, french in times)
