"""Sentences with numbers in both languages: counts, dates, times, prices, phone numbers, codes.

Everyday text has few numbers, and a model that has seen few copies them wrongly. Numbers are
written as each language writes them: *1,200.50* becomes *1 200,50*, *7:45* becomes *7 h 45*.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from word_tables import read_pairs

if TYPE_CHECKING:
    from train.made import TextRequest  # imports torch, which other generators do without

_SENTENCES = read_pairs(Path(__file__).parent / "tables" / "sentences.txt", "sentences")
_SLOT = re.compile(r"\{([a-z]+)\d?\}")
_MONTHS = (("January", "janvier"), ("February", "février"), ("March", "mars"), ("April", "avril"),
           ("May", "mai"), ("June", "juin"), ("July", "juillet"), ("August", "août"),
           ("September", "septembre"), ("October", "octobre"), ("November", "novembre"),
           ("December", "décembre"))  # fmt: skip
_CURRENCIES = (("dollars", "dollars"), ("euros", "euros"), ("pounds", "livres"), ("yen", "yens"))
_SIGNS = (("$", "dollars"), ("£", "livres"), ("€", "euros"))

Written = tuple[str, str]


def pairs(request: TextRequest) -> list[tuple[str, str]]:
    """The sentences that a recipe asks for with `made = "quantities.generator:pairs"`."""
    return number_pairs(request.sentences, request.seed)


def number_pairs(number: int, seed: int) -> list[tuple[str, str]]:
    """Sentences with numbers and their translations.

    >>> [english, french], _ = number_pairs(2, seed=4)
    >>> digits = lambda text: "".join(x for x in text if x.isdigit())
    >>> digits(english) == digits(french)
    True
    """
    rng = random.Random(seed)
    return [_pair(rng, *rng.choice(_SENTENCES)) for _ in range(number)]


def _pair(rng: random.Random, english: str, french: str) -> Written:
    drawn = {x[0]: _KINDS[x[1]](rng) for x in _SLOT.finditer(english)}
    texts = ((english, 0), (french, 1))
    source, target = (
        _SLOT.sub(lambda x: drawn[x[0]][side], text)  # noqa: B023 - called at once
        for text, side in texts
    )
    return source, target


def _same(text: object) -> Written:
    return str(text), str(text)


def _of_size(rng: random.Random, digits: int) -> int:
    """A number of at most so many digits, each number of digits equally often."""
    length = rng.randint(1, digits)
    return rng.randint(10 ** (length - 1), 10**length - 1)


def _count(rng: random.Random) -> Written:
    return _same(rng.randint(2, 120) if rng.random() < 0.85 else _of_size(rng, 3))


def _grouped(number: int) -> Written:
    return f"{number:,}", f"{number:,}".replace(",", " ")


def _big(rng: random.Random) -> Written:
    number = rng.randint(1, 999) * 10 ** rng.randint(1, 4) if rng.random() < 0.5 else 0
    number = number or rng.randint(1_000, 10 ** rng.randint(4, 8))
    return _grouped(number) if rng.random() < 0.8 else _same(number)


def _year(rng: random.Random) -> Written:
    return _same(rng.randint(1500, 2060) if rng.random() < 0.3 else rng.randint(1900, 2030))


def _date(rng: random.Random) -> Written:
    day, month, (_, year) = rng.randint(2, 28), rng.choice(_MONTHS), _year(rng)
    form = rng.randrange(5)
    if form == 0:
        return f"{month[0]} {day}, {year}", f"{day} {month[1]} {year}"
    if form == 1:
        return f"{day} {month[0]} {year}", f"{day} {month[1]} {year}"
    if form == 2:
        return f"{day} {month[0]}", f"{day} {month[1]}"
    if form == 3:
        return f"{month[0]} {day}", f"{day} {month[1]}"
    return _same(f"{day:02}/{rng.randint(1, 12):02}/{year}")


def _time(rng: random.Random) -> Written:
    hour, minute = rng.randint(1, 23), rng.randint(1, 59)
    if rng.random() < 0.25:
        hour = rng.randint(2, 11)
        half, said = rng.choice((("am", "du matin"), ("pm", "du soir")))
        return f"{hour} {half}", f"{hour} heures {said}"
    return f"{hour}:{minute:02}", f"{hour} h {minute:02}"


def _decimal(rng: random.Random) -> Written:
    whole, digits = _of_size(rng, 3), rng.randint(1, 2)
    rest = f"{rng.randint(1, 10**digits - 1):0{digits}}"
    return f"{whole}.{rest}", f"{whole},{rest}"


def _price(rng: random.Random) -> Written:
    english, french = rng.choice((_count, _big, _cents))(rng)
    if rng.random() < 0.5:
        sign, name = rng.choice(_SIGNS)
        return f"{sign}{english}", f"{french} {name}"
    names = rng.choice(_CURRENCIES)
    return f"{english} {names[0]}", f"{french} {names[1]}"


def _cents(rng: random.Random) -> Written:
    whole, cents = _of_size(rng, 4), rng.randint(1, 99)
    english, french = _grouped(whole) if whole > 999 else _same(whole)
    return f"{english}.{cents:02}", f"{french},{cents:02}"


def _percent(rng: random.Random) -> Written:
    english, french = rng.choice((_count, _decimal))(rng)
    return f"{english}{rng.choice(('%', ' %', ' percent', ' per cent'))}", f"{french} %"


def _fraction(rng: random.Random) -> Written:
    low = rng.randint(2, 10)
    return _same(f"{rng.randint(1, low - 1)}/{low}")


def _phone(rng: random.Random) -> Written:
    def digits(count: int) -> str:
        return "".join(rng.choices(string.digits, k=count))

    form = rng.randrange(4)
    if form == 0:
        return _same(f"{digits(3)}-{digits(4)}")
    if form == 1:
        return _same(" ".join(["0" + digits(1), *(digits(2) for _ in range(4))]))
    if form == 2:
        return _same(f"{digits(3)}-{digits(3)}-{digits(4)}")
    return _same(digits(rng.randint(6, 10)))


def _room(rng: random.Random) -> Written:
    return _same(_of_size(rng, 4))


def _code(rng: random.Random) -> Written:
    letters = "".join(rng.choices(string.ascii_uppercase, k=2))
    return _same(f"{letters}{rng.choice(('', ' '))}{_of_size(rng, 4)}")


def _range(rng: random.Random) -> Written:
    low = rng.randint(1, 60)
    high = low + rng.randint(1, 30)
    return (f"{low} to {high}", f"{low} à {high}") if rng.random() < 0.7 else _same(f"{low}-{high}")


def _score(rng: random.Random) -> Written:
    low, high = rng.randint(0, 9), rng.randint(0, 9)
    return (f"{high} to {low}", f"{high} à {low}") if rng.random() < 0.3 else _same(f"{high}-{low}")


_KINDS: dict[str, Callable[[random.Random], Written]] = {
    "count": _count, "big": _big, "year": _year, "date": _date, "time": _time, "price": _price,
    "decimal": _decimal, "percent": _percent, "fraction": _fraction, "phone": _phone,
    "room": _room, "code": _code, "range": _range, "score": _score,
}  # fmt: skip
