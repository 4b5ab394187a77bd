"""Single sentences for the contrast judge: *it* without antecedent, and varied pairs by hand.

In NO_ANTECEDENT every noun is marked with asterisks. The pairs of HAND_WRITTEN follow no frame:
they are harder than the pairs of contrast_frames, and nothing is chosen or tuned on them.
"""

from __future__ import annotations

from dataclasses import dataclass

from regard.transformer.contrast_frames import ContrastPair, ContrastSentence

NO_ANTECEDENT = (
    "The *dog* stays in the *house* when it is raining.",
    "The *cat* sleeps near the *fire* because it is snowing.",
    "My *brother* left his *umbrella* at *home*, and now it is raining.",
    "The *children* ran out of the *house* because it was snowing.",
    "The *farmer* brought the *cows* into the *barn* because it was raining hard.",
    "The *lamp* on the *table* is on because it is dark outside.",
    "The *man* closed the *window* because it was windy.",
    "My *mother* put a *coat* on the *baby* because it was cold in the *street*.",
    "The *boat* stayed in the *port* because it was too windy.",
    "The *bird* left the *nest* as soon as it was daylight.",
    "The *guests* left the *party* because it was late.",
    "The *baker* opened the *shop* although it was a *holiday*.",
    "The *teacher* closed the *book* because it was noon.",
    "The *bus* passed the *bridge* when it was still dark.",
    "The *soldiers* crossed the *river* when it was night.",
    "My *sister* took the *dog* to the *park* because it was sunny.",
    "The *doctor* says about the *medicine* that it is important to sleep well.",
    "With a *map* and a *lamp* it is easy to cross the *forest*.",
    "In this *town* with its old *car* *factory* it is hard to find *work*.",
    "With the *dog* in the *kitchen* it is impossible to cook.",
    "Near the *church* and the *school* it is forbidden to park.",
    "For the *horse* and the *rider* it is dangerous to cross the *road*.",
    "My *father* sold the *car* because it is expensive to live in the *city*.",
    "The *cook* washed the *plate* because it is important to be clean.",
    "The *boy* put the *ball* in the *box*, for it was time to leave.",
    "The *girl* closed the *door* of the *room* because it was time to sleep.",
    "The *train* left the *station* at *noon*, and it takes an *hour* to get there.",
    "From the *hotel* to the *beach* it takes ten *minutes* on *foot*.",
    "With a good *knife* and a *board* it takes a *minute* to cut *bread*.",
    "With the old *tractor* and the *cart* it took us all *day* to clear the *field*.",
    "The *dog* and the *cat* are quiet, and it seems that everyone is asleep.",
    "The *car* is in front of the *house*, so it seems that *Paul* is back.",
    "The *plate* is on the *table*, but it seems that nobody is hungry.",
    "The *apple* fell from the *tree*, and it appears that nobody saw that.",
    "The *key* was in the *door*, and it turned out that *Mary* was at *home*.",
    "The *letter* was in the *drawer*, but it was clear that nobody had read anything.",
    "The *window* of the *car* is open, and it is possible that someone was inside.",
    "The *cow* is in the *garden* again, and it is true that we were warned.",
    "The *soup* is on the *stove*, and it is a *pity* that you are ill.",
    "The *watch* and the *ring* were on the *bed*, so it is strange that nobody took them.",
    "The *bread* and the *cheese* are ready, but it is too early for *lunch*.",
    "The *chair* stands by the *window*, and it is pleasant to sit here.",
    "The *van* is behind the *truck*, so it is better to wait.",
    "The *bag* was under the *bench*, and it was lucky that we looked.",
    "The *clock* in the *tower* struck ten *times*, so it must be ten.",
    "My *uncle* bought a *house* by the *sea* because it is warm there in *winter*.",
    "The *wolf* left the *cave* because it was spring.",
    "The *nurse* left the *hospital* on her *bicycle* when it was five o'clock.",
    "The *wine* is in the *bottle*, and it is your *turn* to pour.",
    "The *key* of the *safe* is with the *lawyer*, and it is no *use* asking him.",
    "The *dress* is in the *shop* *window*, but it is *Sunday*.",
    "The *letter* arrived with the *newspaper*, and it was *Monday*.",
    "The *tent* stood by the *lake*, and it was foggy all *day*.",
    "The *actress* left the *theatre* by the back *door* because it was raining.",
    "The *gardener* covered the *roses* with a *blanket* because it was freezing.",
    "After the *film* and the *meal* it was too late to take the *train*.",
    "Between the *wall* and the *fence* it is difficult to turn a *car*.",
    "On the *roof* of the *tower* it is always windy.",
    "In the *cellar* of the *castle* it was cold and dark.",
    "The *mayor* and the *judge* say that it is necessary to repair the *bridge*.",
    "The *pilot* told the *passengers* that it was sunny in *Rome*.",
    "The *hunter* follows the *fox* although it is raining.",
    "The *ship* reached the *island* while it was still raining.",
    "The *dog* ate the *meat* in the *kitchen* while it was snowing.",
)


@dataclass(frozen=True)
class MarkedNouns:
    """A sentence whose *it* stands for nothing, and its nouns in lower case."""

    sentence: str
    nouns: tuple[str, ...]


def no_antecedent() -> list[MarkedNouns]:
    """The sentences of NO_ANTECEDENT, with their nouns."""
    marked = []
    for text in NO_ANTECEDENT:
        nouns = tuple(word.lower() for word in text.split("*")[1::2])
        marked.append(MarkedNouns(text.replace("*", ""), nouns))
    return marked


# Sentence, then the ending that makes the pronoun the first noun and the one that makes it the
# second. Nouns are marked with asterisks, the pronoun with underscores.
_PAIRS = (
    ("The librarian moved the *globe* off the *shelf* since _it_ was about to",
     "roll away", "collapse"),
    ("The *water* rose against the *dam* until _it_", "overflowed", "cracked"),
    ("My grandmother took the *kettle* off the *stove* when _it_",
     "began to whistle", "burned her hand through the glove"),
    ("The *moth* circled the *candle* until _it_", "burned its wings", "went out"),
    ("*Anna* phoned *Sophie* at midnight, and _she_",
     "apologised for the late hour", "complained about being woken"),
    ("*Peter* beat *Daniel* at chess, although _he_",
     "had learnt the game only last week", "had been the champion for years"),
    ("The *farmer* hired the *carpenter* because _he_",
     "had no time to build the shed", "was known for careful work"),
    ("The *queen* visited the *singer* in hospital because _she_",
     "wanted to cheer her up", "had just been operated on"),
    ("The *comet* passed close to the *planet*; astronomers say that _it_",
     "will come back in ninety years", "has two moons of its own"),
    ("The *advertisement* covered the whole *building*, and tourists complained that _it_",
     "promised too much", "could no longer be admired"),
    ("The *tent* stood under the *oak* until _it_", "was folded up", "lost its leaves"),
    ("The *orchestra* played in the *cathedral*, although _it_",
     "had hardly rehearsed", "was closed to visitors"),
    ("The *recipe* in the *newspaper* is useless to me: _it_",
     "forgets the flour", "arrives a day late"),
    ("The *river* runs beside the *railway*, and in spring _it_",
     "floods the meadows", "carries twice as many passengers"),
    ("*Roses* grow between the *rocks*, and _they_",
     "bloom in April", "were once at the bottom of the sea"),
    ("The *ants* marched over the *petals* until _they_",
     "reached their nest", "blew away in the wind"),
    ("The *guests* admired the *chandeliers* because _they_",
     "had never seen a castle before", "sparkled like stars"),
    ("The *villagers* drained the *marshes* when _they_",
     "grew tired of the mosquitoes", "began to smell"),
    ("The *waiters* polished the *forks* before _they_",
     "opened the restaurant", "were laid on the tables"),
    ("The *printer* has crumpled the *envelope*, so now _it_",
     "needs repairing", "has to be addressed again"),
    ("The sculptor preferred *marble* to *clay* since _it_",
     "lasts for centuries", "dries too quickly"),
    ("The *rocket* missed the *satellite* because _it_",
     "ran out of fuel", "had drifted from its usual orbit"),
    ("I swapped my *bicycle* for a *canoe* because _it_",
     "had two punctures", "can be used on the lake"),
    ("The *thermometer* stood in the *greenhouse*; this morning _it_",
     "showed forty degrees", "smelled of ripe tomatoes"),
    ("The *lawyer* questioned the *witness* until _he_",
     "had nothing more to ask", "began to contradict himself"),
    ("The *mayor* promised the *baker* that _he_",
     "would lower the taxes", "would be allowed to keep his shop"),
    ("The *sponge* soaked up the *ink*, and now _it_",
     "is dripping", "is no longer visible on the desk"),
    ("Thick *fog* rolled over the *airport*, and by noon _it_",
     "had thinned out", "had cancelled every flight"),
    ("The *magnet* attracts the *needle* because _it_",
     "was charged this morning", "contains iron"),
    ("We keep the *telescope* next to the *chimney*, where _it_",
     "is always pointed at Mars", "warms our backs with its smoke"),
    ("The *submarine* dived under the *iceberg* as soon as _it_",
     "had closed its hatches", "drifted into view"),
    ("The *essay* quoted the *poem* so badly that _it_",
     "had to be rewritten by Monday", "lost its rhymes"),
)  # fmt: skip

# French nouns of the pairs, as in contrast_frames.NOUNS.
_FRENCH = {
    "globe": "globe m", "shelf": "étagère f, rayon m", "water": "eau f", "dam": "barrage m",
    "kettle": "bouilloire f", "stove": "cuisinière f, poêle m, fourneau m",
    "moth": "papillon m, mite f", "candle": "bougie f, chandelle f",
    "comet": "comète f", "planet": "planète f", "advertisement": "publicité f, annonce f",
    "building": "bâtiment m, immeuble m, édifice m", "tent": "tente f", "oak": "chêne m",
    "orchestra": "orchestre m", "cathedral": "cathédrale f", "recipe": "recette f",
    "newspaper": "journal m", "river": "rivière f, fleuve m", "railway": "chemin m, voie f",
    "roses": "roses f", "rocks": "rochers m, roches f, pierres f, rocs m", "ants": "fourmis f",
    "petals": "pétales m", "guests": "invités m, hôtes m, convives m", "chandeliers": "lustres m",
    "villagers": "villageois m", "marshes": "marais m, marécages m",
    "waiters": "serveurs m, garçons m", "forks": "fourchettes f", "printer": "imprimante f",
    "envelope": "enveloppe f", "marble": "marbre m", "clay": "argile f", "rocket": "fusée f",
    "satellite": "satellite m", "bicycle": "vélo m, bicyclette f", "canoe": "canoë m, canot m",
    "thermometer": "thermomètre m", "greenhouse": "serre f", "sponge": "éponge f",
    "ink": "encre f", "fog": "brouillard m", "airport": "aéroport m", "magnet": "aimant m",
    "needle": "aiguille f", "telescope": "télescope m", "chimney": "cheminée f",
    "submarine": "sous m", "iceberg": "iceberg m", "essay": "essai m, dissertation f",
    "poem": "poème m",
}  # fmt: skip


def hand_written() -> list[ContrastPair]:
    """The pairs written by hand, each with its two endings."""
    return [
        ContrastPair(_sentence(text, of_first, 0), _sentence(text, of_second, 1))
        for text, of_first, of_second in _PAIRS
    ]


def hand_written_forms(noun: str) -> dict[str, str]:
    """The French nouns of a noun of the pairs written by hand, with their gender, m or f."""
    return dict(form.split() for form in _FRENCH[noun].split(", ")) if noun in _FRENCH else {}


def _sentence(text: str, ending: str, right: int) -> ContrastSentence:
    nouns = [word.lower() for word in text.split("*")[1::2]]
    pronoun = text.split("_")[1]
    sentence = f"{text} {ending}.".replace("*", "").replace("_", "")
    return ContrastSentence(sentence, nouns[right], nouns[1 - right], pronoun, frame="by hand")
