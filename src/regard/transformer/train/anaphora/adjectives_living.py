"""Adjectives of animals, people and plants in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_LIVING = """\
creature / bug = \
    + upset: contrarié
animate = \
    + sick: malade; + furious: furieux; + terrified: terrifié; + scared: effrayé; + anxious: \
    anxieux; wounded: blessé; + weary: las; + excited: excité; + surprised: surpris; + \
    confused: désorienté; + drowsy: somnolent; unconscious: inconscient; + cheerful: joyeux; + \
    joyful: joyeux; + grumpy: grognon; + agitated: agité; hurt: blessé; trapped: pris* au \
    piège; out of breath: essoufflé; + unhappy: malheureux; + miserable: malheureux; + \
    desperate: désespéré; + alert: vigilant; + fearless: intrépide; + bold: audacieux; + \
    cautious: prudent; + timid: craintif; + clumsy: maladroit; + agile: agile; famished: \
    affamé; shivering with cold: transi* de froid; + panicked: paniqué; + stunned: abasourdi; \
    fast asleep: profondément endormi*; wide awake: bien réveillé*; about to faint: sur le \
    point de s'évanouir
animate jewel key wallet purse handbag letter suitcase ring / object = \
    lost: perdu; + clever: malin
creature / bug plant = \
    + healthy: !en bonne santé
animate plant = \
    dead: mort; dying: mourant; alive: vivant; + young: jeune
beast people parrot bird small dolphin seal / animate = \
    + friendly: amical; + hostile: hostile; + loyal: loyal; + faithful: fidèle; + \
    affectionate: affectueux; + disobedient: désobéissant; + naughty: vilain; + distrustful: \
    méfiant; + lonely: solitaire; + bad-tempered: !de mauvaise humeur; + skinny: maigre; + \
    thin: maigre; lame: boiteux; + muscular: musclé; + plump: dodu
beast small bird fish / animal plant land people = \
    + wild: sauvage
beast bird fish spider wasp cobra snake ferret rat bat / animate = \
    + ferocious: féroce; + vicious: méchant
dog cat puppy kitten rabbit / animal people = \
    stray: errant
beast hamster bear mouse rat squirrel hedgehog ferret mole bat marmot / animate cloth toy = \
    + furry: poilu; + hairy: poilu; well trained: bien dressé*; housebroken: propre
zebra tiger cat dress skirt shirt tie scarf sock sweater towel curtain flag wasp bee / animal \
    cloth = \
    striped: rayé
dog cat puppy kitten cow horse people pony sheep goat pig rabbit / animal = \
    vaccinated: vacciné
lion tiger wolf crocodile eagle shark bear fox panther jaguar hyena lioness alligator snake falcon \
    hawk owl weasel ferret / animal plant = \
    carnivorous: carnivore
cow horse rabbit goat sheep giraffe elephant zebra camel panda koala llama deer gazelle buffalo ox \
    ram hare kangaroo donkey mule pony / animal = \
    herbivorous: herbivore
panda gorilla elephant whale tiger lion bear jaguar koala turtle tuna dolphin eagle panther otter \
    orchid wolf / animal plant = \
    endangered: !en voie de disparition
owl bat hedgehog badger mole mouse rat nightingale mosquito skunk fox / animal work picture = \
    nocturnal: nocturne
woman / beast small fish = \
    pregnant: enceinte
people / animal = \
    + annoyed: agacé
people beast bird small dolphin / animal = \
    + kind: gentil; + serious: sérieux; + selfish: égoïste; + ambitious: ambitieux; + patient: \
    patient; + wise: sage; + naive: naïf; + sensitive: sensible; allergic to cats: allergique* \
    aux chats
people = \
    bald: chauve; single: célibataire; engaged: fiancé; unmarried: célibataire; sober: sobre; \
    + modest: modeste; + wealthy: aisé; + sincere: sincère; + dishonest: malhonnête; + \
    corrupt: corrompu; + superstitious: superstitieux; + religious: croyant; + qualified: \
    qualifié; + competent: compétent; + incompetent: incompétent; + pessimistic: pessimiste; + \
    optimistic: optimiste; + flattered: flatté; sorry: désolé; well dressed: bien habillé*; \
    barefoot: !pieds nus; bilingual: bilingue; + illiterate: analphabète; on strike: !en \
    grève; on duty: !de service; in prison: !en prison; + hypocritical: hypocrite; + \
    shameless: effronté; + impolite: impoli; + rude to everyone: impoli* avec tout le monde; + \
    strict: strict; + tolerant: tolérant; + lazy at work: paresseux* au travail; + tanned: \
    bronzé; + eloquent: éloquent; + studious: studieux; + disorganised: désorganisé; away on \
    business: !en voyage d'affaires; + jobless: !sans emploi; + penniless: !sans le sou
plant -seed -moss -hay -bamboo -fern -reed / dish plant = \
    blooming: fleuri
plant -seed -moss -hay -bouquet / dish plant = \
    + bushy: touffu; uprooted: déraciné; full of thorns: plein* d'épines
rose lilac lily flower orchid carnation bouquet mint soap perfume candle tea shampoo / plant care \
    food drink = \
    + fragrant: parfumé
tree oak pine maple willow birch fir vine cactus turtle / plant part = \
    a hundred years old: centenaire; leafless: !sans feuillage
plant mushroom fish jellyfish frog / food = \
    + poisonous: vénéneux
plant vegetable / place = \
    freshly planted: fraîchement planté*; dried up: desséché
flower tulip rose daisy lettuce lily carnation bouquet poppy orchid geranium sunflower parsley \
    mint cabbage / plant vegetable = \
    + wilted: fané
seed wheat grass poppy corn carrot / plant food = \
    sown: semé
creature / bug = \
    + disappointed: déçu; + relieved: soulagé; + irritated: irrité; + offended: vexé; + \
    depressed: déprimé; + stressed: stressé; + lucky: chanceux; + unlucky: malchanceux; + \
    sociable: sociable; + absent-minded: distrait; + forgetful: distrait; + cowardly: lâche; + \
    pleased: content; + glad: content; + delighted: ravi; + thrilled: ravi; overjoyed: fou* de \
    joie; heartbroken: !le cœur brisé; + homesick: nostalgique; + guilty: coupable; + \
    innocent: innocent; + arrogant: arrogant; + grateful: reconnaissant; + ungrateful: ingrat; \
    + ashamed: honteux; + satisfied: satisfait; + dissatisfied: mécontent; + talented: \
    talentueux; + gifted: doué; + skilled: habile; + experienced: expérimenté; + \
    inexperienced: inexpérimenté; overworked: surmené; + moved: ému; + impressed: \
    impressionné; in love: amoureux; + stingy: avare; + diligent: assidu; used to the noise: \
    habitué* au bruit; adopted: adopté
people beast / animal = \
    + short-sighted: myope; in hospital: !à l'hôpital
"""
