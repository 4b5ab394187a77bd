"""Transitive verbs of the anaphora text: what is done to animals, people, food and drink."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

DONE_TO_LIVING = """\
creature / animate plant place = \
    attack: attaquer; shelter: abriter; defend: défendre
creature / animate occasion = \
    disturb: déranger; startle: effrayer; distract: distraire
creature / animate = \
    revive: ranimer; irritate: irriter; nurse: soigner; surprise: surprendre; alarm: effrayer; \
    tire out: épuiser
beast bird small people / animate = \
    kidnap: enlever; hypnotise: hypnotiser; hypnotize: hypnotiser; soothe: apaiser; injure: \
    blesser; amuse: amuser; torment: tourmenter; console: consoler; anaesthetise: \
    anesthésier; anaesthetize: anesthésier; heal: guérir; starve: affamer
beast bird small people / animate picture toy jewel = \
    kiss: embrasser
beast bird small people / animate reading place ride = \
    release: relâcher; bless: bénir; curse: maudire
beast bird small people -bug / animate food drink plant waters = \
    poison: empoisonner
beast bird small people / animate plant idea part textile toy ride = \
    raise: élever
beast people / animate toy = \
    dress up: déguiser; befriend: apprivoiser; bathe: baigner; pat: tapoter; massage: masser; \
    knock out: assommer; cheer up: égayer; pacify: calmer; corner: acculer; entertain: divertir; \
    discipline: discipliner; intimidate: intimider; exhaust: épuiser; spoil: gâter; obey: \
    écouter
beast people / animate machine food drink care = \
    infect: contaminer
beast people / animate reading topic building = \
    praise: féliciter
people dog puppy cat kitten horse pony donkey / animate object part ride stone = \
    kick: frapper
people dog puppy cat kitten horse pony parrot / animate = \
    forgive: excuser; mourn: pleurer; bother: déranger; summon: appeler; pet: caresser; \
    reprimand: réprimander; tell off: gronder
people / animate ride container = \
    kick out: expulser; fire: renvoyer; meet: rencontrer; accompany: accompagner; assist: \
    assister; murder: assassiner; slap: gifler; punch: frapper; handcuff: menotter; sue: \
    poursuivre; appoint: nommer; educate: éduquer; envy: envier; fool: duper; trick: duper; \
    cheat: escroquer; bore: ennuyer; impress: impressionner; disappoint: décevoir; shock: \
    choquer; embarrass: gêner; offend: offenser; motivate: motiver; notify: avertir; alert: \
    alerter; compliment: complimenter; hospitalise: hospitaliser; hospitalize: hospitaliser; \
    baptise: baptiser; baptize: baptiser; banish: bannir; exile: exiler; expel: expulser; \
    evict: expulser; detain: détenir; acquit: acquitter; defeat: vaincre; coach: entraîner; \
    harass: harceler; bully: harceler; nominate: désigner; host: héberger; undress: \
    déshabiller; ask out: inviter; idolise: idolâtrer; idolize: idolâtrer
people / animate reading topic place = \
    introduce: présenter; ridicule: ridiculiser; inspire: inspirer; condemn: condamner; \
    challenge: défier; confront: affronter; denounce: dénoncer; respect: respecter; teach: \
    instruire; mock: railler; pay: payer; let down: décevoir
people bank shop pharmacy / animate place = \
    rob: dévaliser
boy girl / people animal toy = \
    babysit: garder; tuck in: border; dress: habiller
king queen prince princess emperor / people = \
    crown: couronner; dethrone: détrôner
horse pony mare donkey mule camel elephant / animal ride toy = \
    ride: monter; mount: monter; unsaddle: desseller
horse pony mare donkey mule ox dog cow goat camel monkey / animate ride clothing textile \
    container tool = \
    untie: détacher; tether: attacher; unleash: lâcher
dog cat puppy kitten horse pony rabbit lamb llama / animate textile clothing handy = \
    brush: brosser; comb: peigner
dog cat puppy kitten bull pig rabbit / animal = \
    neuter: castrer; deworm: vermifuger; let out: sortir
cow sheep goat pig horse bull ox ewe calf lamb / animal container furniture = \
    brand: marquer; herd: rassembler
rabbit deer fox beaver bear sheep hare / animal produce = \
    skin: dépouiller
chicken hen goose duck turkey pheasant partridge / animal plant instrument = \
    pluck: plumer
fish -whale -dolphin -octopus -jellyfish -shark -oyster -mussel -crab -lobster / animal \
    container = \
    gut: vider; reel in: ramener
fish -whale -dolphin -octopus -jellyfish -shark -oyster -mussel -crab -lobster egg potato \
    sausage onion mushroom bacon pancake aubergine / animal food = \
    fry: poêler
fly mosquito wasp cockroach hornet flea bee spider / animal = \
    swat: écraser
bug / animal food = \
    squash: écraser
rat mouse cockroach ant termite wasp mosquito flea mole / animate plant = \
    exterminate: exterminer
wolf deer bear rabbit fox lion hare pheasant tiger duck elephant / animate = \
    hunt down: traquer; stalk: traquer; track: pister; tranquillise: endormir; tranquillize: \
    endormir
bird hamster lion tiger monkey squirrel bear / animal people = \
    cage: encager
dish vegetable meat egg potato rice / food drink = \
    overcook: brûler
egg potato carrot rice noodle cabbage bean lobster crab artichoke / food drink water care = \
    boil: bouillir
egg pear / food animal = \
    poach: pocher
meat steak sausage bread pizza pancake egg cake pie biscuit omelette / food fish cloth text wood \
    building stone plant = \
    burn: brûler
cake pie biscuit pudding dessert doughnut muffin / food picture wood place cloth = \
    decorate: décorer
cake bread pizza pie omelette melon cheese ham sausage / food wood text plant stone cloth stone \
    = \
    divide up: partager; cut up: découper; cut: couper
bread butter jam honey chocolate cheese cake pie / food text idea occasion ride = \
    share: partager
bread waffle pancake muffin croissant loaf / food drink = \
    toast: griller
bread loaf / food people = \
    knead: pétrir
egg cream mayonnaise sauce / food animate instrument carpet = \
    beat: battre; whisk: fouetter
salad soup sauce stew pudding cocktail juice smoothie / food drink care = \
    mix: mélanger; blend: mixer; prepare: préparer
soup sauce stew curry omelette / food drink = \
    spice: épicer; thicken: épaissir; water down: diluer
apple pear peach cherry plum pineapple pumpkin melon / produce = \
    core: évider; pit: dénoyauter
walnut hazelnut almond egg coconut peanut oyster / food animal container = \
    crack: casser; crack open: ouvrir; shell: écaler
banana orange egg potato tomato mango grapefruit garlic / produce = \
    peel: éplucher
fruit vegetable meat bread cheese ham sausage / food wood = \
    dice: couper
ham sausage pizza cake pie sandwich steak pancake chocolate hamburger / drink food animal = \
    gobble: engloutir; wolf down: dévorer; scoff: engloutir; polish off: finir; munch: croquer
ham meat bacon salmon trout cheese / food fish = \
    cure: fumer
food drink / animate care fish water = \
    digest: digérer; spit out: recracher; vomit up: vomir
meal dinner lunch breakfast dessert banquet feast / food drink occasion = \
    skip: sauter; cook up: préparer; dish up: servir
tea coffee wine juice soup milk beer water / drink food = \
    slurp: aspirer; down: vider; brew: infuser; strain: filtrer; decant: décanter; guzzle: \
    engloutir; heat: chauffer; chill: rafraîchir; gulp: engloutir; drain off: vider
tea coffee beer cider broth / drink food = \
    brew: préparer
wine beer cider whisky vodka gin champagne juice / drink food care = \
    distil: distiller; ferment: fermenter; age: vieillir
pill medicine syrup aspirin antibiotic drug remedy / care food drink = \
    dissolve: dissoudre; administer: administrer
medicine vaccine antibiotic pill drug remedy / care food drink idea text machine object = \
    test: tester; patent: breveter
perfume shampoo soap lipstick ointment powder / care food drink = \
    rub in: étaler; dab on: appliquer; rinse off: rincer; wipe off: essuyer
cigarette cigar pipe candle lamp torch / care decor machine = \
    stub out: écraser; extinguish: éteindre; light up: allumer
apple tomato potato strawberry carrot cucumber plum grape olive / produce plant idea reading \
    occasion = \
    sort: trier
strawberry cherry tomato apple cucumber olive cabbage lemon onion / food animal care = \
    preserve: conserver; pickle: mariner
bread cake biscuit cheese / food stone = \
    crumble: émietter
"""
