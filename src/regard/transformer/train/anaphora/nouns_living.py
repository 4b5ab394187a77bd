"""Living beings of the anaphora text: nouns by class."""

# class: 'english french gender' items; _ is a space; ~ marks a noun without a plural.
from __future__ import annotations

LIVING = {
    "beast": """\
        dog chien m, cat chat m, horse cheval m, cow vache f, goat chèvre f, pig cochon m,
        rabbit lapin m, fox renard m, bear ours m, wolf loup m, monkey singe m, lion lion m,
        sheep mouton m, donkey âne m, tiger tigre m, elephant éléphant m, giraffe girafe f,
        zebra zèbre m, camel chameau m, kangaroo kangourou m, calf veau m, lamb agneau m, puppy
        chiot m, kitten chaton m, panther panthère f, mule mule f, mare jument f, ewe brebis f,
        lioness lionne f, pony poney m, bull taureau m, otter loutre f, hyena hyène f, gazelle
        gazelle f, weasel belette f, beaver castor m, llama lama m, deer cerf m, buffalo buffle
        m, hippopotamus hippopotame m, gorilla gorille m, panda panda m, koala koala m, jaguar
        jaguar m, ram bélier m, skunk mouffette f, badger blaireau m, seal phoque m, ox bœuf m,
        crocodile crocodile m, alligator alligator m, sow truie f, doe biche f, hare lièvre m""",
    "small": """\
        mouse souris f, rat rat m, squirrel écureuil m, hedgehog hérisson m, turtle tortue f,
        frog grenouille f, lizard lézard m, snake serpent m, hamster hamster m, marmot marmotte
        f, ferret furet m, mole taupe f, bat chauve-souris f, toad crapaud m, cobra cobra m""",
    "bird": """\
        bird oiseau m, duck canard m, hen poule f, parrot perroquet m, pigeon pigeon m, eagle
        aigle m, owl chouette f, crow corbeau m, swan cygne m, goose oie f, rooster coq m,
        seagull mouette f, ostrich autruche f, stork cigogne f, magpie pie f, turkey dinde f,
        sparrow moineau m, dove colombe f, partridge perdrix f, penguin pingouin m, peacock paon
        m, lark alouette f, chicken poulet m, chick poussin m, robin rouge-gorge m, falcon
        faucon m, hawk buse f, nightingale rossignol m, blackbird merle m, pheasant faisan m,
        cuckoo coucou m""",
    "bug": """\
        bee abeille f, fly mouche f, spider araignée f, ant fourmi f, wasp guêpe f, butterfly
        papillon m, ladybird coccinelle f, mosquito moustique m, snail escargot m, caterpillar
        chenille f, grasshopper sauterelle f, scorpion scorpion m, beetle scarabée m, cricket
        grillon m, cockroach cafard m, flea puce f, tick tique f, worm ver m, dragonfly
        libellule f, slug limace f, hornet frelon m, termite termite m""",
    "fish": """\
        fish poisson m, shark requin m, salmon saumon m, trout truite f, tuna thon m, carp carpe
        f, sardine sardine f, cod morue f, whale baleine f, dolphin dauphin m, octopus pieuvre
        f, crab crabe m, lobster homard m, jellyfish méduse f, goldfish poisson_rouge m, squid
        calmar m, shrimp crevette f, oyster huître f, mussel moule f""",
    "plant": """\
        tree arbre m, flower fleur f, rose rose f, oak chêne m, bush buisson m, tulip tulipe f,
        hedge haie f, cactus cactus m, sunflower tournesol m, daisy marguerite f, fern fougère
        f, orchid orchidée f, fir sapin m, willow saule m, birch bouleau m, poppy coquelicot m,
        lilac lilas m, vine vigne f, nettle ortie f, lily lys m, grass herbe f ~, bamboo bambou
        m, pine pin m, maple érable m, moss mousse f ~, seed graine f, bud bourgeon m, weed
        mauvaise_herbe f, shrub arbuste m, carnation œillet m, geranium géranium m, mint menthe
        f ~, clover trèfle m, wheat blé m ~, hay foin m ~, reed roseau m, bouquet bouquet m""",
    "man": """\
        uncle oncle m, brother frère m, father père m, grandfather grand-père m, boy garçon m,
        man homme m, king roi m, prince prince m, baker boulanger m, doctor médecin m, farmer
        fermier m, driver chauffeur m, waiter serveur m, postman facteur m, gardener jardinier
        m, plumber plombier m, soldier soldat m, policeman policier m, fireman pompier m,
        neighbour voisin m, butcher boucher m, fisherman pêcheur m, pilot pilote m, sailor marin
        m, engineer ingénieur m, painter peintre m, mayor maire m, monk moine m, nephew neveu m,
        husband mari m, carpenter menuisier m, tailor tailleur m, hunter chasseur m, son fils m,
        cousin cousin m, actor acteur m, writer écrivain m, thief voleur m, judge juge m, priest
        prêtre m, businessman homme_d'affaires m, grandson petit-fils m, guest invité m,
        customer client m, boss patron m, colleague collègue m, burglar cambrioleur m, criminal
        criminel m, prisoner prisonnier m, guard gardien m, captain capitaine m, manager
        directeur m, musician musicien m, poet poète m, scientist scientifique m, mechanic
        mécanicien m, electrician électricien m, chef chef m, salesman vendeur m, barber
        coiffeur m, shepherd berger m, knight chevalier m, emperor empereur m, president
        président m, minister ministre m, pope pape m, friend ami m, athlete athlète m, champion
        champion m, coach entraîneur m, referee arbitre m, cyclist cycliste m, hero héros m,
        pirate pirate m, giant géant m, dwarf nain m, ghost fantôme m, wizard sorcier m,
        detective détective m, journalist journaliste m, photographer photographe m, architect
        architecte m, miner mineur m, cowboy cow-boy m, landlord propriétaire m, beggar mendiant
        m, boyfriend petit_ami m, bachelor célibataire m, widower veuf m, lord seigneur m,
        servant serviteur m, spy espion m, surgeon chirurgien m, magician magicien m, clown
        clown m, blacksmith forgeron m, accountant comptable m, boxer boxeur m, teenager
        adolescent m, guy type m""",
    "woman": """\
        aunt tante f, sister sœur f, mother mère f, grandmother grand-mère f, girl fille f,
        woman femme f, queen reine f, princess princesse f, nurse infirmière f, waitress
        serveuse f, actress actrice f, niece nièce f, wife femme f, singer chanteuse f,
        secretary secrétaire f, dancer danseuse f, duchess duchesse f, countess comtesse f,
        widow veuve f, librarian bibliothécaire f, midwife sage-femme f, witch sorcière f,
        seamstress couturière f, lady dame f, student étudiante f, dentist dentiste f, lawyer
        avocate f, tourist touriste f, hairdresser coiffeuse f, teacher professeure f, daughter
        fille f, girlfriend petite_amie f, granddaughter petite-fille f, bride mariée f,
        stewardess hôtesse_de_l'air f, heroine héroïne f, goddess déesse f, nun religieuse f,
        maid femme_de_chambre f, babysitter baby-sitter f, hostess hôtesse f, cashier caissière
        f, ballerina ballerine f, stepmother belle-mère f, fairy fée f, novelist romancière f,
        housewife femme_au_foyer f, violinist violoniste f, pianist pianiste f, cleaner
        femme_de_ménage f, pharmacist pharmacienne f, receptionist réceptionniste f,
        psychologist psychologue f, biologist biologiste f, translator traductrice f,
        interpreter interprète f, swimmer nageuse f, professor professeure f, roommate
        colocataire f, passenger passagère f, client cliente f""",
}
