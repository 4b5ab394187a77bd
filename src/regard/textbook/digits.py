"""Numbers with just the digits they can support."""

from __future__ import annotations

import math
from typing import NamedTuple

MAX_NOISE = 1e300  # the largest error bound: log10 of an infinite one has no meaning


class Shown(NamedTuple):
    """A number as text, and its tolerance: half a unit of the last digit shown."""

    text: str
    tolerance: float


def write(value: float, digits: int) -> str:
    """A number with ``digits`` decimals, or in powers of ten where those would not show it.

    >>> write(1.41421, 3), write(-0.0, 3), write(1.5e-7, 3), write(2.5e8, 1)
    ('1.414', '0.000', '1.500e-07', '2.5e+08')
    """
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return f"{0:.{digits}f}"
    return f"{value:.{digits}{_kind(value, digits)}}"


def tidy(value: float) -> float:
    """A number rounded to twelve significant digits.

    The last bits of a sum depend on the order of its terms, which differs between BLAS libraries.
    Where the exact number is a short decimal, tidied ones are written the same everywhere.

    >>> tidy(13.749999999999886), tidy(11.21250000000001), f"{tidy(2.4999999999999996):.0f}"
    (13.75, 11.2125, '2')
    """
    return float(f"{value:.12g}")


def show(value: float, digits: int, noise: float = 0.0) -> Shown:
    """A value with only the digits that an error of up to ``noise`` leaves certain.

    Two computers whose values are both within the noise write the same text wherever the exact
    value is a short decimal, even one halfway between two roundings.

    >>> show(0.404457, 3)
    Shown(text='0.404', tolerance=0.0005)
    >>> show(12345.678, 3, noise=4.0).text
    '1.23e+04'
    >>> show(3.0, 3, noise=40.0).text
    '0 within 1e+03'
    >>> show(11.2125 - 1e-15, 3, noise=1e-14).text, show(11.2125 + 1e-15, 3, noise=1e-14).text
    ('11.212', '11.212')
    """
    if not math.isfinite(value):
        return Shown(str(value), 0.0)
    noise = noise if noise < MAX_NOISE else MAX_NOISE
    surest = -400 if noise == 0 else math.ceil(math.log10(4 * noise))
    if abs(value) <= noise or value == 0:
        last = max(-digits, surest)
        text = write(0.0, digits) if last == -digits else f"0 within 1e{last:+03d}"
        return Shown(text, 10.0**last / 2)
    # The largest that it may be: just below a power of ten it is written as if it had reached it.
    most = abs(value) + noise
    exponent = math.floor(math.log10(most))
    kind = _kind(most, digits)
    last = max(-digits if kind == "f" else exponent - digits, surest)
    if last > exponent:
        return Shown(f"0 within 1e{last:+03d}", 10.0**last / 2)
    plain = kind == "f" and last <= 0
    text = _rounded(value, noise, -last if plain else exponent - last, "f" if plain else "e")
    return Shown(text, 10.0**last / 2)


def operand(value: float, digits: int, noise: float) -> str:
    """A number to compute with: as ``show``, but 0 where no digit is certain.

    >>> operand(0.5, 3, 0.0), operand(0.5, 3, 0.01), operand(0.5, 3, 1.0)
    ('0.500', '0.5', '0')
    """
    text = show(value, digits, noise).text if noise > 0 else write(value, digits)
    return "0" if "within" in text else text


def _rounded(value: float, noise: float, decimals: int, kind: str) -> str:
    """Rounded to the nearest, or to the even one where the noise leaves two possible."""
    least, most = (f"{x:.{decimals}{kind}}" for x in (value - noise, value + noise))
    even = least.partition("e")[0][-1] in "02468"
    return least if least == most or even else most


def _kind(value: float, digits: int) -> str:
    return "f" if 10.0**-digits <= abs(value) < 1e6 else "e"
