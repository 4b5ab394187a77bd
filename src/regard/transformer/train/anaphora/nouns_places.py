"""Sites, vehicles, occasions, ideas of the anaphora text: nouns by class."""

# class: 'english french gender' items; _ is a space; ~ marks a noun without a plural.
from __future__ import annotations

PLACES = {
    "building": """\
        house maison f, church église f, castle château m, school école f, hospital hôpital m,
        hotel hôtel m, factory usine f, tower tour f, barn grange f, hut cabane f, museum musée
        m, theatre théâtre m, palace palais m, prison prison f, temple temple m, bakery
        boulangerie f, farm ferme f, restaurant restaurant m, pharmacy pharmacie f, chapel
        chapelle f, cathedral cathédrale f, villa villa f, garage garage m, monastery monastère
        m, stadium stade m, library bibliothèque f, lighthouse phare m, mosque mosquée f, cinema
        cinéma m, embassy ambassade f, shop magasin m, supermarket supermarché m, market marché
        m, bookshop librairie f, bank banque f, station gare f, airport aéroport m, university
        université f, office bureau m, apartment appartement m, skyscraper gratte-ciel m,
        cottage chaumière f, mill moulin m, windmill moulin_à_vent m, warehouse entrepôt m, shed
        remise f, greenhouse serre f, fortress forteresse f, synagogue synagogue f, mansion
        manoir m, inn auberge f, pub pub m, bar bar m, cafe café m, casino casino m, zoo zoo m,
        gym gymnase m, clinic clinique f, laboratory laboratoire m, workshop atelier m, grocery
        épicerie f, kindergarten maternelle f, courthouse tribunal m, pyramid pyramide f, ruin
        ruine f, gallery galerie f""",
    "room": """\
        kitchen cuisine f, bedroom chambre f, cellar cave f, attic grenier m, corridor couloir
        m, bathroom salle_de_bain f, classroom salle_de_classe f, basement sous-sol m, dungeon
        cachot m, cell cellule f, dormitory dortoir m, canteen cantine f, laundry buanderie f""",
    "road": """\
        street rue f, road route f, path sentier m, avenue avenue f, alley ruelle f, motorway
        autoroute f, boulevard boulevard m, lane voie f, highway autoroute f, sidewalk trottoir
        m, roundabout rond-point m, trail piste f, driveway allée f, shortcut raccourci m""",
    "land": """\
        field champ m, forest forêt f, garden jardin m, park parc m, beach plage f, hill colline
        f, mountain montagne f, valley vallée f, village village m, island île f, desert désert
        m, meadow prairie f, vineyard vignoble m, cemetery cimetière m, town ville f, city ville
        f, country pays m, countryside campagne f ~, region région f, district quartier m,
        suburb banlieue f, orchard verger m, lawn pelouse f, courtyard cour f, jungle jungle f,
        cave grotte f, volcano volcan m, cliff falaise f, coast côte f, peninsula péninsule f,
        glacier glacier m, grove bosquet m, camp camp m, campsite camping m, port port m,
        harbour port m, dune dune f, kingdom royaume m, province province f, colony colonie f,
        planet planète f, oasis oasis f, canyon canyon m, continent continent m, summit sommet
        m, slope pente f, pasture pâturage m, ditch fossé m""",
    "waters": """\
        river rivière f, lake lac m, sea mer f, pond étang m, stream ruisseau m, canal canal m,
        pool piscine f, ocean océan m, lagoon lagune f, swamp marais m, fountain fontaine f,
        waterfall cascade f, bay baie f, gulf golfe m, puddle flaque f, brook ruisseau m,
        torrent torrent m, reservoir réservoir m, creek crique f, strait détroit m""",
    "part": """\
        door porte f, window fenêtre f, wall mur m, gate portail m, roof toit m, fence clôture
        f, staircase escalier m, balcony balcon m, chimney cheminée f, column colonne f, statue
        statue f, bridge pont m, tunnel tunnel m, floor sol m, ceiling plafond m, pillar pilier
        m, steeple clocher m, fireplace cheminée f, doorbell sonnette f, shutter volet m, dam
        barrage m, pier jetée f, monument monument m, barrier barrière f, tomb tombe f, altar
        autel m, stage scène f, platform quai m, tap robinet m""",
    "vehicle": """\
        car voiture f, truck camion m, bus bus m, van camionnette f, tractor tracteur m, bicycle
        vélo m, motorcycle moto f, train train m, taxi taxi m, ambulance ambulance f, tram
        tramway m, caravan caravane f, scooter scooter m, limousine limousine f, jeep jeep f,
        bulldozer bulldozer m, minibus minibus m, wagon wagon m, carriage carrosse m, cart
        charrette f, tricycle tricycle m, trailer remorque f, locomotive locomotive f, subway
        métro m, pushchair poussette f, wheelchair fauteuil_roulant m, automobile automobile f""",
    "boat": """\
        boat bateau m, ship navire m, canoe canoë m, raft radeau m, ferry ferry m, yacht yacht
        m, gondola gondole f, rowboat barque f, frigate frégate f, sailboat voilier m, submarine
        sous-marin m, barge péniche f, tanker pétrolier m, warship navire_de_guerre m""",
    "aircraft": """\
        plane avion m, helicopter hélicoptère m, rocket fusée f, glider planeur m, airship
        dirigeable m, spaceship vaisseau_spatial m, satellite satellite m, shuttle navette f""",
    "occasion": """\
        journey voyage m, race course f, party fête f, wedding mariage m, concert concert m,
        exam examen m, meeting réunion f, trip excursion f, ceremony cérémonie f, match match m,
        lesson leçon f, conference conférence f, festival festival m, funeral enterrement m,
        picnic pique-nique m, parade défilé m, performance spectacle m, debate débat m, election
        élection f, war guerre f, battle bataille f, flight vol m, expedition expédition f,
        tournament tournoi m, course cours m, seminar séminaire m, birthday anniversaire m,
        rehearsal répétition f, cruise croisière f, trial procès m, strike grève f, exhibition
        exposition f, competition concours m, banquet banquet m""",
    "work": """\
        song chanson f, film film m, movie film m, story histoire f, tale conte m, speech
        discours m, joke blague f, game jeu m, symphony symphonie f, opera opéra m, documentary
        documentaire m, programme émission f, series série f, melody mélodie f, hymn hymne m,
        comedy comédie f, tragedy tragédie f, cartoon dessin_animé m, sonata sonate f""",
    "idea": """\
        idea idée f, plan plan m, question question f, answer réponse f, explanation explication
        f, suggestion suggestion f, decision décision f, project projet m, method méthode f,
        theory théorie f, argument argument m, rumour rumeur f, excuse excuse f, secret secret
        m, promise promesse f, problem problème m, language langue f, rule règle f, proposal
        proposition f, solution solution f""",
}
