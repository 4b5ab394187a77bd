"""Words of the anaphora text that are out of training, by kind.

A word is out of training where the CRC-32 of its English text is divisible by 8, among those
that occur at least 25 times in the English of the everyday, pivot and back-translated pairs (a noun
in the singular and plural together, a verb in all its forms, a phrase as often as its rarest word).
All other words, and all that were added to the tables later, are in training. The lists are the
result, and do not depend on the tables' order.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(" ".join(text.split()).split(", "))


TEST_NOUNS = _words("""\
    apple, balcony, barrier, beach, beef, blanket, breakfast, bush, butter, camp, cane, castle,
    cat, cherry, cliff, conference, debate, decision, donkey, election, envelope, excuse,
    father, fence, field, file, goat, grandson, horse, knife, knight, list, man, mask, mayor,
    method, monkey, niece, orange, page, painter, painting, palace, party, passport, photo,
    pigeon, plane, princess, problem, promise, purse, sandwich, shirt, stamp, story, street,
    strike, subway, telephone, tent, theory, thesis, tower, tunnel, visa, waiter, widow, wife,
    wine""")
TEST_ADJECTIVES = _words("""\
    alone, annoyed, attractive, badly attached, badly driven, blocked, calm, charming, cheaper,
    clearly visible, crashed, deaf, delicate, deserted, difficult to play, disgusting,
    dishonest, enormous, free, full, harmful, healthy, impolite, important, independent,
    interrupted, logical, long, loud, made of wood, married, mean, nervous, nice, optimistic,
    out of tune, packed, served with ice, shut, sour, tall, too full, translated into ten
    languages, turned off, upset, useful for the garden, weak in mathematics, wet, worried""")
TEST_PHRASES = _words("""\
    ask for help, be coughing, be on the phone, carry diseases, change jobs, come from the oven,
    contain mistakes, end badly, expire soon, explain everything, flower in spring, get cold, go
    well, have a fever, have a hundred pages, have a long tail, have a thousand students, have
    blue eyes, have no lid, have three legs, hurt the feet, interest nobody, last three hours,
    lead nowhere, live in the wild, make everyone laugh, need another ten minutes in the oven,
    need money, need new batteries, ring during the film, sink, study medicine, work at night,
    work in practice""")
TEST_ACTIONS = _words("""\
    bake, celebrate, contact, convince, debate, discuss, file, fix, flatter, mail,
    order, plug in, propose, roast, scold, seal up, sharpen, sink, spread, stamp, switch on, taste,
    thank, turn down""")
TEST_PARTS = _words("""\
    author, population, shore""")
