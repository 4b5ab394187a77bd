"""Adjectives of texts, pictures, works, occasions and ideas in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_TOPICS = """\
text / reading people idea = \
    + concise: concis; + vague: vague; + ambiguous: ambigu; + repetitive: répétitif; + \
    unreadable: illisible; + well documented: bien documenté*; written in Latin: écrit* en \
    latin; written in French: écrit* en français; written in a hurry: écrit* à la hâte; \
    corrected: corrigé; copied by hand: copié* à la main; revised: révisé; incomplete: \
    incomplet; out of print: épuisé; hard to translate: difficile* à traduire; + hard to read: \
    difficile* à lire; available online: disponible* en ligne; + poorly written: mal rédigé*; \
    written by an expert: rédigé* par un expert; written in the third person: écrit* à la \
    troisième personne; + clearly written: clairement rédigé*; + wordy: verbeux; + pompous: \
    pompeux; printed on glossy paper: imprimé* sur papier glacé; + short and clear: court* et \
    clair*; proofread: relu; + full of spelling mistakes: plein* de fautes d'orthographe; \
    quoted in the newspapers: cité* dans les journaux; written a century ago: écrit* il y a un \
    siècle; + badly translated: mal traduit*; deleted by mistake: supprimé* par erreur; worth \
    reading: intéressant* à lire; unreadable without glasses: illisible* sans lunettes
letter invoice cheque message email note prescription / document text reading = \
    unanswered: !sans réponse; dated: daté; undated: non daté*; addressed to the king: \
    adressé* au roi; written in code: codé; unsent: non envoyé*; deleted: supprimé; + urgent: \
    urgent; torn into pieces: déchiré* en morceaux; lost among the papers: perdu* parmi les \
    papiers
novel book biography comic tale poem magazine story / reading = \
    unpublished: inédit; autobiographical: autobiographique; best-selling: très vendu*; bound \
    in leather: relié* en cuir; borrowed from the library: emprunté* à la bibliothèque; widely \
    read: très lu*; banned: interdit; in verse: !en vers; + hard to put down: passionnant; \
    worth buying: digne* d'être acheté*; set in ancient Rome: situé* dans la Rome antique; \
    dedicated to the king: dédié* au roi; due back on Monday: !à rendre lundi; awarded a \
    prize: récompensé* par un prix
list dictionary catalogue encyclopedia / text = \
    in alphabetical order: !par ordre alphabétique; + up to date: !à jour
law treaty rule contract / reading document idea = \
    in force: !en vigueur; repealed: abrogé; ratified: ratifié; binding: contraignant; null \
    and void: nul* et non avenu*; unconstitutional: inconstitutionnel; + unjust: injuste; \
    amended: modifié; negotiated in secret: négocié* en secret; renewed for a year: renouvelé* \
    pour un an
invoice ticket meal trip cruise hotel / document text = \
    paid: payé; unpaid: impayé; refundable: remboursable; overdue: !en retard de paiement; \
    paid in cash: payé* en liquide
picture / reading people = \
    + realistic: réaliste; painted in oils: peint* à l'huile; drawn in pencil: dessiné* au \
    crayon; enlarged: agrandi; + well drawn: bien dessiné*; + badly drawn: mal dessiné*; \
    painted by a genius: peint* par un génie; sold for a million: vendu* un million; + poorly \
    lit: mal éclairé*; on display in the museum: exposé* au musée; unsigned by the artist: non \
    signé* par l'artiste; on loan from a museum: prêté* par un musée; hand-drawn: dessiné* à \
    la main; + overexposed: surexposé; + faithful to the model: fidèle* au modèle; \
    three-dimensional: !en trois dimensions
film movie documentary series cartoon programme photo / reading = \
    in colour: !en couleur; + well acted: bien joué*; too violent for children: trop violent* \
    pour les enfants; shown in black and white: diffusé* en noir et blanc; filmed in Africa: \
    filmé* en Afrique; + badly acted: mal joué*; two hours in length: !d'une durée de deux \
    heures; shot in one day: tourné* en un jour
story film novel tale cartoon legend spider snake shark wolf bear crocodile mask dungeon cave \
    scorpion cobra tiger bat / reading animate place occasion decor care ride = \
    + scary: effrayant; + terrifying: terrifiant; + frightening: effrayant; spooky: !à donner \
    la chair de poule
work text -map -poster -invoice -list / reading occasion people place = \
    + touching: touchant; + depressing: déprimant; + disturbing: troublant; + controversial: \
    controversé; + scandalous: scandaleux; + shocking: choquant; + inspiring: inspirant; + \
    instructive: instructif; + poetic: poétique; + predictable: prévisible; + popular with \
    teenagers: populaire* auprès des adolescents; + unoriginal: banal; + dull: ennuyeux; + \
    humorous: humoristique; + satirical: satirique; + heartbreaking: déchirant; + confusing: \
    confus; + thought-provoking: stimulant; praised by the critics: salué* par la critique; + \
    overrated: surestimé; + suspenseful: haletant; + enjoyable: plaisant
song melody symphony opera hymn sonata / work instrument people = \
    performed by an orchestra: joué* par un orchestre; composed by Mozart: composé* par \
    Mozart; recorded in a studio: enregistré* en studio; + hard to sing: difficile* à chanter; \
    + easy to remember: facile* à retenir; sung by a choir: chanté* par un chœur; played on \
    the radio: diffusé* à la radio; known by heart: connu* par cœur; out of rhythm: !hors \
    rythme; + rhythmic: rythmé
occasion / work idea people = \
    + successful: réussi; + disastrous: désastreux; + chaotic: chaotique; + memorable: \
    mémorable; + brief: bref; + stressful: stressant; + eventful: mouvementé; in progress: !en \
    cours; under way: !en cours; about to start: sur le point de commencer; almost over: \
    presque terminé*; planned for tomorrow: prévu* pour demain; planned for June: prévu* pour \
    juin; put off until Friday: remis* à vendredi; called off: annulé; called off because of \
    the rain: annulé* à cause de la pluie; announced in the newspaper: annoncé* dans le \
    journal; too tiring for the children: trop fatigant* pour les enfants; well prepared: bien \
    préparé*; badly prepared: mal préparé*; + badly organised: mal organisé*; + tiring: \
    fatigant; finished: terminé; eagerly awaited: très attendu*; imminent: imminent; worth \
    attending: intéressant* à suivre; + nerve-racking: éprouvant; broadcast live: retransmis* \
    en direct; filmed by a journalist: filmé* par un journaliste
party wedding concert festival picnic parade performance match exhibition banquet / occasion work \
    = \
    sold out: complet; held outdoors: organisé* en plein air; open to everyone: ouvert* à \
    tous; ruined by the rain: gâché* par la pluie; + lively and noisy: animé* et bruyant*; \
    annual: annuel; organised by volunteers: organisé* par des bénévoles; attended by \
    thousands: suivi* par des milliers de personnes; well attended: très suivi*; poorly \
    attended: peu suivi*; spoilt by the storm: gâché* par l'orage; moved to another day: \
    déplacé* à un autre jour
exam lesson course meeting seminar / occasion idea = \
    + compulsory: obligatoire; optional: facultatif; weekly: hebdomadaire; + easy to pass: \
    facile* à réussir; + hard to pass: difficile* à réussir; taught in English: donné* en \
    anglais; rescheduled: reprogrammé; boring for everyone: ennuyeux* pour tous
war battle / occasion people = \
    + bloody: sanglant; won in a day: gagné* en un jour; + decisive: décisif; inevitable: \
    inévitable; won by the allies: gagné* par les alliés
match race tournament election competition game debate trial / occasion = \
    won by a beginner: gagné* par un débutant; lost by one point: perdu* d'un point; + close \
    until the end: serré* jusqu'à la fin; rigged: truqué; fairly won: gagné* honnêtement; + \
    unpredictable: imprévisible
journey trip cruise flight expedition / occasion road = \
    + relaxing: reposant; + hazardous: périlleux; two weeks in length: !d'une durée de deux \
    semaines; paid by the company: payé* par l'entreprise; booked in advance: réservé* à \
    l'avance
idea / reading people occasion = \
    + ingenious: ingénieux; + impractical: peu réaliste*; + well thought out: bien pensé*; + \
    innovative: novateur; + revolutionary: révolutionnaire; + unfounded: infondé; + \
    widespread: répandu; proven: prouvé; forgotten: oublié; revealed: révélé; doomed to fail: \
    voué* à l'échec; + hard to prove: difficile* à prouver; + hard to accept: difficile* à \
    accepter; supported by the facts: appuyé* par les faits; + ill-conceived: mal conçu*; + \
    silly but fun: bête* mais amusant*; shared by everyone: partagé* par tous; based on a \
    mistake: fondé* sur une erreur; kept secret: gardé* secret*; announced on Monday: annoncé* \
    lundi
rumour secret answer explanation excuse promise story theory legend article / idea reading people \
    = \
    untrue: faux; hard to believe: difficile* à croire; confirmed: confirmé; denied: démenti; \
    invented: inventé; + believable: crédible; + unconvincing: peu convaincant*
decision / idea = \
    final: définitif; + rash: irréfléchi; unanimous: unanime; irrevocable: irrévocable
story film novel war legend opera poem speech / reading occasion people = \
    + tragic: tragique; + dramatic: dramatique; + ironic: ironique; + epic: épique
novel film song dinner story poem letter movie concert cruise opera melody tale wedding lake / \
    reading people occasion dish place = \
    + romantic: romantique
law decision king minister strike rule / idea people occasion = \
    + unpopular with the people: impopulaire* auprès du peuple
exam question puzzle language lesson recipe translation problem game sonata course seminar match \
    race essay text method project decision rule / idea reading occasion toy instrument people = \
    + difficult: difficile; + easy: facile; + challenging: ardu; + complicated: compliqué; too \
    difficult for beginners: trop difficile* pour les débutants; + tough to solve: difficile* \
    à résoudre
puzzle list encyclopedia series file album / text object work document = \
    complete: complet
drug strike contract election race war pistol cigarette tobacco parade / idea occasion care \
    document place people = \
    illegal: illégal; legal: légal; forbidden: interdit; prohibited: interdit
law rule / idea text = \
    abolished: aboli; enforced: appliqué; + strict and unfair: strict* et injuste*; passed by \
    parliament: adopté* par le parlement
painting song actor castle singer novel museum writer film symphony cathedral portrait / people \
    place text picture work animate idea occasion = \
    + famous: célèbre; + world-famous: mondialement connu*; well known: bien connu*; + \
    renowned: renommé; + popular: populaire; unknown to the public: inconnu* du public
film novel speech performance essay meal song poem match concert wine restaurant hotel answer \
    lesson trip / reading occasion people dish work = \
    + mediocre: médiocre; + outstanding: remarquable; + disappointing: décevant; + impressive: \
    impressionnant
party journey trip flight funeral cruise wedding trial exam / occasion people idea text = \
    + unpleasant: désagréable; + enjoyable for everyone: agréable* pour tous; + painful: \
    pénible; + awkward for everyone: gênant* pour tous
idea article report legend story biography sentence translation summary diagram rumour list \
    invoice / reading people occasion machine jewel = \
    false: faux; true: vrai; + wrong: faux; correct: correct; incorrect: incorrect
idea essay thesis speech article story novel film poem letter contract manual report summary \
    recipe / reading people occasion toy machine = \
    + brilliant: brillant; + original: original; + complex: complexe; + simple: simple; + \
    unclear: peu clair*; + contradictory: contradictoire; + relevant: pertinent; irrelevant: \
    !hors sujet; + understandable: compréhensible; + hard to explain: difficile* à expliquer; \
    + far-fetched: tiré* par les cheveux
idea law treaty contract petition trial election exam invoice / reading people occasion = \
    + unfair: injuste; + unacceptable: inacceptable; + acceptable: acceptable; + reasonable: \
    raisonnable; + unreasonable: déraisonnable; accepted: accepté; approved: approuvé; \
    rejected: rejeté; + obvious: évident; impossible: impossible
"""
