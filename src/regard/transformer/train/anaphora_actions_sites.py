"""Transitive verbs of the anaphora text: what is done to sites, plants, machines, tools, ideas."""

# nouns that they fit / nouns that they might fit too = english: french; ...
DONE_TO_SITES = """\
house apartment kitchen bathroom theatre hotel / place part ride wood = \
    renovate: rénover
bedroom kitchen attic garage desk drawer / site wood container = \
    tidy up: ranger
kitchen courtyard sidewalk floor staircase / place part = \
    sweep: balayer
school hospital stadium theatre hotel island / place ride = \
    evacuate: évacuer
field cellar valley meadow / place waters = \
    flood: inonder
field garden orchard vineyard / place plant = \
    irrigate: irriguer; fertilise: fertiliser; fertilize: fertiliser; fence off: clôturer
castle city fortress town island kingdom / place people = \
    besiege: assiéger; conquer: conquérir; bombard: bombarder
country island kingdom province / place = \
    invade: envahir; colonise: coloniser; colonize: coloniser
house bridge wall church city tower / place part ride wood = \
    rebuild: reconstruire
road street tunnel bridge path avenue / place part cloth = \
    widen: élargir
road street courtyard / place part = \
    pave: paver
pond swamp pool canal / water waters container place = \
    drain: vider; dredge: draguer
house attic roof barn / place part container = \
    insulate: isoler
bedroom classroom kitchen cellar / place cloth = \
    air: aérer
bedroom corridor dormitory / place wood = \
    wallpaper: tapisser
shop bank museum pharmacy villa / place people = \
    burgle: cambrioler; loot: piller
factory shop school hospital bakery / place device = \
    close down: fermer
hotel farm factory restaurant shop / place idea people = \
    manage: gérer
wall cliff mountain tower fence / part place plant = \
    scale: escalader
door gate shutter / part site container furniture = \
    slam: claquer
wall fence pillar chimney / part place wood plant container people = \
    knock down: abattre
wall ceiling chimney / part place people = \
    plaster: plâtrer
kitchen bathroom floor / place part = \
    tile: carreler
bridge dam wall beam / part place stone wood = \
    reinforce: renforcer
bridge monument museum stadium library / place part occasion = \
    inaugurate: inaugurer
statue monument sculpture / part decor picture idea = \
    unveil: dévoiler
tree oak fir pine birch maple / plant part building = \
    cut down: abattre
orchid fern cactus geranium / plant = \
    repot: rempoter
tree rose shrub geranium tulip / plant = \
    transplant: transplanter
hedge bush shrub lawn / plant land animal = \
    trim: tailler
computer modem laptop tablet smartphone robot / machine = \
    reboot: redémarrer; reset: réinitialiser; hack: pirater
telephone tablet laptop smartphone camera / device toy people = \
    recharge: recharger
robot thermostat computer / device occasion = \
    program: programmer
clock thermostat alarm telescope / device handy seat = \
    adjust: régler
radio television heater loudspeaker / device idea people = \
    turn down: baisser
fridge printer computer television car / device = \
    replace: remplacer
bicycle chain mower / device part handy wood = \
    lubricate: lubrifier
scalpel needle bottle bandage / handy container care food drink = \
    sterilise: stériliser; sterilize: stériliser
bomb / device handy = \
    defuse: désamorcer
sword dagger / handy = \
    sheathe: rengainer; forge: forger
sword axe spear flag stick / handy textile = \
    brandish: brandir
screw bolt bulb / handy machine part = \
    unscrew: dévisser; tighten: serrer
nail / handy = \
    hammer in: enfoncer
rifle pistol cannon / handy device people = \
    reload: recharger
candle torch lamp / device decor handy building = \
    light: allumer; blow out: souffler
balloon ball raft / toy ride seat = \
    deflate: dégonfler
balloon / toy container = \
    pop: crever
puzzle questionnaire thesis essay / toy reading work occasion = \
    complete: terminer
theory argument explanation / reading people = \
    refute: réfuter
idea rule method theory / reading people machine toy = \
    explain: expliquer; simplify: simplifier
secret rumour / reading = \
    reveal: révéler; spread: répandre
rumour decision theory / reading people occasion = \
    confirm: confirmer
decision promise / reading people occasion = \
    regret: regretter; justify: justifier
excuse story method game / reading machine = \
    invent: inventer
question sentence answer / reading = \
    rephrase: reformuler
language poem song rule / reading = \
    learn: apprendre
language method / reading people beast instrument = \
    master: maîtriser
problem question / reading people occasion = \
    debate: débattre
ticket table hotel / document wood place ride = \
    reserve: réserver
coat ring car sofa ticket bicycle / object ride food place beast = \
    purchase: acheter
"""
