"""Objects of the anaphora text: nouns by class."""

# class: 'english french gender' items; _ is a space; ~ marks a noun without a plural.
from __future__ import annotations

OBJECTS = {
    "container": """\
        box boîte f, bag sac m, suitcase valise f, basket panier m, bucket seau m, bottle
        bouteille f, bowl bol m, saucepan casserole f, jar bocal m, barrel tonneau m, crate
        caisse f, drawer tiroir m, chest coffre m, cup tasse f, teapot théière f, jug cruche f,
        dustbin poubelle f, thermos thermos m, backpack sac_à_dos m, purse porte-monnaie m ~,
        vase vase m, plate assiette f, pan poêle f, pot marmite f, mug mug m, glass verre m,
        tray plateau m, kettle bouilloire f, wallet portefeuille m, cage cage f, handbag
        sac_à_main m, briefcase mallette f, tank réservoir m, bathtub baignoire f, coffin
        cercueil m, tub cuve f, carton carton m, locker casier m, pocket poche f, packet paquet
        m, parcel colis m, aquarium aquarium m, ashtray cendrier m, saucer soucoupe f, tube tube
        m""",
    "seat": """\
        chair chaise f, bed lit m, sofa canapé m, armchair fauteuil m, bench banc m, stool
        tabouret m, mattress matelas m, hammock hamac m, cradle berceau m, throne trône m,
        saddle selle f, seat siège m""",
    "furniture": """\
        table table f, desk bureau m, wardrobe armoire f, cupboard placard m, shelf étagère f,
        bookcase bibliothèque f, sideboard buffet m, dresser commode f, counter comptoir m""",
    "textile": """\
        carpet tapis m, blanket couverture f, cushion coussin m, pillow oreiller m, curtain
        rideau m, sheet drap m, tablecloth nappe f, towel serviette f, flag drapeau m, quilt
        couette f, veil voile m, handkerchief mouchoir m, cloth chiffon m, fabric tissu m,
        ribbon ruban m, lace dentelle f ~, mat natte f, parachute parachute m""",
    "clothing": """\
        hat chapeau m, shirt chemise f, dress robe f, skirt jupe f, coat manteau m, jacket veste
        f, scarf écharpe f, tie cravate f, sweater pull m, shoe chaussure f, boot botte f, sock
        chaussette f, glove gant m, belt ceinture f, cap casquette f, raincoat imperméable m,
        apron tablier m, suit costume m, sandal sandale f, cardigan gilet m, slipper pantoufle
        f, blouse chemisier m, uniform uniforme m, swimsuit maillot_de_bain m, mitten moufle f,
        helmet casque m, bikini bikini m, kimono kimono m, bra soutien-gorge m, overcoat
        pardessus m, hood capuche f, wig perruque f, costume déguisement m, anorak anorak m""",
    "blade": """\
        knife couteau m, axe hache f, sword épée f, razor rasoir m, dagger poignard m, chainsaw
        tronçonneuse f, sickle faucille f, scalpel scalpel m""",
    "tool": """\
        hammer marteau m, shovel pelle f, rake râteau m, drill perceuse f, broom balai m,
        screwdriver tournevis m, brush brosse f, ladder échelle f, rope corde f, spoon cuillère
        f, fork fourchette f, pen stylo m, pencil crayon m, comb peigne m, key clé f, umbrella
        parapluie m, stick bâton m, sponge éponge f, net filet m, needle aiguille f, wheelbarrow
        brouette f, funnel entonnoir m, crutch béquille f, pickaxe pioche f, spade bêche f, nail
        clou m, screw vis f, bolt boulon m, mop serpillière f, hose tuyau m, ruler règle f,
        eraser gomme f, chalk craie f ~, stapler agrafeuse f, compass boussole f, magnet aimant
        m, lighter briquet m, torch torche f, flashlight lampe_de_poche f, telescope télescope
        m, microscope microscope m, thermometer thermomètre m, barometer baromètre m, whistle
        sifflet m, whip fouet m, chain chaîne f, hook crochet m, wire fil_de_fer m, glue colle f
        ~, string ficelle f, spatula spatule f, toothpick cure-dent m, toothbrush brosse_à_dents
        f, racket raquette f, oar rame f, anchor ancre f, ski ski m, pistol pistolet m, rifle
        fusil m, arrow flèche f, spear lance f, shield bouclier m, cannon canon m, bomb bombe f,
        lever levier m, pump pompe f, stretcher brancard m, cane canne f, parasol parasol m,
        trap piège m, pipe pipe f""",
    "instrument": """\
        piano piano m, guitar guitare f, violin violon m, flute flûte f, trumpet trompette f,
        drum tambour m, harp harpe f, accordion accordéon m, clarinet clarinette f, cello
        violoncelle m, banjo banjo m, mandolin mandoline f, saxophone saxophone m, organ orgue
        m, oboe hautbois m, trombone trombone m, tambourine tambourin m, bassoon basson m, horn
        cor m""",
    "text": """\
        book livre m, letter lettre f, newspaper journal m, novel roman m, poem poème m,
        dictionary dictionnaire m, map carte f, poster affiche f, contract contrat m, recipe
        recette f, notebook cahier m, leaflet brochure f, magazine magazine m, encyclopedia
        encyclopédie f, essay essai m, invoice facture f, manual manuel m, comic bande_dessinée
        f, textbook manuel m, article article m, diary journal_intime m, biography biographie f,
        bible bible f, guidebook guide m, catalogue catalogue m, report rapport m, script
        scénario m, thesis thèse f, note note f, message message m, telegram télégramme m, email
        courriel m, list liste f, prescription ordonnance f, chapter chapitre m, paragraph
        paragraphe m, page page f, sentence phrase f, translation traduction f, summary résumé
        m, questionnaire questionnaire m, booklet livret m, atlas atlas m, treaty traité m, law
        loi f, legend légende f, fable fable f, petition pétition f, review critique f""",
    "document": """\
        passport passeport m, ticket billet m, postcard carte_postale f, envelope enveloppe f,
        receipt reçu m, cheque chèque m, stamp timbre m, certificate certificat m, diploma
        diplôme m, calendar calendrier m, album album m, visa visa m, licence permis m, menu
        menu m, card carte f, badge badge m, timetable horaire m, file dossier m""",
    "picture": """\
        painting tableau m, photo photo f, drawing dessin m, portrait portrait m, engraving
        gravure f, icon icône f, sketch croquis m, diagram schéma m, logo logo m""",
    "machine": """\
        computer ordinateur m, television télévision f, radio radio f, telephone téléphone m,
        printer imprimante f, fridge réfrigérateur m, oven four m, dishwasher lave-vaisselle m,
        robot robot m, fan ventilateur m, calculator calculatrice f, projector projecteur m,
        photocopier photocopieuse f, toaster grille-pain m, heater radiateur m, microphone micro
        m, lamp lampe f, tablet tablette f, clock horloge f, alarm alarme f, loudspeaker
        haut-parleur m, laptop ordinateur_portable m, smartphone smartphone m, camera
        appareil_photo m, freezer congélateur m, vacuum aspirateur m, dryer séchoir m, microwave
        micro-ondes m, scanner scanner m, modem modem m, thermostat thermostat m, elevator
        ascenseur m, escalator escalator m, mower tondeuse f, generator générateur m, typewriter
        machine_à_écrire f, bulb ampoule f, siren sirène f""",
    "toy": """\
        ball balle f, doll poupée f, kite cerf-volant m, puzzle puzzle m, balloon ballon m,
        puppet marionnette f, marble bille f, rattle hochet m, teddy ours_en_peluche m, domino
        domino m, skateboard planche_à_roulettes f, chessboard échiquier m, trampoline
        trampoline m, cube cube m""",
    "decor": """\
        mirror miroir m, candle bougie f, bell cloche f, globe globe m, mask masque m, sculpture
        sculpture f, bust buste m, ornament ornement m, souvenir souvenir m, gift cadeau m, tent
        tente f""",
}
