"""Colours, and how wide text is, without a font at hand."""

import unicodedata

import numpy as np

from regard.view.picture.marks import Array

INK, QUIET, RULE, PAPER = "#1a1a1a", "#6a6a6a", "#c8c8c8", "#ffffff"
ACCENT, LINE = "#d9630b", "#2a6fb0"
# White to deep blue, even steps of lightness, so that it also reads in grey and to any eye.
SCALE = ((255, 255, 255), (214, 230, 244), (143, 191, 224), (58, 128, 191), (10, 48, 108))
BELOW = ((255, 255, 255), (252, 226, 204), (248, 179, 120), (217, 99, 11), (115, 45, 2))
NARROW, WIDE = frozenset("fijlrtI.,:;'|!()[]/ -"), frozenset("mwMW%@")


def shade(share: Array) -> Array:
    """Colours (..., 3) from 0 to 255 of shares: -1 deep orange, 0 white, 1 deep blue.

    What is not a number is grey.

    >>> shade(np.array([-1.0, 0.0, 1.0])).tolist()
    [[115, 45, 2], [255, 255, 255], [10, 48, 108]]
    """
    stops = (*BELOW[:0:-1], *SCALE)
    steps = np.linspace(-1, 1, len(stops))
    known = np.nan_to_num(np.clip(share, -1, 1))
    bands = [np.interp(known, steps, [stop[band] for stop in stops]) for band in range(3)]
    colours = np.stack(bands, axis=-1).round().astype(np.uint8)
    colours[np.isnan(share)] = 235
    return colours


def web(colour: Array) -> str:
    """A colour as the web writes it.

    >>> web(np.array([255, 0, 16]))
    '#ff0010'
    """
    return "#" + "".join(f"{int(band):02x}" for band in colour)


def width_of(text: str, size: float) -> float:
    """About how wide a text is in a usual sans serif, in points; rather too much than too little.

    >>> width_of("it", 10) < width_of("mm", 10) < width_of("犬犬犬", 10)
    True
    """
    return size * sum(map(_em, text))


def _em(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    if letter in NARROW:
        return 0.38
    if letter in WIDE:
        return 0.95
    return 0.7 if letter.isupper() else 0.61
