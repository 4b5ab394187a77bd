"""Transitive verbs of the anaphora text: what is done to sites, plants, machines, tools, ideas."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

DONE_TO_SITES = """\
house apartment kitchen bathroom theatre hotel / place part ride wood = \
    renovate: rénover
room garage desk drawer wardrobe cupboard shelf shed office apartment / site wood container = \
    tidy up: ranger
room courtyard sidewalk floor staircase balcony street platform shop stage garage / place part = \
    sweep: balayer
building island village city town beach / place ride = \
    evacuate: évacuer
field cellar valley meadow bathroom basement village road street tunnel kitchen house / part \
    place waters = \
    flood: inonder
field garden orchard vineyard / place plant = \
    irrigate: irriguer; fertilise: fertiliser; fertilize: fertiliser; fence off: clôturer
castle city fortress town island kingdom / place people = \
    besiege: assiéger; conquer: conquérir; bombard: bombarder
country island kingdom province / place = \
    invade: envahir; colonise: coloniser; colonize: coloniser
road street tunnel bridge path avenue / place part cloth = \
    widen: élargir
road -trail -shortcut courtyard / place part = \
    pave: paver
pond swamp pool canal / water waters container place = \
    drain: vider; dredge: draguer
house attic roof barn wall apartment school ceiling garage / place part container = \
    insulate: isoler
room blanket mattress quilt pillow office hut / wood place cloth = \
    air: aérer
bedroom corridor dormitory kitchen office wall apartment / part place wood = \
    wallpaper: tapisser
shop bank museum pharmacy villa house supermarket apartment warehouse bookshop office / place \
    people = \
    burgle: cambrioler; loot: piller
factory shop school hospital bakery restaurant cinema library theatre cafe hotel pub casino / \
    place device = \
    close down: fermer
hotel farm factory restaurant shop cafe pub bar bakery cinema casino school / place idea people \
    = \
    manage: gérer
wall cliff mountain tower fence / part place plant = \
    scale: escalader
door gate shutter / part site container furniture = \
    slam: claquer
wall fence pillar chimney / part place wood plant container people = \
    knock down: abattre
wall ceiling chimney bedroom / part place people = \
    plaster: plâtrer
kitchen bathroom floor roof / place part = \
    tile: carreler
bridge dam wall beam / part place stone wood = \
    reinforce: renforcer
bridge monument museum stadium library hospital school cathedral tunnel dam statue station / \
    place part occasion = \
    inaugurate: inaugurer
statue monument sculpture painting portrait bust plan / reading part decor picture idea = \
    unveil: dévoiler
tree oak fir pine birch maple / plant part building = \
    cut down: abattre
plant -tree -oak -fir -birch -pine -maple -willow -hedge -grass -hay -wheat -moss -weed -bouquet \
    / plant = \
    repot: rempoter
plant -hay -bouquet -grass -wheat -moss / plant = \
    transplant: transplanter
hedge bush shrub lawn / plant land animal = \
    trim: tailler
computer modem laptop tablet smartphone robot / machine = \
    reboot: redémarrer; reset: réinitialiser; hack: pirater
telephone tablet laptop smartphone camera robot drill flashlight scooter razor / handy device \
    toy people = \
    recharge: recharger
robot thermostat computer / device occasion = \
    program: programmer
clock thermostat alarm telescope microscope radio heater mirror belt saddle / clothing decor \
    device handy seat = \
    adjust: régler
radio television heater loudspeaker oven alarm / device idea people = \
    turn down: baisser
machine car door window roof / part device = \
    replace: remplacer
bicycle chain mower gate drill tricycle door pump / device part handy wood = \
    lubricate: lubrifier
scalpel needle bottle bandage knife jar razor / handy container care food drink = \
    sterilise: stériliser; sterilize: stériliser
bomb / device handy = \
    defuse: désamorcer
sword dagger / handy = \
    sheathe: rengainer; forge: forger
sword axe spear flag stick / handy textile = \
    brandish: brandir
screw bolt bulb tap hook / handy machine part = \
    unscrew: dévisser; tighten: serrer
nail / handy = \
    hammer in: enfoncer
rifle pistol cannon / handy device people = \
    reload: recharger
candle torch lamp fireplace cigarette oven lighter / care device decor part handy building = \
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
secret rumour plan / reading = \
    reveal: révéler; spread: répandre
rumour decision theory / reading people occasion = \
    confirm: confirmer
decision promise / reading people occasion = \
    regret: regretter; justify: justifier
excuse story method game / reading machine = \
    invent: inventer
question sentence answer paragraph proposal argument explanation / reading = \
    rephrase: reformuler
language poem song rule melody hymn / reading = \
    learn: apprendre
language method / reading people beast instrument = \
    master: maîtriser
problem question / reading people occasion = \
    debate: débattre
ticket table hotel / document wood place ride = \
    reserve: réserver
clothing jewel car sofa ticket bicycle machine house horse computer piano wood / object ride \
    food place beast = \
    purchase: acheter
"""
