"""Reasons and results of a relation: the clauses of the predicates that its event names."""

from __future__ import annotations

import random
from collections.abc import Sequence

from regard.transformer.train.anaphora.clauses import (
    BUT,
    CAUSAL,
    CONCESSIVE,
    RESULTS,
    UNTIL,
    Clause,
    Connector,
    adjective_clause,
    perfect_clause,
    phrase_clause,
)
from regard.transformer.train.anaphora.mentions import Mention
from regard.transformer.train.anaphora.relations import RELATIVE_ADJECTIVES, relative_in_training
from regard.transformer.train.anaphora.relations_results import OPPOSITES
from regard.transformer.train.anaphora.scenes import FAILURES, IN_VAIN, Scene, Split
from regard.transformer.train.anaphora.synonyms import WITHOUT_DEGREES

# Predicates before which no very, too or so goes.
_WITHOUT_DEGREES = WITHOUT_DEGREES.union(
    ("better", "soaked", "enormous", "starving", "hollow", "empty", "lost", "exhausted", "full",
     "delicious", "magnificent", "boiling", "new", "faulty", "blind", "deafening", "excellent",
     "tiny", "invisible", "missing", "absent", "famished", "raw", "injured", "wounded", "organic",
     "panicked", "asleep", "worthless", "endless", "peeled", "hurt", "overripe", "airtight",
     "armed", "penniless", "jobless", "retired", "spilt", "victorious", "overloaded", "home-made",
     "waxed", "frozen", "free", "defenceless", "ironed", "delivered", "torn", "unfinished",
     "withered", "locked", "lit", "antique", "medieval", "abandoned", "newborn", "orphaned",
     "inflated", "fake", "trapped", "cracked", "nocturnal", "genuine", "childless", "homeless",
     "optional", "compulsory", "unique", "true", "false", "cancelled", "perfect", "illegal",
     "bedridden", "furnished", "pregnant", "uninhabited", "neglected", "renovated", "diluted",
     "flooded")
)  # fmt: skip
_ATTEMPTED = frozenset(("tried", "wanted"))
_CONCESSIONS = 0.22  # share of the reasons that are turned around: 'although it was not heavy'
_MEASURES = frozenset(
    ("big", "large", "small", "wide", "narrow", "high", "low", "long", "short", "heavy", "light",
     "thick", "thin", "strong", "weak", "fast", "slow", "hot", "cold", "warm", "hard", "soft",
     "sharp", "agile", "powerful", "clean", "dry", "young", "solid", "modern", "quiet", "safe",
     "cheap", "patient", "brave", "cautious", "bold")
)  # fmt: skip
_LACKS = 0.3  # share of the failures that lack the opposite: 'it was not strong enough'


def reasons(
    rng: random.Random, scene: Scene, split: Split
) -> tuple[Connector, list[Clause]] | None:
    """A connector and a clause about either noun; None where no predicates go together."""
    chosen = _own_predicates(rng, scene, split)
    if not chosen or chosen[0] == chosen[1]:
        return None
    connector, options, tense = _reason(rng, scene)
    degree = _degree(rng, scene.event.option, [(x, RELATIVE_ADJECTIVES[x]) for x in chosen])
    if connector in CONCESSIVE:
        chosen, options = _conceded(rng, chosen, options, split)
        degree = ""
        if not chosen:
            return None
    elif scene.event.option in FAILURES and rng.random() < _LACKS:
        opposed = _opposed(rng, chosen, split)
        if opposed and _MEASURES.issuperset(opposed):
            chosen, options, degree = opposed, options + "negative ", "enough"
    options += "contracted" if rng.random() < 0.4 else ""
    clauses = [
        _clause(x, (y, RELATIVE_ADJECTIVES[y]), tense, degree, options)
        for x, y in zip((scene.first, scene.second), chosen, strict=True)
    ]
    return connector, clauses


def _own_predicates(rng: random.Random, scene: Scene, split: Split) -> list[str]:
    """A predicate of either noun that the event names; none where a side has none of the split."""
    own = scene.event.own or ((), ())
    pools = [[x for x in side if relative_in_training(x) == split.words] for side in own]
    if not all(pools):
        return []
    in_vain = scene.event.option in FAILURES | IN_VAIN
    if in_vain and rng.random() < 0.7:  # mostly 'too big', rarely 'huge'
        pools = [[x for x in side if x not in _WITHOUT_DEGREES] or side for side in pools]
    return [rng.choice(x) for x in pools]


def _reason(rng: random.Random, scene: Scene) -> tuple[Connector, str, str]:
    """Connector, options and tense of a relation's second clause."""
    option, tense = scene.event.option, scene.tense
    if "because" in scene.event.english:
        return Connector(".", "."), "", tense
    if option == "until" and rng.random() < 0.6:
        return UNTIL, "subjunctive ", tense
    if option in ("until", "result"):
        connector = rng.choice(RESULTS)
        return connector, "", "present" if "now" in connector.english.lower() else tense
    if option in IN_VAIN or (option in FAILURES and _ATTEMPTED & set(scene.english)):
        return rng.choice(BUT), "", tense
    if rng.random() < _CONCESSIONS:
        connector = rng.choice(CONCESSIVE)
        return connector, "subjunctive " if connector.subjunctive else "", tense
    return rng.choice(CAUSAL), "", tense


def _conceded(
    rng: random.Random, chosen: list[str], options: str, split: Split
) -> tuple[list[str], str]:
    """The reasons turned around: both opposites, or both negated."""
    if any(x[0] in ">~" for x in chosen):
        return [], options
    opposed = _opposed(rng, chosen, split)
    if opposed and rng.random() < 0.6:
        return opposed, options
    if any(x in WITHOUT_DEGREES for x in chosen):  # 'not gigantic' concedes nothing
        return [], options
    return chosen, options + "negative "


def _opposed(rng: random.Random, chosen: list[str], split: Split) -> list[str]:
    """Opposites of both predicates; none where one has none, or both have the same."""
    known = [
        [y for y in OPPOSITES.get(x, ()) if relative_in_training(y) == split.words] for x in chosen
    ]
    opposed = [rng.choice(x) for x in known] if all(known) else []
    return opposed if len(set(opposed)) == 2 else []


def _degree(rng: random.Random, option: str, texts: Sequence[tuple[str, str]]) -> str:
    if option == "can":
        return "enough"
    if option in ("result", "until") or any(x in _WITHOUT_DEGREES for x, _ in texts):
        return ""
    if option in FAILURES | IN_VAIN:
        return "too" if rng.random() < 0.85 else "so"
    if any(" " in x or "!" in y for x, y in texts):
        return ""
    return rng.choices(("", "very", "so", "really"), (60, 20, 12, 8))[0]


def _clause(item: Mention, texts: tuple[str, str], tense: str, degree: str, options: str) -> Clause:
    """A clause with an adjective, or with a verb phrase after > (done before) or ~."""
    mark, _, text = texts[0].partition(" ")
    if mark == ">":
        return perfect_clause(item, (text, texts[1]), tense)
    if mark == "~":
        return phrase_clause(item, (text, texts[1]), tense)
    return adjective_clause(item, texts, tense, degree, options)
