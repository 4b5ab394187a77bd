"""Near-synonyms of the predicates that the relations name: meaning counts, not a word."""

from __future__ import annotations

# word = others with degrees / others without (no very, too or enough goes before them)
_TABLE = """\
big = / huge:énorme, gigantic:gigantesque, immense:immense
large = / immense:immense
small = / tiny:minuscule, minute:minuscule
tired = weary:las / exhausted:épuisé, dead tired:mort* de fatigue
exhausted = / drained:vidé, dead tired:mort* de fatigue
hungry = / starving:affamé, famished:affamé, ravenous:affamé
starving = / famished:affamé
thirsty = dehydrated:déshydraté / parched:assoiffé
afraid = scared:effrayé, frightened:effrayé, fearful:craintif / terrified:terrifié
frightened = scared:effrayé, alarmed:alarmé / terrified:terrifié, petrified:pétrifié
scared = frightened:effrayé, alarmed:alarmé / terrified:terrifié
ill = sick:malade, unwell:souffrant
sick = ill:malade, unwell:souffrant
angry = annoyed:agacé, mad:fâché / furious:furieux, enraged:furieux
furious = angry:!en colère, mad:fâché / enraged:furieux
noisy = loud:bruyant / deafening:assourdissant
loud = noisy:bruyant / ear-splitting:assourdissant
delicious = tasty:savoureux, appetising:appétissant / yummy:délicieux, exquisite:exquis
dirty = filthy:crasseux, grubby:sale
wet = damp:humide / soaked:trempé, drenched:trempé
soaked = / drenched:trempé
fragile = delicate:délicat, flimsy:frêle
expensive = costly:coûteux / overpriced:!hors de prix
cheap = affordable:abordable, inexpensive:!bon marché
boring = dull:ennuyeux, tedious:fastidieux, uninteresting:inintéressant
fat = plump:dodu, chubby:potelé / overweight:!en surpoids
heavy = weighty:lourd, hefty:pesant
fast = quick:rapide, swift:rapide, speedy:rapide
slow = sluggish:lent, slow-moving:lent
skinny = bony:maigre, underfed:mal nourri*
clumsy = awkward:maladroit
careless = reckless:imprudent, inattentive:inattentif
brave = courageous:courageux, bold:audacieux / fearless:intrépide
cowardly = spineless:lâche
kind = nice:gentil, good-hearted:!au grand cœur, caring:attentionné
generous = unselfish:généreux, charitable:charitable
rude = impolite:impoli, ill-mannered:mal élevé*, disrespectful:irrespectueux
polite = courteous:courtois, well-mannered:bien élevé*
sad = unhappy:malheureux, miserable:malheureux, sorrowful:triste
unhappy = sad:triste, miserable:malheureux
happy = cheerful:joyeux, joyful:joyeux, merry:gai / delighted:ravi
worried = anxious:anxieux, uneasy:inquiet, concerned:préoccupé
grateful = thankful:reconnaissant
satisfied = pleased:content, happy:content / delighted:ravi
disappointed = let down:déçu, disillusioned:désabusé
lazy = idle:oisif, slothful:indolent
poor = needy:nécessiteux / penniless:!sans le sou, bankrupt:ruiné
rich = wealthy:aisé, affluent:fortuné, well-off:aisé, prosperous:prospère
famous = well-known:connu, renowned:renommé, celebrated:célèbre
talented = gifted:doué, skilled:habile, skilful:habile
injured = / wounded:blessé, hurt:blessé
wounded = / injured:blessé, hurt:blessé
ashamed = embarrassed:gêné
dark = gloomy:lugubre, dim:sombre
calm = peaceful:paisible, quiet:tranquille
cold = chilly:froid / freezing:glacial
hot = / boiling:bouillant, scorching:brûlant
comfortable = cosy:douillet, pleasant:agréable
solid = sturdy:robuste, robust:robuste, stable:stable
strong = robust:robuste, sturdy:robuste
weak = feeble:faible, frail:frêle
powerful = mighty:puissant
useless = worthless:!sans valeur, pointless:inutile
faulty = unreliable:peu fiable* / defective:défectueux, out of order:!en panne
damaged = battered:abîmé / ruined:détruit
wide = broad:large
enormous = / huge:énorme, gigantic:gigantesque, colossal:colossal
magnificent = splendid:splendide, gorgeous:superbe, impressive:impressionnant / superb:superbe
beautiful = pretty:joli, lovely:ravissant, attractive:attrayant / gorgeous:superbe
ugly = hideous:hideux, unattractive:peu attrayant*
precious = valuable:!de valeur / priceless:inestimable
nervous = tense:tendu, agitated:agité, restless:agité
aggressive = violent:violent, vicious:méchant, hostile:hostile
fierce = ferocious:féroce, savage:sauvage
sleepy = drowsy:somnolent, tired:fatigué
asleep = / fast asleep:profondément endormi*
shy = timid:timide, reserved:réservé
cautious = careful:prudent, wary:méfiant
hard-working = diligent:assidu, industrious:travailleur, conscientious:consciencieux
interesting = fascinating:fascinant, captivating:captivant
clever = smart:intelligent, bright:intelligent, cunning:rusé, sly:rusé
slippery = slick:glissant
greedy = gluttonous:glouton
lost = / disoriented:désorienté, astray:égaré
desperate = / hopeless:désespéré
crowded = / packed:bondé, overcrowded:surpeuplé
modern = up-to-date:moderne, advanced:perfectionné
sharp = well sharpened:bien aiguisé*
incompetent = inefficient:inefficace, inept:incapable
honest = trustworthy:digne* de confiance, upright:droit
dishonest = deceitful:fourbe, untrustworthy:peu fiable*
experienced = seasoned:expérimenté, competent:compétent
jealous = envious:envieux, resentful:rancunier
strict = severe:sévère, harsh:sévère, stern:sévère, demanding:exigeant
disobedient = unruly:indiscipliné, naughty:vilain
arrogant = conceited:prétentieux, haughty:hautain
curious = inquisitive:curieux, nosy:indiscret
restless = fidgety:agité, agitated:agité
naive = gullible:crédule, credulous:crédule
stubborn = obstinate:obstiné, headstrong:entêté
faithful = loyal:loyal, devoted:dévoué
modest = humble:humble, unassuming:modeste
sensitive = emotional:émotif
guilty = / to blame:fautif, at fault:fautif
isolated = remote:reculé, secluded:retiré
stained = soiled:taché
elegant = stylish:élégant, refined:raffiné
fragrant = sweet-smelling:parfumé, scented:parfumé
rusty = corroded:rouillé
rickety = shaky:branlant, unsteady:instable
bulky = cumbersome:encombrant
flooded = / submerged:submergé, under water:!sous l'eau
polluted = contaminated:contaminé
shiny = gleaming:étincelant
torn = / ripped:déchiré
raw = / uncooked:cru
greasy = oily:huileux
muddy = / covered in mud:couvert* de boue
icy = / covered with ice:couvert* de glace
dusty = / covered with dust:couvert* de poussière
excited = / overexcited:surexcité
affectionate = loving:affectueux, cuddly:câlin
insolent = cheeky:effronté, impertinent:impertinent
helpful = obliging:serviable
mysterious = enigmatic:énigmatique
suspicious = distrustful:méfiant, mistrustful:méfiant
reliable = dependable:fiable
vigilant = watchful:attentif, alert:vigilant
spacious = roomy:spacieux
popular = well-liked:apprécié
strange = odd:bizarre, peculiar:singulier, weird:bizarre
common = ordinary:ordinaire
rare = uncommon:rare
efficient = effective:efficace
excellent = / outstanding:remarquable, first-rate:!de premier ordre
urgent = pressing:pressant
new = / brand-new:flambant neuf*
dry = / bone-dry:complètement sec*
clean = / spotless:impeccable
timid = skittish:craintif
impressed = / amazed:émerveillé, dazzled:ébloui
lonely = solitary:solitaire
playful = frisky:fringant
victorious = / triumphant:triomphant
solemn = ceremonious:cérémonieux
tiring = exhausting:épuisant, strenuous:fatigant
"""


def _read() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]], dict[str, str]]:
    graded: dict[str, tuple[str, ...]] = {}
    absolute: dict[str, tuple[str, ...]] = {}
    french: dict[str, str] = {}
    for line in _TABLE.splitlines():
        word, _, others = line.partition(" =")
        for table, part in zip((graded, absolute), others.split("/"), strict=False):
            items = [x.strip().partition(":") for x in part.split(", ") if x.strip()]
            table[word] = tuple(english for english, _, _ in items)
            french |= {english: text for english, _, text in items}
    return graded, absolute, french


_GRADED, _ABSOLUTE, SYNONYM_FRENCH = _read()
WITHOUT_DEGREES = frozenset(x for words in _ABSOLUTE.values() for x in words)


def with_synonyms(words: tuple[str, ...], degrees: bool) -> tuple[str, ...]:
    """Predicates and their near-synonyms, each once; ``degrees``: only those that take *enough*.

    >>> with_synonyms(("fat", "late"), degrees=True)
    ('fat', 'plump', 'chubby', 'late')
    """
    more: dict[str, None] = {}
    for word in words:
        others = _GRADED.get(word, ()) + (() if degrees else _ABSOLUTE.get(word, ()))
        more |= dict.fromkeys((word, *others))
    return tuple(more)
