"""Verb phrases of animals, people and plants in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

DONE_BY_LIVING = """\
dog puppy wolf / animate = \
    be barking: aboyer; be barking at the postman: aboyer après le facteur; be growling: \
    grogner; bark all night: aboyer toute la nuit; growl at everyone: grogner après tout le \
    monde
dog puppy wolf fox / animal people = \
    howl: ~ hurler
cat kitten / animate machine = \
    purr: ~ ronronner; be purring: ronronner; be meowing: miauler
dog puppy / animate = \
    be wagging its tail: remuer la queue; need a walk: avoir besoin d'une promenade; want to \
    go for a walk: vouloir aller se promener
horse pony mare donkey / animal = \
    be galloping: galoper; neigh: ~ hennir; need new horseshoes: avoir besoin de nouveaux fers
lion tiger bear / animal machine = \
    roar: ~ rugir; be roaring: rugir
sheep lamb goat / animal = \
    be bleating: bêler; be grazing: brouter l'herbe
cow sheep horse goat / animal people machine = \
    give birth: > mettre bas; be grazing in the meadow: brouter dans la prairie
cow goat / animal land = \
    give a lot of milk: donner beaucoup de lait
hen duck goose / animal bird = \
    lay eggs: pondre des œufs; be sitting on its eggs: couver ses œufs
bird / animal ride = \
    build a nest: construire un nid; be flying away: s'envoler; have wounded wings: avoir les \
    ailes blessées
beast small bird fish / animate = \
    have sharp teeth: avoir des dents pointues; run away from people: avoir peur des gens; \
    have four young: avoir quatre petits; live in a zoo: vivre dans un zoo; live in the wild: \
    vivre à l'état sauvage; defend its young: défendre ses petits
beast people / animate machine = \
    be coughing: tousser; be snoring: ronfler; be limping: boiter; yawn: ~ bâiller; sneeze: ~ \
    éternuer; be in pain: souffrir; lose weight: perdre du poids; sweat: ~ transpirer
creature / bug = \
    be starving to death: mourir de faim; be dying of thirst: mourir de soif; need food: avoir \
    besoin de nourriture; want to be alone: vouloir être seul*; hear a noise: > entendre un \
    bruit; smell smoke: sentir la fumée; hate the cold: détester le froid; love the sun: \
    adorer le soleil; seem worried: sembler inquiet*; look exhausted: avoir l'air fatigué*; \
    look happy: avoir l'air heureux*; feel lonely: se sentir seul*; feel better: aller mieux; \
    get tired quickly: se fatiguer vite; have good eyes: avoir de bons yeux; have a good sense \
    of smell: avoir un bon odorat; be afraid of thunder: avoir peur du tonnerre; be afraid of \
    the dark: avoir peur du noir; need help: avoir besoin d'aide
fish / animal boat people = \
    swim very fast: nager très vite; live in the sea: vivre dans la mer; breathe under water: \
    respirer sous l'eau
people / animate = \
    be crying: pleurer; cry: ~ pleurer; be waiting for the bus: attendre le bus; know the \
    answer: connaître la réponse; know the truth: connaître la vérité; want to apologise: \
    vouloir s'excuser; feel guilty: se sentir coupable*; feel ashamed: avoir honte; be right: \
    avoir raison; be wrong: avoir tort; have a lot of work: avoir beaucoup de travail; speak \
    French: parler français; speak too loudly: parler trop fort; deceive everyone: tromper \
    tout le monde; tell lies: raconter des mensonges; win the race: > gagner la course; lose the \
    game: > perdre la partie; earn a lot of money: gagner beaucoup d'argent; owe a lot of money: \
    devoir beaucoup d'argent; study medicine: étudier la médecine; smoke too much: fumer trop; \
    work at night: travailler la nuit; work hard: travailler dur; complain about everything: \
    se plaindre de tout; ask for help: demander de l'aide; want to become a doctor: vouloir \
    devenir médecin; have a toothache: avoir mal aux dents; have a sore throat: avoir mal à la \
    gorge; have a backache: avoir mal au dos; blush: > rougir; have blue eyes: avoir les yeux \
    bleus; have a beard: avoir une barbe; love music: adorer la musique; hate mathematics: \
    détester les mathématiques; play the piano: jouer du piano; live abroad: vivre à \
    l'étranger; be on the phone: être au téléphone; need advice: avoir besoin de conseils; \
    pass the exam: > réussir l'examen; fail the exam: > rater l'examen; change jobs: changer de \
    travail; look for a job: chercher un travail; look for an apartment: chercher un \
    appartement; celebrate a birthday: > fêter un anniversaire; own a driving licence: avoir le \
    permis de conduire; sign autographs: signer des autographes
plant / place vegetable = \
    need a lot of sun: avoir besoin de beaucoup de soleil; flower in spring: fleurir au \
    printemps; lack water: manquer d'eau; be in full bloom: être en pleine floraison; have \
    thorns: avoir des épines; be covered with buds: être couvert* de bourgeons
tree oak willow pine / plant people = \
    bear fruit: donner des fruits; lose its foliage: perdre son feuillage
bug / animal plant = \
    have tiny legs: avoir de minuscules pattes; live only a few days: vivre seulement quelques \
    jours
mosquito fly wasp bee flea tick / animal people = \
    carry diseases: transmettre des maladies
"""
