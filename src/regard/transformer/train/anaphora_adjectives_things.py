"""Adjectives of food and objects in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
OF_THINGS = """\
food / drink fish bird beast care = \
    + yummy: délicieux; + disgusting: dégoûtant; + inedible: immangeable; + tasty and cheap: \
    bon* et bon marché; + succulent: succulent; + flavourful: savoureux; + scrumptious: \
    exquis; + bland: insipide; + well seasoned: bien assaisonné*
food / fish bird beast plant = \
    edible: comestible; cut into slices: coupé* en tranches; + easy to digest: facile* à \
    digérer; + hard to digest: difficile* à digérer
lemon grapefruit cherry apple plum lemonade juice yoghurt / food drink people = \
    + sour: acide
carrot apple biscuit lettuce cucumber almond / food = \
    + crunchy: croquant
bread bacon croissant biscuit waffle / food = \
    + crispy: croustillant
meat steak beef pork chop carrot / food fish animal people = \
    + tender: tendre; grilled: grillé; + tough: coriace; well done: bien cuit*
soup sauce cheese yoghurt pudding cream / food drink care = \
    + creamy: onctueux
potato egg fish chicken onion mushroom / food fish bird = \
    fried: frit; boiled: bouilli
meat chicken beef pork turkey peanut / food bird fish beast = \
    roasted: rôti
salmon ham bacon trout / food fish = \
    smoked: fumé
potato carrot onion orange banana apple / food = \
    peeled: épluché
salad soup meat sauce / food = \
    seasoned: assaisonné
meat rice egg cake steak pizza / food fish bird = \
    undercooked: pas assez cuit*; overcooked: trop cuit*
dish -salt -vinegar -oil / food drink = \
    + nutritious: nutritif; + fattening: calorique
fruit vegetable milk egg honey / food drink = \
    organic: biologique
milk yoghurt meat ham egg cheese cream / food drink care document = \
    expired: périmé
meat fish milk egg / food drink fish = \
    spoiled: avarié; gone bad: avarié
vegetable pizza meat / food waters = \
    deep-frozen: surgelé
meal breakfast lunch dinner feast / dish = \
    + copious: copieux; served: servi; ready to be served: prêt* à être servi*
bread cake doughnut biscuit / food = \
    baked this morning: cuit* ce matin
cake biscuit pudding doughnut jam dessert drink -water -beer -wine / food drink care = \
    + sugary: sucré
drink / food = \
    + refreshing: rafraîchissant; + undrinkable: imbuvable; + diluted: dilué; served with ice: \
    servi* avec des glaçons
soda lemonade champagne cider / drink water waters = \
    + fizzy: gazeux
water / drink waters = \
    drinkable: potable
cocoa tea coffee soup broth / drink food water waters = \
    steaming: fumant; boiling hot: brûlant; piping hot: brûlant
coffee tea chocolate / drink food work = \
    instant: instantané
wine beer cheese / drink food object = \
    locally made: fait* sur place
care / food drink idea = \
    + effective: efficace; + harmful: nocif; prescribed by the doctor: prescrit* par le \
    médecin
poison drug powder detergent / care food plant drink waters animal = \
    + toxic: toxique
soap perfume shampoo candle / care food plant = \
    + scented: parfumé
medicine pill ointment remedy syrup / care food drink people = \
    + soothing: apaisant; sold without a prescription: vendu* sans ordonnance
cigarette cigar / care wood = \
    lit: allumé
stone / wood part jewel = \
    + jagged: dentelé; chipped off: ébréché
jewel / object textile = \
    + priceless: inestimable; + valuable: !de valeur; + glittering: scintillant; set with \
    rubies: serti* de rubis
diamond pearl ruby sapphire medal coin / object reading food = \
    genuine: authentique; flawless: !sans défaut
ring necklace bracelet earring / jewel object = \
    gold-plated: plaqué* or
container -cage -locker / object ride = \
    airtight: hermétique; + leaky: percé; filled with sand: rempli* de sable; unbreakable: \
    incassable
plate cup bowl glass saucer teapot mug / container part stone jewel = \
    chipped: ébréché
saucepan bucket kettle car tank truck / container ride machine = \
    + dented: cabossé
parcel box packet gift / object food = \
    wrapped: emballé; tied with a ribbon: attaché* avec un ruban
wallet pocket purse / container place = \
    stuffed with money: bourré* d'argent
box bag basket drawer bucket suitcase / container place ride = \
    filled: rempli; packed to bursting: plein* à craquer
seat / ride cloth place = \
    + cosy: douillet
furniture seat -mattress -hammock / tool part container toy = \
    wooden: !en bois; dismantled: démonté; + rickety: branlant; carved: sculpté; adjustable: \
    réglable; made of pine: !en pin
bed / seat place = \
    unmade: défait
bed sofa bench armchair chair / seat place ride = \
    occupied: occupé
clothing -helmet -wig / textile = \
    + baggy: ample; + loose: ample; unbuttoned: déboutonné; bought in Paris: acheté* à Paris; \
    machine-washable: lavable* en machine
cloth -helmet -wig -parachute / text people = \
    + wrinkled: froissé; + faded: délavé; embroidered: brodé; patched: rapiécé; moth-eaten: \
    mité; knitted by hand: tricoté* à la main; made of linen: !en lin; made of velvet: !en \
    velours
coat raincoat boot jacket shoe / cloth container machine = \
    waterproof: imperméable
shirt dress blouse skirt / cloth = \
    + see-through: transparent; sleeveless: !sans manches; checked: !à carreaux
sock glove sweater mitten scarf / cloth = \
    + woolly: !en laine; full of holes: plein* de trous
sweater shirt sock / cloth = \
    shrunk: rétréci; inside out: !à l'envers
dress suit tie uniform jacket / cloth = \
    + smart: chic; tailor-made: !sur mesure; + old-fashioned: démodé
shoe boot / clothing = \
    laced: lacé; freshly polished: fraîchement ciré*
carpet quilt pillow blanket towel / cloth animal food seat = \
    + fluffy: moelleux
shovel rake spade hose pickaxe sickle axe wheelbarrow / handy object machine = \
    + useful for the garden: utile* pour le jardin
nail screw key wire needle fork / handy part ride = \
    bent: tordu; twisted: tordu
pistol rifle cannon / tool truck machine = \
    loaded: chargé; unloaded: déchargé
pistol rifle bomb poison sword / handy animal place people machine = \
    + deadly: mortel
rope chain string wire / tool road part = \
    knotted: noué; tangled: emmêlé
pencil knife / handy = \
    freshly sharpened: fraîchement taillé*
stick cane ruler broom / handy stone = \
    snapped in two: cassé* en deux
instrument -drum / machine = \
    well tuned: bien accordé*; badly tuned: mal accordé*
instrument / work people = \
    + melodious: mélodieux
text / reading = \
    + readable: lisible; printed: imprimé; + badly written: mal écrit*; + poorly translated: \
    mal traduit*; + detailed: détaillé; + informative: instructif; translated into ten \
    languages: traduit* en dix langues; + full of mistakes: plein* de fautes; + easy to read: \
    facile* à lire; + hard to understand: difficile* à comprendre; torn in half: déchiré* en \
    deux
letter contract note report message file petition / reading = \
    signed: signé; typed: tapé* à la machine; confidential: confidentiel; + legible: lisible; \
    stamped: tamponné
letter message note / reading people = \
    anonymous: anonyme; unread: non lu*
novel story film book series tale movie / reading occasion people = \
    + thrilling: palpitant; + moving: émouvant; + captivating: captivant; + fascinating: \
    fascinant; + gripping: captivant; + heart-warming: réconfortant; based on a true story: \
    inspiré* d'une histoire vraie
article report newspaper review / reading people machine = \
    + misleading: trompeur; + inaccurate: inexact; + biased: partial
map dictionary translation calculator clock report thermometer / reading handy machine = \
    + accurate: précis; + outdated: dépassé
document / text people = \
    valid: valable; forged: falsifié; + official: officiel
ticket passport visa licence / document text occasion = \
    expired last week: périmé* depuis une semaine; issued in Paris: délivré* à Paris
envelope parcel bottle letter / document text container = \
    unopened: fermé
page notebook cheque / text document = \
    blank: vierge
photo film / reading machine = \
    + blurred: flou; + blurry: flou; out of focus: flou
painting sculpture drawing picture / reading people idea = \
    + abstract: abstrait; stored in a museum: conservé* dans un musée; painted by hand: peint* \
    à la main
portrait painting drawing photo / picture reading = \
    + lifelike: ressemblant
machine -clock -bulb / device = \
    + defective: défectueux; plugged in: branché; turned on: allumé; turned off: éteint; + \
    obsolete: obsolète; overheated: !en surchauffe; + energy-saving: économe
telephone tablet computer laptop smartphone camera / device toy = \
    recharged: rechargé; charged: chargé; connected to the internet: connecté* à Internet; \
    infected with a virus: infecté* par un virus; locked with a password: protégé* par un mot \
    de passe; waiting to be updated: !en attente de mise à jour
printer mouse microphone / device = \
    wireless: !sans fil; jammed: bloqué
fridge dishwasher freezer fan elevator / device animate place = \
    + silent: silencieux
lamp bulb candle / device = \
    + dim: faible; + dazzling: éblouissant
radio television alarm siren loudspeaker trumpet drum / device instrument animate place work = \
    + deafening: assourdissant
clock / machine animate = \
    five minutes slow: !en retard de cinq minutes; five minutes fast: !en avance de cinq \
    minutes
ball balloon mattress / toy ride = \
    deflated: dégonflé; + bouncy: rebondissant
toy game puzzle / work text = \
    + educational: éducatif; + entertaining: divertissant
mirror window glass / decor container part = \
    cloudy: embué; shattered: !en mille morceaux
gift souvenir / object = \
    + unexpected: inattendu; wrapped in paper: emballé* dans du papier
"""
