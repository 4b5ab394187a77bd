"""Relations of the anaphora text: frames that name the predicates of either noun themselves."""

from __future__ import annotations

from regard.transformer.train.anaphora.deeds import DEEDS
from regard.transformer.train.anaphora.frames import Event, event, table_rows
from regard.transformer.train.anaphora.predicates import ADJECTIVES
from regard.transformer.train.anaphora.relations_animals import OF_ANIMALS
from regard.transformer.train.anaphora.relations_comparisons import OF_COMPARISONS
from regard.transformer.train.anaphora.relations_handling import OF_HANDLING
from regard.transformer.train.anaphora.relations_motion import OF_MOTION
from regard.transformer.train.anaphora.relations_outcomes import OF_OUTCOMES
from regard.transformer.train.anaphora.relations_people import OF_PEOPLE
from regard.transformer.train.anaphora.relations_results import OF_RESULTS, RESULT_FRENCH
from regard.transformer.train.anaphora.relations_society import OF_IDEAS, OF_SOCIETY
from regard.transformer.train.anaphora.relations_support import OF_SUPPORT
from regard.transformer.train.anaphora.relations_things import OF_THINGS
from regard.transformer.train.anaphora.relations_words import PREDICATE_FRENCH
from regard.transformer.train.anaphora.split import TEST_ADJECTIVES
from regard.transformer.train.anaphora.synonyms import SYNONYM_FRENCH, with_synonyms

# ... = predicates of {a} = predicates of {b}; options: not (the event fails, 'too' before the
# predicates), yes (it happens), more (comparison: the predicates explain it), vain and rest (it
# happens or lasts, but something was 'too' slow or weak); 'big enough' keeps its last word.
_RELATIONAL = """\
{a} go through {b} = passer par {b} = furniture bed sofa piano vehicle appliance \
    = door gate tunnel corridor alley = not = big, wide, large = narrow, small, low
{a} enter {b} = entrer dans {b} = vehicle beast appliance = garage barn tunnel hut = not \
    = big, tall, wide = small, low, cramped
{a} go into {b} = entrer dans {b} = text clothing toy instrument tool = container = not \
    = big, large, long = small, narrow
{a} contain {b} = contenir {b} = container = clothing text instrument toy food = unable = small \
    = big, large, long
{a} hold {b} = contenir {b} = room garage barn hut = furniture vehicle piano boat = unable \
    = small, narrow = big, large
{a} reach {b} = atteindre {b} = ladder rope stick = window roof balcony branch shelf = not \
    = short = high
{a} touch {b} = toucher {b} = beast people = branch shelf lamp = not = small, young = high
{a} cover {b} = recouvrir {b} = blanket sheet tablecloth carpet towel \
    = bed table sofa desk piano car = unable = small, short, narrow = large, big, long, wide
{a} carry {b} = porter {b} = beast -lion -tiger = wood container appliance stone = not \
    = weak, small, tired, young = heavy, big
{a} transport {b} = transporter {b} = van bicycle raft wheelbarrow boat helicopter \
    = piano beam appliance furniture = not = small, weak, fragile = heavy, big, long
{a} push {b} = pousser {b} = beast tractor boy girl = stone furniture vehicle = not \
    = weak, tired, small = heavy, big
{a} move {b} = déplacer {b} = beast tractor robot = furniture stone container = not \
    = weak, small = heavy, large
{a} support {b} = supporter {b} = shelf branch table raft bridge beam \
    = container appliance stone statue = unable = weak, flimsy, thin = heavy, massive
{a} jump over {b} = sauter par-dessus {b} = beast = wall fence hedge gate = not \
    = small, tired, fat, old = high, wide
{a} cut {b} = couper {b} = blade = rope bread meat branch cheese beam = not = blunt, small, old \
    = hard, thick
{a} stop {b} = arrêter {b} = fence hedge wall gate = beast vehicle = not = low, weak, flimsy \
    = fast, heavy, massive
{a} overtake {b} = dépasser {b} = vehicle = vehicle = not = slow, heavy = fast, wide
{a} go under {b} = passer sous {b} = truck bus boat ship yacht tractor = bridge = not \
    = high, tall, big = low, narrow
{a} light up {b} = éclairer {b} = lamp projector = building room road = not = weak, small \
    = large, big, long
{a} heat {b} = chauffer {b} = heater oven = building room = not = small, weak, old \
    = large, big, cold
{a} save {b} = sauver {b} = boat helicopter ship = beast raft canoe = not = slow, far away \
    = weak, frightened
{a} enter {b} deeply = s'enfoncer dans {b} = needle key screwdriver stick dagger \
    = wall stone beam plank door = not = blunt, short, wide = hard, thick
{a} tie up {b} = attacher {b} = rope net belt = beast boat container = not = short, thin, weak \
    = big, large
S put {a} in {b} = mettre {a} dans {b} = text clothing toy instrument = container drawer \
    = cannot = big, large, wide, long = small, full, narrow
S push {a} into {b} = pousser {a} dans {b} = wood container appliance = room garage barn = cannot \
    = heavy, big, wide = small, narrow, full
S hear {a} because of {b} = entendre {a} à cause de {b} = radio flute violin bird television \
    = machine vehicle tractor drum = cannot = far away, weak = noisy, loud
S see {a} behind {b} = voir {a} derrière {b} = beast church lake car = wall hedge building fence \
    = cannot = small, far away = high, wide
S attach {a} to {b} = attacher {a} à {b} = flag rope net = roof tree column = cannot \
    = short, heavy = high, slippery
S replace {a} with {b} = remplacer {a} par {b} = machine vehicle = machine vehicle = yes \
    = old, faulty, slow, ugly, dangerous = new, modern, practical
S buy {a} instead of {b} = acheter {a} au lieu de {b} = object vehicle = object vehicle = yes \
    = cheaper, prettier, better = ugly, too expensive, old-fashioned
S prefer {a} to {b} = préférer {a} à {b} = building clothing seat text \
    = building clothing seat text = more = better, prettier, more practical, cheaper \
    = ugly, too expensive, old-fashioned
S dry {a} with {b} = sécher {a} avec {b} = beast bowl bottle window = towel sheet = yes \
    = wet, soaked = dry, soft, clean
S clean {a} with {b} = nettoyer {a} avec {b} = machine vehicle wood window = sponge brush towel \
    = yes = dirty, dusty, muddy = clean, soft, damp
S cut {a} with {b} = couper {a} avec {b} = bread meat rope branch cheese cake = blade = yes \
    = hard, thick, big = sharp, new, clean
S heat {a} in {b} = chauffer {a} dans {b} = soup milk water sauce = saucepan oven bowl = yes \
    = cold, frozen = clean, large, new
S give {a} to {b} = donner {a} à {b} = food = beast bird = yes = old, fresh, useless, cheap \
    = hungry, skinny, weak, starving
S protect {a} with {b} = protéger {a} avec {b} = plant piano vehicle = blanket sheet = yes \
    = fragile, precious, new = thick, large, solid
{a} be faster than {b} = être plus rapide* que {b} = ride horse = ride donkey = more \
    = modern, light, powerful = old, heavy, damaged
{a} be heavier than {b} = être plus lourd* que {b} = furniture container tool \
    = furniture container tool = more = made of iron, full of stones, made of lead \
    = empty, hollow, made of straw
{a} be more expensive than {b} = être plus cher* que {b} = jewel clothing seat instrument \
    = jewel clothing seat instrument = more = rare, precious, new \
    = second-hand, damaged, common
{a} be afraid of {b} = avoir peur de {b} = rabbit mouse lamb sheep hen kitten \
    = wolf fox lion bear tiger eagle = more = small, weak, timid, frightened \
    = big, dangerous, aggressive, fierce
{a} attack {b} = attaquer {b} = wolf fox lion bear tiger eagle \
    = rabbit mouse lamb sheep hen kitten = yes = aggressive, fierce, hungry, strong \
    = weak, defenceless, slow, small
{a} frighten {b} = effrayer {b} = wolf fox lion bear snake = horse sheep hen rabbit squirrel \
    = yes = fierce, aggressive, dangerous = timid, nervous, young
{a} escape from {b} = échapper à {b} = rabbit mouse squirrel hen = wolf fox lion cat = past \
    = fast, clever, agile, small = slow, tired, clumsy
{a} collapse under {b} = s'effondrer sous {b} = table shelf bridge branch bench \
    = statue appliance truck container piano = past = weak, rotten, worm-eaten = heavy, enormous
{a} crush {b} = écraser {b} = truck stone elephant beam tractor = box flower hat toy basket \
    = past = heavy, enormous = fragile, small
{a} block {b} = bloquer {b} = truck tree rock bus = road alley door path = yes \
    = big, wide, enormous = narrow, small
{a} sink in {b} = couler dans {b} = boat raft canoe = river lake sea = past \
    = heavy, damaged, overloaded = rough, deep, dangerous
{a} slide on {b} = glisser sur {b} = vehicle beast bicycle = road bridge path = past \
    = fast, clumsy, overloaded = icy, slippery, wet
{a} get lost in {b} = se perdre dans {b} = puppy kitten lamb rabbit = forest town desert valley \
    = past = young, careless, frightened = dark, enormous, unfamiliar
{a} float on {b} = flotter sur {b} = balloon raft branch ball duck = lake river pond sea = yes \
    = light, hollow, small = calm, deep, salty
{a} ripen in {b} = mûrir dans {b} = fruit = garden field valley = yes = sweet, precocious \
    = sunny, south-facing
{a} soil {b} = salir {b} = beast boot = carpet sofa sheet car = past = muddy, wet, dirty \
    = clean, white, new
{a} warm {b} = réchauffer {b} = blanket heater soup = puppy kitten calf lamb = yes \
    = thick, warm = wet, shivering, ill
{a} swim in {b} = nager dans {b} = beast duck boy girl = river lake sea pool pond = not \
    = tired, weak, scared = cold, deep, dangerous, polluted
{a} walk along {b} = longer {b} = beast people = road river canal = not = tired, lazy, scared \
    = long, steep, dangerous
{a} go up {b} = gravir {b} = beast tractor truck bicycle = hill mountain = not \
    = tired, weak, old, heavy = steep, high, slippery, icy
{a} go down {b} = descendre {b} = beast people = staircase hill path = not \
    = tired, scared, clumsy = steep, slippery, dangerous, dark
{a} turn into {b} = tourner dans {b} = truck bus tractor van caravan = street alley avenue = not \
    = long, wide, heavy = narrow, crowded
{a} use {b} = utiliser {b} = truck bus van tractor caravan = bridge path motorway tunnel = not \
    = heavy, wide, slow = narrow, fragile, low, dangerous
{a} sit on {b} = s'asseoir sur {b} = beast people = chair sofa bench armchair stool = not \
    = fat, heavy, dirty, nervous = hard, wet, fragile, low
{a} lie down on {b} = se coucher sur {b} = beast = carpet blanket sofa mattress cushion = yes \
    = tired, ill, exhausted, sleepy = soft, warm, comfortable
{a} devour {b} = dévorer {b} = beast bird small = dish fruit vegetable = past \
    = hungry, greedy, starving = delicious, fresh, tasty, sweet
{a} finish {b} = finir {b} = people beast = dish = not = ill, tired, shy = salty, hot, big, bitter
{a} want {b} = vouloir {b} = beast bird people = drink = more = thirsty, exhausted, tired \
    = fresh, sweet, cold, delicious
{a} crack {b} = fêler {b} = stone branch ball hammer = window bowl bottle cup teapot tile = past \
    = heavy, hard, big = fragile, thin, old
{a} damage {b} = abîmer {b} = stone branch truck hammer = roof fence flower car statue = past \
    = heavy, hard = fragile, old
{a} pierce {b} = percer {b} = needle knife dagger branch = balloon ball bag tablecloth mattress \
    = past = sharp, pointed, hard = thin, fragile
{a} abandon {b} = abandonner {b} = beast bird people = building land = past \
    = hungry, afraid, thirsty, homesick = dark, flooded, uninhabitable, dirty, empty
{a} return to {b} = retourner à {b} = beast people = house barn hut farm = yes \
    = tired, hungry, ill = safe, comfortable, quiet
{a} stay in {b} = rester dans {b} = beast bird people = barn house hotel garden hut = yes \
    = tired, ill, afraid, lazy = warm, comfortable, safe, quiet
{a} avoid {b} = éviter {b} = beast people = road bridge river tunnel forest = yes \
    = cautious, afraid, nervous = dangerous, slippery, dark
{a} fall from {b} = tomber de {b} = statue clock lamp bottle marble \
    = shelf wall roof column table = past = heavy, round, badly attached \
    = narrow, sloping, slippery
{a} seize {b} = saisir {b} = cat fox eagle wolf lion snake owl = mouse rabbit hen frog duck lamb \
    = past = hungry, fast, agile, starving = slow, injured, careless, weak
{a} gnaw {b} = ronger {b} = dog rat mouse rabbit beaver = shoe cushion rope table belt = past \
    = hungry, nervous, young = made of leather, made of wood
{a} pick up {b} = ramasser {b} = crow magpie monkey girl = ring coin spoon necklace medal = past \
    = curious, playful, clever = shiny, made of gold, precious
{a} shelter behind {b} = s'abriter derrière {b} = beast bird people = wall tree hedge fence \
    = yes = wet, frightened, cautious, shy = thick, high, solid
{a} get onto {b} = monter sur {b} = beast people = chair table roof stool = not \
    = heavy, fat, clumsy, old = fragile, high, slippery, wobbly
{a} admire {b} = admirer {b} = people = building painting statue garden bird = yes \
    = curious, idle, in love = magnificent, colourful, famous
{a} buy {b} = acheter {b} = people = jewel vehicle instrument painting = not \
    = poor, mean, hesitant = expensive, ugly, damaged
{a} watch {b} = surveiller {b} = dog soldier policeman goose = chest box crate = yes \
    = vigilant, suspicious, on duty = precious, isolated, full of gold
{a} knock over {b} = renverser {b} = beast = vase bottle lamp bucket stool = past \
    = clumsy, nervous, blind, playful = wobbly, light, round
{a} sniff {b} = renifler {b} = beast = rose soup cheese boot = yes = curious, hungry, playful \
    = fragrant, strange-smelling, fresh
{a} carry {b} = porter {b} = beast people robot = box bag basket chair ladder = can \
    = strong, big, young = light, small
{a} go into {b} = entrer dans {b} = text clothing toy tool = container = can \
    = small, short, thin = big, wide, large, deep
{a} cover {b} = recouvrir {b} = blanket sheet tablecloth carpet = bed table sofa desk = can \
    = big, large, long, wide = small, narrow, short
{a} support {b} = supporter {b} = shelf table bridge beam raft = box statue machine bag = can \
    = strong, thick, solid = light, small
{a} go through {b} = passer par {b} = furniture vehicle piano beast = door gate tunnel window \
    = can = small, narrow, thin = wide, high, big
{a} jump over {b} = sauter par-dessus {b} = beast = wall fence hedge stream = can \
    = agile, strong, young, big = low, narrow, small
{a} cut {b} = couper {b} = blade = rope bread meat cheese branch = can = sharp, solid, big \
    = thin, small
{a} overtake {b} = dépasser {b} = vehicle = vehicle = past = fast, powerful, light \
    = slow, old, overloaded
S carry {a} over {b} = porter {a} par-dessus {b} = container stone bag ladder \
    = wall fence gate hedge = cannot = heavy, big, long = high, fragile, wide
S put {a} into {b} = mettre {a} dans {b} = soup milk tea coffee water sauce \
    = bowl cup bottle jug saucepan = yes = hot, delicious, fresh, boiling \
    = empty, clean, big, new
S rinse {a} in {b} = rincer {a} dans {b} = clothing = river lake bucket pond = yes \
    = dirty, muddy, stained = clear, deep, full of water
S choose {a} for {b} = choisir {a} pour {b} = vehicle boat = journey race trip = yes \
    = reliable, comfortable, fast, solid = long, tiring, dangerous
S buy {a} for {b} = acheter {a} pour {b} = dress suit hat coat ring necklace \
    = wedding party concert ceremony meeting = yes = elegant, cheap, new \
    = important, formal, solemn
S store {a} in {b} = ranger {a} dans {b} = jewel painting letter = chest cellar attic drawer \
    = yes = precious, rare, fragile = dry, safe, empty
S plant {a} near {b} = planter {a} près de {b} = rose tree hedge lilac = wall house pond bench \
    = past = magnificent, small, fragrant = ugly, old, grey
S point at {a} behind {b} = montrer {a} derrière {b} = beast bird boat church \
    = tree wall hedge building = yes = strange, beautiful, famous = low, narrow
S move {a} into {b} = déplacer {a} dans {b} = furniture piano appliance = room barn garage \
    = cannot = heavy, wide, big = small, narrow, full
S warm {a} with {b} = réchauffer {a} avec {b} = puppy kitten lamb calf = blanket towel = yes \
    = wet, shivering, ill = thick, dry, soft, warm
S load {a} onto {b} = charger {a} sur {b} = furniture appliance stone beast = truck van boat raft \
    = cannot = heavy, bulky, wide = small, overloaded, weak
S transfer milk from {a} to {b} = transvaser du lait de {a} dans {b} \
    = bottle jug bucket saucepan barrel = bottle jug bucket bowl cup = until = empty = full
S pump water from {a} to {b} = pomper de l'eau de {a} dans {b} = pool pond barrel cellar \
    = barrel pool bucket = until = empty, dry = full, too full
S move sand from {a} to {b} = transporter du sable de {a} dans {b} = truck crate wheelbarrow box \
    = barrel crate bucket garage = until = empty = full, too full
S carry stones from {a} to {b} = porter des pierres de {a} dans {b} = truck cellar barn \
    = crate garage van = until = empty, clean = full, overloaded
"""

ENOUGH = " enough"


def _named() -> dict[str, str]:
    known = {x.english: x.french for x in ADJECTIVES} | SYNONYM_FRENCH | PREDICATE_FRENCH | DEEDS
    known |= RESULT_FRENCH
    named = {x for event in (*RELATIONS, *PEOPLE) for side in event.own or () for x in side}
    return {english: _french(english, known) for english in sorted(named)}


def _french(english: str, known: dict[str, str]) -> str:
    """The French of a predicate; of 'big enough' it is that of big after assez."""
    if not english.endswith(ENOUGH):
        return known[english]
    text = known[english.removesuffix(ENOUGH)]
    agrees = "*" not in text and not text.startswith("!")
    return f"assez {text}*" if agrees else f"assez {text.removeprefix('!')}"


def relative_in_training(english: str) -> bool:
    """Whether a predicate of the relations belongs to the training split."""
    return english not in TEST_ADJECTIVES


def _relations() -> tuple[Event, ...]:
    tables = _RELATIONAL + OF_THINGS + OF_RESULTS + OF_MOTION + OF_SUPPORT
    rows = table_rows(
        tables + OF_ANIMALS + OF_HANDLING + OF_COMPARISONS + OF_OUTCOMES + OF_IDEAS, 7
    )
    return tuple(event(row[:5], _own(row)) for row in rows)


def _own(row: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The predicates of {a} and of {b} with their near-synonyms; none is of both."""
    first, second = (tuple(" ".join(side.split()).split(", ")) for side in row[-2:])
    wide, other = (_wide(side, degrees=row[-3] == "can") for side in (first, second))
    return (
        tuple(x for x in wide if x in first or x not in other),
        tuple(x for x in other if x in second or x not in wide),
    )


def _wide(side: tuple[str, ...], degrees: bool) -> tuple[str, ...]:
    """Predicates with near-synonyms; those of 'big enough' are followed by enough too."""
    wide: dict[str, None] = {}
    for predicate in side:
        word = predicate.removesuffix(ENOUGH)
        ending = predicate.removeprefix(word)
        others = with_synonyms((word,), degrees=degrees or bool(ending))
        wide |= dict.fromkeys(other + ending for other in others)
    return tuple(wide)


def _people() -> tuple[Event, ...]:
    rows = [
        [*row[:2], "people", "people", *row[2:]] for row in table_rows(OF_PEOPLE + OF_SOCIETY, 5)
    ]
    return tuple(event(row[:5], _own(row)) for row in rows)


RELATIONS = _relations()
PEOPLE = _people()
# The predicates that the relations name, with their French; > and ~ begin a verb phrase.
RELATIVE_ADJECTIVES = _named()
