"""Numbers with just the digits they can support."""

import math
from typing import NamedTuple


class Shown(NamedTuple):
    """A number as text, and how far from it the truth may lie: half a unit of its last digit."""

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


def show(value: float, digits: int, noise: float = 0.0) -> Shown:
    """A value that is sure to within ``noise``: as ``write``, with fewer digits where noise asks.

    >>> show(0.404457, 3)
    Shown(text='0.404', tolerance=0.0005)
    >>> show(12345.678, 3, noise=4.0).text
    '1.23e+04'
    >>> show(3.0, 3, noise=40.0).text
    '0 within 1e+03'
    """
    if not math.isfinite(value):
        return Shown(str(value), 0.0)
    surest = -400 if noise == 0 else math.ceil(math.log10(4 * noise))
    if abs(value) <= noise or value == 0:
        last = max(-digits, surest)
        text = write(0.0, digits) if last == -digits else f"0 within 1e{last:+03d}"
        return Shown(text, 10.0**last / 2)
    exponent = math.floor(math.log10(abs(value)))
    kind = _kind(value, digits)
    last = max(-digits if kind == "f" else exponent - digits, surest)
    if last > exponent:
        return Shown(f"0 within 1e{last:+03d}", 10.0**last / 2)
    decimals = -last if kind == "f" and last <= 0 else exponent - last
    text = f"{value:.{decimals}{'f' if kind == 'f' and last <= 0 else 'e'}}"
    return Shown(text, 10.0**last / 2)


def _kind(value: float, digits: int) -> str:
    return "f" if 10.0**-digits <= abs(value) < 1e6 else "e"
