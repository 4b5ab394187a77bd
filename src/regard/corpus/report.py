"""Report of a survey: every head over the corpus, as plain dicts for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from regard.corpus.manifest import Manifest
from regard.corpus.models import Observer
from regard.corpus.shards import DOCUMENTS, Shards
from regard.corpus.totals import HISTOGRAM_BINS, MIN_EXAMPLE_TOKENS, ExampleDocument, Totals
from regard.corpus.windows import COMPARED_TOKENS, MEASURE_NAMES, HeadKey
from regard.engine.profile import BANDS, bands_within
from regard.heads.names import MEASURES, REPEATS
from regard.typing import Array

FORMAT = "regard survey report 1"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ROLE_MEASURES = tuple(name for name in MEASURE_NAMES if name != "entropy")
ALIKE_COSINE = 0.9  # a pair of heads is called alike from here on
METHOD = {
    "mean": "mean over documents of the mean over the queries of a document",
    "deviation": "standard deviation over documents",
    "baseline": "what a head would give that weights every visible token equally",
    "quantiles": f"over documents, from {HISTOGRAM_BINS} bins: right to 1/{HISTOGRAM_BINS} of a "
    "measure's range",
    "alike": f"mean over windows of the cosine between two heads' weights among the first "
    f"{COMPARED_TOKENS} tokens, the first token left out and an even spread over the others "
    "subtracted: heads that both rest on the first token, or both spread evenly, are not alike "
    "by that",
    "role": "the measure that exceeds its baseline most",
    "examples": f"documents of {MIN_EXAMPLE_TOKENS} tokens or more come first",
    "received_by_position": "what a token at this position receives from all queries together",
    "order": "documents are added up in their order, in float64",
}


def make_report(
    manifest: Manifest, observer: Observer, totals: Totals, shards: Shards
) -> dict[str, Any]:
    """Everything that report.json holds; nothing in it depends on who did the work."""
    heads = _heads(observer, totals, shards)
    bands = BANDS[bands_within(observer.window)]
    return {
        "format": FORMAT,
        "corpus": {
            "fingerprint": manifest.corpus,
            "documents": totals.documents,
            "failed": totals.failed,
            "tokens": totals.tokens,
            "cut": totals.cut,
            "windows": totals.windows,
        },
        "model": {
            "fingerprint": manifest.model,
            "about": observer.about,
            "window": observer.window,
            "layers and heads count": "from 0",
        },
        "arguments": manifest.arguments,
        "measures": {
            name: _measure_name(name) | {"largest": float(largest)}
            for name, largest in zip(MEASURE_NAMES, totals.largest_m, strict=True)
        },
        "how": METHOD,
        "bands": [list(band) for band in bands],
        "positions": _position_bands(totals),
        "heads": heads,
        "ranked": _ranked(observer.heads, totals),
        "alike": _duplicate_pairs(observer.heads, totals),
    }


def _measure_name(name: str) -> dict[str, str]:
    """The words of a measure, which the page shows."""
    words = MEASURES[name]
    target = f"{words.target}, where there is one" if name in REPEATS else words.target
    return {"name": words.short, "target": target, "meaning": words.definition}


def _heads(observer: Observer, totals: Totals, shards: Shards) -> list[dict[str, Any]]:
    quantiles_smh = totals.quantiles(QUANTILES)
    bands = int((totals.positions_p > 0).sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        by_position_2hp = (totals.by_position_2hp / totals.positions_p)[..., :bands]
    baseline_mh = totals.uniform_mh / np.maximum(totals.moments.count_mh, 1)
    rows = []
    for h, head in enumerate(observer.heads):
        role = _role(totals, baseline_mh, h)
        rows.append(
            {
                **head._asdict(),
                "role": role,
                "measures": {
                    name: _measure(totals, baseline_mh, quantiles_smh, m, h)
                    for m, name in enumerate(MEASURE_NAMES)
                },
                "distance": _numbers(totals.distance_hb[h] / max(1, totals.documents)),
                "entropy_by_position": _numbers(by_position_2hp[0, h]),
                "received_by_position": _numbers(by_position_2hp[1, h]),
                "alike": _closest(observer.heads, totals, h),
                "examples": _examples(totals, role, h, shards),
            }
        )
    return rows


def _measure(
    totals: Totals, baseline_mh: Array, quantiles_smh: Array, m: int, h: int
) -> dict[str, Any]:
    moments = totals.moments
    count = int(moments.count_mh[m, h])
    if not count:
        return {"documents": 0}
    return {
        "documents": count,
        "mean": float(moments.mean_mh[m, h]),
        "deviation": float(moments.deviation_mh[m, h]),
        "baseline": float(baseline_mh[m, h]),
        "quantiles": {
            f"{share:g}": float(x)
            for share, x in zip(QUANTILES, quantiles_smh[:, m, h], strict=True)
        },
    }


def _role(totals: Totals, baseline_mh: Array, h: int) -> dict[str, Any]:
    leads = {
        name: float(totals.moments.mean_mh[m, h] - baseline_mh[m, h])
        for m, name in enumerate(MEASURE_NAMES)
        if name in ROLE_MEASURES and totals.moments.count_mh[m, h]
    }
    if not leads:
        return {"measure": None}
    name = max(leads, key=lambda x: leads[x])
    m = MEASURE_NAMES.index(name)
    return {
        "measure": name,
        "mean": float(totals.moments.mean_mh[m, h]),
        "baseline": float(baseline_mh[m, h]),
    }


def _examples(totals: Totals, role: dict[str, Any], h: int, shards: Shards) -> dict[str, Any]:
    if role["measure"] is None:
        return {}
    m = MEASURE_NAMES.index(role["measure"])
    return {
        "most": [_shown(example, shards) for example in totals.most[m][h]],
        "least": [_shown(example, shards) for example in totals.least[m][h]],
    }


def _shown(example: ExampleDocument, shards: Shards) -> dict[str, Any]:
    names = ["document", "source", "entry", "text"]
    columns = shards.columns(DOCUMENTS, example.part, names)
    row = columns["document"].tolist().index(example.document)
    return {
        "document": example.document,
        "source": columns["source"][row],
        "entry": int(columns["entry"][row]),
        "value": example.value,
        "text": columns["text"][row],
    }


def _ranked(heads: tuple[HeadKey, ...], totals: Totals) -> dict[str, list[dict[str, Any]]]:
    ranked = {}
    for m, name in enumerate(MEASURE_NAMES):
        mean_h = totals.moments.mean_mh[m]
        order = np.argsort(mean_h if name == "entropy" else -mean_h, kind="stable")
        ranked[name] = [
            {**heads[h]._asdict(), "mean": float(mean_h[h])}
            for h in order
            if totals.moments.count_mh[m, h]
        ]
    return ranked


def _closest(heads: tuple[HeadKey, ...], totals: Totals, h: int) -> list[dict[str, Any]]:
    cosine_h = _mean_cosines(totals)[h]
    order = [x for x in np.argsort(-cosine_h, kind="stable") if x != h][:3]
    return [{**heads[x]._asdict(), "cosine": float(cosine_h[x])} for x in order]


def _mean_cosines(totals: Totals) -> Array:
    """Means over the windows in which a head has anything to compare: its cosine with itself."""
    compared_h = np.maximum(np.diagonal(totals.cosine_hh), 1)
    return np.asarray(totals.cosine_hh / np.sqrt(np.outer(compared_h, compared_h)))


def _duplicate_pairs(heads: tuple[HeadKey, ...], totals: Totals) -> list[dict[str, Any]]:
    """Pairs of heads that duplicate each other, the closest first."""
    cosine_hh = _mean_cosines(totals)
    pairs = [(a, b) for a, b in np.argwhere(np.triu(cosine_hh, 1) >= ALIKE_COSINE).tolist()]
    pairs.sort(key=lambda pair: (-cosine_hh[pair], pair))
    return [
        {"one": heads[a]._asdict(), "other": heads[b]._asdict(), "cosine": float(cosine_hh[a, b])}
        for a, b in pairs
    ]


def _position_bands(totals: Totals) -> list[list[int]]:
    """Positions of each band, first and last, counted from 0."""
    count = int((totals.positions_p > 0).sum())
    return [[2 ** (p - 1) if p else 0, 2**p - 1 if p else 0] for p in range(count)]


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [float(x) if math.isfinite(x) else None for x in values]
