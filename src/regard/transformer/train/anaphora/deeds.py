"""Verb phrases that the relations of people name: what somebody had done, what somebody did."""

from __future__ import annotations

# english:french, both with the infinitive first
_TABLE = """\
> receive a present:recevoir un cadeau, > mend the roof:réparer le toit,
> bring flowers:apporter des fleurs, > cook the dinner:préparer le dîner,
> promise to help:promettre d'aider, > lose the keys:perdre les clés,
> lose patience:perdre patience, > tell lies:raconter des mensonges,
> damage the car:abîmer la voiture, > win the race:gagner la course,
> pass the exam:réussir l'examen, > forget the meeting:oublier la réunion,
> wait for an hour:attendre une heure, > make too many mistakes:faire trop d'erreurs,
> rob a bank:dévaliser une banque, > miss the bus:manquer le bus, > win a medal:gagner une médaille,
> see the thief:voir le voleur, > promise a reward:promettre une récompense,
> find the keys:trouver les clés, > save the dog:sauver le chien,
> lose a lot of money:perdre beaucoup d'argent, > make a mistake:faire une erreur,
> arrive late:arriver en retard, > forget the keys:oublier les clés,
> prepare a big meal:préparer un grand repas, > win a prize:gagner un prix,
> miss the meeting:manquer la réunion, > apologise:s'excuser, > study medicine:étudier la médecine,
> lose the match:perdre le match, > fall into the water:tomber dans l'eau,
> tell a joke:raconter une blague, > disobey twice:désobéir deux fois,
> fail the exam:rater l'examen, > miss the train:manquer le train,
> win the lottery:gagner à la loterie, > forget the pens:oublier les stylos,
> buy ten pens:acheter dix stylos, > lose a wallet:perdre un portefeuille,
> train every day:s'entraîner tous les jours, > slam the door:claquer la porte,
> make a noise:faire du bruit, > lose the map:perdre la carte, > see the danger:voir le danger,
> ignore the sign:ignorer le panneau, > work hard:travailler dur,
> come from far away:venir de loin, > travel all day:voyager toute la journée,
> run away:s'enfuir, > celebrate a birthday:fêter un anniversaire,
~ need help:avoir besoin d'aide, ~ have a fever:avoir de la fièvre,
~ speak three languages:parler trois langues, ~ tell the truth:dire la vérité,
~ need advice:avoir besoin de conseils, ~ know the law:connaître la loi,
~ want to know the truth:vouloir connaître la vérité, ~ know the answer:connaître la réponse,
~ be in a hurry:être pressé*, ~ speak too loudly:parler trop fort, ~ talk too much:parler trop,
~ want to become famous:vouloir devenir célèbre*, ~ be crying:pleurer,
~ want to learn French:vouloir apprendre le français, ~ know the way:connaître le chemin,
~ behave strangely:se comporter bizarrement, ~ want to study:vouloir étudier,
~ need money:avoir besoin d'argent"""


def _deeds() -> dict[str, str]:
    items = (item.partition(":") for item in " ".join(_TABLE.split()).split(", "))
    return {english: french for english, _, french in items}


DEEDS = _deeds()
