"""Transitive verbs of the anaphora text, of which the pronoun is the object."""

# nouns that they fit / nouns that they might fit too = english: french; ...
DONE_TO = """\
beast people / animate = \
    scold: gronder; calm down: calmer
dog cat puppy kitten horse / animate object = \
    adopt: adopter; vaccinate: vacciner; groom: toiletter; call: appeler
creature / bug people = \
    rescue: secourir; comfort: réconforter; scare: effrayer; wound: blesser; hug: embrasser
beast bird fish / animate = \
    shoot: abattre; hunt: chasser; tie up: attacher
people / animate = \
    marry: épouser; hire: embaucher; dismiss: licencier; congratulate: féliciter; phone: \
    appeler; greet: saluer; insult: insulter; believe: croire; criticise: critiquer; question: \
    interroger; betray: trahir
fruit vegetable meat cheese bread cake / food wood = \
    slice: trancher; chop: hacher
egg potato meat fish mushroom / food fish = \
    grill: griller
cake bread pie pizza / food = \
    bake: cuire
food / drink fish care = \
    digest: digérer; devour: dévorer; order: commander; chew: mâcher; serve: servir
drink / food water waters = \
    sip: siroter; dilute: diluer; cool: refroidir
medicine pill syrup / care food drink = \
    prescribe: prescrire
container / furniture part text = \
    open: ouvrir; close: fermer
suitcase bag / container = \
    pack: préparer; unpack: défaire
glass plate vase mirror cup / container part toy = \
    smash: briser
vehicle / ride beast = \
    tow: remorquer; insure: assurer; overtake: dépasser
boat / ride = \
    moor: amarrer
plane helicopter / ride toy = \
    pilot: piloter
text / reading = \
    reread: relire; print: imprimer; edit: corriger; summarise: résumer; quote: citer
letter parcel postcard message / text document container = \
    post: poster; send: envoyer; mail: envoyer
song / work = \
    sing: chanter
film movie documentary programme / reading = \
    record: enregistrer
instrument / work toy = \
    practise: travailler
clothing / textile = \
    try on: essayer; mend: raccommoder; fold: plier; put on: mettre; button: boutonner; \
    unbutton: déboutonner
house apartment villa bedroom / place = \
    redecorate: redécorer; paint: peindre
door gate drawer / part container site = \
    unlock: déverrouiller
plant vegetable / place = \
    grow: cultiver; uproot: déraciner
field garden lawn / land plant = \
    mow: tondre; plough: labourer
machine / device = \
    plug in: brancher; fix: réparer; turn on: allumer; turn off: éteindre; install: installer
idea / reading people = \
    discuss: discuter; reject: rejeter; accept: accepter; propose: proposer; consider: \
    examiner
problem / idea reading = \
    solve: résoudre; analyse: analyser
occasion / work document = \
    cancel: annuler; postpone: reporter; organise: organiser
map painting photo statue / reading part = \
    study: étudier; admire: admirer
ticket passport / document reading = \
    renew: renouveler
city town island country / place = \
    govern: gouverner
"""
