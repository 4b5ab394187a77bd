"""Transitive verbs of the anaphora text: what is done to objects, places, rides and machines."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

DONE_TO_THINGS = """\
portable stone / thing ride animate textile machine = \
    pick up: ramasser; hand over: remettre; carry: porter; give back: rendre; return: rendre; \
    wrap up: emballer; wrap: emballer
portable seat furniture stone / thing cloth machine animate instrument = \
    put away: ranger; weigh: peser
book umbrella pen bicycle coat guitar hammer ladder car tent dictionary camera / object ride \
    cloth food animal = \
    borrow: emprunter; hand back: rendre
coin key ring wallet ticket pen earring card pearl / object small bug animal = \
    pocket: empocher; misplace: égarer
stamp coin shell postcard medal poster comic doll pearl / object stone = \
    collect: collectionner
container glass plate bowl saucepan cup / food object ride part = \
    wipe: essuyer; rinse: rincer; dry: sécher; put down: poser
plate cup bowl glass box chair brick plank log book tray / object stone thing = \
    stack: empiler
bottle jar box parcel file suitcase drawer packet / container object text = \
    label: étiqueter
glass cup mug bowl bottle jug bathtub bucket / container pool animate = \
    refill: remplir; top up: remplir; drain: vider
box parcel suitcase drawer chest envelope jar bottle packet wardrobe / container furniture part \
    text building ride = \
    reopen: rouvrir
bottle jar tube thermos teapot saucepan / container part = \
    uncap: ouvrir; unscrew: dévisser; cover: couvrir
bucket bottle glass jug vase pot cup / container drink ride furniture wood toy decor = \
    tip over: renverser; knock over: renverser; overturn: renverser
plate glass vase cup mirror window egg bowl / container part food toy machine = \
    chip: ébrécher; drop: lâcher
glass bottle plate vase cup jar window mirror bulb / container part toy decor machine instrument \
    = \
    shatter: briser
table desk shelf sideboard piano bookcase mirror / object part = \
    dust: épousseter; wax: cirer
table desk cupboard wardrobe sideboard bed piano sofa / object machine ride = \
    move: déplacer; drag: traîner
table desk chair door shelf stool bench plank cupboard / wood part = \
    nail down: clouer; carve: sculpter; stain: teindre; saw up: scier
bed / wood place site = \
    make: faire
sofa armchair chair mattress cushion saddle / wood textile animal = \
    pad: rembourrer; cover: recouvrir
shirt dress skirt sheet tablecloth curtain sock towel jacket / cloth = \
    bleach: blanchir; stain: tacher; patch: rapiécer; hem: ourler; rip: déchirer; soak: tremper; \
    tear: déchirer; starch: amidonner; alter: retoucher; stitch: coudre; fold up: plier; dry: \
    sécher; rinse: rincer; crumple: froisser; dry-clean: nettoyer
sweater sock scarf hat glove mitten blanket cardigan cap / cloth toy = \
    crochet: crocheter; unravel: détricoter
carpet blanket fabric basket lace scarf / cloth container decor = \
    weave: tisser
carpet mat map poster newspaper sheet towel / cloth reading = \
    roll up: enrouler; shake out: secouer
belt tie shoe boot helmet apron necklace bracelet / clothing jewel container ride handy seat = \
    fasten: attacher; undo: défaire; loosen: desserrer; do up: fermer
jacket coat tent suitcase bag dress skirt backpack / clothing container = \
    zip up: fermer; unzip: ouvrir
coat dress suit hat costume uniform shoe jacket blouse sweater skirt wig / clothing jewel \
    textile = \
    hand down: transmettre; model: présenter; slip off: enlever; remove: enlever; show off: \
    montrer
shoe boot sandal / clothing object cloth = \
    polish: cirer; unlace: délacer; tie: lacer
tie scarf ribbon string rope bandage shoe / cloth handy clothing = \
    tie: nouer; untie: dénouer
jewel -wristwatch / object = \
    insure: assurer; pawn: gager; melt down: fondre
ring necklace bracelet earring crown medal / object cloth = \
    polish: polir
diamond ruby sapphire crystal gem / jewel stone wood object = \
    cut: tailler; polish: polir
cheque / document text = \
    deposit: déposer
knife sword dagger axe scalpel razor pistol rifle / handy = \
    draw: tirer; sheathe: rengainer; confiscate: confisquer; wield: manier; aim: pointer
rifle pistol cannon / handy people animal machine = \
    load: charger; unload: décharger; fire: tirer; cock: armer
arrow spear rocket / handy ride people = \
    shoot: lancer
nail screw bolt hook tap bulb lever / handy part machine wood = \
    unscrew: dévisser; screw in: visser; tighten: resserrer; bend: tordre
bulb / machine = \
    screw in: visser
rope string wire ribbon chain / handy cloth = \
    coil up: enrouler; stretch: tendre; untangle: démêler; knot: nouer
trap net / handy idea = \
    set: tendre
umbrella parasol tent parachute kite hammock / textile decor toy handy wood = \
    put up: monter; unfurl: déployer
ladder / handy part = \
    prop up: dresser
house apartment villa cottage castle farm shop mansion hut office / place ride object = \
    inhabit: habiter; refurbish: rénover; modernise: moderniser; modernize: moderniser; \
    extend: agrandir; heat: chauffer; tear down: démolir; do up: rénover; mortgage: \
    hypothéquer
house castle village farm city forest barn church hut shop / place ride wood text people = \
    burn down: incendier; set on fire: incendier; set alight: incendier
bridge dam tunnel tower wall / place part ride = \
    blow up: dynamiter; dynamite: dynamiter
building bridge tower ship car garden park uniform / place part ride machine cloth reading jewel \
    wood = \
    design: concevoir
house barn school hospital church bridge stadium wall fence hut tower / place part ride = \
    construct: construire; put up: ériger; erect: ériger
school hospital museum library university factory restaurant shop hotel cinema / place occasion \
    container part = \
    found: fonder; run: diriger; open up: ouvrir; expand: agrandir; visit: visiter; shut down: \
    fermer
bedroom kitchen house office garage attic classroom corridor bathroom / place object part \
    ride = \
    tidy: ranger; mop: laver; vacuum: aspirer; decorate: décorer; wallpaper: tapisser; \
    light: éclairer; search: fouiller; disinfect: désinfecter; soundproof: insonoriser
floor carpet staircase kitchen corridor sofa / place part textile wood = \
    mop: nettoyer; hoover: aspirer; vacuum: aspirer; sweep up: balayer
field garden vineyard orchard meadow lawn / land plant place = \
    sow: ensemencer; cultivate: cultiver; dig up: bêcher; weed: désherber; rake: ratisser; \
    fertilise: fertiliser; fertilize: fertiliser; hoe: biner; till: labourer; manure: fumer
tree rose tulip orchid fern geranium sunflower flower daisy / plant food = \
    grow: cultiver; graft: greffer; dry: sécher; sow: semer; propagate: multiplier; dig up: \
    déterrer; smell: sentir
tree oak fir pine birch maple willow / plant part building = \
    fell: abattre; chop down: abattre; saw down: scier
hedge lawn grass bush shrub / plant land = \
    clip: tailler; cut back: tailler; cut: couper; mow down: tondre
wheat hay corn grass / plant = \
    reap: faucher; thresh: battre; gather: récolter; mow: faucher
forest jungle swamp desert island cave mountain valley / place = \
    explore: explorer; chart: cartographier; discover: découvrir; map: cartographier
country island city region province kingdom colony / place people idea = \
    rule: gouverner; occupy: occuper; liberate: libérer; annex: annexer; unite: unir; divide: \
    diviser; settle: peupler; devastate: dévaster; defend: défendre; ravage: ravager; flee: \
    fuir; populate: peupler; impoverish: appauvrir
river lake pond sea canal bay / place waters drink = \
    contaminate: contaminer; dam up: barrer; dredge: draguer
road motorway street avenue path driveway highway lane / place part = \
    resurface: goudronner; straighten: redresser; clear: dégager; salt: saler; close off: \
    fermer; block off: barrer; barricade: barricader; repave: repaver; tarmac: goudronner
mountain volcano summit cliff / place part = \
    conquer: vaincre; ascend: gravir; scale: escalader
wall ceiling fence door shutter gate / part place wood machine ride = \
    paint over: repeindre; whitewash: blanchir; insulate: isoler
wall / part place = \
    brick up: murer
window door fireplace tunnel / part = \
    brick up: murer
window mirror glass / part container = \
    smash: briser
door gate cupboard window drawer box chest wardrobe / part container furniture site text = \
    bang: claquer; bolt: verrouiller; kick in: défoncer; push open: pousser; unbolt: \
    déverrouiller; unlock: ouvrir; open up: ouvrir; oil: huiler; padlock: cadenasser; jam: \
    coincer
door / part furniture wood = \
    batter down: enfoncer
doorbell bell / part decor machine people = \
    ring: sonner
candle fireplace lamp heater / decor machine part care = \
    light: allumer; put out: éteindre; extinguish: éteindre
chimney / part = \
    sweep: ramoner
car truck van bus motorcycle taxi jeep limousine / ride people = \
    park: garer; crash: écraser; wreck: détruire; refuel: ravitailler; lease: louer; hire: \
    louer; rent out: louer; dent: cabosser; flag down: arrêter; service: réviser; repossess: \
    saisir; tow away: remorquer; speed up: accélérer; stop: arrêter
car truck bicycle motorcycle tractor van wheelchair scooter cart / ride = \
    push: pousser; steer: diriger
bicycle scooter motorcycle tricycle / ride animal = \
    ride: conduire
bus train plane ferry taxi tram boat / ride occasion people = \
    miss: rater; charter: affréter; delay: retarder
boat ship ferry yacht canoe raft sailboat barge / ride = \
    steer: diriger; dock: amarrer; board: aborder; sail: diriger; capsize: renverser; torpedo: \
    torpiller; refloat: renflouer; unmoor: détacher; tie up: amarrer; christen: baptiser
plane helicopter glider spaceship rocket / ride = \
    land: poser; fly: piloter; shoot down: abattre; refuel: ravitailler
machine vehicle boat aircraft / device handy instrument = \
    test: tester; operate: manœuvrer; overhaul: réviser; modernise: moderniser; modernize: \
    moderniser; service: entretenir
computer laptop tablet smartphone telephone robot modem printer / device idea = \
    restart: redémarrer; configure: configurer; unlock: déverrouiller; connect: connecter; \
    disconnect: déconnecter; set up: configurer; reprogram: reprogrammer; charge: charger; \
    crash: planter; boot up: démarrer
radio television loudspeaker alarm telephone / machine work people animal = \
    turn up: monter
radio television loudspeaker alarm siren / machine work people animal = \
    turn up: monter
telephone smartphone / machine = \
    pick up: décrocher; put down: raccrocher
oven heater kettle / machine container food drink room = \
    heat: chauffer; preheat: préchauffer
fridge freezer / machine = \
    defrost: dégivrer; stock: garnir
alarm / machine = \
    set off: déclencher; trigger: déclencher; deactivate: désactiver; activate: activer
alarm robot modem thermostat siren generator / device = \
    activate: activer; deactivate: désactiver; disable: désactiver; unplug: débrancher
clock wristwatch / machine jewel = \
    wind up: remonter; set: régler; put back: reculer
"""
