"""Sentences of the anaphora text in which *it* stands for no noun, with nouns around it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from regard.transformer.train.anaphora_clauses import Clause
from regard.transformer.train.anaphora_judgements import judgement
from regard.transformer.train.anaphora_nouns import out_of_training

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
    words, french = judgement(rng, tense) if rng.random() < 0.5 else _fixed_clause(rng, tense)
    if words[:2] == ["it", "is"] and rng.random() < 0.4:
        words[:2] = ["it's"]
    return Clause(words, 0, french)


def _fixed_clause(rng: random.Random, tense: str) -> tuple[list[str], str]:
    row = rng.choice(_ROWS)
    english, french = row[:2] if tense == "past" else row[2:]
    return english.split(), french
