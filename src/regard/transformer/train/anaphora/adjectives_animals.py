"""Adjectives of animals by their kind and of plants in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_ANIMALS = """\
cow mare ewe lioness sow doe goat dog cat rabbit mouse rat sheep elephant zebra giraffe camel \
    llama kangaroo tiger panda hamster / animal woman = \
    pregnant: !en gestation; heavily pregnant: !en fin de gestation
dog puppy / animal people = \
    on a lead: !en laisse; muzzled: muselé; trained to hunt: dressé* pour la chasse
horse pony mare donkey mule camel / animal = \
    saddled: sellé; harnessed: attelé; used to riders: habitué* aux cavaliers; shod: ferré; + \
    hard to ride: difficile* à monter
cow goat ewe sheep camel / animal = \
    milked: trait
sheep lamb ewe ram dog llama / animal plant land = \
    shorn: tondu
beast small bird / animate = \
    + domesticated: domestiqué; purebred: !de pure race; born in captivity: né* en captivité; \
    tamed: dompté; + well groomed: bien toiletté*; cold and hungry: affamé* et transi*; \
    camouflaged: camouflé; + hunted for food: chassé* pour la viande; raised on a farm: élevé* \
    à la ferme; fed by hand: nourri* à la main; ready to pounce: prêt* à bondir; about to give \
    birth: sur le point de mettre bas; separated from the herd: séparé* du troupeau; protected \
    by law: protégé* par la loi; extinct in the wild: disparu* à l'état sauvage; + used to \
    captivity: habitué* à la captivité; + easy to tame: facile* à apprivoiser
beast bird small fish / animate = \
    newborn: nouveau-né; fully grown: adulte; born yesterday: né* hier; born in the spring: \
    né* au printemps; wounded in the leg: blessé* à la patte; caged: !en cage; omnivorous: \
    omnivore; + fierce: féroce; + savage: sauvage; + dangerous to humans: dangereux* pour \
    l'homme; + hard to approach: difficile* à approcher
beast mouse rat squirrel hamster ferret / animal people plant = \
    castrated: castré; + shaggy: hirsute; short-haired: !à poil court; rabid: enragé; \
    tailless: !sans queue; four-legged: !à quatre pattes; + flea-ridden: plein* de puces; \
    infested with fleas: infesté* de puces
bird bat butterfly bee fly / animal aircraft = \
    winged: ailé; ready to fly away: prêt* à s'envoler; unable to fly: incapable* de voler
bird / animal people = \
    feathered: couvert* de plumes; migratory: migrateur; about to lay an egg: sur le point de \
    pondre; out of the nest: sorti* du nid; plucked: plumé; + colourful and noisy: coloré* et \
    bruyant*
cow bull goat ram deer buffalo ox / animal = \
    horned: cornu
dog cat cow giraffe jaguar panther horse frog ladybird trout / animal cloth = \
    spotted: tacheté; speckled: tacheté
dog sheep lamb ewe ram / animal people plant = \
    curly: frisé
snake cobra lizard crocodile alligator trout salmon carp / animal = \
    scaly: écailleux; cold-blooded: !à sang froid
snail slug frog toad fish worm jellyfish oyster octopus squid / animal food plant = \
    + slimy: gluant; + sticky to the touch: collant* au toucher
bug / animal = \
    too small to be seen: trop petit* pour être vu*; squashed: écrasé
wasp bee hornet scorpion mosquito fly flea tick / bug animal people = \
    + irritating: irritant; ready to sting: prêt* à piquer
fish / animal food boat = \
    out of water: !hors de l'eau; stranded on the sand: échoué* sur le sable; used to salt \
    water: habitué* à l'eau salée; able to breathe under water: capable* de respirer sous \
    l'eau
plant -moss -hay -bouquet -seed / produce = \
    pruned: taillé; trimmed: taillé; in bud: !en bourgeons; in full bloom: !en pleine \
    floraison; watered every day: arrosé* tous les jours; in need of water: !en manque d'eau; \
    infested with greenfly: infesté* de pucerons; + easy to grow: facile* à cultiver; + hard \
    to grow: difficile* à cultiver; + hardy: résistant* au gel; diseased: malade; perennial: \
    vivace; evergreen: !à feuillage persistant; planted last year: planté* l'an dernier; \
    potted: !en pot; in need of sunlight: !en manque de lumière; attacked by insects: attaqué* \
    par des insectes
tree oak pine maple willow birch fir / plant part stone building = \
    felled: abattu; cut down: abattu; laden with fruit: chargé* de fruits; bare in winter: \
    dénudé* en hiver; struck by lightning: frappé* par la foudre; hollow inside: creux* à \
    l'intérieur; centuries old: vieux* de plusieurs siècles; bent by the wind: courbé* par le \
    vent; blown down by the storm: renversé* par la tempête; + full of birds: plein* \
    d'oiseaux; decorated for Christmas: décoré* pour Noël; full of nests: plein* de nids
flower rose tulip daisy lily orchid carnation poppy sunflower bouquet / plant food = \
    freshly cut: fraîchement coupé*; artificial: artificiel; + sweet-smelling: parfumé; picked \
    this morning: cueilli* ce matin
wheat hay corn grass lentil / plant produce = \
    harvested: récolté; mown: fauché
bee fly wasp mosquito hornet dragonfly beetle / bug animal aircraft = \
    buzzing around: !en plein vol
"""
