"""Intransitive verbs of rides, places, texts and ideas in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

ACTS_OF_PLACES = """\
vehicle -bicycle -cart -carriage -wagon -wheelchair -pushchair -tricycle -trailer -caravan / \
    ride people = \
    skid: > déraper; stall: > caler; accelerate: > accélérer; swerve: > faire une embardée; \
    have new brakes: avoir de nouveaux freins; make a lot of smoke: faire beaucoup de fumée; \
    crash: > s'écraser; run out of fuel: > tomber en panne sèche; overheat: > surchauffer; \
    need a new engine: avoir besoin d'un nouveau moteur; have a powerful motor: avoir un \
    moteur puissant; have a puncture: avoir une crevaison; refuse to move: refuser \
    d'avancer; honk: ~ klaxonner; brake suddenly: > freiner brusquement; have four wheels: \
    avoir quatre roues; speed past: > passer à toute vitesse; pick up speed: > prendre de la \
    vitesse; overturn: > se renverser; hit a tree: > heurter un arbre; use diesel: rouler au \
    diesel
train tram subway locomotive bus / ride people occasion = \
    derail: > dérailler; depart: > partir; arrive late: > arriver en retard; stop at every \
    station: s'arrêter à toutes les gares; run on time: être à l'heure; arrive on time: > \
    arriver à l'heure; be full of passengers: être plein* de passagers; be running late: avoir \
    du retard
plane helicopter rocket glider spaceship airship shuttle parachute / ride cloth bird bug people \
    = \
    land: > atterrir; crash: > s'écraser; fly over the sea: ~ survoler la mer; lose altitude: > \
    perdre de l'altitude; explode in flight: > exploser en vol; nosedive: > piquer du nez; \
    disappear from the radar: > disparaître du radar; circle above the town: ~ tourner au-dessus \
    de la ville; have two engines: avoir deux moteurs
satellite spaceship / ride land = \
    orbit the earth: ~ tourner autour de la Terre
boat / ride people = \
    sail away: > prendre le large; float: ~ flotter; drift: ~ dériver; run aground: > s'échouer; \
    sway: ~ tanguer; pitch: ~ tanguer; rock: ~ tanguer; hit an iceberg: > heurter un iceberg; \
    arrive in port: > arriver au port; go down in the storm: > sombrer dans la tempête; set \
    sail: > prendre la mer; capsize: > chavirer; need a crew: avoir besoin d'un équipage; have a \
    mast: avoir un mât
building wall roof bridge tunnel tower chimney dam pillar shed / place part ride furniture wood \
    people = \
    crumble: >~ s'écrouler; cave in: > s'effondrer; need strengthening: avoir besoin d'être \
    renforcé*; stand empty: être vide*; fall into ruin: >~ tomber en ruine; need repairs: avoir \
    besoin de réparations
building -stadium -zoo -pyramid -ruin / place ride wood text plant = \
    go up in flames: > s'embraser; have large windows: avoir de grandes fenêtres; have a garden: \
    avoir un jardin; have an alarm: avoir une alarme; burn to the ground: > brûler entièrement; \
    have a cellar: avoir une cave; belong to the state: appartenir à l'État; have two entrances: \
    avoir deux entrées; need renovating: avoir besoin d'être rénové*; stand on a hill: se \
    dresser sur une colline; have a spiral staircase: avoir un escalier en colimaçon
shop restaurant bakery supermarket pharmacy bookshop cafe hotel factory cinema market / place = \
    open: > ouvrir; close: > fermer; close down: > fermer; go bankrupt: > faire faillite; sell \
    bread: vendre du pain; sell books: vendre des livres; have many customers: avoir beaucoup de \
    clients; close early: fermer tôt; open late: ouvrir tard; make a profit: > faire des \
    bénéfices; hire people: embaucher; advertise: ~ faire de la publicité; offer discounts: \
    faire des réductions
house apartment villa bedroom hotel cottage / place = \
    have a view of the sea: avoir vue sur la mer; have a balcony: avoir un balcon; face south: \
    être orienté* au sud; need redecorating: avoir besoin d'être redécoré*; have two bedrooms: \
    avoir deux chambres; get a lot of light: être très lumineux*; have no electricity: ne pas \
    avoir d'électricité
room cave tunnel corridor / place container ride = \
    smell damp: sentir l'humidité; echo: ~ résonner; have no light: ne pas avoir de lumière; \
    flood: > être inondé*; have a low ceiling: avoir un plafond bas
road / place part = \
    lead to the station: mener à la gare; wind through the hills: serpenter dans les collines; \
    go uphill: monter; run along the river: longer la rivière; fork: bifurquer; end at the \
    beach: finir à la plage; narrow: se rétrécir; have two lanes: avoir deux voies; have no \
    pavement: ne pas avoir de trottoir
land -planet -continent / place people = \
    have many hills: avoir beaucoup de collines; have a rich soil: avoir un sol riche; flood \
    every year: être inondé* chaque année; lie in the north: se trouver au nord; have no trees: \
    ne pas avoir d'arbres
country kingdom city island region village province town / place people idea = \
    prosper: ~ prospérer; export oil: exporter du pétrole; declare independence: > déclarer son \
    indépendance; declare war: > déclarer la guerre; have a parliament: avoir un parlement; gain \
    independence: > obtenir son indépendance; become a republic: > devenir une république; have \
    a long history: avoir une longue histoire; have beautiful beaches: avoir de belles plages; \
    surrender: > capituler; go to war: > entrer en guerre; have many inhabitants: avoir beaucoup \
    d'habitants; have high taxes: avoir des impôts élevés
waters -fountain -puddle -pool / place drink = \
    flood: > déborder; freeze over: > geler; dry up: >~ s'assécher; be full of ducks: être \
    plein* de canards; overflow: > déborder; contain many fish: contenir beaucoup de poissons; \
    ripple: ~ onduler; rise: >~ monter; swell: >~ grossir
river stream brook torrent waterfall / place = \
    roar: ~ gronder; rush down the mountain: ~ dévaler la montagne; murmur: ~ murmurer; meander: \
    ~ serpenter; babble: ~ murmurer
puddle / waters = \
    evaporate: >~ s'évaporer; freeze: > geler
door gate window shutter drawer / part machine furniture container = \
    open: > s'ouvrir; close: > se fermer; slam: > claquer; creak open: > s'ouvrir en grinçant; \
    stick: ~ coincer; squeak: ~ grincer; blow open: > s'ouvrir d'un coup; jam: > se coincer; \
    rattle: ~ trembler; close by itself: se fermer tout seul*
tap hose roof tank pump / part container device = \
    drip: ~ goutter; leak: ~ fuir; burst: > éclater
text / reading people = \
    sell out: > s'épuiser; have a good title: avoir un bon titre; tell of adventures: raconter \
    des aventures; contain photos: contenir des photos; quote the bible: citer la Bible; list \
    all the names: donner tous les noms; make sense: avoir du sens; mention the king: mentionner \
    le roi; criticise the government: critiquer le gouvernement; criticize the government: \
    critiquer le gouvernement; begin with a quotation: commencer par une citation; refer to the \
    war: faire référence à la guerre; be written by hand: être écrit* à la main
letter email message parcel postcard telegram card / reading container = \
    come by post: > arriver par la poste; arrive this morning: > arriver ce matin; get lost in \
    the post: > se perdre en route; bring good news: apporter de bonnes nouvelles; come from \
    abroad: venir de l'étranger; contain bad news: contenir de mauvaises nouvelles
film movie comedy tragedy opera series documentary cartoon programme / reading occasion = \
    flop: > faire un bide; win an award: > remporter un prix; star a famous actress: mettre en \
    scène une actrice célèbre; end happily: finir bien; bore the audience: ennuyer le public; \
    have subtitles: avoir des sous-titres; have a good plot: avoir une bonne intrigue
song melody hymn symphony sonata / work occasion text instrument = \
    sound familiar: avoir un air familier; have a good rhythm: avoir un bon rythme; become a \
    hit: > devenir un succès; echo through the church: ~ résonner dans l'église; have a nice \
    melody: avoir une belle mélodie
picture / reading part cloth = \
    fade: >~ pâlir; yellow: >~ jaunir; show a landscape: représenter un paysage; have bright \
    colours: avoir des couleurs vives; show a child: représenter un enfant; be signed by the \
    artist: être signé* par l'artiste; yellow with age: > jaunir avec le temps
occasion -war -battle / work reading = \
    begin: > commencer; end: > se terminer; last all day: durer toute la journée; finish \
    early: finir tôt; happen in June: avoir lieu en juin; attract crowds: attirer les \
    foules; last a week: durer une semaine; go badly: se passer mal; go on for hours: durer \
    des heures; end at midnight: finir à minuit; be held every year: avoir lieu chaque \
    année; continue until night: durer jusqu'à la nuit
war battle strike / occasion people = \
    last for months: durer des mois; end in defeat: finir par une défaite; cause many \
    deaths: > causer beaucoup de morts; continue: ~ continuer; drag on: ~ s'éterniser; \
    paralyse the country: paralyser le pays
idea / reading people = \
    sound crazy: avoir l'air fou*; sound reasonable: avoir l'air raisonnable*; change \
    everything: > changer tout; shock the public: choquer le public; cause a scandal: > causer \
    un scandale; cause trouble: causer des ennuis; prove useful: se révéler utile*; prove wrong: \
    se révéler faux*; deserve attention: mériter attention; come to nothing: ne pas aboutir; \
    contradict the facts: contredire les faits; surprise the experts: surprendre les experts; \
    save time: faire gagner du temps; depend on the weather: dépendre du temps
stone part -door -gate -window -tap -doorbell -shutter / wood food place decor = \
    crumble: >~ s'effriter; erode: >~ s'éroder; be covered with moss: être couvert* de mousse; \
    fall to pieces: >~ tomber en morceaux
river stream brook torrent canal / place drink = \
    flow: ~ couler; flow slowly: couler lentement; flow through the town: traverser la ville; \
    burst its banks: > sortir de son lit
field beach forest desert meadow vineyard valley dune jungle suburb / place = \
    stretch to the sea: s'étendre jusqu'à la mer
book novel biography thesis textbook manual guidebook encyclopedia / reading = \
    have ten chapters: avoir dix chapitres; have an index: avoir un index
fan windmill mill globe planet / machine building decor land toy people ride = \
    spin: ~ tourner; turn round: ~ tourner; whirl: ~ tourbillonner
windmill mill / building = \
    grind corn: moudre le grain; turn in the wind: ~ tourner au vent
wall door gate shutter ceiling bench boat / part place wood ride = \
    peel: ~ s'écailler; need a fresh coat of paint: avoir besoin d'une nouvelle couche de \
    peinture
door plank floor table shelf / part wood stone = \
    warp: >~ se déformer
jewel spoon trumpet bell coin / object decor handy = \
    tarnish: >~ se ternir
tank anchor pipe chain bolt bridge / handy part ride container = \
    corrode: >~ se corroder
"""
