"""Forms of the intransitive verbs of the anaphora text: 'it barked', 'it began to bark'.

The French of a verb is marked: ~ lasts (*aboyer*), > happens (*exploser*), >~ happens over a
time (*fondre*). A form that is done at once in the past is marked > (*a fondu*), one that was
done before is marked >> (*avait fondu*); every other past is an imperfect.
"""

from __future__ import annotations

import random

from regard.transformer.train.english_grammar import participle, progressive

_FORMS = {
    "~": ("simple", "progressive", "begun", "kept up", "for a time"),
    ">": ("simple", "done", "near", "future"),
    ">~": ("simple", "done", "progressive", "begun", "future"),
}
_WEIGHTS = {"~": (36, 28, 12, 6, 18), ">": (44, 30, 12, 14), ">~": (36, 24, 20, 12, 8)}
_TIMES = (("all night", "toute la nuit"), ("all day", "toute la journée"), ("again", "de nouveau"),
          ("for hours", "pendant des heures"), ("all the time", "tout le temps"))  # fmt: skip
_BEGUN = (("begin to", ""), ("start to", ""), ("start", "ing"))


def verb_form(rng: random.Random, texts: tuple[str, str], tense: str) -> tuple[str, str]:
    """A random form of a marked verb; the texts of a phrase without a mark as they are."""
    english, text = texts
    mark, _, infinitive = text.partition(" ")
    if mark not in _FORMS:
        return texts
    form = rng.choices(_FORMS[mark], _WEIGHTS[mark])[0]
    if form == "simple" and tense == "present" and mark == ">":
        form = "done"
    return formed(form, mark, (english, infinitive), rng)


def formed(form: str, mark: str, texts: tuple[str, str], rng: random.Random) -> tuple[str, str]:
    """One form of a verb, for `phrase_clause`.

    >>> formed("progressive", "~", ("bark", "aboyer"), random.Random(1))
    ('be barking', 'aboyer')
    >>> formed("done", ">", ("fall apart", "tomber en morceaux"), random.Random(1))
    ('have fallen apart', '>> tomber en morceaux')
    """
    english, infinitive = texts
    verb, _, rest = english.partition(" ")
    ing = f"{progressive(verb)} {rest}".rstrip()
    if form == "progressive":
        return f"be {ing}", infinitive
    if form == "begun":
        start, ending = rng.choice(_BEGUN)
        return f"{start} {ing if ending else english}", f"> commencer à {infinitive}"
    if form == "kept up":
        return f"keep {ing}", f"continuer à {infinitive}"
    if form == "done":
        return f"have {participle(verb)} {rest}".rstrip(), f">> {infinitive}"
    if form == "near":
        return f"be about to {english}", f"être sur le point de {infinitive}"
    if form == "future":
        return f"be going to {english}", f"aller {infinitive}"
    if form == "for a time" and not rest:
        time, french_time = rng.choice(_TIMES)
        return f"{english} {time}", f"> {infinitive} {french_time}"
    return english, infinitive if mark == "~" else f"> {infinitive}"
