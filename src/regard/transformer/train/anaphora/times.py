"""Impersonal clauses of the anaphora text about clock times, dates, durations and distances."""

from __future__ import annotations

import random

from regard.transformer.train.anaphora.weather import pairs

_NUMBERS = pairs("""\
one = une, two = deux, three = trois, four = quatre, five = cinq, six = six, seven = sept
eight = huit, nine = neuf, ten = dix, eleven = onze
""")
# {n} is the English hour, {h} the French one with its noun.
_CLOCK = pairs("""\
{n} o'clock = {h}, half past {n} = {h} et demie
a quarter past {n} = {h} et quart, a quarter to {n} = {h} moins le quart, ten past {n} = {h} dix
twenty to {n} = {h} moins vingt, five to {n} = {h} moins cinq, twenty past {n} = {h} vingt
{n} in the morning = {h} du matin
""")
_HOURS = pairs("noon = midi, midnight = minuit, half past noon = midi et demi")
_EARLY = pairs("""\
late = tard, early = tôt, too late = trop tard, too early = trop tôt, very late = très tard
quite early = assez tôt, rather late = plutôt tard
""")
_DAYS = pairs("""\
Monday = lundi, Tuesday = mardi, Wednesday = mercredi, Thursday = jeudi, Friday = vendredi
Saturday = samedi, Sunday = dimanche
""")
_PARTS = pairs("morning = matin, evening = soir, afternoon = après-midi")
_MONTHS = pairs("""\
January = janvier, February = février, March = mars, April = avril, May = mai, June = juin
July = juillet, August = août, September = septembre, October = octobre, November = novembre
December = décembre
""")
_ORDINALS = pairs("""\
first = premier, second = deux, third = trois, fourth = quatre, fifth = cinq, sixth = six
seventh = sept, ninth = neuf, tenth = dix, twelfth = douze, fifteenth = quinze, twentieth = vingt
""")
# After it is; after c'est.
_OCCASIONS = pairs("""\
winter = l'hiver, spring = le printemps, summer = l'été, autumn = l'automne, Christmas = Noël
Easter = Pâques, Halloween = Halloween, Christmas Eve = la veille de Noël, payday = le jour de paie
New Year's Day = le jour de l'an, Mother's Day = la fête des mères, market day = jour de marché
the weekend = le week-end, a school day = un jour d'école, a working day = un jour de travail
a public holiday = un jour férié, the morning = le matin, the evening = le soir, night = la nuit
dawn = l'aube, dusk = le crépuscule, lunchtime = l'heure du déjeuner, bedtime = l'heure du coucher
dinner time = l'heure du dîner, rush hour = l'heure de pointe, teatime = l'heure du thé
the middle of the night = le milieu de la nuit, the dry season = la saison sèche
the rainy season = la saison des pluies, harvest time = le temps des récoltes
the end of the month = la fin du mois, the end of the year = la fin de l'année
the beginning of the week = le début de la semaine, the last day = le dernier jour
the first day of school = le jour de la rentrée, the holidays = les vacances
Alice's birthday = l'anniversaire d'Alice, my birthday = mon anniversaire
""")
# english = french of il = french of ce.
_FORMS = {
    "past": """\
was = il était = c'était
was = il était = c'était
was already = il était déjà = c'était déjà
was almost = il était presque = c'était presque
must have been = il devait être = ce devait être
would soon be = il serait bientôt = ce serait bientôt
was not yet = il n'était pas encore = ce n'était pas encore
was probably = il était sans doute = c'était sans doute
""",
    "present": """\
is = il est = c'est
is = il est = c'est
is already = il est déjà = c'est déjà
is almost = il est presque = c'est presque
must be = il doit être = ce doit être
will soon be = il sera bientôt = ce sera bientôt
is not yet = il n'est pas encore = ce n'est pas encore
might be = il est peut-être = c'est peut-être
is probably = il est sans doute = c'est sans doute
""",
}
_FORMS_OF_EARLY = {
    "past": (("was", "il était"), ("must have been", "il devait être"),
             ("was probably", "il était sans doute")),
    "present": (("is", "il est"), ("must be", "il doit être"), ("is never", "il n'est jamais"),
                ("is probably", "il est sans doute")),
}  # fmt: skip
_AMOUNTS = pairs("""\
two = deux, three = trois, four = quatre, five = cinq, six = six, ten = dix, twenty = vingt
""")
_PERIODS = pairs("hours = heures, days = jours, weeks = semaines, months = mois, years = ans")
_LENGTHS = pairs("""\
kilometres = kilomètres, miles = milles, metres = mètres, hours by train = heures de train
hours by car = heures de voiture, minutes on foot = minutes à pied, minutes by bus = minutes de bus
""")
_GOALS = pairs("""\
to the station = jusqu'à la gare, to the school = jusqu'à l'école, to the sea = jusqu'à la mer
to the airport = jusqu'à l'aéroport, to the village = jusqu'au village, to the lake = jusqu'au lac
to the hospital = jusqu'à l'hôpital, to the border = jusqu'à la frontière, to Paris = jusqu'à Paris
from here to the hotel = d'ici à l'hôtel, to the nearest shop = jusqu'au magasin le plus proche
to the top of the hill = jusqu'en haut de la colline, to the next town = jusqu'à la ville suivante
""")
# After it had been ... since, and after it has been ... since: english = french.
_SINCE = [row.split(" = ") for row in """\
Tom had died = Tom était mort = Tom died = Tom est mort
Alice had moved away = Alice avait déménagé = Alice moved away = Alice a déménagé
I had seen Paul = j'avais vu Paul = I saw Paul = j'ai vu Paul
we had met = nous nous étions rencontrés = we met = nous nous sommes rencontrés
the war had ended = la guerre était finie = the war ended = la guerre est finie
Alice had come back = Alice était revenue = Alice came back = Alice est revenue
the shop had closed = le magasin avait fermé = the shop closed = le magasin a fermé
Paul had stopped smoking = Paul avait arrêté de fumer = Paul stopped smoking \
= Paul a arrêté de fumer
my parents had arrived = mes parents étaient arrivés = my parents arrived \
= mes parents sont arrivés""".splitlines()]  # fmt: skip


def clock_or_date(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """English words and French text of 'it was almost half past six', 'it must be Sunday'.

    >>> clock_or_date(random.Random(3), "past")[0][0]
    'it'
    """
    verb, il, ce = rng.choice(_FORMS[tense].splitlines()).split(" = ")
    if rng.random() < 0.15:
        verb, il = rng.choice(_FORMS_OF_EARLY[tense])
        english, french = rng.choice(_EARLY)
        return f"it {verb} {english}".split(), f"{il} {french}"
    if rng.random() < 0.5:
        english, french = _clock(rng)
        return f"it {verb} {english}".split(), f"{il} {french}"
    english, french = _date(rng)
    return f"it {verb} {english}".split(), f"{ce} {french}"


def _clock(rng: random.Random) -> tuple[str, str]:
    if rng.random() < 0.1:
        return rng.choice(_HOURS)
    number, french_number = rng.choice(_NUMBERS)
    english, french = rng.choice(_CLOCK)
    hour = f"{french_number} heure" + ("" if number == "one" else "s")
    return english.format(n=number), french.format(h=hour)


def _date(rng: random.Random) -> tuple[str, str]:
    kind = rng.random()
    if kind < 0.25:
        (day, jour), (part, moment) = rng.choice(_DAYS), rng.choice(_PARTS)
        return (day, jour) if rng.random() < 0.5 else (f"{day} {part}", f"{jour} {moment}")
    if kind < 0.5:
        month, mois = rng.choice(_MONTHS)
        if rng.random() < 0.4:
            return month, f"le mois de {mois}"
        ordinal, numeral = rng.choice(_ORDINALS)
        return f"the {ordinal} of {month}", f"le {numeral} {mois}"
    return rng.choice(_OCCASIONS)


def duration_or_distance(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """English words and French text of 'it is two kilometres to the station', 'it has been a week'.

    >>> duration_or_distance(random.Random(3), "past")[0][0]
    'it'
    """
    amount, nombre = rng.choice(_AMOUNTS)
    past = tense == "past"
    if rng.random() < 0.5:
        (unit, unite), (goal, but) = rng.choice(_LENGTHS), rng.choice(_GOALS)
        degree, degre = rng.choice((("", ""), ("only", "seulement"), ("about", "environ")))
        english = f"it {'was' if past else 'is'} {degree} {amount} {unit} {goal}"
        french = f"il y {'avait' if past else 'a'} {degre} {nombre} {unite} {but}"
        return english.split(), " ".join(french.split())
    unit, unite = rng.choice(_PERIODS)
    since, depuis = rng.choice(_SINCE)[slice(0, 2) if past else slice(2, 4)]
    english = f"it {'had' if past else 'has'} been {amount} {unit} since {since}"
    return english.split(), f"cela {'faisait' if past else 'fait'} {nombre} {unite} que {depuis}"
