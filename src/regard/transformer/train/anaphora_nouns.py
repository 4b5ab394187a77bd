"""Nouns of the anaphora text: English, French, gender, class; which are out of training."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from regard.transformer.train import english_grammar, french_grammar

# class: 'english french gender' items; _ is a space; ~ marks a noun without a plural.
_TABLE = {
    "beast": """dog chien m, cat chat m, horse cheval m, cow vache f, goat chèvre f, pig cochon m,
        rabbit lapin m, fox renard m, bear ours m, wolf loup m, monkey singe m, lion lion m,
        sheep mouton m, donkey âne m, tiger tigre m, elephant éléphant m, giraffe girafe f,
        zebra zèbre m, camel chameau m, kangaroo kangourou m, calf veau m, lamb agneau m,
        puppy chiot m, kitten chaton m, panther panthère f, mule mule f, mare jument f,
        ewe brebis f, lioness lionne f, pony poney m, bull taureau m, otter loutre f,
        hyena hyène f, gazelle gazelle f, weasel belette f, beaver castor m, llama lama m""",
    "small": """mouse souris f, rat rat m, squirrel écureuil m, hedgehog hérisson m,
        turtle tortue f, frog grenouille f, lizard lézard m, snake serpent m, hamster hamster m,
        marmot marmotte f, ferret furet m""",
    "bird": """bird oiseau m, duck canard m, hen poule f, parrot perroquet m, pigeon pigeon m,
        eagle aigle m, owl chouette f, crow corbeau m, swan cygne m, goose oie f, rooster coq m,
        seagull mouette f, ostrich autruche f, stork cigogne f, magpie pie f, turkey dinde f,
        sparrow moineau m, dove colombe f, partridge perdrix f, penguin pingouin m,
        peacock paon m, lark alouette f""",
    "bug": """bee abeille f, fly mouche f, spider araignée f, ant fourmi f, wasp guêpe f,
        butterfly papillon m, ladybird coccinelle f, mosquito moustique m, snail escargot m,
        caterpillar chenille f, grasshopper sauterelle f, scorpion scorpion m""",
    "fruit": """apple pomme f, pear poire f, banana banane f, lemon citron m, cherry cerise f,
        strawberry fraise f, peach pêche f, melon melon m, pineapple ananas m, plum prune f,
        apricot abricot m, fig figue f, raspberry framboise f, mango mangue f,
        tomato tomate f, grapefruit pamplemousse m, avocado avocat m, watermelon pastèque f""",
    "vegetable": """carrot carotte f, potato pomme_de_terre f, onion oignon m, cabbage chou m,
        cucumber concombre m, mushroom champignon m, turnip navet m, lettuce laitue f,
        pumpkin citrouille f, leek poireau m, aubergine aubergine f, artichoke artichaut m""",
    "dish": """food nourriture f ~, cake gâteau m, cheese fromage m, soup soupe f,
        egg œuf m, salad salade f, sandwich sandwich m, pie tarte f, biscuit biscuit m,
        sausage saucisse f, omelette omelette f, pizza pizza f, pancake crêpe f, ham jambon m,
        steak steak m, waffle gaufre f, bread pain m ~, meat viande f ~, rice riz m ~,
        butter beurre m ~, jam confiture f ~, honey miel m ~, croissant croissant m,
        yoghurt yaourt m, sauce sauce f, meal repas m""",
    "drink": """milk lait m ~, wine vin m ~, tea thé m ~, coffee café m ~, beer bière f ~,
        lemonade limonade f ~, cider cidre m ~, water eau f ~, juice jus m ~, broth bouillon m ~,
        champagne champagne m ~""",
    "container": """box boîte f, bag sac m, suitcase valise f, basket panier m, bucket seau m,
        bottle bouteille f, bowl bol m, saucepan casserole f, jar bocal m, barrel tonneau m,
        crate caisse f, drawer tiroir m, chest coffre m, cup tasse f, teapot théière f,
        jug cruche f, dustbin poubelle f, thermos thermos m, backpack sac_à_dos m,
        purse porte-monnaie m ~, vase vase m""",
    "seat": """chair chaise f, bed lit m, sofa canapé m, armchair fauteuil m, bench banc m,
        stool tabouret m, mattress matelas m, hammock hamac m, cradle berceau m""",
    "furniture": """table table f, desk bureau m, wardrobe armoire f, cupboard placard m,
        shelf étagère f, bookcase bibliothèque f, sideboard buffet m""",
    "textile": """carpet tapis m, blanket couverture f, cushion coussin m, pillow oreiller m,
        curtain rideau m, sheet drap m, tablecloth nappe f, towel serviette f, flag drapeau m""",
    "vehicle": """car voiture f, truck camion m, bus bus m, van camionnette f, tractor tracteur m,
        bicycle vélo m, motorcycle moto f, train train m, taxi taxi m, ambulance ambulance f,
        tram tramway m, caravan caravane f, scooter scooter m, limousine limousine f,
        jeep jeep f, bulldozer bulldozer m""",
    "boat": """boat bateau m, ship navire m, canoe canoë m, raft radeau m, ferry ferry m,
        yacht yacht m, gondola gondole f, rowboat barque f, frigate frégate f""",
    "aircraft": """plane avion m, helicopter hélicoptère m, rocket fusée f, glider planeur m""",
    "blade": """knife couteau m, axe hache f, sword épée f, razor rasoir m, dagger poignard m""",
    "tool": """hammer marteau m, shovel pelle f, rake râteau m, drill perceuse f, broom balai m,
        screwdriver tournevis m, brush brosse f, ladder échelle f, rope corde f, spoon cuillère f,
        fork fourchette f, pen stylo m, pencil crayon m, comb peigne m, key clé f,
        umbrella parapluie m, stick bâton m, sponge éponge f, net filet m, needle aiguille f,
        wheelbarrow brouette f, funnel entonnoir m, crutch béquille f, pickaxe pioche f""",
    "building": """house maison f, church église f, castle château m, school école f,
        hospital hôpital m, hotel hôtel m, factory usine f, tower tour f, barn grange f,
        hut cabane f, museum musée m, theatre théâtre m, palace palais m, prison prison f,
        temple temple m, bakery boulangerie f, farm ferme f, restaurant restaurant m,
        pharmacy pharmacie f, chapel chapelle f, cathedral cathédrale f, villa villa f,
        garage garage m, monastery monastère m, stadium stade m, library bibliothèque f,
        lighthouse phare m, mosque mosquée f, cinema cinéma m, embassy ambassade f""",
    "room": """kitchen cuisine f, bedroom chambre f, cellar cave f, attic grenier m,
        corridor couloir m, bathroom salle_de_bain f""",
    "road": """street rue f, road route f, path sentier m, avenue avenue f, alley ruelle f,
        motorway autoroute f, boulevard boulevard m""",
    "land": """field champ m, forest forêt f, garden jardin m, park parc m, beach plage f,
        hill colline f, mountain montagne f, valley vallée f, village village m, island île f,
        desert désert m, meadow prairie f, vineyard vignoble m, cemetery cimetière m,
        town ville f""",
    "waters": """river rivière f, lake lac m, sea mer f, pond étang m, stream ruisseau m,
        canal canal m, pool piscine f, ocean océan m, lagoon lagune f, swamp marais m""",
    "clothing": """hat chapeau m, shirt chemise f, dress robe f, skirt jupe f, coat manteau m,
        jacket veste f, scarf écharpe f, tie cravate f, sweater pull m, shoe chaussure f,
        boot botte f, sock chaussette f, glove gant m, belt ceinture f, cap casquette f,
        raincoat imperméable m, apron tablier m, suit costume m, sandal sandale f,
        cardigan gilet m, slipper pantoufle f""",
    "plant": """tree arbre m, flower fleur f, rose rose f, oak chêne m, bush buisson m,
        tulip tulipe f, hedge haie f, cactus cactus m, sunflower tournesol m, daisy marguerite f,
        fern fougère f, orchid orchidée f, fir sapin m, willow saule m, birch bouleau m,
        poppy coquelicot m, lilac lilas m, vine vigne f, nettle ortie f""",
    "instrument": """piano piano m, guitar guitare f, violin violon m, flute flûte f,
        trumpet trompette f, drum tambour m, harp harpe f, accordion accordéon m,
        clarinet clarinette f, cello violoncelle m, banjo banjo m, mandolin mandoline f,
        saxophone saxophone m""",
    "text": """book livre m, letter lettre f, newspaper journal m, novel roman m, poem poème m,
        dictionary dictionnaire m, map carte f, poster affiche f, contract contrat m,
        recipe recette f, notebook cahier m, leaflet brochure f, magazine magazine m,
        encyclopedia encyclopédie f, essay essai m, invoice facture f, manual manuel m,
        comic bande_dessinée f""",
    "picture": """painting tableau m, photo photo f, drawing dessin m, portrait portrait m,
        engraving gravure f, icon icône f""",
    "machine": """computer ordinateur m, television télévision f, radio radio f,
        telephone téléphone m, printer imprimante f, fridge réfrigérateur m, oven four m,
        dishwasher lave-vaisselle m, robot robot m, fan ventilateur m, calculator calculatrice f,
        projector projecteur m, photocopier photocopieuse f, toaster grille-pain m,
        heater radiateur m, microphone micro m, lamp lampe f, tablet tablette f, clock horloge f,
        alarm alarme f, loudspeaker haut-parleur m""",
    "toy": """ball balle f, doll poupée f, kite cerf-volant m, puzzle puzzle m, balloon ballon m,
        puppet marionnette f, marble bille f, rattle hochet m""",
    "part": """door porte f, window fenêtre f, wall mur m, gate portail m, roof toit m,
        fence clôture f, staircase escalier m, balcony balcon m, chimney cheminée f,
        column colonne f, statue statue f, bridge pont m, tunnel tunnel m""",
    "stone": """stone pierre f, brick brique f, plank planche f, branch branche f, rock rocher m,
        beam poutre f, tile tuile f, log bûche f""",
    "jewel": """ring bague f, necklace collier m, bracelet bracelet m, crown couronne f,
        diamond diamant m, coin pièce f, medal médaille f""",
    "occasion": """journey voyage m, race course f, party fête f, wedding mariage m,
        concert concert m, exam examen m, meeting réunion f, trip excursion f,
        ceremony cérémonie f""",
    "man": """uncle oncle m, brother frère m, father père m, grandfather grand-père m,
        boy garçon m, man homme m, king roi m, prince prince m, baker boulanger m, doctor médecin m,
        farmer fermier m, driver chauffeur m, waiter serveur m, postman facteur m,
        gardener jardinier m, plumber plombier m, soldier soldat m, policeman policier m,
        fireman pompier m, neighbour voisin m, butcher boucher m, fisherman pêcheur m,
        pilot pilote m, sailor marin m, engineer ingénieur m, painter peintre m, mayor maire m,
        monk moine m, nephew neveu m, husband mari m, carpenter menuisier m, tailor tailleur m,
        hunter chasseur m, son fils m, cousin cousin m""",
    "woman": """aunt tante f, sister sœur f, mother mère f, grandmother grand-mère f,
        girl fille f, woman femme f, queen reine f, princess princesse f, nurse infirmière f,
        waitress serveuse f, actress actrice f, niece nièce f, wife femme f, singer chanteuse f,
        secretary secrétaire f, dancer danseuse f, duchess duchesse f, countess comtesse f,
        widow veuve f, librarian bibliothécaire f, midwife sage-femme f, witch sorcière f,
        seamstress couturière f, lady dame f, student étudiante f, dentist dentiste f,
        lawyer avocate f, tourist touriste f, hairdresser coiffeuse f, teacher professeure f,
        daughter fille f""",
}  # fmt: skip

GROUPS = {
    "animal": "beast small bird bug", "quadruped": "beast small", "food": "fruit vegetable dish",
    "produce": "fruit vegetable", "wood": "seat furniture", "ride": "vehicle boat aircraft",
    "device": "machine ride", "place": "road land room building waters",
    "site": "building room", "reading": "text picture", "people": "man woman",
    "handy": "tool blade", "cloth": "clothing textile", "animate": "animal people",
    "object": "container seat furniture handy clothing instrument text machine toy jewel picture",
    "portable": "container handy clothing instrument text toy jewel picture fruit dish vegetable",
    "thing": "object stone textile food",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Noun:
    """An English noun with its one French translation."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: str
    kind: str
    countable: bool
    in_training: bool

    @property
    def person(self) -> bool:
        """Whether *he* or *she* stands for it."""
        return self.kind in ("man", "woman")


def out_of_training(position: int, size: int) -> bool:
    """Whether the entry at a position of a table is out of training: one in seven, the sixth first.

    A short table gives its last entry. Everyday words stand first in the tables and stay in.
    """
    return position % 7 == min(5, size - 1)


def _noun(row: str, kind: str, in_training: bool) -> Noun:
    english, french, gender, *rest = row.split()
    french = french.replace("_", " ")
    return Noun(
        english,
        english_grammar.plural(english),
        french,
        french_grammar.plural(french),
        gender,
        kind,
        not rest,
        in_training,
    )


def _read() -> dict[str, Noun]:
    nouns = {}
    for kind, table in _TABLE.items():
        rows = table.split(",")
        for i, row in enumerate(rows):
            noun = _noun(row, kind, not out_of_training(i, len(rows)))
            nouns[noun.english] = noun
    return nouns


NOUNS = _read()
_BY_KIND: dict[str, list[str]] = defaultdict(list)
for _item in NOUNS.values():
    _BY_KIND[_item.kind].append(_item.english)


def members(names: str) -> frozenset[str]:
    """The English nouns of classes, groups of classes and single nouns; '-' leaves some out.

    >>> sorted(members("blade -razor key"))
    ['axe', 'dagger', 'key', 'knife', 'sword']
    """
    chosen: set[str] = set()
    for name in names.split():
        nouns = _members(name.removeprefix("-"))
        chosen = chosen - nouns if name.startswith("-") else chosen | nouns
    return frozenset(chosen)


def _members(name: str) -> set[str]:
    if name in GROUPS:
        return set(members(GROUPS[name]))
    if name in _BY_KIND:
        return set(_BY_KIND[name])
    return {NOUNS[name].english}
