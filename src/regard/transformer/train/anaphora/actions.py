"""Transitive verbs of the anaphora text, of which the pronoun is the object."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

DONE_TO = """\
beast people parrot / animate = \
    scold: gronder; calm down: calmer
dog cat puppy kitten horse pony rabbit donkey goat hamster parrot monkey / animate object = \
    adopt: adopter; vaccinate: vacciner; groom: toiletter; call: appeler
beast bird people small / animate = \
    rescue: secourir; comfort: réconforter; scare: effrayer; wound: blesser; hug: embrasser
beast bird small / animate = \
    shoot: abattre; hunt: chasser; tie up: attacher
people / animate = \
    marry: épouser; hire: embaucher; dismiss: licencier; congratulate: féliciter; phone: \
    appeler; greet: saluer; insult: insulter; believe: croire; criticise: critiquer; criticize: \
    critiquer; question: interroger; betray: trahir
fruit vegetable meat cheese bread cake / food wood = \
    slice: trancher; chop: hacher
egg potato meat mushroom steak sausage chop bacon courgette aubergine onion corn hamburger bread \
    salmon sardine trout tuna / food fish = \
    grill: griller
cake bread pie pizza biscuit muffin potato pudding croissant loaf / food = \
    bake: cuire
food / drink fish care = \
    digest: digérer; devour: dévorer; order: commander; chew: mâcher; serve: servir
drink / food water waters = \
    sip: siroter; dilute: diluer; cool: refroidir
medicine pill syrup antibiotic aspirin remedy ointment vaccine drug / care food drink = \
    prescribe: prescrire
container -bowl -cup -plate -glass -mug -tray -saucer -vase -pan -bathtub -ashtray -bucket / \
    furniture part text = \
    open: ouvrir; close: fermer
suitcase bag backpack handbag briefcase crate carton box / container = \
    pack: préparer; unpack: défaire
glass plate vase mirror cup bottle jar window bowl mug bulb teapot jug saucer / container part \
    toy machine decor = \
    smash: briser
vehicle / ride beast = \
    tow: remorquer; insure: assurer; overtake: dépasser
boat / ride = \
    moor: amarrer
plane helicopter / ride toy = \
    pilot: piloter
text / reading = \
    reread: relire; print: imprimer; edit: corriger; summarise: résumer; summarize: résumer; \
    quote: citer
letter parcel postcard message card telegram envelope cheque report invoice email gift / text \
    document container = \
    post: poster; send: envoyer; mail: envoyer
song hymn melody / work = \
    sing: chanter
film movie documentary programme song concert speech series symphony melody / reading occasion = \
    record: enregistrer
instrument song sonata melody / work toy = \
    practise: travailler; practice: travailler
clothing / textile = \
    try on: essayer; mend: raccommoder; fold: plier; put on: mettre; button: boutonner; \
    unbutton: déboutonner
house apartment villa bedroom kitchen bathroom office hotel cottage classroom / place = \
    redecorate: redécorer; paint: peindre
door gate drawer chest suitcase locker car house apartment shop office cell / part container \
    site ride machine = \
    unlock: déverrouiller
plant vegetable / place = \
    grow: cultiver; uproot: déraciner
field garden lawn meadow pasture / land plant = \
    mow: tondre; plough: labourer; plow: labourer
machine / device = \
    plug in: brancher; fix: réparer; turn on: allumer; turn off: éteindre; install: installer
idea / reading people = \
    discuss: discuter; reject: rejeter; accept: accepter; propose: proposer; consider: examiner
problem question puzzle / idea reading toy = \
    solve: résoudre; analyse: analyser; analyze: analyser
occasion / work document = \
    cancel: annuler; postpone: reporter; organise: organiser; organize: organiser
map picture statue sculpture monument castle cathedral / reading part place decor = \
    study: étudier; admire: admirer
ticket passport visa licence contract / document reading = \
    renew: renouveler
city town island country / place = \
    govern: gouverner
beast bird small fish / animate toy = \
    set free: libérer; capture: capturer; trap: piéger
dog puppy horse pony / animate ride = \
    walk: promener; muzzle: museler
horse pony mare donkey mule / animate ride = \
    saddle: seller; harness: atteler
sheep ewe lamb llama ram / animal plant = \
    shear: tondre; round up: rassembler
beast bird people -bug / animate plant = \
    treat: soigner; bandage: panser; sedate: endormir
beast people / animate food fish = \
    spoil: gâter; punish: punir; reward: récompenser; reassure: rassurer; tease: taquiner; \
    tickle: chatouiller; provoke: provoquer; worry: inquiéter; cuddle: câliner
animal / animate = \
    kill: tuer; domesticate: domestiquer; breed: élever
pig cow sheep hen turkey chicken calf lamb goose duck ox rabbit / animal people = \
    fatten: engraisser; slaughter: abattre
people / animate text = \
    promote: promouvoir; employ: employer; blame: blâmer; accuse: accuser; advise: conseiller; \
    warn: prévenir; inform: informer; help: aider; flatter: flatter; seduce: séduire; elect: \
    élire; judge: juger; bribe: soudoyer; persuade: persuader; convince: convaincre; \
    interrogate: interroger; recruit: recruter; consult: consulter; contact: contacter; deceive: \
    tromper; humiliate: humilier; threaten: menacer; encourage: encourager; honour: honorer; \
    honor: honorer; welcome: accueillir; escort: escorter; imprison: emprisonner; despise: \
    mépriser; pity: plaindre; contradict: contredire
meat beef pork chop sausage steak lamb turkey ham chicken / food animal = \
    roast: rôtir; marinate: mariner; carve: découper
tomato cabbage courgette aubergine / food bird toy animal = \
    stuff: farcir
soup meat sauce rice potato omelette stew / food drink road = \
    salt: saler; pepper: poivrer
tea coffee yoghurt lemonade cocoa / food drink = \
    sweeten: sucrer
potato banana pumpkin carrot avocado bean turnip / food bug = \
    mash: écraser
cheese carrot cabbage chocolate potato coconut cucumber apple / food wood = \
    grate: râper
lemon grapefruit pomegranate orange tomato sponge grape / food toy cloth care = \
    squeeze: presser
meat onion garlic parsley beef pork carrot mushroom / food = \
    mince: hacher
meat bread soup strawberry raspberry pizza / food drink fish = \
    freeze: congeler; defrost: décongeler
dish milk coffee tea cocoa -salt -sugar -flour -butter -honey -jam -mustard -vinegar -oil / food \
    drink = \
    reheat: réchauffer
soup sauce stew coffee tea cocoa curry rice broth salad jam cocktail yoghurt / food drink = \
    stir: remuer
food -salt -flour -oil -vinegar -mustard -sugar / drink fish care = \
    savour: savourer; gobble up: engloutir
biscuit cheese carrot bread almond peanut walnut apple chocolate sandwich croissant popcorn / \
    food = \
    nibble: grignoter
fruit vegetable vine -pineapple / plant food land = \
    harvest: récolter
drink syrup / food care = \
    gulp down: avaler
beer cider juice oil milk / drink food care container = \
    bottle: embouteiller; filter: filtrer
drink soup sauce / food container care = \
    spill: renverser
vaccine drug antibiotic medicine poison / care drink = \
    inject: injecter
cigarette cigar tobacco / care food fish pipe = \
    smoke: fumer
ointment lipstick powder perfume shampoo soap wax / care idea = \
    apply: appliquer
door gate chest suitcase drawer cupboard window house car locker cell garage cage / part \
    container site ride furniture = \
    force open: forcer
envelope letter parcel jar / text document container part = \
    seal up: sceller
bottle jug barrel / container part = \
    cork: boucher; uncork: déboucher
gift parcel packet chocolate sandwich box envelope / container food document decor thing = \
    unwrap: déballer
bottle jar box parcel / container part = \
    relabel: réétiqueter
truck van ship cart wagon wheelbarrow trailer train barge boat plane dishwasher / device \
    container = \
    unload: décharger
saucepan pan pot bathtub floor plate bowl oven kitchen table potato staircase / food container \
    part place = \
    scrub: récurer
vase glass plate mirror window bulb / container part decor machine toy = \
    shatter: briser
wardrobe bookcase bed table trampoline / wood toy machine = \
    assemble: monter
wardrobe bed tent trampoline / wood toy machine ride building instrument handy = \
    dismantle: démonter
table desk chair door floor plank / wood part stone = \
    sand: poncer
sofa armchair chair stool bench / wood = \
    upholster: tapisser
plane bus ship ferry train / ride = \
    hijack: détourner
ship boat warship submarine raft canoe / ride = \
    sink: couler; anchor: ancrer
rocket satellite submarine boat ship shuttle spaceship / ride idea occasion work toy = \
    launch: lancer
house car wall door gate fence boat bicycle bedroom bench chair shutter kitchen ship truck / \
    part place ride wood object = \
    repaint: repeindre
car truck motorcycle boat / ride document people = \
    register: immatriculer
article report newspaper magazine book / reading = \
    skim: parcourir; annotate: annoter; proofread: relire
poem speech song list fable hymn / reading = \
    memorise: mémoriser; memorize: mémoriser; recite: réciter
letter contract photo newspaper poster cheque page ticket map drawing note list envelope receipt \
    / text document picture cloth = \
    tear up: déchirer
letter report essay contract article / reading = \
    type: taper; draft: rédiger; rewrite: réécrire
contract passport letter page diploma certificate / reading = \
    photocopy: photocopier; scan: numériser; staple: agrafer
book novel tale fable / reading = \
    illustrate: illustrer
email message file paragraph sentence photo page chapter list / reading machine = \
    delete: supprimer
letter note message telegram report speech poem / reading = \
    decipher: déchiffrer; dictate: dicter
passport visa ticket letter envelope parcel postcard certificate card / document text container \
    = \
    stamp: tamponner
cheque / document text = \
    cash: encaisser
invoice receipt report letter contract certificate cheque / document text = \
    file: classer
law rule treaty plan / reading = \
    approve: approuver; repeal: abroger
story tale joke legend / reading = \
    tell: raconter
song symphony opera hymn sonata melody / reading = \
    compose: composer
song melody hymn / reading = \
    hum: fredonner
film movie series cartoon / reading = \
    dub: doubler
film movie documentary / reading idea = \
    direct: réaliser
programme concert film match speech / work occasion reading = \
    broadcast: diffuser
concert performance opera speech / work occasion people = \
    rehearse: répéter; applaud: applaudir
race match battle election war trial tournament / occasion work toy = \
    win: gagner
election festival match conference / occasion work place = \
    boycott: boycotter; reschedule: reprogrammer
birthday wedding festival ceremony / occasion = \
    celebrate: fêter
painting statue castle church / picture part place decor wood = \
    restore: restaurer
photo drawing portrait map diagram logo sketch / picture text = \
    enlarge: agrandir; retouch: retoucher
ring medal tomb bracelet trophy necklace cup sword / jewel part object = \
    engrave: graver
sock sweater glove curtain shirt scarf jacket cardigan tablecloth / cloth = \
    darn: repriser
shoe boot / clothing = \
    lace up: lacer; resole: ressemeler
scarf ribbon rope string / cloth handy beast = \
    knot: nouer
map blanket sheet tablecloth newspaper / cloth reading = \
    unfold: déplier
handkerchief tablecloth dress cushion / cloth = \
    embroider: broder
towel handkerchief swimsuit mop sponge / cloth handy = \
    wring out: essorer
skirt dress coat curtain / cloth reading occasion work = \
    shorten: raccourcir; lengthen: rallonger
shirt dress suit skirt blouse tie tablecloth jacket sheet letter / cloth text document = \
    crease: froisser
sweater coat slipper glove sock jacket / cloth jewel = \
    slip on: enfiler
carpet mat map poster bandage hose rope blanket / care cloth reading handy = \
    unroll: dérouler
"""
