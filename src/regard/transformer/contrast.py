"""Contrast pairs: one sentence, two endings; which noun *it* stands for turns on the last word.

    The dog ate the food because it was hungry.      it: the dog
    The dog ate the food because it was delicious.   it: the food

Each noun is right once in every pair, so always taking the first noun, or always the nearest, is
right in exactly half of the sentences and in no whole pair.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.text.english import content_before
from regard.transformer.highlight import surest
from regard.transformer.reading import Reading
from regard.typing import Array

Head = tuple[int, int]

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
class SentenceFrame:
    """A sentence with two gaps for nouns and, for each noun, words that only fit that one."""

    text: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    of_first: tuple[str, ...]
    of_second: tuple[str, ...]


def _frame(text: str, first: str, second: str, of_first: str, of_second: str) -> SentenceFrame:
    return SentenceFrame(text, *(tuple(x.split()) for x in (first, second, of_first, of_second)))


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
class ContrastSentence:
    """A sentence in which *it* stands for ``right`` and could be taken for ``wrong``."""

    sentence: str
    right: str
    wrong: str


@dataclass(frozen=True)
class ContrastPair:
    """Two sentences that differ in one word: *it* is the first noun in one, then the second."""

    of_first: ContrastSentence
    of_second: ContrastSentence

    @property
    def items(self) -> tuple[ContrastSentence, ContrastSentence]:
        """Both sentences."""
        return self.of_first, self.of_second


def contrasts(number: int = 400, seed: int = 7) -> list[ContrastPair]:
    """Different pairs, as many from each frame as from the others while it has that many."""
    rng = random.Random(seed)
    pools = [rng.sample(pool, len(pool)) for pool in (list(_all(frame)) for frame in FRAMES)]
    longest = max(map(len, pools))
    turns = [pool[i] for i in range(longest) for pool in pools if i < len(pool)]
    return turns[:number]


def unseen(pairs: Iterable[ContrastPair], training: Iterable[str]) -> list[ContrastPair]:
    """The pairs of which no sentence is in the training text, punctuation and case aside."""
    candidates = {normal(item.sentence) for pair in pairs for item in pair.items}
    met = {text for text in map(normal, training) if text in candidates}
    return [x for x in pairs if not any(normal(item.sentence) in met for item in x.items)]


def normal(sentence: str) -> str:
    """A sentence in lower case without punctuation."""
    return " ".join(re.findall(r"\w+", sentence.casefold()))


def forms(noun: str) -> dict[str, str]:
    """The French nouns of an English one, with their gender, m or f."""
    return {form.split()[0]: form.split()[1] for form in NOUNS[noun].split(", ")}


def _all(frame: SentenceFrame) -> Iterator[ContrastPair]:
    for a in frame.first:
        for b in frame.second:
            for x, y in zip(frame.of_first, frame.of_second, strict=False):
                if a != b:
                    yield ContrastPair(
                        ContrastSentence(frame.text.format(a=a, b=b, x=x), right=a, wrong=b),
                        ContrastSentence(frame.text.format(a=a, b=b, x=y), right=b, wrong=a),
                    )


def pronoun_weights(reading: Reading, item: ContrastSentence) -> Array:
    """weights_lhn of *it* on the right noun and on the wrong one."""
    words = [word.lower() for word in reading.words]
    row, right, wrong = (words.index(x) for x in ("it", item.right, item.wrong))
    return reading.weights("encoder")[:, :, row][..., [right, wrong]]


def right_heads(weights_plhn: Array) -> dict[str, Array]:
    """Shares of each head, (l, h), for *it* and the nouns; p counts sentences, pair by pair.

    pronouns: share of sentences with more weight on the right noun than on the wrong one
    pronoun_pairs: share of pairs right in both sentences
    pronoun_shift: share of pairs whose last word moves weight towards the noun it makes right
    pronoun_weight: mean weight on both nouns together
    """
    lead_plh = weights_plhn[..., 0] - weights_plhn[..., 1]
    right_plh = lead_plh > 0
    return {
        "pronouns": right_plh.mean(axis=0),
        "pronoun_pairs": (right_plh[::2] & right_plh[1::2]).mean(axis=0),
        "pronoun_shift": (lead_plh[::2] > -lead_plh[1::2]).mean(axis=0),
        "pronoun_weight": weights_plhn.sum(axis=-1).mean(axis=0),
    }


def rule(
    readings: Sequence[Reading], items: Sequence[ContrastSentence], heads: tuple[Head, ...]
) -> Array:
    """The noun that the surest of these heads points to: 1 right, -1 wrong, 0 neither.

    This is the rule by which the command chooses its highlight.
    """
    verdicts = []
    for reading, item in zip(readings, items, strict=True):
        words = tuple(word.lower() for word in reading.words)
        query = words.index("it")
        nouns = content_before(words, query)
        weights_lhk = reading.weights("encoder")[:, :, query]
        layer, head = heads[surest(weights_lhk, nouns, heads)]
        word = words[nouns[int(weights_lhk[layer, head, nouns].argmax())]]
        verdicts.append((word == item.right) - (word == item.wrong))
    return np.array(verdicts)


def choose_heads(
    readings: Sequence[Reading],
    items: Sequence[ContrastSentence],
    shares: dict[str, Array],
    most: int = 6,
) -> tuple[Head, ...]:
    """Of the heads through which *it* looks at nouns, those that make the rule right most often.

    One is added at a time, as long as that helps. Where no head is right more often than chance
    may be (two standard deviations), there is nothing to choose by: the two that look at nouns
    most are taken.
    """
    weight_lh, right_lh = shares["pronoun_weight"], shares["pronouns"]
    on_nouns = [x for x in ranked(weight_lh) if float(weight_lh[x]) >= 0.25]
    chance = 0.5 + 1 / np.sqrt(len(items))
    pool = [x for x in on_nouns if float(right_lh[x]) > chance]
    if not pool:
        return tuple(on_nouns[:2])
    chosen: tuple[Head, ...] = ()
    best = -1.0
    while pool and len(chosen) < most:
        scores = {x: (rule(readings, items, (*chosen, x)) == 1).mean() for x in pool}
        head = max(scores, key=lambda x: scores[x])
        if scores[head] <= best:
            break
        best, chosen = float(scores[head]), (*chosen, head)
        pool.remove(head)
    return chosen


def ranked(share_lh: Array) -> list[Head]:
    """All heads as (layer, head), the largest share first."""
    order = np.argsort(-share_lh, axis=None, kind="stable").tolist()
    return [divmod(i, share_lh.shape[1]) for i in order]


def gender(translation: str, item: ContrastSentence) -> str:
    """The verdict on the French pronoun.

    'right' or 'wrong', 'alike, right' or 'alike, wrong' where both nouns have one gender, 'other'
    where there is neither il nor elle, 'noun unknown' where a noun is not translated as expected.
    """
    words = re.findall(r"\w+", translation.lower())
    genders = [_gender_in(words, noun) for noun in (item.right, item.wrong)]
    pronouns = [{"il": "m", "elle": "f"}[word] for word in words if word in ("il", "elle")]
    if None in genders:
        return "noun unknown"
    if not pronouns:
        return "other"
    if genders[0] == genders[1]:
        return "alike, right" if pronouns[-1] == genders[0] else "alike, wrong"
    return "right" if pronouns[-1] == genders[0] else "wrong"


def _gender_in(words: Sequence[str], noun: str) -> str | None:
    return next((g for french, g in forms(noun).items() if french in words), None)


def aligned(
    readings: Sequence[Reading], items: Sequence[ContrastSentence], shift: int = 0
) -> Array:
    """right_nlh: whether each head sends a French noun back to its English one.

    Read at the step where the noun is the decoder's input; with shift -1 where it is predicted.
    """
    right = []
    for reading, item in zip(readings, items, strict=True):
        english = [word.lower() for word in reading.words]
        french = [word.lower() for word in reading.target.words]
        weights_lhqk = reading.weights("cross")
        for noun in (item.right, item.wrong):
            rows = [i for i, word in enumerate(french) if word in forms(noun)]
            if rows:
                best_lh = weights_lhqk[:, :, rows[0] + shift, :-1].argmax(axis=-1)
                right.append(best_lh == english.index(noun))
    return np.array(right) if right else np.zeros((1, *readings[0].weights("cross").shape[:2]))


def mean_aligned(
    readings: Sequence[Reading], items: Sequence[ContrastSentence], heads: Sequence[Head]
) -> float:
    """The share of French nouns that the mean over these heads sends back to their English noun."""
    right = []
    for reading, item in zip(readings, items, strict=True):
        english = [word.lower() for word in reading.words]
        weights_lhqk = reading.weights("cross")
        mean_qk = np.mean([weights_lhqk[head] for head in heads], axis=0)
        for row, word in enumerate(reading.target.words):
            for noun in (item.right, item.wrong):
                if word.lower() in forms(noun):
                    right.append(mean_qk[row, :-1].argmax() == english.index(noun))
    return float(np.mean(right)) if right else 0.0


def sentences_of(pairs: Sequence[ContrastPair]) -> list[ContrastSentence]:
    """All sentences, the two of a pair side by side."""
    return [item for pair in pairs for item in pair.items]
