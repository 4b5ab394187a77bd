"""Adjectives of sites, vehicles, occasions and ideas in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_PLACES = """\
vehicle -wheelchair -pushchair -tram -train -subway / ride = \
    crashed: accidenté; + well maintained by its owner: bien entretenu* par son propriétaire; \
    + economical: économique; + badly driven: mal conduit*; + hard to park: difficile* à \
    garer; repainted: repeint
train plane bus ferry flight shuttle match tram concert meeting helicopter subway / ride people \
    occasion = \
    delayed: retardé; on time: !à l'heure; running late: !en retard
car bus train hotel office building bedroom theatre cinema museum limousine taxi plane -lighthouse \
    -barn -hut -shed -stadium -ruin -windmill -mill -pyramid -greenhouse / ride site lighthouse \
    barn hut shed stadium ruin windmill mill pyramid greenhouse = \
    air-conditioned: climatisé
train bus subway plane tram / ride place container = \
    + packed: bondé; + jam-packed: bondé
boat / ride = \
    moored: amarré; anchored: ancré; sunk: coulé; shipwrecked: naufragé
car truck limousine tank van train door jeep / ride part = \
    armoured: blindé
plane helicopter rocket glider spaceship airship shuttle satellite / ride bird = \
    about to land: sur le point d'atterrir; hijacked: détourné
house villa apartment hotel bedroom cottage room office caravan mansion / place = \
    furnished: meublé; rented for the summer: loué* pour l'été; + luxurious: luxueux; + \
    draughty: plein* de courants d'air
building -stadium -zoo -ruin room bridge / place ride = \
    renovated: rénové; + well insulated: bien isolé*; demolished: démoli; built of stone: \
    construit* en pierre; + poorly heated: mal chauffé*; + dilapidated: délabré; evacuated: \
    évacué
castle church monastery tower fortress city temple house palace villa bridge village wall hospital \
    farm theatre monument / building part road = \
    in ruins: !en ruine; built in the Middle Ages: construit* au Moyen Âge; fortified: \
    fortifié; classified as a monument: classé* monument historique
hotel restaurant flight theatre cinema cruise campsite plane seminar concert train course inn / \
    site occasion ride = \
    fully booked: complet
shop museum bank restaurant pharmacy library bakery supermarket cafe bookshop gallery school zoo \
    pool theatre cinema casino gym clinic grocery office bar market park / place part container \
    text = \
    closed today: fermé* aujourd'hui; open on Sundays: ouvert* le dimanche; closed for \
    repairs: fermé* pour travaux; open all night: ouvert* toute la nuit
room office kitchen desk drawer house garage classroom bedroom wardrobe attic garden apartment \
    workshop / place container furniture = \
    + untidy: !en désordre; + messy: !en désordre; tidied up: rangé; + well lit: bien \
    éclairé*; + gloomy: lugubre; freshly swept: fraîchement balayé*
house apartment hotel restaurant school shop villa bakery pharmacy campsite inn bank gym cafe / \
    place = \
    + well located: bien situé*; within walking distance: accessible* à pied; close to the \
    station: proche* de la gare
road -path / place part ride = \
    + congested: encombré; resurfaced: refait* à neuf; + well signposted: bien signalisé*; \
    one-way: !à sens unique; full of traffic: plein* de voitures; closed for roadworks: fermé* \
    pour travaux
road bridge tunnel / place part = \
    blocked: bloqué; icy: verglacé; + impassable: impraticable
path road field garden / place animal clothing = \
    + stony: caillouteux
land -desert -planet / place people = \
    + hilly: vallonné; + picturesque: pittoresque; + remote: reculé; + touristy: touristique; \
    densely populated: très peuplé*; sparsely populated: peu peuplé*
desert land -sea island region planet hill / place food cloth people = \
    + arid: aride; + barren: stérile
mountain valley summit village road path forest field park garden street slope cliff / place part \
    = \
    + snowy: enneigé; + foggy: brumeux; + misty: brumeux
beach coast desert island / land waters road = \
    + rocky: rocheux; windswept: balayé* par le vent
garden lawn field orchard path cemetery ruin vineyard driveway courtyard meadow park / land plant \
    = \
    overgrown: envahi* par les mauvaises herbes; full of flowers: plein* de fleurs; well \
    tended: bien entretenu*
island country kingdom colony province / place people = \
    independent: indépendant; ruled by a king: gouverné* par un roi
town city suburb region district port harbour province / place = \
    + industrial: industriel; + overpopulated: surpeuplé
volcano / land people machine = \
    about to erupt: sur le point d'entrer en éruption; extinct: éteint
waters -fountain -pool / place drink people = \
    + choppy: agité; + stagnant: stagnant; + murky: trouble; frozen over: gelé; teeming with \
    fish: grouillant* de poissons
sea ocean bay gulf strait lake / waters people occasion = \
    + stormy: houleux; + rough: houleux
stream brook pond river fountain puddle canal lake reservoir swamp ditch / waters container land = \
    dried out: !à sec; + swollen by the rain: gonflé* par la pluie
door gate window drawer shutter / part place container text people = \
    shut: fermé
door gate window drawer shutter cupboard wardrobe box cage suitcase fridge oven garage / part \
    place container text people furniture machine = \
    ajar: entrouvert; wide open: grand* ouvert*; + hard to open: difficile* à ouvrir; bolted: \
    verrouillé
wall ceiling door fence gate house shutter bench boat bedroom kitchen / part place picture = \
    repainted in white: repeint* en blanc; covered with graffiti: couvert* de graffitis; \
    whitewashed: blanchi* à la chaux
bridge tunnel dam / part place = \
    + suspended over the valley: suspendu* au-dessus de la vallée
staircase floor bed door chair ladder bridge gate cart stool shutter / part place people seat wood \
    = \
    + creaky: grinçant
occasion -war -battle -strike lesson / work document = \
    cancelled: annulé; postponed: reporté; + well organised: bien organisé*; + unforgettable: \
    inoubliable; televised: télévisé; + festive: festif; organised by the school: organisé* \
    par l'école
occasion work text list corridor road desert / reading idea people place = \
    + endless: interminable; + exciting: passionnant; + tedious: fastidieux
journey race match exam trip lesson tournament rehearsal expedition parade cruise / occasion idea \
    road people work = \
    + exhausting: épuisant
meeting conference debate ceremony exam match rehearsal concert race wedding funeral trial lesson \
    seminar flight course performance / occasion = \
    scheduled for Monday: prévu* pour lundi; over: terminé; attended by the mayor: présidé* \
    par le maire
song melody symphony opera hymn / work occasion instrument people food = \
    + catchy: entraînant; sung in Italian: chanté* en italien
joke comedy cartoon story film clown book comic puppet speech monkey parrot answer letter \
    programme poem mask / reading people occasion animate toy = \
    + funny: drôle; + hilarious: hilarant; + amusing: amusant
film movie series documentary programme cartoon comedy / reading = \
    dubbed: doublé; subtitled: sous-titré; shown on television: diffusé* à la télévision
speech story explanation report letter essay answer article novel debate / reading occasion people \
    = \
    + long-winded: verbeux; + improvised: improvisé
idea / reading people occasion = \
    + logical: logique
idea law story excuse film joke rumour / reading people occasion = \
    + absurd: absurde; + convincing: convaincant; + unrealistic: irréaliste; + ridiculous: \
    ridicule; + plausible: plausible; + sensible: sensé
plan project method solution proposal idea trip expedition / reading = \
    feasible: réalisable; + risky: risqué; + promising: prometteur; rejected by the committee: \
    rejeté* par le comité
problem question puzzle / idea reading = \
    solved: résolu; + thorny: épineux; unsolved: non résolu*
language / idea = \
    spoken in ten countries: parlé* dans dix pays; + hard to learn: difficile* à apprendre
secret rumour song joke story legend recipe melody hymn / idea = \
    known to everyone: connu* de tous
exam question lesson puzzle problem questionnaire trial translation decision recipe / idea reading \
    occasion toy = \
    + tricky: délicat
road trail path field / place part ride occasion = \
    + bumpy: cahoteux
path road field garden boot shoe ditch puddle pig dog meadow trail river car bicycle lawn tractor \
    / place animal clothing ride = \
    + muddy: boueux
beach coast desert island path towel swimsuit shoe / land waters road cloth = \
    + sandy: sablonneux
lawn garden field park meadow / land plant = \
    freshly mown: fraîchement tondu*
staircase floor furniture / part place people = \
    waxed: ciré
"""
