"""Impersonal judgements of the anaphora text: *it is easy to*, *it seems that*, freely combined."""

from __future__ import annotations

import random

# english = french, before an infinitive: it is ... to, il est ... de.
_JUDGED = """\
easy = facile, hard = dur, difficult = difficile, impossible = impossible, possible = possible
dangerous = dangereux, important = important, necessary = nécessaire, useful = utile
useless = inutile, forbidden = interdit, allowed = permis, pleasant = agréable, nice = agréable
strange = étrange, preferable = préférable, wise = sage, stupid = idiot, polite = poli
rude = impoli, normal = normal, usual = habituel, rare = rare, common = courant
expensive = coûteux, risky = risqué, boring = ennuyeux, tiring = fatigant, cruel = cruel
interesting = intéressant, exciting = passionnant, sad = triste, fair = juste, unfair = injuste
healthy = sain, essential = essentiel, urgent = urgent, safe = prudent, reasonable = raisonnable
foolish = imprudent, tempting = tentant, vital = vital, illegal = illégal, compulsory = obligatoire
natural = naturel, acceptable = acceptable, unthinkable = impensable, frustrating = frustrant
sensible = raisonnable, romantic = romantique, costly = coûteux, unwise = imprudent, odd = bizarre
"""
_DEGREES = (("", ""), ("", ""), ("", ""), ("very", "très"), ("so", "si"), ("not", ""),
            ("really", "vraiment"), ("always", "toujours"), ("often", "souvent"))  # fmt: skip

# Infinitives: english = french.
_INFINITIVES = """\
go out = sortir, stay at home = rester à la maison, drive fast = conduire vite
speak loudly = parler fort, speak softly = parler doucement
sing in the street = chanter dans la rue
swim in the lake = nager dans le lac, walk on the grass = marcher sur l'herbe
travel alone = voyager seul, work at night = travailler la nuit
learn French = apprendre le français
read in bed = lire au lit, make a fire = faire du feu, play outside = jouer dehors
run every day = courir tous les jours, smoke = fumer, camp = camper
pay in advance = payer d'avance
go home = rentrer, come back tomorrow = revenir demain, ask for help = demander de l'aide
ask questions = poser des questions, tell the truth = dire la vérité, tell lies = mentir
say nothing = ne rien dire, do nothing = ne rien faire, understand everything = tout comprendre
remember names = se souvenir des noms, keep a secret = garder un secret
keep quiet = rester tranquille, make friends = se faire des amis, make money = gagner de l'argent
save money = économiser, spend money = dépenser de l'argent, lose time = perdre du temps
arrive on time = arriver à l'heure, arrive early = arriver tôt, get up early = se lever tôt
go to bed late = se coucher tard, laugh = rire, cry = pleurer, dance = danser, ski = skier
breathe = respirer, concentrate = se concentrer, rest = se reposer, relax = se détendre
build a house = construire une maison, buy a house = acheter une maison
find a solution = trouver une solution, find a parking space = trouver une place de parking
see the mountains = voir les montagnes, see the stars = voir les étoiles
hear music = entendre de la musique, listen to the radio = écouter la radio
watch television = regarder la télévision, write letters = écrire des lettres
write a book = écrire un livre, open the windows = ouvrir les fenêtres
close the door = fermer la porte, water the flowers = arroser les fleurs
feed the animals = nourrir les animaux, help others = aider les autres
protect children = protéger les enfants, respect the rules = respecter les règles
win the match = gagner le match, change clothes = changer de vêtements
choose a present = choisir un cadeau, prepare dinner = préparer le dîner
bake a cake = faire un gâteau, grow vegetables = cultiver des légumes
pick mushrooms = cueillir des champignons, fish here = pêcher ici, stop here = s'arrêter ici
sit on the ground = s'asseoir par terre, stand in the rain = rester sous la pluie
walk in the snow = marcher dans la neige, turn around = faire demi-tour
call the police = appeler la police, call a doctor = appeler un médecin
meet new people = rencontrer des gens, visit the museum = visiter le musée
repair things = réparer les choses, compare prices = comparer les prix
believe Tom = croire Tom, forgive Alice = pardonner à Alice, trust people = faire confiance aux gens
"""

# Clauses after that, past and present: english = french = english = french.
_FACTS = """\
everyone was right = tout le monde avait raison = everyone is right = tout le monde a raison
Tom was wrong = Tom avait tort = Tom is wrong = Tom a tort
somebody was there = quelqu'un était là = somebody is there = quelqu'un est là
nobody was listening = personne n'écoutait = nobody is listening = personne n'écoute
we were lost = nous étions perdus = we are lost = nous sommes perdus
I was late = j'étais en retard = I am late = je suis en retard
Alice knew everything = Alice savait tout = Alice knows everything = Alice sait tout
nothing had changed = rien n'avait changé = nothing has changed = rien n'a changé
the neighbours were away = les voisins étaient absents = the neighbours are away \
    = les voisins sont absents
people were afraid = les gens avaient peur = people are afraid = les gens ont peur
the shops were closed = les magasins étaient fermés = the shops are closed \
    = les magasins sont fermés
my parents were proud = mes parents étaient fiers = my parents are proud = mes parents sont fiers
there was a problem = il y avait un problème = there is a problem = il y a un problème
something was wrong = quelque chose n'allait pas = something is wrong \
    = quelque chose ne va pas
the children were bored = les enfants s'ennuyaient = the children are bored \
    = les enfants s'ennuient
Paul had lied = Paul avait menti = Paul has lied = Paul a menti
everybody knew that = tout le monde savait cela = everybody knows that = tout le monde sait cela
we had won = nous avions gagné = we have won = nous avons gagné
the doctor had come = le médecin était venu = the doctor has come = le médecin est venu
money was short = l'argent manquait = money is short = l'argent manque
"""

# Before that with an indicative in French: past and present.
_BEFORE_THAT = """\
it was true = il était vrai = it is true = il est vrai
it was clear = il était clair = it is clear = il est clair
it was obvious = il était évident = it is obvious = il est évident
it was certain = il était certain = it is certain = il est certain
it was likely = il était probable = it is likely = il est probable
it was well known = il était bien connu = it is well known = il est bien connu
it was undeniable = il était indéniable = it is undeniable = il est indéniable
it seemed = il semblait = it seems = il semble
it seemed to me = il me semblait = it seems to me = il me semble
it appeared = il paraissait = it appears = il paraît
it turned out = il s'est avéré = it turns out = il s'avère
it was said = on disait = it is said = on dit
"""


def judgement(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """English words and French text of 'it is easy to go out' or 'it is true that Tom is wrong'.

    >>> judgement(random.Random(3), "past")[0][0]
    'it'
    """
    return _with_infinitive(rng, tense) if rng.random() < 0.65 else _with_fact(rng, tense)


def _with_infinitive(rng: random.Random, tense: str) -> tuple[list[str], str]:
    english, french = rng.choice(_ADJECTIVES_BEFORE_INFINITIVES)
    degree, french_degree = rng.choice(_DEGREES)
    act, french_act = rng.choice(_ACTS)
    was, etait = ("was", "était") if tense == "past" else ("is", "est")
    before, after = ("n'", "pas ") if degree == "not" else ("", f"{french_degree} ".lstrip())
    words = ["it", was, *degree.split(), *english.split(), "to", *act.split()]
    return words, f"il {before}{etait} {after}{french} de {french_act}"


def _with_fact(rng: random.Random, tense: str) -> tuple[list[str], str]:
    half = slice(0, 2) if tense == "past" else slice(2, 4)
    opening, french_opening = rng.choice(_OPENINGS)[half]
    fact, french_fact = rng.choice(_CLAIMS)[half]
    return f"{opening} that {fact}".split(), f"{french_opening} que {french_fact}"


def _pairs(table: str) -> list[tuple[str, ...]]:
    items = table.replace("\n", ", ").strip(", ").split(", ")
    return [tuple(item.split(" = ")) for item in items]


def _rows(table: str) -> list[list[str]]:
    return [[part.strip() for part in line.split(" = ")] for line in table.splitlines()]


_ADJECTIVES_BEFORE_INFINITIVES, _ACTS = _pairs(_JUDGED), _pairs(_INFINITIVES)
_CLAIMS, _OPENINGS = _rows(_FACTS), _rows(_BEFORE_THAT)
