"""Adjectives of buildings, land, roads, waters and vehicles in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_SITES = """\
building room -lighthouse -pyramid -ruin -stadium -zoo -farm / place ride part = \
    under renovation: !en rénovation; + badly insulated: mal isolé*; heated by gas: chauffé* \
    au gaz; unheated: non chauffé*; + stuffy: étouffant; + airy: aéré; + well ventilated: bien \
    aéré*; soundproof: insonorisé; unfurnished: non meublé*; carpeted: moquetté; wallpapered: \
    tapissé; freshly redecorated: fraîchement refait*; swept clean: bien balayé*; + cramped: \
    exigu; + draughty in winter: plein* de courants d'air en hiver; infested with rats: \
    infesté* de rats; infested with mice: infesté* de souris; + easy to heat: facile* à \
    chauffer; + hard to heat: difficile* à chauffer; + welcoming: accueillant; lit by candles: \
    éclairé* aux bougies; searched by the police: fouillé* par la police; ready to move into: \
    prêt* à être habité*; + dim and dusty: sombre* et poussiéreux*
building bridge wall tower dam tunnel / place part ride = \
    + unsafe: peu sûr*; about to collapse: sur le point de s'effondrer; collapsed: effondré; + \
    solidly built: solidement construit*; badly built: mal construit*; rebuilt: reconstruit; \
    built by the Romans: construit* par les Romains; bombed: bombardé; restored: restauré; \
    hundreds of years old: vieux* de plusieurs siècles; medieval: médiéval; open to visitors: \
    ouvert* aux visiteurs; listed: classé; designed by a famous architect: conçu* par un grand \
    architecte; damaged by the earthquake: endommagé* par le séisme; lit up at night: \
    illuminé* la nuit; destroyed in the war: détruit* pendant la guerre; under reconstruction: \
    !en reconstruction
house barn car forest hotel factory truck theatre ship castle curtain shop hut / place ride object \
    cloth plant = \
    on fire: !en feu; in flames: !en flammes; burnt to the ground: réduit* en cendres; \
    destroyed by fire: détruit* par le feu; burning: !en flammes; engulfed in flames: dévoré* \
    par les flammes
castle church cathedral palace theatre chapel / building part = \
    Gothic: gothique; + majestic: majestueux; decorated with statues: orné* de statues; + \
    imposing: imposant
house apartment villa shop office cottage boat bicycle car hotel farm / place ride object = \
    to let: !à louer; put up for sale: mis* en vente; too expensive to rent: trop cher* à \
    louer; available immediately: disponible* immédiatement; sold last week: vendu* la semaine \
    dernière; in poor condition: !en mauvais état; in good condition: !en bon état; in perfect \
    condition: !en parfait état; in need of repair: !à réparer; unoccupied: inoccupé; \
    abandoned: abandonné; derelict: !à l'abandon
shop museum bank restaurant library pharmacy cafe bakery theatre zoo pool / place part text = \
    open to the public: ouvert* au public; closed to the public: fermé* au public; closed on \
    Mondays: fermé* le lundi; closed for the holidays: fermé* pour les vacances; open day and \
    night: ouvert* jour et nuit; about to close: sur le point de fermer; + well stocked: bien \
    approvisionné*; run by a family: tenu* par une famille; + badly managed: mal géré*; + well \
    run: bien géré*; short of staff: !à court de personnel; open until midnight: ouvert* \
    jusqu'à minuit; closed early: fermé* plus tôt; opened last year: ouvert* l'an dernier; \
    bankrupt: !en faillite; popular with tourists: apprécié* des touristes; recommended by the \
    guidebook: recommandé* par le guide
hotel restaurant cafe inn bar / place people = \
    + overbooked: surréservé; two streets away: !à deux rues d'ici; + famous for the food: \
    réputé* pour la cuisine; + hard to find: difficile* à trouver; + busy at lunchtime: bondé* \
    à midi
place part -waters -room / ride = \
    guarded by soldiers: gardé* par des soldats; + well guarded: bien gardé*; out of bounds: \
    interdit* d'accès; + easy to reach: facile* d'accès; + hard to reach: difficile* d'accès; \
    + inaccessible: inaccessible; + accessible: accessible; surrounded by trees: entouré* \
    d'arbres; surrounded by walls: entouré* de murs; far from the town centre: !loin du \
    centre; near the sea: proche* de la mer; visible from afar: visible* de loin; closed in \
    winter: fermé* en hiver
land -ditch -cave -planet / place people text = \
    + bustling: animé; + mountainous: montagneux; + flat: plat; + tropical: tropical; + rural: \
    rural; + unspoilt: préservé; + scenic: pittoresque; + isolated: isolé; surrounded by \
    mountains: entouré* de montagnes; + popular with hikers: apprécié* des randonneurs; + \
    lush: luxuriant; + shady: ombragé; bathed in sunlight: baigné* de soleil; shrouded in \
    mist: enveloppé* de brume; hit by drought: frappé* par la sécheresse; + unexplored: \
    inexploré; struck by an earthquake: frappé* par un séisme; home to many birds: riche* en \
    oiseaux; + far from civilisation: éloigné* de tout; rich in minerals: riche* en minerais
country city kingdom town island province colony fortress region / place people = \
    at war: !en guerre; at peace: !en paix; besieged: assiégé; occupied by the enemy: occupé* \
    par l'ennemi; invaded: envahi; + democratic: démocratique; + prosperous: prospère; + \
    cosmopolitan: cosmopolite; conquered: conquis; landlocked: enclavé; governed by a tyrant: \
    gouverné* par un tyran; + multicultural: multiculturel; founded by the Romans: fondé* par \
    les Romains; twinned with Paris: jumelé* avec Paris; liberated: libéré
island peninsula castle village / place = \
    surrounded by water: entouré* d'eau; accessible by boat: accessible* en bateau; cut off by \
    the tide: isolé* par la marée
cellar tunnel cave garage dungeon / place part = \
    underground: souterrain; pitch-dark: plongé* dans le noir; vaulted: voûté
road / place part = \
    unpaved: non goudronné*; two-way: !à double sens; + full of potholes: plein* de \
    nids-de-poule; lined with shops: bordé* de boutiques; + well marked: bien balisé*; + \
    dangerous at night: dangereux* la nuit; closed to traffic: fermé* à la circulation; + busy \
    at rush hour: encombré* aux heures de pointe; cleared of snow: déneigé; + straight: droit; \
    reserved for pedestrians: réservé* aux piétons; jammed with cars: encombré* de voitures; \
    being repaired: !en réfection; + popular with cyclists: apprécié* des cyclistes; widened: \
    élargi; + dusty in summer: poussiéreux* en été
waters -fountain -puddle -pool / place drink land = \
    + crystal-clear: cristallin; fast-flowing: !au courant rapide; full of sharks: plein* de \
    requins; full of crocodiles: plein* de crocodiles; + safe for swimming: sûr* pour la \
    baignade; dangerous for swimmers: dangereux* pour les nageurs; contaminated with oil: \
    pollué* par le pétrole; at high tide: !à marée haute; + turbulent: tumultueux; \
    unfathomable: insondable; frozen in winter: gelé* en hiver; too cold to swim in: trop \
    froid* pour la baignade; home to rare fish: riche* en poissons rares; two metres deep: \
    profond* de deux mètres; ten metres wide: large* de dix mètres; + rich in salmon: riche* \
    en saumons
pool bathroom house greenhouse room / place = \
    heated: chauffé
window door house shop / part place = \
    boarded up: condamné; bricked up: muré; barred: muni* de barreaux
door window gate shutter / part place container = \
    sliding: coulissant; unlocked: déverrouillé; padlocked: cadenassé; closed: fermé; half \
    open: entrouvert; half closed: à moitié fermé*; + hard to close: difficile* à fermer; \
    open: ouvert; made of solid wood: !en bois massif
roof ceiling bridge wall fence floor / part place = \
    repaired after the storm: réparé* après la tempête; damaged by the storm: endommagé* par \
    la tempête; reinforced: renforcé; badly damaged: très abîmé*
vehicle -train -tram -subway -wheelchair -pushchair -wagon -locomotive / ride = \
    stuck in the mud: embourbé; stuck in traffic: pris* dans les embouteillages; \
    double-parked: garé* en double file; towed away: remorqué; uninsured: non assuré*; out of \
    control: !hors de contrôle; + easy to drive: facile* à conduire; + hard to drive: \
    difficile* à conduire; + fuel-efficient: économe; too expensive to repair: trop cher* à \
    réparer; stopped by the police: arrêté* par la police; overloaded with luggage: surchargé* \
    de bagages; unroadworthy: !hors d'état de rouler; stationary: !à l'arrêt; with a flat \
    tyre: !à plat; + hard to steer: difficile* à diriger
car limousine jeep / ride = \
    convertible: décapotable; brand-new: flambant neuf*; stuck in first gear: bloqué* en \
    première; rented at the airport: loué* à l'aéroport
train tram locomotive subway / ride = \
    derailed: déraillé; bound for Paris: !à destination de Paris; ahead of schedule: !en \
    avance; behind schedule: !en retard; about to depart: sur le point de partir; two hours \
    late: !en retard de deux heures; at a standstill: !à l'arrêt
boat / ride waters = \
    adrift: !à la dérive; aground: échoué; capsized: chaviré; at anchor: !à l'ancre; at sea: \
    !en mer; in port: !au port; seaworthy: !en état de naviguer; lost at sea: perdu* en mer; \
    tied to the pier: amarré* à la jetée; attacked by pirates: attaqué* par des pirates; + \
    hard to row: difficile* à manœuvrer; wrecked on the rocks: échoué* sur les rochers; ready \
    to set sail: prêt* à appareiller
plane helicopter rocket glider spaceship airship / ride bird = \
    airborne: !en vol; grounded: cloué* au sol; ready to land: prêt* à atterrir; hit by \
    lightning: frappé* par la foudre; struck by a missile: touché* par un missile; flown by a \
    beginner: piloté* par un débutant; cleared for landing: autorisé* à atterrir; out of fuel: \
    !à court de carburant; in orbit: !en orbite; lost on radar: perdu* de vue
village countryside island valley garden park forest meadow country cottage monastery lake bay / \
    place animate occasion people = \
    + peaceful: paisible; + tranquil: tranquille
cellar forest room corridor tunnel cave attic alley dungeon basement jungle church / place part \
    cloth food animal object = \
    + dark: sombre; + gloomy and cold: sombre* et froid*; + poorly ventilated: mal aéré*; in \
    darkness: plongé* dans le noir
village library park countryside bedroom district suburb church beach hotel monastery / place \
    animate machine occasion ride = \
    + quiet: tranquille
turtle snail tram tractor barge computer donkey train printer bus elevator carriage escalator ox / \
    animate ride machine idea text work occasion = \
    + slow: lent
mountain wall tower hill ceiling fence cliff steeple skyscraper dam pyramid summit chimney \
    staircase / part place furniture plant object = \
    + high: haut
wall ceiling bench table fence hill stool bed bridge sofa / part place furniture plant object ride \
    = \
    + low: bas
river road avenue bed street canal corridor bridge valley boulevard motorway staircase door gulf / \
    place part furniture object ride = \
    + wide: large; + broad: large
temple ruin castle pyramid coin monument church palace statue tomb fortress vase city bridge / \
    place object text part idea = \
    + ancient: ancien; thousands of years old: vieux* de plusieurs millénaires
temple mountain river mosque book cow cave altar tomb / place text part animal idea = \
    + sacred: sacré; holy: sacré
beach plane garden party school road pool lake yacht island lesson clinic university / place ride \
    occasion object idea = \
    private: privé; privately owned: privé
library park school beach garden pool meeting trial road fountain / place ride occasion idea = \
    public: public
factory shop farm hotel restaurant bakery vineyard mill bookshop / place idea = \
    + profitable: rentable; + unprofitable: peu rentable*
island planet country village town kingdom / place = \
    + distant: lointain; + faraway: lointain; thinly populated: peu peuplé*
jungle cellar bathroom greenhouse island cave laundry swamp coast / place cloth animal = \
    + humid: humide; + rainy: pluvieux; + chilly: froid; + freezing: glacial; + sweltering: \
    étouffant
lion tiger bear wolf crocodile shark snake cobra scorpion bomb knife sword axe road volcano swamp \
    cliff torrent motorcycle poison drug rifle bull panther / animate place ride handy care idea \
    occasion plant machine part food waters = \
    + dangerous: dangereux
bridge building report puzzle statue tunnel house ship novel staircase project portrait / place \
    part text idea object picture ride = \
    completed: achevé; nearly finished: presque achevé*
rocket satellite ship shuttle submarine spaceship / ride idea = \
    launched: lancé; ready for launch: prêt* au lancement
bull ox bear gorilla elephant horse lion tiger boxer athlete giant mule camel sailor / animate \
    drink object care part food idea = \
    + strong: fort; + mighty: puissant
"""
