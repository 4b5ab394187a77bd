"""Food, drinks, substances of the anaphora text: nouns by class."""

# class: 'english french gender' items; _ is a space; ~ marks a noun without a plural.
from __future__ import annotations

FOOD = {
    "fruit": """\
        apple pomme f, pear poire f, banana banane f, lemon citron m, cherry cerise f,
        strawberry fraise f, peach pêche f, melon melon m, pineapple ananas m, plum prune f,
        apricot abricot m, fig figue f, raspberry framboise f, mango mangue f, tomato tomate f,
        grapefruit pamplemousse m, avocado avocat m, watermelon pastèque f, orange orange f,
        grape raisin m, coconut noix_de_coco f, olive olive f, walnut noix f, hazelnut noisette
        f, almond amande f, pomegranate grenade f, kiwi kiwi m, peanut cacahuète f""",
    "vegetable": """\
        carrot carotte f, potato pomme_de_terre f, onion oignon m, cabbage chou m, cucumber
        concombre m, mushroom champignon m, turnip navet m, lettuce laitue f, pumpkin citrouille
        f, leek poireau m, aubergine aubergine f, artichoke artichaut m, bean haricot m, garlic
        ail m ~, broccoli brocoli m ~, courgette courgette f, lentil lentille f, corn maïs m ~,
        parsley persil m ~""",
    "dish": """\
        food nourriture f ~, cake gâteau m, cheese fromage m, soup soupe f, egg œuf m, salad
        salade f, sandwich sandwich m, pie tarte f, biscuit biscuit m, sausage saucisse f,
        omelette omelette f, pizza pizza f, pancake crêpe f, ham jambon m, steak steak m, waffle
        gaufre f, bread pain m ~, meat viande f ~, rice riz m ~, butter beurre m ~, jam
        confiture f ~, honey miel m ~, croissant croissant m, yoghurt yaourt m, sauce sauce f,
        meal repas m, noodle nouille f, chocolate chocolat m ~, sugar sucre m ~, salt sel m ~,
        bacon bacon m ~, flour farine f ~, cream crème f ~, hamburger hamburger m, pudding
        pudding m, doughnut beignet m, muffin muffin m, stew ragoût m, curry curry m, chop
        côtelette f, mustard moutarde f ~, mayonnaise mayonnaise f ~, vinegar vinaigre m ~, oil
        huile f ~, ketchup ketchup m ~, dessert dessert m, breakfast petit-déjeuner m, lunch
        déjeuner m, dinner dîner m, beef bœuf m ~, pork porc m ~, popcorn pop-corn m ~, loaf
        miche f, meatball boulette f, feast festin m""",
    "drink": """\
        milk lait m ~, wine vin m ~, tea thé m ~, coffee café m ~, beer bière f ~, lemonade
        limonade f ~, cider cidre m ~, water eau f ~, juice jus m ~, broth bouillon m ~,
        champagne champagne m ~, soda soda m ~, whisky whisky m ~, vodka vodka f ~, cocoa cacao
        m ~, cocktail cocktail m, gin gin m ~, smoothie smoothie m""",
    "care": """\
        soap savon m ~, shampoo shampooing m ~, perfume parfum m ~, lipstick rouge_à_lèvres m,
        toothpaste dentifrice m ~, ointment pommade f, pill pilule f, syrup sirop m ~, bandage
        pansement m, medicine médicament m, vaccine vaccin m, powder poudre f ~, detergent
        lessive f ~, poison poison m, cigarette cigarette f, cigar cigare m, tobacco tabac m ~,
        drug drogue f, aspirin aspirine f, antibiotic antibiotique m, remedy remède m, ink encre
        f ~, wax cire f ~""",
    "stone": """\
        stone pierre f, brick brique f, plank planche f, branch branche f, rock rocher m, beam
        poutre f, tile tuile f, log bûche f, sand sable m ~, crystal cristal m, shell coquillage
        m, bone os m, feather plume f, coal charbon m ~, twig brindille f, pole poteau m""",
    "jewel": """\
        ring bague f, necklace collier m, bracelet bracelet m, crown couronne f, diamond diamant
        m, coin pièce f, medal médaille f, earring boucle_d'oreille f, pearl perle f, ruby rubis
        m, sapphire saphir m, trophy trophée m, wristwatch montre f, gem gemme f""",
}
