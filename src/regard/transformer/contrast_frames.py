"""Contrast pairs: frames, nouns, and the pairs made of them.

Every frame has one of RESERVED_VERBS in it. The generator of training text uses none of them, so
that no frame of this file can be met in training.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

RESERVED_VERBS = {
    "eat": "eat eats ate eaten eating", "cross": "cross crosses crossed crossing",
    "fit": "fit fits fitted fitting", "take": "take takes took taken taking",
    "sleep": "sleep sleeps slept sleeping", "drink": "drink drinks drank drunk drinking",
    "break": "break breaks broke broken breaking", "leave": "leave leaves left leaving",
    "chase": "chase chases chased chasing", "swallow": "swallow swallows swallowed swallowing",
    "climb": "climb climbs climbed climbing", "lift": "lift lifts lifted lifting",
    "hide": "hide hides hid hidden hiding", "pull": "pull pulls pulled pulling",
    "wash": "wash washes washed washing", "wear": "wear wears wore worn wearing",
    "pour": "pour pours poured pouring", "hang": "hang hangs hung hanging",
    "catch": "catch catches caught catching", "throw": "throw throws threw thrown throwing",
    "bite": "bite bites bit bitten biting", "lend": "lend lends lent lending",
    "steal": "steal steals stole stolen stealing", "bury": "bury buries buried burying",
    "scratch": "scratch scratches scratched scratching",
    "follow": "follow follows followed following",
}  # fmt: skip

# English noun -> the French nouns it may become, with their gender.
NOUNS = {
    "dog": "chien m, chienne f", "cat": "chat m, chatte f", "horse": "cheval m", "cow": "vache f",
    "mouse": "souris f", "bird": "oiseau m", "goat": "chèvre f", "rabbit": "lapin m",
    "fox": "renard m", "turtle": "tortue f", "bear": "ours m", "duck": "canard m",
    "pig": "cochon m, porc m", "wolf": "loup m", "monkey": "singe m", "hen": "poule f",
    "frog": "grenouille f", "lion": "lion m", "donkey": "âne m",
    "mule": "mule f, mulet m", "eagle": "aigle m", "snake": "serpent m", "crow": "corbeau m",
    "rat": "rat m", "whale": "baleine f", "shark": "requin m", "crab": "crabe m",
    "food": "nourriture f, repas m, aliment m", "bread": "pain m", "cheese": "fromage m",
    "meat": "viande f", "cake": "gâteau m", "soup": "soupe f, potage m", "apple": "pomme f",
    "fish": "poisson m", "egg": "œuf m, oeuf m", "salad": "salade f", "rice": "riz m",
    "carrot": "carotte f", "sandwich": "sandwich m", "pie": "tarte f", "cherry": "cerise f",
    "pear": "poire f", "sausage": "saucisse f, saucisson m", "ham": "jambon m",
    "tomato": "tomate f",
    "street": "rue f", "road": "route f", "river": "rivière f, fleuve m", "bridge": "pont m",
    "field": "champ m", "path": "chemin m, sentier m, allée f", "lake": "lac m",
    "book": "livre m", "table": "table f", "chair": "chaise f", "ball": "balle f, ballon m",
    "bottle": "bouteille f", "hat": "chapeau m", "lamp": "lampe f", "guitar": "guitare f",
    "computer": "ordinateur m", "painting": "tableau m, peinture f, toile f", "bed": "lit m",
    "clock": "horloge f, pendule f, montre f", "map": "carte f", "letter": "lettre f",
    "newspaper": "journal m", "magazine": "magazine m, revue f",
    "box": "boîte f, carton m, caisse f", "bag": "sac m", "suitcase": "valise f",
    "drawer": "tiroir m", "room": "chambre f, pièce f, salle f", "car": "voiture f, auto f",
    "cupboard": "placard m, armoire f", "kitchen": "cuisine f", "garage": "garage m",
    "barrel": "tonneau m, baril m", "safe": "coffre m",
    "piano": "piano m", "wardrobe": "armoire f, garde m, penderie f",
    "truck": "camion m", "bus": "bus m, autobus m", "tractor": "tracteur m", "taxi": "taxi m",
    "van": "camionnette f, fourgonnette f, fourgon m, van m", "boat": "bateau m, barque f",
    "bicycle": "vélo m, bicyclette f", "train": "train m", "cart": "charrette f, chariot m",
    "sofa": "canapé m, sofa m, divan m", "cushion": "coussin m", "pillow": "oreiller m",
    "carpet": "tapis m, moquette f", "blanket": "couverture f", "grass": "herbe f, gazon m",
    "water": "eau f", "milk": "lait m", "juice": "jus m", "tea": "thé m",
    "coffee": "café m", "sauce": "sauce f",
    "hammer": "marteau m", "stone": "pierre f, caillou m", "branch": "branche f",
    "stick": "bâton m", "window": "fenêtre f, vitre f", "mirror": "miroir m, glace f",
    "vase": "vase m", "plate": "assiette f, plaque f, plat m", "cup": "tasse f, coupe f",
    "glass": "verre m", "bowl": "bol m", "bucket": "seau m", "pot": "pot m, casserole f",
    "tray": "plateau m", "pool": "piscine f", "pond": "étang m, mare f",
    "basin": "bassin m, bassine f",
    "sink": "évier m, lavabo m", "bathtub": "baignoire f",
    "house": "maison f", "garden": "jardin m", "cave": "grotte f, caverne f",
    "forest": "forêt f", "cage": "cage f", "park": "parc m", "church": "église f",
    "cellar": "cave f", "tower": "tour f", "barn": "grange f", "stable": "écurie f, étable f",
    "village": "village m", "town": "ville f, village m", "farm": "ferme f", "hotel": "hôtel m",
    "school": "école f", "beach": "plage f", "tree": "arbre m", "hill": "colline f",
    "mountain": "montagne f", "wall": "mur m", "fence": "clôture f, barrière f",
    "hedge": "haie f", "ladder": "échelle f", "roof": "toit m", "statue": "statue f",
    "bench": "banc m", "gate": "portail m, porte f, grille f", "door": "porte f",
    "curtain": "rideau m", "nail": "clou m", "hook": "crochet m, hameçon m", "rope": "corde f",
    "chain": "chaîne f", "crane": "grue f",
    "coat": "manteau m", "jacket": "veste f, blouson m", "scarf": "écharpe f, foulard m",
    "shirt": "chemise f, maillot m", "dress": "robe f", "sweater": "pull m, chandail m",
    "skirt": "jupe f", "shoe": "chaussure f, soulier m", "ring": "bague f, anneau m",
    "key": "clé f, clef f", "coin": "pièce f", "necklace": "collier m", "watch": "montre f",
    "spoon": "cuillère f, cuiller f", "medal": "médaille f", "jewel": "bijou m, joyau m",
    "journey": "voyage m, trajet m", "trip": "voyage m, trajet m", "race": "course f",
    "crossing": "traversée f, passage m",
    "bell": "cloche f, sonnette f",
    "machine": "machine f",
    "girl": "fille f, fillette f", "boy": "garçon m", "woman": "femme f", "man": "homme m",
    "student": "étudiant m, élève m, étudiante f", "actress": "actrice f", "nurse": "infirmière f",
    "soldier": "soldat m", "worker": "ouvrier m, travailleur m", "waitress": "serveuse f",
    "dancer": "danseur m, danseuse f", "farmer": "fermier m, agriculteur m, paysan m",
}  # fmt: skip

_PLURALS = {"mouse": "mice", "wolf": "wolves", "woman": "women", "man": "men",
            "scarf": "scarves"}  # fmt: skip
_ANIMALS = "dog cat horse cow mouse bird goat rabbit fox turtle bear duck pig wolf monkey hen frog"
_EATERS = "dog cat mouse bear pig monkey fox goat hen turtle bird"
_CLOTHES = "coat jacket scarf shirt dress sweater"


@dataclass(frozen=True)
class SentenceFrame:
    """A sentence with two gaps for nouns and, for each noun, endings that only fit that one.

    ``pronoun`` is the word in question; ``of_object`` says that it is the object of its verb.
    """

    name: str
    text: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    of_first: tuple[str, ...]
    of_second: tuple[str, ...]
    pronoun: str = "it"
    of_object: bool = False


@dataclass(frozen=True)
class ContrastSentence:
    """A sentence in which ``pronoun`` stands for ``right`` and could be taken for ``wrong``."""

    sentence: str
    right: str
    wrong: str
    pronoun: str = "it"
    of_object: bool = False
    frame: str = ""


@dataclass(frozen=True)
class ContrastPair:
    """Two sentences that differ in their ending: the pronoun is one noun, then the other."""

    of_first: ContrastSentence
    of_second: ContrastSentence

    @property
    def items(self) -> tuple[ContrastSentence, ContrastSentence]:
        """Both sentences."""
        return self.of_first, self.of_second


def _frame(name: str, text: str, nouns: tuple[str, str], endings: tuple[str, str]) -> SentenceFrame:
    first, second = (tuple(x.split()) for x in nouns)
    of_first, of_second = (tuple(x.split(", ")) for x in endings)
    return SentenceFrame(name, text, first, second, of_first, of_second)


def _object_frame(
    name: str, text: str, nouns: tuple[str, str], endings: tuple[str, str]
) -> SentenceFrame:
    frame = _frame(name, text, nouns, endings)
    return SentenceFrame(**{**vars(frame), "of_object": True})


def _plural_frame(
    name: str, text: str, nouns: tuple[str, str], endings: tuple[str, str]
) -> SentenceFrame:
    first, second = (" ".join(map(plural, x.split())) for x in nouns)
    frame = _frame(name, text, (first, second), endings)
    return SentenceFrame(**{**vars(frame), "pronoun": "they"})


def plural(noun: str) -> str:
    """The plural of an English noun of NOUNS.

    >>> [plural(x) for x in ("dog", "mouse", "box", "cherry", "key")]
    ['dogs', 'mice', 'boxes', 'cherries', 'keys']
    """
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"


FRAMES = (
    _frame("ate, because", "The {a} ate the {b} because it was {x}.",
           (_ANIMALS, "food bread cheese meat cake soup apple fish egg salad rice carrot sandwich "
            "pie"), ("hungry, starving, greedy", "delicious, fresh, tasty")),
    _frame("cross, too", "The {a} did not cross the {b} because it was too {x}.",
           (_ANIMALS, "street road river bridge field path"),
           ("tired, scared, weak", "wide, long, icy")),
    _frame("fit, too", "The {a} does not fit in the {b} because it is too {x}.",
           ("book ball hat lamp guitar computer painting pillow clock",
            "box bag suitcase drawer cupboard safe"), ("big, large", "small, full")),
    _frame("fit into, past", "The {a} would not fit into the {b} because it was too {x}.",
           ("table bed sofa piano wardrobe statue", "room car truck kitchen garage van"),
           ("wide, tall", "narrow, low")),
    _frame("take, too", "The {a} could not take the {b} because it was too {x}.",
           ("truck bus tractor van car", "road street path"), ("heavy, wide", "narrow, steep")),
    _frame("slept on, because", "The {a} slept on the {b} because it was {x}.",
           (_ANIMALS, "bed sofa carpet blanket grass cushion pillow"),
           ("tired, sleepy, exhausted", "soft, comfortable, cosy")),
    _frame("drank, because", "The {a} drank the {b} because it was {x}.",
           (_ANIMALS, "water milk juice soup"), ("thirsty, dehydrated", "fresh, sweet")),
    _frame("broke, so", "The {a} broke the {b} because it was so {x}.",
           ("hammer stone branch ball", "window mirror vase plate cup glass bottle"),
           ("heavy, hard", "fragile, thin")),
    _frame("left, because", "The {a} left the {b} because it was {x}.",
           (_ANIMALS, "house garden cave forest cage park room"),
           ("hungry, afraid, bored", "empty, flooded, dusty")),
    _frame("swallowed. It", "The {a} swallowed the {b}. It was very {x}.",
           ("dog wolf whale snake shark bear", "egg sausage cheese fish ham meat tomato"),
           ("hungry, greedy", "salty, tasty")),
    _frame("hides, so", "The {a} hides the {b} because it is so {x}.",
           ("tree wall tower hill church hedge", "house garden statue bench garage path"),
           ("tall, high", "small, tiny")),
    _frame("pull, too", "The {a} could not pull the {b} because it was too {x}.",
           ("horse cow donkey dog mule goat", "cart boat car tree machine barrel"),
           ("weak, tired", "heavy, big")),
    _frame("lift, too", "The {a} cannot lift the {b} because it is too {x}.",
           ("crane bear monkey tractor machine", "stone car boat statue tree box bell"),
           ("weak, small", "heavy, large")),
    _frame("chased, but", "The {a} chased the {b}, but it was too {x}.",
           ("dog cat goat lion wolf hen cow", "car bicycle train bus ball truck"),
           ("tired, slow", "fast, quick")),
    _frame("followed, until", "The {a} followed the {b} until it became too {x}.",
           ("dog cat horse goat cow mule wolf", "path street road"),
           ("tired, hungry", "narrow, steep")),
    _frame("hanging, but", "The {a} was hanging from the {b}, but it was too {x}.",
           ("mirror lamp clock painting bell bag map", "nail hook rope chain branch"),
           ("big, wide", "weak, short")),
    _frame("poured, because", "My mother poured the {a} into the {b} because it was {x}.",
           ("soup milk tea coffee water juice sauce", "bowl cup glass bottle bucket pot"),
           ("boiling, delicious", "empty, clean")),
    _frame("washed, because", "My sister washed the {a} in the {b} because it was {x}.",
           (_CLOTHES, "river sink bathtub lake basin bucket"),
           ("made of wool, stained", "deep, full of water")),
    _frame("wears, because", "My uncle wears the {a} in the {b} because it is {x}.",
           ("coat jacket scarf sweater hat", "house church cellar tower barn school cave"),
           ("woollen, fashionable", "unheated, badly heated")),
    _frame("throw over, too", "The boy could not throw the {a} over the {b} because it was too "
           "{x}.", ("ball stone stick bag bottle shoe", "wall fence house hedge tree roof"),
           ("heavy, slippery", "high, tall")),
    _frame("caught, because", "The {a} caught the {b} because it was {x}.",
           ("cat fox snake wolf eagle lion", "mouse rabbit hen frog duck goat bird"),
           ("hungry, quick", "injured, slow")),
    _frame("bit, because", "The {a} bit the {b} because it was {x}.",
           ("dog cat mouse rabbit monkey goat horse", "shoe cushion ball sofa bag"),
           ("angry, nervous", "soft, made of leather")),
    _frame("lent, because", "My father lent me the {a} for the {b} because it was {x}.",
           ("car van truck bicycle boat", "journey trip race crossing"),
           ("reliable, comfortable", "long, tiring")),
    _frame("stole, because", "The {a} stole the {b} because it was {x}.",
           ("crow monkey rat mouse cat fox bird", "ring key coin necklace watch spoon medal jewel"),
           ("curious, mischievous", "shiny, made of gold")),
    _frame("buried, because", "My brother buried the {a} in the {b} because it was {x}.",
           ("watch ring box letter coin key necklace", "garden field forest park beach"),
           ("precious, stolen", "deserted, quiet")),
    _frame("scratched, because", "The {a} scratched the {b} because it was {x}.",
           ("cat dog bear monkey rabbit hen", "table door chair wardrobe fence piano"),
           ("angry, bored", "made of wood, freshly painted")),
    _frame("hid behind, because", "The {a} hid behind the {b} because it was {x}.",
           ("mouse cat dog rabbit bird hen goat", "box curtain sofa cupboard wall tree"),
           ("frightened, shy", "big enough, wide enough")),
    _frame("climb, too", "The {a} could not climb the {b} because it was too {x}.",
           ("cat dog goat bear monkey turtle mouse", "wall ladder tree tower hill mountain roof"),
           ("tired, weak", "high, slippery")),
    _frame("that is climbing. It", "Look at the {a} that is climbing the {b}. It is very {x}.",
           ("cat monkey goat bear mouse dog frog", "wall hill mountain roof tower ladder"),
           ("brave, playful", "high, steep")),
    _frame("left, so now", "The {a} left the {b}, so now it is {x}.",
           ("bird lion hen horse cow rabbit turtle", "cage barn stable house cave pond"),
           ("free, lost", "empty, deserted")),
    _frame("had left, when", "The {a} had just left the {b} when it {x}.",
           ("bus car truck van taxi", "village town farm hotel school"),
           ("had a flat tyre, ran out of petrol",
            "was flooded by the river, was struck by an earthquake")),
    _frame("slept, although", "The {a} slept on the {b} although it was {x}.",
           (_ANIMALS, "bench table chair wall roof"),
           ("hungry, in pain", "hard, narrow")),
    _frame("wanted to eat, but", "The {a} wanted to eat the {b}, but it was too {x}.",
           (_EATERS, "soup meat cake sausage rice pie cheese"),
           ("shy, sick", "hot, salty")),
    _frame("when, still", "When the {a} drank the {b}, it was still {x}.",
           ("dog cat goat lion monkey cow mouse", "milk soup tea water sauce"),
           ("young, thirsty", "lukewarm, hot")),
    _plural_frame("ate, they", "The {a} ate the {b} because they were {x}.",
                  ("dog cat mouse goat hen monkey bear bird cow",
                   "apple carrot cake egg cherry pear sandwich pie"),
                  ("hungry, greedy", "delicious, fresh")),
    _plural_frame("left, they", "The {a} left the {b} because they were {x}.",
                  ("girl boy woman man student actress soldier",
                   "room house garden village hotel church"),
                  ("tired, bored", "empty, flooded")),
    _plural_frame("fit, they", "The {a} do not fit in the {b} because they are too {x}.",
                  ("lamp guitar painting chair clock table",
                   "car cupboard suitcase box room truck"),
                  ("big, large", "small, narrow")),
    _plural_frame("broke, they", "The {a} broke the {b} because they were so {x}.",
                  ("stone hammer ball branch", "window mirror glass plate cup vase"),
                  ("heavy, hard", "fragile, thin")),
    _plural_frame("lift, they", "The {a} could not lift the {b} because they were too {x}.",
                  ("boy girl woman man worker nurse", "table box stone sofa bag suitcase barrel"),
                  ("weak, tired", "heavy, large")),
    _plural_frame("caught, they", "The {a} caught the {b} because they were {x}.",
                  ("cat fox snake wolf eagle", "mouse rabbit hen frog duck"),
                  ("quick, hungry", "slow, injured")),
    _plural_frame("wore, they", "The {a} wore the {b} because they were {x}.",
                  ("girl woman actress boy waitress dancer",
                   "hat dress coat jacket scarf shirt skirt"),
                  ("vain, in love", "new, made of silk")),
    _plural_frame("hid behind, they", "The {a} hid behind the {b} because they were {x}.",
                  ("boy girl student woman soldier", "tree wall door hedge fence"),
                  ("afraid, ashamed", "thick, high")),
    _plural_frame("washed. They", "The {a} washed the {b}. They were very {x}.",
                  ("worker woman girl boy man nurse", "car window plate shirt chair cup"),
                  ("busy, careful", "dusty, greasy")),
    _object_frame("left, object", "I left the {a} in the {b}, and now I want to {x} it.",
                  ("letter book newspaper magazine", "drawer box suitcase cupboard safe"),
                  ("read, publish", "empty, lock")),
    _object_frame("eat or wash, object", "The {a} is on the {b}, and Mary is going to {x} it.",
                  ("bread cake cheese sandwich pie sausage ham", "plate table tray"),
                  ("eat, taste", "wash, clean")),
    _object_frame("drink or break, object", "The {a} is in the {b}. The boy is going to {x} it.",
                  ("milk juice water tea soup coffee", "glass cup bottle bowl"),
                  ("drink, swallow", "break, wash")),
    _object_frame("hiding, object",
                  "The {a} is hiding behind the {b}, and the farmer wants to {x} it.",
                  ("cow horse goat hen dog donkey", "wall fence barn cage gate house"),
                  ("feed, wake", "repair, rebuild")),
    _object_frame("wear or climb, object", "The {a} is near the {b}, and the boy wants to {x} it.",
                  ("hat scarf coat jacket shirt sweater", "tree wall ladder hill tower"),
                  ("wear", "climb")),
    _object_frame("sleeping, object",
                  "The {a} is sleeping in the {b}, and the child wants to {x} it.",
                  ("frog turtle duck crab fish mouse", "bucket bathtub basin pool"),
                  ("catch, stroke", "empty, fill")),
    _object_frame("throw or drive, object",
                  "The boy left the {a} under the {b}, and now he wants to {x} it.",
                  ("ball stone stick bottle", "car truck van tractor"),
                  ("throw, bury", "drive, start")),
)  # fmt: skip

# Verbs whose object the pronoun is. The generator has none of them with a pronoun as its object.
OBJECT_VERBS = frozenset(
    ending for frame in FRAMES if frame.of_object for ending in frame.of_first + frame.of_second
)


def contrasts(number: int = 1200, seed: int = 7) -> list[ContrastPair]:
    """Different pairs, as many from each frame as from the others while it has that many."""
    rng = random.Random(seed)
    pools = [rng.sample(pool, len(pool)) for pool in (list(_all(frame)) for frame in FRAMES)]
    longest = max(map(len, pools))
    turns = [pool[i] for i in range(longest) for pool in pools if i < len(pool)]
    return turns[:number]


def _all(frame: SentenceFrame) -> Iterator[ContrastPair]:
    for a in frame.first:
        for b in frame.second:
            for x, y in zip(frame.of_first, frame.of_second, strict=True):
                if a != b:
                    yield ContrastPair(_sentence(frame, a, b, x), _sentence(frame, a, b, y, 1))


def _sentence(
    frame: SentenceFrame, a: str, b: str, ending: str, right: int = 0
) -> ContrastSentence:
    """The sentence of one ending; ``right`` is 0 where it fits the first noun, else 1."""
    text = frame.text.format(a=a, b=b, x=ending)
    noun, other = (b, a) if right else (a, b)
    return ContrastSentence(text, noun, other, frame.pronoun, frame.of_object, frame.name)


def forms(noun: str) -> dict[str, str]:
    """The French nouns of an English one, with their gender, m or f; none for an unknown noun.

    >>> forms("horse"), forms("horses"), forms("glory")
    ({'cheval': 'm'}, {'chevaux': 'm'}, {})
    """
    if noun in NOUNS:
        return dict(form.split() for form in NOUNS[noun].split(", "))
    singular = _SINGULARS.get(noun)
    if singular is None:
        return {}
    return {french_plural(french): gender for french, gender in forms(singular).items()}


def french_plural(noun: str) -> str:
    """The plural of a French noun.

    >>> [french_plural(x) for x in ("chat", "oiseau", "journal", "souris", "bijou")]
    ['chats', 'oiseaux', 'journaux', 'souris', 'bijoux']
    """
    if noun[-1] in "sxz":
        return noun
    if noun.endswith("al") or noun == "travail":
        return f"{noun[:-2]}aux"
    return f"{noun}x" if noun.endswith(("eau", "bijou", "caillou")) else f"{noun}s"


_SINGULARS = {plural(noun): noun for noun in NOUNS}
