"""Adjectives of people in the anaphora text."""

# nouns that they fit / nouns that they might fit too = english: french; ...
from __future__ import annotations

OF_PEOPLE = """\
people / animal = \
    + responsible: responsable; + irresponsible: irresponsable; + trustworthy: digne* de \
    confiance; + creative: créatif; + imaginative: imaginatif; + witty: spirituel; + \
    sarcastic: sarcastique; + cynical: cynique; + frank: franc; + outspoken: franc; + bossy: \
    autoritaire; + pushy: insistant; + nosy: indiscret; + discreet: discret; + secretive: \
    secret; + cooperative: coopératif; + sympathetic: compatissant; + compassionate: \
    compatissant; + supportive: encourageant; + considerate: attentionné; + thoughtful: \
    attentionné; + helpful: serviable; + obliging: serviable; + unkind: méchant; + evil: \
    maléfique; + sinister: sinistre; + frugal: économe; + extravagant: dépensier; + wasteful: \
    dépensier; + industrious: travailleur; + conscientious: consciencieux; + childish: puéril; \
    + immature: immature; + mature: mûr; + spontaneous: spontané; + passionate: passionné; + \
    emotional: émotif; + sentimental: sentimental; + humble: humble; + vain: vaniteux; + \
    conceited: prétentieux; + impartial: impartial; + indifferent: indifférent; + unconcerned: \
    indifférent; + respectful: respectueux; + disrespectful: irrespectueux; + insolent: \
    insolent; + cheeky: effronté; + hospitable: accueillant; + charitable: charitable; + \
    tactful: plein* de tact; tactless: !sans tact; + courteous: courtois; + charismatic: \
    charismatique; + dignified: digne; + noble: noble; + eccentric: excentrique; + mysterious: \
    mystérieux; + impulsive: impulsif; + indecisive: indécis; + methodical: méthodique; + \
    perfectionist: perfectionniste; + easygoing: facile* à vivre; + demanding: exigeant; + \
    severe: sévère; + stern: sévère; + unforgiving: impitoyable; + hard to understand at \
    first: difficile* à comprendre au début; + respected: respecté; + admired: admiré; loved \
    by everyone: aimé* de tous; + hated: détesté; + feared by everyone: craint* de tous; + \
    popular with everyone: populaire* auprès de tous; asthmatic: asthmatique; claustrophobic: \
    claustrophobe; in a coma: !dans le coma; bedridden: alité; kidnapped: enlevé; betrayed: \
    trahi; deceived: trompé; humiliated: humilié; + insulted: insulté; homeless: !sans abri; \
    absent: absent; present: présent; mistaken: !dans l'erreur; right: avoir raison; early: \
    !en avance; back home: !de retour; away: absent; in mourning: !en deuil; + lost in \
    thought: plongé* dans la réflexion
people = \
    + punctual: ponctuel; + artistic: doué* pour l'art; + snobbish: snob; + prejudiced: plein* \
    de préjugés; + racist: raciste; + sceptical: sceptique; + conservative: conservateur; + \
    patriotic: patriote; + devout: pieux; atheist: athée; vegan: végétalien; right-handed: \
    droitier; ambidextrous: ambidextre; anaemic: anémique; insomniac: insomniaque; + indebted: \
    endetté; in debt: endetté; + well paid: bien payé*; + badly paid: mal payé*; promoted: \
    promu; fired: licencié; dismissed: renvoyé; hired: embauché; elected: élu; re-elected: \
    réélu; arrested: arrêté; accused of theft: accusé* de vol; accused of murder: accusé* de \
    meurtre; convicted: condamné; sentenced to death: condamné* à mort; acquitted: acquitté; \
    jailed: emprisonné; imprisoned: emprisonné; handcuffed: menotté; deported: expulsé; \
    expelled from school: renvoyé* de l'école; exiled: exilé; murdered: assassiné; robbed: \
    dévalisé; swindled: escroqué; + influential: influent; + successful in business: prospère* \
    en affaires; invited: invité; tipsy: éméché; intoxicated: ivre; drugged: drogué; naked: \
    nu; dressed in black: vêtu* de noir; dressed in white: vêtu* de blanc; fully dressed: tout \
    habillé*; undressed: déshabillé; + pale: pâle; blond: blond; red-haired: roux; + \
    suntanned: bronzé; + sunburnt: brûlé* par le soleil; + handsome: beau; + good-looking: \
    beau; + well-read: cultivé; + cultured: cultivé; + educated: instruit; + learned: savant; \
    + ignorant: ignorant; + knowledgeable: savant; widowed: veuf; childless: !sans enfants; + \
    unfaithful: infidèle; underage: mineur; of age: majeur; at work: !au travail; + \
    overqualified: surqualifié; fluent in French: bilingue* en français; good at mathematics: \
    bon* en mathématiques; bad at cooking: mauvais* en cuisine; good at chess: bon* aux \
    échecs; + materialistic: matérialiste; speechless: !sans voix; lost for words: !sans voix; \
    short of money: !à court d'argent; in charge: responsable; responsible for the accident: \
    responsable* de l'accident; aware of the danger: conscient* du danger; unaware of the \
    danger: inconscient* du danger; ready to apologise: prêt* à s'excuser; sure of the answer: \
    certain* de la réponse; sworn to secrecy: tenu* au secret; Canadian: canadien; keen on \
    sport: passionné* de sport; keen on music: passionné* de musique; crazy about football: \
    fou* de football; + professional: professionnel; + unqualified: incompétent; + dependable: \
    fiable; + amiable: aimable; + likeable: sympathique; + obnoxious: odieux; + unbearable: \
    insupportable; + snappy: cassant; + evasive: évasif; + truthful: franc; + deceitful: \
    fourbe; + untrustworthy: peu fiable*; + two-faced: hypocrite; + money-minded: intéressé; + \
    broad-minded: large* d'esprit; + narrow-minded: borné; + open-minded: ouvert* d'esprit; + \
    scatterbrained: étourdi; + thick-skinned: endurci; + soft-hearted: tendre; + hard-hearted: \
    dur; bearded: barbu; thirty years old: âgé* de trente ans; eighty years old: âgé* de \
    quatre-vingts ans
dog cat puppy kitten beast small bird people doll teddy / animate toy = \
    lovable: attachant
people / animal idea text = \
    + introverted: introverti; + outgoing: extraverti; + persuasive: persuasif; + articulate: \
    éloquent; + insincere: hypocrite; + overconfident: présomptueux; evicted: expulsé; mugged: \
    agressé; stabbed: poignardé; hospitalised: hospitalisé; + suicidal: suicidaire; + vulgar: \
    vulgaire; + cunning in business: rusé* en affaires; + unsuccessful: malchanceux; + \
    idealistic: idéaliste; + legendary: légendaire; + fearless in battle: intrépide* au \
    combat; + paralysed with fear: paralysé* par la peur; blackmailed: victime* de chantage; + \
    notorious: tristement célèbre*; + unpopular: impopulaire; + corruptible: corruptible; + \
    mistrusted: suspect; + fanatical: fanatique; + abusive: abusif
"""
