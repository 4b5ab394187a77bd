"""Sentences of the anaphora text in which *it* stands for no noun, with nouns around it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from regard.transformer.train.anaphora.clauses import Clause
from regard.transformer.train.anaphora.judgements import judgement
from regard.transformer.train.anaphora.nouns import out_of_training
from regard.transformer.train.anaphora.times import clock_or_date, duration_or_distance
from regard.transformer.train.anaphora.weather import weather

# english past = french past = english present = french present: after a connector.
_CLAUSES = """\
it was raining = il pleuvait = it is raining = il pleut
it was snowing = il neigeait = it is snowing = il neige
it was late = il était tard = it is late = il est tard
it was too late = il était trop tard = it is too late = il est trop tard
it was early = il était tôt = it is early = il est tôt
it was hailing = il grêlait = it is hailing = il grêle
it was Sunday = c'était dimanche = it is Sunday = c'est dimanche
it was Monday = c'était lundi = it is Monday = c'est lundi
it was winter = c'était l'hiver = it is winter = c'est l'hiver
it was summer = c'était l'été = it is summer = c'est l'été
it was midnight = il était minuit = it is midnight = il est minuit
it was noon = il était midi = it is noon = il est midi
it was dark outside = il faisait noir dehors = it is dark outside = il fait noir dehors
it was very windy = il y avait beaucoup de vent = it is very windy = il y a beaucoup de vent
it was foggy = il y avait du brouillard = it is foggy = il y a du brouillard
it was freezing outside = il gelait dehors = it is freezing outside = il gèle dehors
it was my birthday = c'était mon anniversaire = it is my birthday = c'est mon anniversaire
it was Christmas = c'était Noël = it is Christmas = c'est Noël
it was five o'clock = il était cinq heures = it is five o'clock = il est cinq heures
it was almost ten o'clock = il était presque dix heures = it is almost ten o'clock \
    = il est presque dix heures
it was time to go home = il était temps de rentrer = it is time to go home = il est temps de rentrer
it was necessary = c'était nécessaire = it is necessary = c'est nécessaire
it was not my turn = ce n'était pas mon tour = it is not my turn = ce n'est pas mon tour
it was a public holiday = c'était un jour férié = it is a public holiday = c'est un jour férié
it was hot that day = il faisait chaud ce jour-là = it is hot today = il fait chaud aujourd'hui
it was cold that night = il faisait froid cette nuit-là = it is cold today \
    = il fait froid aujourd'hui
it was sunny that day = il faisait soleil ce jour-là = it is sunny today \
    = il y a du soleil aujourd'hui
it was getting dark = il commençait à faire nuit = it is getting dark = il commence à faire nuit
it had rained all night = il avait plu toute la nuit = it has rained all night \
    = il a plu toute la nuit
it was drizzling = il bruinait = it is drizzling = il bruine
it was the weekend = c'était le week-end = it is the weekend = c'est le week-end
it was the rule = c'était la règle = it is the rule = c'est la règle
it was my fault = c'était ma faute = it is my fault = c'est ma faute
it was better that way = c'était mieux ainsi = it is better that way = c'est mieux ainsi
it was windy = il y avait du vent = it is windy = il y a du vent
it was sunny = il y avait du soleil = it is sunny = il y a du soleil
it was warm there = il y faisait bon = it is warm there = il y fait bon
it was cold inside = il faisait froid à l'intérieur = it is cold inside \
    = il fait froid à l'intérieur
it was thundering = il tonnait = it is thundering = il tonne
it was stormy = le temps était orageux = it is stormy = le temps est orageux
it was light = il faisait jour = it is light = il fait jour
it was autumn = c'était l'automne = it is autumn = c'est l'automne
it was Friday evening = c'était vendredi soir = it is Friday evening = c'est vendredi soir
it was a quarter past six = il était six heures et quart = it is a quarter past six \
    = il est six heures et quart
it was half past seven = il était sept heures et demie = it is half past seven \
    = il est sept heures et demie
it was high time = il était grand temps = it is high time = il est grand temps
it was no use = ce n'était pas la peine = it is no use = ce n'est pas la peine
it was a shame = c'était dommage = it is a shame = c'est dommage
it was a secret = c'était un secret = it is a secret = c'est un secret
it was nobody's fault = ce n'était la faute de personne = it is nobody's fault \
    = ce n'est la faute de personne
it was fun = c'était amusant = it is fun = c'est amusant
it was getting late = il se faisait tard = it is getting late = il se fait tard
it was slippery outside = ça glissait dehors = it is slippery outside = ça glisse dehors
it was still early = il était encore tôt = it is still early = il est encore tôt
it was already late = il était déjà tard = it is already late = il est déjà tard
it would soon be too late = il serait bientôt trop tard = it will soon be too late \
    = il sera bientôt trop tard
it was too soon = c'était trop tôt = it is too soon = c'est trop tôt
it was too late for lunch = il était trop tard pour déjeuner = it is too late for lunch \
    = il est trop tard pour déjeuner
it was time for dinner = c'était l'heure du dîner = it is time for dinner = c'est l'heure du dîner
it was time for bed = c'était l'heure d'aller au lit = it is time for bed \
    = c'est l'heure d'aller au lit
it was too cold for a walk = il faisait trop froid pour une promenade \
    = it is too cold for a walk = il fait trop froid pour une promenade
it looked like rain = on aurait dit qu'il allait pleuvoir = it looks like rain \
    = on dirait qu'il va pleuvoir
it was not far = ce n'était pas loin = it is not far = ce n'est pas loin
it was far from here = c'était loin d'ici = it is far from here = c'est loin d'ici
it did not matter = cela n'avait pas d'importance = it does not matter \
    = cela n'a pas d'importance
it depended on the weather = cela dépendait du temps = it depends on the weather \
    = cela dépend du temps
it was up to Tom = c'était à Tom de décider = it is up to you = c'est à toi de décider
it was all Tom's fault = tout était de la faute de Tom = it is all Tom's fault \
    = tout est de la faute de Tom
it was Alice's turn = c'était le tour d'Alice = it is Alice's turn = c'est le tour d'Alice
it was your turn = c'était ton tour = it is your turn = c'est ton tour
it was a pity = c'était dommage = it is a pity = c'est dommage
it was no wonder = ce n'était pas étonnant = it is no wonder = ce n'est pas étonnant
it was no use crying = cela ne servait à rien de pleurer = it is no use crying \
    = cela ne sert à rien de pleurer
it was no use complaining = cela ne servait à rien de se plaindre = it is no use complaining \
    = cela ne sert à rien de se plaindre
it was no good waiting = cela ne servait à rien d'attendre = it is no good waiting \
    = cela ne sert à rien d'attendre
it was fun swimming there = c'était amusant d'y nager = it is fun swimming there \
    = c'est amusant d'y nager
it was Tom's idea = c'était l'idée de Tom = it is Tom's idea = c'est l'idée de Tom
it was like that every day = c'était ainsi tous les jours = it is like that every day \
    = c'est ainsi tous les jours
it went on like that for hours = cela a continué ainsi pendant des heures \
    = it goes on like that for hours = cela continue ainsi pendant des heures
it was all over = tout était fini = it is all over = tout est fini
it was quiet in the house = tout était tranquille dans la maison = it is quiet in the house \
    = tout est tranquille dans la maison
it was bad luck = c'était de la malchance = it is bad luck = c'est de la malchance
it was our only chance = c'était notre seule chance = it is our only chance \
    = c'est notre seule chance
it had been ages = cela faisait une éternité = it has been ages = cela fait une éternité
it would soon get dark = il ferait bientôt nuit = it will soon get dark = il fera bientôt nuit
it must have rained = il avait dû pleuvoir = it must have rained = il a dû pleuvoir
"""

# Whole sentences around a clause {e} with two nouns: english = french.
_AROUND_EVENTS = """\
it seems to me that {e} = il me semble que {e}
it seems that {e} = on dirait que {e}
it is true that {e} = il est vrai que {e}
it is obvious that {e} = il est évident que {e}
it is clear that {e} = il est clair que {e}
it is certain that {e} = il est certain que {e}
it is likely that {e} = il est probable que {e}
it is said that {e} = on dit que {e}
it was raining when {e} = il pleuvait quand {e}
it was snowing when {e} = il neigeait quand {e}
it was late when {e} = il était tard quand {e}
it was early when {e} = il était tôt quand {e}
it was dark outside when {e} = il faisait noir dehors quand {e}
it was midnight when {e} = il était minuit quand {e}
it was on Sunday that {e} = c'est dimanche que {e}
it was in winter that {e} = c'est en hiver que {e}
it was yesterday that {e} = c'est hier que {e}
it turned out that {e} = il s'est avéré que {e}
it is a fact that {e} = c'est un fait que {e}
it was noon when {e} = il était midi quand {e}
it appears that {e} = il paraît que {e}
it was well known that {e} = il était bien connu que {e}
it is no secret that {e} = ce n'est un secret pour personne que {e}
it is possible that Tom knows that {e} = il est possible que Tom sache que {e}
it was half past seven when {e} = il était sept heures et demie quand {e}
it was getting dark when {e} = il commençait à faire nuit quand {e}
it was very cold outside when {e} = il faisait très froid dehors quand {e}
it happened that {e} = il se trouva que {e}
it looked as if {e} = on aurait dit que {e}
it was because of the rain that {e} = c'est à cause de la pluie que {e}
it was in spring that {e} = c'est au printemps que {e}
it is rumoured that {e} = le bruit court que {e}
it is believed that {e} = on croit que {e}
it is thought that {e} = on pense que {e}
it is evident that {e} = il est évident que {e}
it is reported that {e} = on rapporte que {e}
it was announced that {e} = on a annoncé que {e}
it was because of Tom that {e} = c'est à cause de Tom que {e}
it was almost five o'clock when {e} = il était presque cinq heures quand {e}
it was a cold day when {e} = il faisait froid le jour où {e}
it is thanks to Tom that {e} = c'est grâce à Tom que {e}
it must have been noon when {e} = il devait être midi quand {e}
it was on Friday evening that {e} = c'est vendredi soir que {e}
it was foggy when {e} = il y avait du brouillard quand {e}
"""

# Whole sentences around infinitives and nouns: {a} and {b} are noun phrases.
_AROUND_NOUNS = """\
it is easy to see {a} from {b} = il est facile de voir {a} depuis {b} = animal ride = building part
it is difficult to find {a} near {b} = il est difficile de trouver {a} près de {b} \
    = animal thing = building waters
it is impossible to move {a} without {b} = il est impossible de déplacer {a} sans {b} \
    = wood machine stone = vehicle rope
it is dangerous to go near {a} with {b} = il est dangereux de s'approcher de {a} avec {b} \
    = beast waters building = beast food vehicle
it is important to protect {a} from {b} = il est important de protéger {a} de {b} = animal plant \
    = animal vehicle
it is forbidden to bring {a} into {b} = il est interdit de faire entrer {a} dans {b} \
    = beast vehicle = building room
it was not possible to push {a} to {b} = il n'était pas possible de pousser {a} jusqu'à {b} \
    = vehicle wood = building
it is fun to improve {a} with {b} = c'est amusant d'améliorer {a} avec {b} = machine vehicle = tool
it is an hour's walk from {a} to {b} = il y a une heure de marche de {a} à {b} = building \
    = building land lake
it is not far from {a} to {b} = ce n'est pas loin de {a} à {b} = building = building land lake
how far is it from {a} to {b} ? = à quelle distance est-ce de {a} à {b} ? = building \
    = building land lake
it is two kilometres from {a} to {b} = il y a deux kilomètres de {a} à {b} = building \
    = building land lake
it is me who put {a} on {b} = c'est moi qui ai mis {a} sur {b} = portable = wood
it is useless to look for {a} behind {b} = il est inutile de chercher {a} derrière {b} \
    = animal portable = wood building
it is better to compare {a} with {b} = il vaut mieux comparer {a} avec {b} = thing ride \
    = thing animal
it is time to carry {a} to {b} = il est temps de porter {a} à {b} = portable = building
it is expensive to buy {a} and {b} = cela coûte cher de acheter {a} et {b} = ride instrument \
    = jewel machine
it is pleasant to see {a} beside {b} = il est agréable de voir {a} à côté de {b} = animal plant \
    = waters building
it was a mistake to sell {a} with {b} = c'était une erreur de vendre {a} avec {b} \
    = building ride = beast wood
it was a good idea to put {a} next to {b} = c'était une bonne idée de mettre {a} à côté de {b} \
    = thing = plant machine wood
it costs a lot to exchange {a} for {b} = cela coûte cher de échanger {a} contre {b} = ride \
    = ride beast
it was hard to separate {a} from {b} = il était difficile de séparer {a} de {b} = animal \
    = food plant
it was hard to choose between {a} and {b} = il était difficile de choisir entre {a} et {b} \
    = thing ride = animal plant
it was nice to find {a} in {b} = c'était agréable de trouver {a} dans {b} = toy clothing small \
    = container room
it was not easy to hear {a} near {b} = il n'était pas facile d'entendre {a} près de {b} \
    = bird instrument = vehicle machine
it is necessary to dust {a} and {b} = il est nécessaire d'épousseter {a} et {b} = machine wood \
    = vehicle room
it is strange to see {a} without {b} = c'est étrange de voir {a} sans {b} = house garden castle \
    = tree wall roof
it was Tom who forgot {a} near {b} = c'est Tom qui a oublié {a} près de {b} = portable \
    = building waters
was it raining when you saw {a} and {b} ? = est-ce qu'il pleuvait quand tu as vu {a} et {b} ? \
    = animal ride = building plant
it was too dark to find {a} in {b} = il faisait trop sombre pour trouver {a} dans {b} \
    = portable animal = building room
it is too late to bring {a} to {b} = il est trop tard pour apporter {a} à {b} = portable = building
it was kind of Tom to bring {a} to {b} = c'était gentil de la part de Tom d'apporter {a} à {b} \
    = portable = building
it is against the rules to put {a} in {b} = il est contraire au règlement de mettre {a} dans {b} \
    = portable = container room
it is wise to compare {a} with {b} = il est sage de comparer {a} avec {b} = ride machine \
    = ride tool
it needs an hour to push {a} to {b} = il faut une heure pour pousser {a} jusqu'à {b} = vehicle \
    = building
it is no use looking for {a} in {b} = cela ne sert à rien de chercher {a} dans {b} \
    = portable animal = building room
it was Alice who found {a} behind {b} = c'est Alice qui a trouvé {a} derrière {b} = portable \
    = wood building
it is ten minutes on foot from {a} to {b} = il y a dix minutes à pied de {a} à {b} = building \
    = building land lake
it must be hard to move {a} without {b} = ce doit être difficile de déplacer {a} sans {b} \
    = wood machine stone = vehicle rope
"""


@dataclass(frozen=True, slots=True)
class Template:
    """A sentence around two noun phrases or around an event."""

    english: tuple[str, ...]
    french: str
    first: str
    second: str
    in_training: bool


def _templates(table: str) -> tuple[Template, ...]:
    lines = table.splitlines()
    templates = []
    for i, line in enumerate(lines):
        english, french, *nouns = (part.strip() for part in line.split(" = "))
        first, second = nouns if nouns else ("", "")
        training = not out_of_training(i, len(lines))
        templates.append(Template(tuple(english.split()), french, first, second, training))
    return tuple(templates)


AROUND_EVENTS = _templates(_AROUND_EVENTS)
AROUND_NOUNS = _templates(_AROUND_NOUNS)
_ROWS = [[part.strip() for part in line.split(" = ")] for line in _CLAUSES.splitlines()]


def impersonal_clause(rng: random.Random, tense: str) -> Clause:
    """'it was raining', 'it is Sunday', 'it is easy to go out'."""
    kinds = (judgement, _fixed_clause, weather, clock_or_date, duration_or_distance)
    words, french = rng.choices(kinds, (40, 15, 20, 20, 5))[0](rng, tense)
    if words[:2] == ["it", "is"] and rng.random() < 0.4:
        words[:2] = ["it's"]
    return Clause(words, 0, french)


def _fixed_clause(rng: random.Random, tense: str) -> tuple[list[str], str]:
    row = rng.choice(_ROWS)
    english, french = row[:2] if tense == "past" else row[2:]
    return english.split(), french
