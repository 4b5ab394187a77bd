"""Adjectives of food, drinks and remedies in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_FOOD = """\
food seafood chicken turkey / fish bird beast care drink = \
    + mouth-watering: alléchant; irresistible to children: irrésistible* pour les enfants; + \
    exquisite: exquis; + heavenly: divin; + indigestible: indigeste; + perishable: périssable; \
    + nauseating: écœurant; contaminated: contaminé; + savoury: savoureux; too salty for the \
    children: trop salé* pour les enfants; + low in fat: pauvre* en graisses; + rich in \
    vitamins: riche* en vitamines; + rich in protein: riche* en protéines; + full of vitamins: \
    plein* de vitamines; out of date: périmé; past the sell-by date: périmé; sold at the \
    market: vendu* au marché; + filling: nourrissant; cut into pieces: coupé* en morceaux; \
    covered with flies: couvert* de mouches; + well presented: bien présenté*; gluten-free: \
    !sans gluten; + wholesome: sain
meat ham bacon steak chop pork beef sausage chicken turkey / food animal people = \
    + lean: maigre; + fatty: gras; well grilled: bien grillé*; barbecued: grillé* au barbecue; \
    halal: !halal; stringy: filandreux
jam honey syrup glue wax cake doughnut pudding sugar rice table / food care object part = \
    + sticky: collant; + gooey: gluant
egg cheese jam sauce honey cream yoghurt / food care drink = \
    + runny: coulant
soup sauce coffee broth stew tea milk cocoa yoghurt / food drink = \
    + watery: aqueux; + thin and tasteless: clair* et fade*
sauce soup pudding cream omelette mayonnaise / food = \
    + lumpy: grumeleux; curdled: tourné
cake bread biscuit meat muffin chicken turkey rice loaf / food place plant cloth = \
    + dry inside: sec* à l'intérieur; + moist inside: moelleux* à l'intérieur
meat steak squid cheese bacon chicken / food care = \
    + rubbery: caoutchouteux; + chewy: caoutchouteux
biscuit bread pizza sandwich waffle cake / food = \
    + soggy: ramolli; + crumbly: friable; hard as stone: dur* comme de la pierre
croissant pie bread loaf waffle / food plant = \
    + flaky: feuilleté; freshly buttered: fraîchement beurré*; + golden brown: bien doré*
sauce soup steak stew curry salad / food = \
    + peppery: poivré; + garlicky: plein* d'ail
wine juice jam tea cider beer dessert / food drink care = \
    + fruity: fruité
chocolate cake pudding dessert syrup cocktail doughnut / food drink = \
    sickly sweet: trop sucré*; too sweet to finish: trop sucré* pour être fini*
fruit potato onion garlic shrimp egg / food = \
    + easy to peel: facile* à éplucher; + hard to peel: difficile* à éplucher
grape watermelon orange lemon grapefruit / food = \
    seedless: !sans pépins; full of seeds: plein* de pépins
olive cherry plum peach apricot / food = \
    stoned: dénoyauté
tuna sardine bean peach pineapple corn tomato carrot / food fish = \
    tinned: !en conserve
cheese carrot chocolate coconut potato / food = \
    grated: râpé
onion parsley garlic meat mushroom carrot tomato / food plant = \
    chopped: haché; finely chopped: finement haché*; minced: haché
potato carrot banana bean pumpkin / food = \
    mashed: !en purée
turkey tomato aubergine chicken courgette olive goose pancake / food bird toy = \
    stuffed: farci
cake doughnut pie pancake croissant chocolate waffle biscuit / food = \
    filled with cream: fourré* à la crème; filled with jam: fourré* à la confiture; covered \
    with chocolate: nappé* de chocolat; topped with strawberries: garni* de fraises; dusted \
    with sugar: saupoudré* de sucre; decorated with candles: décoré* de bougies
pizza omelette noodle potato soup salad / food = \
    covered with cheese: couvert* de fromage; sprinkled with parsley: parsemé* de persil
noodle rice chicken meatball potato bean tuna / food = \
    covered in sauce: nappé* de sauce; served with rice: servi* avec du riz; served cold: \
    servi* froid*
cod sardine chop chicken / food animal = \
    breaded: pané; steamed: cuit* à la vapeur
coffee tea yoghurt lemonade cocoa cream / food drink = \
    unsweetened: !sans sucre; sweetened: sucré
milk yoghurt cheese cream mayonnaise butter / food drink = \
    low-fat: allégé; skimmed: écrémé
butter bread soup peanut / food = \
    unsalted: !sans sel
apple pear banana peach tomato plum melon apricot / food people = \
    bruised by the fall: abîmé* par la chute; full of worms: plein* de vers; unripe: trop \
    vert*; not yet ripe: encore vert*; freshly picked: fraîchement cueilli*
produce / food plant = \
    in season: !de saison; out of season: !hors saison; grown in the garden: cultivé* au \
    jardin; hand-picked: cueilli* à la main; grown without pesticides: cultivé* sans \
    pesticides; imported from Spain: importé* d'Espagne; ready to be picked: prêt* à être \
    cueilli*; home-grown: !du jardin; sliced: tranché; diced: coupé* en dés
potato onion seed bean wheat lentil / food plant = \
    sprouting: germé
bread ham cheese sausage cucumber lemon loaf bacon / food = \
    sliced thinly: tranché* finement; cut into thin slices: coupé* en fines tranches
coffee tea wine beer whisky vodka gin cocktail mustard cheese / food drink animate idea care = \
    + strong-tasting: fort* en goût
wine whisky vodka beer gin champagne cocktail cider / drink food = \
    + intoxicating: enivrant; non-alcoholic: !sans alcool; aged in barrels: vieilli* en fût; \
    diluted with water: coupé* d'eau
coffee / drink food = \
    decaffeinated: décaféiné; freshly ground: fraîchement moulu*
tea coffee broth / drink food = \
    freshly brewed: fraîchement préparé*; + comforting: réconfortant
soda beer champagne lemonade cider / drink = \
    gone flat: éventé
milk cream / drink food = \
    pasteurised: pasteurisé; fresh from the cow: frais* du jour
juice lemonade smoothie / drink food = \
    freshly squeezed: fraîchement pressé*; made from concentrate: !à base de concentré
drink / food waters care = \
    + thirst-quenching: désaltérant; chilled: rafraîchi; stirred: remué; spilt on the floor: \
    renversé* par terre; ice-cold: glacé; + warming: réconfortant; mixed with milk: mélangé* \
    avec du lait
soup broth stew curry coffee cocoa tea milk / food drink waters = \
    too hot to touch: trop chaud* pour y toucher; simmering: !en train de mijoter; bubbling: \
    bouillonnant; seasoned with garlic: assaisonné* à l'ail; boiling: bouillant; kept warm: \
    gardé* au chaud
butter chocolate cheese wax cream candle / food decor = \
    melted: fondu; half melted: à moitié fondu*
cheese fish sock shoe dustbin dog egg skunk boot mattress / food animate clothing object place \
    waters = \
    + smelly: malodorant; + stinky: puant; + strong-smelling: malodorant
care / drink food dish = \
    bought at the chemist's: acheté* en pharmacie; recommended by dentists: recommandé* par \
    les dentistes; out of stock: !en rupture de stock; dissolved in water: dilué* dans l'eau
pill medicine syrup antibiotic vaccine aspirin ointment remedy drug / care food drink idea = \
    available on prescription: disponible* sur ordonnance; + good for headaches: bon* contre \
    les maux de tête; without side effects: !sans effets secondaires; tested on animals: \
    testé* sur les animaux; life-saving: vital; dangerous for children: dangereux* pour les \
    enfants; approved by the doctors: approuvé* par les médecins
soap shampoo detergent toothpaste / care food drink = \
    + soapy: savonneux; + gentle on the skin: doux* pour la peau; biodegradable: biodégradable
cigarette cigar tobacco / care drug = \
    half smoked: à moitié fumé*; rolled by hand: roulé* à la main; + bad for the lungs: \
    mauvais* pour les poumons
soup coffee tea cocoa broth stew oven pan kettle heater sauce fireplace desert sand meal / place \
    animate object food drink part waters ride = \
    + hot: chaud
water beer milk lemonade soup meal cellar bedroom lake sea pool river juice summit glacier / place \
    animate object food drink part waters = \
    + cold: froid
cushion pillow blanket towel carpet sofa quilt sweater scarf slipper kitten teddy / cloth food \
    animal seat animate object plant = \
    + soft: doux
rock diamond bench mattress brick walnut nail / object food idea seat occasion part stone = \
    + hard: dur
soup sauce cream wall carpet blanket book coat rope novel quilt / object part food text cloth \
    plant land = \
    + thick: épais
dish vegetable seafood chicken turkey -salt -sugar -vinegar -oil -mustard -ketchup -mayonnaise \
    -honey -jam -flour / fish bird beast care drink fruit = \
    reheated: réchauffé; + badly cooked: mal cuit*; + well cooked: bien cuit*; half cooked: à \
    moitié cuit*; still frozen: encore congelé*; thawed: décongelé; cooked to perfection: \
    cuit* à la perfection; + hard to chew: difficile* à mâcher; ready to serve: prêt* à \
    servir; crawling with ants: grouillant* de fourmis
drug cigarette cigar tobacco game chocolate coffee popcorn / care food drink work idea = \
    + addictive: addictif
"""
