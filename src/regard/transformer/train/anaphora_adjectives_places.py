"""Adjectives of sites, vehicles, occasions and ideas in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
OF_PLACES = """\
vehicle -wheelchair -pushchair -tram -train -subway / ride = \
    crashed: accidenté; + well maintained by its owner: bien entretenu* par son propriétaire; \
    + economical: économique; + badly driven: mal conduit*; + hard to park: difficile* à \
    garer; repainted: repeint
train plane bus ferry flight / ride people occasion = \
    delayed: retardé; on time: !à l'heure; running late: !en retard
car bus train hotel office / ride site = \
    air-conditioned: climatisé
train bus subway plane tram / ride place container = \
    + packed: bondé; + jam-packed: bondé
boat / ride = \
    moored: amarré; anchored: ancré; sunk: coulé; shipwrecked: naufragé
car truck limousine tank / ride part = \
    armoured: blindé
plane helicopter rocket / ride bird = \
    about to land: sur le point d'atterrir; hijacked: détourné
house villa apartment hotel bedroom / place = \
    furnished: meublé; rented for the summer: loué* pour l'été; + luxurious: luxueux; + \
    draughty: plein* de courants d'air
building -stadium -zoo -ruin / place ride = \
    renovated: rénové; + well insulated: bien isolé*; demolished: démoli; built of stone: \
    construit* en pierre; + poorly heated: mal chauffé*; + dilapidated: délabré; evacuated: \
    évacué
castle church monastery tower fortress / building part road = \
    in ruins: !en ruine; built in the Middle Ages: construit* au Moyen Âge; fortified: \
    fortifié; classified as a monument: classé* monument historique
hotel restaurant flight theatre / site occasion ride = \
    fully booked: complet
shop museum bank restaurant pharmacy library bakery supermarket / place part container text = \
    closed today: fermé* aujourd'hui; open on Sundays: ouvert* le dimanche; closed for \
    repairs: fermé* pour travaux; open all night: ouvert* toute la nuit
room office kitchen / place container furniture = \
    + untidy: !en désordre; + messy: !en désordre; tidied up: rangé; + well lit: bien \
    éclairé*; + gloomy: lugubre; freshly swept: fraîchement balayé*
house apartment hotel restaurant school / place = \
    + well located: bien situé*; within walking distance: accessible* à pied; close to the \
    station: proche* de la gare
road -path / place part ride = \
    + bumpy: cahoteux; + congested: encombré; resurfaced: refait* à neuf; + well signposted: \
    bien signalisé*; one-way: !à sens unique; full of traffic: plein* de voitures; closed for \
    roadworks: fermé* pour travaux
road bridge tunnel / place part = \
    blocked: bloqué; icy: verglacé; + impassable: impraticable
path road field garden / place animal clothing = \
    + muddy: boueux; + stony: caillouteux
land -desert -planet / place people = \
    + hilly: vallonné; + picturesque: pittoresque; + remote: reculé; + touristy: touristique; \
    densely populated: très peuplé*; sparsely populated: peu peuplé*
desert land -sea / place food cloth people = \
    + arid: aride; + barren: stérile
mountain valley summit village / place road part = \
    + snowy: enneigé; + foggy: brumeux; + misty: brumeux
beach coast desert island / land waters road = \
    + sandy: sablonneux; + rocky: rocheux; windswept: balayé* par le vent
garden lawn field orchard / land plant = \
    overgrown: envahi* par les mauvaises herbes; full of flowers: plein* de fleurs; well \
    tended: bien entretenu*; freshly mown: fraîchement tondu*
island country kingdom colony province / place people = \
    independent: indépendant; ruled by a king: gouverné* par un roi
town city suburb region / place = \
    + industrial: industriel; + overpopulated: surpeuplé
volcano / land people machine = \
    about to erupt: sur le point d'entrer en éruption; extinct: éteint
waters -fountain -pool / place drink people = \
    + choppy: agité; + stagnant: stagnant; + murky: trouble; frozen over: gelé; teeming with \
    fish: grouillant* de poissons
sea ocean bay gulf / waters people occasion = \
    + stormy: houleux; + rough: houleux
stream brook pond river fountain / waters container = \
    dried out: !à sec; + swollen by the rain: gonflé* par la pluie
door gate window drawer shutter / part place container text people = \
    ajar: entrouvert; wide open: grand* ouvert*; + hard to open: difficile* à ouvrir; shut: \
    fermé; bolted: verrouillé
wall ceiling / part place picture = \
    repainted in white: repeint* en blanc; covered with graffiti: couvert* de graffitis; \
    whitewashed: blanchi* à la chaux
bridge tunnel dam / part place = \
    + suspended over the valley: suspendu* au-dessus de la vallée
staircase floor / part place people = \
    + creaky: grinçant; waxed: ciré
occasion -war -battle -strike / work document = \
    cancelled: annulé; postponed: reporté; + well organised: bien organisé*; + unforgettable: \
    inoubliable; televised: télévisé; + festive: festif; organised by the school: organisé* \
    par l'école
occasion work text / reading idea people road = \
    + endless: interminable; + exciting: passionnant; + tedious: fastidieux
journey race match exam trip lesson / occasion idea road people work = \
    + exhausting: épuisant
meeting conference debate ceremony / occasion = \
    scheduled for Monday: prévu* pour lundi; over: terminé; attended by the mayor: présidé* \
    par le maire
song melody symphony opera / work occasion instrument people food = \
    + catchy: entraînant; sung in Italian: chanté* en italien
joke comedy cartoon story film / reading people occasion animate toy = \
    + funny: drôle; + hilarious: hilarant; + amusing: amusant
film movie series documentary programme / reading = \
    dubbed: doublé; subtitled: sous-titré; shown on television: diffusé* à la télévision
speech story explanation / reading occasion people = \
    + long-winded: verbeux; + improvised: improvisé
idea / reading people occasion = \
    + absurd: absurde; + logical: logique; + convincing: convaincant; + unrealistic: \
    irréaliste; + ridiculous: ridicule; + plausible: plausible; + sensible: sensé
plan project method solution proposal / reading = \
    feasible: réalisable; + risky: risqué; + promising: prometteur; rejected by the committee: \
    rejeté* par le comité
problem question / idea reading = \
    solved: résolu; + thorny: épineux; unsolved: non résolu*
language / idea = \
    spoken in ten countries: parlé* dans dix pays; + hard to learn: difficile* à apprendre
secret rumour / idea = \
    known to everyone: connu* de tous
exam question lesson puzzle problem / idea reading occasion toy = \
    + tricky: délicat
"""
