"""Numbers of an English sentence against those of its French translation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

_GROUPS = ".,'\u2019 \u00a0\u202f"  # what may stand between the digits of one number
_FRACTION = re.compile(r"(?<![\d/])(?:\d+ )?\d+/\d+(?![\d/])")  # 1/2, 1 1/2
_JOINED = re.compile(r"(?:\d+ )?\d+(?:/\d+)+")  # fractions, 1 1/2, dates
_CHAIN = re.compile(rf"\d+(?:[{_GROUPS}-]\d+)*")
_THOUSANDS = re.compile(rf"[1-9]\d{{0,2}}(?:([{_GROUPS}])\d{{3}})(?:\1\d{{3}})*")
_DECIMAL = re.compile(r"(.*)[.,](\d+)")
_ISO_DATE = re.compile(r"(19|20)\d\d-\d\d-\d\d")
_SHORT_TELEPHONE = re.compile(r"\d{3}-\d{4}")
_TELEPHONE = 7  # digits at least, in three groups or more
_VERSION = re.compile(r"\d+(?:\.\d+){2,}")  # 3.11.4 is a name; 1.000.000 is a number
_POINT_TIME = re.compile(r"(\d{1,2})\.(\d\d)(?= ?[ap]\.?m\b)", re.IGNORECASE)
_FULL_HOUR = re.compile(r"(?<=\d):00\b|(?<=\dh)00\b|(?<=\d h )00\b")
_AFTER_HOUR = re.compile(r"(:\d\d)?(?: ?([ap])\.?m\b)?", re.IGNORECASE)
_PER_CENT = re.compile(r"\b(?:pour|p\.) ?(?:cent|100)\b")
_SEPARATORS = f"{_GROUPS}/-"
_UNFINISHED = re.compile(rf"\d+(?:[{_SEPARATORS}]\d+)*[{_SEPARATORS}]?$")
_SPACE = re.compile(r"\s")
_HALF_DAY = re.compile(r"\d ?[ap]\.?m\b", re.IGNORECASE)
# Numbers in words that a translation may have though the sentence has none: un, demi, quart ...
_COMMON = frozenset(["0", "1", "15", "30", "1/2", "1/3", "1/4"])
_COMMON_WORDS = frozenset(["one", "once", "first", "half", "quarter"])
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
_FRENCH_FRACTIONS = {"demi": "1/2", "demie": "1/2", "moiti\u00e9": "1/2", "tiers": "1/3",
                     "quart": "1/4"}  # fmt: skip
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
    (('1/2',), ('12',))
    """
    lost, digits, _ = _unmatched(english, french)
    if _number_words(english) or not any(x.isdigit() for x in english):
        digits = []
    return tuple(x.written for x in lost), tuple(x.written for x in digits)


@dataclass(frozen=True)
class NumeralGuard:
    """Tells which French texts can become a translation with all numbers of an English sentence.

    It is stricter than `changed_numerals`: numbers must be written as French writes them.

    >>> guard = NumeralGuard("It costs 1,000,000 dollars.")
    >>> [guard.allows(f"\u00c7a co\u00fbte {x}") for x in ("1 000", "1 000 dollars", "1,0", "deux")]
    [True, False, False, False]
    >>> [guard.allows_end(f"\u00c7a co\u00fbte {x} dollars") for x in ("des", "1 000 000")]
    [False, True]
    """

    english: str

    def allows(self, beginning: str) -> bool:
        """Whether the numbers of a beginning are the sentence's; its last one may be unfinished."""
        found = _UNFINISHED.search(beginning)
        finished = beginning[: found.start()] if found else beginning
        return self._has_no_others(finished) and (not found or self._may_become_one(found[0]))

    def allows_end(self, french: str) -> bool:
        """Whether a text has all numbers of the sentence, and no others in digits."""
        lost, digits, _ = _unmatched(self.english, french)
        return not lost and not digits

    def _has_no_others(self, text: str) -> bool:
        if text not in self._known:
            _, digits, words = _unmatched(self.english, text)
            others = {x for word in words for x in word.values} - _COMMON
            has_words = _number_words(self.english) - _COMMON_WORDS
            self._known[text] = not digits and (bool(has_words) or not others)
        return self._known[text]

    def _may_become_one(self, text: str) -> bool:
        plain = _SPACE.sub(" ", text)
        return plain.rstrip(_SEPARATORS) in self._forms or any(
            x.startswith(plain) for x in self._forms
        )

    @cached_property
    def _forms(self) -> set[str]:
        """The sentence's numbers as French writes them; telephone numbers and dates as they are."""
        given = _JOINED.sub(" / ", self.english)
        chains = {x[0] for x in _CHAIN.finditer(given)}
        forms = {x for x in chains if x.isdigit() or not _is_number(x)}
        forms.update(_JOINED.findall(self.english))
        for numeral in numerals(given):
            values = numeral.values if _HALF_DAY.search(given) else {_value(numeral.written)}
            forms.update(x for value in values for x in _french(value, numeral.written))
        return forms

    @cached_property
    def _known(self) -> dict[str, bool]:
        return {}


def _french(value: str, written: str) -> Iterator[str]:
    """The ways in which French writes a number, with the decimals that were written."""
    whole, point, decimals = value.partition(".")
    if point:
        decimals = re.split(r"[.,]", written)[-1]
    for separator in ("", " ", "."):
        yield f"{int(whole):,}".replace(",", separator) + "," * len(point) + decimals


def _number_words(english: str) -> frozenset[str]:
    return _ENGLISH_NUMBERS.intersection(re.findall(r"[a-z']+", english.lower()))


def _unmatched(english: str, french: str) -> tuple[list[Numeral], list[Numeral], list[Numeral]]:
    """The numbers that the French lacks, those it has in digits, and those it has in words."""
    french = _PER_CENT.sub("%", french)
    digits, words = [*numerals(french)], [*_in_words(french)]
    lost = []
    for numeral in numerals(english):
        for others in (digits, words):
            same = next((x for x in others if x.values & numeral.values), None)
            if same is not None:
                others.remove(same)
                break
        else:
            lost.append(numeral)
    return lost, digits, words


def numerals(text: str) -> Iterator[Numeral]:
    """The numbers of a text that are written in digits.

    >>> [x.written for x in numerals("From 9:30 to 10.30 am, 2,500 people, room 12-14")]
    ['9', '30', '10', '30', '2,500', '12', '14']
    """
    for fraction in _FRACTION.findall(text):
        yield Numeral(fraction, frozenset(["/".join(map(_value, re.split("[ /]", fraction)))]))
    text = _FULL_HOUR.sub("", _POINT_TIME.sub(r"\1:\2", _FRACTION.sub(" / ", text)))
    for found in _CHAIN.finditer(text):
        for written in _separate(found[0]):
            yield Numeral(written, frozenset(_values(written, text[found.end() :])))


def _separate(chain: str) -> Iterator[str]:
    """The numbers in digits that separators join: a telephone number is one."""
    groups = re.split(r"\D", chain)
    is_long = len(groups) >= 3 and sum(map(len, groups)) >= _TELEPHONE and "," not in chain
    is_version = bool(_VERSION.fullmatch(chain)) and not _is_number(chain)
    is_telephone = is_long and not _ISO_DATE.fullmatch(chain)
    if is_version or is_telephone or _SHORT_TELEPHONE.fullmatch(chain):
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
    for word in re.findall(r"\w+", french.lower()):
        if word in _FRENCH_FRACTIONS:
            yield Numeral(word, frozenset([_FRENCH_FRACTIONS[word]]))
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
