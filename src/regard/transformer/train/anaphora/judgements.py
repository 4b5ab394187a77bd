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
lawful = légal, painful = pénible, simple = simple, advisable = recommandé
inadvisable = déconseillé, satisfying = satisfaisant, relaxing = reposant, amusing = amusant
customary = habituel, prohibited = interdit, tricky = délicat, absurd = absurde
unpleasant = pénible, ridiculous = ridicule, shameful = honteux, courageous = courageux
crazy = fou, handy = pratique
embarrassing = gênant, humiliating = humiliant, surprising = surprenant, convenient = commode
inconvenient = malcommode, immoral = immoral, wonderful = merveilleux, terrible = terrible
pointless = inutile, futile = vain, permitted = autorisé, legal = légal, awkward = gênant
"""
_WITHOUT_DEGREE = """impossible forbidden allowed essential vital illegal compulsory prohibited
    permitted legal lawful wonderful terrible unthinkable futile absurd preferable urgent
    advisable inadvisable customary"""
_DEGREES = (("", ""), ("", ""), ("", ""), ("very", "très"), ("so", "si"), ("not", ""),
            ("really", "vraiment"), ("always", "toujours"), ("often", "souvent"))  # fmt: skip

# Before an infinitive: it was ... to, c'était ... de.
_NOUNS = """\
a mistake = une erreur, a good idea = une bonne idée, a bad idea = une mauvaise idée
a pleasure = un plaisir, a joy = une joie, a relief = un soulagement, a crime = un crime
a sin = un péché, a duty = un devoir, an honour = un honneur, a risk = un risque
a waste of time = une perte de temps, a pity = dommage
a shame = dommage, fun = amusant, no fun = peu amusant, my turn = mon tour, your turn = ton tour
his turn = son tour, our turn = notre tour, their turn = leur tour, Tom's turn = le tour de Tom
Alice's turn = le tour d'Alice, my job = mon travail, their custom = leur coutume
up to me = à moi
up to you = à toi, up to us = à nous, up to Tom = à Tom, up to them = à eux, a dream = un rêve
madness = de la folie, bad manners = mal élevé, a challenge = un défi, a privilege = un privilège
"""
# Before of you to, de ta part de.
_CONDUCT = """\
kind = gentil, rude = impoli, wise = sage, stupid = idiot, brave = courageux, generous = généreux
clever = malin, careless = imprudent, thoughtful = délicat, selfish = égoïste, silly = bête
cruel = cruel, foolish = imprudent, considerate = attentionné, unkind = méchant, honest = honnête
"""
_AGENTS = """\
you = toi = ta, Tom = Tom = la, us = nous = notre, me = moi = ma, them = eux = leur
Alice = Alice = la, him = lui = sa
"""
# Before an infinitive, past and present: english = french.
_MEASURES = """\
it was too early to = il était trop tôt pour = it is too early to = il est trop tôt pour
it was too late to = il était trop tard pour = it is too late to = il est trop tard pour
it was early enough to = il était assez tôt pour = it is early enough to = il est assez tôt pour
it was time to = il était temps de = it is time to = il est temps de
it was high time to = il était grand temps de = it is high time to = il est grand temps de
it was almost time to = il était presque temps de = it is almost time to = il est presque temps de
it was never too late to = il n'était jamais trop tard pour = it is never too late to \
    = il n'est jamais trop tard pour
it was too hot to = il faisait trop chaud pour = it is too hot to = il fait trop chaud pour
it was too cold to = il faisait trop froid pour = it is too cold to = il fait trop froid pour
it was too dark to = il faisait trop sombre pour = it is too dark to = il fait trop sombre pour
it was too windy to = il y avait trop de vent pour = it is too windy to = il y a trop de vent pour
it was warm enough to = il faisait assez chaud pour = it is warm enough to \
    = il fait assez chaud pour
it was better to = il valait mieux = it is better to = il vaut mieux
it was best to = le mieux était de = it is best to = le mieux est de
it was enough to = il suffisait de = it is enough to = il suffit de
it would be better to = il vaudrait mieux = it will be better to = il vaudra mieux
it was necessary to = il fallait = it is necessary to = il faut
it had been necessary to = il avait fallu = it will be necessary to = il faudra
it required an hour to = il a fallu une heure pour = it requires an hour to \
    = il faut une heure pour
it required two days to = il a fallu deux jours pour = it will require two days to \
    = il faudra deux jours pour
it needed ten minutes to = il fallait dix minutes pour = it needs ten minutes to \
    = il faut dix minutes pour
it needed courage to = il fallait du courage pour = it needs courage to = il faut du courage pour
it needed patience to = il fallait de la patience pour = it needs patience to \
    = il faut de la patience pour
it cost a lot to = cela coûtait cher de = it costs a lot to = cela coûte cher de
it cost nothing to = cela ne coûtait rien de = it costs nothing to = cela ne coûte rien de
it made no sense to = cela n'avait aucun sens de = it makes no sense to = cela n'a aucun sens de
it did no good to = cela ne servait à rien de = it does no good to = cela ne sert à rien de
it was no use trying to = cela ne servait à rien d'essayer de = it is no use trying to \
    = cela ne sert à rien d'essayer de
it was against the law to = c'était contraire à la loi de = it is against the law to \
    = c'est contraire à la loi de
it seemed wise to = il semblait sage de = it seems wise to = il semble sage de
it seemed impossible to = il semblait impossible de = it seems impossible to \
    = il semble impossible de
it felt good to = cela faisait du bien de = it feels good to = cela fait du bien de
it felt strange to = cela faisait bizarre de = it feels strange to = cela fait bizarre de
it must have been hard to = ce devait être difficile de = it must be hard to \
    = ce doit être difficile de
it would be easy to = il serait facile de = it will be easy to = il sera facile de
it would soon be time to = il serait bientôt temps de = it will soon be time to \
    = il sera bientôt temps de
it used to be easy to = autrefois il était facile de = it might be dangerous to \
    = il est peut-être dangereux de
it was not worthwhile to = ce n'était pas la peine de = it is not worthwhile to \
    = ce n'est pas la peine de
"""

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
it happened = il se trouvait = it happens = il se trouve
it looked as if = on aurait dit = it looks as if = on dirait
it was rumoured = le bruit courait = it is rumoured = le bruit court
it was believed = on croyait = it is believed = on croit
it was thought = on pensait = it is thought = on pense
it was known = on savait = it is known = on sait
it was announced = on annonçait = it is announced = on annonce
it went without saying = il allait sans dire = it goes without saying = il va sans dire
it struck me = je me rendais compte = it strikes me = je me rends compte
it was evident = il était évident = it is evident = il est évident
it was a fact = c'était un fait = it is a fact = c'est un fait
it was no secret = ce n'était un secret pour personne = it is no secret \
    = ce n'est un secret pour personne
it was probable = il était probable = it is probable = il est probable
it was plain = il était clair = it is plain = il est clair
it was because of the rain = c'était à cause de la pluie = it is because of the rain \
    = c'est à cause de la pluie
it was because of the noise = c'était à cause du bruit = it is because of the noise \
    = c'est à cause du bruit
it was because of the snow = c'était à cause de la neige = it is because of the snow \
    = c'est à cause de la neige
it was thanks to my sister = c'était grâce à ma sœur = it is thanks to my sister \
    = c'est grâce à ma sœur
it was for this reason = c'était pour cette raison = it is for this reason \
    = c'est pour cette raison
it might have been true = il était peut-être vrai = it might be true = il est peut-être vrai
it must have been obvious = il devait être évident = it must be obvious = il doit être évident
"""

# Before that with a subjunctive in French, past and present.
_BEFORE_SUBJUNCTIVES = """\
it was a pity = c'était dommage = it is a pity = c'est dommage
it was a shame = c'était dommage = it is a shame = c'est dommage
it was strange = il était étrange = it is strange = il est étrange
it was lucky = c'était une chance = it is lucky = c'est une chance
it was a good thing = c'était une bonne chose = it is a good thing = c'est une bonne chose
it was a miracle = c'était un miracle = it is a miracle = c'est un miracle
it was a wonder = c'était étonnant = it is a wonder = c'est étonnant
it was surprising = il était surprenant = it is surprising = il est surprenant
it was possible = il était possible = it is possible = il est possible
it was impossible = il était impossible = it is impossible = il est impossible
it was unlikely = il était peu probable = it is unlikely = il est peu probable
it was natural = il était naturel = it is natural = il est naturel
it was odd = il était bizarre = it is odd = il est bizarre
it was sad = il était triste = it is sad = il est triste
it was unfair = il était injuste = it is unfair = il est injuste
it did not matter = peu importait = it does not matter = peu importe
it was not certain = il n'était pas certain = it is not certain = il n'est pas certain
it was unfortunate = il était regrettable = it is unfortunate = il est regrettable
it was a relief = c'était un soulagement = it is a relief = c'est un soulagement
"""
# Clauses after these: english past = english present = french subjunctive.
_SUBJUNCTIVES = """\
everyone was right = everyone is right = tout le monde ait raison
Tom was wrong = Tom is wrong = Tom ait tort
somebody was there = somebody is there = quelqu'un soit là
nobody was listening = nobody is listening = personne n'écoute
we were lost = we are lost = nous soyons perdus
I was late = I am late = je sois en retard
Alice knew everything = Alice knows everything = Alice sache tout
nothing had changed = nothing has changed = rien n'ait changé
the neighbours were away = the neighbours are away = les voisins soient absents
people were afraid = people are afraid = les gens aient peur
the shops were closed = the shops are closed = les magasins soient fermés
there was a delay = there is a delay = il y ait du retard
the children were bored = the children are bored = les enfants s'ennuient
Paul had lied = Paul has lied = Paul ait menti
we had won = we have won = nous ayons gagné
the doctor had come = the doctor has come = le médecin soit venu
nobody was hurt = nobody is hurt = personne ne soit blessé
Tom knew the way = Tom knows the way = Tom connaisse le chemin
Alice spoke French = Alice speaks French = Alice parle français
"""

# Clefts: it was ... who, c'était ... qui.
_PEOPLE = """\
Tom = Tom, Alice = Alice, Paul = Paul, my brother = mon frère, my sister = ma sœur
the neighbour = le voisin, the doctor = le médecin, the teacher = le professeur
my mother = ma mère, a child = un enfant, a stranger = un inconnu
"""
_DEEDS = """\
knew the answer = savait la réponse = knows the answer = sait la réponse
had the key = avait la clé = has the key = a la clé
was right = avait raison = is right = a raison
was wrong = avait tort = is wrong = a tort
did the work = faisait le travail = does the work = fait le travail
had called = avait appelé = has called = a appelé
had won = avait gagné = has won = a gagné
had lied = avait menti = has lied = a menti
had started the fire = avait allumé le feu = has started the fire = a allumé le feu
had opened the door = avait ouvert la porte = has opened the door = a ouvert la porte
wanted to go home = voulait rentrer = wants to go home = veut rentrer
had the idea = avait eu l'idée = has the idea = a l'idée
had told the truth = avait dit la vérité = has told the truth = a dit la vérité
paid for everything = payait tout = pays for everything = paie tout
"""


def judgement(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """English words and French text of 'it is easy to go out' or 'it is true that Tom is wrong'.

    >>> judgement(random.Random(3), "past")[0][0]
    'it'
    """
    kinds = (_with_infinitive, _after_noun, _by_somebody, _after_measure, _with_fact,
             _with_subjunctive, _cleft)  # fmt: skip
    return rng.choices(kinds, (26, 14, 10, 20, 16, 9, 5))[0](rng, tense)


def _with_infinitive(rng: random.Random, tense: str) -> tuple[list[str], str]:
    english, french = rng.choice(_ADJECTIVES_BEFORE_INFINITIVES)
    without = english in _ABSOLUTE
    degree, french_degree = _DEGREES[0] if without else rng.choice(_DEGREES)
    act, french_act = rng.choice(_ACTS)
    was, etait = ("was", "était") if tense == "past" else ("is", "est")
    before, after = ("n'", "pas ") if degree == "not" else ("", f"{french_degree} ".lstrip())
    words = ["it", was, *degree.split(), *english.split(), "to", *act.split()]
    return words, f"il {before}{etait} {after}{french} de {french_act}"


def _after_noun(rng: random.Random, tense: str) -> tuple[list[str], str]:
    english, french = rng.choice(_NOUNS_BEFORE_INFINITIVES)
    act, french_act = rng.choice(_ACTS_OF_ANYBODY)
    was, etait = ("was", "c'était") if tense == "past" else ("is", "c'est")
    return f"it {was} {english} to {act}".split(), f"{etait} {french} de {french_act}"


def _by_somebody(rng: random.Random, tense: str) -> tuple[list[str], str]:
    """'it was easy for us to go out', 'it was kind of you to say nothing'."""
    name, french_name, possessive = rng.choice(_SOMEBODY)
    act, french_act = rng.choice(_ACTS_OF_ANYBODY)
    was, etait = ("was", "était") if tense == "past" else ("is", "est")
    if rng.random() < 0.5:
        english, french = rng.choice(_ADJECTIVES_BEFORE_INFINITIVES)
        words = f"it {was} {english} for {name} to {act}".split()
        return words, f"il {etait} {french} pour {french_name} de {french_act}"
    english, french = rng.choice(_CONDUCTS)
    part = f"la part de {french_name}" if possessive == "la" else f"{possessive} part"
    words = f"it {was} {english} of {name} to {act}".split()
    return words, f"c'{etait} {french} de {part} de {french_act}"


def _after_measure(rng: random.Random, tense: str) -> tuple[list[str], str]:
    english, french = rng.choice(_OPENINGS_OF_INFINITIVES)[_half(tense)]
    act, french_act = rng.choice(_ACTS)
    return f"{english} {act}".split(), f"{french} {french_act}"


def _with_fact(rng: random.Random, tense: str) -> tuple[list[str], str]:
    opening, french_opening = rng.choice(_OPENINGS)[_half(tense)]
    fact, french_fact = rng.choice(_CLAIMS)[_half(tense)]
    that = "" if opening.endswith("as if") else "that"
    return f"{opening} {that} {fact}".split(), f"{french_opening} que {french_fact}"


def _with_subjunctive(rng: random.Random, tense: str) -> tuple[list[str], str]:
    opening, french_opening = rng.choice(_OPENINGS_OF_SUBJUNCTIVES)[_half(tense)]
    past, present, french = rng.choice(_FACTS_IN_SUBJUNCTIVE)
    fact = past if tense == "past" else present
    return f"{opening} that {fact}".split(), f"{french_opening} que {french}"


def _cleft(rng: random.Random, tense: str) -> tuple[list[str], str]:
    name, french_name = rng.choice(_CLEFT_PEOPLE)
    deed, french_deed = rng.choice(_CLEFT_DEEDS)[_half(tense)]
    was, etait = ("was", "c'était") if tense == "past" else ("is", "c'est")
    return f"it {was} {name} who {deed}".split(), f"{etait} {french_name} qui {french_deed}"


def _half(tense: str) -> slice:
    return slice(0, 2) if tense == "past" else slice(2, 4)


def _pairs(table: str) -> list[tuple[str, ...]]:
    items = table.replace("\n", ", ").strip(", ").split(", ")
    return [tuple(item.split(" = ")) for item in items]


def _rows(table: str) -> list[list[str]]:
    return [[part.strip() for part in line.split(" = ")] for line in table.splitlines()]


_ADJECTIVES_BEFORE_INFINITIVES, _ACTS = _pairs(_JUDGED), _pairs(_INFINITIVES)
_CLAIMS, _OPENINGS = _rows(_FACTS), _rows(_BEFORE_THAT)
_OPENINGS_OF_INFINITIVES, _NOUNS_BEFORE_INFINITIVES = _rows(_MEASURES), _pairs(_NOUNS)
_CONDUCTS, _SOMEBODY = _pairs(_CONDUCT), _pairs(_AGENTS)
_OPENINGS_OF_SUBJUNCTIVES, _FACTS_IN_SUBJUNCTIVE = _rows(_BEFORE_SUBJUNCTIVES), _rows(_SUBJUNCTIVES)
_CLEFT_PEOPLE, _CLEFT_DEEDS = _pairs(_PEOPLE), _rows(_DEEDS)
# Those without a reflexive pronoun or an adjective that agrees with the subject.
_ACTS_OF_ANYBODY = [x for x in _ACTS if not x[1].startswith(("se ", "s'")) and "seul" not in x[1]]
_ABSOLUTE = frozenset(_WITHOUT_DEGREE.split())
