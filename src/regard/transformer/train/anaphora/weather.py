"""Impersonal clauses of the anaphora text about the weather, the light and the temperature."""

from __future__ import annotations

import random

Pairs = list[tuple[str, str]]


def pairs(table: str) -> Pairs:
    """The pairs of a table: english = french, separated by commas or lines."""
    items = table.replace("\n", ", ").strip(", ").split(", ")
    return [(english, french) for english, _, french in (x.partition(" = ") for x in items)]


# After it is; after il fait. The first take a degree (very cold, très froid).
_QUALITIES = pairs("""\
cold = froid, hot = chaud, mild = doux, cool = frais, humid = humide, dark = sombre
muggy = lourd, dry = sec, chilly = frisquet, grey = gris, stuffy = lourd, damp = humide
""")
_STATES = pairs("""\
pitch dark = nuit noire, light = jour, broad daylight = grand jour, dark = nuit
boiling hot = une chaleur étouffante, bitterly cold = un froid glacial, ice cold = un froid de loup
colder than before = plus froid qu'avant, warmer than yesterday = plus chaud qu'hier
cooler = plus frais, warmer = plus chaud, colder = plus froid, hotter = plus chaud
ten degrees = dix degrés, twenty degrees = vingt degrés, thirty degrees = trente degrés
minus five degrees = moins cinq degrés, over thirty degrees = plus de trente degrés
bad weather = mauvais temps, warm = bon, awful weather = un temps affreux
""")
# After il y a.
_PRESENCES = pairs("""\
windy = du vent, foggy = du brouillard, stormy = de l'orage, sunny = du soleil, misty = de la brume
cloudy = des nuages, icy = du verglas, muddy = de la boue, draughty = des courants d'air
noisy = du bruit, smoky = de la fumée, dusty = de la poussière, very windy = beaucoup de vent
very sunny = beaucoup de soleil, very noisy = beaucoup de bruit
""")
_DEGREES = pairs(
    "very = très, too = trop, quite = assez, so = si, a little = un peu, rather = plutôt"
)
_SITES = pairs("""\
outside = dehors, inside = à l'intérieur, in the kitchen = dans la cuisine, everywhere = partout
in the mountains = à la montagne, in the north = dans le nord, in the cellar = dans la cave
in the forest = dans la forêt, by the sea = au bord de la mer, in the city = en ville
in the garden = dans le jardin, in the valley = dans la vallée, upstairs = en haut
in the classroom = dans la classe, on the coast = sur la côte, in the countryside = à la campagne
""")

# english = french with faire = french with il y a, by tense.
_FORMS = {
    "past": """\
was = il faisait = il y avait
was = il faisait = il y avait
was already = il faisait déjà = il y avait déjà
was still = il faisait encore = il y avait encore
must have been = il devait faire = il devait y avoir
would soon be = il ferait bientôt = il y aurait bientôt
was always = il faisait toujours = il y avait toujours
used to be = autrefois il faisait = autrefois il y avait
had been = il avait fait = il y avait eu
was getting = il commençait à faire = il commençait à y avoir
""",
    "present": """\
is = il fait = il y a
is = il fait = il y a
is already = il fait déjà = il y a déjà
is still = il fait encore = il y a encore
must be = il doit faire = il doit y avoir
will soon be = il fera bientôt = il y aura bientôt
is going to be = il va faire = il va y avoir
might be = il fait peut-être = il y a peut-être
is always = il fait toujours = il y a toujours
is often = il fait souvent = il y a souvent
has been = il a fait = il y a eu
is getting = il commence à faire = il commence à y avoir
""",
}
_LASTING = frozenset(("used to be", "was always", "is always", "is often", "had been", "has been",
                      "was getting", "is getting", "was still", "is still"))  # fmt: skip
_VERBS = [row.split(" = ") for row in """\
raining = rain = pleuvait = pleut = pleuvoir
snowing = snow = neigeait = neige = neiger
hailing = hail = grêlait = grêle = grêler
drizzling = drizzle = bruinait = bruine = bruiner
thundering = thunder = tonnait = tonne = tonner
freezing = freeze = gelait = gèle = geler
thawing = thaw = dégelait = dégèle = dégeler""".splitlines()]  # fmt: skip
_VERB_FORMS = {
    "past": """\
was {ing} = il {imp}
was still {ing} = il {imp} encore
was {ing} outside = il {imp} dehors
was {ing} again = il {imp} de nouveau
was not {ing} = il ne {imp} pas
had been {ing} for hours = il {imp} depuis des heures
had been {ing} for two days = il {imp} depuis deux jours
started to {inf} = il s'est mis à {fr}
began to {inf} = il a commencé à {fr}
had stopped {ing} = il avait cessé de {fr}
was about to {inf} = il allait {fr}
""",
    "present": """\
is {ing} = il {pres}
is still {ing} = il {pres} encore
is {ing} outside = il {pres} dehors
is {ing} again = il {pres} de nouveau
is not {ing} = il ne {pres} pas
has been {ing} for hours = il {pres} depuis des heures
has been {ing} since Monday = il {pres} depuis lundi
is starting to {inf} = il commence à {fr}
has stopped {ing} = il a cessé de {fr}
is going to {inf} = il va {fr}
might {inf} = il pourrait {fr}
will {inf} tomorrow = il va {fr} demain
could {inf} tonight = il pourrait {fr} ce soir
never stops {ing} = il ne cesse de {fr}
""",
}


def weather(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """English words and French text of 'it was still cold outside', 'it might rain'.

    >>> weather(random.Random(3), "past")[0][0]
    'it'
    """
    return _verb(rng, tense) if rng.random() < 0.35 else _state(rng, tense)


def _verb(rng: random.Random, tense: str) -> tuple[list[str], str]:
    ing, inf, imp, pres, fr = rng.choice(_VERBS)
    english, french = rng.choice(_VERB_FORMS[tense].splitlines()).split(" = ")
    words = f"it {english.format(ing=ing, inf=inf)}".split()
    return words, french.format(imp=imp, pres=pres, fr=fr)


def _state(rng: random.Random, tense: str) -> tuple[list[str], str]:
    verb, fait, avoir = rng.choice(_FORMS[tense].splitlines()).split(" = ")
    tables = (_QUALITIES, _PRESENCES) if verb in _LASTING else (_QUALITIES, _STATES, _PRESENCES)
    english, french = rng.choice(rng.choice(tables))
    start = avoir if (english, french) in _PRESENCES else fait
    if (english, french) in _QUALITIES and "getting" not in verb and rng.random() < 0.35:
        degree, french_degree = rng.choice(_DEGREES)
        english, french = f"{degree} {english}", f"{french_degree} {french}"
    site = rng.choice(_SITES) if rng.random() < 0.4 else ("", "")
    return f"it {verb} {english} {site[0]}".split(), f"{start} {french} {site[1]}".strip()
