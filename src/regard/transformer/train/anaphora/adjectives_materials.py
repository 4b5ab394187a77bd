"""Materials and contents as adjectives of the anaphora text: made of, full of, covered with."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_MATERIALS = """\
bucket bottle bag cup plate ruler comb toy chair tube toothbrush tablecloth spoon box tray flower \
    crate / object part ride cloth = \
    made of plastic: !en plastique; plastic: !en plastique
kite bag flower lamp tablecloth mask flag / object cloth text part = \
    made of paper: !en papier
box carton mask crate / container object text decor = \
    made of cardboard: !en carton
house wall bridge church tower castle statue staircase column fireplace fortress bench cottage / \
    building part place furniture = \
    made of stone: !en pierre; built to last: construit* pour durer
gate fence key shovel bucket box ladder bed chair tray tank whistle helmet pole barrel shield / \
    object part ride container = \
    made of metal: !en métal; made of aluminium: !en aluminium; + metallic: métallique
pan pot saucepan kettle coin wire trumpet tray roof / object part container = \
    made of copper: !en cuivre
statue bell medal bust cannon coin sculpture / object part = \
    made of bronze: !en bronze
bell trumpet doorbell horn trombone compass / object part = \
    made of brass: !en laiton
wall bridge dam pillar floor garage skyscraper building pier -hut -cottage -pyramid -windmill \
    -greenhouse -barn -castle / part road = \
    made of concrete: !en béton; reinforced with steel: renforcé* avec de l'acier
pot jug vase bowl brick tile jar pipe / container part stone = \
    made of clay: !en argile; fired in a kiln: cuit* au four
plate cup vase teapot saucer bowl doll / container toy decor = \
    made of porcelain: !en porcelaine; hand-painted: peint* à la main
ball boot glove hose eraser mat raft / object toy ride = \
    made of rubber: !en caoutchouc
coat hat glove boot cap mitten hood / cloth animal = \
    made of fur: !en fourrure; fur-lined: doublé* de fourrure; lined with fur: doublé* de \
    fourrure
jacket skirt shirt bag / cloth = \
    made of denim: !en jean
rope tent parachute net jacket backpack / cloth tool = \
    made of nylon: !en nylon
basket chair cradle armchair / container seat = \
    made of wicker: !en osier; woven by hand: tissé* à la main
hut fence flute raft chair mat / object part = \
    made of bamboo: !en bambou
hat basket mat hut mattress broom / object cloth building = \
    made of straw: !en paille
vase glass bowl jug ornament / container decor jewel = \
    made of crystal: !en cristal
piano comb flute chessboard domino / object = \
    made of ivory: !en ivoire
table desk wardrobe piano chest bookcase / object seat furniture = \
    made of mahogany: !en acajou; made of walnut wood: !en noyer
sculpture candle / food = \
    made of wax: !en cire
box suitcase bookcase backpack library shelf bag crate attic / container furniture place = \
    full of books: plein* de livres
suitcase wardrobe drawer chest bag basket backpack / container furniture = \
    full of clothes: plein* de vêtements
box garage shed drawer workshop crate van chest / container place = \
    full of tools: plein* d'outils
wallet suitcase purse envelope briefcase chest bank / container place people = \
    full of money: plein* d'argent; full of coins: plein* de pièces
basket crate bowl box tree orchard / container plant place = \
    full of fruit: plein* de fruits
bucket box truck crate barrel wheelbarrow shoe / container ride = \
    full of sand: plein* de sable; full of earth: plein* de terre
room kitchen bar pub tunnel corridor cellar / place part ride = \
    full of smoke: plein* de fumée; + smoky: enfumé
bowl pot saucepan plate / container = \
    full of soup: plein* de soupe
cup thermos mug pot / container = \
    full of coffee: plein* de café; full of hot chocolate: plein* de chocolat chaud
bottle jug glass bucket tank bowl / container = \
    full of milk: plein* de lait
dustbin bag truck bucket ditch beach pond alley / container place ride = \
    full of rubbish: plein* d'ordures
beach museum hotel bus train park castle palace cathedral street village restaurant ferry / place \
    ride = \
    full of people: plein* de monde; full of tourists: plein* de touristes
train bus plane ferry tram subway ship / place ride = \
    full of passengers: plein* de passagers
school classroom university library canteen bus / place ride = \
    full of students: plein* d'étudiants; full of children: plein* d'enfants
hospital clinic / place = \
    full of patients: plein* de malades; short of nurses: !à court de personnel
river lake sea pond ocean net aquarium stream / waters container boat = \
    full of fish: plein* de poissons; rich in fish: poissonneux
zoo farm forest jungle barn / place = \
    full of animals: plein* d'animaux
garden lawn field park courtyard vineyard / place plant = \
    full of weeds: plein* de mauvaises herbes
book album magazine encyclopedia guidebook textbook / text document = \
    full of pictures: plein* d'images; full of drawings: plein* de dessins
letter speech newspaper article book story report biography / reading idea people = \
    full of lies: plein* de mensonges; full of surprises: plein* de surprises; full of \
    nonsense: plein* d'absurdités
furniture bookcase attic book mirror carpet piano picture shelf cellar bottle window television / \
    object place part ride cloth = \
    covered with dust: couvert* de poussière; + dusty: poussiéreux
boot shoe car truck tractor tricycle bicycle dog pig carpet road floor / object place animate ride \
    cloth part = \
    covered in mud: couvert* de boue
road pond lake car roof bridge sidewalk path lane / place part ride waters = \
    covered with ice: couvert* de glace; covered with frost: couvert* de givre
wall house tower castle cottage fence statue ruin gate / building part place plant = \
    covered with ivy: couvert* de lierre
table tablecloth floor bed sofa carpet plate / furniture cloth part container = \
    covered with crumbs: couvert* de miettes
suitcase guitar laptop fridge car backpack helmet box / object ride = \
    covered with stickers: couvert* d'autocollants
attic cellar ceiling barn lamp wardrobe shed basement window / place part object = \
    covered with cobwebs: couvert* de toiles d'araignée; full of spiders: plein* d'araignées
apron floor brush shirt painter wall bucket / cloth part handy people = \
    covered with paint: couvert* de peinture
bicycle chain gate car nail key anchor fence ship sword / handy part ride machine container = \
    covered with rust: couvert* de rouille
pond lake rock boat pier ship aquarium / waters stone part ride = \
    covered with algae: couvert* d'algues
hill valley mountain island region / land place = \
    covered with forests: couvert* de forêts; covered with vineyards: couvert* de vignes; \
    covered with heather: couvert* de bruyère
crown ring sword throne necklace / jewel object = \
    studded with diamonds: serti* de diamants; encrusted with jewels: incrusté* de pierres \
    précieuses
"""
