"""Adjectives of animals, people and plants in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
OF_LIVING = """\
creature / bug = \
    + sick: malade; + furious: furieux; + terrified: terrifié; + scared: effrayé; + anxious: \
    anxieux; wounded: blessé; + weary: las; + upset: contrarié; + excited: excité; + \
    surprised: surpris; + confused: désorienté; + drowsy: somnolent; unconscious: inconscient; \
    + cheerful: joyeux; + joyful: joyeux; + grumpy: grognon; + agitated: agité; hurt: blessé; \
    trapped: pris* au piège; out of breath: essoufflé; + unhappy: malheureux; + miserable: \
    malheureux; + desperate: désespéré; + alert: vigilant; + fearless: intrépide; + bold: \
    audacieux; + cautious: prudent; + timid: craintif; + clumsy: maladroit; + agile: agile; \
    famished: affamé; shivering with cold: transi* de froid; + panicked: paniqué; + stunned: \
    abasourdi; fast asleep: profondément endormi*; wide awake: bien réveillé*; about to faint: \
    sur le point de s'évanouir
creature / bug object = \
    lost: perdu; + clever: malin
creature / bug plant = \
    dead: mort; dying: mourant; + healthy: !en bonne santé; alive: vivant; + young: jeune
beast people parrot / animate = \
    + friendly: amical; + hostile: hostile; + loyal: loyal; + faithful: fidèle; + \
    affectionate: affectueux; + disobedient: désobéissant; + naughty: vilain; + distrustful: \
    méfiant; + lonely: solitaire; + bad-tempered: !de mauvaise humeur; + skinny: maigre; + \
    thin: maigre; lame: boiteux; + muscular: musclé; + plump: dodu
beast small bird / animal plant land = \
    + wild: sauvage
beast bird fish spider wasp / animate = \
    + ferocious: féroce; + vicious: méchant
dog cat puppy kitten / animal people = \
    stray: errant
beast hamster / animate = \
    + furry: poilu; + hairy: poilu; well trained: bien dressé*; housebroken: propre
zebra tiger cat / animal cloth = \
    striped: rayé
dog cat puppy kitten cow horse people / animal = \
    vaccinated: vacciné
lion tiger wolf crocodile eagle shark / animal plant = \
    carnivorous: carnivore
cow horse rabbit goat sheep giraffe elephant / animal = \
    herbivorous: herbivore
panda gorilla elephant whale tiger / animal plant = \
    endangered: !en voie de disparition
owl bat hedgehog / animal work picture = \
    nocturnal: nocturne
woman / beast small fish = \
    pregnant: enceinte
people / animal = \
    + kind: gentil; + serious: sérieux; + selfish: égoïste; + ambitious: ambitieux; + patient: \
    patient; + wise: sage; + naive: naïf; + sensitive: sensible; + disappointed: déçu; + \
    relieved: soulagé; + annoyed: agacé; + irritated: irrité; + offended: vexé; + depressed: \
    déprimé; + stressed: stressé; + lucky: chanceux; + unlucky: malchanceux; + sociable: \
    sociable; + absent-minded: distrait; + forgetful: distrait; + cowardly: lâche; + pleased: \
    content; + glad: content; + delighted: ravi; + thrilled: ravi; overjoyed: fou* de joie; \
    heartbroken: !le cœur brisé; + homesick: nostalgique; allergic to cats: allergique* aux \
    chats
people = \
    bald: chauve; single: célibataire; engaged: fiancé; unmarried: célibataire; sober: sobre; \
    + guilty: coupable; + innocent: innocent; + modest: modeste; + arrogant: arrogant; + \
    grateful: reconnaissant; + ungrateful: ingrat; + ashamed: honteux; + satisfied: satisfait; \
    + dissatisfied: mécontent; + wealthy: aisé; + sincere: sincère; + dishonest: malhonnête; + \
    corrupt: corrompu; + superstitious: superstitieux; + religious: croyant; + talented: \
    talentueux; + gifted: doué; + skilled: habile; + experienced: expérimenté; + \
    inexperienced: inexpérimenté; + qualified: qualifié; + competent: compétent; + \
    incompetent: incompétent; overworked: surmené; + pessimistic: pessimiste; + optimistic: \
    optimiste; + flattered: flatté; + moved: ému; + impressed: impressionné; sorry: désolé; \
    well dressed: bien habillé*; barefoot: !pieds nus; + short-sighted: myope; bilingual: \
    bilingue; + illiterate: analphabète; on strike: !en grève; on duty: !de service; in \
    prison: !en prison; in hospital: !à l'hôpital; in love: amoureux; + hypocritical: \
    hypocrite; + shameless: effronté; + impolite: impoli; + rude to everyone: impoli* avec \
    tout le monde; + strict: strict; + tolerant: tolérant; + stingy: avare; + lazy at work: \
    paresseux* au travail; + tanned: bronzé; + eloquent: éloquent; + diligent: assidu; + \
    studious: studieux; + disorganised: désorganisé; used to the noise: habitué* au bruit; \
    away on business: !en voyage d'affaires; + jobless: !sans emploi; + penniless: !sans le \
    sou; adopted: adopté
plant / dish = \
    blooming: fleuri; + bushy: touffu; uprooted: déraciné; full of thorns: plein* d'épines
rose lilac lily flower / plant care food drink = \
    + fragrant: parfumé
tree oak pine maple willow birch fir / plant part = \
    a hundred years old: centenaire; leafless: !sans feuillage
plant mushroom / fish food = \
    + poisonous: vénéneux
plant vegetable / place = \
    freshly planted: fraîchement planté*; dried up: desséché
flower tulip rose daisy / plant vegetable = \
    + wilted: fané
seed / plant food = \
    sown: semé
"""
