"""Numbers of an English sentence against those of its French translation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_GROUPS = ".,'\u2019 \u00a0\u202f"  # what may stand between the digits of one number
_CHAIN = re.compile(rf"\d+(?:[{_GROUPS}-]\d+)*")
_THOUSANDS = re.compile(rf"[1-9]\d{{0,2}}(?:([{_GROUPS}])\d{{3}})(?:\1\d{{3}})*")
_DECIMAL = re.compile(r"(.*)[.,](\d+)")
_ISO_DATE = re.compile(r"(19|20)\d\d-\d\d-\d\d")
_SHORT_TELEPHONE = re.compile(r"\d{3}-\d{4}")
_TELEPHONE = 7  # digits at least, in three groups or more
_POINT_TIME = re.compile(r"(\d{1,2})\.(\d\d)(?= ?[ap]\.?m\b)", re.IGNORECASE)
_FULL_HOUR = re.compile(r"(?<=\d):00\b|(?<=\dh)00\b|(?<=\d h )00\b")
_AFTER_HOUR = re.compile(r"(:\d\d)?(?: ?([ap])\.?m\b)?", re.IGNORECASE)
_ROMAN = re.compile(r"\b[IVX]+(?=e\b|\u00e8me\b)")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10}


def _words(text: str) -> list[str]:
    return text.split()


_ENGLISH_NUMBERS = frozenset(
    _words(
        """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
        hundred thousand million billion hundreds thousands millions dozen dozens half quarter
        noon midnight once twice first second third fourth fifth sixth seventh eighth ninth tenth
        twentieth o'clock"""
    )
)
_TO_SIXTEEN = _words(
    """z\u00e9ro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze
    quinze seize"""
)
_FRENCH_NUMBERS = {word: value for value, word in enumerate(_TO_SIXTEEN)} | {
    "une": 1, "premier": 1, "premi\u00e8re": 1, "vingt": 20, "vingts": 20, "trente": 30,
    "quarante": 40, "cinquante": 50, "soixante": 60, "septante": 70, "nonante": 90, "midi": 12,
    "minuit": 0, "quart": 15, "demi": 30, "demie": 30,
}  # fmt: skip
_FRENCH_POWERS = {"mille": 10**3, "million": 10**6, "millions": 10**6, "milliard": 10**9,
                  "milliards": 10**9}  # fmt: skip
_FRENCH_SCALES = {"cent", "cents", *_FRENCH_POWERS}
_POWERS = _FRENCH_POWERS | {"k": 10**3, "thousand": 10**3, "billion": 10**9}
_SCALE = re.compile(rf"[\s-]?({'|'.join(_POWERS)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Numeral:
    """A number as it is written in a text, and every value that it may have, as digits.

    8 pm is 8 or 20, the 1980s are 1980 or 80.
    """

    written: str
    values: frozenset[str]


def changed_numerals(english: str, french: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The numbers in digits that a translation lacks, and those that it has and should not.

    Thousands may be separated by commas, points or spaces, and decimals by a point or a comma. In
    French a number may also be written out in words, and a time of the afternoon in 24 hours.
    Where the English writes no digits, or a number in words too, further digits in the French are
    no mistake: the eleventh of June is le 11 juin.

    >>> changed_numerals("1,250.50 dollars at 8 pm", "1 250,50 dollars \u00e0 20 h")
    ((), ())
    >>> changed_numerals("1,000,000 dollars", "1 000 dollars")
    (('1,000,000',), ('1 000',))
    >>> changed_numerals("1/2 litre and 3 eggs", "12 litres et trois \u0153ufs")
    (('1', '2'), ('12',))
    """
    given, digits, words = [*numerals(english)], [*numerals(french)], [*_in_words(french)]
    lost = []
    for numeral in given:
        for others in (digits, words):
            same = next((x for x in others if x.values & numeral.values), None)
            if same is not None:
                others.remove(same)
                break
        else:
            lost.append(numeral.written)
    in_words = _ENGLISH_NUMBERS.intersection(re.findall(r"[a-z']+", english.lower()))
    return tuple(lost), tuple(x.written for x in digits if given and not in_words)


def numerals(text: str) -> Iterator[Numeral]:
    """The numbers of a text that are written in digits.

    >>> [x.written for x in numerals("From 9:30 to 10.30 am, 2,500 people, room 12-14")]
    ['9', '30', '10', '30', '2,500', '12', '14']
    """
    text = _FULL_HOUR.sub("", _POINT_TIME.sub(r"\1:\2", text))
    for found in _CHAIN.finditer(text):
        for written in _separate(found[0]):
            yield Numeral(written, frozenset(_values(written, text[found.end() :])))


def _separate(chain: str) -> Iterator[str]:
    """The numbers in digits that separators join: a telephone number is one."""
    groups = re.split(r"\D", chain)
    is_long = len(groups) >= 3 and sum(map(len, groups)) >= _TELEPHONE and "," not in chain
    if (is_long and not _ISO_DATE.fullmatch(chain)) or _SHORT_TELEPHONE.fullmatch(chain):
        yield chain
        return
    for part in chain.split("-"):
        yield from [part] if _is_number(part) else _by_spaces(part)


def _by_spaces(text: str) -> Iterator[str]:
    for part in re.split(rf"[{_GROUPS[2:]}]", text):
        yield from [part] if _is_number(part) else re.split(r"\D", part)


def _is_number(text: str) -> bool:
    """Whether digits with separators are one number: thousands, decimals, or both."""
    decimal = _DECIMAL.fullmatch(text)
    whole = decimal[1] if decimal else text
    return any(x.isdigit() or bool(_THOUSANDS.fullmatch(x)) for x in (text, whole))


def _values(written: str, following: str) -> Iterator[str]:
    """The values that a number may have, given the text that follows it."""
    value = _value(written)
    yield value
    if not value.isdigit():
        return
    if int(value) <= 12:
        yield from _hours(int(value), following)
    if len(value) == 4 and re.match(r"s\b", following):
        yield value[2:]
    scale = _SCALE.match(following)
    if scale:
        yield str(int(value) * _POWERS[scale[1].lower()])


def _hours(value: int, following: str) -> Iterator[str]:
    """The hours of a day that a number up to 12 may be, where it is a time."""
    found = _AFTER_HOUR.match(following)
    minutes, half = found.groups() if found else ("", "")
    if (half or "").lower() == "a":
        yield str(value % 12)
    elif half or minutes:
        yield str(value % 12 + 12)


def _value(written: str) -> str:
    """Digits without separators of thousands, a point for the decimals, no zeros around.

    >>> [_value(x) for x in ("1,000,000", "1 000,50", "3.5", "007", "0,125")]
    ['1000000', '1000.5', '3.5', '7', '0.125']
    """
    decimal = _DECIMAL.fullmatch(written)
    if decimal is None or _THOUSANDS.fullmatch(written) or not _is_number(written):
        whole, decimals = written, ""
    else:
        whole, decimals = decimal[1], decimal[2].rstrip("0")
    whole = re.sub(r"\D", "", whole).lstrip("0") or "0"
    return f"{whole}.{decimals}" if decimals else whole


def _in_words(french: str) -> Iterator[Numeral]:
    """Numbers that a French text writes in words, or as the Roman number of a century."""
    for found in _ROMAN.finditer(french):
        yield Numeral(found[0], frozenset([str(_roman(found[0]))]))
    run: list[str] = []
    for word in [*re.findall(r"\w+|[^\w\s-]", french.lower()), ""]:
        number = _cardinal(word)
        if number:
            run.append(number)
        elif run and word != "et":
            yield Numeral(" ".join(run), frozenset([str(_spelled(run))]))
            run = []


def _cardinal(word: str) -> str:
    """The number word that a French word is, or is the ordinal of; else nothing.

    >>> [_cardinal(x) for x in ("douze", "douzi\u00e8me", "cinqui\u00e8me", "chats")]
    ['douze', 'douze', 'cinq', '']
    """
    stem = word.removesuffix("i\u00e8me")
    known = (word,) if stem == word else (stem, f"{stem}e", stem.removesuffix("u"))
    return next((x for x in known if x in _FRENCH_NUMBERS or x in _FRENCH_SCALES), "")


def _spelled(words: Iterable[str]) -> int:
    """The number that French words spell: quatre vingt dix is 90, deux mille trois is 2003."""
    total = part = 0
    for word in words:
        if word in _FRENCH_POWERS:
            total, part = total + (part or 1) * _FRENCH_POWERS[word], 0
        elif word in ("cent", "cents"):
            part = (part or 1) * 100
        elif word in ("vingt", "vingts") and part % 100 == 4:
            part += 76
        else:
            part += _FRENCH_NUMBERS[word]
    return total + part


def _roman(text: str) -> int:
    values = [_ROMAN_DIGITS[x] for x in text]
    after = [*values[1:], 0]
    return sum(-x if x < y else x for x, y in zip(values, after, strict=True))
