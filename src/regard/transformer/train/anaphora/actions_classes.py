"""Transitive verbs of the anaphora text that fit whole classes of nouns."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

DONE_TO_CLASSES = """\
object part building ride / thing place work plant cloth = \
    destroy: détruire
building -ruin -pyramid -zoo / place part ride wood text people = \
    inspect: inspecter; surround: encercler; occupy: occuper; guard: garder; restore: \
    restaurer; enlarge: agrandir; renovate: rénover; evacuate: évacuer; rent: louer; reopen: \
    rouvrir; modernise: moderniser; modernize: moderniser; insulate: isoler; set on fire: \
    incendier; visit: visiter; repaint: repeindre; secure: sécuriser
room / place container ride wood = \
    sweep: balayer; tidy up: ranger; tidy: ranger; heat: chauffer; air: aérer; repaint: \
    repeindre; furnish: meubler; search: fouiller; redecorate: redécorer; ventilate: aérer; \
    soundproof: insonoriser; paint: peindre
land -planet -continent -volcano -cave -glacier / place = \
    visit: visiter; explore: explorer; map: cartographier; inhabit: habiter; populate: peupler; \
    discover: découvrir; ravage: ravager
waters -fountain -puddle -waterfall / place drink = \
    pollute: polluer; explore: explorer; contaminate: contaminer; chart: cartographier; \
    poison: empoisonner
pool pond ditch reservoir fountain lagoon puddle / waters container place = \
    drain: vider
ditch tunnel canal tomb / part place waters land = \
    dig: creuser
beach park lawn courtyard campsite / place = \
    litter: salir; rake: ratisser
planet / land = \
    discover: découvrir; observe: observer
part -tap -doorbell -stage / place wood ride stone = \
    repaint: repeindre; build: construire; restore: restaurer; demolish: démolir; reinforce: \
    renforcer; decorate: décorer
plant / vegetable land = \
    water: arroser; dig up: déterrer; uproot: déraciner; replant: replanter; prune: tailler; \
    cut: couper; smell: sentir
poppy lily carnation lilac daisy tulip rose bouquet flower orchid / plant food = \
    pick: cueillir; smell: sentir; arrange: arranger; sniff: humer; press: presser; water: \
    arroser
textile / clothing reading = \
    fold: plier; fold up: plier; iron: repasser; sew: coudre; shake out: secouer; mend: \
    raccommoder; stitch: coudre; dye: teindre; embroider: broder; wring out: essorer; stain: \
    tacher; tear: déchirer; dry: sécher; patch: rapiécer; unfold: déplier
clothing -helmet -wig -belt / textile = \
    dye: teindre; mend: raccommoder; stain: tacher; tear: déchirer; rip: déchirer; shrink: \
    rétrécir; iron: repasser; unpick: découdre
seat furniture -saddle / ride part machine = \
    assemble: monter; polish: cirer; dust: épousseter; repaint: repeindre; restore: \
    restaurer; varnish: vernir; put together: monter
container -bag -pocket -cage -carton / food object = \
    rinse: rincer; scrub: récurer; cover: couvrir
handy / object wood instrument = \
    use: utiliser; oil: huiler
pen pencil chalk eraser ruler / handy text = \
    chew: mordiller; use up: user
machine / device = \
    use: utiliser; test: tester; switch off: éteindre; invent: inventer; improve: \
    perfectionner; disconnect: débrancher
vehicle / ride = \
    park: garer; wreck: détruire; stop: arrêter; inspect: contrôler; paint: peindre
aircraft / ride = \
    design: concevoir; build: construire; fly: piloter; inspect: inspecter; track: suivre
toy / object decor = \
    give away: donner
ball balloon / toy = \
    kick: frapper; inflate: gonfler; pass: passer; blow up: gonfler
toy jewel decor clothing / object food = \
    give away: donner; donate: donner; wrap: emballer; gift-wrap: emballer; unwrap: déballer
decor / object part = \
    dust: épousseter; wrap: emballer; admire: admirer
salt sugar flour butter milk cream oil vinegar garlic parsley honey / food drink = \
    add: ajouter; sprinkle: saupoudrer; stir in: incorporer; mix in: incorporer
food drink / care = \
    waste: gaspiller; sample: goûter; finish: finir; enjoy: savourer; serve: servir; prepare: \
    préparer; try: goûter; finish off: finir; heat: chauffer; reheat: réchauffer; relish: \
    savourer
vegetable meat egg rice noodle potato / food fish = \
    cook: cuisiner; overcook: brûler; boil: bouillir; fry: poêler
almond garlic walnut grape egg / food bug container = \
    crush: écraser; grind: broyer
coin sheep cow ticket stamp book chair egg plate / object animate food thing = \
    count: compter
table window bedroom kitchen carpet field garden door shelf curtain / object place part cloth \
    people ride = \
    measure: mesurer
text / reading = \
    check: vérifier; improve: améliorer; finish: finir; rewrite: réécrire; translate: \
    traduire; reread: relire; destroy: détruire
recipe method plan theory / reading machine = \
    improve: améliorer; invent: inventer; test: essayer; perfect: perfectionner
idea work text / occasion people = \
    understand: comprendre; criticise: critiquer; criticize: critiquer; explain: expliquer; \
    invent: inventer
occasion / work idea = \
    cancel: annuler; postpone: reporter; organise: organiser; organize: organiser; prepare: \
    préparer; plan: planifier; enjoy: apprécier; interrupt: interrompre; film: filmer; call off: \
    annuler; put off: reporter
work / reading occasion = \
    create: créer; like: aimer; finish: finir; criticise: critiquer; criticize: critiquer; \
    record: enregistrer
document / text = \
    renew: renouveler; check: vérifier; issue: délivrer; show: présenter; validate: valider; \
    hand in: rendre; forge: falsifier
bug / animal food = \
    kill: tuer; crush: écraser; squash: écraser; swat: écraser; breed: élever; study: étudier
care -bandage -pill -cigarette -cigar / food drink = \
    spill: renverser; dilute: diluer; apply: appliquer; use up: finir
bandage / care cloth = \
    put on: poser; tear off: arracher; change: changer; remove: enlever
rock log / stone wood part handy = \
    roll: rouler
log branch plank beam pole / wood plant part = \
    saw: scier; chop: fendre; split: fendre; saw through: scier
instrument / object toy = \
    tune: accorder; practise: travailler; practice: travailler; smash: fracasser; restore: \
    restaurer
guitar violin harp cello banjo mandolin / instrument handy = \
    restring: recorder; strum: gratter
picture / reading part = \
    frame: encadrer; admire: admirer; draw: dessiner; restore: restaurer; sign: signer; forge: \
    falsifier; copy: copier; exhibit: exposer
log branch plank beam pole twig / stone wood plant part = \
    chop up: débiter; sand: poncer; saw: scier
brick plank log tile rock / stone wood part object thing = \
    stack up: empiler
seat -saddle -bench -throne / furniture textile = \
    reupholster: tapisser
blade needle / handy container = \
    sterilise: stériliser; sterilize: stériliser
pool pond ditch reservoir / waters container place land = \
    dig: creuser
beast bird small bug / animate = \
    scare off: effrayer; scare away: effrayer; shoo away: chasser
dog puppy cat people horse / animate machine text = \
    call back: rappeler; send away: renvoyer
dog puppy bear bicycle monkey elephant / animate ride = \
    chain up: enchaîner
pancake omelette steak mattress page card sausage cushion / food wood textile reading stone = \
    turn over: retourner; flip: retourner; flip over: retourner
butter chocolate cheese wax candle / food care jewel stone = \
    melt: fondre
soup milk coffee tea sauce meal pizza stew broth / food drink people animal = \
    warm up: réchauffer
attic cellar garage drawer wardrobe cupboard shed locker / container site furniture = \
    clear out: vider
essay exam thesis report questionnaire / reading occasion = \
    mark: corriger
bread meat cheese ham cake pie melon rope string branch fabric ribbon / food plant cloth handy \
    stone = \
    cut off: couper; cut in half: couper; cut: couper
branch bandage / stone clothing care = \
    tear off: arracher
wall tower barrier fence hedge / part place plant = \
    tear down: démolir; put up: dresser
candle lamp fireplace torch cigarette / decor machine part care = \
    put out: éteindre; snuff out: éteindre
letter parcel book ticket key bag suitcase wallet umbrella / object = \
    hand out: distribuer; send back: renvoyer; bring back: rapporter; drop off: déposer
"""
