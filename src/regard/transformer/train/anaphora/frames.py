"""Frames of the anaphora text: events between two nouns, in English and French.

A row is `english = french = nouns of {a} = nouns of {b} = options`. The English clause begins with
its subject, {a} or S (a person, I or we); the French one with its verb. A word with * agrees with
the subject. Relational rows name the predicates of either noun themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.transformer.train.anaphora.frames_everyday import OF_EVERY_DAY
from regard.transformer.train.anaphora.frames_handling import OF_HANDS
from regard.transformer.train.anaphora.nouns import members

Own = tuple[tuple[str, ...], tuple[str, ...]] | None

# Every frame with one of these verbs is out of training.
TEST_VERBS = frozenset(
    ("abandon", "approach", "borrow", "bump", "clean", "collapse", "compare", "console",
     "decorate", "describe", "disappear", "discover", "draw", "enter", "envy", "examine", "forget",
     "hear", "heat", "ignore", "interrupt", "keep", "lean", "live", "load", "mention", "pay",
     "photograph", "reach", "refuse", "rinse", "ripen", "seize", "sell", "separate", "smell",
     "stop", "support")
)  # fmt: skip

_GENERAL = """\
{a} push {b} = pousser {b} = beast = wood container toy wheelbarrow
{a} look at {b} = regarder {b} = beast bird small = food thing vehicle plant part
{a} sniff {b} = renifler {b} = beast = food cloth container plant
{a} lick {b} = lécher {b} = beast -horse = dish bowl container stone
{a} knock over {b} = renverser {b} = beast = container chair lamp stool bicycle
{a} sit down next to {b} = s'asseoir à côté de {b} = beast people = wood container plant part car
{a} lie down near {b} = se coucher près de {b} = beast = wood part plant container
{a} jump over {b} = sauter par-dessus {b} = beast frog = wall fence hedge bench stream gate log
{a} run around {b} = courir autour de {b} = beast people = wood plant house church statue lake car
{a} damage {b} = abîmer {b} = beast = cloth wood plant text instrument
{a} destroy {b} = détruire {b} = beast = cloth text plant toy hut fence
{a} touch {b} = toucher {b} = animate -bug -fish = thing plant vehicle
{a} approach {b} = s'approcher de {b} = animate -bug -fish = building waters vehicle plant container
{a} see {b} = voir {b} = animate -bug -fish = building thing ride plant waters
{a} find {b} = trouver {b} = beast bird small people = food toy clothing jewel waters
{a} play with {b} = jouer avec {b} = beast small girl boy = toy cloth stick rope stone
{a} guard {b} = garder {b} = dog lion goose soldier policeman = building container boat car
{a} like {b} = aimer {b} = animate -bug -fish = food drink seat toy plant = state
{a} walk around {b} = tourner autour de {b} = beast people bird = wood plant building vehicle pond
{a} enter {b} = entrer dans {b} = beast people bird small = building room -tower
{a} stay near {b} = rester près de {b} = animate -bug -fish = building waters plant vehicle wood
{a} wait in front of {b} = attendre devant {b} = beast people = building door part car
{a} step on {b} = marcher sur {b} = beast people = cloth text toy plant stone pen
{a} discover {b} = découvrir {b} = animate -bug -fish = container waters food building plant jewel
{a} run towards {b} = courir vers {b} = beast people = building waters plant food vehicle toy
{a} ignore {b} = ignorer {b} = beast bird small people = food toy machine
{a} refuse {b} = refuser {b} = beast bird people = food drink
{a} want {b} = vouloir {b} = animate -bug -fish = food drink toy = state
{a} avoid {b} = éviter {b} = animate -bug -fish = road waters building vehicle machine plant
{a} drag {b} = traîner {b} = beast = cloth stick basket bag branch
{a} hear {b} = entendre {b} = animate -bug -fish = vehicle instrument machine helicopter
{a} search {b} = fouiller {b} = beast bear monkey policeman = container wardrobe building car
{a} watch {b} = observer {b} = animate -bug -fish = ride waters building plant toy
{a} live near {b} = vivre près de {b} = animate = building waters land = state
{a} walk along {b} = longer {b} = beast people = road river wall canal fence lake
{a} return to {b} = retourner à {b} = animate -bug -fish = building land lake river
{a} land on {b} = se poser sur {b} = bird butterfly fly bee ladybird = part plant car wood
{a} fly over {b} = survoler {b} = bird = building land waters
{a} peck at {b} = picorer {b} = bird = fruit bread cake biscuit
{a} crawl on {b} = ramper sur {b} = bug snake = wood cloth fruit part plant
{a} be on {b} = être sur {b} = bug small bird = wood cloth fruit part plant = state
S put {a} on {b} = mettre {a} sur {b} = portable = wood
S put {a} in {b} = mettre {a} dans {b} = food clothing tool jewel text toy \
    = container fridge wardrobe
S put {a} under {b} = mettre {a} sous {b} = portable = wood tree
S put {a} next to {b} = mettre {a} à côté de {b} = portable = machine wood plant instrument
S find {a} behind {b} = trouver {a} derrière {b} = portable animal = wood building machine plant
S find {a} in {b} = trouver {a} dans {b} = small bug clothing text toy = container
S find {a} in {b} = trouver {a} dans {b} = beast bird tool furniture = building room
S forget {a} on {b} = oublier {a} sur {b} = portable = wood bench beach balcony
S lose {a} near {b} = perdre {a} près de {b} = animal clothing jewel tool toy = building waters land
S look for {a} in {b} = chercher {a} dans {b} = animal clothing text jewel toy = building room land
S compare {a} with {b} = comparer {a} avec {b} = thing ride plant = thing ride animal
S exchange {a} for {b} = échanger {a} contre {b} = object ride beast = object beast food
S prefer {a} to {b} = préférer {a} à {b} = object food plant = animal place ride = state
S replace {a} with {b} = remplacer {a} par {b} = object ride = plant object beast
S sell {a} with {b} = vendre {a} avec {b} = house farm boat car = beast wood machine
S draw {a} near {b} = dessiner {a} près de {b} = animal ride plant = building waters plant
S photograph {a} in front of {b} = photographier {a} devant {b} = animal ride \
    = building plant statue
S move {a} behind {b} = déplacer {a} derrière {b} = wood container machine = part plant car
S carry {a} to {b} = porter {a} à {b} = portable small = building farm
S bring {a} to {b} = apporter {a} à {b} = portable = school hospital restaurant museum beast
S store {a} in {b} = ranger {a} dans {b} = clothing tool text toy instrument \
    = container furniture garage
S keep {a} in {b} = garder {a} dans {b} = text jewel clothing small = container room garage
S wrap {a} in {b} = emballer {a} dans {b} = food jewel toy blade = newspaper blanket towel
S attach {a} to {b} = attacher {a} à {b} = beast boat bicycle rope flag = tree fence gate bench
S give {a} to {b} = donner {a} à {b} = food toy = animal -bug
S show {a} to {b} = montrer {a} à {b} = toy food = beast bird small
S separate {a} from {b} = séparer {a} de {b} = animal = plant food machine
S hit {a} with {b} = frapper {a} avec {b} = beast door wall drum machine = stick hammer broom shovel
S lean {a} against {b} = appuyer {a} contre {b} = ladder bicycle broom painting shovel \
    = part tree car
S notice {a} beside {b} = remarquer {a} à côté de {b} = animal thing = building ride plant
S choose {a} instead of {b} = choisir {a} au lieu de {b} = food object = beast bird ride plant
S send {a} with {b} = envoyer {a} avec {b} = text clothing toy jewel = food drink picture
S order {a} with {b} = commander {a} avec {b} = food = drink
S serve {a} in {b} = servir {a} dans {b} = food drink = kitchen garden restaurant
S clean {a} with {b} = nettoyer {a} avec {b} = wood machine car instrument \
    = sponge brush towel broom
S decorate {a} with {b} = décorer {a} avec {b} = cake room hat = flower rose tulip flag balloon
S paint {a} behind {b} = peindre {a} derrière {b} = animal fruit tree = building container plant
S buy {a} near {b} = acheter {a} près de {b} = animal thing ride = building waters
S see {a} beside {b} = voir {a} à côté de {b} = animal ride = building waters plant
S like {a} that {a.be} next to {b} = aimer {a} qui {a.etre} à côté de {b} = thing ride \
    = thing animal = state
S buy {a} that {a.be} behind {b} = acheter {a} qui {a.etre} derrière {b} = thing ride \
    = wood building animal
S want {a} that {a.be} under {b} = vouloir {a} qui {a.etre} sous {b} = portable animal = wood \
    = state
S admire {a} which {a.be} beside {b} = admirer {a} qui {a.etre} à côté de {b} \
    = building plant ride = waters animal statue
S describe {a} and {b} = décrire {a} et {b} = animal building = ride thing
S notice {a} and {b} = remarquer {a} et {b} = animal thing = ride building plant
{a} be next to {b} = être à côté de {b} = thing animal = building wood plant machine = state
{a} be under {b} = être sous {b} = animal portable = wood tree bridge = state
{a} be behind {b} = être derrière {b} = animal object ride = building part plant = state
{a} be in {b} = être dans {b} = small clothing fruit vegetable toy = container = state
{a} be in {b} = être dans {b} = beast bird furniture = room barn garage = state
{a} be bigger than {b} = être plus grand* que {b} = elephant giraffe building tree \
    = wood car = state
{a} be older than {b} = être plus vieux* que {b} = building animal plant = ride instrument text \
    = state
{a} cost more than {b} = coûter plus cher que {b} = ride instrument beast = food wood clothing \
    = state
{a} fall on {b} = tomber sur {b} = stone fruit toy container text = cloth wood car plant
{a} touch {b} gently = toucher doucement {b} = branch ball balloon kite flag = animal car part
{a} roll under {b} = rouler sous {b} = ball marble fruit coin pencil = wood car
{a} hit {b} = heurter {b} = vehicle boat ball stone = part beast tree rock
{a} stop in front of {b} = s'arrêter devant {b} = vehicle = building beast part
{a} block {b} = bloquer {b} = vehicle stone beast tree = road door gate bridge
{a} disappear behind {b} = disparaître derrière {b} = ride animal kite ball = building plant hill
{a} surround {b} = entourer {b} = wall fence forest hedge = building garden pond = state
{a} fall near {b} = tomber près de {b} = tree kite stone branch = house animal car pond
{a} pass {b} = passer devant {b} = vehicle beast people = building plant statue bench
{a} come from {b} = venir de {b} = animal letter boat wine fruit = island village farm = state
{a} stand beside {b} = se trouver à côté de {b} = building wood plant = waters animal ride = state
S talk about {a} and {b} = parler de {a} et de {b} = topic = animal ride building
S talk about {a} in front of {b} = parler de {a} devant {b} = topic = building machine animal
S prefer {a} to {b} = préférer {a} à {b} = topic = object food animal = state
S mention {a} and {b} = mentionner {a} et {b} = topic text = building animal ride
S like {a} more than {b} = aimer {a} plus que {b} = work text = food place toy animal = state
S explain {a} with {b} = expliquer {a} avec {b} = idea = drawing map puppet book computer
S miss {a} because of {b} = manquer {a} à cause de {b} = occasion = vehicle beast machine
S prepare {a} with {b} = préparer {a} avec {b} = occasion meal = computer telephone book tool
{a} interrupt {b} = interrompre {b} = beast bird machine vehicle = occasion speech film
{a} swim towards {b} = nager vers {b} = fish duck swan -oyster -mussel = boat island pier beach
{a} swim around {b} = nager autour de {b} = fish duck -oyster -mussel = boat rock island
S watch {a} near {b} = observer {a} près de {b} = fish bird = boat bridge plant rock
S serve {a} on {b} = servir {a} sur {b} = food = plate tray table
S buy {a} and {b} = acheter {a} et {b} = food care document = clothing toy tool beast
S examine {a} beside {b} = examiner {a} à côté de {b} = animal thing = machine building plant
S drop {a} on {b} = laisser tomber {a} sur {b} = portable = wood carpet beast plant
S send {a} to {b} = envoyer {a} à {b} = document text clothing decor = school hospital museum bank
{a} fall into {b} = tomber dans {b} = portable beast -bathtub = waters barrel bucket pot
{a} float towards {b} = flotter vers {b} = ball balloon bottle boat = animal bridge rock building
{a} wait beside {b} = attendre à côté de {b} = beast people = vehicle plant building
{a} bump into {b} = heurter {b} = beast people vehicle = part wood machine plant
{a} smell {b} = sentir {b} = beast small = food plant care
{a} dig up {b} = déterrer {b} = beast = bone box vegetable plant chest coin
S need {a} and {b} = avoir besoin de {a} et de {b} = tool machine care = beast ride food = state
S borrow {a} and {b} = emprunter {a} et {b} = tool machine text = beast ride clothing
"""


@dataclass(frozen=True, slots=True)
class Event:
    """A clause with two nouns; the subject is {a}, or a person where ``person_subject``.

    ``english`` and ``french`` begin with the verb. ``own`` are predicates of {a} and of {b} that
    belong to this event; without them every predicate that fits one noun alone will do.
    """

    english: tuple[str, ...]
    french: tuple[str, ...]
    first: frozenset[str]
    second: frozenset[str]
    option: str
    person_subject: bool
    in_training: bool
    own: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def passive(self) -> bool:
        """Whether {b} can be the subject of a passive."""
        transitive = self.english[1:] == ("{b}",) and self.french[1:] == ("{b}",)
        return transitive and not self.person_subject and self.option in ("", "yes", "past")


def event(columns: Sequence[str], own: Own = None) -> Event:
    """An event from the columns of a row."""
    english, french, first, second, option = columns
    subject, *rest = english.split()
    verb, *french_rest = _with_verb(french)
    return Event(
        tuple(rest),
        (verb, *french_rest),
        members(first),
        members(second),
        option,
        subject == "S",
        rest[0] not in TEST_VERBS,
        own,
    )


def _with_verb(french: str) -> list[str]:
    words = french.split()
    return [f"se {words[1]}", *words[2:]] if words[0] == "se" else words


def table_rows(table: str, columns: int) -> list[list[str]]:
    """The columns of a table's rows, filled up with empty ones."""
    rows = [[cell.strip() for cell in line.split(" = ")] for line in table.splitlines()]
    return [row + [""] * (columns - len(row)) for row in rows]


def _events() -> tuple[Event, ...]:
    rows = table_rows(_GENERAL + OF_EVERY_DAY + OF_HANDS, 5)
    return tuple(event(row) for row in rows)


GENERAL = _events()
