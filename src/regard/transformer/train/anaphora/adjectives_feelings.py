"""Feelings, traits and states of living beings as adjectives of the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_FEELINGS = """\
animate = \
    + frustrated: frustré; + bored: lassé; + amused: amusé; + astonished: étonné; + amazed: \
    stupéfait; + shocked: choqué; + horrified: horrifié; + puzzled: perplexe; + bewildered: \
    déconcerté; + discouraged: découragé; + troubled: troublé; + startled: saisi; + \
    intimidated: intimidé; + fascinated: fasciné; + intrigued: intrigué; + dazzled by the \
    light: ébloui* par la lumière; enraged: enragé; + content: content; + relaxed: détendu; + \
    reassured: rassuré; + comforted: réconforté; + hopeful: plein* d'espoir; + energetic: \
    énergique; + lively: vif; full of energy: plein* d'énergie; full of life: plein* de vie; + \
    active: actif; + determined: déterminé; + ill at ease: !mal à l'aise; + hesitant: \
    hésitant; + reluctant: réticent; + wary: méfiant; + suspicious: méfiant; + vigilant: \
    vigilant; + watchful: attentif; + attentive: attentif; + distracted: distrait; + careful: \
    prudent; + reckless: téméraire; + daring: audacieux; + frantic: affolé; + panic-stricken: \
    affolé; + dizzy: étourdi; shivering: grelottant; trembling: tremblant; + sore: endolori; + \
    stiff: ankylosé; numb with cold: engourdi* par le froid; weak with hunger: affaibli* par \
    la faim; paralysed: paralysé; bleeding: !en sang; covered in blood: couvert* de sang; in \
    pain: avoir mal; in agony: !à l'agonie; infected: infecté; poisoned: empoisonné; + \
    malnourished: mal nourri*; + well fed: bien nourri*; overfed: trop nourri*; + emaciated: \
    amaigri; in good shape: !en forme; + nimble: leste; in danger: !en danger; in trouble: \
    avoir des ennuis; in a hurry: pressé; in shock: !en état de choc; in despair: !au \
    désespoir; on the run: !en fuite; on the loose: !en liberté; at rest: !au repos; on the \
    alert: !aux aguets; ready to attack: prêt* à attaquer; ready to run away: prêt* à fuir; \
    unable to move: incapable* de bouger; out of danger: !hors de danger; near death: !à \
    l'article de la mort; close to death: proche* de la mort; half dead: à moitié mort*; half \
    asleep: à moitié endormi*; half starved: à moitié mort* de faim; sound asleep: \
    profondément endormi*; + uneasy: inquiet; + fearful: craintif; + alarmed: alarmé; \
    petrified: pétrifié; + jumpy: nerveux; + tense: tendu; + weak: faible; + feeble: faible; + \
    frail: frêle; + weakened: affaibli; lying down: couché; + disoriented: désorienté; \
    stranded: bloqué; surrounded: encerclé; captured: capturé; rescued: secouru; released: \
    relâché; saved: sauvé; + happy to be outside: heureux* d'être dehors; tired of waiting: \
    fatigué* d'attendre; tired of running: fatigué* de courir; eager to play: impatient* de \
    jouer; afraid of the dark: avoir peur du noir; afraid of the noise: avoir peur du bruit; \
    afraid of the storm: avoir peur de l'orage; afraid of water: avoir peur de l'eau; afraid \
    of strangers: avoir peur des inconnus; used to the cold: habitué* au froid; used to \
    people: habitué* aux humains; about to die: sur le point de mourir; about to run away: sur \
    le point de fuir; about to attack: sur le point d'attaquer
creature / bug = \
    + amazed by everything: émerveillé* par tout; + bewitched: ensorcelé; + outraged: indigné; \
    + indignant: indigné; + displeased: mécontent; + discontented: mécontent; + enthusiastic: \
    enthousiaste; + eager: enthousiaste; + motivated: motivé; + confident: confiant; + \
    undecided: indécis; + willing to help: prêt* à aider; + trusting: confiant; + inattentive: \
    inattentif; + stupid: stupide; + silly: bête; + dumb: bête; + foolish: sot; + insane: fou; \
    + hysterical: hystérique; + nauseous: nauséeux; seasick: avoir le mal de mer; crippled: \
    estropié; disabled: handicapé; bruised: couvert* de bleus; contagious: contagieux; \
    dehydrated: déshydraté; overweight: !en surpoids; + obese: obèse; + chubby: potelé; + \
    slim: svelte; + bony: osseux; + athletic: sportif; + graceful: gracieux; + awkward: \
    gauche; + mischievous: espiègle; + cunning: rusé; + sly: rusé; + sneaky: sournois; + \
    crafty: rusé; + gentle: doux; + good-natured: bon* et doux*; + well behaved: bien élevé*; \
    + badly behaved: mal élevé*; + ill-tempered: acariâtre; + moody: lunatique; + cranky: \
    grincheux; + irritable: irritable; + temperamental: capricieux; + violent: violent; + \
    merciless: impitoyable; + ruthless: impitoyable; heartless: !sans cœur; good-hearted: !au \
    grand cœur; + protective: protecteur; + possessive: possessif; + territorial: territorial; \
    + solitary: solitaire; + unfriendly: inamical; + unsociable: peu sociable*; + quarrelsome: \
    querelleur; + gullible: crédule; + pampered: choyé; + neglected: négligé; mistreated: \
    maltraité; abused: maltraité; beaten: battu; punished: puni; rewarded: récompensé; + well \
    cared for: bien soigné*; one-eyed: borgne; toothless: édenté; in a bad mood: !de mauvaise \
    humeur; in a good mood: !de bonne humeur; in good hands: !entre de bonnes mains; on a \
    diet: !au régime; under stress: stressé; under anaesthetic: !sous anesthésie; afraid of \
    heights: avoir le vertige; good with children: doux* avec les enfants; fond of children: \
    attaché* aux enfants; + interested in everything: curieux* de tout; + ticklish: \
    chatouilleux; + hoarse: enroué; mute: muet; sweaty: !en sueur; covered with scars: \
    couvert* de cicatrices; immune: immunisé; orphaned: orphelin; abandoned by everyone: \
    abandonné* de tous; + observant: observateur; + quick-witted: vif* d'esprit; + \
    resourceful: débrouillard; + excitable: excitable; + temperate: modéré; + adventurous: \
    aventureux; + persistent: persévérant; + tenacious: tenace; + obstinate: obstiné; + \
    inquisitive: curieux; + fussy about food: difficile* sur la nourriture; + picky: \
    difficile; + gluttonous: glouton; + vulnerable: vulnérable; helpless: !sans défense; \
    defenceless: !sans défense; powerless: impuissant; + competitive: compétitif; + dominant: \
    dominant; + submissive: soumis; + undisciplined: indiscipliné; + unruly: indiscipliné; + \
    disciplined: discipliné; + devoted: dévoué; + courageous: courageux; + heroic: héroïque; + \
    spirited: fougueux; + hot-tempered: colérique; + nasty: méchant; + wicked: méchant; + \
    malicious: malveillant; + spiteful: rancunier; + revengeful: rancunier; + envious: \
    envieux; + bewildered by the noise: désorienté* par le bruit; + senile: sénile; + elderly: \
    âgé; sterile: stérile; immortal: immortel; mortal: mortel; unharmed: indemne; unhurt: \
    indemne; safe and sound: sain* et sauf*; cured: guéri; on the mend: !en voie de guérison; \
    recovering: !en convalescence; under treatment: !en traitement; diabetic: diabétique; \
    allergic to milk: allergique* au lait; allergic to pollen: allergique* au pollen; short of \
    breath: essoufflé; blinded by the sun: aveuglé* par le soleil; soaked to the skin: trempé* \
    jusqu'aux os; frozen to the bone: transi* jusqu'aux os; chilled to the bone: transi* \
    jusqu'aux os; seized with fear: saisi* de peur; mad with joy: fou* de joie; mad with rage: \
    fou* de rage; trembling with fear: tremblant* de peur; in tears: !en larmes; late for \
    dinner: !en retard pour le dîner; sitting comfortably: confortablement assis*; sitting: \
    assis; seated: assis; standing up: !debout; on the prowl: !en maraude
beast small bird people / animate = \
    perched: perché; curled up: recroquevillé; crouching: accroupi; sitting still: assis* sans \
    bouger; in heat: !en chaleur; + cuddly: câlin; + cute: mignon; + adorable: adorable; + \
    tired from the journey: fatigué* par le voyage; + hard to please: difficile* à contenter; \
    + easy to please: facile* à contenter; + easy to train: facile* à dresser; + quick to \
    learn: prompt* à apprendre; + spoilt: gâté; colour-blind: daltonien; warm-blooded: !à sang \
    chaud; limping: boiteux; covered with mud: couvert* de boue; chained up: enchaîné; tied \
    up: attaché; three weeks old: âgé* de trois semaines; two years old: âgé* de deux ans
creature / bug idea = \
    + overwhelmed: submergé; devastated: anéanti; + obsessed: obsédé; + preoccupied: \
    préoccupé; + flustered: troublé; appalled: consterné; + dumbfounded: abasourdi; + \
    distraught: bouleversé; + mortified: mortifié; delirious: délirant; + paranoid: \
    paranoïaque; + insensitive: insensible; + deranged: dérangé; + perplexed: perplexe; + \
    baffled: déconcerté; + grouchy: grognon; + groggy: sonné; conscious: conscient; drowned: \
    noyé; tortured: torturé; hypnotised: hypnotisé; quarantined: !en quarantaine; amputated: \
    amputé; handicapped: handicapé; + lightheaded: étourdi; + pathetic: pathétique; + \
    disloyal: déloyal; + careless: imprudent; + crazy: fou; + impressed by the noise: \
    impressionné* par le bruit; + sulky: boudeur; + dreamy: rêveur; + merciful: clément
animate / idea place = \
    threatened: menacé; defeated: vaincu; + confused by the smell: désorienté* par l'odeur; \
    stretched out: étendu; resting: !au repos; + fearful of strangers: craintif* devant les \
    inconnus; warned: averti; unafraid: !sans peur; out of sorts: !mal en point; + parched: \
    assoiffé; breathless: essoufflé; lifeless: !sans vie; + vigorous: vigoureux; + sluggish: \
    apathique; + lethargic: apathique; + bloodthirsty: assoiffé* de sang; + voracious: vorace; \
    + hungry for attention: avide* d'attention; + skittish: craintif; + docile and sweet: \
    docile* et doux*; concussed: commotionné; + fidgety: agité; + spooked: effrayé; + thirsty \
    for blood: assoiffé* de sang; + enraged by the noise: rendu* furieux* par le bruit; \
    comatose: !dans le coma; + well rested: bien reposé*; + listless: apathique; + \
    high-spirited: fougueux; cornered: acculé; + shaken: secoué; + shaken by the accident: \
    secoué* par l'accident
animate / object ride stone plant waters = \
    immobile: immobile; motionless: immobile
"""
