"""Verb phrases, transitive verbs and parts of the anaphora text, with the nouns that they fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from regard.transformer.train.anaphora.actions import DONE_TO
from regard.transformer.train.anaphora.actions_classes import DONE_TO_CLASSES
from regard.transformer.train.anaphora.actions_living import DONE_TO_LIVING
from regard.transformer.train.anaphora.actions_sites import DONE_TO_SITES
from regard.transformer.train.anaphora.actions_things import DONE_TO_THINGS
from regard.transformer.train.anaphora.actions_works import DONE_TO_WORKS
from regard.transformer.train.anaphora.phrases_living import DONE_BY_LIVING
from regard.transformer.train.anaphora.phrases_things import DONE_BY_THINGS
from regard.transformer.train.anaphora.predicates import (
    Predicate,
    grouped_rows,
    nouns_of,
    predicate_rows,
)
from regard.transformer.train.anaphora.split import TEST_ACTIONS, TEST_PARTS, TEST_PHRASES
from regard.transformer.train.anaphora.verbs_living import ACTS_OF_LIVING
from regard.transformer.train.anaphora.verbs_places import ACTS_OF_PLACES
from regard.transformer.train.anaphora.verbs_things import ACTS_OF_THINGS

# english = french; fits. The first English word is the base of a verb or 'be'.
_PHRASES = """\
be looking for food = chercher de la nourriture = animal -bug people / animate bug
want to play = vouloir jouer = beast kitten boy girl / animate
be afraid of the noise = avoir peur du bruit = animate -bug / bug
need rest = avoir besoin de repos = animate -bug / bug
have a long tail = avoir une longue queue \
    = monkey fox rat mouse horse lizard tiger / animal toy ride
smell danger = sentir le danger = beast small bird people / animate
limp = ~ boiter = beast people -kangaroo / animate
tremble with cold = trembler de froid = beast small people / animate
tremble with fear = trembler de peur = beast small people / animate
breathe heavily = respirer fort = beast people / animate
have a thick fur = avoir une épaisse fourrure \
    = bear fox rabbit wolf otter beaver / animal clothing
need a vet = avoir besoin d'un vétérinaire = beast small bird / animal
be dreaming = rêver = beast people / animate
bark = ~ aboyer = dog puppy / animal
miaow = ~ miauler = cat kitten / animal
be singing = chanter = bird -ostrich -turkey -penguin people / animate machine
be flapping = battre des ailes = bird butterfly bat dragonfly / animal ride toy
have lovely feathers = avoir de belles plumes = parrot peacock dove owl rooster / bird clothing
buzz = ~ bourdonner = bee fly wasp mosquito / animate machine
smell good = sentir bon \
    = food coffee rose lilac perfume soap tea flower shampoo mint / drink plant care
contain too much sugar = contenir trop de sucre \
    = cake lemonade jam juice yoghurt / food drink text
have a strange taste = avoir un drôle de goût = food drink / plant
need salt = manquer de sel = soup sauce meat omelette broth potato rice salad stew egg / food
be full of vitamins = être plein* de vitamines = fruit vegetable juice salad / food drink
come from the oven = sortir du four = bread cake pizza pie croissant / food
contain alcohol = contenir de l'alcool = wine beer cider champagne / drink food container
be boiling = bouillir = soup water milk broth sauce stew tea jam / drink food
have no lid = ne pas avoir de couvercle \
    = saucepan jar box basket barrel dustbin / container furniture
leak = ~ fuir \
    = bottle bucket barrel jug roof boat tank tap pool hose kettle pen bathtub tent fridge \
    dishwasher / container part ride device handy
overflow = > déborder \
    = bucket river dustbin jug bathtub pool tank lake glass cup / container water waters
contain old coins = contenir de vieilles pièces \
    = chest jar box drawer purse wallet pocket bag / container furniture text
need a coat of varnish = avoir besoin d'une couche de vernis \
    = wood door -hammock -mattress / boat part
match the curtains = être assorti* aux rideaux \
    = sofa armchair carpet cushion tablecloth quilt blanket lamp / wood cloth part machine
have a flat tyre = avoir un pneu crevé = car truck van bicycle bus ambulance / ride
use too much petrol = consommer trop d'essence = car truck van motorcycle jeep / device
need new brakes = avoir besoin de nouveaux freins = vehicle -bulldozer / ride
be stuck in traffic = être coincé* dans les embouteillages \
    = car bus taxi ambulance truck / ride people
go too fast = rouler trop vite = car truck bus motorcycle taxi / ride people
have two sails = avoir deux voiles = yacht sailboat / ride
sink = couler = boat -gondola / ride stone object
fly low = voler bas = plane helicopter glider eagle swan crow seagull hawk / ride bird bug
have thick walls = avoir des murs épais = building -stadium cellar / place container
have ten rooms = avoir dix pièces \
    = house villa hotel farm mansion castle palace apartment / building
date from the Middle Ages = dater du Moyen Âge \
    = castle church bridge tower chapel monastery / place text object part jewel
be closed on Sundays = être fermé* le dimanche = museum bakery pharmacy library restaurant / place
need a new roof = avoir besoin d'un nouveau toit \
    = house barn church hut farm school / building ride
be full of tourists = être plein* de touristes = castle museum hotel beach cathedral / place ride
lead to the sea = mener à la mer = road river canal / place
be closed to traffic = être fermé* à la circulation = road bridge tunnel -path / place
be full of fish = être plein* de poissons = lake river pond stream / water waters container
have no buttons = ne pas avoir de boutons \
    = shirt coat jacket cardigan blouse dress / clothing machine
have long sleeves = avoir des manches longues \
    = shirt sweater dress jacket coat blouse cardigan / clothing
have a hole = avoir un trou \
    = sock bucket sweater roof glove shoe boat pocket hat boot fence tent bag net / cloth \
    container part object handy decor
need ironing = avoir besoin d'être repassé* \
    = shirt dress skirt tablecloth blouse handkerchief sheet suit curtain / cloth
need watering = avoir besoin d'être arrosé* = plant garden -nettle / place
grow quickly = pousser vite = plant vegetable / animate place
have deep roots = avoir des racines profondes = tree oak vine willow birch / plant
give a lot of shade = donner beaucoup d'ombre = tree oak willow / plant building textile
attract bees = attirer les abeilles \
    = lilac rose sunflower poppy flower daisy honey jam lily / plant food
sound wonderful = sonner merveilleusement bien = instrument / machine text
need tuning = avoir besoin d'être accordé* = piano guitar violin harp cello / instrument device
be about love = parler d'amour = poem novel letter book / reading people
have three hundred pages = avoir trois cents pages = book novel dictionary manual / text
contain mistakes = contenir des erreurs = letter invoice map dictionary newspaper / text machine
be written in Latin = être écrit* en latin = book poem letter contract / text part
have a happy ending = finir bien = novel / text people
tell the truth = dire la vérité = newspaper people / text picture
make a strange noise = faire un bruit étrange \
    = machine vehicle -lamp -tablet -bicycle / device animate instrument toy
use a lot of electricity = consommer beaucoup d'électricité \
    = fridge oven heater printer computer television / device building
have a weak battery = avoir une batterie faible = tablet telephone computer robot / device toy
be under guarantee = être sous garantie \
    = fridge printer computer dishwasher oven television / device object
overheat = >~ surchauffer \
    = computer projector toaster printer car laptop truck oven generator heater / device
show the wrong time = indiquer la mauvaise heure = clock wristwatch / machine jewel
need new batteries = avoir besoin de nouvelles piles = radio calculator robot clock / device toy
have a fever = avoir de la fièvre = people / animate
know the way = connaître le chemin = people horse / animate
speak three languages = parler trois langues = people / parrot machine
need money = avoir besoin d'argent = people museum school / place
be laughing = rire = people / hyena
smile = ~ sourire = people / picture
live alone = vivre seul* = people / animate
have no money = ne pas avoir d'argent = people / place container
be in a hurry = être pressé* = people / animate
have a cold = avoir un rhume = people / animate
be late for work = être en retard au travail = people
have a headache = avoir mal à la tête = people
have a wooden handle = avoir un manche en bois \
    = shovel rake hammer broom axe knife / handy container
be in the toolbox = être dans la boîte à outils = hammer screwdriver drill / handy thing
need petrol = avoir besoin d'essence \
    = car tractor motorcycle van truck mower bus generator chainsaw / ride machine handy
have no headlights = ne pas avoir de phares = car bicycle tractor truck / ride
skid = > déraper = car truck motorcycle bus van bicycle taxi scooter ambulance / ride
be full of potholes = être plein* de nids-de-poule = road -path / place
teem with frogs = grouiller de grenouilles = pond swamp lake / water waters place
be missing two strings = avoir deux cordes en moins = guitar violin harp banjo / instrument
have six legs = avoir six pattes = ant bee ladybird fly wasp grasshopper / animal wood
sting = piquer = bee wasp mosquito scorpion nettle hornet jellyfish / animal plant blade fish
be gathering pollen = butiner = bee butterfly / animal
crawl slowly = ramper lentement = caterpillar snail snake worm slug turtle / animate
rhyme = rimer = poem song hymn / text work
have no windows = ne pas avoir de fenêtres = cellar attic corridor prison bathroom / place ride
smell of mould = sentir le moisi \
    = cellar attic cupboard wardrobe blanket basement bread cheese coat carpet / place cloth food
bounce well = rebondir bien = ball balloon / toy
fly in the wind = voler au vent = kite flag / toy cloth
have a golden frame = avoir un cadre doré \
    = painting portrait photo engraving / picture furniture part
show the village = représenter le village = painting photo drawing engraving / reading
glitter in the sun = briller au soleil = jewel / part ride water waters object
"""

# Verbs of which the pronoun is the object: english = french = nouns.
_ACTIONS = """\
train = dresser = dog horse lion monkey elephant puppy bear parrot pony / animate
tame = apprivoiser = fox wolf squirrel crow monkey owl / animate
cure = guérir = beast people / animate plant
frighten = effrayer = animate -bug / bug
milk = traire = cow goat ewe / animal
cook = cuisiner = vegetable meat egg rice pumpkin mushroom / food
peel = éplucher = potato carrot onion apple pear cucumber / produce egg
taste = goûter = food drink / water waters plant
season = assaisonner = salad soup meat steak / food
heat up = réchauffer = soup meal pizza sauce milk / food drink site water waters
write = écrire = letter novel poem essay recipe / reading
translate = traduire = novel letter poem contract manual recipe / reading
sign = signer = contract letter portrait / reading
park = garer = car truck van motorcycle / ride
water = arroser = plant garden / place vegetable
plant = planter = tree rose tulip hedge oak lilac / plant produce
prune = tailler = hedge rose vine bush / plant tool stone
pick = cueillir = flower rose apple cherry pear fig plum strawberry / plant produce
tune = accorder = instrument -drum / device
iron = repasser = shirt dress skirt sheet / cloth
knit = tricoter = sweater scarf glove sock / cloth
sew = coudre = dress skirt shirt curtain / cloth toy
dye = teindre = dress shirt scarf skirt / cloth
switch off = éteindre = machine -clock -fridge / device
unplug = débrancher = lamp television computer fridge heater printer toaster / device
switch on = allumer = lamp television computer heater oven radio / device
visit = visiter = museum castle church cathedral palace / place people
rent = louer = house villa car garage / place device
build = construire = house bridge wall school / place ride part wood toy
demolish = démolir = building wall chimney bridge -cathedral / part place
sharpen = aiguiser = blade / handy
varnish = vernir = table chair desk door violin bench / wood part boat instrument
inflate = gonfler = balloon ball / toy ride seat
explore = explorer = forest island castle cellar attic / place
pollute = polluer = river lake sea beach / water waters land drink
frame = encadrer = painting photo portrait drawing poster / reading
polish = cirer = shoe boot table / wood clothing object
furnish = meubler = bedroom house villa / place
invite = inviter = people
interview = interviewer = actress mayor singer dancer pilot / people
thank = remercier = people
arrest = arrêter = people
"""

# Parts of things, as in 'its tail was long': english = french = gender = owners. All other nouns
# have none of it.
_PARTS = """\
tail = queue = f = beast mouse rat lizard peacock / animal ride toy
beak = bec = m = bird
wing = aile = f = bird butterfly bee plane / ride bug building
paw = patte = f = dog cat lion fox rabbit bear kitten puppy / animal
fur = fourrure = f = fox bear rabbit cat wolf otter beaver / animal clothing
engine = moteur = m = car truck bus tractor plane motorcycle van / device
steering wheel = volant = m = car truck bus tractor van / ride
sail = voile = f = yacht sailboat / ride
facade = façade = f = building -hut -barn / place
roof = toit = m = building car / place ride
lid = couvercle = m = box jar saucepan chest teapot barrel / container instrument furniture
label = étiquette = f = bottle jar suitcase / container clothing text food drink object
author = auteur = m = novel poem book essay letter / reading
cover = couverture = f = book novel magazine dictionary notebook / reading furniture ride
title = titre = m = novel poem book / reading
sleeve = manche = f = shirt sweater dress coat jacket / clothing
collar = col = m = shirt coat jacket dress / clothing animal
lining = doublure = f = coat jacket / cloth container
trunk = tronc = m = tree oak birch willow fir / plant elephant ride
scent = parfum = m = rose lilac flower orchid / plant food drink animate
stem = tige = f = rose tulip sunflower daisy / plant produce
skin = peau = f = apple pear peach tomato potato / produce animate sausage
flavour = goût = m = food drink
screen = écran = m = computer television tablet telephone / machine site
keyboard = clavier = m = computer piano / machine instrument
battery = batterie = f = tablet telephone computer car robot / device toy
frame = cadre = m = painting portrait photo engraving / picture part wood ride
bow = archet = m = violin cello / instrument ride cloth
blade = lame = f = knife sword razor axe dagger / handy ride
shore = rive = f = lake river pond / water waters land
bottom = fond = m = lake river pool barrel saucepan / water waters container ride
lock = serrure = f = door gate chest suitcase / part container site ride furniture
mane = crinière = f = horse lion mare pony zebra / animal
plumage = plumage = m = bird / animal clothing
ear = oreille = f = rabbit dog cat elephant donkey mouse / animate container
nest = nid = m = sparrow magpie stork eagle owl crow / animal
wheel = roue = f = car bicycle truck cart wheelbarrow wagon / ride container seat toy
tyre = pneu = m = car truck bicycle motorcycle bus / ride
headlight = phare = m = car motorcycle truck / ride
deck = pont = m = ship ferry yacht sailboat / ride
handle = poignée = f = door gate suitcase saucepan cup / container part furniture handy
leg = pied = m = table chair stool desk bed / wood animate instrument
rhythm = rythme = m = song symphony poem hymn / work occasion text animate
ending = fin = f = novel film story tale / reading occasion
plot = intrigue = f = novel film story comedy / reading
chorus = refrain = m = song hymn / work text
signature = signature = f = letter contract cheque treaty painting / reading document
button = bouton = m = shirt coat jacket blouse / clothing machine
sole = semelle = f = shoe boot slipper sandal / clothing
crust = croûte = f = bread pie pizza cheese / food
filling = garniture = f = pie sandwich pancake / food
pit = noyau = m = cherry peach plum apricot olive / produce
smell = odeur = f = cheese soup coffee perfume soap rose / food drink plant care animate place
foliage = feuillage = m = tree oak bush maple hedge / plant
root = racine = f = tree oak rose vine / plant produce
entrance = entrée = f = building station cave tunnel / place part
wallpaper = papier peint = m = bedroom kitchen corridor / site
climate = climat = m = country island region desert city / place
population = population = f = country city town island village / place
cable = câble = m = computer lamp printer telephone vacuum / device instrument
memory = mémoire = f = computer smartphone tablet laptop / machine animate
lens = objectif = m = camera telescope microscope projector / machine tool
"""
# The first three may be said of a flavour or an author too.
_PART_STATES = """\
strange = étrange; remarkable = remarquable; unusual = inhabituel; dirty = sale; damaged = abîmé;
grey = gris; white = blanc; in bad condition = !en mauvais état; well preserved = bien conservé*"""


@dataclass(frozen=True, slots=True)
class OwnedPart:
    """A part with the nouns that have it, and those that might."""

    english: str
    french: str
    gender: str
    fits: frozenset[str]
    possible: frozenset[str]
    in_training: bool


def _parts() -> tuple[OwnedPart, ...]:
    parts = []
    for line in _PARTS.splitlines():
        english, french, gender, nouns = line.split(" = ")
        fits, possible = nouns_of(nouns)
        parts.append(OwnedPart(english, french, gender, fits, possible, english not in TEST_PARTS))
    return tuple(parts)


def _states() -> tuple[tuple[str, str], ...]:
    items = " ".join(_PART_STATES.split()).split("; ")
    return tuple((item.split(" = ")[0], item.split(" = ")[1]) for item in items)


def _with_namesakes(rows: Iterable[Predicate]) -> tuple[Predicate, ...]:
    """The rows; one with the English of another rules out the nouns of the other too.

    So a trap that somebody set stands beside no clock that somebody might have set.
    """
    table = tuple(rows)
    possible: dict[str, frozenset[str]] = {}
    for row in table:
        possible[row.english] = possible.get(row.english, frozenset()) | row.possible
    return tuple(replace(row, possible=possible[row.english]) for row in table)


_PHRASE_TABLES = (DONE_BY_LIVING, DONE_BY_THINGS, ACTS_OF_LIVING, ACTS_OF_THINGS, ACTS_OF_PLACES)
PHRASES: tuple[Predicate, ...] = _with_namesakes(
    (
        *predicate_rows(_PHRASES, TEST_PHRASES),
        *(row for table in _PHRASE_TABLES for row in grouped_rows(table, TEST_PHRASES)),
    )
)
_ACTION_TABLES = (
    DONE_TO,
    DONE_TO_SITES,
    DONE_TO_LIVING,
    DONE_TO_THINGS,
    DONE_TO_WORKS,
    DONE_TO_CLASSES,
)
ACTIONS: tuple[Predicate, ...] = _with_namesakes(
    (
        *predicate_rows(_ACTIONS, TEST_ACTIONS),
        *(row for table in _ACTION_TABLES for row in grouped_rows(table, TEST_ACTIONS)),
    )
)
ABSTRACT_PARTS = frozenset(
    ("author", "flavour", "scent", "title", "rhythm", "ending", "plot", "chorus", "smell",
     "climate", "population", "memory")
)  # fmt: skip
PARTS = _parts()
PART_STATES = _states()
