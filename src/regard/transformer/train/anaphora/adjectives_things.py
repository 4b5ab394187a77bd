"""Adjectives of food and objects in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_THINGS = """\
food / drink fish bird beast care = \
    + disgusting: dégoûtant
food seafood chicken turkey / drink fish bird beast care = \
    + yummy: délicieux; + inedible: immangeable; + tasty and cheap: bon* et bon marché; + \
    succulent: succulent; + flavourful: savoureux; + scrumptious: exquis; + bland: insipide; + \
    well seasoned: bien assaisonné*
food seafood chicken flower mushroom / fish bird beast plant = \
    edible: comestible; + easy to digest: facile* à digérer; + hard to digest: difficile* à \
    digérer
lemon grapefruit cherry apple plum lemonade juice yoghurt / food drink people = \
    + sour: acide
carrot apple biscuit lettuce cucumber almond popcorn walnut hazelnut peanut cabbage bean salad / \
    food = \
    + crunchy: croquant
bread bacon croissant biscuit waffle pizza chicken pancake popcorn pie cod / food = \
    + crispy: croustillant
meat steak beef pork chop carrot lamb chicken turkey ham bacon sausage / food fish animal people = \
    + tender: tendre; grilled: grillé; + tough: coriace; well done: bien cuit*
soup sauce cheese yoghurt pudding cream butter mayonnaise avocado dessert mushroom curry ointment \
    soap / food drink care = \
    + creamy: onctueux
potato egg cod chicken onion mushroom rice noodle sausage steak bacon shrimp squid aubergine \
    courgette / food bird = \
    fried: frit; boiled: bouilli
meat chicken beef pork turkey peanut potato lamb almond hazelnut goose duck coffee pumpkin walnut \
    / food bird fish beast = \
    roasted: rôti
salmon ham bacon trout sausage tuna cod oyster cheese / food fish = \
    smoked: fumé
potato carrot onion orange banana apple cucumber pear peach mango garlic egg kiwi shrimp tomato \
    turnip / food = \
    peeled: épluché
salad soup meat sauce steak chicken rice stew vegetable omelette cod / food = \
    seasoned: assaisonné
meat rice egg cake steak pizza bread pork beef sausage noodle bean lentil hamburger potato chicken \
    / food fish bird = \
    undercooked: pas assez cuit*; overcooked: trop cuit*
dish -salt -vinegar -oil produce milk smoothie juice / food drink = \
    + nutritious: nutritif; + fattening: calorique
fruit vegetable milk egg honey meat bread wine tea coffee flour soap rice butter juice yoghurt / \
    food drink = \
    organic: biologique
milk yoghurt meat ham egg cheese cream bread juice medicine pill aspirin syrup butter antibiotic \
    passport visa licence / food drink care document = \
    expired: périmé
meat milk egg seafood cheese cream sausage ham yoghurt soup chicken / food drink = \
    spoiled: avarié; gone bad: avarié
vegetable pizza meat bread chicken dessert raspberry meal seafood / food waters = \
    deep-frozen: surgelé
meal breakfast lunch dinner feast dessert / dish = \
    + copious: copieux; served: servi; ready to be served: prêt* à être servi*
bread cake doughnut biscuit croissant pie loaf muffin pizza / food = \
    baked this morning: cuit* ce matin
cake biscuit pudding doughnut jam dessert drink -water -beer -wine honey chocolate muffin pie \
    syrup breakfast / food care = \
    + sugary: sucré
drink / food = \
    + refreshing: rafraîchissant; + undrinkable: imbuvable; + diluted: dilué; served with ice: \
    servi* avec des glaçons
soda lemonade champagne cider / drink water waters = \
    + fizzy: gazeux
water / drink waters = \
    drinkable: potable
cocoa tea coffee soup broth meal stew rice milk potato / drink food water waters = \
    steaming: fumant; boiling hot: brûlant; piping hot: brûlant
coffee tea chocolate noodle / drink food work idea = \
    instant: instantané
wine beer cheese butter honey jam sausage bread cider soap carpet / drink food object = \
    locally made: fait* sur place
care / food drink idea = \
    + effective: efficace; + harmful: nocif; prescribed by the doctor: prescrit* par le \
    médecin
poison drug powder detergent mushroom ink glue jellyfish frog lake river swamp / care food plant \
    drink waters animal = \
    + toxic: toxique
soap perfume shampoo candle rose lily lilac flower / care food plant = \
    + scented: parfumé
medicine pill ointment remedy syrup tea melody song honey / care food drink people = \
    + soothing: apaisant; sold without a prescription: vendu* sans ordonnance
cigarette cigar lamp bulb lighter torch oven pipe fireplace flashlight / care wood machine = \
    lit: allumé
stone cliff blade glass mountain / wood part jewel = \
    + jagged: dentelé; chipped off: ébréché
jewel painting sculpture portrait vase icon violin / object textile picture = \
    + priceless: inestimable; + valuable: !de valeur; + glittering: scintillant; set with \
    rubies: serti* de rubis
diamond pearl ruby sapphire medal coin passport painting portrait necklace ring letter / object \
    reading food = \
    genuine: authentique; flawless: !sans défaut
ring necklace bracelet earring / jewel object = \
    gold-plated: plaqué* or
container -cage -locker / object ride = \
    airtight: hermétique; + leaky: percé; filled with sand: rempli* de sable; unbreakable: \
    incassable
plate cup bowl glass saucer teapot mug vase jug pot bathtub marble tile brick / container part \
    stone jewel = \
    chipped: ébréché
saucepan bucket kettle car tank truck van bus taxi pot pan helmet tray jeep limousine trumpet \
    motorcycle ambulance trailer / container ride machine = \
    + dented: cabossé
parcel box packet gift bouquet book / object food cloth = \
    wrapped: emballé; tied with a ribbon: attaché* avec un ruban
wallet pocket purse suitcase bag briefcase envelope chest handbag mattress / container place = \
    stuffed with money: bourré* d'argent
box bag basket drawer bucket suitcase crate jar barrel tank cup glass bottle jug wheelbarrow pot \
    bathtub / container place ride = \
    filled: rempli; packed to bursting: plein* à craquer
seat bedroom cottage cafe inn hut slipper blanket quilt sweater apartment pub / ride cloth place = \
    + cosy: douillet
furniture seat -mattress -hammock staircase fence gate door floor spoon bridge ladder crate barrel \
    hut boat puppet raft rake oar cart barn / tool part container toy = \
    wooden: !en bois; + rickety: branlant; carved: sculpté; made of pine: !en pin
bed / seat place = \
    unmade: défait
bed sofa bench armchair chair seat bathroom table apartment office bedroom stool / place ride = \
    occupied: occupé
clothing -helmet -wig / textile = \
    + baggy: ample; + loose: ample; unbuttoned: déboutonné; bought in Paris: acheté* à Paris; \
    machine-washable: lavable* en machine
cloth -helmet -wig -parachute grape / text people = \
    + wrinkled: froissé; + faded: délavé; embroidered: brodé; patched: rapiécé; moth-eaten: \
    mité; knitted by hand: tricoté* à la main; made of linen: !en lin; made of velvet: !en \
    velours
coat raincoat boot jacket shoe tent hat wristwatch bag backpack cap anorak overcoat tablecloth \
    camera umbrella / cloth container machine = \
    waterproof: imperméable
shirt dress blouse skirt / cloth = \
    sleeveless: !sans manches; checked: !à carreaux
sock glove sweater mitten scarf cap hat cardigan blanket lamb sheep / cloth = \
    + woolly: !en laine; full of holes: plein* de trous
sweater shirt sock cardigan skirt dress cap glove blanket / cloth = \
    shrunk: rétréci; inside out: !à l'envers
dress suit tie uniform jacket coat shirt blouse hat skirt / cloth = \
    + smart: chic; tailor-made: !sur mesure; + old-fashioned: démodé
shoe boot / clothing = \
    laced: lacé; freshly polished: fraîchement ciré*
carpet quilt pillow blanket towel cushion slipper kitten puppy chick rabbit teddy lamb duck / \
    cloth animal food seat toy = \
    + fluffy: moelleux
shovel rake spade hose pickaxe sickle axe wheelbarrow / handy object machine = \
    + useful for the garden: utile* pour le jardin
nail screw key wire needle fork spoon hook arrow pole bicycle spade rake branch lamp column / \
    handy part ride = \
    bent: tordu; twisted: tordu
pistol rifle cannon truck wagon / tool machine = \
    loaded: chargé; unloaded: déchargé
pistol rifle bomb poison sword dagger axe cobra scorpion cannon arrow drug spear snake shark / \
    handy animal place people machine = \
    + deadly: mortel
rope chain string wire scarf handkerchief tie ribbon hose net / tool road part = \
    knotted: noué; tangled: emmêlé
pencil knife axe sword razor dagger sickle / handy = \
    freshly sharpened: fraîchement taillé*
stick cane ruler broom branch oar pole ski spear pencil crutch twig plank bone arrow / handy stone \
    = \
    snapped in two: cassé* en deux
instrument -drum / machine = \
    well tuned: bien accordé*; badly tuned: mal accordé*
instrument song melody symphony nightingale lark / work people = \
    + melodious: mélodieux
text / reading = \
    + readable: lisible; printed: imprimé; + badly written: mal écrit*; + poorly translated: \
    mal traduit*; + detailed: détaillé; + informative: instructif; translated into ten \
    languages: traduit* en dix langues; + full of mistakes: plein* de fautes; + easy to read: \
    facile* à lire; + hard to understand: difficile* à comprendre; torn in half: déchiré* en \
    deux
letter contract note report message file petition / reading = \
    typed: tapé* à la machine; confidential: confidentiel; + legible: lisible; stamped: \
    tamponné
letter message note email poem petition / reading people = \
    anonymous: anonyme; unread: non lu*
novel story film book series tale movie match race comic documentary journey tournament poem \
    opera biography legend speech / reading occasion people = \
    + thrilling: palpitant; + moving: émouvant; + captivating: captivant; + fascinating: \
    fascinant; + gripping: captivant; + heart-warming: réconfortant
article report newspaper review map poster leaflet letter translation summary diagram answer \
    explanation guidebook invoice / reading people machine = \
    + misleading: trompeur; + inaccurate: inexact; + biased: partial
map dictionary translation calculator clock report thermometer compass ruler wristwatch barometer \
    diagram encyclopedia timetable / reading handy machine = \
    + accurate: précis; + outdated: dépassé
document contract cheque prescription argument / text people = \
    valid: valable; forged: falsifié; + official: officiel
ticket passport visa licence contract prescription card / document text occasion = \
    expired last week: périmé* depuis une semaine; issued in Paris: délivré* à Paris
envelope parcel bottle letter jar box crate packet carton champagne gift / document text container \
    = \
    unopened: fermé
page notebook cheque card certificate questionnaire book sheet / text document = \
    blank: vierge
photo film portrait television picture / reading machine = \
    + blurred: flou; + blurry: flou; out of focus: flou
painting sculpture drawing picture poem theory / reading people idea = \
    + abstract: abstrait; stored in a museum: conservé* dans un musée; painted by hand: peint* \
    à la main
portrait painting drawing photo statue sculpture bust doll mask robot puppet / picture reading = \
    + lifelike: ressemblant
machine -clock -bulb / device = \
    turned off: éteint
machine -clock -bulb car lighter drill pump tap truck pistol / device = \
    + defective: défectueux; plugged in: branché; turned on: allumé; + obsolete: obsolète; \
    overheated: !en surchauffe; + energy-saving: économe
telephone tablet computer laptop smartphone camera / device toy = \
    connected to the internet: connecté* à Internet; infected with a virus: infecté* par un \
    virus; locked with a password: protégé* par un mot de passe; waiting to be updated: !en \
    attente de mise à jour
printer mouse microphone telephone loudspeaker doorbell alarm camera / device = \
    wireless: !sans fil; jammed: bloqué
fridge dishwasher freezer fan elevator owl submarine robot computer glider fish butterfly cat \
    panther mouse / device animate place = \
    + silent: silencieux
lamp bulb candle flashlight torch / device = \
    + dim: faible
radio television alarm siren loudspeaker trumpet drum concert machine factory drill chainsaw \
    waterfall helicopter rocket plane motorcycle cannon bell / device instrument animate place \
    work = \
    + deafening: assourdissant
clock / machine animate = \
    five minutes slow: !en retard de cinq minutes; five minutes fast: !en avance de cinq \
    minutes
ball balloon mattress / toy ride = \
    + bouncy: rebondissant
toy game puzzle documentary book zoo museum cartoon programme comic / work text = \
    + educational: éducatif; + entertaining: divertissant
mirror window glass water aquarium / decor container part = \
    cloudy: embué; shattered: !en mille morceaux
gift souvenir / object = \
    wrapped in paper: emballé* dans du papier
food / fish bird beast plant = \
    cut into slices: coupé* en tranches
furniture seat -mattress -hammock / tool part container toy = \
    dismantled: démonté; adjustable: réglable
shirt dress blouse skirt veil curtain bikini bag / cloth container = \
    + see-through: transparent
letter contract note report message file petition painting treaty cheque prescription licence \
    poster / reading = \
    signed: signé
novel story film book series tale movie / reading occasion people = \
    based on a true story: inspiré* d'une histoire vraie
telephone tablet computer laptop smartphone camera robot drill flashlight scooter toothbrush / \
    device toy handy = \
    recharged: rechargé; charged: chargé
lamp bulb candle diamond projector crown ruby flashlight torch / device jewel handy = \
    + dazzling: éblouissant
ball balloon mattress raft / toy ride = \
    deflated: dégonflé
gift souvenir letter question decision telegram answer guest / object idea people = \
    + unexpected: inattendu
"""
