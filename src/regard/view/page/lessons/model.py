"""Facts of the course pages on the shipped model: its weights, and measures of its heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regard.heads.links import CAUTION
from regard.transformer.reading import Reading
from regard.typing import Array

Facts = dict[str, Any]
Read = Callable[[str], Reading]
HUNGRY = "A dog ate the food because it was hungry"
DELICIOUS = "A dog ate the food because it was delicious"
CAT = "The cat sat on the mat"
IT = "it"
NEIGHBOURS = ("previous", "same", "next")


def look(glance: Read, _: Read) -> Facts:
    """Weights of *it* in the head that the command shows."""
    reading = glance(HUNGRY)
    shown = reading.highlight(IT)
    layer, head, query = shown.link.layer, shown.link.head, shown.link.query
    other = rival_noun(shown.link.key_word)
    return {
        **head_picture(reading, layer, head),
        **_choices(reading, query, layer, head),
        "position": query,
        "other": other,
        "other_share": float(_row(reading, query, layer, head)[reading.words.index(other)]),
        "sum": float(_row(reading, query, layer, head).sum()),
    }


def habit(glance: Read, _: Read) -> Facts:
    """The head that is surest to look at the word before, on another sentence."""
    reading = glance(CAT)
    roles = reading.model.roles.encoder
    role = max(roles.values(), key=lambda x: x.usual.get("previous", 0.0))
    shares = [role.usual.get(position, 0.0) for position in NEIGHBOURS]
    usual = max(shares)
    return {
        **head_picture(reading, role.layer, role.head),
        "right": shares.index(usual),
        "usual": usual,
        "habit": role.name,
        "count": reading.model.roles.measured.get("sentences", 0),
        "heads": reading.model.config.heads,
        "layers": reading.model.config.layers,
    }


def tell(glance: Read, read: Read) -> Facts:
    """The same head on a contrast pair, what was measured on many, and what the model says."""
    hungry, delicious = read(HUNGRY), read(DELICIOUS)
    shown = hungry.highlight(IT)
    layer, head, position = shown.link.layer, shown.link.head, shown.link.query
    chosen = _choices(delicious, position, layer, head)
    measured = hungry.model.roles.measured["pronouns"]
    noun = shown.link.key_word
    rival = rival_noun(noun)
    moved = chosen["best"] != noun
    # The food is feminine in French, so that the right word for it is elle.
    elle = "elle" in delicious.translation.replace("'", " ").lower().split()
    turned = hungry.model.roles.measured.get("judge", {}).get("contrast_pairs", {})
    follows = turned.get("changed", {}).get("row turned to wrong", {}).get("gender_follows")
    elsewhere = delicious.find(IT, rival)[0]
    return {
        **head_picture(delicious, layer, head),
        **chosen,
        "position": position,
        "noun": noun,
        "rival": rival,
        "before": float(shown.link.weight),
        "after": float(_row(delicious, position, layer, head)[delicious.words.index(noun)]),
        "moved": moved,
        "taught": bool(measured.get("taught")),
        "follows": follows or 0.0,
        "used": bool(measured.get("taught") and follows),
        "accuracy": hungry.model.roles.accuracy.summary,
        "french_right": measured["french_pronoun"]["right_where_genders_differ"],
        "elsewhere": {
            "layer": elsewhere.layer,
            "head": elsewhere.head,
            "share": float(elsewhere.weight),
        },
        "first": hungry.translation,
        "second": delicious.translation,
        "elle": elle,
        "elle_elsewhere": elle and not moved,
        "elle_from_here": elle and moved,
        "caution": CAUTION,
    }


def rival_noun(noun: str) -> str:
    """The noun of the sentence that a word is not."""
    return "dog" if noun == "food" else "food"


def _row(reading: Reading, position: int, layer: int, head: int) -> Any:
    return reading.weights(layer, head)[position]


def _choices(reading: Reading, position: int, layer: int, head: int) -> Facts:
    row = _row(reading, position, layer, head)
    best = reading.words[int(row.argmax())]
    offered = [word for word in ("dog", "food", IT, reading.words[-2]) if word in reading.words]
    offered += [] if best in offered else [best]
    return {
        "choices": offered,
        "right": offered.index(best),
        "best": best,
        "share": float(row.max()),
    }


def head_picture(reading: Reading, layer: int, head: int) -> Facts:
    """Words and weights of one head, for its picture."""
    return {
        "sentence": reading.sentence,
        "words": list(reading.words),
        "layer": layer,
        "head": head,
        "weights": rounded(reading.weights(layer, head)),
    }


def rounded(weights_qk: Array) -> list[list[float]]:
    """Weights to six digits, as the page draws them."""
    return [[round(float(w), 6) for w in row] for row in weights_qk]
