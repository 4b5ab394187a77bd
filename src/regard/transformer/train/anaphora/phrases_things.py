"""Verb phrases of things, sites and ideas in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

DONE_BY_THINGS = """\
food / drink care plant fish = \
    have a good taste: avoir bon goût; have an awful taste: avoir un goût affreux; melt in \
    the mouth: fondre dans la bouche; smell of garlic: sentir l'ail; make everyone hungry: \
    donner faim à tout le monde; contain a lot of fat: contenir beaucoup de graisse; need \
    pepper: manquer de poivre
cake bread pie pizza meat beef pork muffin croissant potato / food fish = \
    need another ten minutes in the oven: devoir rester encore dix minutes au four
dish soup meat / food drink = \
    simmer: ~ mijoter; be simmering: mijoter; get cold: refroidir
butter chocolate cheese cream / food stone waters care = \
    melt in the sun: fondre au soleil
fruit / food plant = \
    have a hard skin: avoir une peau dure; contain many seeds: contenir beaucoup de pépins; \
    ripen in summer: mûrir en été
milk cream / drink food = \
    turn sour: > tourner
drink / food waters care = \
    quench thirst: désaltérer; contain caffeine: contenir de la caféine; go to the head: \
    monter à la tête
medicine pill syrup ointment aspirin / care food drink = \
    relieve pain: soulager la douleur; cause headaches: donner mal à la tête; have side \
    effects: avoir des effets secondaires; act quickly: agir vite
soap shampoo detergent / care drink = \
    foam: mousser; sting the eyes: piquer les yeux
poison drug tobacco cigarette / care food drink machine animal = \
    kill people: tuer des gens; damage the lungs: abîmer les poumons
container -cage / object = \
    have a handle: avoir une poignée; be full of honey: être plein* de miel; contain flour: \
    contenir de la farine; hold two litres: contenir deux litres
suitcase bag backpack handbag / container clothing = \
    weigh twenty kilos: peser vingt kilos; have wheels: avoir des roulettes; contain clothes: \
    contenir des vêtements
wallet purse / container text = \
    contain a hundred euros: contenir cent euros
seat furniture -mattress -hammock / place part ride = \
    have three legs: avoir trois pieds; wobble: être bancal*; have drawers: avoir des tiroirs
cloth / seat people = \
    shrink: > rétrécir; match the shoes: aller avec les chaussures; need sewing: avoir besoin \
    d'être recousu*; smell of perfume: sentir le parfum; lose its colour: perdre sa couleur
shoe boot sandal / clothing = \
    hurt the feet: faire mal aux pieds; need new laces: avoir besoin de nouveaux lacets; have \
    high heels: avoir de hauts talons
coat jacket sweater glove hat / clothing textile animal machine = \
    keep people warm: tenir chaud
handy / object = \
    need sharpening: avoir besoin d'être aiguisé*; be in the shed: être dans la remise
vehicle -wheelchair -pushchair -bicycle -tricycle / ride = \
    have a powerful engine: avoir un moteur puissant; need a new tyre: avoir besoin d'un pneu \
    neuf; use a lot of fuel: consommer beaucoup de carburant; refuse to move: refuser de \
    bouger; run out of petrol: > manquer d'essence; be blocking the entrance: bloquer \
    l'entrée; need servicing: avoir besoin d'une révision; have leather seats: avoir des \
    sièges en cuir; have a dent: avoir une bosse
train bus plane / ride people occasion = \
    arrive at noon: > arriver à midi; be an hour late: avoir une heure de retard; carry two \
    hundred passengers: transporter deux cents passagers; set off at dawn: partir à l'aube
plane helicopter / ride bird bug = \
    land safely: > atterrir sans encombre; crash: > s'écraser; fly above the clouds: voler \
    au-dessus des nuages
boat / ride people = \
    sail for America: voguer vers l'Amérique; have a sturdy hull: avoir une coque solide; \
    capsize: > chavirer; lie at anchor: être à l'ancre
machine / device = \
    work badly: marcher mal; need repairing: avoir besoin d'être réparé*; stop working all the \
    time: s'arrêter tout le temps; hum: ~ ronronner; need a new part: avoir besoin d'une \
    nouvelle pièce; be made in Japan: être fabriqué* au Japon; come with instructions: être \
    accompagné* d'un mode d'emploi
computer telephone laptop tablet smartphone / device work = \
    crash all the time: planter sans arrêt; need charging: avoir besoin d'être rechargé*; have \
    a cracked screen: avoir un écran fissuré; run slowly: fonctionner lentement; ring during \
    the film: sonner pendant le film
telephone alarm bell doorbell clock / machine decor part instrument = \
    be ringing: sonner; ring: ~ sonner
clock / machine people = \
    strike midnight: > sonner minuit
lamp bulb candle / machine decor = \
    flicker: ~ vaciller; give little light: éclairer peu
printer / machine = \
    run out of ink: manquer d'encre
fridge freezer / machine place = \
    keep food cold: garder les aliments au frais
oven heater fireplace / machine place part = \
    give off heat: dégager de la chaleur
text / reading people = \
    deal with history: parler d'histoire; contain a secret message: contenir un message \
    secret; sell well: se vendre bien; be full of jokes: être plein* de blagues; describe the \
    war: décrire la guerre; be published in Paris: être publié* à Paris; \
    explain everything: expliquer tout; cite many \
    sources: citer de nombreuses sources
novel book comic legend fable script story tale film / reading occasion people = \
    end badly: finir mal
book novel dictionary manual thesis report magazine notebook / text document = \
    have a hundred pages: avoir cent pages
film movie novel story series / reading occasion = \
    have a sad ending: finir mal; last three hours: durer trois heures; make everyone cry: \
    faire pleurer tout le monde; tell a love story: raconter une histoire d'amour; win a \
    prize: gagner un prix; be about a murder: parler d'un meurtre
joke comedy clown / reading people = \
    make everyone laugh: faire rire tout le monde
document / text = \
    need signing: devoir être signé*; have no stamp: ne pas avoir de timbre; expire soon: \
    expirer bientôt
song symphony melody / work occasion = \
    sound sad: avoir un air triste; remind everyone of home: rappeler le pays à tout le monde
instrument / machine people animal = \
    sound out of tune: sonner faux; need new strings: avoir besoin de nouvelles cordes
picture / reading part = \
    look real: avoir l'air vrai*; show a sunset: représenter un coucher de soleil; be worth a \
    fortune: valoir une fortune; need restoring: avoir besoin d'être restauré*
jewel / object building text = \
    shine: ~ briller; belong to the queen: appartenir à la reine; cost a fortune: coûter une \
    fortune; sparkle: ~ étinceler
toy / object = \
    amuse the children: amuser les enfants; make the baby laugh: faire rire le bébé
stone / wood part food = \
    weigh a ton: peser une tonne
building -stadium -zoo -pyramid -ruin / place ride = \
    have a beautiful facade: avoir une belle façade; need repainting: avoir besoin d'être \
    repeint*; be on fire: être en feu; burn down: > brûler; have five floors: avoir cinq étages; \
    have a swimming pool: avoir une piscine; date from the last century: dater du siècle \
    dernier; need restoration: avoir besoin d'être rénové*; be for sale: être à vendre; have \
    central heating: avoir le chauffage central
shop restaurant bank museum pharmacy supermarket bakery / place = \
    close at six: fermer à dix-huit heures; open at nine: ouvrir à neuf heures; be open all \
    day: être ouvert* toute la journée; attract customers: attirer les clients; be near the \
    station: être près de la gare; employ ten people: employer dix personnes
restaurant cafe canteen hotel / place = \
    serve good food: servir de bons plats; have a terrace: avoir une terrasse
school university / place people = \
    have a thousand students: avoir mille élèves
room / place container ride = \
    need cleaning: avoir besoin d'être nettoyé*; smell of paint: sentir la peinture; look out \
    onto the garden: donner sur le jardin; lack light: manquer de lumière; have no heating: ne \
    pas avoir de chauffage
road / place part = \
    lead to the village: mener au village; lead nowhere: ne pas mener loin; go through the \
    forest: passer par la forêt; have many bends: avoir beaucoup de virages; be closed because \
    of the snow: être fermé* à cause de la neige; be under repair: être en travaux
land -planet / place people = \
    attract tourists: attirer les touristes; have a mild climate: avoir un climat doux; have \
    two million inhabitants: avoir deux millions d'habitants; produce good wine: produire du \
    bon vin; lie near the border: se trouver près de la frontière; be famous for its wine: \
    être connu* pour son vin
garden park orchard forest / place = \
    be full of birds: être plein* d'oiseaux; be full of wild animals: être plein* d'animaux \
    sauvages
waters -fountain -pool -puddle / place = \
    be full of crocodiles: être plein* de crocodiles; freeze in winter: geler en hiver; flow \
    into the sea: se jeter dans la mer; rise after the rain: monter après la pluie; dry up in \
    summer: se tarir en été; flood the valley: inonder la vallée
part / place = \
    need a coat of paint: avoir besoin d'une couche de peinture; be covered with ivy: être \
    couvert* de lierre
door gate window staircase floor / part machine animate furniture = \
    creak: ~ grincer; squeak: ~ grincer
door gate window / part text place = \
    open onto the street: donner sur la rue; be open: être ouvert*; slam in the wind: claquer \
    au vent
tap / part container = \
    drip: ~ goutter
occasion -war -battle / work reading = \
    last two hours: durer deux heures; begin at noon: commencer à midi; end in applause: se \
    terminer par des applaudissements; begin late: commencer en retard; interest nobody: \
    intéresser peu de gens; go well: se passer bien
idea / reading people = \
    make no sense: ne pas avoir de sens; please everyone: plaire à tout le monde; work in \
    practice: marcher en pratique; come from the mayor: venir du maire; convince everybody: \
    convaincre tout le monde
problem question rule / idea text people = \
    worry everyone: inquiéter tout le monde; concern everybody: concerner tout le monde; have \
    no solution: ne pas avoir de solution
war battle strike / occasion people animal = \
    last for years: durer des années; ruin the country: ruiner le pays
"""
