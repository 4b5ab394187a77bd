"""Contrast pairs: one sentence, two endings; which noun *it* stands for turns on the last word.

    The dog ate the food because it was hungry.      it: the dog
    The dog ate the food because it was delicious.   it: the food

Each noun is right once in every pair, so always taking the first noun, or always the nearest, is
right in exactly half of the sentences and in no whole pair.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# English noun -> the French nouns it may become, with their gender.
NOUNS = {
    "dog": "chien m, chienne f", "cat": "chat m, chatte f", "horse": "cheval m", "cow": "vache f",
    "mouse": "souris f", "bird": "oiseau m", "goat": "chèvre f", "rabbit": "lapin m",
    "fox": "renard m", "turtle": "tortue f", "bear": "ours m", "duck": "canard m",
    "pig": "cochon m, porc m", "wolf": "loup m", "monkey": "singe m", "hen": "poule f",
    "frog": "grenouille f", "bee": "abeille f", "lion": "lion m",
    "food": "nourriture f, repas m, aliment m", "bread": "pain m", "cheese": "fromage m",
    "meat": "viande f", "cake": "gâteau m", "soup": "soupe f, potage m", "apple": "pomme f",
    "fish": "poisson m", "egg": "œuf m, oeuf m", "salad": "salade f", "rice": "riz m",
    "carrot": "carotte f", "sandwich": "sandwich m", "pie": "tarte f",
    "street": "rue f", "road": "route f", "river": "rivière f, fleuve m", "bridge": "pont m",
    "field": "champ m", "path": "chemin m, sentier m",
    "book": "livre m", "table": "table f", "chair": "chaise f", "ball": "balle f, ballon m",
    "bottle": "bouteille f", "hat": "chapeau m", "lamp": "lampe f", "guitar": "guitare f",
    "computer": "ordinateur m", "painting": "tableau m, peinture f, toile f", "bed": "lit m",
    "box": "boîte f, carton m", "bag": "sac m", "suitcase": "valise f", "drawer": "tiroir m",
    "room": "chambre f, pièce f, salle f", "car": "voiture f", "cupboard": "placard m, armoire f",
    "truck": "camion m", "bus": "bus m, autobus m", "tractor": "tracteur m",
    "van": "camionnette f, fourgonnette f", "sofa": "canapé m, sofa m, divan m",
    "carpet": "tapis m, moquette f", "blanket": "couverture f", "grass": "herbe f, gazon m",
    "water": "eau f", "milk": "lait m", "juice": "jus m", "wine": "vin m",
    "hammer": "marteau m", "stone": "pierre f, caillou m", "branch": "branche f",
    "window": "fenêtre f, vitre f", "mirror": "miroir m, glace f", "vase": "vase m",
    "plate": "assiette f, plaque f", "cup": "tasse f, coupe f", "glass": "verre m",
    "house": "maison f", "garden": "jardin m", "cave": "grotte f, caverne f",
    "forest": "forêt f", "cage": "cage f", "park": "parc m",
}  # fmt: skip

_ANIMALS = "dog cat horse cow mouse bird goat rabbit fox turtle bear duck pig wolf monkey hen frog"


@dataclass(frozen=True)
class Frame:
    """A sentence with two gaps for nouns and, for each noun, words that only fit that one."""

    text: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    of_first: tuple[str, ...]
    of_second: tuple[str, ...]


def _frame(text: str, first: str, second: str, of_first: str, of_second: str) -> Frame:
    return Frame(text, *(tuple(x.split()) for x in (first, second, of_first, of_second)))


FRAMES = (
    _frame("The {a} ate the {b} because it was {x}.", _ANIMALS,
           "food bread cheese meat cake soup apple fish egg salad rice carrot sandwich pie",
           "hungry starving greedy", "delicious fresh tasty"),
    _frame("The {a} did not cross the {b} because it was too {x}.", _ANIMALS,
           "street road river bridge field path", "tired scared weak", "wide long dangerous"),
    _frame("The {a} does not fit in the {b} because it is too {x}.",
           "book table chair ball bottle hat lamp guitar computer painting bed",
           "box bag suitcase drawer room car cupboard", "big large", "small full"),
    _frame("The {a} could not take the {b} because it was too {x}.", "truck bus tractor van car",
           "road street bridge path", "heavy wide", "narrow steep"),
    _frame("The {a} slept on the {b} because it was {x}.", _ANIMALS,
           "bed sofa carpet blanket grass chair table", "tired sleepy exhausted",
           "soft comfortable warm"),
    _frame("The {a} drank the {b} because it was {x}.", _ANIMALS, "water milk juice soup wine",
           "thirsty", "cold sweet cool"),
    _frame("The {a} broke the {b} because it was so {x}.", "hammer stone branch ball",
           "window mirror vase plate cup glass bottle", "heavy hard", "fragile thin"),
    _frame("The {a} left the {b} because it was {x}.", _ANIMALS,
           "house garden cave forest cage park room", "hungry afraid bored", "dirty dark empty"),
)  # fmt: skip


@dataclass(frozen=True)
class Item:
    """A sentence in which *it* stands for ``right`` and could be taken for ``wrong``."""

    sentence: str
    right: str
    wrong: str


@dataclass(frozen=True)
class Contrast:
    """Two sentences that differ in one word: *it* is the first noun in one, then the second."""

    of_first: Item
    of_second: Item

    @property
    def items(self) -> tuple[Item, Item]:
        """Both sentences."""
        return self.of_first, self.of_second


def contrasts(number: int = 400, seed: int = 7) -> list[Contrast]:
    """Different pairs, as many from each frame as from the others while it has that many."""
    rng = random.Random(seed)
    pools = [rng.sample(pool, len(pool)) for pool in (list(_all(frame)) for frame in FRAMES)]
    longest = max(map(len, pools))
    turns = [pool[i] for i in range(longest) for pool in pools if i < len(pool)]
    return turns[:number]


def unseen(pairs: Iterable[Contrast], training: Iterable[str]) -> list[Contrast]:
    """The pairs of which no sentence is in the training text, punctuation and case aside."""
    wanted = {normal(item.sentence) for pair in pairs for item in pair.items}
    met = {text for text in map(normal, training) if text in wanted}
    return [x for x in pairs if not any(normal(item.sentence) in met for item in x.items)]


def normal(sentence: str) -> str:
    """A sentence without what does not make it another one."""
    return " ".join(re.findall(r"\w+", sentence.casefold()))


def forms(noun: str) -> dict[str, str]:
    """The French nouns of an English one, with their gender, m or f."""
    found = {}
    for form in NOUNS[noun].split(", "):
        french, gender = form.split()
        found[french] = gender
    return found


def _all(frame: Frame) -> Iterator[Contrast]:
    for a in frame.first:
        for b in frame.second:
            for x, y in zip(frame.of_first, frame.of_second, strict=False):
                if a != b:
                    yield Contrast(
                        Item(frame.text.format(a=a, b=b, x=x), right=a, wrong=b),
                        Item(frame.text.format(a=a, b=b, x=y), right=b, wrong=a),
                    )
