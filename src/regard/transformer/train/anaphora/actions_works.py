"""Transitive verbs of the anaphora text: what is done to texts, works, occasions and ideas."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

DONE_TO_WORKS = """\
text -map / reading = \
    copy out: recopier; revise: réviser; shorten: abréger; interpret: interpréter; \
    criticise: critiquer; criticize: critiquer; distribute: distribuer; censor: censurer; \
    circulate: diffuser; bring out: publier; digitise: numériser; digitize: numériser; \
    adapt: adapter; ban: interdire
text document -stamp / reading = \
    sign: signer; write out: rédiger; copy: copier; rip up: déchirer; shred: déchiqueter; forge: \
    falsifier; print out: imprimer; laminate: plastifier; verify: vérifier
questionnaire petition contract cheque visa licence diploma / text document = \
    sign: signer; falsify: falsifier; authenticate: authentifier
book novel dictionary notebook magazine encyclopedia / reading container = \
    bind: relier; shelve: ranger; open: ouvrir; close: fermer; reprint: réimprimer; autograph: \
    dédicacer; dedicate: dédier; review: critiquer
letter email message telegram note postcard card parcel / reading container people = \
    forward: transmettre; deliver: livrer; receive: recevoir; address: adresser; intercept: \
    intercepter; send off: expédier; send back: renvoyer; dispatch: expédier; get: recevoir; \
    open: ouvrir
sentence question paragraph answer list / reading = \
    repeat: répéter; translate: traduire; correct: corriger; underline: souligner; highlight: \
    surligner; erase: effacer; jot down: noter; shout out: crier; whisper: murmurer; mumble: \
    marmonner; pronounce: prononcer; punctuate: ponctuer; spell: épeler; dictate: dicter
file email photo message film / text picture machine work = \
    download: télécharger; save: sauvegarder; attach: joindre; back up: sauvegarder
drawing sketch portrait painting poster map diagram / reading part cloth = \
    trace: calquer; draw: dessiner; colour in: colorier; color in: colorier; erase: effacer; pin \
    up: afficher; sketch: esquisser; put up: accrocher; exhibit: exposer; copy: copier; \
    reproduce: reproduire
painting portrait statue sculpture engraving photo / reading part decor = \
    exhibit: exposer; display: exposer; appraise: expertiser; appraize: expertiser; \
    authenticate: authentifier; commission: commander; unveil: dévoiler
statue sculpture bust column / picture part decor stone = \
    sculpt: sculpter; carve: sculpter; cast: couler
song melody hymn sonata symphony / reading instrument occasion toy = \
    play: jouer; whistle: siffler; sing: chanter; rehearse: répéter; perform: interpréter; \
    harmonise: harmoniser; harmonize: harmoniser; transcribe: transcrire; conduct: diriger; \
    improvise: improviser; record: enregistrer; hum: chantonner; arrange: arranger
film movie documentary series programme cartoon comedy tragedy opera / reading occasion = \
    watch: regarder; film: tourner; screen: projeter; subtitle: sous-titrer; produce: produire; \
    stage: monter; rewind: rembobiner; dub: doubler; rate: noter; download: télécharger; \
    broadcast: diffuser; finance: financer
story tale joke legend fable secret rumour / reading people = \
    make up: inventer; repeat: répéter; narrate: narrer; exaggerate: exagérer; retell: raconter; \
    believe: croire; recount: raconter; deny: nier; hear: entendre
speech / reading occasion = \
    deliver: prononcer; improvise: improviser; give: faire; interrupt: interrompre; broadcast: \
    diffuser
game match race tournament battle election war competition / occasion work toy people = \
    lose: perdre; win: remporter; referee: arbitrer; play: disputer; watch: regarder
meeting party concert wedding conference festival ceremony match lesson exam trip exhibition / \
    occasion work idea = \
    plan: planifier; schedule: programmer; arrange: organiser; call off: annuler; put off: \
    reporter; hold: tenir; interrupt: interrompre; cancel: annuler; set up: organiser; prepare: \
    préparer; enjoy: apprécier; spoil: gâcher; organise: organiser; organize: organiser; bring \
    forward: avancer; disrupt: perturber; end: terminer; adjourn: ajourner; advertise: annoncer; \
    sponsor: parrainer; host: accueillir
exam lesson course seminar / occasion text = \
    pass: réussir; fail: rater; teach: donner; flunk: rater; prepare: préparer; grade: noter
journey trip expedition cruise flight / occasion = \
    book: réserver; put off: reporter; prolong: prolonger; plan: préparer; interrupt: \
    interrompre
war strike debate trial election battle / occasion people idea = \
    avoid: éviter; declare: déclarer; prevent: empêcher; provoke: provoquer; wage: mener; \
    end: arrêter; fight: livrer
idea plan proposal suggestion project method solution theory / reading people occasion = \
    put forward: proposer; adopt: adopter; drop: abandonner; carry out: exécuter; think over: \
    examiner; implement: appliquer; dismiss: écarter; oppose: combattre; support: soutenir; \
    defend: défendre; develop: développer; think up: imaginer; dream up: imaginer; test out: \
    tester; work out: élaborer; suggest: suggérer; rethink: repenser; finance: financer; \
    criticise: critiquer; criticize: critiquer; welcome: saluer; abandon: abandonner; present: \
    présenter; try out: essayer; endorse: approuver; back: appuyer; reconsider: reconsidérer
problem question / reading people occasion = \
    tackle: aborder; raise: soulever; ask: poser; face: affronter; bring up: soulever; overcome: \
    surmonter; sort out: régler; resolve: résoudre; work out: résoudre; settle: trancher; \
    mention: mentionner; understand: comprendre; foresee: prévoir; pose: poser; examine: \
    examiner
answer explanation excuse argument promise decision theory / reading people = \
    accept: accepter; understand: comprendre; question: contester; dispute: contester; guess: \
    deviner; repeat: répéter; contest: contester; give: donner; demand: exiger; prove: prouver
decision promise / reading people = \
    make: prendre
decision rule law theory / reading people = \
    contest: contester; announce: annoncer; oppose: contester; overturn: annuler; uphold: \
    maintenir
promise / reading = \
    keep: tenir; honour: tenir; honor: tenir
law rule treaty / reading people = \
    pass: voter; enforce: appliquer; violate: violer; abolish: abolir; respect: respecter; \
    infringe: enfreindre; amend: amender; draft: rédiger; ratify: ratifier; impose: imposer; \
    obey: respecter; flout: bafouer; quote: citer
secret / reading = \
    keep: garder; disclose: divulguer; betray: trahir; divulge: divulguer; discover: découvrir; \
    guess: deviner; share: partager; confess: avouer
language / reading = \
    speak: parler; learn: apprendre; teach: enseigner; study: étudier; understand: comprendre; \
    forget: oublier
theory method / reading = \
    teach: enseigner; test: vérifier
project plan / reading occasion people = \
    fund: financer; launch: lancer; delay: retarder; complete: achever; postpone: reporter; \
    direct: diriger
trophy medal diploma certificate / jewel document = \
    award: décerner; earn: mériter; win: remporter
recipe list message poem letter note essay report summary thesis / reading = \
    write down: noter; write: écrire; hand in: rendre
"""
