"""The numbers behind a picture: JSON with everything unrounded, CSV with the names in place."""

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from regard.self_attention.export import lists

if TYPE_CHECKING:
    from regard.view.picture.picture import Picture

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_dict(picture: "Picture") -> dict[str, Any]:
    """Names, numbers (a list of rows) and where they come from."""
    return {
        "title": picture.title,
        "caption": picture.caption,
        "provenance": picture.provenance,
        "axes": list(picture.axes),
        "queries": list(picture.names[0]),
        "keys": list(picture.names[1]),
        "what": picture.what,
        "weights": lists(picture.weights),
    }


def to_json(picture: "Picture") -> str:
    """One line of strict JSON."""
    return json.dumps(as_dict(picture), ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(picture: "Picture") -> str:
    """Rows are queries, columns are keys; every digit that tells a number from its neighbours."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(["", *map(plain, picture.names[1])])
    for name, row in zip(picture.names[0], picture.weights, strict=True):
        writer.writerow([plain(name), *(repr(float(x)) for x in row)])
    return page.getvalue()


def plain(name: str) -> str:
    """A name that no spreadsheet takes for a formula.

    >>> plain("=1+1"), plain("dog")
    ("'=1+1", 'dog')
    """
    return f"'{name}" if name.startswith(FORMULA) else name
