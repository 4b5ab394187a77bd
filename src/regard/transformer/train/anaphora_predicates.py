"""Predicates of the anaphora text: adjectives and verb phrases with the nouns that they fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regard.transformer.train.anaphora_adjectives_living import OF_LIVING
from regard.transformer.train.anaphora_adjectives_places import OF_PLACES
from regard.transformer.train.anaphora_adjectives_things import OF_THINGS
from regard.transformer.train.anaphora_nouns import members
from regard.transformer.train.anaphora_split import TEST_ADJECTIVES

# english = french = nouns that it fits / nouns that it might fit too; a plus marks what has degrees
# (very, too). French is the masculine; 'avoir' begins an idiom, ! an adverbial that never agrees.
_ADJECTIVES = """\
+ hungry = avoir faim = animate -bug / bug
+ thirsty = avoir soif = animate -bug / bug plant
+ afraid = avoir peur = animate -bug / bug
+ sleepy = avoir sommeil = animate -bug / bug town village
+ tired = fatigué = animate -bug / bug
+ exhausted = épuisé = animate -bug / bug
+ ill = malade = animate -bug / bug plant
injured = blessé = animate -bug / bug
+ angry = !en colère = animate -bug / bug
+ happy = heureux = animate -bug / bug text picture dish occasion
+ sad = triste = animate -bug / bug text picture occasion
+ nervous = nerveux = animate -bug / bug
+ curious = curieux = animate -bug / bug text picture object
+ lazy = paresseux = animate -bug / bug
+ brave = courageux = animate -bug / bug
+ frightened = effrayé = animate -bug / bug
+ shy = timide = animate -bug / bug
+ aggressive = agressif = beast bird wasp people / animal
+ intelligent = intelligent = beast bird people rat / animal text machine
+ impatient = impatient = animate -bug / bug
+ jealous = jaloux = beast people / animate
+ stubborn = têtu = beast people / animate
+ restless = agité = animate -bug / bug water waters
+ obedient = obéissant = beast / animate
+ starving = affamé = animate -bug / bug
+ playful = joueur = beast -bull -sheep / animate
+ greedy = gourmand = beast people / animate
+ cruel = cruel = people lion tiger wolf panther / animate text
+ docile = docile = beast / animate
blind = aveugle = animate -bug / bug
deaf = sourd = people beast / animate
asleep = endormi = animate -bug / bug town village
awake = réveillé = animate -bug / bug
alone = seul = animate / plant
tame = apprivoisé = fox wolf bear monkey lion crow squirrel owl / animal
+ delicious = délicieux = food drink / plant
+ tasty = savoureux = food / drink plant
+ ripe = mûr = fruit / produce
+ rotten = pourri = produce meat egg / food wood stone plant part
+ stale = rassis = bread cake biscuit croissant / food
+ sweet = sucré = fruit cake drink pancake waffle jam -water -broth / food animate
+ salty = salé = soup ham cheese meat broth sausage butter / food drink water waters
+ spicy = épicé = soup sauce meat sausage rice meal / food drink
+ bitter = amer = coffee tea beer grapefruit lemon artichoke / food drink water waters
raw = cru = meat steak egg vegetable / food
overripe = trop mûr* = fruit / produce
burnt = brûlé = cake meat omelette pizza pie toaster pancake bread -toaster / food wood building
+ fresh = frais = food -jam -honey -rice / drink water waters cloth plant
+ nourishing = nourrissant = dish / food drink
+ tasteless = fade = soup sauce melon meal broth / food drink
+ juicy = juteux = fruit steak -banana / food
+ greasy = gras = sausage pizza meal pancake soup / food object
mouldy = moisi = bread cheese jam fruit / food cloth text building wood
cooked = cuit = vegetable meat egg rice pizza ham / food stone animal
+ appetising = appétissant = food / drink
frozen solid = complètement gelé* = pond lake canal / water waters food drink
sparkling = pétillant = cider lemonade wine / drink water waters
alcoholic = alcoolisé = cider champagne beer wine / drink
+ lukewarm = tiède = drink soup / water waters food
empty = vide = container fridge cupboard wardrobe bookcase house bus train / object place ride
full = plein = container bus train wardrobe / object place ride water waters animate plant
+ watertight = étanche = barrel thermos boat raft bottle / container ride clothing part
sealed = scellé = letter jar bottle box crate / container text part
locked = fermé* à clé = drawer chest suitcase house door car wardrobe / container place part ride
+ comfortable = confortable = seat car hotel shoe slipper cushion pillow train / ride cloth place
+ uncomfortable = inconfortable = seat car shoe train boot / ride cloth place
+ wobbly = bancal = seat furniture -hammock -mattress / tool toy part
made of oak = !en chêne = wood -hammock -mattress barrel door beam / tool container part boat stone
varnished = verni = wood -hammock -mattress violin guitar / tool container part boat shoe
+ fast = rapide = ride horse / animate machine drink
parked = garé = vehicle -train -tram / ride
out of petrol = !en panne d'essence = car truck van tractor motorcycle scooter / ride
+ rusty = rouillé = vehicle blade gate key shovel hammer / ride handy machine part container
second-hand = !d'occasion = car motorcycle piano van guitar computer / object ride instrument
electric = électrique = car train bicycle guitar scooter oven razor heater / device instrument tool
faulty = défectueux = machine drill / device object part
out of order = !en panne = machine car truck bus tractor / device
switched on = allumé = machine -clock / device
switched off = éteint = machine -clock / device
unplugged = débranché = machine drill -clock / device
+ powerful = puissant = machine vehicle drill -clock / ride animate handy building text
well built = bien construit* = building / wood ride part wall
+ modern = moderne = machine building train / ride object text
+ sharp = tranchant = blade / handy stone
+ blunt = émoussé = blade / handy
+ handy = pratique = handy thermos backpack calculator / object machine cloth ride
deserted = désert = village street beach island park avenue alley / place road site
haunted = hanté = castle house hotel forest tower villa theatre / place
+ crowded = bondé = beach museum bus restaurant train stadium / place ride
+ sunny = ensoleillé = beach garden balcony valley meadow field street / place
+ narrow = étroit = road corridor bridge valley staircase / place object part ride
+ winding = sinueux = road river stream / place part
+ slippery = glissant = road staircase bridge / place part stone
+ noisy = bruyant = road restaurant machine factory school / place device animate toy occasion
flooded = inondé = cellar field road valley kitchen village / place part
uninhabited = inhabité = house castle island village villa / place
+ spacious = spacieux = room building wardrobe car / place container ride
+ historic = historique = castle church town palace street / place text part occasion
for rent = !à louer = house villa garage / place ride object
well heated = bien chauffé* = building bedroom -lighthouse -tower -stadium -hut / place ride
+ deep = profond = lake river sea pool ocean pond canal / place container text water
shallow = peu profond* = river lake pool pond stream lagoon / place container water
+ polluted = pollué = waters beach town / place drink
navigable = navigable = river canal / water waters
torn = déchiré = cloth letter newspaper poster bag map / text picture container net
+ crumpled = froissé = shirt dress letter tie skirt sheet newspaper / cloth text
+ fashionable = !à la mode = hat dress skirt coat boot jacket / cloth place object
made of wool = !en laine = sweater scarf sock glove blanket carpet coat cap / cloth toy
made of silk = !en soie = tie scarf dress shirt / cloth
+ tight = serré = belt shoe glove dress skirt boot / cloth
ironed = repassé = shirt skirt dress sheet tablecloth / cloth
+ elegant = élégant = dress suit coat hat tie / cloth people place object animal
in bloom = !en fleur = rose lilac orchid tulip cactus / plant place
withered = fané = rose tulip flower poppy daisy orchid lilac / plant vegetable
leafy = feuillu = tree oak hedge bush birch willow / plant place vegetable food
+ prickly = épineux = bush cactus rose / plant
out of tune = désaccordé = instrument -drum / machine
+ interesting = intéressant = text museum / reading place people machine
+ boring = ennuyeux = text / reading people place toy occasion
well written = bien écrit* = text poem -map -poster / reading
+ illegible = illisible = letter contract invoice map notebook / reading
published = publié = novel poem book essay / reading
illustrated = illustré = book magazine dictionary leaflet / reading
+ incomprehensible = incompréhensible = contract manual poem letter map essay / reading people
handwritten = écrit* à la main = letter recipe poem notebook / reading
unsigned = non signé* = contract letter / reading
unfinished = inachevé = novel letter portrait painting drawing cathedral / reading building object
translated into French = traduit* en français = novel book poem manual / reading
framed = encadré = picture poster / reading
in black and white = !en noir et blanc = photo / reading machine
inflated = gonflé = balloon ball mattress / toy ride
golden = doré = crown ring necklace / jewel object part food animal plant
+ polite = poli = people / animal stone
+ rich = riche = people / place dish
+ poor = pauvre = people / animate place
married = marié = people
divorced = divorcé = people
retired = !à la retraite = people
unemployed = !au chômage = people
+ rude = impoli = people / animal
+ busy = occupé = people / animate place
+ talkative = bavard = people parrot / animate
on holiday = !en vacances = people
+ generous = généreux = people / place
+ honest = honnête = people
+ embarrassed = gêné = people / animate
+ worried = inquiet = people / animate
+ proud = fier = people rooster lion / animate
made of marble = !en marbre = statue column staircase / part building stone furniture
under construction = !en construction = building bridge tunnel motorway / place boat part
three storeys high = haut* de trois étages \
    = house school hotel factory museum hospital / building part
made of iron = !en fer = gate key axe hammer staircase / handy part ride container jewel
made of glass = !en verre = bottle jar bowl marble / container part toy object
made of leather = !en cuir = belt shoe boot glove suitcase sofa armchair / clothing container seat
made of gold = !en or = crown ring bracelet necklace medal coin / jewel object
half empty = à moitié vide* = container -drawer / object place
full of water = plein* d'eau = bucket bottle jug barrel bowl saucepan cellar boot / container place
full to the brim = plein* à ras bord = container -suitcase -bag -purse / water waters
+ soft to the touch = doux* au toucher = cloth fruit / animal toy seat
threadbare = usé* jusqu'à la corde = carpet coat jacket blanket curtain armchair sofa / cloth seat
made of cotton = !en coton = shirt sheet sock towel dress apron curtain / cloth
stained = taché* = tablecloth shirt dress apron carpet tie / cloth seat text
+ colourful = coloré = scarf kite carpet parrot flag balloon / cloth toy bird picture plant place
insured = assuré = vehicle boat yacht house / ride building people jewel
badly parked = mal garé* = car van truck motorcycle / ride
well maintained = bien entretenu* = car truck tractor garden park / ride place tool machine
made of steel = !en acier = blade hammer shovel key spoon fork / handy part container ride
paved = pavé = street path alley avenue / road
badly lit = mal éclairé* = road corridor tunnel staircase / place part
lined with trees = bordé* d'arbres = road canal river / place
covered with snow = couvert* de neige = land road roof -desert -beach / place part plant ride
+ fertile = fertile = field valley meadow vineyard / land animate
wooded = boisé = hill valley island mountain / land
+ windy = venteux = hill beach island mountain / land
+ clear = limpide = lake stream sea lagoon pool / water waters drink text road people
padded = rembourré = chair armchair bench stool / seat cloth
folding = pliant = chair table bed stool bench / wood tool
+ difficult to play = difficile* à jouer = instrument -drum / text
+ fun = amusant = toy comic / text machine people occasion
meant for children = destiné* aux enfants = toy comic / text object clothing
cracked = fissuré = wall column statue roof chimney bowl / part stone container building
freshly painted = fraîchement repeint* = wall door gate fence bedroom bench / part place wood boat
mossy = couvert* de mousse = stone rock wall roof log branch / part plant garden
+ smooth = lisse = stone plank rock marble tile / wood part waters drink road jewel
sawn in two = scié* en deux = plank log beam branch / wood part
engraved = gravé = ring medal bracelet / jewel object
made of silver = !en argent = ring necklace bracelet spoon fork coin / jewel object
fake = faux = diamond coin medal / jewel text picture people
+ venomous = venimeux = scorpion spider snake wasp / animal plant
+ hard-working = travailleur = ant bee people donkey / animate
digital = numérique = clock radio calculator / machine text
badly ventilated = mal aéré* = room cellar factory prison / place
tiled = carrelé = kitchen bathroom corridor / place part
+ steep = escarpé = path hill mountain / place part
+ swampy = marécageux = field valley meadow forest / land
home-made = fait* maison = cake jam pie soup bread pizza yoghurt / food clothing toy
vegetarian = végétarien = meal pizza salad soup sandwich / dish people restaurant
censored = censuré = newspaper novel letter book / reading
automatic = automatique = machine door gate -lamp -tablet / device part
made of brick = !en brique = wall chimney house school tower / building part
"""


@dataclass(frozen=True, slots=True)
class Predicate:
    """An adjective, a verb phrase or a transitive verb, and the nouns that it fits.

    Of ``fits`` it is said; of ``possible`` it might be, so that none of these may stand beside.
    """

    english: str
    french: str
    fits: frozenset[str]
    possible: frozenset[str]
    in_training: bool
    gradable: bool = False


# What is said of the first might be said of the others, which are therefore ruled out beside it.
_ALIKE = {"text": "work document idea", "container": "decor", "food": "care fish", "dish": "fish",
          "occasion": "work idea", "toy": "decor"}  # fmt: skip


def nouns_of(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The nouns that a predicate fits and those that it might fit, from 'fits / possible'."""
    fits, _, possible = text.partition("/")
    alike = " ".join(_ALIKE[x] for x in text.split() if x in _ALIKE)
    fitting = members(fits)
    return fitting, fitting | members(possible) | members(alike)


def predicate_rows(table: str, test: frozenset[str]) -> tuple[Predicate, ...]:
    """The predicates of a table with one in each line; those of ``test`` are out of training."""
    rows = [[cell.strip() for cell in line.split(" = ")] for line in table.splitlines()]
    return tuple(_predicate(english, french, nouns, test) for english, french, nouns in rows)


def grouped_rows(table: str, test: frozenset[str]) -> Iterator[Predicate]:
    """The predicates of a table with several in each line, which fit the same nouns."""
    for line in table.splitlines():
        nouns, _, items = " ".join(line.split()).partition(" = ")
        for item in items.split("; "):
            english, _, french = item.partition(": ")
            yield _predicate(english, french, nouns, test)


def _predicate(english: str, french: str, nouns: str, test: frozenset[str]) -> Predicate:
    fits, possible = nouns_of(nouns)
    text = english.removeprefix("+ ")
    gradable = english.startswith("+ ")
    return Predicate(text, french, fits, possible, text not in test, gradable)


def _adjectives() -> tuple[Predicate, ...]:
    more = (x for table in (OF_LIVING, OF_THINGS, OF_PLACES)
            for x in grouped_rows(table, TEST_ADJECTIVES))  # fmt: skip
    return (*predicate_rows(_ADJECTIVES, TEST_ADJECTIVES), *more)


ADJECTIVES = _adjectives()
# States that come and go: 'when it was tired', not 'when it was digital'.
_TEMPORARY = """\
    hungry, thirsty, afraid, sleepy, tired, exhausted, ill, injured, angry, happy, sad, nervous,
    frightened, restless, starving, asleep, awake, alone, empty, full, parked, deserted, crowded,
    flooded, withered, ironed, busy, embarrassed, worried, proud, locked, unplugged, stained,
    crumpled, inflated, ripe, rotten, mouldy, fresh, lukewarm, raw, switched on, switched off,
    out of order, in bloom, out of petrol, full of water, half empty, full to the brim,
    frozen solid, covered with snow, on holiday, out of tune, badly parked, sick, furious,
    terrified, scared, anxious, wounded, upset, excited, surprised, confused, drowsy, unconscious,
    agitated, hurt, trapped, out of breath, desperate, panicked, lost, disappointed, annoyed,
    irritated, depressed, stressed, pleased, glad, delighted, on strike, on duty, in prison,
    in hospital, barefoot, blooming, wilted, spoiled, expired, overheated, turned on, turned off,
    plugged in, charged, jammed, deflated, delayed, packed, moored, untidy, messy, congested,
    blocked, icy, muddy, dried out, ajar, wide open, shut, occupied, steaming"""
TEMPORARY = frozenset(" ".join(_TEMPORARY.split()).split(", "))
